//! Operations become calls. What each does and what its time covers: the
//! operation table of crate model and language.md section 4.

use super::control::{Flow, Scratch};
use super::eval::Env;
use super::fault::Fault;
use super::handles::Mode;
use super::io::{Io, Subject, Tally, timed};
use super::options::Fsync;
use super::prepare::Prepared;
use super::shares::Ready;
use super::task::{Bytes, Data, More, Task, Transfer, Whole};
use super::words::{self, chosen};
use super::{attributes, control, copy, flags, lock, mpi_io, note, now};
use crate::backend::Backend;
use crate::backend::direct::{self, Alignment};
use crate::buffer::Buffers;
use crate::call::{Call, Fd};
use crate::comm::Comm;
use model::event::NO_ID;
use model::plan::{NO_SLOT, Operand, Pc, Slot, Source};
use model::value::{Eval, EvalError};
use model::{Op, Part};
use std::ffi::CStr;

/// Permission bits of new files before umask.
pub(super) const FILE_MODE: u32 = 0o666;

/// The instruction that is executed.
#[derive(Clone, Copy)]
pub(super) struct Step<'p> {
    pub(super) op: Op,
    pub(super) site: Pc,
    pub(super) dst: Slot,
    /// As many operands as the operation table has parameters.
    pub(super) args: &'p [Operand],
}

