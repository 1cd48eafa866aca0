//! Looking for symbolic links that lead out of a directory: with one of them,
//! paths that are proved to stay inside by their names alone may leave.
//!
//! Hard links to files outside cannot be told from other files; only somebody who
//! may change both places can make them.

use crate::backend::beneath::openat2;
use crate::dents;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Entries looked at before giving up: about a second.
const ENTRIES_MAX: usize = 1_000_000;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Links {
    /// No link leaves.
    None,
    /// This one (a path below the directory) leaves, or leads to something that does
    /// not exist yet, or cannot be followed.
    Leaves(PathBuf),
    /// There are too many entries.
    TooMany,
    /// A directory (a path below the directory) cannot be read: its errno.
    Unread(PathBuf, i32),
}

/// Looks for symbolic links below a directory that leave it.
pub fn foreign_links(directory: &Path) -> Links {
    foreign_links_within(directory, ENTRIES_MAX)
}

fn foreign_links_within(directory: &Path, mut budget: usize) -> Links {
    let root = match File::open(directory) {
        Ok(root) => root,
        Err(error) => return unread(b"", errno_of(&error)),
    };
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let found = list(root.as_fd(), &path, &mut waiting, &mut budget);
        if found != Links::None {
            return found;
        }
    }
    Links::None
}

/// Looks at the entries of one directory; its directories go to `waiting`.
fn list(
    root: BorrowedFd<'_>,
    path: &[u8],
    waiting: &mut Vec<Vec<u8>>,
    budget: &mut usize,
) -> Links {
    let name = if path.is_empty() { b".".to_vec() } else { path.to_vec() };
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    let opened = match open(root, name, flags, libc::RESOLVE_NO_SYMLINKS) {
        Ok(opened) => opened,
        Err(errno) => return unread(path, errno),
    };
    let mut buf = [0u8; 8192];
    loop {
        let filled = match dents::read(opened.as_fd(), &mut buf) {
            Ok(filled) => filled,
            Err(error) => return unread(path, errno_of(&error)),
        };
        if filled.is_empty() {
            return Links::None;
        }
        for entry in dents::entries(filled).filter(|entry| !entry.is_dots()) {
            if *budget == 0 {
                return Links::TooMany;
            }
            *budget -= 1;
            let mut below = path.to_vec();
            if !below.is_empty() {
                below.push(b'/');
            }
            below.extend_from_slice(entry.name.to_bytes());
            match dents::kind(opened.as_fd(), &entry) {
                libc::DT_DIR => waiting.push(below),
                libc::DT_LNK if leaves(root, &below) => {
                    return Links::Leaves(OsString::from_vec(below).into());
                }
                _ => {}
            }
        }
    }
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

fn unread(path: &[u8], errno: i32) -> Links {
    let path = if path.is_empty() { b"." } else { path };
    Links::Unread(OsString::from_vec(path.to_vec()).into(), errno)
}

/// The kernel itself says whether a link leaves, so that links by way of other links
/// are judged right.
fn leaves(root: BorrowedFd<'_>, link: &[u8]) -> bool {
    open(root, link.to_vec(), libc::O_PATH, libc::RESOLVE_NO_MAGICLINKS).is_err()
}

fn open(
    root: BorrowedFd<'_>,
    path: Vec<u8>,
    flags: i32,
    resolve: u64,
) -> Result<std::os::fd::OwnedFd, i32> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    openat2(root, &path, flags, 0, libc::RESOLVE_BENEATH | resolve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_judged_by_where_they_end() {
        for (target, leaves) in [
            ("file", false),
            ("sub/../file", false),
            ("deep/down/..", false),
            ("..", true),
            ("sub/../..", true),
            // The name alone stays inside; the link within it leads one level up.
            ("jump/../..", true),
            ("/etc", true),
            ("missing", true),
            ("link", true),
        ] {
            let place = tempfile::tempdir().expect("a temporary directory");
            let root = place.path();
            fs::create_dir_all(root.join("deep/down")).expect("mkdir");
            fs::create_dir(root.join("sub")).expect("mkdir");
            fs::write(root.join("file"), "").expect("write");
            symlink("../sub", root.join("deep/jump")).expect("symlink");
            symlink("sub", root.join("jump")).expect("symlink");
            symlink(target, root.join("link")).expect("symlink");
            let found = foreign_links(root);
            let expected = if leaves { Links::Leaves("link".into()) } else { Links::None };
            assert_eq!(found, expected, "{target}");
        }
    }

    #[test]
    fn the_walk_is_bounded() {
        let place = tempfile::tempdir().expect("a temporary directory");
        (0..10).for_each(|i| fs::write(place.path().join(i.to_string()), "").expect("write"));
        assert_eq!(foreign_links_within(place.path(), 10), Links::None);
        assert_eq!(foreign_links_within(place.path(), 9), Links::TooMany);
    }
    #[test]
    fn a_directory_that_cannot_be_read_is_named() {
        let place = tempfile::NamedTempFile::new().expect("a temporary file");
        let unread = Links::Unread(".".into(), libc::ENOTDIR);
        assert_eq!(foreign_links(place.path()), unread);
    }
}
