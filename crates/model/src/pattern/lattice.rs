//! Extents on a regular grid of any number of dimensions.
//!
//! ```text
//! base + i0 * stride0 + i1 * stride1 + ...      i0 in 0..count0, i1 in 0..count1, ...
//! ```
//!
//! The common ground of tiles, subarrays and nested strides.

use super::run::{Run, Runs};
use super::view::{Datatype, View};
use super::{product, sum};

/// One dimension of a lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Number of positions.
    pub count: u64,
    /// From one position to the next.
    pub stride_bytes: u64,
}

/// Equal extents on a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lattice {
    /// Position of the first extent.
    pub base_bytes: u64,
    /// Bytes of each extent.
    pub length_bytes: u64,
    /// Dimensions, the outermost first: the last one runs fastest.
    pub dims: Vec<Dim>,
}

impl Lattice {
    /// Number of extents; `None` beyond 2^63 - 1.
    pub fn count(&self) -> Option<u64> {
        let counts: Vec<u64> = self.dims.iter().map(|dim| dim.count).collect();
        product(&counts)
    }

    /// One past the last byte; `None` beyond 2^63 - 1. Also bounds the bytes of all extents.
    pub fn end(&self) -> Option<u64> {
        let count = self.count()?;
        product(&[count, self.length_bytes])?;
        if count == 0 {
            return Some(self.base_bytes);
        }
        let first = sum(self.base_bytes, self.length_bytes)?;
        self.dims
            .iter()
            .try_fold(first, |end, dim| sum(end, product(&[dim.count - 1, dim.stride_bytes])?))
    }

    /// Whether no extent begins before the end of the one before it.
    pub fn ascends(&self) -> bool {
        let mut reach = self.length_bytes;
        for dim in self.dims.iter().rev().filter(|dim| dim.count > 1) {
            if dim.stride_bytes < reach {
                return false;
            }
            reach += (dim.count - 1) * dim.stride_bytes;
        }
        true
    }

    /// The extents.
    pub fn runs(self) -> Runs<'static> {
        let Lattice { base_bytes, length_bytes, mut dims } = self;
        let inner = dims.pop().unwrap_or(Dim { count: 1, stride_bytes: length_bytes });
        let run = Run {
            offset_bytes: base_bytes,
            length_bytes,
            stride_bytes: inner.stride_bytes,
            count: inner.count,
        };
        if dims.is_empty() {
            return Box::new(std::iter::once(run));
        }
        Box::new(Odometer::new(run, dims))
    }

    /// The extents as a file view; they have to ascend.
    pub fn view(&self) -> View {
        let extent = Datatype::Contiguous { bytes: self.length_bytes };
        let filetype = self.dims.iter().rev().fold(extent, |of, dim| match dim.count {
            1 => of,
            count => Datatype::vector(count, dim.stride_bytes, of),
        });
        View::at(self.base_bytes, filetype)
    }
}

/// Counts through the outer dimensions.
struct Odometer {
    next: Run,
    dims: Vec<Dim>,
    at: Vec<u64>,
    done: bool,
}

impl Odometer {
    fn new(next: Run, dims: Vec<Dim>) -> Odometer {
        let done = dims.iter().any(|dim| dim.count == 0);
        Odometer { next, at: vec![0; dims.len()], dims, done }
    }

    fn advance(&mut self) {
        for (at, dim) in self.at.iter_mut().zip(&self.dims).rev() {
            *at += 1;
            if *at < dim.count {
                self.next.offset_bytes += dim.stride_bytes;
                return;
            }
            self.next.offset_bytes -= (dim.count - 1) * dim.stride_bytes;
            *at = 0;
        }
        self.done = true;
    }
}

impl Iterator for Odometer {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if self.done {
            return None;
        }
        let run = self.next;
        self.advance();
        Some(run)
    }
}
