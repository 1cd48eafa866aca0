//! Removing a tree that is held open: never follows a link, never leaves the file system, takes
//! nothing that has only the name of what it was given, needs few descriptors however deep the
//! tree is, and tells what it could not remove.
//!
//! Own code because `std::fs::remove_dir_all` walks into mounted file systems and
//! stops at the first error.

use super::marker::Marker;
use super::opened::Opened;
use crate::backend::MARKER;
use crate::backend::posix::chmod;
use crate::backend::resolve::{errno, openat2};
use crate::entries;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories open at one time; a deeper one is first moved up to the top.
const DEPTH_MAX: usize = 64;
/// Examples kept of what could not be removed.
const EXAMPLES_MAX: usize = 10;

/// Result of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// Files, links and directories removed.
    pub removed: u64,
    /// Entries that could not be removed, not counting the directories above them.
    pub left: u64,
    /// Some of them, and why.
    pub examples: Vec<(PathBuf, String)>,
    /// The directory, if it should have gone as a whole.
    pub whole: Option<PathBuf>,
}

impl Removal {
    fn failed(&mut self, path: PathBuf, errno: i32) {
        self.left += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push((path, io::Error::from_raw_os_error(errno).to_string()));
        }
    }
}

/// Removes what is in a directory, except the marker and the `lost+found` of its file system.
pub(super) fn contents(directory: &Opened) -> Removal {
    let (mut removal, path) = (Removal::default(), directory.path_now());
    match directory.fd().try_clone_to_owned() {
        Ok(fd) => sweep(fd, &path, &mut removal),
        Err(error) => removal.failed(path, errno_of(&error)),
    }
    removal
}

/// Removes what is in a directory, its marker, and the directory.
pub(super) fn tree(directory: &Opened, marker: &Marker) -> Removal {
    let mut removal = contents(directory);
    removal.whole = Some(directory.path_now());
    if removal.left > 0 {
        return removal;
    }
    for step in [|d: &Opened, m: &Marker| m.remove(d), |d: &Opened, _: &Marker| d.remove()] {
        match step(directory, marker) {
            Ok(()) => removal.removed += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                removal.left += 1;
                removal.examples.push((directory.path_now(), error.to_string()));
                return removal;
            }
        }
    }
    removal
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// An open directory on the way down.
struct Level {
    fd: OwnedFd,
    /// Its name in the level above.
    name: CString,
    /// Entries that cannot be removed.
    stuck: HashSet<CString>,
}

fn sweep(top: OwnedFd, path: &Path, removal: &mut Removal) {
    let stuck = [MARKER, "lost+found"].map(|name| CString::new(name).expect("no NUL inside"));
    let mut levels = vec![Level { fd: top, name: c"".into(), stuck: stuck.into() }];
    let mut moved = 0u64;
    while let Some(level) = levels.last_mut() {
        let mut failed = Vec::new();
        let found = clear(level, removal, &mut failed);
        for (name, errno) in failed {
            stick(&mut levels, path, name, errno, removal);
        }
        let Some(name) = found else {
            ascend(&mut levels, path, removal);
            continue;
        };
        if let Err(errno) = deeper(&mut levels, &name, &mut moved) {
            stick(&mut levels, path, name, errno, removal);
        }
    }
}

/// Goes down into a directory; where it lies too deep for the descriptors there are, it is first
/// moved up.
fn deeper(levels: &mut Vec<Level>, name: &CStr, moved: &mut u64) -> Result<(), i32> {
    if levels.len() >= DEPTH_MAX {
        return lift(levels, name, moved);
    }
    match descend(&levels[levels.len() - 1], name) {
        Ok(fd) => levels.push(Level { fd, name: name.into(), stuck: HashSet::new() }),
        Err(libc::EMFILE | libc::ENFILE) if levels.len() > 1 => return lift(levels, name, moved),
        Err(errno) => return Err(errno),
    }
    Ok(())
}

/// Notes that an entry of the lowest level cannot be removed.
fn stick(levels: &mut [Level], path: &Path, name: CString, errno: i32, removal: &mut Removal) {
    let mut full = path.to_path_buf();
    levels.iter().skip(1).for_each(|level| full.push(OsStr::from_bytes(level.name.to_bytes())));
    full.push(OsStr::from_bytes(name.to_bytes()));
    removal.failed(full, errno);
    if let Some(level) = levels.last_mut() {
        level.stuck.insert(name);
    }
}

