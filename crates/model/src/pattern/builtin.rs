//! Patterns that are built in, because programs, launchers and files use them by the million extents:
//! strided, random and subarray. All others are procs of the plan that compute extents
//! ([`super::generate()`]).
//!
//! ```text
//! strided(block=4, count=3), 2 members     offset  0   4   8  12  16  20
//!                                          member  0   1   0   1   0   1
//! ```
//!
//! `g` is the number of the member, `G` the number of members. Arithmetic that could pass 2^63 - 1 is
//! refused by [`Geometry::check`] before anything runs; the other functions rely on that.

use super::extent::{Datatype, MAX_RUNS, Run, View, describe_overflow, product, sum};
use crate::permutation::mix;
use serde::{Deserialize, Serialize};

/// A pattern's kind and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // each names its kind, which is documented
pub enum Geometry {
    Strided(Strided),
    Random(Random),
    Subarray(Subarray),
    /// Extents written in the language.
    Generator {
        /// Index into [`crate::Plan::procs`].
        proc: u32,
    },
}

impl Geometry {
    /// Checks whether a built-in pattern exists for this number of members, at least one. Generators show
    /// it when they run.
    ///
    /// # Errors
    /// For the user: what was expected and what was found.
    pub fn check(&self, members: u32) -> Result<(), String> {
        match self {
            Geometry::Strided(strided) => strided.check(members),
            Geometry::Random(random) => random.check(members),
            Geometry::Subarray(subarray) => subarray.check(members),
            Geometry::Generator { .. } => Ok(()),
        }
    }

    /// The extents of a member of a built-in pattern that exists for this number of members, in the order
    /// of access, as runs of equal extents.
    pub(crate) fn runs(&self, member: u32, members: u32) -> Vec<Run> {
        match self {
            Geometry::Strided(strided) => vec![strided.run(member, members)],
            Geometry::Random(random) => random.runs(member, members),
            Geometry::Subarray(subarray) => subarray.runs(member, members),
            Geometry::Generator { .. } => Vec::new(),
        }
    }

    /// The view of such a pattern, if MPI has a type for it.
    pub(crate) fn view(&self, member: u32, members: u32) -> Option<View> {
        match self {
            Geometry::Strided(strided) if strided.as_subarray && strided.count > 0 => {
                Some(strided.view(member, members))
            }
            Geometry::Subarray(subarray) => Some(subarray.view(member, members)),
            _ => None,
        }
    }
}

/// Members take turns, extent by extent, as in the simple strided pattern of PIObench:
/// `offset(i) = header + (i * G + g) * block`.
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

impl Strided {
    fn check(&self, members: u32) -> Result<(), String> {
        // Also the stride of a pattern without extents has to be a number.
        let row = product(&[self.block_bytes, members.into()]);
        let end = row.and_then(|row| sum(self.header_bytes, product(&[row, self.count.max(1)])?));
        end.map(|_| ()).ok_or_else(|| describe_overflow(members))
    }

    fn run(&self, member: u32, members: u32) -> Run {
        Run {
            offset_bytes: self.header_bytes + u64::from(member) * self.block_bytes,
            length_bytes: self.block_bytes,
            stride_bytes: u64::from(members) * self.block_bytes,
            count: self.count,
        }
    }

    /// A column of a 2-D array.
    fn view(&self, member: u32, members: u32) -> View {
        let filetype = Datatype::Subarray {
            sizes: vec![self.count, members.into()],
            subsizes: vec![self.count, 1],
            starts: vec![0, member.into()],
            element_bytes: self.block_bytes,
        };
        View::at(self.header_bytes, filetype)
    }
}

/// Most turns of all members of [`Random`]: adding up their lengths takes about a second.
const MAX_TURNS: u64 = 1 << 28;

/// Members take turns, and every turn has another length, as in the random strided pattern of PIObench.
/// Turn t belongs to member `t mod G`; its length is drawn from a generator that all members share, and it
/// begins where turn t - 1 ends. A member has to add up the lengths of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random {
    /// Least bytes of an extent.
    pub min_bytes: u64,
    /// Most bytes of an extent.
    pub max_bytes: u64,
    /// Extents of each member.
    pub count: u64,
    /// Where the pattern begins in the file.
    pub header_bytes: u64,
    /// Seed of the lengths: that of the program.
    pub seed: u64,
}

