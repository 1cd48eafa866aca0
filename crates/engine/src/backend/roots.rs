//! The run directory and the further directories of a program, held open: which one a path lies in.
//!
//! ```text
//! f            in the run directory
//! /burst/f     in /burst, as f
//! ```
//!
//! An absolute path that lies in none of them is refused, or counts as the run directory's where the
//! program is trusted.
//! System calls resolve relative paths in the current directory of the process; [`Roots::enter`]
//! makes that the one where a path lies, between operations.

use super::lexical::Located;
use super::resolve::{Root, errno};
use model::directory::below;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;

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
pub(super) struct Roots {
    all: Vec<(Vec<u8>, File)>,
    /// Number of the current directory of this process.
    here: usize,
}

impl Roots {
    /// The run directory alone, which is the current one.
    pub(super) fn of(path: Vec<u8>, directory: File) -> Roots {
        Roots { all: vec![(path, directory)], here: 0 }
    }

    /// Adds further directories.
    pub(super) fn extend(&mut self, held: Vec<Held>) {
        use std::os::unix::ffi::OsStringExt;
        let held = held.into_iter();
        self.all.extend(held.map(|one| (one.path.into_os_string().into_vec(), one.file)));
    }

    /// Roots for resolving beneath.
    pub(super) fn beneath(&self) -> io::Result<Vec<Root>> {
        self.all.iter().map(|(path, file)| Root::new(path.clone(), file.try_clone()?)).collect()
    }

    /// There is the run directory only.
    #[inline(always)]
    pub(super) fn is_one(&self) -> bool {
        self.all.len() == 1
    }

    /// The directory that a path lies in, by its number, and what comes after that one's own path; `None`:
    /// it is absolute and lies in none.
    pub(super) fn locate<'a>(&self, path: &'a [u8]) -> Option<Located<'a>> {
        if path.first() != Some(&b'/') {
            return Some((0, path));
        }
        let mut roots = self.all.iter().enumerate();
        roots.find_map(|(at, (root, _))| Some((at, below(path, root)?)))
    }

    /// The number of the directory that a path lies in, or counts as lying in.
    pub(super) fn find(&self, path: &CStr) -> usize {
        self.locate(path.to_bytes()).map_or(0, |(root, _)| root)
    }

    /// The descriptor of a directory.
    pub(super) fn fd(&self, root: usize) -> RawFd {
        self.all[root].1.as_raw_fd()
    }

    /// Makes a directory the current one of this process.
    pub(super) fn enter(&mut self, root: usize) -> Result<(), i32> {
        if self.here != root {
            // SAFETY: a descriptor that is held.
            if unsafe { libc::fchdir(self.fd(root)) } != 0 {
                return Err(errno());
            }
            self.here = root;
        }
        Ok(())
    }

    /// An absolute path relative to the directory it lies in; as it is where it lies in none.
    #[cold]
    pub(super) fn relative(&self, path: &CStr) -> *const libc::c_char {
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
    fn absolute_paths_inside_are_relative_to_their_directory() {
        let directory = || File::open(".").expect(".");
        let mut roots = Roots::of(b"/run/dir".to_vec(), directory());
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
