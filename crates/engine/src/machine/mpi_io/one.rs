//! A number of bytes that one independent call moves, as loops of transfers have it. Little stands around
//! the call: a system call drives the code between two calls out of the processor's first-level caches.

use super::super::io::Io;
use super::super::now;
use super::super::options::{Active, Fsync};
use super::super::tally::{Shot, Tally};
use super::data::{Bytes, Word};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{At, FileCall, Memory, MpiFile, Reply};
use crate::stop;
use model::Part;

/// Such a call.
#[derive(Clone, Copy)]
pub(super) struct One {
    /// The place of the file in the table of handles.
    at: usize,
    file: MpiFile,
    write: bool,
    offset_bytes: u64,
    len: u64,
    moves_position: bool,
}

impl Bytes {
    /// One call moves them, nobody has to be there or looks at them, and no other call follows.
    #[inline(always)]
    fn is_one_call<B: Backend>(&self, io: &Io<'_, B>, active: &Active, write: bool) -> bool {
        self.word == Word::Independent
            && self.len > 0
            && !(write && active.fsync == Fsync::Op)
            && active.transfer.is_none_or(|most| self.len <= most && active.depth == 1)
            && !io.accounts
            && !stop::requested()
    }
}

impl One {
    /// The call that moves bytes of a file, which is the handle at a place of the table, if it is one.
    #[inline(always)]
    pub(super) fn of<B: Backend>(
        io: &mut Io<'_, B>,
        (at, file): (usize, MpiFile),
        (bytes, write): (Bytes, bool),
    ) -> Option<One> {
        if !bytes.is_one_call(io, io.options.active(), write) {
            return None;
        }
        let offset_bytes = bytes.offset.unwrap_or(io.handles.get(at).position);
        let moves_position = bytes.offset.is_none();
        Some(One { at, file, write, offset_bytes, len: bytes.len, moves_position })
    }

    /// Makes it; `None`: there is no memory.
    #[inline(always)]
    pub(super) fn make<B: Backend>(
        self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
    ) -> Option<Shot> {
        let (content, len, offset) =
            (io.options.active().data, self.len as usize, self.offset_bytes);
        let memory = match self.write {
            true => {
                let watch = io.watch_filling(self.len);
                let source = buffers.wide_source(content, len, offset).ok()?;
                io.filled(watch, self.len);
                Memory::Write(source)
            }
            false => Memory::Read(buffers.target(len).ok()?),
        };
        let at = At::Offset { offset, collective: false };
        let (file, order, most_bytes) = (self.file, None, None);
        let call = FileCall::Transfer { file, at, memory, order, most_bytes };
        Some(now::timed(&mut io.backend, &io.clock, call))
    }

    /// What the operation came to, if the call has moved all bytes; a read also has to lie before the end
    /// that the file is known to have.
    #[inline(always)]
    pub(super) fn whole<B: Backend>(self, io: &mut Io<'_, B>, shot: Shot) -> Option<Tally> {
        let handle = io.handles.get(self.at);
        let end_bytes = self.offset_bytes.saturating_add(self.len);
        if shot.reply != self.len as Reply || !self.write && end_bytes > handle.seen_bytes {
            return None;
        }
        if self.moves_position {
            handle.position = end_bytes;
        }
        let mode = handle.mode;
        match self.write {
            true => io.wrote_to(self.at, mode, self.len),
            false => io.was_read(mode.place, false, self.len),
        }
        let mut tally = Tally::EMPTY;
        (tally.offset_bytes, tally.requested_bytes) = (self.offset_bytes, self.len);
        tally.done_bytes = self.len;
        tally.add_time(Part::Data, shot);
        Some(tally)
    }
}