/// Executes a statement. Each operation stands here once: one that is forgotten does not compile.
#[inline(always)]
pub(super) fn perform<B: Backend>(
    step: Step<'_>,
    prepared: &Prepared<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
    scratch: &mut Scratch,
) -> Result<Flow, Fault> {
    let (site, args) = (step.site, step.args);
    match step.op {
        Op::Stat => on_name(step, env, io, |path| Call::Stat { path }),
        Op::Lookup => on_name(step, env, io, |path| Call::Access { path }),
        Op::Mkdir => on_path(step, env, io, |path| Call::Mkdir { path }),
        Op::Rmdir => on_path(step, env, io, |path| Call::Rmdir { path }),
        Op::Readlink => on_name(step, env, io, |path| Call::Readlink { path }),
        Op::Utime => on_path(step, env, io, |path| Call::Utime { path }),
        Op::Statfs => on_path(step, env, io, |path| Call::Statfs { path }),
        Op::Truncate => {
            let size = env.size(site, args[1])?;
            on_path(step, env, io, |path| Call::Truncate { path, size })
        }
        Op::Chmod => {
            let mode = permissions(env.int(site, args[1])?)?;
            on_path(step, env, io, |path| Call::Chmod { path, mode })
        }
        Op::Rename => {
            let flags = chosen(step, env, 2, words::RENAMES)?.unwrap_or(0);
            on_paths(step, env, io, |from, to| Call::Rename { from, to, flags })
        }
        Op::Copy | Op::Reflink => copy::run(step, env, io),
        Op::Setxattr | Op::Getxattr | Op::Listxattr | Op::Removexattr => {
            attributes::run(step, env, io, buffers)
        }
        Op::Link => on_paths(step, env, io, |from, to| Call::Link { from, to }),
        Op::Symlink => on_paths(step, env, io, |target, path| Call::Symlink { target, path }),
        Op::Delete => delete(step, env, io),
        Op::Readdir => {
            io.names.clear();
            let flags = libc::O_RDONLY | libc::O_DIRECTORY;
            on_file(step, env, io, buffers, (flags, Data::List), (0, 0))
        }
        Op::Create => {
            let flags = open_flags(io, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC);
            on_file(step, env, io, buffers, (flags, Data::Nothing), (0, 0))
        }
        Op::Write => {
            let len = env.size(site, args[1])?;
            let offset_bytes = env.optional_size(site, args[2])?.unwrap_or(0);
            let flags = open_flags(io, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC);
            on_file(step, env, io, buffers, (flags, Data::Write), (offset_bytes, len))
        }
        Op::Append => {
            let len = env.size(site, args[1])?;
            let flags = open_flags(io, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND);
            on_file(step, env, io, buffers, (flags, Data::Append), (0, len))
        }
        Op::Read => {
            let (data, len) = to_read(env.optional_size(site, args[1])?);
            let offset_bytes = env.optional_size(site, args[2])?.unwrap_or(0);
            let flags = open_flags(io, libc::O_RDONLY);
            on_file(step, env, io, buffers, (flags, data), (offset_bytes, len))
        }
        Op::Fopen | Op::Fcreat | Op::Tmpfile => open(step, prepared, env, io),
        Op::Fread => fread(step, env, io, buffers),
        Op::Fwrite => fwrite(step, env, io, buffers),
        Op::Fclose => fclose(step, env, io, comm, buffers),
        Op::Fseek => fseek(step, env, io),
        Op::Fsync => make_stable(step, env, io, |fd| Call::Fsync { fd }),
        Op::Fdatasync => make_stable(step, env, io, |fd| Call::Fdatasync { fd }),
        Op::Fstat => on_handle(step, env, io, |fd| Call::Fstat { fd }),
        Op::Ftruncate => {
            let size = env.size(site, args[1])?;
            on_handle(step, env, io, |fd| Call::Ftruncate { fd, size })
        }
        Op::Fallocate => {
            let offset = env.optional_size(site, args[1])?.unwrap_or(0);
            let size = env.size(site, args[2])?;
            let mode = chosen(step, env, 3, words::RANGES)?.unwrap_or(0);
            on_handle(step, env, io, |fd| Call::Fallocate { fd, mode, offset, size })
        }
        Op::Fadvise => {
            let (offset, size) = (env.size(site, args[1])?, env.size(site, args[2])?);
            let advice = chosen(step, env, 3, words::ADVICE)?.unwrap_or(0);
            on_handle(step, env, io, |fd| Call::Fadvise { fd, offset, size, advice })
        }
        Op::Linkat => linkat(step, env, io),
        Op::Flock => return lock::flock(step, env, io, comm),
        Op::Syncfs if args[0] != Operand::ABSENT => {
            make_stable(step, env, io, |fd| Call::Syncfs { fd: Some(fd) })
        }
        Op::Sync | Op::Syncfs => make_all_stable(step, io),
        Op::Dropcaches => on_nothing(step, io, Call::DropCaches {}),
        Op::Pfopen => return mpi_io::open(step, env, io, comm),
        Op::Pfclose => return mpi_io::close(step, env, io, comm),
        Op::Pdelete => return mpi_io::delete(step, env, io),
        Op::Pwrite | Op::Pread => return mpi_io::whole_file(step, env, io, comm, buffers),
        Op::Pfwrite | Op::Pfread => return mpi_io::transfer(step, env, io, comm, buffers),
        Op::Pfsync => return mpi_io::on_file(step, env, io, comm, mpi_io::sync),
        Op::Pfsetsize => return mpi_io::on_file(step, env, io, comm, mpi_io::set_size),
        Op::Pfpreallocate => return mpi_io::on_file(step, env, io, comm, mpi_io::preallocate),
        Op::Pfseek => return mpi_io::on_file(step, env, io, comm, mpi_io::seek),
        Op::Print => return control::print(step, env, scratch, io.settings.print_fd),
        Op::Assert => return control::assert(step, env),
        Op::Sleep => return control::sleep(step, env, comm, io.settings.agile),
        Op::Compute => return control::compute(step, env, comm),
        Op::Signal => return control::signal(step, env, comm, scratch),
        Op::Wait => return control::wait(step, env, comm, scratch),
    }?;
    Ok(Flow::Next)
}

/// How to read so many bytes, or all.
#[inline(always)]
fn to_read(len: Option<u64>) -> (Data, u64) {
    len.map_or((Data::ReadRest, u64::MAX), |len| (Data::Read, len))
}

/// An operation on a file as a whole.
#[inline(always)]
fn on_file<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    (flags, data): (i32, Data),
    (offset_bytes, len): (u64, u64),
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let bytes = Bytes { data, offset_bytes, len };
    now::run_whole(step, Whole { flags, bytes }, io, buffers)
}

#[inline(always)]
fn on_path<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl for<'a> FnOnce(&'a CStr) -> Call<'a>,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let shot = timed(&mut io.backend, &io.clock, call(io.paths[0].as_c_str()));
    io.settle(step.op, step.site, shot, Subject::Path)
}

/// The same for a name that is only looked up.
#[inline(always)]
fn on_name<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl for<'a> FnOnce(&'a CStr) -> Call<'a>,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    io.looks_up_name();
    let shot = timed(&mut io.backend, &io.clock, call(io.paths[0].as_c_str()));
    io.settle(step.op, step.site, shot, Subject::Path)
}

