//! Operations become calls: which, says one line or two for each. What each does and what its time covers: the
//! operation table of crate model and language.md section 4.

use super::control::Scratch;
use super::eval::Env;
use super::io::Io;
use super::prepare::Prepared;
use super::step::{ADVICE, RANGES, RENAMES, Step, bad_handle, chosen, file};
use super::tally::{Fault, Flow, Subject, Tally};
use super::transfer::Data;
use super::{clearing, control, copy, driver, files, mpi_io};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{Call, Fd};
use crate::comm::Comm;
use model::Op;
use model::plan::{Function, NO_SLOT, Operand, Pc};
use model::value::{Eval, EvalError};
use std::ffi::CStr;

/// How files are opened that are written anew.
const TRUNCATES: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;

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
        Op::Lstat => on_name(step, env, io, |path| Call::Lstat { path }),
        Op::Lookup => {
            if step.dst == NO_SLOT {
                io.backend.needs_name();
            }
            on_name(step, env, io, |path| Call::Access { path })
        }
        Op::Mkdir => on_path(step, env, io, |path| Call::Mkdir { path }),
        Op::Rmdir => on_path(step, env, io, |path| Call::Rmdir { path }),
        Op::Readlink => on_name(step, env, io, |path| Call::Readlink { path }),
        Op::Utime => on_path(step, env, io, |path| Call::Utime { path }),
        Op::Statfs => on_path(step, env, io, |path| Call::Statfs { path }),
        Op::Truncate => {
            let size = env.size(site, args[1])?;
            io.names(0, size);
            on_path(step, env, io, |path| Call::Truncate { path, size })
        }
        Op::Chmod => {
            let mode = permissions(env.int(site, args[1])?)?;
            io.names(0, u64::from(mode));
            on_path(step, env, io, |path| Call::Chmod { path, mode })
        }
        Op::Rename => {
            let flags = chosen(step, env, 2, RENAMES)?.unwrap_or(0);
            io.names(0, u64::from(flags));
            on_paths(step, env, io, |from, to| Call::Rename { from, to, flags })
        }
        Op::Copy | Op::Reflink => copy::run(step, env, io, buffers),
        Op::Fcopy => copy::between(step, env, io, buffers),
        Op::Freflink => copy::share(step, env, io),
        Op::Setxattr | Op::Getxattr | Op::Listxattr | Op::Removexattr => {
            attributes(step, env, io, buffers)
        }
        Op::Link => on_paths(step, env, io, |from, to| Call::Link { from, to }),
        Op::Symlink => symlink(step, env, io),
        Op::Delete => files::delete(step, env, io),
        Op::Readdir => files::list(step, env, io, buffers),
        Op::Create => {
            let flags = files::open_flags(io, TRUNCATES);
            files::with_file(step, env, io, flags, |_, _, _| ())
        }
        Op::Write => {
            let len = env.size(site, args[1])?;
            let offset_bytes = env.optional_size(site, args[2])?.unwrap_or(0);
            let extent = (offset_bytes, len);
            files::move_bytes(step, env, io, buffers, (TRUNCATES, Data::Write), extent)
        }
        Op::Append => {
            let extent = (0, env.size(site, args[1])?);
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND;
            files::move_bytes(step, env, io, buffers, (flags, Data::Append), extent)
        }
        Op::Read => {
            let (data, len) = files::to_read(env.optional_size(site, args[1])?);
            let extent = (env.optional_size(site, args[2])?.unwrap_or(0), len);
            files::move_bytes(step, env, io, buffers, (libc::O_RDONLY, data), extent)
        }
        Op::Fopen | Op::Fcreat | Op::Tmpfile => files::open(step, prepared, env, io),
        Op::Fread => files::fread(step, env, io, buffers),
        Op::Fwrite => files::fwrite(step, env, io, buffers),
        Op::Readv | Op::Writev => files::vector(step, env, io, buffers),
        Op::Fclose => files::fclose(step, env, io, comm),
        Op::Fseek => files::fseek(step, env, io),
        Op::Fsync | Op::Fdatasync => files::sync(step, env, io),
        Op::Fstat => on_handle(step, env, io, |fd| Call::Fstat { fd }),
        Op::Ftruncate => {
            let size = env.size(site, args[1])?;
            io.names(0, size);
            on_handle(step, env, io, |fd| Call::Ftruncate { fd, size })
        }
        Op::Fallocate => {
            let offset = env.optional_size(site, args[1])?.unwrap_or(0);
            let size = env.size(site, args[2])?;
            let mode = chosen(step, env, 3, RANGES)?.unwrap_or(0);
            io.names(offset, size);
            on_handle(step, env, io, |fd| Call::Fallocate { fd, mode, offset, size })
        }
        Op::Fadvise => {
            let (offset, size) = (env.size(site, args[1])?, env.size(site, args[2])?);
            let advice = chosen(step, env, 3, ADVICE)?.unwrap_or(0);
            io.names(offset, size);
            match advice {
                libc::POSIX_FADV_DONTNEED => clearing::need_no_more(step, env, io, (offset, size)),
                _ => on_handle(step, env, io, |fd| Call::Fadvise { fd, offset, size, advice }),
            }
        }
        Op::Linkat => files::linkat(step, env, io),
        Op::Flock => return files::flock(step, env, io, comm),
        Op::Syncfs if args[0] != Operand::ABSENT => {
            on_handle(step, env, io, |fd| Call::Syncfs { fd: Some(fd) })
        }
        Op::Sync | Op::Syncfs => sync(step, env, io),
        Op::Dropcaches => clearing::drop_caches(step, io),
        Op::Pfopen => return mpi_io::open(step, env, io, comm),
        Op::Pfclose => return mpi_io::close(step, env, io, comm),
        Op::Pdelete => return mpi_io::delete(step, env, io),
        Op::Pwrite | Op::Pread => return mpi_io::whole_file(step, env, io, comm, buffers),
        Op::Pfwrite | Op::Pfread => return mpi_io::transfer(step, env, io, comm, buffers),
        Op::Pfsync => return mpi_io::on_file(step, env, io, comm, mpi_io::sync),
        Op::Pfsetsize => return mpi_io::on_file(step, env, io, comm, mpi_io::set_size),
        Op::Pfpreallocate => return mpi_io::on_file(step, env, io, comm, mpi_io::preallocate),
        Op::Pfseek => return mpi_io::on_file(step, env, io, comm, mpi_io::seek),
        Op::Print => {
            io.ended_ns = 0;
            return control::print(step, env, scratch, io.settings.print_fd);
        }
        Op::Assert => return control::assert(step, env),
        Op::Sleep => return control::sleep(step, env, comm, io),
        Op::Compute => return control::compute(step, env, comm, io),
        Op::Signal => return control::signal(step, env, comm, scratch),
        Op::Wait => {
            io.ended_ns = 0;
            return control::wait(step, env, comm, scratch);
        }
    }?;
    Ok(Flow::Next)
}

