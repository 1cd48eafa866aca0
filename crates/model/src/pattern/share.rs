//! The extents of one member: a pattern for a given place in a given group.
//!
//! ```text
//! let share = pattern.share(&plan, member, members, steps)?;      once, outside of timed windows
//! for extent in share.extents() { ... }                           the same extents every time
//! ```

use super::builtin::Geometry;
use super::extent::{Extent, Extents, Run, Runs, describe_overflow};
use super::generate::{GenerateError, generate};
use super::view::View;
use crate::plan::{Pattern, Plan};

/// The extents of one member.
#[derive(Debug)]
pub struct Share<'p> {
    geometry: &'p Geometry,
    runs: Vec<Run>,
    /// Number of extents before each run.
    before: Vec<u64>,
    member: u32,
    members: u32,
}

impl Pattern {
    /// The name of its kind, such as "tiled"; "extents" of a body in the program.
    pub fn kind(&self) -> &str {
        self.definition.split('(').next().unwrap_or_default()
    }

    /// Its extents are computed by a body in the program, not by a kind.
    pub fn is_of_program(&self) -> bool {
        self.definition == Pattern::EXTENTS
    }

    /// The definition of a pattern whose extents a body in the program computes.
    pub const EXTENTS: &'static str = "extents";

    /// Describes for the user why a generator failed for this number of members.
    pub fn describe_failure(&self, error: &GenerateError, members: u32) -> String {
        match (self.is_of_program(), error.overflow, error.unfinished) {
            (false, true, _) => describe_overflow(members),
            (false, _, true) => format!(
                "expected fewer rows of pieces: a member needs more than {} steps to compute its own",
                error.steps
            ),
            _ => error.message.clone(),
        }
    }

    /// The extents of member `member` of `members`. A generator is run here, with at most
    /// `steps` instructions.
    ///
    /// # Errors
    /// A sentence for the user if the pattern does not exist for this number of members.
    pub fn share<'p>(
        &'p self,
        plan: &'p Plan,
        member: u32,
        members: u32,
        steps: u64,
    ) -> Result<Share<'p>, String> {
        let geometry = &self.geometry;
        geometry.check(members)?;
        let runs = match geometry {
            Geometry::Generator { proc } => {
                let runs = generate(plan, *proc, member, members, steps);
                runs.map_err(|error| self.describe_failure(&error, members))?
            }
            built_in => built_in.runs(member, members),
        };
        let mut extents = 0u64;
        let before = runs.iter().map(|run| {
            let before = extents;
            extents = extents.saturating_add(run.count);
            before
        });
        Ok(Share { geometry, before: before.collect(), runs, member, members })
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
        self.runs.iter().copied()
    }

    /// The extents in the order of access.
    pub fn extents(&self) -> Extents<Runs<'_>> {
        Extents::of(self.runs())
    }

    /// The `i`-th extent, counted from 0.
    pub fn extent(&self, i: u64) -> Option<Extent> {
        let at = self.before.partition_point(|before| *before <= i).checked_sub(1)?;
        self.runs[at].extent(i - self.before[at])
    }

    /// Number of extents.
    pub fn count(&self) -> u64 {
        let last = self.before.last().zip(self.runs.last());
        last.map_or(0, |(before, run)| before.saturating_add(run.count))
    }

    /// Bytes of all extents.
    pub fn bytes(&self) -> u64 {
        self.runs().map(|run| run.count * run.length_bytes).sum()
    }

    /// One past the last byte of this member's extents.
    pub fn end_bytes(&self) -> u64 {
        self.runs().map(|run| run.end_bytes()).max().unwrap_or(0)
    }

    /// The extents as a file view.
    pub fn view(&self) -> View {
        let built_in = self.geometry.view(self.member, self.members);
        built_in.unwrap_or_else(|| View::of_runs(&self.runs))
    }
}