impl Random {
    /// Bytes of turn `t`: uniform by multiplication (Lemire 2019, without rejection: the bias
    /// is below 2^-40 for extents below 16 MiB).
    #[inline]
    fn length_bytes(&self, t: u64) -> u64 {
        let choices = u128::from(self.max_bytes - self.min_bytes) + 1;
        let bits = mix(self.seed ^ mix(t));
        self.min_bytes + ((u128::from(bits) * choices) >> 64) as u64
    }

    fn check(&self, members: u32) -> Result<(), String> {
        if self.min_bytes > self.max_bytes {
            let Random { min_bytes, max_bytes, .. } = self;
            return Err(format!(
                "expected min to be at most max, found min={min_bytes} and max={max_bytes}"
            ));
        }
        let bytes = product(&[self.max_bytes, self.count, members.into()]);
        if bytes.and_then(|bytes| sum(self.header_bytes, bytes)).is_none() {
            return Err(describe_overflow(members));
        }
        if self.count.saturating_mul(members.into()) > MAX_TURNS {
            return Err(format!(
                "expected at most {MAX_TURNS} pieces of all members, found count={} for each of \
                 {members}: every member adds up the lengths of all",
                self.count
            ));
        }
        check_runs(self.count)
    }

    fn runs(&self, member: u32, members: u32) -> Vec<Run> {
        let (member, members) = (u64::from(member), u64::from(members));
        let mut offset_bytes = self.header_bytes;
        let mut runs = Vec::with_capacity(self.count as usize);
        for t in 0..self.count * members {
            let length_bytes = self.length_bytes(t);
            if t % members == member {
                runs.push(Run::single(offset_bytes, length_bytes));
            }
            offset_bytes += length_bytes;
        }
        runs
    }
}

/// An array of any number of dimensions in C order, a block of it for each member; a row of the block is
/// one extent. Along a dimension of n elements and p members, the first `n mod p` members have one
/// element more than `n div p`. This is what `MPI_Type_create_subarray` describes, and block-block in
/// High Performance Fortran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subarray {
    /// Elements in each dimension; the last one runs fastest.
    pub sizes: Vec<u64>,
    /// Members in each dimension, as many as sizes; empty: a balanced grid of all members.
    pub grid: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Where the array begins in the file.
    pub header_bytes: u64,
}

impl Subarray {
    fn grid_for(&self, members: u32) -> Vec<u64> {
        match self.grid.is_empty() {
            true => balanced_grid(members, self.sizes.len()),
            false => self.grid.clone(),
        }
    }

    /// Start and size of a member's block in each dimension; `None`: it has none.
    fn block(&self, member: u32, members: u32) -> Option<Vec<(u64, u64)>> {
        let grid = self.grid_for(members);
        let place = grid_place(member, &grid)?;
        let sides = self.sizes.iter().zip(&grid).zip(&place);
        let block: Vec<_> = sides.map(|((n, parts), k)| part(*n, *parts, *k)).collect();
        block.iter().all(|(_, size)| *size > 0).then_some(block)
    }

    /// Bytes from an element to the next in each dimension.
    fn units(&self) -> Vec<u64> {
        let mut units = vec![self.element_bytes; self.sizes.len()];
        for dim in (1..units.len()).rev() {
            units[dim - 1] = units[dim] * self.sizes[dim];
        }
        units
    }
}