#[inline(always)]
fn on_paths<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl for<'a> FnOnce(&'a CStr, &'a CStr) -> Call<'a>,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    env.path(step.site, step.args[1], &mut io.paths[1])?;
    let call = call(io.paths[0].as_c_str(), io.paths[1].as_c_str());
    let shot = timed(&mut io.backend, &io.clock, call);
    io.settle(step.op, step.site, shot, Subject::Paths)
}

#[inline(always)]
fn on_nothing<B: Backend>(step: Step<'_>, io: &mut Io<'_, B>, call: Call<'_>) -> Result<(), Fault> {
    let shot = timed(&mut io.backend, &io.clock, call);
    io.settle(step.op, step.site, shot, Subject::Nothing)
}

#[inline(always)]
fn on_handle<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl FnOnce(Fd) -> Call<'static>,
) -> Result<(), Fault> {
    match file(step, env, io)? {
        (Some(at), Some(fd)) => {
            let shot = timed(&mut io.backend, &io.clock, call(fd));
            io.settle(step.op, step.site, shot, Subject::Handle(at))
        }
        (at, _) => bad_handle(step, io, at),
    }
}

/// fsync and fdatasync.
fn make_stable<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl FnOnce(Fd) -> Call<'static>,
) -> Result<(), Fault> {
    match file(step, env, io)? {
        (Some(at), Some(fd)) => {
            let shot = timed(&mut io.backend, &io.clock, call(fd));
            if shot.reply >= 0 {
                io.made_stable(at);
            }
            io.settle(step.op, step.site, shot, Subject::Handle(at))
        }
        (at, _) => bad_handle(step, io, at),
    }
}

/// sync
fn make_all_stable<B: Backend>(step: Step<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    let shot = timed(&mut io.backend, &io.clock, Call::Syncfs { fd: None });
    if shot.reply >= 0 {
        io.made_all_stable();
    }
    io.settle(step.op, step.site, shot, Subject::Nothing)
}

/// The place of the first argument's handle, and its file.
#[inline(always)]
fn file<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Eval<(Option<usize>, Option<Fd>)> {
    let at = io.handles.find(env.value(step.site, step.args[0])?)?;
    Ok((at, at.and_then(|at| io.handles.fd(at))))
}

/// An operation on a handle whose open failed, or which is closed: EBADF without a call.
#[cold]
fn bad_handle<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    at: Option<usize>,
) -> Result<(), Fault> {
    let subject = at.map_or(Subject::Nothing, Subject::Handle);
    refused(step, io, libc::EBADF, subject)
}

/// An operation that fails without a call.
#[cold]
fn refused<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    errno: i32,
    subject: Subject,
) -> Result<(), Fault> {
    let mut tally = Tally::EMPTY;
    tally.fail(errno);
    io.conclude(step.op, step.site, &tally, subject)
}

/// unlink, and rmdir where that says that the name is a directory (EISDIR on Linux, EPERM in POSIX).
#[inline(always)]
fn delete<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let path = io.paths[0].as_c_str();
    let shot = timed(&mut io.backend, &io.clock, Call::Unlink { path });
    let errno = -shot.reply as i32;
    if errno != libc::EISDIR && errno != libc::EPERM {
        return io.settle(step.op, step.site, shot, Subject::Path);
    }
    let mut tally = Tally::EMPTY;
    tally.add_time(Part::Data, shot);
    let shot = timed(&mut io.backend, &io.clock, Call::Rmdir { path });
    tally.add_time(Part::Data, shot);
    match -shot.reply as i32 {
        0 => {}
        libc::ENOTDIR => tally.fail(errno),
        other => tally.fail(other),
    }
    io.conclude(step.op, step.site, &tally, Subject::Path)
}

/// A name for a file that was opened without one. For other files it would be another way to the
/// marker.
fn linkat<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    env.path(step.site, step.args[1], &mut io.paths[0])?;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(()) };
    if !io.handles.get(at).mode.nameless {
        return refused(step, io, libc::EINVAL, Subject::Path);
    }
    let call = Call::LinkFile { fd, path: io.paths[0].as_c_str() };
    let shot = timed(&mut io.backend, &io.clock, call);
    io.settle(step.op, step.site, shot, Subject::Path)
}

