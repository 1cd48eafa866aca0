//! One operation of a run, and what follows from the operation alone.

use model::Op;
use model::event::{Details, Event, FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_UNPLACED, NO_ID};
use model::op::{ByteEffect, Class, NameEffect};
use model::open_flags::{O_CREAT, O_EXCL};

/// Errors that prove whether a name exists.
pub const ENOENT: u16 = 2;
pub const EEXIST: u16 = 17;
pub const EISDIR: u16 = 21;
pub const EINVAL: u16 = 22;
pub const ENOTEMPTY: u16 = 39;

/// One operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Logged {
    /// The operation as every run has it.
    pub event: Event,
    /// Facts that only imported logs have.
    pub details: Details,
}

impl Logged {
    /// Its operation.
    pub fn op(&self) -> Option<Op> {
        Op::from_u8(self.event.op)
    }

    /// Time in the pause before it that its thread waited, as far as recorded, nanoseconds.
    pub fn waited_ns(&self) -> u64 {
        self.details.waited_us * 1000
    }

    /// It did not fail.
    pub fn is_ok(&self) -> bool {
        self.event.errno == 0
    }

    /// Flags of open(2) that it opens with; 0 where it has none.
    pub fn open_flags(&self) -> u32 {
        if self.details.open_flags == NO_ID { 0 } else { self.details.open_flags }
    }

    /// It read less than it asked for.
    pub fn is_short(&self) -> bool {
        let reads = self.op().is_some_and(|op| op.row().class == Class::Read);
        reads && self.is_ok() && self.event.done_bytes < self.event.requested_bytes
    }

    /// Effect on its first name, or on its last one if it has no other; flags are considered.
    pub fn name_effect(&self) -> Option<NameEffect> {
        let op = self.op()?;
        let has = |flag| self.open_flags() & flag != 0;
        Some(match op.row().names.first()? {
            // All members of a group make the file of MPI.
            NameEffect::Opens if has(O_EXCL) && !op.is_mpi_io() => NameEffect::MakesNew,
            NameEffect::Opens if has(O_CREAT) => NameEffect::Makes,
            NameEffect::Opens => NameEffect::Uses,
            effect => *effect,
        })
    }

    /// Its effect on each open file: a copy reads one and writes the other. So does sharing of bytes
    /// (reflink), of unknown extent.
    pub fn parts(&self) -> impl Iterator<Item = Logged> + use<> {
        let mut write = *self;
        if self.op() == Some(Op::Freflink) {
            write.event.requested_bytes = 0;
            write.event.flags |= FLAG_UNPLACED;
        }
        let read = self.op().is_some_and(Op::is_between_files).then(|| {
            (write.event.op, write.event.path2) = (Op::Fwrite as u8, NO_ID);
            (write.event.from_bytes, write.details.instance2) = (0, NO_ID);
            let mut read = write;
            let from_position = self.event.flags & FLAG_FROM_POSITION != 0;
            read.event.flags &= !FLAG_AT_POSITION;
            read.event.flags |= if from_position { FLAG_AT_POSITION } else { 0 };
            (read.event.op, read.event.path) = (Op::Fread as u8, self.event.path2);
            (read.event.offset_bytes, read.details.instance) =
                (self.event.from_bytes, self.details.instance2);
            read
        });
        read.into_iter().chain([write])
    }
}

/// It works on files that are open for writing only.
pub fn needs_writing(op: Op) -> bool {
    use ByteEffect::*;
    op.takes_handle() && matches!(op.row().bytes, Writes | Resizes | Allocates)
}