/// One call on the first path.
#[inline(always)]
fn on_path<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl for<'a> FnOnce(&'a CStr) -> Call<'a>,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    driver::one_on_paths(step, io, Subject::Path, |paths| call(paths[0].as_c_str()))
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
    driver::one_on_paths(step, io, Subject::Path, |paths| call(paths[0].as_c_str()))
}

/// One call on two paths.
#[inline(always)]
fn on_paths<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl for<'a> FnOnce(&'a CStr, &'a CStr) -> Call<'a>,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    env.path(step.site, step.args[1], &mut io.paths[1])?;
    driver::one_on_paths(step, io, Subject::Paths, |paths| {
        call(paths[0].as_c_str(), paths[1].as_c_str())
    })
}

/// The target is any text.
fn symlink<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    env.link_target(step.site, step.args[0], &mut io.paths[0])?;
    env.path(step.site, step.args[1], &mut io.paths[1])?;
    driver::one_on_paths(step, io, Subject::Paths, |paths| Call::Symlink {
        target: paths[0].as_c_str(),
        path: paths[1].as_c_str(),
    })
}

/// The file system of the directory in which paths begin.
fn sync<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) -> Result<(), Fault> {
    let Some(directory) = env.directory() else {
        return on_nothing(step, io, Call::Syncfs { fd: None });
    };
    io.paths[0].fill(|path| {
        path.extend_from_slice(directory.as_bytes());
        Ok(())
    })?;
    io.paths[0].place = env.place();
    driver::one_on_paths(step, io, Subject::Path, |paths| Call::SyncDirectory {
        path: paths[0].as_c_str(),
    })?;
    if io.outcome.errno == 0 {
        io.made_all_stable(env.place());
    }
    Ok(())
}

