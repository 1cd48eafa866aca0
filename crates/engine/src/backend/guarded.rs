//! The system calls of [`Posix`], for paths that are not proved to stay inside.
//!
//! Every path is resolved beneath the run directory before the first clock
//! reading; the timed call works on what was found: a parent directory and a
//! name, which is not followed, or an open descriptor. So the times of calls on
//! names leave out the walk to the name. `open` resolves and opens in one call,
//! inside its time.
//!
//! Paths and links that leave the directory give `EXDEV`, also those that
//! `symlink` would make. Absolute paths inside the run directory are accepted.

use super::beneath::{Root, split};
use super::posix::{reply, size_of_file};
use super::{Backend, Cached, Capabilities, Posix, check_path, protect_marker};
use crate::call::{Call, Fd, Reply};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

/// Flags that contradict each other (open(2)).
const CREATE_DIRECTORY: i32 = libc::O_CREAT | libc::O_DIRECTORY;

/// Files of the operating system, reached only beneath the run directory.
#[derive(Debug)]
pub struct Guarded {
    posix: Posix,
    root: Root,
    targets: [Target; 2],
}

/// What `prepare` found for one path of the call.
#[derive(Debug, Default)]
struct Target {
    /// Parent directory of `name`, or the file itself.
    held: Option<OwnedFd>,
    /// Last name of the path, or the path relative to the root.
    name: CString,
}

impl Target {
    fn fd(&self) -> i32 {
        self.held.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    fn check_exists(&self) -> Result<(), i32> {
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: the name is NUL-terminated, the descriptor is held.
        let done = unsafe { libc::faccessat(self.fd(), self.name.as_ptr(), libc::F_OK, flags) };
        if done == 0 { Ok(()) } else { Err(super::beneath::errno()) }
    }
}

impl Guarded {
    /// Takes the current directory as run directory; see [`Posix::new`]. Fails with
    /// `ENOSYS` on Linux before 5.6.
    pub fn new() -> io::Result<Guarded> {
        Ok(Guarded { posix: Posix::new()?, root: Root::current()?, targets: Default::default() })
    }

    /// Holds the parent directory and the last name.
    fn entry(&mut self, at: usize, path: &CStr) -> Result<(), i32> {
        check_path(path.to_bytes())?;
        let path = self.root.relative(path.to_bytes())?;
        let (parent, name) = split(path);
        if name.starts_with(b"..") && matches!(name.get(2), None | Some(b'/')) {
            // The kernel lets nobody change `..`; only whether it leaves is to be told.
            let whole = CString::new(path).map_err(|_| libc::EINVAL)?;
            self.root.open(&whole, libc::O_PATH, 0)?;
        }
        let parent = CString::new(parent).map_err(|_| libc::EINVAL)?;
        let held = self.root.open(&parent, libc::O_PATH | libc::O_DIRECTORY, 0)?;
        let name = CString::new(name).map_err(|_| libc::EINVAL)?;
        self.targets[at] = Target { held: Some(held), name };
        Ok(())
    }

    /// `readlink` and `link` follow a last name that slashes come after.
    fn entry_followed(&mut self, at: usize, path: &CStr) -> Result<(), i32> {
        if path.to_bytes().ends_with(b"/") {
            self.root.open(&self.relative(path)?, libc::O_PATH, 0)?;
        }
        self.entry(at, path)
    }

    /// Holds the file itself, opened with `flags`.
    fn file(&mut self, path: &CStr, flags: i32) -> Result<(), i32> {
        let name = self.relative(path)?;
        let held = Some(self.root.open(&name, flags, 0)?);
        self.targets[0] = Target { held, name };
        Ok(())
    }

    fn relative(&self, path: &CStr) -> Result<CString, i32> {
        check_path(path.to_bytes())?;
        CString::new(self.root.relative(path.to_bytes())?).map_err(|_| libc::EINVAL)
    }

    fn open(&self, flags: i32, mode: u32) -> Reply {
        match self.root.open(&self.targets[0].name, flags, mode) {
            Ok(fd) => Reply::from(fd.into_raw_fd()),
            Err(errno) => -Reply::from(errno),
        }
    }

