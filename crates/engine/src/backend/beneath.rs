//! The system calls of [`Posix`] for what the lexical rule does not cover ([`super::lexical`]): links
//! that lead up, and directories in which others can make links.
//!
//! Every path is resolved beneath its directory first; the call itself works on what was
//! found: a parent directory and a name, which is not followed, or an open descriptor. Both
//! lie inside the time: an application pays for the walk to the name too. It pays once, so times
//! here are somewhat longer (two system calls), except for `open`, which resolves and opens in one.
//!
//! A link that leaves its directory gives `EXDEV` when it is followed, and when a program makes it.

use super::api::Backend;
use super::lexical::{check, check_link, check_path, refuses_flags};
use super::posix::{FdPath, Posix, link_file, reply, size_of_file};
use super::resolve::{Root, errno, split};
use crate::call::{Call, Fd, Names, Reply};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

/// Files of the operating system, reached only beneath the granted directories.
#[derive(Debug)]
pub struct Beneath {
    posix: Posix,
    /// The run directory and further ones.
    roots: Vec<Root>,
    targets: [Target; 2],
}

/// One path of the call.
#[derive(Debug)]
struct Target {
    /// Number of the root in which it lies.
    root: usize,
    /// Relative to the root, or why the kernel refuses it: an errno.
    path: Result<CString, i32>,
    /// The path of its parent directory; `None`: the root.
    parent: Option<CString>,
    /// Its last name.
    name: CString,
    /// The parent directory, or the file itself. Kept until the next call, so that no time holds
    /// its closing.
    held: Option<OwnedFd>,
}

impl Default for Target {
    fn default() -> Target {
        let name = CString::default();
        Target { root: 0, path: Err(libc::EINVAL), parent: None, name, held: None }
    }
}

impl Target {
    /// Takes a path apart that is relative to a root.
    fn new(root: usize, path: &[u8]) -> Target {
        let c = |text: &[u8]| CString::new(text).map_err(|_| libc::EINVAL);
        let (parent, name) = split(path);
        let parent = if parent == b"." { None } else { c(parent).ok() };
        Target { root, path: c(path), parent, name: c(name).unwrap_or_default(), held: None }
    }
}

impl Beneath {
    /// Resolves names beneath the directories of a back-end.
    ///
    /// # Errors
    /// `ENOSYS` on Linux before 5.6.
    pub fn new(posix: Posix) -> io::Result<Beneath> {
        Ok(Beneath { roots: posix.roots.beneath()?, posix, targets: Default::default() })
    }

    /// File systems mounted below the directories belong to them.
    pub fn across_mounts(mut self) -> Beneath {
        self.roots.iter_mut().for_each(Root::cross_mounts);
        self
    }

    fn target(&self, path: &CStr) -> Target {
        let located = self.posix.roots.locate(path.to_bytes()).ok_or(libc::EXDEV);
        match check_path(path.to_bytes()).and(located) {
            Ok((root, path)) => Target::new(root, relative(path)),
            Err(errno) => Target { path: Err(errno), ..Target::default() },
        }
    }

    /// Where a path of the call lies.
    fn root(&self, at: usize) -> &Root {
        &self.roots[self.targets[at].root]
    }

    /// The parent directory of a path and the name in it.
    fn entry(&mut self, at: usize) -> Result<Entry, i32> {
        let target = &mut self.targets[at];
        target.path.as_deref().map_err(|errno| *errno)?;
        let root = &self.roots[target.root];
        if let Some(parent) = &target.parent {
            target.held = Some(root.open(parent, libc::O_PATH | libc::O_DIRECTORY, 0)?);
        }
        let root = root.fd().as_raw_fd();
        let parent = target.held.as_ref().map_or(root, AsRawFd::as_raw_fd);
        Ok((parent, target.name.as_ptr()))
    }

    /// Makes a call on the entry of the first path, and gives what it returns.
    fn on_entry(&mut self, call: impl FnOnce(i32, *const libc::c_char) -> i32) -> Result<i32, i32> {
        let (parent, name) = self.entry(0)?;
        Ok(call(parent, name))
    }

    /// `readlink` and `link` follow a last name that slashes come after.
    fn followed_entry(&mut self) -> Result<Entry, i32> {
        let path = self.targets[0].path.as_deref().map_err(|errno| *errno)?;
        if path.to_bytes().ends_with(b"/") {
            self.root(0).open(path, libc::O_PATH, 0)?;
        }
        self.entry(0)
    }

    /// Opens the file itself.
    fn open(&self, flags: i32, mode: u32) -> Result<OwnedFd, i32> {
        let path = self.targets[0].path.as_deref().map_err(|errno| *errno)?;
        self.root(0).open(path, flags, mode)
    }

    /// The file itself, open for a call on it.
    fn file(&mut self) -> Result<i32, i32> {
        let file = self.open(libc::O_PATH, 0)?;
        Ok(self.targets[0].held.insert(file).as_raw_fd())
    }

