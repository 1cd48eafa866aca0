//! `strided`: members take turns, extent by extent.
//!
//! ```text
//! offset(i) = header + (i * G + g) * block        i in 0..count
//! ```
//!
//! The simple strided pattern of PIObench (Shorter, MS thesis, Clemson), which mpi-io-test and
//! the patterns of the Parabench paper (levels 0 to 3) share.

use super::view::{Datatype, View};
use super::{Argument, Promise, Run, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// Members take turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strided {
    /// Bytes of an extent.
    pub block_bytes: u64,
    /// Extents of each member.
    pub count: u64,
    /// Where the pattern begins in the file.
    pub header_bytes: u64,
    /// The view is a column of a 2-D array (type 2 of released programs) and not a vector:
    /// the same bytes.
    pub as_subarray: bool,
}

impl Shape for Strided {
    fn check(&self, members: u32) -> Result<(), String> {
        fits(self.end(members), members)
    }

    fn end(&self, members: u32) -> Option<u64> {
        // Also the stride of a pattern without extents has to be a number.
        sum(self.header_bytes, product(&[self.block_bytes, members.into()])?)?;
        sum(self.header_bytes, product(&[self.block_bytes, self.count, members.into()])?)
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        Box::new(std::iter::once(Run {
            offset_bytes: self.header_bytes + u64::from(member) * self.block_bytes,
            length_bytes: self.block_bytes,
            stride_bytes: u64::from(members) * self.block_bytes,
            count: self.count,
        }))
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
    }

    fn view(&self, member: u32, members: u32) -> View {
        let (member, members) = (u64::from(member), u64::from(members));
        if self.as_subarray && self.count > 0 {
            let filetype = Datatype::Subarray {
                sizes: vec![self.count, members],
                subsizes: vec![self.count, 1],
                starts: vec![0, member],
                element_bytes: self.block_bytes,
            };
            return View::at(self.header_bytes, filetype);
        }
        let extent = Datatype::Contiguous { bytes: self.block_bytes };
        let stride_bytes = members * self.block_bytes;
        View::at(
            self.header_bytes + member * self.block_bytes,
            Datatype::vector(self.count, stride_bytes, extent),
        )
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("block", Argument::Number(self.block_bytes)),
            ("count", Argument::Number(self.count)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
