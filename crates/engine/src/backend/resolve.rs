//! Resolving a path so that it cannot leave a directory.
//!
//! The kernel does it (openat2 with `RESOLVE_BENEATH`, Linux 5.6). It refuses
//! absolute symbolic links even when they lead back inside; for those alone the
//! path is walked here first, and the result opened without following any link,
//! so that a change made by another process in between is refused, not followed.
//!
//! Nor does it cross into another mounted file system, unless that is allowed.
//!
//! The errno for every path that leaves is `EXDEV`, as the kernel gives it.
//!
//! `Roots` are the run directory and the further directories of a program, held open; they know which one a path
//! lies in.
//!
//! ```text
//! f            in the run directory
//! /burst/f     in /burst, as f
//! ```
//!
//! An absolute path outside all of them is refused, or counts as the run directory's where the
//! program is trusted.
//! System calls resolve relative paths in the current directory of the process; `Roots::enter`
//! makes that the one where a path lies, between operations.

use super::lexical::Located;
use model::directory::{below, components};
use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags, openat, readlinkat, statx,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// The kernel's limit of links followed in one path.
const LINKS_MAX: usize = 40;
/// How often a resolution is repeated that a concurrent rename disturbed.
const TRIES: usize = 128;

/// The directory that paths must not leave.
#[derive(Debug)]
pub(crate) struct Root {
    directory: OwnedFd,
    /// Its absolute path.
    path: Vec<u8>,
    /// `RESOLVE_NO_XDEV`, or 0: what is mounted below belongs to it.
    mounts: u64,
}

impl Root {
    /// An open directory that programs know by this absolute path. Fails with `ENOSYS` where the
    /// kernel has no openat2.
    pub(crate) fn new(path: Vec<u8>, directory: File) -> io::Result<Root> {
        let root = Root { directory: directory.into(), path, mounts: libc::RESOLVE_NO_XDEV };
        root.open(c".", libc::O_PATH, 0).map_err(io::Error::from_raw_os_error)?;
        Ok(root)
    }

    /// File systems mounted below belong to the directory.
    pub(crate) fn cross_mounts(&mut self) {
        self.mounts = 0;
    }

    /// The directory itself.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens a relative path.
    pub(crate) fn open(&self, path: &CStr, flags: i32, mode: u32) -> Result<OwnedFd, i32> {
        const BENEATH: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS;
        match openat2(self.fd(), path, flags, mode, BENEATH | self.mounts) {
            Err(libc::EXDEV) => self.open_walked(path, flags, mode),
            opened => opened,
        }
    }

    #[cold]
    fn open_walked(&self, path: &CStr, flags: i32, mode: u32) -> Result<OwnedFd, i32> {
        let exclusive = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
        let slash = path.to_bytes().ends_with(b"/");
        let follow_last = !exclusive && (slash || flags & libc::O_NOFOLLOW == 0);
        let walked = self.walk(path.to_bytes(), follow_last)?;
        let walked = CString::new(walked).map_err(|_| libc::EINVAL)?;
        let resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | self.mounts;
        match openat2(self.fd(), &walked, flags, mode, resolve) {
            // Somebody put a link where there was none.
            Err(libc::ELOOP) if follow_last => Err(libc::EXDEV),
            opened => opened,
        }
    }