    /// Executes a call on what its prepared paths lead to.
    fn execute(&mut self, call: Call<'_>) -> Result<Reply, i32> {
        let whole_system = matches!(call, Call::SyncDirectory { .. });
        if whole_system || matches!(call.names(), Names::None) {
            // It uses no name to reach a file.
            return Ok(self.posix.issue_on(call, std::ptr::null()));
        }
        // SAFETY: names are NUL-terminated and owned by the targets, descriptors are held by them,
        // structures are filled by the call.
        let returned = unsafe {
            match call {
                Call::Open { flags, mode, .. } => self.open(flags, mode)?.into_raw_fd(),
                Call::Unlink { .. } => {
                    self.on_entry(|parent, name| libc::unlinkat(parent, name, 0))?
                }
                Call::Rmdir { .. } => {
                    self.on_entry(|parent, name| libc::unlinkat(parent, name, libc::AT_REMOVEDIR))?
                }
                Call::Mkdir { .. } => {
                    self.on_entry(|parent, name| libc::mkdirat(parent, name, 0o777))?
                }
                Call::Symlink { target, .. } => {
                    self.on_entry(|parent, name| libc::symlinkat(target.as_ptr(), parent, name))?
                }
                Call::Rename { flags, .. } => {
                    let ((from, old), (to, new)) = (self.entry(0)?, self.entry(1)?);
                    libc::syscall(libc::SYS_renameat2, from, old, to, new, flags) as i32
                }
                Call::LinkFile { fd, .. } => {
                    let (parent, name) = self.entry(0)?;
                    return Ok(link_file(fd, parent, name));
                }
                Call::Link { .. } => {
                    let (from, old) = self.followed_entry()?;
                    // The kernel looks at all of `from` before it looks at `to`.
                    check_exists((from, old))?;
                    let (to, new) = self.entry(1)?;
                    libc::linkat(from, old, to, new, 0)
                }
                Call::Readlink { .. } => return Ok(readlink(self.followed_entry()?)),
                Call::Stat { .. } => {
                    let (fd, empty) = (self.file()?, libc::AT_EMPTY_PATH);
                    return Ok(size_of_file(|stat| libc::fstatat(fd, c"".as_ptr(), stat, empty)));
                }
                Call::Lstat { .. } => {
                    let (parent, name) = self.followed_entry()?;
                    let itself = libc::AT_SYMLINK_NOFOLLOW;
                    return Ok(size_of_file(|stat| libc::fstatat(parent, name, stat, itself)));
                }
                // The others follow links. They get what the path leads to by its name in /proc, because
                // not all of them have a form for descriptors of O_PATH.
                call => {
                    let file = FdPath::new(Fd(self.file()?));
                    return Ok(self.posix.issue_on(call, file.as_ptr()));
                }
            }
        };
        Ok(reply(returned))
    }
}

/// A directory that is held open, and a name in it.
type Entry = (i32, *const libc::c_char);

fn check_exists((parent, name): Entry) -> Result<(), i32> {
    // SAFETY: the name is NUL-terminated, the descriptor is held.
    let done = unsafe { libc::faccessat(parent, name, libc::F_OK, libc::AT_SYMLINK_NOFOLLOW) };
    if done == 0 { Ok(()) } else { Err(errno()) }
}

fn readlink((parent, name): Entry) -> Reply {
    let mut held = [0u8; libc::PATH_MAX as usize];
    let room = held.len();
    // SAFETY: the buffer is as long as said, the name is NUL-terminated.
    reply(unsafe { libc::readlinkat(parent, name, held.as_mut_ptr().cast(), room) as i64 })
}

impl Backend for Beneath {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut self.posix)
    }

    /// Takes the paths apart; what the file system is asked for them belongs to the call.
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        check(call, |path| self.posix.roots.locate(path))?;
        check_link(call, |path| self.posix.roots.locate(path))?;
        if is_refused_early(call) {
            return Err(libc::EINVAL);
        }
        match call.names() {
            Names::None => {}
            Names::One { path, .. } => self.targets[0] = self.target(path),
            Names::Two { from, to } => {
                self.targets = [from, to].map(|path| self.target(path));
            }
            Names::Link { target, path } => {
                check_path(target.to_bytes())?;
                self.targets[0] = self.target(path);
            }
        }
        Ok(())
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        self.execute(call).unwrap_or_else(|errno| -Reply::from(errno))
    }
}

/// A path that comes after that of its directory, without the slashes before it; `.` for the directory.
fn relative(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|byte| *byte != b'/');
    start.map_or(b".", |start| &path[start..])
}

/// Calls that the kernel refuses with `EINVAL` before it looks at the path.
fn is_refused_early(call: &Call<'_>) -> bool {
    match call {
        Call::Open { flags, .. } => refuses_flags(*flags),
        Call::Truncate { size, .. } => *size > i64::MAX as u64,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An application pays for the walk to a name too, so it belongs between the clock readings.
    #[test]
    fn the_walk_to_a_name_is_part_of_the_call() {
        let mut beneath = Beneath::new(Posix::new().expect("posix")).expect("openat2 is there");
        for path in [c"src/missing/name", c"missing"] {
            let calls = [
                Call::Stat { path },
                Call::Lstat { path },
                Call::Open { path, flags: libc::O_RDONLY, mode: 0 },
                Call::Unlink { path },
                Call::Chmod { path, mode: 0 },
                Call::Rename { from: path, to: path, flags: 0 },
                Call::Removexattr { path, name: c"user.a" },
                Call::Link { from: path, to: path },
            ];
            for call in calls {
                assert_eq!(beneath.prepare(&call), Ok(()), "{call:?}");
                let text = format!("{call:?}");
                assert_eq!(beneath.issue(call), -Reply::from(libc::ENOENT), "{text}");
            }
        }
    }
}
