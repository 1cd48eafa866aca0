//! Operations that bring data from one file to another inside the kernel.
//!
//! ```text
//! copy     open, open, copy_file_range ... [, fsync], close, close
//! fcopy    copy_file_range ... [, fsync]
//!          between file systems that refuse that: pread, pwrite ... in its place, as cp(1) does
//! reflink  open, open, ioctl FICLONE, close, close
//! freflink ioctl FICLONE, or FICLONERANGE of a part
//! ```

use super::driver;
use super::eval::Env;
use super::io::Io;
use super::note;
use super::options::Fsync;
use super::step::{Step, file_of, refused};
use super::tally::{Fault, Subject, Tally};
use super::transfer::is_stopped;
use crate::backend::{Backend, InForce};
use crate::buffer::Buffers;
use crate::call::{Call, Fd, Reply};
use crate::stop;
use model::{Op, Part};

/// Most bytes of one call of `copy`, and of one to the end of a file, unless `with (transfer=...)` says
/// otherwise: as cp(1) asks for.
const CALL_BYTES: u64 = 1 << 30;
/// The same where the bytes go through memory, as for the rest of a file.
const MEMORY_BYTES: u64 = 1 << 20;

/// The bytes to be copied.
#[derive(Clone, Copy)]
struct Range {
    from_bytes: u64,
    to_bytes: u64,
    /// `None`: all to the end of the file.
    len: Option<u64>,
    /// Most bytes of one call without the option `transfer`.
    call_bytes: u64,
}

/// Executes `copy` or `reflink`.
pub(super) fn run<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let (site, args) = (step.site, step.args);
    let mut number = |at: usize| match args.get(at) {
        Some(operand) => env.optional_size(site, *operand),
        None => Ok(None),
    };
    let (len, from_bytes, to_bytes) = (number(2)?, number(3)?, number(4)?);
    let truncate = if to_bytes.is_none() { libc::O_TRUNC } else { 0 };
    let (from_bytes, to_bytes) = (from_bytes.unwrap_or(0), to_bytes.unwrap_or(0));
    env.path(site, args[0], &mut io.paths[0])?;
    env.path(site, args[1], &mut io.paths[1])?;
    let mut tally = asked(to_bytes, len);
    io.copies_from(from_bytes);
    if let Some(from) = io.open(&mut tally, 0, libc::O_RDONLY) {
        io.opened_for_reading(from, false);
        if let Some(to) = io.open(&mut tally, 1, libc::O_WRONLY | libc::O_CREAT | truncate) {
            let range = Range { from_bytes, to_bytes, len, call_bytes: CALL_BYTES };
            match step.op {
                Op::Reflink => {
                    io.part(&mut tally, Part::Data, Call::Clone { from, to });
                }
                _ => copy_whole((io, buffers), &mut tally, (from, to), range),
            }
            io.part(&mut tally, Part::Close, Call::Close { fd: to });
        }
        io.part(&mut tally, Part::Close, Call::Close { fd: from });
    }
    io.conclude(step.op, site, &tally, Subject::Paths)
}

fn asked(offset_bytes: u64, len: Option<u64>) -> Tally {
    Tally { offset_bytes, requested_bytes: len.unwrap_or(0), ..Tally::EMPTY }
}

fn copy_whole<B: Backend>(
    (io, buffers): (&mut Io<'_, B>, &mut Buffers),
    tally: &mut Tally,
    (from, to): (Fd, Fd),
    range: Range,
) {
    copy((io, buffers), tally, (from, to), range);
    let [read, written] = [0, 1].map(|at| io.paths[at].place);
    io.was_read(read, false, tally.done_bytes);
    let syncs = tally.errno == 0 && io.options.active().fsync != Fsync::None;
    let synced = syncs && io.sync(tally, to, false);
    io.wrote(written, tally.done_bytes, !synced);
}

/// Executes `fcopy`.
pub(super) fn between<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let (site, args) = (step.site, step.args);
    let mut number = |at: usize| env.optional_size(site, args[at]);
    let (len, from_bytes, to_bytes) = (number(2)?, number(3)?, number(4)?);
    let (subject, files) = two_files(step, env, io)?;
    let Some([(source, from), (target, to)]) = files else {
        return refused(step, io, libc::EBADF, subject);
    };
    let moves = (from_bytes.is_none(), to_bytes.is_none());
    let range = Range {
        from_bytes: from_bytes.unwrap_or(io.handles.get(source).position),
        to_bytes: to_bytes.unwrap_or(io.handles.get(target).position),
        len,
        call_bytes: len.unwrap_or(CALL_BYTES),
    };
    let mut tally = asked(range.to_bytes, len);
    io.copies_from(range.from_bytes);
    copy((io, buffers), &mut tally, (from, to), range);
    copied(io, &mut tally, (source, target, to));
    for (at, _) in [(source, moves.0), (target, moves.1)].iter().filter(|(_, moves)| *moves) {
        io.handles.get(*at).position += tally.done_bytes;
    }
    io.conclude(step.op, site, &tally, subject)
}