/// fopen, fcreat and tmpfile.
fn open<B: Backend>(
    step: Step<'_>,
    prepared: &Prepared<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    let flags = match step.op {
        Op::Fopen => fopen_flags(step, prepared, env)?,
        Op::Tmpfile => libc::O_TMPFILE | libc::O_RDWR,
        _ => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
    };
    match step.args[0] {
        Operand::ABSENT => io.paths[0].fill(|path| {
            path.push(b'.');
            Ok(())
        })?,
        path => env.path(step.site, path, &mut io.paths[0])?,
    }
    let flags = open_flags(io, flags);
    let call = Call::Open { path: io.paths[0].as_c_str(), flags, mode: FILE_MODE };
    let shot = timed(&mut io.backend, &io.clock, call);
    let fd = (shot.reply >= 0).then_some(Fd(shot.reply as i32));
    let mut mode = Mode::of(flags);
    match fd {
        Some(fd) => {
            mode.direct = alignment(io, fd, flags);
            if flags & libc::O_ACCMODE != libc::O_WRONLY {
                io.opened_for_reading(fd, mode.direct.is_some());
            }
        }
        None => refused_direct(io, flags, -shot.reply as i32),
    }
    let path_id = io.recorder.path(io.paths[0].bytes());
    let handle = io.handles.add(fd, mode, io.paths[0].bytes(), path_id);
    if step.dst != NO_SLOT {
        env.set(step.dst, handle);
    }
    io.settle(step.op, step.site, shot, Subject::Path)
}

/// An open that `--only` leaves out: its handle is one whose open failed.
pub(super) fn open_left_out<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) {
    if step.dst != NO_SLOT {
        let handle = io.handles.add(None, Mode::of(0), io.paths[0].bytes(), NO_ID);
        env.set(step.dst, handle);
    }
}

fn fopen_flags(step: Step<'_>, prepared: &Prepared<'_>, env: &mut Env<'_>) -> Eval<i32> {
    if let Source::Const(index) = step.args[1].source()
        && let Some(flags) = prepared.flags(index)
    {
        return Ok(flags);
    }
    let mut text = Vec::new();
    env.render(step.site, step.args[1], &mut text)?;
    flags::parse(&text)
}

/// Adds O_DIRECT where `with (direct=true)` wants it.
#[inline(always)]
pub(super) fn open_flags<B>(io: &Io<'_, B>, flags: i32) -> i32 {
    if io.options.active().direct { flags | libc::O_DIRECT } else { flags }
}

/// What an open file with O_DIRECT wants of transfers.
#[inline(always)]
pub(super) fn alignment<B: Backend>(io: &Io<'_, B>, fd: Fd, flags: i32) -> Option<Alignment> {
    if flags & libc::O_DIRECT == 0 {
        return None;
    }
    Some(if io.backend.capabilities().direct { direct::alignment(fd.0) } else { direct::SAFE })
}

/// Remarks that an open with O_DIRECT failed as file systems without it fail.
#[cold]
pub(super) fn refused_direct<B>(io: &mut Io<'_, B>, flags: i32, errno: i32) {
    if flags & libc::O_DIRECT != 0 && matches!(errno, libc::EINVAL | libc::EOPNOTSUPP) {
        io.notes |= note::DIRECT_REFUSED;
    }
}

/// The handle that a transfer goes to: its place in the table and its file. `None`: a bad one, and
/// the operation is over.
#[inline(always)]
pub(super) fn handle<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<Option<(usize, Fd)>, Fault> {
    match file(step, env, io)? {
        (Some(at), Some(fd)) => Ok(Some((at, fd))),
        (at, _) => bad_handle(step, io, at).map(|()| None),
    }
}

#[inline(always)]
fn fread<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let offset = env.optional_size(step.site, step.args[2])?;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(()) };
    let handle = io.handles.get(at);
    let (mode, position) = (handle.mode, handle.position);
    if let Some(ready) = env.pieces(step.site, step.args[1])? {
        return pieces(step, (at, fd, mode), Data::Read, (ready, offset), io, buffers);
    }
    let (data, len) = to_read(env.optional_size(step.site, step.args[1])?);
    let bytes = Bytes { data, offset_bytes: offset.unwrap_or(position), len };
    let transfer = Transfer { at, fd, mode, bytes, moves_position: offset.is_none() };
    now::run_transfer(step, transfer, io, buffers)
}

