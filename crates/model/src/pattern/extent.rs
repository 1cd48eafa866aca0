//! Extents, runs of equal extents at equal distances, and arithmetic on positions in a file.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// The largest position in a file: `off_t` and `MPI_Offset` have 63 bits.
pub const MAX_OFFSET_BYTES: u64 = i64::MAX as u64;

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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// The `i`-th extent, counted from 0.
    pub fn extent(&self, i: u64) -> Option<Extent> {
        let offset_bytes = self.offset_bytes.wrapping_add(i.wrapping_mul(self.stride_bytes));
        (i < self.count).then_some(Extent { offset_bytes, length_bytes: self.length_bytes })
    }

    /// One past the last byte of its last extent; 0 without extents. Strides are never negative.
    pub fn end_bytes(&self) -> u64 {
        match self.count {
            0 => 0,
            count => self
                .offset_bytes
                .saturating_add((count - 1).saturating_mul(self.stride_bytes))
                .saturating_add(self.length_bytes),
        }
    }

    /// The number of its bytes that lie in a file of this size.
    pub fn bytes_within(&self, size_bytes: u64) -> u64 {
        let room = size_bytes.saturating_sub(self.offset_bytes);
        let whole = match (room.checked_sub(self.length_bytes), self.stride_bytes) {
            (None, _) => 0,
            (Some(_), 0) => self.count,
            (Some(left), stride) => (left / stride + 1).min(self.count),
        };
        // Extents that begin before the end and pass it; more than one only if they overlap.
        let begun = match (room, self.stride_bytes) {
            (0, _) => 0,
            (_, 0) => self.count,
            (room, stride) => room.div_ceil(stride).min(self.count),
        };
        let cut = (whole..begun).map(|at| room - at * self.stride_bytes);
        whole * self.length_bytes + cut.sum::<u64>()
    }
}

/// Runs in the order of access.
pub type Runs<'a> = std::iter::Copied<std::slice::Iter<'a, Run>>;

/// The extents of runs, computed one by one.
#[derive(Debug)]
pub struct Extents<I> {
    run: Run,
    rest: I,
}

impl<I: Iterator<Item = Run>> Extents<I> {
    /// Expands runs.
    pub fn of(rest: I) -> Extents<I> {
        Extents { run: Run::default(), rest }
    }
}

impl<I: Iterator<Item = Run>> Iterator for Extents<I> {
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

/// The product of numbers; `None` beyond [`MAX_OFFSET_BYTES`].
pub(crate) fn product(factors: &[u64]) -> Option<u64> {
    if factors.contains(&0) {
        return Some(0);
    }
    let product = factors.iter().try_fold(1u64, |product, factor| product.checked_mul(*factor));
    product.filter(|product| *product <= MAX_OFFSET_BYTES)
}

/// The sum of two numbers; `None` beyond [`MAX_OFFSET_BYTES`].
pub(crate) fn sum(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b).filter(|sum| *sum <= MAX_OFFSET_BYTES)
}

/// The sentence for a pattern that passes [`MAX_OFFSET_BYTES`].
pub(crate) fn describe_overflow(members: u32) -> String {
    let plural = if members == 1 { "" } else { "s" };
    format!(
        "expected a file of less than 2^63 bytes, but with {members} member{plural} the pattern \
         reaches further"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_before_the_end_are_counted_one_by_one(
            offset_bytes in 0..40u64,
            length_bytes in 1..9u64,
            stride_bytes in 0..20u64,
            count in 0..6u64,
            size_bytes in 0..100u64,
        ) {
            let run = Run { offset_bytes, length_bytes, stride_bytes, count };
            let bytes: Vec<u64> = (0..count)
                .flat_map(|i| {
                    let start = offset_bytes + i * stride_bytes;
                    start..start + length_bytes
                })
                .collect();
            let within = bytes.iter().filter(|byte| **byte < size_bytes).count() as u64;
            prop_assert_eq!(run.bytes_within(size_bytes), within);
            prop_assert_eq!(run.end_bytes(), bytes.iter().max().map_or(0, |last| last + 1));
        }
    }
}