/// Executes `freflink`.
pub(super) fn share<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    let (site, args) = (step.site, step.args);
    let mut number =
        |at: usize| Ok(env.optional_size(site, args[at])?.unwrap_or(0)) as Result<u64, Fault>;
    let (len, from_bytes, to_bytes) = (number(2)?, number(3)?, number(4)?);
    let (subject, files) = two_files(step, env, io)?;
    let Some([(_, from), (_, to)]) = files else {
        return refused(step, io, libc::EBADF, subject);
    };
    let mut tally = asked(to_bytes, Some(len));
    io.copies_from(from_bytes);
    let clone = match (len, from_bytes, to_bytes) {
        (0, 0, 0) => Call::Clone { from, to },
        _ => Call::CloneRange { from: (from, from_bytes), to: (to, to_bytes), len },
    };
    io.part(&mut tally, Part::Data, clone);
    io.conclude(step.op, site, &tally, subject)
}

/// A handle and the descriptor behind it.
type Opened = (usize, Fd);

/// The subject of an operation on two open files, and both files if they are open.
fn two_files<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(Subject, Option<[Opened; 2]>), Fault> {
    let [(source, from), (target, to)] = [file_of(step, 0, env, io)?, file_of(step, 1, env, io)?];
    let subject = match (source, target) {
        (Some(from), Some(to)) => Subject::Handles { from, to },
        (one, other) => other.or(one).map_or(Subject::Nothing, Subject::Handle),
    };
    let both = |source: usize, target: usize| Some([(source, from?), (target, to?)]);
    let files = match subject {
        Subject::Handles { from: source, to: target } => both(source, target),
        _ => None,
    };
    Ok((subject, files))
}

/// Counts the bytes of a copy for both files.
fn copied<B: Backend>(
    io: &mut Io<'_, B>,
    tally: &mut Tally,
    (source, target, to): (usize, usize, Fd),
) {
    let mode = io.handles.get(source).mode;
    io.was_read(mode.place, mode.direct.is_some(), tally.done_bytes);
    let mode = io.handles.get(target).mode;
    io.wrote_to(target, mode, tally.done_bytes);
    if tally.errno == 0 && io.options.active().fsync == Fsync::Op && io.sync(tally, to, false) {
        io.made_stable(target);
    }
}

fn copy<B: Backend>(
    (io, buffers): (&mut Io<'_, B>, &mut Buffers),
    tally: &mut Tally,
    files: (Fd, Fd),
    range: Range,
) {
    let Range { from_bytes, to_bytes, len, call_bytes } = range;
    // Without data one call does, where there could be millions.
    let most = match io.accounts {
        true => 1 << 62,
        false => io.options.active().transfer.unwrap_or(call_bytes),
    };
    let wanted = len.unwrap_or(u64::MAX);
    while tally.done_bytes < wanted {
        let done = tally.done_bytes;
        let (from, to) = ((files.0, from_bytes + done), (files.1, to_bytes + done));
        let len_bytes = (wanted - done).min(most) as usize;
        let copy = Call::CopyRange { from, to, len: len_bytes, rest: len.is_none() };
        let shot = driver::timed(&mut io.backend, &io.clock, copy);
        if shot.reply == -Reply::from(libc::EINTR) && !stop::requested() {
            tally.add_time(Part::Data, shot);
            continue;
        }
        if shot.reply == -Reply::from(libc::EXDEV) {
            tally.add_time(Part::Data, shot);
            io.notes |= note::THROUGH_MEMORY;
            // The bytes are the source's: nothing is filled or checked on the way.
            let in_force = io.options.active().in_force();
            io.backend.set_options(&InForce { verify: false, ..in_force });
            through_memory(io, buffers, tally, files, range);
            io.backend.set_options(&in_force);
            break;
        }
        match tally.add(Part::Data, shot) {
            moved @ 1.. => tally.done_bytes += moved as u64,
            _ => break,
        }
        if tally.done_bytes < wanted && is_stopped(tally) {
            break;
        }
    }
    match len {
        Some(len) => tally.short = tally.errno == 0 && tally.done_bytes < len,
        None => tally.requested_bytes = tally.done_bytes,
    }
}

/// Two file systems that no call of the kernel copies between.
fn through_memory<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    tally: &mut Tally,
    (from, to): (Fd, Fd),
    Range { from_bytes, to_bytes, len, .. }: Range,
) {
    let most = io.options.active().transfer.unwrap_or(MEMORY_BYTES);
    let wanted = len.unwrap_or(u64::MAX);
    while tally.errno == 0 && tally.done_bytes < wanted {
        let done = tally.done_bytes;
        let Ok(buf) = buffers.target((wanted - done).min(most) as usize) else {
            return tally.fail(libc::ENOMEM);
        };
        let (offset, rest) = (from_bytes + done, len.is_none());
        let read = Call::Pread { fd: from, buf: &mut *buf, offset, rest };
        match io.part(tally, Part::Data, read) {
            moved @ 1.. => put(io, tally, to, (&buf[..moved as usize], to_bytes + done)),
            _ => return,
        }
        if tally.done_bytes < wanted && is_stopped(tally) {
            return;
        }
    }
}

/// Writes all of a buffer.
fn put<B: Backend>(io: &mut Io<'_, B>, tally: &mut Tally, fd: Fd, (buf, offset): (&[u8], u64)) {
    let mut written = 0;
    while written < buf.len() {
        let (buf, offset) = (&buf[written..], offset + written as u64);
        let moved = io.part(tally, Part::Data, Call::Pwrite { fd, buf, offset }).max(0);
        if moved == 0 {
            return;
        }
        written += moved as usize;
        tally.done_bytes += moved as u64;
    }
}
