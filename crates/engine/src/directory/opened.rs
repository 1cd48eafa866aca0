//! A directory that is held open: what is marked, looked through and removed is this one, whatever
//! has its name meanwhile.

use super::marker;
use super::wrong;
use crate::backend::resolve::openat2;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat, unlinkat};
use rustix::process;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Identity of a run directory, which another one of its name does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The number of its device, on the machine that accepted it.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// Random id of its marker.
    pub marker: String,
}

/// An open directory.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    path: PathBuf,
}

impl Opened {
    /// Opens the directory at an absolute path; not a symbolic link.
    pub(super) fn open(path: &Path) -> Result<Opened, String> {
        Opened::at(CWD, path, path)
    }

    /// Opens a directory by its name in another one. `path` is its absolute path.
    pub(super) fn at(parent: BorrowedFd<'_>, name: &Path, path: &Path) -> Result<Opened, String> {
        let opened = openat(parent, name, DIRECTORY, Mode::empty());
        let file =
            opened.map_err(|errno| wrong(path, "cannot open the directory", &errno.into()))?;
        Ok(Opened { file: file.into(), path: path.into() })
    }

    /// The path that it was opened by.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Where it is now, if it has been moved.
    pub(super) fn path_now(&self) -> PathBuf {
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        fs::read_link(link).unwrap_or_else(|_| self.path.clone())
    }

    /// Its device and inode.
    pub(super) fn numbers(&self) -> io::Result<(u64, u64)> {
        self.file.metadata().map(|facts| numbers(&facts))
    }

    /// Removes this directory, which must be empty, from the one above it. Not a directory that
    /// has taken its name.
    pub(super) fn remove(&self) -> io::Result<()> {
        let path = self.path_now();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let parent = openat(CWD, parent, DIRECTORY, Mode::empty())?;
        let found = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if (found.st_dev, found.st_ino) != self.numbers()? {
            return Err(io::Error::other("another file has its name by now"));
        }
        Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
    }
}

pub(super) fn numbers(facts: &Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}

/// This process has the run directory as its current one, and what it makes there nobody else
/// can write; until this is dropped.
#[derive(Debug)]
pub struct Inside {
    umask: Mode,
}

impl Drop for Inside {
    fn drop(&mut self) {
        process::umask(self.umask);
    }
}

/// Makes the run directory the current one of this process. `identity`: only that directory.
/// `far`: on another machine, whose numbers of devices may be others.
///
/// # Errors
/// Why it cannot be entered, as a sentence.
pub fn enter(path: &Path, identity: Option<&Identity>, far: bool) -> Result<Inside, String> {
    let failed = |why: &dyn std::fmt::Display| format!("cannot enter {}: {why}", path.display());
    let opened = match identity {
        Some(identity) => open_same(path, identity, far)?,
        None => follow_no_link(path).map_err(|error| failed(&error))?,
    };
    process::fchdir(&opened).map_err(|errno| failed(&io::Error::from(errno)))?;
    const OTHERS: Mode = Mode::WGRP.union(Mode::WOTH);
    let umask = process::umask(OTHERS);
    process::umask(umask | OTHERS);
    Ok(Inside { umask })
}

/// Opens the directory at an absolute path if it is that one. `far`: as for [`enter`].
///
/// # Errors
/// Why it cannot be opened, as a sentence.
pub fn open_same(path: &Path, identity: &Identity, far: bool) -> Result<File, String> {
    let failed = |why: &dyn std::fmt::Display| format!("cannot enter {}: {why}", path.display());
    let found = find_same(path, identity, far).map_err(|error| failed(&error))?;
    found.ok_or_else(|| failed(&"another directory has its name by now"))
}

/// The directory at an absolute path if it is that one; `None`: it is another one. `far`: as for [`enter`].
///
/// # Errors
/// The system's, when it is opened or asked for its numbers.
pub fn find_same(path: &Path, identity: &Identity, far: bool) -> io::Result<Option<File>> {
    let opened = follow_no_link(path)?;
    Ok(is_same(&opened, identity, far)?.then_some(opened))
}

/// Opens a directory whose path no symbolic link may have entered.
fn follow_no_link(path: &Path) -> io::Result<File> {
    let root = File::open("/")?;
    let below = path.as_os_str().as_bytes();
    let below = below.strip_prefix(b"/").filter(|below| !below.is_empty()).unwrap_or(b".");
    let below = CString::new(below).map_err(io::Error::other)?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let opened = openat2(root.as_fd(), &below, flags, 0, libc::RESOLVE_NO_SYMLINKS);
    opened.map(File::from).map_err(io::Error::from_raw_os_error)
}

fn is_same(opened: &File, expected: &Identity, far: bool) -> io::Result<bool> {
    if far {
        return Ok(marker::id(opened.as_fd()).is_some_and(|id| id == expected.marker));
    }
    Ok(numbers(&opened.metadata()?) == (expected.device, expected.inode))
}
