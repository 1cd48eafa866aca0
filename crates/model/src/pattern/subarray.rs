//! `subarray`: an array of any number of dimensions in C order, a block of it for each member.
//!
//! ```text
//! along a dimension of n elements and p parts, part k has elements
//!     k*(n div p) + min(k, n mod p) ..  and one more than n div p of them if k < n mod p
//! offset = header + ((e0*size1 + e1)*size2 + ...) * elem,  a row of the block in one extent
//! ```
//!
//! What `MPI_Type_create_subarray` describes; block-block in the words of High Performance
//! Fortran; coll_perf of ROMIO is a 3-D case.

use super::grid::{self, grid_of, part};
use super::view::{Datatype, View};
use super::{Argument, Dim, Lattice, Promise, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// Blocks of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subarray {
    /// Elements in each dimension; the last one runs fastest.
    pub sizes: Vec<u64>,
    /// Members in each dimension; empty: a balanced grid of all members.
    pub grid: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Where the array begins in the file.
    pub header_bytes: u64,
}

impl Subarray {
    /// Start and size of a member's block in each dimension; `None`: it has none.
    fn block(&self, member: u32, members: u32) -> Option<Vec<(u64, u64)>> {
        let grid = grid_of(&self.grid, self.sizes.len(), members);
        let place = grid::place(member, &grid)?;
        let sides = self.sizes.iter().zip(&grid).zip(&place);
        let block: Vec<_> = sides.map(|((n, parts), k)| part(*n, *parts, *k)).collect();
        block.iter().all(|(_, size)| *size > 0).then_some(block)
    }

    /// Bytes from an element to the next in each dimension.
    fn units(&self) -> Vec<u64> {
        let mut unit = self.element_bytes;
        let mut units: Vec<u64> = Vec::with_capacity(self.sizes.len());
        for size in self.sizes.iter().rev() {
            units.push(unit);
            unit *= size;
        }
        units.reverse();
        units
    }
}

impl Shape for Subarray {
    fn check_numbers(&self) -> Result<(), String> {
        grid::check_numbers(&self.sizes, &self.grid)
    }

    fn check(&self, members: u32) -> Result<(), String> {
        self.check_numbers()?;
        grid::check(&grid_of(&self.grid, self.sizes.len(), members), members)?;
        fits(self.end(members), members)
    }

    fn end(&self, _members: u32) -> Option<u64> {
        sum(self.header_bytes, product(&[product(&self.sizes)?, self.element_bytes])?)
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        let Some(mut block) = self.block(member, members) else {
            return Box::new(std::iter::empty());
        };
        let mut units = self.units();
        let starts = block.iter().zip(&units).map(|((start, _), unit)| start * unit);
        let base_bytes = self.header_bytes + starts.sum::<u64>();
        let (Some((_, width)), Some(unit)) = (block.pop(), units.pop()) else {
            return Box::new(std::iter::empty());
        };
        let dims = block.iter().zip(units);
        let dims = dims.map(|((_, count), stride_bytes)| Dim { count: *count, stride_bytes });
        Lattice { base_bytes, length_bytes: width * unit, dims: dims.collect() }.runs()
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
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

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("sizes", Argument::Numbers(self.sizes.clone())),
            ("grid", Argument::Numbers(self.grid.clone())),
            ("elem", Argument::Number(self.element_bytes)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
