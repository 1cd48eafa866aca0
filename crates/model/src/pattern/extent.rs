//! Extents, runs of equal extents at equal distances, and arithmetic on positions in a file.
//!
//! [`View`] describes a member's extents as a file view: an MPI datatype instead of a call for each extent.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// Most runs of a member: 64 MiB of memory.
pub(crate) const MAX_RUNS: usize = 1 << 21;

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

    /// The same extent further behind in the file.
    pub fn displaced(self, by_bytes: u64) -> Extent {
        Extent { offset_bytes: self.offset_bytes.saturating_add(by_bytes), ..self }
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

    /// The same extents further behind in the file.
    pub fn displaced(self, by_bytes: u64) -> Run {
        Run { offset_bytes: self.offset_bytes.saturating_add(by_bytes), ..self }
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
    pub fn new(rest: I) -> Extents<I> {
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

/// A datatype in the terms of MPI. Every type lists its extents in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// `MPI_Type_contiguous` of bytes.
    Contiguous {
        /// Number of bytes.
        bytes: u64,
    },
    /// `MPI_Type_create_hvector` with blocks of one element.
    Vector {
        /// Number of elements.
        count: u64,
        /// From the start of an element to the start of the next.
        stride_bytes: u64,
        /// The element.
        of: Box<Datatype>,
    },
    /// `MPI_Type_create_subarray` in C order: the last dimension runs fastest.
    Subarray {
        /// Elements of the whole array in each dimension.
        sizes: Vec<u64>,
        /// Elements of the part in each dimension.
        subsizes: Vec<u64>,
        /// First element of the part in each dimension.
        starts: Vec<u64>,
        /// Size of an element, bytes.
        element_bytes: u64,
    },
    /// `MPI_Type_create_hindexed` of bytes.
    Indexed {
        /// The extents, ascending, offsets from the start of the type.
        blocks: Vec<Extent>,
    },
    /// `MPI_Type_create_struct`.
    Struct {
        /// Position and type of each member, ascending.
        members: Vec<(u64, Datatype)>,
    },
}

impl Datatype {
    /// Elements at equal distances.
    pub fn vector(count: u64, stride_bytes: u64, of: Datatype) -> Datatype {
        Datatype::Vector { count, stride_bytes, of: Box::new(of) }
    }

    /// The extents of a run whose stride is no less than its length.
    fn of_run(run: &Run) -> Datatype {
        match run.stride_bytes == run.length_bytes || run.count == 1 {
            true => Datatype::Contiguous { bytes: run.count * run.length_bytes },
            false => {
                let extent = Datatype::Contiguous { bytes: run.length_bytes };
                Datatype::vector(run.count, run.stride_bytes, extent)
            }
        }
    }

    /// Ascending runs and their positions from `start` on; runs of the same shape at equal distances are
    /// one vector of them.
    fn vectors(runs: &[Run], start: u64) -> Vec<(u64, Datatype)> {
        let shape = |run: &Run| (run.length_bytes, run.stride_bytes, run.count);
        let distance = |two: &[Run]| two[1].offset_bytes - two[0].offset_bytes;
        let mut vectors = Vec::new();
        let mut rest = runs;
        while let [first, ..] = rest {
            let same = rest.iter().take_while(|run| shape(run) == shape(first)).count();
            let step = rest[..same].windows(2).next().map_or(0, distance);
            let even = rest[..same].windows(2).take_while(|two| distance(two) == step).count() + 1;
            let of = Datatype::of_run(first);
            let of = if even == 1 { of } else { Datatype::vector(even as u64, step, of) };
            vectors.push((first.offset_bytes - start, of));
            rest = &rest[even..];
        }
        vectors
    }

    /// Bytes of data in the type.
    pub fn bytes(&self) -> u64 {
        match self {
            Datatype::Contiguous { bytes } => *bytes,
            Datatype::Vector { count, of, .. } => count * of.bytes(),
            Datatype::Subarray { subsizes, element_bytes, .. } => {
                subsizes.iter().product::<u64>() * element_bytes
            }
            Datatype::Indexed { blocks } => blocks.iter().map(|block| block.length_bytes).sum(),
            Datatype::Struct { members } => members.iter().map(|(_, of)| of.bytes()).sum(),
        }
    }

    /// Calls `each` for the extents, moved by `base_bytes`. An extent may be cut into
    /// several that touch.
    pub fn expand(&self, base_bytes: u64, each: &mut impl FnMut(Extent)) {
        match self {
            Datatype::Contiguous { bytes } => {
                each(Extent { offset_bytes: base_bytes, length_bytes: *bytes });
            }
            Datatype::Vector { count, stride_bytes, of } => {
                for i in 0..*count {
                    of.expand(base_bytes + i * stride_bytes, each);
                }
            }
            Datatype::Subarray { sizes, subsizes, starts, element_bytes } => {
                let array = Array { sizes, subsizes, starts };
                array.expand(0, base_bytes, *element_bytes, each);
            }
            Datatype::Indexed { blocks } => {
                for block in blocks {
                    each(Extent { offset_bytes: base_bytes + block.offset_bytes, ..*block });
                }
            }
            Datatype::Struct { members } => {
                for (at, of) in members {
                    of.expand(base_bytes + at, each);
                }
            }
        }
    }
}

/// A part of an array.
struct Array<'a> {
    sizes: &'a [u64],
    subsizes: &'a [u64],
    starts: &'a [u64],
}

impl Array<'_> {
    fn expand(&self, dim: usize, base: u64, element: u64, each: &mut impl FnMut(Extent)) {
        let unit: u64 = self.sizes[dim + 1..].iter().product::<u64>() * element;
        let base = base + self.starts[dim] * unit;
        if dim + 1 == self.sizes.len() {
            return each(Extent { offset_bytes: base, length_bytes: self.subsizes[dim] * unit });
        }
        for i in 0..self.subsizes[dim] {
            self.expand(dim + 1, base + i * unit, element, each);
        }
    }
}

