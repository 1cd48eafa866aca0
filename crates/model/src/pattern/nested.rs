//! `nested`: strides within strides, to any depth.
//!
//! ```text
//! offset = header + g * shift + i1 * stride1 + i2 * stride2 + ...      ik in 0..countk, i1 fastest
//! ```
//!
//! The nested strided pattern of PIObench (Shorter, MS thesis, Clemson; the formula is a reconstruction);
//! the term is that of Nieuwejaar and Kotz (CHARISMA study, 1996). Without strides given: stride1 = G * block,
//! and each further stride = gap * count * stride of the one inside it, so that gap 1 fills the file.

use super::view::View;
use super::{Argument, Dim, Lattice, Promise, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// Strides within strides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nested {
    /// Bytes of an extent.
    pub block_bytes: u64,
    /// Repetitions of each level, the innermost first.
    pub counts: Vec<u64>,
    /// Stride of each level, the innermost first; empty: made from `gap`.
    pub strides_bytes: Vec<u64>,
    /// Factor between nested strides where none are given; 1: no holes.
    pub gap: u64,
    /// From the first extent of a member to that of the next.
    pub shift_bytes: u64,
    /// Where the pattern begins in the file.
    pub header_bytes: u64,
}

impl Nested {
    fn strides(&self, members: u32) -> Option<Vec<u64>> {
        if !self.strides_bytes.is_empty() {
            return Some(self.strides_bytes.clone());
        }
        let mut stride_bytes = product(&[members.into(), self.block_bytes])?;
        let mut strides = vec![stride_bytes];
        for count in self.counts.iter().rev().skip(1).rev() {
            stride_bytes = product(&[stride_bytes, *count, self.gap])?;
            strides.push(stride_bytes);
        }
        Some(strides)
    }

    fn lattice(&self, member: u32, members: u32) -> Option<Lattice> {
        let strides = self.strides(members)?;
        let dims = self.counts.iter().zip(strides).rev();
        Some(Lattice {
            base_bytes: sum(self.header_bytes, product(&[member.into(), self.shift_bytes])?)?,
            length_bytes: self.block_bytes,
            dims: dims.map(|(count, stride_bytes)| Dim { count: *count, stride_bytes }).collect(),
        })
    }
}

impl Shape for Nested {
    fn check_numbers(&self) -> Result<(), String> {
        let (counts, strides) = (self.counts.len(), self.strides_bytes.len());
        if strides != 0 && strides != counts {
            return Err(format!(
                "expected as many strides as counts, found {counts} counts and {strides} strides"
            ));
        }
        Ok(())
    }

    fn check(&self, members: u32) -> Result<(), String> {
        self.check_numbers()?;
        fits(self.end(members), members)
    }

    fn end(&self, members: u32) -> Option<u64> {
        self.lattice(members - 1, members)?.end()
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        match self.lattice(member, members) {
            Some(lattice) => lattice.runs(),
            None => Box::new(std::iter::empty()),
        }
    }

    fn promise(&self, members: u32) -> Promise {
        let regular = self.strides_bytes.is_empty() && self.shift_bytes == self.block_bytes;
        let dense = regular && self.gap == 1;
        Promise {
            disjoint: regular,
            covers: dense.then(|| self.header_bytes..self.end_bytes(members)),
        }
    }

    fn view(&self, member: u32, members: u32) -> View {
        match self.lattice(member, members) {
            Some(lattice) if lattice.ascends() => lattice.view(),
            _ => View::of_extents(self.extents(member, members)),
        }
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("block", Argument::Number(self.block_bytes)),
            ("counts", Argument::Numbers(self.counts.clone())),
            ("strides", Argument::Numbers(self.strides_bytes.clone())),
            ("gap", Argument::Number(self.gap)),
            ("shift", Argument::Number(self.shift_bytes)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }

    /// The strides, without the gap that they are made with.
    fn arguments_of(&self, members: u32) -> Vec<(&'static str, Argument)> {
        let strides_bytes = self.strides(members).unwrap_or_default();
        let mut arguments = Nested { strides_bytes, ..self.clone() }.arguments();
        arguments.retain(|(name, _)| *name != "gap");
        arguments
    }
}
