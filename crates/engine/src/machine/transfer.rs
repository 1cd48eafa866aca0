//! Moving bytes: requests become calls, partial transfers are continued.

use super::io::{Io, Shot, Tally, timed};
use super::note;
use crate::backend::direct::Alignment;
use crate::backend::{Act, Backend};
use crate::buffer::{Buffers, MAX_CALL_BYTES};
use crate::call::{Call, Fd, Reply};
use crate::clock::Clock;
use crate::stop;
use model::Part;
use model::limits::CALL_BYTES;

/// Size of the calls that read the rest of a file, unless `with (transfer=...)` says otherwise.
pub(super) const REST_BYTES: u64 = 1 << 20;
/// Error of an operation in whose middle the rank was stopped.
pub(super) const STOPPED: i32 = libc::EINTR;
const INTERRUPTED: Reply = -(libc::EINTR as Reply);

/// Where bytes go to or come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) fd: Fd,
    /// First byte in the file; 0 where writes go to the end.
    pub(super) offset_bytes: u64,
    pub(super) append: bool,
    pub(super) direct: Option<Alignment>,
}

impl Place {
    /// Whether O_DIRECT cannot do it: the kernel would say EINVAL, or worse, fall back.
    fn is_misaligned(&self, len: u64, call_bytes: u64) -> bool {
        let Some(alignment) = self.direct else { return false };
        let unit = u64::from(alignment.offset_bytes);
        let splits = len > call_bytes && !call_bytes.is_multiple_of(unit);
        !self.offset_bytes.is_multiple_of(unit) || !len.is_multiple_of(unit) || splits
    }
}

/// The most that one call moves.
#[inline(always)]
pub(super) fn call_bytes(transfer: Option<u64>) -> u64 {
    transfer.unwrap_or(CALL_BYTES).min(MAX_CALL_BYTES as u64)
}

/// The same for so many bytes. A rehearsal is told what the program needs, and makes fewer calls.
#[inline(always)]
fn per_call<B: Backend, K>(io: &mut Io<'_, B, K>, transfer: Option<u64>, len: u64) -> u64 {
    let call_bytes = call_bytes(transfer);
    if B::REHEARSES {
        io.backend.rehearse(Act::Buffer(call_bytes.min(len)));
        return MAX_CALL_BYTES as u64;
    }
    call_bytes
}

/// The rank is to stop in the middle of an operation, which is then not counted: calls that the
/// kernel interrupts are repeated, so that nothing else gives this error.
#[cold]
pub(super) fn give_up(tally: &mut Tally) {
    tally.fail(STOPPED);
}

/// Writes `len` bytes. `first`: a call that has been made already and did not write all of them.
#[inline(always)]
pub(super) fn write<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    place: Place,
    len: u64,
    mut first: Option<Shot>,
    tally: &mut Tally,
) {
    let options = *io.options.active();
    let call_bytes = per_call(io, options.transfer, len);
    (tally.offset_bytes, tally.requested_bytes) = (place.offset_bytes, len);
    if place.is_misaligned(len, call_bytes) {
        io.notes |= note::DIRECT_MISALIGNED;
        return tally.fail(libc::EINVAL);
    }
    loop {
        let done = tally.done_bytes;
        let piece = (len - done).min(call_bytes) as usize;
        let Ok(source) = buffers.source(options.data, piece, place.offset_bytes + done) else {
            return tally.fail(libc::ENOMEM);
        };
        write_piece(io, source, place, first.take(), tally);
        if tally.errno != 0 || tally.done_bytes >= len {
            return;
        }
        if stop::requested() {
            return give_up(tally);
        }
    }
}

#[inline(always)]
fn write_piece<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    mut source: &[u8],
    place: Place,
    mut first: Option<Shot>,
    tally: &mut Tally,
) {
    loop {
        let (fd, offset) = (place.fd, place.offset_bytes + tally.done_bytes);
        let shot = if let Some(first) = first.take() {
            first
        } else if place.append {
            timed(&mut io.backend, &io.clock, Call::Append { fd, buf: source })
        } else {
            timed(&mut io.backend, &io.clock, Call::Pwrite { fd, buf: source, offset })
        };
        if shot.reply == INTERRUPTED {
            tally.add_time(Part::Data, shot);
            continue;
        }
        let moved = tally.add(Part::Data, shot);
        if moved < 0 {
            return;
        }
        tally.done_bytes += moved as u64;
        if place.append && io.keeps_events {
            io.appended(fd, moved as u64);
        }
        source = &source[(moved as usize).min(source.len())..];
        if source.is_empty() {
            return;
        }
        if moved == 0 {
            // Nothing was written and nothing was refused: going on could last forever.
            return tally.fail(libc::EIO);
        }
    }
}

/// Reads `len` bytes, or to the end of the file.
#[inline(always)]
pub(super) fn read<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    place: Place,
    len: Option<u64>,
    tally: &mut Tally,
) {
    let transfer = io.options.active().transfer;
    let transfer = transfer.or(len.is_none().then_some(REST_BYTES));
    let call_bytes = per_call(io, transfer, len.unwrap_or(u64::MAX));
    tally.offset_bytes = place.offset_bytes;
    tally.requested_bytes = len.unwrap_or(0);
    if place.is_misaligned(len.unwrap_or(call_bytes), call_bytes) {
        io.notes |= note::DIRECT_MISALIGNED;
        return tally.fail(libc::EINVAL);
    }
    let wanted = len.unwrap_or(u64::MAX);
    loop {
        let piece = (wanted - tally.done_bytes).min(call_bytes) as usize;
        let Ok(buf) = buffers.target(piece) else { return tally.fail(libc::ENOMEM) };
        let (fd, offset) = (place.fd, place.offset_bytes + tally.done_bytes);
        let call = Call::Pread { fd, buf, offset, rest: len.is_none() };
        let shot = timed(&mut io.backend, &io.clock, call);
        if shot.reply == INTERRUPTED {
            tally.add_time(Part::Data, shot);
            continue;
        }
        let moved = tally.add(Part::Data, shot);
        if moved < 0 {
            return;
        }
        tally.done_bytes += moved as u64;
        // With O_DIRECT a partial transfer ends at the end of the file, which is no
        // place to go on from.
        let ended = moved == 0 || place.direct.is_some() && (moved as usize) < piece;
        if tally.done_bytes >= wanted || ended {
            break;
        }
        if stop::requested() {
            return give_up(tally);
        }
    }
    match len {
        Some(len) => tally.short = tally.done_bytes < len,
        None => tally.requested_bytes = tally.done_bytes,
    }
}
