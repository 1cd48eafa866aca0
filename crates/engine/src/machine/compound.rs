//! Operations that open a file, do something with it and close it. Their parts
//! are timed apart; whatever fails, the file is closed.
//!
//! Where one call does it, and nothing has to be looked at in between, the calls follow each
//! other at once: the reading of the clock that ends one starts the next, and all are counted
//! afterwards.

use super::fault::Fault;
use super::handles::Mode;
use super::io::{Io, Shot, Subject, Tally, timed, timed_next};
use super::options::Fsync;
use super::perform::{FILE_MODE, Step, alignment, open_flags, refused_direct};
use super::transfer::{self, Place};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{Call, Fd, Reply};
use crate::clock::Clock;
use model::Part;

/// What happens between open and close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// Nothing.
    Nothing,
    /// Write so many bytes at an offset.
    Write { len: u64, offset_bytes: u64 },
    /// Write so many bytes at the end.
    Append { len: u64 },
    /// Read so many bytes, or all, from an offset.
    Read { len: Option<u64>, offset_bytes: u64 },
}

impl Inner {
    pub(super) fn flags(self) -> i32 {
        match self {
            Inner::Nothing | Inner::Write { .. } => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
            Inner::Append { .. } => libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
            Inner::Read { .. } => libc::O_RDONLY,
        }
    }

    /// All was written by one call.
    #[inline(always)]
    fn done(self, data: Shot, tally: &mut Tally) {
        if let Inner::Write { offset_bytes, .. } = self {
            tally.offset_bytes = offset_bytes;
        }
        tally.done_bytes = tally.add(Part::Data, data) as u64;
        tally.requested_bytes = tally.done_bytes;
    }
}

/// Opens the file at the first path, does `inner`, closes it.
#[inline(always)]
pub(super) fn whole_file<B: Backend, K: Clock>(
    step: Step<'_>,
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    inner: Inner,
) -> Result<(), Fault> {
    let flags = open_flags(io, inner.flags());
    let only = only_call(io, buffers, inner);
    let call = Call::Open { path: io.paths[0].as_c_str(), flags, mode: FILE_MODE };
    let open = timed(&mut io.backend, &io.clock, call);
    if open.reply < 0 {
        return not_opened(step, io, flags, open);
    }
    let fd = Fd(open.reply as i32);
    let (data, close) = match only {
        Some(buf) => at_once(io, inner, fd, buf, open),
        None => (None, None),
    };
    match close {
        Some(close) if close.reply >= 0 && !io.keeps_events && !B::REHEARSES => {
            let spot = io.spot(step.op, step.site);
            io.settle_file(&spot, (open, data, close));
            Ok(())
        }
        _ => one_by_one(step, io, buffers, inner, flags, (open, data, close)),
    }
}

#[cold]
fn not_opened<B: Backend, K: Clock>(
    step: Step<'_>,
    io: &mut Io<'_, B, K>,
    flags: i32,
    open: Shot,
) -> Result<(), Fault> {
    let mut tally = Tally::EMPTY;
    tally.add(Part::Open, open);
    refused_direct(io, flags, tally.errno);
    io.conclude(step.op, step.site, &tally, Subject::Path)
}

/// What is left to do after the calls that were made already, all added up.
#[inline(never)]
fn one_by_one<B: Backend, K: Clock>(
    step: Step<'_>,
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    inner: Inner,
    flags: i32,
    (open, data, close): (Shot, Option<Shot>, Option<Shot>),
) -> Result<(), Fault> {
    let fd = Fd(open.reply as i32);
    let mut tally = Tally::EMPTY;
    tally.add(Part::Open, open);
    match (data, close) {
        (None, Some(_)) => {}
        (Some(data), Some(_)) => {
            inner.done(data, &mut tally);
            io.wrote(tally.done_bytes);
        }
        (data, None) => move_data(io, buffers, fd, flags, inner, data, &mut tally),
    }
    let close = close.unwrap_or_else(|| timed(&mut io.backend, &io.clock, Call::Close { fd }));
    tally.add(Part::Close, close);
    io.conclude(step.op, step.site, &tally, Subject::Path)
}

/// What the only call between open and close writes; `None`: it takes more than that.
#[inline(always)]
fn only_call<'b, B: Backend, K>(
    io: &Io<'_, B, K>,
    buffers: &'b mut Buffers,
    inner: Inner,
) -> Option<&'b [u8]> {
    let options = io.options.active();
    let (len, offset_bytes) = match inner {
        Inner::Nothing => return Some(&[]),
        Inner::Write { len, offset_bytes } => (len, offset_bytes),
        // Where an append went is asked between it and the close.
        Inner::Append { .. } if io.keeps_events => return None,
        Inner::Append { len } => (len, 0),
        // Evidence of the page cache is taken between open and read.
        Inner::Read { .. } => return None,
    };
    let simple = !options.direct && options.fsync == Fsync::None && !B::REHEARSES;
    if !simple || len > transfer::call_bytes(options.transfer) {
        return None;
    }
    buffers.source(options.data, len as usize, offset_bytes).ok()
}

/// The call that moves the data, and the close, if all was moved.
#[inline(always)]
fn at_once<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    inner: Inner,
    fd: Fd,
    buf: &[u8],
    open: Shot,
) -> (Option<Shot>, Option<Shot>) {
    let (backend, clock) = (&mut io.backend, &io.clock);
    let data = match inner {
        Inner::Write { offset_bytes: offset, .. } => {
            Some(timed_next(backend, clock, open, Call::Pwrite { fd, buf, offset }))
        }
        Inner::Append { .. } => Some(timed_next(backend, clock, open, Call::Append { fd, buf })),
        Inner::Nothing | Inner::Read { .. } => None,
    };
    if data.is_some_and(|data| data.reply != buf.len() as Reply) {
        return (data, None);
    }
    (data, Some(timed_next(backend, clock, data.unwrap_or(open), Call::Close { fd })))
}

#[inline(always)]
fn move_data<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    fd: Fd,
    flags: i32,
    inner: Inner,
    first: Option<Shot>,
    tally: &mut Tally,
) {
    let direct = alignment(io, fd, flags);
    let place = |offset_bytes| Place { fd, offset_bytes, append: Mode::of(flags).append, direct };
    match inner {
        Inner::Nothing => return,
        Inner::Read { len, offset_bytes } => {
            io.opened_for_reading(fd, direct.is_some());
            transfer::read(io, buffers, place(offset_bytes), len, tally);
            return io.was_read(direct.is_some(), tally.done_bytes);
        }
        Inner::Write { len, offset_bytes } => {
            transfer::write(io, buffers, place(offset_bytes), len, first, tally);
        }
        Inner::Append { len } => transfer::write(io, buffers, place(0), len, first, tally),
    }
    if tally.errno != 0 {
        return;
    }
    if io.options.active().fsync != Fsync::None {
        let shot = timed(&mut io.backend, &io.clock, Call::Fsync { fd });
        tally.add(Part::Sync, shot);
    } else if direct.is_none() {
        io.wrote(tally.done_bytes);
    }
}