    /// The path below the root without links and dots. The last name may be missing.
    /// A slash at the end says that it must be a directory, as it does in the kernel.
    fn walk(&self, path: &[u8], follow_last: bool) -> Result<Vec<u8>, i32> {
        let mut done: Vec<Vec<u8>> = Vec::new();
        let mut todo: VecDeque<Vec<u8>> = components(path).map(<[u8]>::to_vec).collect();
        let mut links = 0;
        let mut directory = wants_directory(path);
        // Before a dot, the last name is not the last.
        let follow_last = follow_last || (directory && !path.ends_with(b"/"));
        while let Some(name) = todo.pop_front() {
            if name == b".." {
                self.check_directory(&done.join(&b'/'))?;
                done.pop();
                continue;
            }
            done.push(name);
            if todo.is_empty() && !follow_last {
                break;
            }
            let Some(target) = self.link_target(&done.join(&b'/'), todo.is_empty())? else {
                continue;
            };
            directory |= todo.is_empty() && wants_directory(&target);
            links += 1;
            if links > LINKS_MAX {
                return Err(libc::ELOOP);
            }
            done.pop();
            let mut names = &target[..];
            if target.first() == Some(&b'/') {
                done.clear();
                names = below(&target, &self.path).ok_or(libc::EXDEV)?;
            }
            let names: Vec<_> = components(names).map(<[u8]>::to_vec).collect();
            names.into_iter().rev().for_each(|name| todo.push_front(name));
        }
        if done.is_empty() {
            return Ok(b".".to_vec());
        }
        if directory {
            done.push(Vec::new());
        }
        Ok(done.join(&b'/'))
    }

    /// Only a directory has a `..`, and the root's leaves.
    fn check_directory(&self, walked: &[u8]) -> Result<(), i32> {
        if walked.is_empty() {
            return Err(libc::EXDEV);
        }
        let path = CString::new(walked).map_err(|_| libc::EINVAL)?;
        let resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS;
        openat2(self.fd(), &path, libc::O_PATH | libc::O_DIRECTORY, 0, resolve).map(drop)
    }

    /// The text of the link at a relative path; `None` if there is something else,
    /// or, when it `may_miss`, nothing.
    fn link_target(&self, path: &[u8], may_miss: bool) -> Result<Option<Vec<u8>>, i32> {
        let path = CString::new(path).map_err(|_| libc::EINVAL)?;
        match readlinkat(self.fd(), &path, Vec::new()).map_err(number) {
            Ok(target) => Ok(Some(target.into_bytes())),
            Err(libc::EINVAL) => Ok(None),
            Err(libc::ENOENT) if may_miss => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// Whether paths can be resolved beneath a directory here: the kernel has openat2.
///
/// # Errors
/// The system's, when it is tried.
pub fn check_support(directory: &Path) -> io::Result<()> {
    Root::new(Vec::new(), File::open(directory)?).map(drop)
}

/// It ends with a slash, `.` or `..`.
fn wants_directory(path: &[u8]) -> bool {
    let last = path.rsplit(|byte| *byte == b'/').next();
    matches!(last, Some(b"" | b"." | b".."))
}

/// Parent (`.` if there is none) and last name with the slashes that follow it.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    match path[..end].iter().rposition(|byte| *byte == b'/') {
        Some(0) => (b"/", &path[1..]),
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b".", path),
    }
}

/// The flags that openat ignores with `O_PATH` and openat2 refuses.
const NOT_WITH_PATH: i32 = !(libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC);

/// openat2 with the mode only where the kernel wants one; repeats disturbed resolutions.
pub(crate) fn openat2(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: i32,
    mode: u32,
    resolve: u64,
) -> Result<OwnedFd, i32> {
    let flags = if flags & libc::O_PATH != 0 { flags & !NOT_WITH_PATH } else { flags };
    let mode = if flags & libc::O_CREAT != 0 { mode & 0o7777 } else { 0 };
    let (how, made) = (open_flags(flags), Mode::from_raw_mode(mode));
    let within = ResolveFlags::from_bits_retain(resolve);
    for _ in 0..TRIES {
        match rustix::fs::openat2(directory, path, how, made, within).map_err(number) {
            Err(libc::EAGAIN) => continue,
            // An old kernel, or a filter of calls (seccomp) that does not know this one.
            Err(libc::ENOSYS | libc::EPERM) if resolve & libc::RESOLVE_NO_SYMLINKS != 0 => {
                return open_by_name(directory, path, flags, mode, resolve);
            }
            opened => return opened,
        }
    }
    Err(libc::EAGAIN)
}

