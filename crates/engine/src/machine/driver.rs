//! Makes the calls of operations one after the other: each is issued between two readings of the clock,
//! and its reply awaited. Nothing else issues timed calls, but for transfers that are under way together
//! (`queue`, `mpi_io`).
//!
//! Most transfers are one call: it is made first, and a task is asked only if it has not moved all bytes.

use super::flow::Fault;
use super::io::Io;
use super::place::RUN;
use super::step::{FILE_MODE, Step};
use super::tally::{Shot, Subject, Tally};
use super::task::{Bytes, Task, Transfer, Want};
use super::text::PathText;
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{Call, Fd, FileCall, Reply, Work};
use crate::clock::Clock;
use crate::entries;
use model::plan::NO_SLOT;
use model::{Op, Part, Value};
use std::io::{self, IoSlice, IoSliceMut};

/// Room for directory entries in one call, as readdir(3) of glibc has.
const DENTS_BYTES: usize = 32 << 10;
/// Most buffers of one call (`UIO_MAXIOV`).
pub(super) const BUFFERS_MAX: usize = 1024;

/// A call, or a call on an MPI file.
pub(super) trait Request {
    fn prepare<B: Backend>(&self, backend: &mut B) -> Result<(), i32>;
    fn issue<B: Backend>(self, backend: &mut B) -> Reply;
}

impl Request for Call<'_> {
    #[inline(always)]
    fn prepare<B: Backend>(&self, backend: &mut B) -> Result<(), i32> {
        backend.prepare(self)
    }

    #[inline(always)]
    fn issue<B: Backend>(self, backend: &mut B) -> Reply {
        backend.issue(self)
    }
}

impl Request for FileCall<'_> {
    #[inline(always)]
    fn prepare<B: Backend>(&self, backend: &mut B) -> Result<(), i32> {
        backend.prepare_file(self)
    }

    #[inline(always)]
    fn issue<B: Backend>(self, backend: &mut B) -> Reply {
        backend.issue_file(self)
    }
}

/// Executes a call between two clock readings. Nothing else happens there.
#[inline(always)]
pub(super) fn timed<B: Backend>(backend: &mut B, clock: &Clock, call: impl Request) -> Shot {
    if let Err(errno) = call.prepare(backend) {
        let now_ns = clock.now();
        return Shot { start_ns: now_ns, end_ns: now_ns, reply: -Reply::from(errno) };
    }
    let start_ns = clock.now();
    let reply = call.issue(backend);
    let end_ns = clock.now();
    Shot { start_ns, end_ns, reply }
}

/// An operation of one call on its paths.
#[inline(always)]
pub(super) fn one_on_paths<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    subject: Subject,
    call: impl for<'a> FnOnce(&'a [PathText; 2]) -> Call<'a>,
) -> Result<(), Fault> {
    let shot = shot(io, call);
    io.settle(step.op, step.site, shot, subject)
}

/// Makes a call on the paths of the operation.
#[inline(always)]
pub(super) fn shot<B: Backend>(
    io: &mut Io<'_, B>,
    call: impl for<'a> FnOnce(&'a [PathText; 2]) -> Call<'a>,
) -> Shot {
    let call = call(&io.paths);
    timed(&mut io.backend, &io.clock, call)
}

/// An operation of one call that has no path.
#[inline(always)]
pub(super) fn one<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    subject: Subject,
    call: Call<'_>,
) -> Result<(), Fault> {
    let is_sync = call.work() == Work::Sync;
    let shot = timed(&mut io.backend, &io.clock, call);
    if is_sync && shot.reply >= 0 {
        match subject {
            Subject::Handle(at) if step.op == Op::Syncfs => {
                let place = io.handles.get(at).mode.place;
                io.made_all_stable(place);
            }
            Subject::Handle(at) => io.made_stable(at),
            _ => io.made_all_stable(RUN),
        }
    }
    io.settle(step.op, step.site, shot, subject)
}

/// One of several calls that an operation consists of; of the first error its explanation is kept.
pub(super) fn part<B: Backend>(
    io: &mut Io<'_, B>,
    tally: &mut Tally,
    part: Part,
    call: impl Request,
) -> Reply {
    let shot = timed(&mut io.backend, &io.clock, call);
    io.add_explained(tally, part, shot)
}

/// The call that opens the first path.
#[inline(always)]
pub(super) fn open(paths: &[PathText; 2], flags: i32) -> Call<'_> {
    Call::Open { path: paths[0].as_c_str(), flags, mode: FILE_MODE }
}

/// Moves bytes of an open file.
#[inline(always)]
pub(super) fn transfer<B: Backend>(
    step: Step<'_>,
    transfer: Transfer,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let first = match transfer.is_plain(io) {
        true => issue(transfer.call(io), transfer.fd, io, buffers).ok(),
        false => None,
    };
    match first {
        Some(shot) if shot.reply == transfer.bytes.len as Reply => {
            moved_at_once(step, transfer, io, shot)
        }
        first => run_rest(step, Task::transfer(io, transfer), io, buffers, first),
    }
}

/// One call has moved all bytes.
#[inline(always)]
fn moved_at_once<B: Backend>(
    step: Step<'_>,
    transfer: Transfer,
    io: &mut Io<'_, B>,
    shot: Shot,
) -> Result<(), Fault> {
    let Transfer { at, mode, bytes: Bytes { data, offset_bytes, len }, .. } = transfer;
    if transfer.moves_position {
        io.handles.get(at).position += len;
    }
    match data.writes() {
        writes if io.options.active().is_null() => io.moved_nothing(writes, len),
        true => io.wrote_to(at, mode, len),
        false => io.was_read(mode.place, false, len),
    }
    let tally = Tally::of_one_call(shot, offset_bytes, len);
    io.conclude(step.op, step.site, &tally, Subject::Handle(at))
}

