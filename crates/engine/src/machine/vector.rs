//! Transfers of several buffers in one call: preadv and pwritev. The buffers lie one after the other in
//! the rank's own.

use super::eval::Env;
use super::fault::Fault;
use super::files::handle;
use super::io::Io;
use super::now;
use super::options::Fsync;
use super::perform::Step;
use super::tally::{Shot, Subject, Tally};
use super::task::STOPPED;
use crate::backend::Backend;
use crate::buffer::{Buffers, MAX_CALL_BYTES};
use crate::call::{Call, Fd, Reply};
use crate::stop;
use model::value::{Eval, EvalError};
use model::{Op, Part, Value};
use std::io::{IoSlice, IoSliceMut};

/// Most buffers of one call (`UIO_MAXIOV`); more are refused with `EINVAL`.
const BUFFERS_MAX: usize = 1024;

/// `readv` and `writev`.
pub(super) fn run<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let offset = env.optional_size(step.site, step.args[2])?;
    take_sizes(env.value(step.site, step.args[1])?, &mut io.sizes)?;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(()) };
    let mut tally = Tally::EMPTY;
    tally.offset_bytes = offset.unwrap_or(io.handles.get(at).position);
    let all = io.sizes.iter().fold(0u64, |all, size| all.saturating_add(*size));
    tally.requested_bytes = all;
    if io.sizes.len() > BUFFERS_MAX || all > MAX_CALL_BYTES as u64 {
        tally.fail(libc::EINVAL);
        return io.conclude(step.op, step.site, &tally, Subject::Handle(at));
    }
    if io.options.active().is_null() {
        return move_nothing(step, io, tally, at, offset.is_none());
    }
    let moved = match step.op {
        Op::Writev => write(io, &mut tally, fd, buffers),
        _ => read(io, &mut tally, fd, buffers),
    };
    if moved.is_err() {
        tally.fail(libc::ENOMEM);
    }
    moved_all(step, io, &mut tally, (at, fd));
    if offset.is_none() {
        io.handles.get(at).position += tally.done_bytes;
    }
    io.conclude(step.op, step.site, &tally, Subject::Handle(at))
}

/// With `engine="null"` all bytes count as moved.
#[cold]
fn move_nothing<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    mut tally: Tally,
    at: usize,
    moves_position: bool,
) -> Result<(), Fault> {
    let bytes = tally.requested_bytes;
    let call = Call::Nothing { bytes, rest: false };
    tally.add(Part::Data, now::timed(&mut io.backend, &io.clock, call));
    tally.done_bytes = bytes;
    io.moved_nothing(step.op == Op::Writev, bytes);
    if moves_position {
        io.handles.get(at).position += bytes;
    }
    io.conclude(step.op, step.site, &tally, Subject::Handle(at))
}

/// The sizes in a list.
fn take_sizes(list: &Value, sizes: &mut Vec<u64>) -> Eval<()> {
    sizes.clear();
    let Value::List(items) = list else {
        return Err(EvalError::Type("a list of numbers of bytes", list.describe()));
    };
    for item in items.iter() {
        sizes.push(item.as_size()?);
    }
    Ok(())
}

fn write<B: Backend>(
    io: &mut Io<'_, B>,
    tally: &mut Tally,
    fd: Fd,
    buffers: &mut Buffers,
) -> std::io::Result<()> {
    let (all, start) = (tally.requested_bytes as usize, tally.offset_bytes);
    let buf = io.source(buffers, all, start)?;
    loop {
        let mut bufs = [IoSlice::new(&[]); BUFFERS_MAX];
        let mut rest = buf;
        for (slot, size) in bufs.iter_mut().zip(&io.sizes) {
            let (one, others) = rest.split_at(*size as usize);
            (*slot, rest) = (IoSlice::new(one), others);
        }
        let mut bufs = &mut bufs[..io.sizes.len()];
        IoSlice::advance_slices(&mut bufs, tally.done_bytes as usize);
        let offset = start + tally.done_bytes;
        let shot = now::timed(&mut io.backend, &io.clock, Call::Pwritev { fd, bufs, offset });
        if !goes_on(tally, shot) {
            return Ok(());
        }
    }
}

fn read<B: Backend>(
    io: &mut Io<'_, B>,
    tally: &mut Tally,
    fd: Fd,
    buffers: &mut Buffers,
) -> std::io::Result<()> {
    let (all, start) = (tally.requested_bytes as usize, tally.offset_bytes);
    loop {
        let mut rest = buffers.target(all)?;
        let mut bufs: [IoSliceMut<'_>; BUFFERS_MAX] =
            std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (slot, size) in bufs.iter_mut().zip(&io.sizes) {
            let (one, others) = rest.split_at_mut(*size as usize);
            (*slot, rest) = (IoSliceMut::new(one), others);
        }
        let mut bufs = &mut bufs[..io.sizes.len()];
        IoSliceMut::advance_slices(&mut bufs, tally.done_bytes as usize);
        let offset = start + tally.done_bytes;
        let shot = now::timed(&mut io.backend, &io.clock, Call::Preadv { fd, bufs, offset });
        if !goes_on(tally, shot) {
            tally.short = tally.errno == 0 && tally.done_bytes < tally.requested_bytes;
            return Ok(());
        }
    }
}

/// Takes what a call has moved; whether another one is needed.
fn goes_on(tally: &mut Tally, shot: Shot) -> bool {
    if shot.reply == -Reply::from(libc::EINTR) && !stop::requested() {
        tally.add_time(Part::Data, shot);
        return true;
    }
    let moved = tally.add(Part::Data, shot);
    tally.done_bytes += u64::try_from(moved).unwrap_or(0);
    let wants_more = moved > 0 && tally.done_bytes < tally.requested_bytes;
    if wants_more && stop::requested() {
        tally.fail(STOPPED);
    }
    wants_more && tally.errno == 0
}

/// What the transfer means for its file.
fn moved_all<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    tally: &mut Tally,
    (at, fd): (usize, Fd),
) {
    let mode = io.handles.get(at).mode;
    if step.op == Op::Readv {
        return io.was_read(mode.place, mode.direct.is_some(), tally.done_bytes);
    }
    // No call says where the end of the file was.
    io.touched.unknown |= mode.append && io.keeps_events;
    if tally.errno == 0 && tally.done_bytes < tally.requested_bytes {
        // Nothing was written and nothing was refused.
        tally.fail(libc::EIO);
    }
    if tally.errno != 0 {
        return;
    }
    io.wrote_to(at, mode, tally.done_bytes);
    if io.options.active().fsync == Fsync::Op {
        let shot = now::timed(&mut io.backend, &io.clock, Call::Fsync { fd });
        if tally.add(Part::Sync, shot) >= 0 {
            io.made_stable(at);
        }
    }
}