/// openat2 that follows no link, without openat2: one name after the other.
#[cold]
fn open_by_name(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: i32,
    mode: u32,
    resolve: u64,
) -> Result<OwnedFd, i32> {
    let names: Vec<&[u8]> = components(path.to_bytes()).collect();
    let (last, above) = match names.split_last() {
        Some((last, above)) => (*last, above),
        None => (&b"."[..], &[][..]),
    };
    let above = above.iter().map(|name| (*name, open_flags(libc::O_PATH)));
    let last = (last, open_flags(flags));
    let mut held = directory.try_clone_to_owned().map_err(|_| errno())?;
    for (name, flags) in above.chain([last]) {
        if name == b".." {
            return Err(libc::EXDEV);
        }
        let safely = flags | OFlags::NOFOLLOW;
        let below = openat(&held, name, safely, Mode::from_raw_mode(mode)).map_err(number)?;
        let facts = |fd: &OwnedFd| statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
        let (here, before) = match (facts(&below), facts(&held)) {
            (Ok(here), Ok(before)) => (here, before),
            _ => return Err(libc::EXDEV),
        };
        // `O_PATH` opens links too.
        if u32::from(here.stx_mode) & libc::S_IFMT == libc::S_IFLNK {
            return Err(libc::ELOOP);
        }
        let mount = |facts: &Statx| (facts.stx_mnt_id, facts.stx_dev_major, facts.stx_dev_minor);
        if resolve & libc::RESOLVE_NO_XDEV != 0 && mount(&here) != mount(&before) {
            return Err(libc::EXDEV);
        }
        held = below;
    }
    Ok(held)
}

/// Flags of open(2), and that no other program gets the descriptor.
fn open_flags(flags: i32) -> OFlags {
    OFlags::from_bits_retain(flags as u32) | OFlags::CLOEXEC
}

/// An errno as replies have it.
pub(crate) fn number(errno: Errno) -> i32 {
    errno.raw_os_error()
}

/// The errno of the last call on this thread.
pub(crate) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A directory that is held open, and the path by which programs know it.
#[derive(Debug)]
pub struct Held {
    /// Absolute path.
    pub path: PathBuf,
    /// The directory.
    pub file: File,
}

/// The directories; the first one is the run directory.
#[derive(Debug)]
pub(crate) struct Roots {
    all: Vec<(Vec<u8>, File)>,
    /// Number of the current directory of this process.
    here: usize,
}

impl Roots {
    /// The run directory alone, which is the current one.
    pub(crate) fn new(path: Vec<u8>, directory: File) -> Roots {
        Roots { all: vec![(path, directory)], here: 0 }
    }

    /// Adds further directories.
    pub(crate) fn extend(&mut self, held: Vec<Held>) {
        use std::os::unix::ffi::OsStringExt;
        let held = held.into_iter();
        self.all.extend(held.map(|one| (one.path.into_os_string().into_vec(), one.file)));
    }

    /// Roots for resolving beneath.
    pub(crate) fn beneath(&self) -> io::Result<Vec<Root>> {
        self.all.iter().map(|(path, file)| Root::new(path.clone(), file.try_clone()?)).collect()
    }

    /// There is the run directory only.
    #[inline(always)]
    pub(crate) fn is_one(&self) -> bool {
        self.all.len() == 1
    }