/// Makes the calls of a task.
pub(super) fn run<B: Backend>(
    step: Step<'_>,
    task: Task<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    run_rest(step, task, io, buffers, None)
}

/// Makes the calls that are left after the one that was made already, and counts all.
#[inline(never)]
fn run_rest<B: Backend>(
    step: Step<'_>,
    mut task: Task<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    mut made: Option<Shot>,
) -> Result<(), Fault> {
    while let Some(want) = task.next(io) {
        let shot = match made.take() {
            Some(shot) => Ok(shot),
            None => issue(want, task.fd, io, buffers),
        };
        let Ok(shot) = shot else {
            task.starved(io);
            continue;
        };
        task.take(io, want, shot);
        if want == Want::List && step.dst != NO_SLOT && shot.reply > 0 {
            take_names(io, buffers);
        }
    }
    let tally = &mut task.tally;
    if tally.timing.start_ns == u64::MAX {
        // No call was made: it happened now and took no time.
        let now_ns = io.clock.now();
        (tally.timing.start_ns, tally.timing.end_ns) = (now_ns, now_ns);
    }
    io.conclude(step.op, step.site, tally, task.subject)
}

/// Keeps the names that the call before has found.
#[cold]
fn take_names<B: Backend>(io: &mut Io<'_, B>, buffers: &mut Buffers) {
    let Ok(buf) = buffers.target(DENTS_BYTES) else { return };
    let visible = entries::entries(buf).filter(entries::Entry::is_visible);
    io.names.extend(visible.map(|entry| Value::str(entry.name.to_bytes())));
}

/// Makes a call; an error: there is no memory for it.
#[inline(always)]
fn issue<B: Backend>(
    want: Want,
    fd: Fd,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> io::Result<Shot> {
    let (backend, clock) = (&mut io.backend, &io.clock);
    Ok(match want {
        Want::Open { flags } => timed(backend, clock, open(&io.paths, flags)),
        Want::Map { write } => timed(backend, clock, Call::Map { fd, write }),
        Want::Unmap => timed(backend, clock, Call::Unmap { fd }),
        Want::Write { offset, len, mapped } => {
            let buf = io.source(buffers, len, offset)?;
            let (backend, clock) = (&mut io.backend, &io.clock);
            match mapped {
                false => timed(backend, clock, Call::Pwrite { fd, buf, offset }),
                true => timed(backend, clock, Call::MapWrite { fd, buf, offset }),
            }
        }
        Want::Append { done, len } => {
            let buf = io.source(buffers, len, done)?;
            timed(&mut io.backend, &io.clock, Call::Append { fd, buf })
        }
        Want::Read { offset, len, rest, mapped } => {
            let buf = buffers.target(len)?;
            match mapped {
                false => timed(backend, clock, Call::Pread { fd, buf, offset, rest }),
                true => timed(backend, clock, Call::MapRead { fd, buf, offset, rest }),
            }
        }
        Want::Vector { offset, done, write: true } => {
            write_vector(io, buffers, fd, (offset, done))?
        }
        Want::Vector { offset, done, write: false } => {
            read_vector(io, buffers, fd, (offset, done))?
        }
        Want::Nothing { len, rest } => {
            timed(backend, clock, Call::Nothing { bytes: len as u64, rest })
        }
        Want::List => {
            let buf = buffers.target(DENTS_BYTES)?;
            timed(backend, clock, Call::Getdents { fd, buf })
        }
        Want::Sync { mapped: true, .. } => timed(backend, clock, Call::Msync { fd }),
        Want::Sync { data: true, .. } => timed(backend, clock, Call::Fdatasync { fd }),
        Want::Sync { .. } => timed(backend, clock, Call::Fsync { fd }),
        Want::Close => timed(backend, clock, Call::Close { fd }),
    })
}

/// pwritev of the buffers of `io.sizes`, which lie one after the other, without the bytes that are done.
#[inline(never)]
fn write_vector<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    fd: Fd,
    (offset, done): (u64, u64),
) -> io::Result<Shot> {
    let all = io.sizes.iter().sum::<u64>() as usize;
    let mut rest = io.source(buffers, all, offset - done)?;
    let mut bufs = [IoSlice::new(&[]); BUFFERS_MAX];
    for (slot, size) in bufs.iter_mut().zip(&io.sizes) {
        let (one, others) = rest.split_at(*size as usize);
        (*slot, rest) = (IoSlice::new(one), others);
    }
    let mut bufs = &mut bufs[..io.sizes.len()];
    IoSlice::advance_slices(&mut bufs, done as usize);
    Ok(timed(&mut io.backend, &io.clock, Call::Pwritev { fd, bufs, offset }))
}

/// The same with preadv.
#[inline(never)]
fn read_vector<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    fd: Fd,
    (offset, done): (u64, u64),
) -> io::Result<Shot> {
    let mut rest = buffers.target(io.sizes.iter().sum::<u64>() as usize)?;
    let mut bufs: [IoSliceMut<'_>; BUFFERS_MAX] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
    for (slot, size) in bufs.iter_mut().zip(&io.sizes) {
        let (one, others) = rest.split_at_mut(*size as usize);
        (*slot, rest) = (IoSliceMut::new(one), others);
    }
    let mut bufs = &mut bufs[..io.sizes.len()];
    IoSliceMut::advance_slices(&mut bufs, done as usize);
    Ok(timed(&mut io.backend, &io.clock, Call::Preadv { fd, bufs, offset }))
}
