//! Where instructions take values from and put them.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Marks an absent slot.
pub const NO_SLOT: Slot = Slot(u32::MAX);

/// A variable's place. Globals and hidden loop counters: `0..Plan::globals`;
/// with [`Slot::LOCAL`] set: relative to the frame of the running proc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot(pub u32);

impl Slot {
    /// This bit marks a slot of the running proc's frame.
    pub const LOCAL: u32 = 1 << 29;

    /// A slot of the running proc's frame.
    pub fn local(index: u32) -> Slot {
        Slot(index | Slot::LOCAL)
    }

    /// The slot `count` places after this one.
    pub fn after(self, count: u32) -> Slot {
        Slot(self.0 + count)
    }
}

/// Where an instruction takes a value from: two tag bits and an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operand(pub u32);

/// An [`Operand`] taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A variable.
    Slot(Slot),
    /// Index into [`crate::Plan::consts`].
    Const(u32),
    /// Index into [`crate::Plan::templates`]: a text rendered on use.
    Template(u32),
    /// An optional argument that was left out.
    Absent,
}

impl Operand {
    /// An optional argument that was left out.
    pub const ABSENT: Operand = Operand(3 << 30);

    /// A variable.
    pub fn slot(slot: Slot) -> Operand {
        Operand(slot.0)
    }
    /// The constant with this index in [`crate::Plan::consts`].
    pub fn constant(index: u32) -> Operand {
        Operand(1 << 30 | index)
    }
    /// A text with variables in it.
    pub fn template(index: u32) -> Operand {
        Operand(2 << 30 | index)
    }
    /// Takes the operand apart.
    #[inline(always)]
    pub fn source(self) -> Source {
        let index = self.0 & !(3 << 30);
        match self.0 >> 30 {
            0 => Source::Slot(Slot(index)),
            1 => Source::Const(index),
            2 => Source::Template(index),
            _ => Source::Absent,
        }
    }
}

/// A run of operands in [`crate::Plan::args`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Args {
    /// First operand.
    pub start: u32,
    /// Number of operands.
    pub len: u32,
}

impl Args {
    /// The indices into [`crate::Plan::args`].
    pub fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}
