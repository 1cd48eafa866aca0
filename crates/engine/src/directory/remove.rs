//! Removing a tree that is held open: never follows a link, never leaves the file system, takes
//! nothing that has only the name of what it was given, and names what it could not remove.
//!
//! Own code because `std::fs::remove_dir_all` walks into mounted file systems and
//! stops at the first error.

use super::marker::Marker;
use super::opened::Opened;
use crate::backend::MARKER;
use crate::backend::posix::chmod;
use crate::backend::resolve::openat2;
use rustix::fs::{AtFlags, Dir, FileType, statat, unlinkat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Levels of directories: each is held open while what is below it goes. Deeper ones stay.
const DEPTH_MAX: usize = 1000;
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
    fn failed(&mut self, path: PathBuf, errno: Errno) {
        self.left += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push((path, io::Error::from(errno).to_string()));
        }
    }
}

/// Removes what is in a directory, except the marker and the `lost+found` of its file system.
pub(super) fn contents(directory: &Opened) -> Removal {
    let (mut removal, path) = (Removal::default(), directory.path_now());
    let stays = [MARKER, "lost+found"].map(|name| CString::new(name).expect("no NUL inside"));
    sweep(directory.fd(), &path, 1, stays.into(), &mut removal);
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

/// Removes the entries of a directory, except those in `stuck`; true if it is empty then. Each pass reads the
/// directory anew, because a reading may leave entries out when others go meanwhile.
fn sweep(
    directory: BorrowedFd<'_>,
    path: &Path,
    depth: usize,
    mut stuck: HashSet<CString>,
    removal: &mut Removal,
) -> bool {
    loop {
        let before = removal.removed;
        let full = match remove_entries(directory, path, &mut stuck, removal) {
            Ok(full) => full,
            Err(errno) => {
                removal.failed(path.into(), errno);
                return false;
            }
        };
        for name in full {
            let below = path.join(OsStr::from_bytes(name.to_bytes()));
            let opened = match depth {
                DEPTH_MAX.. => Err(Errno::LOOP),
                _ => descend(directory, &name).map_err(Errno::from_raw_os_error),
            };
            let removed = opened.and_then(|opened| {
                match sweep(opened.as_fd(), &below, depth + 1, HashSet::new(), removal) {
                    true => unlink(directory, &name, AtFlags::REMOVEDIR).map(|()| true),
                    // What is left in it was named.
                    false => Ok(false),
                }
            });
            match removed {
                Ok(true) => removal.removed += 1,
                Ok(false) => drop(stuck.insert(name)),
                Err(errno) => {
                    removal.failed(below, errno);
                    stuck.insert(name);
                }
            }
        }
        if removal.removed == before {
            return stuck.is_empty();
        }
    }
}

/// Removes the entries of a directory that are not directories with something in them; gives the names of those.
fn remove_entries(
    directory: BorrowedFd<'_>,
    path: &Path,
    stuck: &mut HashSet<CString>,
    removal: &mut Removal,
) -> Result<Vec<CString>, Errno> {
    let mut full = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") || stuck.contains(name) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |facts| FileType::from_raw_mode(facts.st_mode)),
            kind => kind,
        };
        let is_directory = kind == FileType::Directory;
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match unlink(directory, name, flags) {
            Ok(()) => removal.removed += 1,
            Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) if is_directory => full.push(name.into()),
            Err(errno) => {
                removal.failed(path.join(OsStr::from_bytes(name.to_bytes())), errno);
                stuck.insert(name.into());
            }
        }
    }
    Ok(full)
}

/// unlinkat; gives the directory write permission and tries again where that was missing.
fn unlink(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<(), Errno> {
    match unlinkat(directory, name, flags) {
        Err(Errno::ACCESS) if chmod(directory.as_raw_fd(), 0o700) == 0 => {
            unlinkat(directory, name, flags)
        }
        done => done,
    }
}

/// Opens a directory below, unless it is a link or the root of a mounted file system
/// (`EXDEV`, also for bind mounts).
fn descend(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, i32> {
    const HERE: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV;
    let open = |flags| openat2(directory, name, flags | libc::O_DIRECTORY, 0, HERE);
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
