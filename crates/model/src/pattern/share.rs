//! What one member accesses: a pattern for a given place in a given group.
//!
//! ```text
//! let share = pattern.share(&plan, member, members)?;      once, outside of timed windows
//! for extent in share.extents() { ... }                    the same extents every time
//! ```

use super::generate::generate;
use super::{Extent, Extents, Geometry, Run, Runs, Shape, View};
use crate::plan::{Pattern, Plan};

/// The extents of one member.
#[derive(Debug)]
pub struct Share<'p> {
    source: Source<'p>,
    member: u32,
    members: u32,
}

#[derive(Debug)]
enum Source<'p> {
    Shape(&'p dyn Shape),
    /// The extents that a generator gave.
    Listed(Vec<Extent>),
}

impl Pattern {
    /// The extents of member `member` of `members`. A generator is run here, with at most
    /// `steps` instructions.
    ///
    /// # Errors
    /// A sentence for the user if there is no such pattern for so many members.
    pub fn share<'p>(
        &'p self,
        plan: &'p Plan,
        member: u32,
        members: u32,
        steps: u64,
    ) -> Result<Share<'p>, String> {
        let source = match (&self.geometry, self.geometry.shape()) {
            (_, Some(shape)) => {
                shape.check(members)?;
                Source::Shape(shape)
            }
            (Geometry::Generator { proc }, None) => {
                let extents = generate(plan, *proc, member, members, steps);
                Source::Listed(extents.map_err(|error| error.message)?)
            }
            (_, None) => Source::Listed(Vec::new()),
        };
        Ok(Share { source, member, members })
    }
}

impl Share<'_> {
    /// Its place in the group.
    pub fn member(&self) -> u32 {
        self.member
    }

    /// Size of the group.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// The extents in the order of access, as runs of equal extents.
    pub fn runs(&self) -> Runs<'_> {
        match &self.source {
            Source::Shape(shape) => shape.runs(self.member, self.members),
            Source::Listed(extents) => {
                let run = |extent: &Extent| Run::single(extent.offset_bytes, extent.length_bytes);
                Box::new(extents.iter().map(run))
            }
        }
    }

    /// The extents in the order of access.
    pub fn extents(&self) -> Extents<'_> {
        Extents::of(self.runs())
    }

    /// The `i`-th extent, counted from 0.
    pub fn extent(&self, i: u64) -> Option<Extent> {
        match &self.source {
            Source::Listed(extents) => extents.get(usize::try_from(i).ok()?).copied(),
            Source::Shape(shape) => {
                let mut left = i;
                shape.runs(self.member, self.members).find_map(|run| {
                    if left >= run.count {
                        left -= run.count;
                        return None;
                    }
                    let offset_bytes = run.offset_bytes + left * run.stride_bytes;
                    Some(Extent { offset_bytes, length_bytes: run.length_bytes })
                })
            }
        }
    }

    /// Number of extents.
    pub fn count(&self) -> u64 {
        match &self.source {
            Source::Shape(shape) => shape.count(self.member, self.members),
            Source::Listed(extents) => extents.len() as u64,
        }
    }

    /// Bytes of all extents.
    pub fn bytes(&self) -> u64 {
        match &self.source {
            Source::Shape(shape) => shape.bytes(self.member, self.members),
            Source::Listed(extents) => extents.iter().map(|extent| extent.length_bytes).sum(),
        }
    }

    /// One past the last byte of this member's extents.
    pub fn end_bytes(&self) -> u64 {
        self.extents().map(Extent::end_bytes).max().unwrap_or(0)
    }

    /// The extents as a file view.
    pub fn view(&self) -> View {
        match &self.source {
            Source::Shape(shape) => shape.view(self.member, self.members),
            Source::Listed(_) => View::of_extents(self.extents()),
        }
    }
}
