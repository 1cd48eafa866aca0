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

impl Bytes {
    /// One call moves them, nobody has to be there or looks at them, and no other call follows.
    #[inline(always)]
    fn is_one_call<B: Backend>(&self, io: &Io<'_, B>, active: &Active, write: bool) -> bool {
        self.word == Word::Independent
            && self.len > 0
            && !(write && active.fsync == Fsync::Op)
            && active.transfer.is_none_or(|most| self.len <= most && active.depth == 1)
            && !io.verified.on
            && !B::REHEARSES
            && !stop::requested()
    }
}

/// Makes the call on a file, which is the handle at a place of the table, if it is one.
#[inline(always)]
pub(super) fn call<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    (at, file): (usize, MpiFile),
    (bytes, write): (Bytes, bool),
) -> Option<Shot> {
    let active = io.options.active();
    if !bytes.is_one_call(io, active, write) {
        return None;
    }
    let (content, len) = (active.data, bytes.len as usize);
    let offset = bytes.offset.unwrap_or(io.handles.get(at).position);
    let watch = if write { io.watch_filling(bytes.len) } else { None };
    let memory = match write {
        true => Memory::Write(buffers.wide_source(content, len, offset).ok()?),
        false => Memory::Read(buffers.target(len).ok()?),
    };
    io.filled(watch, bytes.len);
    let at = At::Offset { offset, collective: false };
    let (order, most_bytes) = (None, None);
    let call = FileCall::Transfer { file, at, memory, order, most_bytes };
    Some(now::timed(&mut io.backend, &io.clock, call))
}

/// What the operation came to, if the call has moved all of them; a read also has to lie before the end
/// that the file is known to have.
#[inline(always)]
pub(super) fn whole<B: Backend>(
    io: &mut Io<'_, B>,
    at: usize,
    (bytes, write): (Bytes, bool),
    shot: Shot,
) -> Option<Tally> {
    let handle = io.handles.get(at);
    let offset_bytes = bytes.offset.unwrap_or(handle.position);
    let end_bytes = offset_bytes.saturating_add(bytes.len);
    if shot.reply != bytes.len as Reply || !write && end_bytes > handle.seen_bytes {
        return None;
    }
    let mut tally = Tally::EMPTY;
    (tally.offset_bytes, tally.requested_bytes) = (offset_bytes, bytes.len);
    tally.done_bytes = bytes.len;
    tally.add_time(Part::Data, shot);
    if bytes.offset.is_none() {
        handle.position = end_bytes;
    }
    let mode = handle.mode;
    match write {
        true => io.wrote_to(at, mode, bytes.len),
        false => io.was_read(mode.place, false, bytes.len),
    }
    Some(tally)
}
