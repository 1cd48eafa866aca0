//! Extents, and runs of equal extents at equal distances.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An extent of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes.
    pub length_bytes: u64,
}

impl Extent {
    /// One past the last byte.
    pub fn end_bytes(self) -> u64 {
        self.offset_bytes + self.length_bytes
    }
}

/// Equal extents at equal distances: extent i is at `offset + i * stride`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Pod, Zeroable,
)]
#[repr(C)]
pub struct Run {
    /// First byte of the first extent.
    pub offset_bytes: u64,
    /// Bytes of each extent.
    pub length_bytes: u64,
    /// From the start of an extent to the start of the next.
    pub stride_bytes: u64,
    /// Number of extents.
    pub count: u64,
}

impl Run {
    /// One extent.
    pub fn single(offset_bytes: u64, length_bytes: u64) -> Run {
        Run { offset_bytes, length_bytes, stride_bytes: length_bytes, count: 1 }
    }

    /// The end of its last extent; 0 without extents. Strides are never negative.
    pub fn end_bytes(&self) -> u64 {
        match self.count {
            0 => 0,
            count => self
                .offset_bytes
                .saturating_add((count - 1).saturating_mul(self.stride_bytes))
                .saturating_add(self.length_bytes),
        }
    }

    /// How many of its bytes a file of this size has.
    pub fn bytes_within(&self, size_bytes: u64) -> u64 {
        let room = size_bytes.saturating_sub(self.offset_bytes);
        let whole = match (room.checked_sub(self.length_bytes), self.stride_bytes) {
            (None, _) => 0,
            (Some(_), 0) => self.count,
            (Some(left), stride) => (left / stride + 1).min(self.count),
        };
        // Extents that begin before the end and go on behind it; more than one only if they overlap.
        let begun = match (room, self.stride_bytes) {
            (0, _) => 0,
            (_, 0) => self.count,
            (room, stride) => room.div_ceil(stride).min(self.count),
        };
        let cut = (whole..begun).map(|at| room - at * self.stride_bytes);
        whole * self.length_bytes + cut.sum::<u64>()
    }
}

/// Runs, one after the other.
pub type Runs<'a> = Box<dyn Iterator<Item = Run> + 'a>;

/// The extents of a member, made while one walks through them.
pub struct Extents<'a> {
    run: Run,
    rest: Runs<'a>,
}

impl<'a> Extents<'a> {
    /// The extents of runs.
    pub fn of(rest: Runs<'a>) -> Extents<'a> {
        Extents { run: Run::default(), rest }
    }
}

impl Iterator for Extents<'_> {
    type Item = Extent;

    #[inline]
    fn next(&mut self) -> Option<Extent> {
        while self.run.count == 0 {
            self.run = self.rest.next()?;
        }
        let extent =
            Extent { offset_bytes: self.run.offset_bytes, length_bytes: self.run.length_bytes };
        self.run.count -= 1;
        // The position after the last extent may have no number; nobody reads it.
        self.run.offset_bytes = self.run.offset_bytes.wrapping_add(self.run.stride_bytes);
        Some(extent)
    }
}

impl fmt::Debug for Extents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extents").field("run", &self.run).finish_non_exhaustive()
    }
}