/// How a member sees the file: `MPI_File_set_view`, and how its memory goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Where the type begins in the file.
    pub displacement_bytes: u64,
    /// The extents, ascending, from there on. It is used once, not repeated.
    pub filetype: Datatype,
    /// Where the bytes of the extents lie in memory, in the order of the file. `None`: one
    /// after the other. `Some` where the order of access does not ascend: views have to.
    pub memory: Option<Vec<Extent>>,
    /// Two extents share a byte. Such a view must not be written through (MPI 4.1, 14.3).
    pub overlapping: bool,
}

impl View {
    /// A type at a displacement, memory in order, nothing overlapping.
    pub fn at(displacement_bytes: u64, filetype: Datatype) -> View {
        View { displacement_bytes, filetype, memory: None, overlapping: false }
    }

    /// The view of runs: vectors, and vectors of vectors, where those are shorter than a list of extents.
    pub fn of_runs(runs: &[Run]) -> View {
        /// Extents per vector from which vectors are shorter.
        const EXTENTS_PER_VECTOR: u64 = 8;
        let is_used = |run: &&Run| run.count > 0 && run.length_bytes > 0;
        let runs: Vec<Run> = runs.iter().filter(is_used).copied().collect();
        let steps = |run: &Run| run.count == 1 || run.stride_bytes >= run.length_bytes;
        let ascends = runs.iter().all(steps)
            && runs.windows(2).all(|two| two[0].end_bytes() <= two[1].offset_bytes);
        let extents = runs.iter().fold(0u64, |sum, run| sum.saturating_add(run.count));
        let start = runs.first().map_or(0, |run| run.offset_bytes);
        let vectors = if ascends { Datatype::vectors(&runs, start) } else { Vec::new() };
        match (vectors.len() as u64, vectors) {
            (1, mut one) => View::at(start, one.remove(0).1),
            (count @ 2.., members) if extents / EXTENTS_PER_VECTOR >= count => {
                View::at(start, Datatype::Struct { members })
            }
            _ => View::of_extents(runs.iter().flat_map(|run| {
                let run = *run;
                (0..run.count).filter_map(move |i| run.extent(i))
            })),
        }
    }

    /// The view of any extents: sorted, extents that touch joined, empty ones left out.
    pub fn of_extents(extents: impl Iterator<Item = Extent>) -> View {
        let mut position_bytes = 0;
        let mut placed: Vec<(Extent, u64)> = Vec::new();
        let mut ascends = true;
        for extent in extents.filter(|extent| extent.length_bytes > 0) {
            ascends &= placed.last().is_none_or(|(last, _)| *last <= extent);
            placed.push((extent, position_bytes));
            position_bytes += extent.length_bytes;
        }
        if !ascends {
            placed.sort_by_key(|(extent, _)| extent.offset_bytes);
        }
        let overlapping = placed.windows(2).any(|w| w[0].0.end_bytes() > w[1].0.offset_bytes);
        let memory = (!ascends).then(|| {
            let part = |(extent, at): &(Extent, u64)| Extent { offset_bytes: *at, ..*extent };
            joined(placed.iter().map(part))
        });
        let displacement_bytes = placed.first().map_or(0, |(extent, _)| extent.offset_bytes);
        let from_there = |(extent, _): &(Extent, u64)| Extent {
            offset_bytes: extent.offset_bytes - displacement_bytes,
            ..*extent
        };
        let filetype = Datatype::Indexed { blocks: joined(placed.iter().map(from_there)) };
        View { displacement_bytes, filetype, memory, overlapping }
    }

    /// The extents in the file, those that touch joined.
    pub fn extents(&self) -> Vec<Extent> {
        let mut extents = Vec::new();
        self.filetype.expand(self.displacement_bytes, &mut |extent| extents.push(extent));
        joined(extents.into_iter())
    }
}

/// Extents with those that touch made one, and without empty ones.
fn joined(extents: impl Iterator<Item = Extent>) -> Vec<Extent> {
    let mut joined: Vec<Extent> = Vec::new();
    for extent in extents.filter(|extent| extent.length_bytes > 0) {
        match joined.last_mut() {
            Some(last) if last.end_bytes() == extent.offset_bytes => {
                last.length_bytes += extent.length_bytes;
            }
            _ => joined.push(extent),
        }
    }
    joined
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