impl Subarray {
    fn check(&self, members: u32) -> Result<(), String> {
        let grid = self.grid_for(members);
        let (given, dims) = (grid.len(), self.sizes.len());
        if given != dims {
            return Err(format!(
                "expected as many numbers in grid as in sizes, found {given} and {dims}"
            ));
        }
        if product(&grid).is_none_or(|places| places > u64::from(members)) {
            let places: Vec<String> = grid.iter().map(u64::to_string).collect();
            return Err(format!(
                "expected at least {} members, one for each place of the grid, found {members}",
                places.join(" * ")
            ));
        }
        let bytes = product(&self.sizes).and_then(|n| product(&[n, self.element_bytes]));
        let end = bytes.and_then(|bytes| sum(self.header_bytes, bytes));
        end.ok_or_else(|| describe_overflow(members))?;
        check_runs(
            self.sizes.iter().zip(&grid).rev().skip(2).map(|(n, p)| n.div_ceil(*p)).product(),
        )
    }

    fn runs(&self, member: u32, members: u32) -> Vec<Run> {
        let Some(block) = self.block(member, members) else { return Vec::new() };
        let mut dims: Vec<(u64, u64)> =
            block.iter().zip(self.units()).map(|((_, count), unit)| (*count, unit)).collect();
        let starts = block.iter().zip(&dims).map(|((start, _), (_, unit))| start * unit);
        let offset_bytes = self.header_bytes + starts.sum::<u64>();
        let length_bytes = dims.pop().map_or(0, |(count, unit)| count * unit);
        let (count, stride_bytes) = dims.pop().unwrap_or((1, length_bytes));
        let planes: u64 = dims.iter().map(|dim| dim.0).product();
        let run = |plane| {
            let (mut rest, mut offset_bytes) = (plane, offset_bytes);
            for (count, unit) in dims.iter().rev() {
                offset_bytes += rest % count * unit;
                rest /= count;
            }
            Run { offset_bytes, length_bytes, stride_bytes, count }
        };
        (0..planes).map(run).collect()
    }

    fn view(&self, member: u32, members: u32) -> View {
        let Some(block) = self.block(member, members) else {
            return View::at(self.header_bytes, Datatype::Contiguous { bytes: 0 });
        };
        let (starts, subsizes) = block.into_iter().unzip();
        let (sizes, element_bytes) = (self.sizes.clone(), self.element_bytes);
        let filetype = Datatype::Subarray { sizes, subsizes, starts, element_bytes };
        View::at(self.header_bytes, filetype)
    }
}

/// A member's runs are kept in memory.
fn check_runs(runs: u64) -> Result<(), String> {
    match runs <= MAX_RUNS as u64 {
        true => Ok(()),
        false => Err(format!("expected at most {MAX_RUNS} pieces of a member, found {runs}")),
    }
}

/// A grid of `members` places that is nearly a cube, the longest side first, as
/// `MPI_Dims_create` makes it: prime factors, the largest first, go to the shortest side.
pub fn balanced_grid(members: u32, dims: usize) -> Vec<u64> {
    let mut grid = vec![1u64; dims];
    for factor in prime_factors(members).into_iter().rev() {
        if let Some(shortest) = grid.iter_mut().min() {
            *shortest *= factor;
        }
    }
    grid.sort_unstable_by(|a, b| b.cmp(a));
    grid
}

/// In ascending order.
fn prime_factors(n: u32) -> Vec<u64> {
    let (mut n, mut factor, mut factors) = (u64::from(n), 2, Vec::new());
    while factor * factor <= n {
        while n % factor == 0 {
            factors.push(factor);
            n /= factor;
        }
        factor += 1;
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}

/// The place of a member on a grid in C order (the last dimension runs fastest), as
/// `MPI_Cart_create` numbers them; `None`: the grid has fewer places.
fn grid_place(member: u32, grid: &[u64]) -> Option<Vec<u64>> {
    let mut rest = u64::from(member);
    let mut place = vec![0; grid.len()];
    for (at, size) in place.iter_mut().zip(grid).rev() {
        *at = rest % size;
        rest /= size;
    }
    (rest == 0).then_some(place)
}

/// First element and number of elements of part `k` of `parts`: the first `n mod parts`
/// parts have one more.
fn part(n: u64, parts: u64, k: u64) -> (u64, u64) {
    let (base, extra) = (n / parts, n % parts);
    let start = k * base + k.min(extra);
    (start, base + u64::from(k < extra))
}