#[inline(always)]
fn fwrite<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let offset = env.optional_size(step.site, step.args[2])?;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(()) };
    let handle = io.handles.get(at);
    let (mode, position) = (handle.mode, handle.position);
    if let Some(ready) = env.pieces(step.site, step.args[1])? {
        return pieces(step, (at, fd, mode), Data::Write, (ready, offset), io, buffers);
    }
    let len = env.size(step.site, step.args[1])?;
    let (data, offset_bytes) = match mode.append {
        true => (Data::Append, 0),
        false => (Data::Write, offset.unwrap_or(position)),
    };
    let bytes = Bytes { data, offset_bytes, len };
    let moves_position = offset.is_none() && !mode.append;
    now::run_transfer(step, Transfer { at, fd, mode, bytes, moves_position }, io, buffers)
}

/// Access by a pattern: all its pieces in one operation, whose times are added up.
#[inline(never)]
fn pieces<B: Backend>(
    step: Step<'_>,
    (at, fd, mode): (usize, Fd, Mode),
    data: Data,
    (ready, offset): (&Ready<'_>, Option<u64>),
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    if data.writes() && mode.append {
        // Everything would go to the end of the file, in no pattern.
        return refused(step, io, libc::EINVAL, Subject::Handle(at));
    }
    if io.keeps_events {
        (io.touched.extents, io.touched.pieces) = ready.recorded(&mut io.recorder);
    }
    let displacement_bytes = offset.unwrap_or(0);
    let more = More { pieces: ready.pieces(), displacement_bytes, bytes: ready.bytes };
    let bytes = Bytes { data, offset_bytes: 0, len: 0 };
    let transfer = Transfer { at, fd, mode, bytes, moves_position: false };
    now::run(step, Task::transfer(io, transfer).with_pieces(more), io, buffers)
}

fn fclose<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let (at, fd) = file(step, env, io)?;
    let Some(at) = at else { return bad_handle(step, io, None) };
    let locked = std::mem::take(&mut io.handles.get(at).locked);
    let closed = close(step, io, (at, fd), buffers);
    if locked {
        comm.gave_lock_back();
    }
    closed
}

fn close<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    (at, fd): (usize, Option<Fd>),
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    io.handles.remove(at);
    let Some(fd) = fd else { return bad_handle(step, io, Some(at)) };
    if io.handles.get(at).mode.writable && io.options.active().fsync == Fsync::Close {
        return now::run(step, Task::sync_and_close(io, at, fd), io, buffers);
    }
    let shot = timed(&mut io.backend, &io.clock, Call::Close { fd });
    io.settle(step.op, step.site, shot, Subject::Handle(at))
}

fn fseek<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    let offset = env.size(step.site, step.args[1])?;
    if let (Some(at), Some(_)) = file(step, env, io)? {
        io.handles.get(at).position = offset;
    }
    on_handle(step, env, io, |fd| Call::Seek { fd, offset })
}

fn permissions(mode: i64) -> Eval<u32> {
    match u32::try_from(mode) {
        Ok(mode) if mode <= 0o7777 => Ok(mode),
        _ => Err(EvalError::Range("expected permission bits from 0 to 4095", mode.to_string())),
    }
}

/// `size(path)`, `exists(path)`: asks the back-end; not timed, not counted. `None`: it is not there.
pub(super) fn size_of<B: Backend>(
    site: Pc,
    path: Operand,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<Option<u64>, Fault> {
    env.path(site, path, &mut io.paths[0])?;
    let call = Call::Stat { path: io.paths[0].as_c_str() };
    let reply = match io.backend.prepare(&call) {
        Ok(()) => io.backend.issue(call),
        Err(errno) => -i64::from(errno),
    };
    match u64::try_from(reply) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(_) if matches!(-reply as i32, libc::ENOENT | libc::ENOTDIR) => Ok(None),
        Err(_) => {
            let path = String::from_utf8_lossy(io.paths[0].bytes());
            let (name, text) =
                (model::errno::name(-reply as u16), model::errno::text(-reply as u16));
            Err(Fault::message(format!("\"{path}\" cannot be looked at: {name} ({text})")))
        }
    }
}