/// Leaves the lowest level and removes its directory if it is empty.
fn ascend(levels: &mut Vec<Level>, path: &Path, removal: &mut Removal) {
    let Some(done) = levels.pop() else { return };
    let Some(above) = levels.last_mut() else { return };
    if !done.stuck.is_empty() {
        above.stuck.insert(done.name);
        return;
    }
    match unlink(above, &done.name, libc::AT_REMOVEDIR) {
        Ok(()) => removal.removed += 1,
        Err(errno) => stick(levels, path, done.name, errno, removal),
    }
}

/// Removes what is not a full directory; gives the first of those. What cannot be removed, and
/// why, goes to `failed`.
fn clear(
    level: &Level,
    removal: &mut Removal,
    failed: &mut Vec<(CString, i32)>,
) -> Option<CString> {
    // SAFETY: no pointers.
    unsafe { libc::lseek(level.fd.as_raw_fd(), 0, libc::SEEK_SET) };
    let mut buf = [0u8; 8192];
    loop {
        let filled = match entries::read(level.fd.as_fd(), &mut buf) {
            Ok([]) => return None,
            Ok(filled) => filled,
            Err(error) => {
                // What is there cannot be listed.
                failed.push((c".".into(), errno_of(&error)));
                return None;
            }
        };
        for entry in entries::entries(filled) {
            if entry.is_dots() || level.stuck.contains(entry.name) {
                continue;
            }
            let directory = entries::kind(level.fd.as_fd(), &entry) == libc::DT_DIR;
            let flags = if directory { libc::AT_REMOVEDIR } else { 0 };
            match unlink(level, entry.name, flags) {
                Ok(()) => removal.removed += 1,
                Err(libc::ENOENT) => {}
                Err(libc::ENOTEMPTY | libc::EEXIST) if directory => return Some(entry.name.into()),
                Err(errno) => failed.push((entry.name.into(), errno)),
            }
        }
    }
}

/// unlinkat; gives the directory write permission and tries again where that was missing.
fn unlink(level: &Level, name: &CStr, flags: i32) -> Result<(), i32> {
    // SAFETY: the name is NUL-terminated, the descriptor is open.
    let attempt = || match unsafe { libc::unlinkat(level.fd.as_raw_fd(), name.as_ptr(), flags) } {
        0 => Ok(()),
        _ => Err(errno()),
    };
    match attempt() {
        Err(libc::EACCES) if chmod(level.fd.as_raw_fd(), 0o700) == 0 => attempt(),
        done => done,
    }
}

/// Opens a directory below, unless it is a link or the root of a mounted file system
/// (`EXDEV`, also for bind mounts).
fn descend(level: &Level, name: &CStr) -> Result<OwnedFd, i32> {
    const HERE: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV;
    let open = |flags| openat2(level.fd.as_fd(), name, flags | libc::O_DIRECTORY, 0, HERE);
    match open(libc::O_RDONLY) {
        Err(libc::EACCES) => {
            let closed = open(libc::O_PATH)?;
            if chmod(closed.as_raw_fd(), 0o700) != 0 {
                return Err(libc::EACCES);
            }
            open(libc::O_RDONLY)
        }
        opened => opened,
    }
}

/// Moves a directory that lies deep to the top, under a new name.
fn lift(levels: &[Level], name: &CStr, moved: &mut u64) -> Result<(), i32> {
    let (Some(top), Some(level)) = (levels.first(), levels.last()) else { return Ok(()) };
    loop {
        *moved += 1;
        let new = CString::new(format!("{MARKER}-removal-{moved}")).map_err(|_| libc::EINVAL)?;
        const NEW_ONLY: u32 = libc::RENAME_NOREPLACE;
        let (from, to) = (level.fd.as_raw_fd(), top.fd.as_raw_fd());
        // SAFETY: the names are NUL-terminated, the descriptors are open.
        let done = unsafe { libc::renameat2(from, name.as_ptr(), to, new.as_ptr(), NEW_ONLY) };
        match errno() {
            _ if done == 0 => return Ok(()),
            libc::EEXIST => continue,
            other => return Err(other),
        }
    }
}
