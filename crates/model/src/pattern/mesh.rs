//! `mesh`: vertices of an unstructured mesh, each with a record of values; every member has some.
//!
//! ```text
//! offset(v) = header + v * values * 8,  length values * 8         v in 0..vertices
//! "block":  member g has vertices in a row, the first (vertices mod G) members one more
//! "cyclic": member g has g, g + G, g + 2G, ...
//! "random": as "block", of a random permutation of the vertices, in its order
//! ```
//!
//! The unstructured mesh of PIObench (Shorter, MS thesis, Clemson; the formula is a
//! reconstruction), where `values` is called ValuesPerRecord.

use super::grid::part;
use super::view::{Datatype, View};
use super::{Argument, Promise, Run, Runs, Shape, fits, product, sum};
use crate::permutation::Permutation;
use serde::{Deserialize, Serialize};

/// Who has which vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Partition {
    /// Vertices in a row.
    Block,
    /// Every G-th.
    Cyclic,
    /// Some, without order.
    Random,
}

impl Partition {
    /// The word of the language.
    pub fn name(self) -> &'static str {
        match self {
            Partition::Block => "block",
            Partition::Cyclic => "cyclic",
            Partition::Random => "random",
        }
    }
}

/// Vertices with records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mesh {
    /// Vertices of all members.
    pub vertices: u64,
    /// Values of 8 bytes of each vertex.
    pub values: u64,
    /// Who has which.
    pub partition: Partition,
    /// Where the first record is.
    pub header_bytes: u64,
    /// Seed of the permutation: that of the program.
    pub seed: u64,
}

impl Mesh {
    fn record_bytes(&self) -> u64 {
        self.values * 8
    }

    /// The vertices of "block" and "cyclic" as a run.
    fn run(&self, member: u32, members: u32) -> Run {
        let (first, count) = part(self.vertices, members.into(), member.into());
        let length_bytes = self.record_bytes();
        let (first, step) = match self.partition {
            Partition::Cyclic => (u64::from(member), u64::from(members)),
            _ => (first, 1),
        };
        if count == 0 {
            return Run { offset_bytes: self.header_bytes, ..Run::default() };
        }
        Run {
            offset_bytes: self.header_bytes + first * length_bytes,
            length_bytes,
            // One extent needs no stride, and that may have no number.
            stride_bytes: step.saturating_mul(length_bytes),
            count,
        }
    }
}

impl Shape for Mesh {
    fn check(&self, members: u32) -> Result<(), String> {
        fits(self.end(members), members)
    }

    fn end(&self, _members: u32) -> Option<u64> {
        sum(self.header_bytes, product(&[self.vertices, self.values, 8])?)
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        if self.partition != Partition::Random {
            return Box::new(std::iter::once(self.run(member, members)));
        }
        let (first, count) = part(self.vertices, members.into(), member.into());
        let order = Permutation::new(self.vertices, self.seed);
        let record_bytes = self.record_bytes();
        let vertices = (first..first + count).filter_map(move |at| order.at(at));
        Box::new(
            vertices.map(move |v| Run::single(self.header_bytes + v * record_bytes, record_bytes)),
        )
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
    }

    fn count(&self, member: u32, members: u32) -> u64 {
        self.run(member, members).count
    }

    fn bytes(&self, member: u32, members: u32) -> u64 {
        self.run(member, members).count * self.record_bytes()
    }

    fn view(&self, member: u32, members: u32) -> View {
        let run = self.run(member, members);
        let of = |bytes| Datatype::Contiguous { bytes };
        match self.partition {
            Partition::Block => View::at(run.offset_bytes, of(run.count * run.length_bytes)),
            Partition::Cyclic => {
                let filetype = Datatype::vector(run.count, run.stride_bytes, of(run.length_bytes));
                View::at(run.offset_bytes, filetype)
            }
            Partition::Random => View::of_extents(self.extents(member, members)),
        }
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("vertices", Argument::Number(self.vertices)),
            ("values", Argument::Number(self.values)),
            ("partition", Argument::Word(self.partition.name())),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