    fn on_names(&self, call: &Call<'_>) -> Reply {
        let [a, b] = &self.targets;
        let (old, new) = (a.name.as_ptr(), b.name.as_ptr());
        // SAFETY: names are NUL-terminated and owned by the targets, descriptors are held by them.
        reply(unsafe {
            match call {
                Call::Unlink { .. } => libc::unlinkat(a.fd(), old, 0),
                Call::Rmdir { .. } => libc::unlinkat(a.fd(), old, libc::AT_REMOVEDIR),
                Call::Mkdir { .. } => libc::mkdirat(a.fd(), old, 0o777),
                Call::Rename { .. } => libc::renameat(a.fd(), old, b.fd(), new),
                Call::Link { .. } => libc::linkat(a.fd(), old, b.fd(), new, 0),
                Call::Symlink { target, .. } => libc::symlinkat(target.as_ptr(), a.fd(), old),
                Call::Readlink { .. } => return readlink(a),
                _ => return -Reply::from(libc::ENOSYS),
            }
        })
    }
}

fn readlink(target: &Target) -> Reply {
    let mut held = [0u8; libc::PATH_MAX as usize];
    let room = held.len();
    // SAFETY: the buffer is as long as said, the name is NUL-terminated.
    reply(unsafe {
        libc::readlinkat(target.fd(), target.name.as_ptr(), held.as_mut_ptr().cast(), room) as i64
    })
}

/// Calls on the file that `prepare` opened.
fn on_file(fd: i32, call: &Call<'_>) -> Reply {
    let nothing = c"".as_ptr();
    let empty = libc::AT_EMPTY_PATH;
    // SAFETY: the path is a constant, structures are filled by the call, the descriptor is held.
    reply(unsafe {
        match *call {
            Call::Stat { .. } => {
                return size_of_file(|stat| libc::fstatat(fd, nothing, stat, empty));
            }
            Call::Access { .. } => {
                libc::syscall(libc::SYS_faccessat2, fd, nothing, libc::F_OK, empty)
            }
            Call::Chmod { mode, .. } => return chmod(fd, mode),
            Call::Utime { .. } => i64::from(libc::utimensat(fd, nothing, std::ptr::null(), empty)),
            Call::Statfs { .. } => {
                let mut facts = std::mem::MaybeUninit::<libc::statfs>::uninit();
                i64::from(libc::fstatfs(fd, facts.as_mut_ptr()))
            }
            Call::Truncate { size, .. } => i64::from(libc::ftruncate(fd, size as libc::off_t)),
            _ => return -Reply::from(libc::ENOSYS),
        }
    })
}

/// fchmodat2 (Linux 6.6), or chmod by way of /proc before.
pub(crate) fn chmod(fd: i32, mode: u32) -> Reply {
    /// The same on every architecture; newer than the libc crate's tables.
    const SYS_FCHMODAT2: libc::c_long = 452;
    let nothing = c"".as_ptr();
    // SAFETY: the path is a constant, the descriptor is held.
    let done =
        reply(unsafe { libc::syscall(SYS_FCHMODAT2, fd, nothing, mode, libc::AT_EMPTY_PATH) });
    if done != -Reply::from(libc::ENOSYS) {
        return done;
    }
    let path = CString::new(format!("/proc/self/fd/{fd}")).expect("digits hold no NUL");
    // SAFETY: the path is NUL-terminated.
    reply(unsafe { libc::chmod(path.as_ptr(), mode) })
}

impl Backend for Guarded {
    fn name(&self) -> &'static str {
        self.posix.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.posix.capabilities()
    }

    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        protect_marker(call)?;
        match call {
            // As Linux since 6.4, before it looks at the path.
            Call::Open { flags, .. } if flags & CREATE_DIRECTORY == CREATE_DIRECTORY => {
                Err(libc::EINVAL)
            }
            Call::Open { path, .. } => {
                self.targets[0] = Target { held: None, name: self.relative(path)? };
                Ok(())
            }
            Call::Stat { path }
            | Call::Access { path }
            | Call::Chmod { path, .. }
            | Call::Utime { path }
            | Call::Statfs { path } => self.file(path, libc::O_PATH),
            Call::Truncate { size, .. } if *size > i64::MAX as u64 => Err(libc::EINVAL),
            // Not waiting for the reader of a FIFO.
            Call::Truncate { path, .. } => self.file(path, libc::O_WRONLY | libc::O_NONBLOCK),
            Call::Unlink { path } | Call::Rmdir { path } | Call::Mkdir { path } => {
                self.entry(0, path)
            }
            Call::Readlink { path } => self.entry_followed(0, path),
            Call::Rename { from, to } => {
                self.entry(0, from)?;
                self.entry(1, to)
            }
            Call::Link { from, to } => {
                self.entry_followed(0, from)?;
                // The kernel looks at all of `from` before it looks at `to`.
                self.targets[0].check_exists()?;
                self.entry(1, to)
            }
            Call::Symlink { target, path } => {
                check_path(target.to_bytes())?;
                self.entry(0, path)?;
                self.root.check_target(target.to_bytes(), path.to_bytes())
            }
            _ => Ok(()),
        }
    }

    fn cached(&self, fd: Fd) -> Option<Cached> {
        self.posix.cached(fd)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        match call {
            Call::Open { flags, mode, .. } => self.open(flags, mode),
            Call::Unlink { .. }
            | Call::Rmdir { .. }
            | Call::Mkdir { .. }
            | Call::Rename { .. }
            | Call::Link { .. }
            | Call::Symlink { .. }
            | Call::Readlink { .. } => self.on_names(&call),
            Call::Stat { .. }
            | Call::Access { .. }
            | Call::Chmod { .. }
            | Call::Utime { .. }
            | Call::Statfs { .. }
            | Call::Truncate { .. } => on_file(self.targets[0].fd(), &call),
            other => self.posix.issue(other),
        }
    }
}
