//! `blockcyclic`: an array of any number of dimensions, cut into small blocks that are dealt
//! out to the members in turn in every dimension.
//!
//! ```text
//! along a dimension with p members: element e belongs to place (e div block) mod p
//! offset = header + ((e0*size1 + e1)*size2 + ...) * elem,  a row of a block in one extent
//! ```
//!
//! The distribution of ScaLAPACK and cyclic(k) of High Performance Fortran, as
//! `MPI_Type_create_darray` describes it; MADbench2 spreads its matrices so.

use super::grid::{self, grid_of};
use super::view::{Datatype, View};
use super::{Argument, Promise, Run, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// Blocks dealt out in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCyclic {
    /// Elements in each dimension; the last one runs fastest.
    pub sizes: Vec<u64>,
    /// Elements of a block in each dimension.
    pub blocks: Vec<u64>,
    /// Members in each dimension; empty: a balanced grid of all members.
    pub grid: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Where the array begins in the file.
    pub header_bytes: u64,
}

/// What a member has in one dimension: `full` blocks of `block` elements, the first at `start`, each
/// `step` after the last, and then `rest` elements of a block that the array cuts off.
#[derive(Clone, Copy, Debug)]
struct Deal {
    start: u64,
    block: u64,
    step: u64,
    full: u64,
    rest: u64,
    /// Bytes from an element to the next.
    unit: u64,
}

impl Deal {
    fn new(size: u64, block: u64, parts: u64, place: u64) -> Deal {
        let (whole, cut) = (size / block, size % block);
        let full = whole / parts + u64::from(place < whole % parts);
        let rest = if place == whole % parts { cut } else { 0 };
        // A block of more elements than the array has is never full; its step is never taken.
        let start = place.saturating_mul(block);
        Deal { start, block, step: parts.saturating_mul(block), full, rest, unit: 1 }
    }

    fn elements(&self) -> u64 {
        self.full * self.block + self.rest
    }

    /// The element that is the member's `k`-th.
    fn element(&self, k: u64) -> u64 {
        self.start + (k / self.block) * self.step + k % self.block
    }

    fn runs(self, base: u64) -> impl Iterator<Item = Run> {
        let at = |blocks: u64| base + (self.start + blocks * self.step) * self.unit;
        let full = (self.full > 0).then(|| Run {
            offset_bytes: at(0),
            length_bytes: self.block * self.unit,
            // One block needs no stride, and that may have no number.
            stride_bytes: self.step.saturating_mul(self.unit),
            count: self.full,
        });
        let rest = (self.rest > 0).then(|| Run::single(at(self.full), self.rest * self.unit));
        full.into_iter().chain(rest)
    }

    /// The type of this dimension around that of an element.
    fn datatype(&self, of: &Datatype) -> Datatype {
        let block = |elements| match of {
            Datatype::Contiguous { bytes } => Datatype::Contiguous { bytes: bytes * elements },
            of => Datatype::vector(elements, self.unit, of.clone()),
        };
        let mut members = Vec::new();
        if self.full > 0 {
            let blocks = match self.full {
                1 => block(self.block),
                full => Datatype::vector(full, self.step * self.unit, block(self.block)),
            };
            members.push((self.start * self.unit, blocks));
        }
        if self.rest > 0 {
            let at = (self.start + self.full * self.step) * self.unit;
            members.push((at, block(self.rest)));
        }
        Datatype::Struct { members }
    }
}

impl BlockCyclic {
    /// The member's share in each dimension; `None`: it has nothing.
    fn deals(&self, member: u32, members: u32) -> Option<Vec<Deal>> {
        let grid = grid_of(&self.grid, self.sizes.len(), members);
        let place = grid::place(member, &grid)?;
        let sides = self.sizes.iter().zip(&self.blocks).zip(grid.iter().zip(&place));
        let mut deals: Vec<Deal> =
            sides.map(|((n, block), (parts, k))| Deal::new(*n, *block, *parts, *k)).collect();
        let mut unit = self.element_bytes;
        for (deal, size) in deals.iter_mut().zip(&self.sizes).rev() {
            deal.unit = unit;
            unit *= size;
        }
        deals.iter().all(|deal| deal.elements() > 0).then_some(deals)
    }
}

impl Shape for BlockCyclic {
    fn check_numbers(&self) -> Result<(), String> {
        if self.blocks.len() != self.sizes.len() {
            return Err(format!(
                "expected as many numbers in blocks as in sizes, found {} and {}",
                self.blocks.len(),
                self.sizes.len()
            ));
        }
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
        let deals = self.deals(member, members);
        let Some((inner, outer)) = deals.as_deref().and_then(<[Deal]>::split_last) else {
            return Box::new(std::iter::empty());
        };
        let (inner, outer) = (*inner, outer.to_vec());
        let rows = outer.iter().map(Deal::elements).product();
        let header_bytes = self.header_bytes;
        Box::new((0..rows).flat_map(move |row: u64| {
            let (mut rest, mut base) = (row, header_bytes);
            for deal in outer.iter().rev() {
                base += deal.element(rest % deal.elements()) * deal.unit;
                rest /= deal.elements();
            }
            inner.runs(base)
        }))
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
    }

    fn view(&self, member: u32, members: u32) -> View {
        let Some(deals) = self.deals(member, members) else {
            return View::at(self.header_bytes, Datatype::Contiguous { bytes: 0 });
        };
        let element = Datatype::Contiguous { bytes: self.element_bytes };
        let filetype = deals.iter().rev().fold(element, |of, deal| deal.datatype(&of));
        View::at(self.header_bytes, filetype)
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("sizes", Argument::Numbers(self.sizes.clone())),
            ("blocks", Argument::Numbers(self.blocks.clone())),
            ("grid", Argument::Numbers(self.grid.clone())),
            ("elem", Argument::Number(self.element_bytes)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
