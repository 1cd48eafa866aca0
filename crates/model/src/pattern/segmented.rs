//! `segmented`: the file is cut into G equal segments, one for each member.
//!
//! ```text
//! offset(u) = header + (g * count + u) * block        u in 0..count
//! ```
//!
//! The segmented pattern of PIObench (Shorter, MS thesis, Clemson; the formula is a
//! reconstruction) and of b_eff_io, types 3 and 4.

use super::view::{Datatype, View};
use super::{Argument, Promise, Run, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// One segment for each member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segmented {
    /// Bytes of an extent.
    pub block_bytes: u64,
    /// Extents of each member.
    pub count: u64,
    /// Where the pattern begins in the file.
    pub header_bytes: u64,
}

impl Segmented {
    fn start(&self, member: u32) -> u64 {
        self.header_bytes + u64::from(member) * self.count * self.block_bytes
    }
}

impl Shape for Segmented {
    fn check(&self, members: u32) -> Result<(), String> {
        fits(self.end(members), members)
    }

    fn end(&self, members: u32) -> Option<u64> {
        sum(self.header_bytes, product(&[self.block_bytes, self.count, members.into()])?)
    }

    fn runs(&self, member: u32, _members: u32) -> Runs<'_> {
        Box::new(std::iter::once(Run {
            offset_bytes: self.start(member),
            length_bytes: self.block_bytes,
            stride_bytes: self.block_bytes,
            count: self.count,
        }))
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
    }

    fn view(&self, member: u32, _members: u32) -> View {
        let bytes = self.count * self.block_bytes;
        View::at(self.start(member), Datatype::Contiguous { bytes })
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("block", Argument::Number(self.block_bytes)),
            ("count", Argument::Number(self.count)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