    /// The directory that a path lies in, by its number, and what comes after that one's own path; `None`:
    /// it is absolute and lies in none.
    pub(crate) fn locate<'a>(&self, path: &'a [u8]) -> Option<Located<'a>> {
        if path.first() != Some(&b'/') {
            return Some((0, path));
        }
        let mut roots = self.all.iter().enumerate();
        roots.find_map(|(at, (root, _))| Some((at, below(path, root)?)))
    }

    /// The number of the directory that a path lies in, or counts as lying in.
    pub(crate) fn find(&self, path: &CStr) -> usize {
        self.locate(path.to_bytes()).map_or(0, |(root, _)| root)
    }

    /// The descriptor of a directory.
    pub(crate) fn fd(&self, root: usize) -> RawFd {
        self.all[root].1.as_raw_fd()
    }

    /// Makes a directory the current one of this process.
    pub(crate) fn enter(&mut self, root: usize) -> Result<(), i32> {
        if self.here != root {
            rustix::process::fchdir(&self.all[root].1).map_err(number)?;
            self.here = root;
        }
        Ok(())
    }

    /// An absolute path relative to the directory it lies in; as it is where it lies in none.
    #[cold]
    pub(crate) fn relative(&self, path: &CStr) -> *const libc::c_char {
        let bytes = path.to_bytes();
        let Some((_, inside)) = self.locate(bytes) else { return path.as_ptr() };
        let slashes = inside.iter().take_while(|byte| **byte == b'/').count();
        match inside.len() - slashes {
            0 => c".".as_ptr(),
            rest => path.to_bytes_with_nul()[bytes.len() - rest..].as_ptr().cast(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_the_last_name() {
        for (path, parent, name) in [
            ("a", ".", "a"),
            ("a/", ".", "a/"),
            ("a/b", "a", "b"),
            ("a//b//", "a/", "b//"),
            ("/a", "/", "a"),
            ("", ".", ""),
        ] {
            let got = split(path.as_bytes());
            assert_eq!(got, (parent.as_bytes(), name.as_bytes()), "{path}");
        }
    }

    /// The way without openat2 says the same as openat2.
    #[test]
    fn names_are_opened_one_by_one_where_openat2_is_missing() {
        let place = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(place.path().join("a/b")).expect("mkdir");
        std::fs::write(place.path().join("a/file"), "").expect("write");
        std::os::unix::fs::symlink("a", place.path().join("link")).expect("symlink");
        let root = File::open(place.path()).expect("it opens");
        let resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV;
        for flags in [libc::O_RDONLY, libc::O_PATH] {
            for path in [c".", c"a", c"a/b/", c"./a//file", c"link", c"link/b", c"..", c"a/x"] {
                let with = openat2(root.as_fd(), path, flags, 0, resolve).map(drop);
                let without = open_by_name(root.as_fd(), path, flags, 0, resolve).map(drop);
                assert_eq!(with, without, "{path:?}");
            }
        }
        let proc = open_by_name(File::open("/").unwrap().as_fd(), c"proc/self", 0, 0, resolve);
        assert_eq!(proc.map(drop), Err(libc::EXDEV), "another file system");
    }

    #[test]
    fn absolute_paths_inside_are_relative_to_their_directory() {
        let directory = || File::open(".").expect(".");
        let mut roots = Roots::new(b"/run/dir".to_vec(), directory());
        roots.extend(vec![Held { path: "/burst".into(), file: directory() }]);
        for (path, root, expected) in [
            (c"x/y", 0, c"x/y"),
            (c"/run/dir/x", 0, c"x"),
            (c"/run/dir//x/", 0, c"x/"),
            (c"/run/dir", 0, c"."),
            (c"/run/dir/", 0, c"."),
            (c"/run/dirx", 0, c"/run/dirx"),
            (c"/etc", 0, c"/etc"),
            (c"/burst/a/b", 1, c"a/b"),
            (c"/burst/", 1, c"."),
            (c"", 0, c""),
        ] {
            assert_eq!(roots.find(path), root, "{path:?}");
            let relative = if path.to_bytes().starts_with(b"/") {
                roots.relative(path)
            } else {
                path.as_ptr()
            };
            // SAFETY: an end of a path that is still there.
            assert_eq!(unsafe { CStr::from_ptr(relative) }, expected, "{path:?}");
        }
    }
}
