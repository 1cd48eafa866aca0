//! One operation of a run, and what follows from the operation alone.

use model::Op;
use model::event::{Details, Event, FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_UNPLACED, NO_ID};
use model::op::ParamKind;

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
    use Op::*;
    matches!(op, Fwrite | Writev | Ftruncate | Fallocate | Pfwrite | Pfsetsize | Pfpreallocate)
}

/// The first parameter is an open file.
pub fn takes_handle(op: Op) -> bool {
    let first = op.row().params.first();
    let is_file = |kind| matches!(kind, ParamKind::Handle | ParamKind::MpiHandle);
    first.is_some_and(|param| is_file(param.kind))
}
