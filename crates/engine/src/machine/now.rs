//! Makes calls now: each is issued when it is wanted, and its reply awaited. Every call of a
//! statement is made here, but for those that are under way together (`queued`).
//!
//! Where one call moves the data, and nothing has to be asked in between, open, data and close
//! follow each other at once: the reading of the clock that ends one starts the next, and all are
//! counted afterwards. What has then not gone well is told to a task as if it had made the calls.

use super::fault::Fault;
use super::io::Io;
use super::perform::{FILE_MODE, Step};
use super::place::RUN;
use super::tally::{Shot, Subject, Tally};
use super::task::{Bytes, Task, Transfer, Want};
use super::text::PathText;
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{Call, Fd, FileCall, Reply, Work};
use crate::clock::Clock;
use crate::dents;
use model::plan::NO_SLOT;
use model::{Op, Part, Value};
use std::io;

/// Room for directory entries in one call, as readdir(3) of glibc has.
const DENTS_BYTES: usize = 32 << 10;

/// What a back-end executes now: calls, and calls on MPI files.
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

/// One of the calls on MPI files that an operation consists of.
pub(super) fn part<B: Backend>(
    io: &mut Io<'_, B>,
    tally: &mut Tally,
    part: Part,
    call: FileCall<'_>,
) -> Reply {
    let shot = timed(&mut io.backend, &io.clock, call);
    io.add_explained(tally, part, shot)
}

/// The call that opens the first path.
#[inline(always)]
pub(super) fn open(paths: &[PathText; 2], flags: i32) -> Call<'_> {
    Call::Open { path: paths[0].as_c_str(), flags, mode: FILE_MODE }
}

/// Moves bytes of an open file: mostly one call.
#[inline(always)]
pub(super) fn run_transfer<B: Backend>(
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
        first => run_made(step, Task::transfer(io, transfer), io, buffers, first),
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
    let mut tally = Tally::EMPTY;
    (tally.offset_bytes, tally.requested_bytes, tally.done_bytes) = (offset_bytes, len, len);
    tally.add_time(Part::Data, shot);
    if transfer.moves_position {
        io.handles.get(at).position += len;
    }
    match data.writes() {
        writes if io.options.active().is_null() => io.moved_nothing(writes, len),
        true => io.wrote_to(at, mode, len),
        false => io.was_read(mode.place, false, len),
    }
    io.conclude(step.op, step.site, &tally, Subject::Handle(at))
}

/// Runs a task.
pub(super) fn run<B: Backend>(
    step: Step<'_>,
    task: Task<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    run_made(step, task, io, buffers, None)
}

/// Makes the calls that are left after the one that was made already, and counts all.
#[inline(never)]
fn run_made<B: Backend>(
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
        match shot {
            Ok(shot) => {
                task.take(io, want, shot);
                if want == Want::List && step.dst != NO_SLOT && shot.reply > 0 {
                    take_names(io, buffers);
                }
            }
            Err(_) => task.starved(io),
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
    let visible = dents::entries(buf).filter(dents::Entry::is_visible);
    io.names.extend(visible.map(|entry| Value::str(entry.name.to_bytes())));
}

/// Makes a call; an error: there is no memory for it.
#[inline(always)]
pub(super) fn issue<B: Backend>(
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
        Want::Nothing { len, rest } => {
            timed(backend, clock, Call::Nothing { bytes: len as u64, rest })
        }
        Want::List => {
            let buf = buffers.target(DENTS_BYTES)?;
            timed(backend, clock, Call::Getdents { fd, buf })
        }
        Want::Sync { mapped: false } => timed(backend, clock, Call::Fsync { fd }),
        Want::Sync { mapped: true } => timed(backend, clock, Call::Msync { fd }),
        Want::Close => timed(backend, clock, Call::Close { fd }),
    })
}
