//! `sequential`: every member goes through its own part, or all through the whole file.
//!
//! ```text
//! mode "partition":  offset(u) = header + (g * count + u) * block        u in 0..count
//! mode "whole":      offset(u) = header + u * block                      u in 0..count
//! ```
//!
//! The sequential pattern of PIObench (Shorter, MS thesis, Clemson; the formula is a
//! reconstruction). The whole file is what readers of one input do.

use super::segmented::Segmented;
use super::view::View;
use super::{Argument, Promise, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// What a member goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Its own part.
    #[default]
    Partition,
    /// All of it, like every other member.
    Whole,
}

/// Extents one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequential {
    /// Bytes of an extent.
    pub block_bytes: u64,
    /// Extents of each member.
    pub count: u64,
    /// Where the pattern begins in the file.
    pub header_bytes: u64,
    /// What a member goes through.
    pub mode: Mode,
}

impl Sequential {
    fn part(&self) -> Segmented {
        let Sequential { block_bytes, count, header_bytes, .. } = *self;
        Segmented { block_bytes, count, header_bytes }
    }

    fn place(&self, member: u32) -> u32 {
        if self.mode == Mode::Whole { 0 } else { member }
    }
}

impl Shape for Sequential {
    fn check(&self, members: u32) -> Result<(), String> {
        fits(self.end(members), members)
    }

    fn end(&self, members: u32) -> Option<u64> {
        let parts = if self.mode == Mode::Whole { 1 } else { members };
        sum(self.header_bytes, product(&[self.block_bytes, self.count, parts.into()])?)
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        Box::new(self.part().runs(self.place(member), members).collect::<Vec<_>>().into_iter())
    }

    fn promise(&self, members: u32) -> Promise {
        Promise {
            disjoint: members == 1 || self.mode == Mode::Partition,
            covers: Some(self.header_bytes..self.end_bytes(members)),
        }
    }

    fn view(&self, member: u32, members: u32) -> View {
        self.part().view(self.place(member), members)
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("block", Argument::Number(self.block_bytes)),
            ("count", Argument::Number(self.count)),
            ("mode", Argument::Word(if self.mode == Mode::Whole { "whole" } else { "partition" })),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
