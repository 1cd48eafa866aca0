//! `flash`: the three output files of the FLASH astrophysics code.
//!
//! ```text
//! member g has b(g) = blocks + g mod spread blocks; left(g) = b(0) + ... + b(g-1); T = left(G)
//! the file: header, lrefine i32[T], nodetype i32[T], gid i32[T][15], coordinates real[T][3],
//!           blocksize real[T][3], bndbox real[T][3][2], then vars arrays real[T][nzb][nyb][nxb]
//! array of s bytes for each block: offset = start of the array + left(g)*s, length = b(g)*s
//! ```
//!
//! The FLASH-IO benchmark as in PnetCDF: "checkpoint" has 24 variables of 8 bytes, "centred" has 4 of 4 bytes,
//! "corners" likewise with one more value along each side. Guard cells lie in memory only and are not described.

use super::view::{Datatype, View};
use super::{Argument, Promise, Run, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// Which of the three files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// All variables in double precision.
    Checkpoint,
    /// Few variables in single precision at the centres of cells.
    Centred,
    /// Few variables in single precision at the corners of cells.
    Corners,
}

impl Output {
    /// The word of the language.
    pub fn name(self) -> &'static str {
        match self {
            Output::Checkpoint => "checkpoint",
            Output::Centred => "centred",
            Output::Corners => "corners",
        }
    }

    fn real_bytes(self) -> u64 {
        if self == Output::Checkpoint { 8 } else { 4 }
    }

    /// Variables of the benchmark.
    pub fn variables(self) -> u64 {
        if self == Output::Checkpoint { 24 } else { 4 }
    }
}

/// An output file of FLASH.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flash {
    /// Least blocks of a member.
    pub blocks: u64,
    /// Member g has `g mod spread` blocks more.
    pub spread: u64,
    /// Zones of a block in x, y, z.
    pub zones: [u64; 3],
    /// Variables.
    pub variables: u64,
    /// Which file.
    pub output: Output,
    /// Bytes before the first array.
    pub header_bytes: u64,
}

/// Arrays that describe the tree of blocks.
const TREE_ARRAYS: usize = 6;

impl Flash {
    /// Bytes for each block in the arrays of the tree.
    fn tree(&self) -> [u64; TREE_ARRAYS] {
        let real = self.output.real_bytes();
        [4, 4, 4 * 15, real * 3, real * 3, real * 6]
    }

    fn tree_bytes(&self) -> u64 {
        self.tree().iter().sum()
    }

    /// Bytes for each block in the array of a variable.
    fn variable_bytes(&self) -> Option<u64> {
        let more = u64::from(self.output == Output::Corners);
        let [x, y, z] = self.zones.map(|zones| zones.checked_add(more));
        product(&[x?, y?, z?, self.output.real_bytes()])
    }

    fn blocks_of(&self, member: u32) -> u64 {
        self.blocks + u64::from(member) % self.spread
    }

    /// Blocks of the members below `member`.
    fn left(&self, member: u32) -> Option<u64> {
        let member = u64::from(member);
        let (rounds, more) = (member / self.spread, member % self.spread);
        let triangle = |n: u64| u128::from(n) * u128::from(n.saturating_sub(1)) / 2;
        let extra = u128::from(rounds) * triangle(self.spread) + triangle(more);
        sum(product(&[self.blocks, member])?, u64::try_from(extra).ok()?)
    }

    /// Left blocks, own blocks, all blocks, bytes of a block in a variable.
    fn numbers(&self, member: u32, members: u32) -> Option<[u64; 4]> {
        let left = self.left(member)?;
        Some([left, self.blocks_of(member), self.left(members)?, self.variable_bytes()?])
    }
}

impl Shape for Flash {
    fn check(&self, members: u32) -> Result<(), String> {
        fits(self.end(members), members)
    }

    fn end(&self, members: u32) -> Option<u64> {
        let all = product(&[self.variables, self.variable_bytes()?])?;
        sum(self.header_bytes, product(&[self.left(members)?, sum(self.tree_bytes(), all)?])?)
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        let Some([left, own, all, unit]) = self.numbers(member, members) else {
            return Box::new(std::iter::empty());
        };
        let mut start = self.header_bytes;
        let tree = self.tree().map(|size| {
            let run = Run::single(start + left * size, own * size);
            start += all * size;
            run
        });
        let variables = Run {
            offset_bytes: start + left * unit,
            length_bytes: own * unit,
            stride_bytes: all * unit,
            count: self.variables,
        };
        Box::new(tree.into_iter().chain([variables]))
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
    }

    fn view(&self, member: u32, members: u32) -> View {
        let types = self.runs(member, members).map(|run| {
            let extent = Datatype::Contiguous { bytes: run.length_bytes };
            let of = match run.count {
                1 => extent,
                count => Datatype::vector(count, run.stride_bytes, extent),
            };
            (run.offset_bytes - self.header_bytes, of)
        });
        View::at(self.header_bytes, Datatype::Struct { members: types.collect() })
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        let [nxb, nyb, nzb] = self.zones;
        vec![
            ("blocks", Argument::Number(self.blocks)),
            ("spread", Argument::Number(self.spread)),
            ("nxb", Argument::Number(nxb)),
            ("nyb", Argument::Number(nyb)),
            ("nzb", Argument::Number(nzb)),
            ("file", Argument::Word(self.output.name())),
            ("vars", Argument::Number(self.variables)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
