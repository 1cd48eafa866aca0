//! Operations become calls: which, says one line or two for each. What each does and what its time covers: the
//! operation table of crate model and language.md section 4.

use super::control::assert;
use super::files::to_read;
use super::io::timed;
use super::rank::Machine;
use super::step::{ADVICE, RANGES, RENAMES, Step, chosen};
use super::tally::{Flow, Subject};
use super::transfer::Data;
use crate::buffer::Buffers;
use crate::call::{Call, Fd};
use crate::comm::Comm;
use model::plan::{NO_SLOT, Operand};
use model::value::{Eval, EvalError};
use model::{Op, Part};
use std::ffi::CStr;

/// How files are opened that are written anew.
const TRUNCATES: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;

impl Machine<'_> {
    /// Executes a statement. Each operation stands here once: one that is forgotten does not compile.
    #[inline(always)]
    pub(super) fn perform(
        &mut self,
        step: Step<'_>,
        comm: &mut dyn Comm,
        buffers: &mut Buffers,
    ) -> Flow {
        let (site, args) = (step.site, step.args);
        if self.io.accounts {
            self.io.backend.begins(site, step.dst != NO_SLOT);
        }
        match step.op {
            Op::Stat => self.on_name(step, |path| Call::Stat { path }),
            Op::Lstat => self.on_name(step, |path| Call::Lstat { path }),
            Op::Lookup => self.on_name(step, |path| Call::Access { path }),
            Op::Mkdir => self.on_path(step, |path| Call::Mkdir { path }),
            Op::Rmdir => self.on_path(step, |path| Call::Rmdir { path }),
            Op::Readlink => self.on_name(step, |path| Call::Readlink { path }),
            Op::Utime => self.on_path(step, |path| Call::Utime { path }),
            Op::Statfs => self.on_path(step, |path| Call::Statfs { path }),
            Op::Truncate => {
                let size = self.env.size(site, args[1])?;
                self.io.names(0, size);
                self.on_path(step, |path| Call::Truncate { path, size })
            }
            Op::Allocate => {
                let size = self.env.size(site, args[1])?;
                let offset = self.env.optional_size(site, args[2])?.unwrap_or(0);
                let flags = self.io.open_flags(libc::O_WRONLY | libc::O_CREAT);
                self.io.names(offset, size);
                self.with_file(step, flags, |io, fd, tally| {
                    io.part(tally, Part::Data, Call::Fallocate { fd, mode: 0, offset, size });
                })
            }
            Op::Chmod => {
                let mode = permissions(self.env.int(site, args[1])?)?;
                self.io.names(0, u64::from(mode));
                self.on_path(step, |path| Call::Chmod { path, mode })
            }
            Op::Rename => {
                let flags = chosen(step, &mut self.env, 2, RENAMES)?.unwrap_or(0);
                self.io.names(0, u64::from(flags));
                self.on_paths(step, |from, to| Call::Rename { from, to, flags })
            }
            Op::Copy | Op::Reflink => self.copy_paths(step, buffers),
            Op::Fcopy | Op::Freflink => self.copy_files(step, buffers),
            Op::Setxattr | Op::Getxattr | Op::Listxattr | Op::Removexattr => {
                self.attributes(step, buffers)
            }
            Op::Link => self.on_paths(step, |from, to| Call::Link { from, to }),
            Op::Symlink => self.symlink(step),
            Op::Delete => self.delete(step),
            Op::Readdir => self.readdir(step, buffers),
            Op::Create => {
                let flags = self.io.open_flags(TRUNCATES);
                self.with_file(step, flags, |_, _, _| ())
            }
            Op::Write => {
                let len = self.env.size(site, args[1])?;
                let offset_bytes = self.env.optional_size(site, args[2])?.unwrap_or(0);
                let extent = (offset_bytes, len);
                self.move_file_bytes(step, buffers, (TRUNCATES, Data::Write), extent)
            }
            Op::Append => {
                let extent = (0, self.env.size(site, args[1])?);
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND;
                self.move_file_bytes(step, buffers, (flags, Data::Append), extent)
            }
            Op::Read => {
                let (data, len) = to_read(self.env.optional_size(site, args[1])?);
                let extent = (self.env.optional_size(site, args[2])?.unwrap_or(0), len);
                self.move_file_bytes(step, buffers, (libc::O_RDONLY, data), extent)
            }
            Op::Fopen | Op::Fcreat | Op::Tmpfile => self.fopen(step),
            Op::Fread => self.fread(step, buffers),
            Op::Fwrite => self.fwrite(step, buffers),
            Op::Readv | Op::Writev => self.vector(step, buffers),
            Op::Fclose => self.fclose(step, comm),
            Op::Fseek => self.fseek(step),
            Op::Fsync | Op::Fdatasync => self.fsync(step),
            Op::Fstat => self.on_handle(step, |fd| Call::Fstat { fd }),
            Op::Ftruncate => {
                let size = self.env.size(site, args[1])?;
                self.io.names(0, size);
                self.on_handle(step, |fd| Call::Ftruncate { fd, size })
            }
            Op::Fallocate => {
                let offset = self.env.optional_size(site, args[1])?.unwrap_or(0);
                let size = self.env.size(site, args[2])?;
                let mode = chosen(step, &mut self.env, 3, RANGES)?.unwrap_or(0);
                self.io.names(offset, size);
                self.on_handle(step, |fd| Call::Fallocate { fd, mode, offset, size })
            }
            Op::Fadvise => {
                let (offset, size) = (self.env.size(site, args[1])?, self.env.size(site, args[2])?);
                let advice = chosen(step, &mut self.env, 3, ADVICE)?.unwrap_or(0);
                self.io.names(offset, size);
                match advice {
                    libc::POSIX_FADV_DONTNEED => self.need_no_more(step, (offset, size)),
                    _ => self.on_handle(step, |fd| Call::Fadvise { fd, offset, size, advice }),
                }
            }
            Op::Linkat => self.linkat(step),
            Op::Flock => self.flock(step, comm),
            Op::Syncfs if args[0] != Operand::ABSENT => {
                self.on_handle(step, |fd| Call::Syncfs { fd: Some(fd) })
            }
            Op::Sync | Op::Syncfs => self.sync_directory(step),
            Op::Dropcaches => self.drop_caches(step),
            Op::Pfopen => self.pfopen(step, comm),
            Op::Pfclose => self.pfclose(step, comm),
            Op::Pdelete => self.pdelete(step),
            Op::Pwrite | Op::Pread => self.whole_mpi_file(step, comm, buffers),
            Op::Pfwrite | Op::Pfread => self.pf_transfer(step, comm, buffers),
            Op::Pfsync | Op::Pfsetsize | Op::Pfpreallocate | Op::Pfseek => {
                self.on_mpi_file(step, comm)
            }
            Op::Print => {
                self.io.ended_ns = 0;
                self.print(step)
            }
            Op::Assert => assert(step, &mut self.env),
            Op::Score => self.score(step),
            Op::Sleep => self.sleep(step, comm),
            Op::Compute => self.compute(step, comm),
            Op::Signal => self.signal(step, comm),
            Op::Wait => {
                self.io.ended_ns = 0;
                self.wait(step, comm)
            }
        }
    }

    /// One call on the first path.
    #[inline(always)]
    fn on_path(&mut self, step: Step<'_>, call: impl for<'a> FnOnce(&'a CStr) -> Call<'a>) -> Flow {
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        self.io.one_on_paths(step, Subject::Path, |paths| call(paths[0].as_c_str()))
    }

    /// The same for a name that is only looked up.
    #[inline(always)]
    fn on_name(&mut self, step: Step<'_>, call: impl for<'a> FnOnce(&'a CStr) -> Call<'a>) -> Flow {
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        self.io.looks_up_name();
        self.io.one_on_paths(step, Subject::Path, |paths| call(paths[0].as_c_str()))
    }

    /// One call on two paths.
    #[inline(always)]
    fn on_paths(
        &mut self,
        step: Step<'_>,
        call: impl for<'a> FnOnce(&'a CStr, &'a CStr) -> Call<'a>,
    ) -> Flow {
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        self.env.path(step.site, step.args[1], &mut self.io.paths[1])?;
        self.io.one_on_paths(step, Subject::Paths, |paths| {
            call(paths[0].as_c_str(), paths[1].as_c_str())
        })
    }

    /// The target is any text.
    fn symlink(&mut self, step: Step<'_>) -> Flow {
        self.env.link_target(step.site, step.args[0], &mut self.io.paths[0])?;
        self.env.path(step.site, step.args[1], &mut self.io.paths[1])?;
        self.io.one_on_paths(step, Subject::Paths, |paths| Call::Symlink {
            target: paths[0].as_c_str(),
            path: paths[1].as_c_str(),
        })
    }

    /// The file system of the directory in which paths begin.
    fn sync_directory(&mut self, step: Step<'_>) -> Flow {
        let Some(directory) = self.env.directory() else {
            return self.io.one_call(step, Subject::Nothing, Call::Syncfs { fd: None });
        };
        self.io.paths[0].fill(|path| {
            path.extend_from_slice(directory.as_bytes());
            Ok(())
        })?;
        self.io.paths[0].place = self.env.place();
        self.io.one_on_paths(step, Subject::Path, |paths| Call::SyncDirectory {
            path: paths[0].as_c_str(),
        })?;
        if self.io.outcome.errno == 0 {
            self.io.made_all_stable(self.env.place());
        }
        Ok(())
    }

    /// One call on an open file.
    #[inline(always)]
    pub(super) fn on_handle(
        &mut self,
        step: Step<'_>,
        call: impl FnOnce(Fd) -> Call<'static>,
    ) -> Flow {
        let Some((at, fd)) = self.handle(step)? else { return Ok(()) };
        self.io.one_call(step, Subject::Handle(at), call(fd))
    }

    /// An operation on extended attributes: a path, and the name of an attribute in the namespace `user.`
    fn attributes(&mut self, step: Step<'_>, buffers: &mut Buffers) -> Flow {
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        if step.op != Op::Listxattr {
            self.env.path(step.site, step.args[1], &mut self.io.paths[1])?;
            check_name(self.io.paths[1].bytes())?;
        }
        let len = match step.op {
            Op::Setxattr => self.env.size(step.site, step.args[2])?,
            _ => 0,
        };
        let (path, name) = (self.io.paths[0].as_c_str(), self.io.paths[1].as_c_str());
        let call = match step.op {
            Op::Setxattr => {
                // The kernel refuses what is longer by a byte as well as what is longer by far.
                let len = len.min(MAX_BYTES as u64 + 1) as usize;
                let value = buffers.source(self.io.options.active().data, len, 0);
                value.map(|value| Call::Setxattr { path, name, value })
            }
            Op::Getxattr => buffers.target(MAX_BYTES).map(|buf| Call::Getxattr { path, name, buf }),
            Op::Listxattr => buffers.target(MAX_BYTES).map(|buf| Call::Listxattr { path, buf }),
            _ => Ok(Call::Removexattr { path, name }),
        };
        let Ok(call) = call else { return self.io.refused(step, libc::ENOMEM, Subject::Path) };
        let shot = timed(&mut *self.io.backend, &self.io.clock, call);
        self.io.settle(step, shot, Subject::Path)
    }
}

fn permissions(mode: i64) -> Eval<u32> {
    match u32::try_from(mode) {
        Ok(mode) if mode <= 0o7777 => Ok(mode),
        _ => Err(EvalError::Range("expected permission bits from 0 to 4095", mode.to_string())),
    }
}

/// Longest value, and names of all attributes of a file (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const MAX_BYTES: usize = 65_536;

/// Other namespaces are the system's.
fn check_name(name: &[u8]) -> Eval<()> {
    if name.starts_with(b"user.") {
        return Ok(());
    }
    let found = format!("\"{}\"", String::from_utf8_lossy(name));
    Err(EvalError::Type("the name of an attribute that begins with user.", found))
}