/// One call on no file.
#[inline(always)]
fn on_nothing<B: Backend>(step: Step<'_>, io: &mut Io<'_, B>, call: Call<'_>) -> Result<(), Fault> {
    driver::one(step, io, Subject::Nothing, call)
}

/// One call on an open file.
#[inline(always)]
pub(super) fn on_handle<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    call: impl FnOnce(Fd) -> Call<'static>,
) -> Result<(), Fault> {
    match file(step, env, io)? {
        (Some(at), Some(fd)) => driver::one(step, io, Subject::Handle(at), call(fd)),
        (at, _) => bad_handle(step, io, at),
    }
}

fn permissions(mode: i64) -> Eval<u32> {
    match u32::try_from(mode) {
        Ok(mode) if mode <= 0o7777 => Ok(mode),
        _ => Err(EvalError::Range("expected permission bits from 0 to 4095", mode.to_string())),
    }
}

/// `size(path)`, `exists(path)`: asks the back-end; not timed, not counted. `None`: it is not there.
pub(super) fn size_of<B: Backend>(
    (site, function): (Pc, Function),
    path: Operand,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<Option<u64>, Fault> {
    env.path(site, path, &mut io.paths[0])?;
    let path = io.paths[0].as_c_str();
    // Whose size is asked for has to be there; a rehearsal takes nothing for granted of the other.
    let call = match function {
        Function::Exists => Call::Access { path },
        _ => Call::Stat { path },
    };
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

/// Longest value, and names of all attributes of a file (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const MAX_BYTES: usize = 65_536;

/// An operation on extended attributes: a path, and the name of an attribute in the namespace `user.`
fn attributes<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    if step.op != Op::Listxattr {
        env.path(step.site, step.args[1], &mut io.paths[1])?;
        check_name(io.paths[1].bytes())?;
    }
    let len = match step.op {
        Op::Setxattr => env.size(step.site, step.args[2])?,
        _ => 0,
    };
    let (path, name) = (io.paths[0].as_c_str(), io.paths[1].as_c_str());
    let call = match step.op {
        Op::Setxattr => {
            // The kernel refuses what is longer by a byte as well as what is longer by far.
            let len = len.min(MAX_BYTES as u64 + 1) as usize;
            let value = buffers.source(io.options.active().data, len, 0);
            value.map(|value| Call::Setxattr { path, name, value })
        }
        Op::Getxattr => buffers.target(MAX_BYTES).map(|buf| Call::Getxattr { path, name, buf }),
        Op::Listxattr => buffers.target(MAX_BYTES).map(|buf| Call::Listxattr { path, buf }),
        _ => Ok(Call::Removexattr { path, name }),
    };
    let Ok(call) = call else {
        let mut tally = Tally::EMPTY;
        tally.fail(libc::ENOMEM);
        return io.conclude(step.op, step.site, &tally, Subject::Path);
    };
    let shot = driver::timed(&mut io.backend, &io.clock, call);
    io.settle(step.op, step.site, shot, Subject::Path)
}

/// Other namespaces are the system's.
fn check_name(name: &[u8]) -> Eval<()> {
    if name.starts_with(b"user.") {
        return Ok(());
    }
    let found = format!("\"{}\"", String::from_utf8_lossy(name));
    Err(EvalError::Type("the name of an attribute that begins with user.", found))
}
