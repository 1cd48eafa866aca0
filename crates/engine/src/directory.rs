//! The run directory: made or accepted, marked, locked, and tidied up at the end.
//!
//! Without `--dir` it is a fresh scratch directory below the current one and
//! removed whole at the end. With `--dir D` it must be missing (its parent not), empty, or carry
//! the marker of an earlier run; `--force` accepts another directory. The marker is
//! also the lock: two runs cannot use one directory at the same time.
//!
//! ```text
//! .parabench   {"tool":"parabench","version":"0.1.0","created":"2026-01-31T12:00:00Z","forced":false}
//! ```
//!
//! `forced` stays true in a directory that held other files when it was marked: only
//! `--force` opens it again, and `--clean` never works there.

mod accept;
mod links;
mod marker;
mod remove;

pub use links::{Links, foreign_links};
pub use remove::Removal;

use marker::Marker;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What the user asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `--dir`; `None`: a scratch directory.
    pub directory: Option<PathBuf>,
    /// `--keep`: the scratch directory stays.
    pub keep: bool,
    /// `--clean`: what is in the directory is removed at the end, the marker stays.
    pub clean: bool,
    /// `--force`: other people's files do not matter.
    pub force: bool,
}

/// Why a directory cannot be used, in a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryError(pub String);

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DirectoryError {}

/// An open run directory. Dropping it gives the lock back and removes nothing.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// Opened when it was accepted: what is removed is what was accepted.
    opened: File,
    scratch: bool,
    remove: bool,
    marker: Marker,
}

impl RunDirectory {
    /// Makes or accepts the directory, marks and locks it. `version` goes into the marker.
    pub fn open(request: &Request, version: &str) -> Result<RunDirectory, DirectoryError> {
        match &request.directory {
            None => scratch(request, version),
            Some(directory) => given(directory, request, version),
        }
    }

    /// The directory of a run whose processes are gone, so that [`RunDirectory::finish`] can do
    /// what they could not: remove a scratch directory, or what is in another (`--clean`).
    ///
    /// # Errors
    /// It bears no marker, or another run uses it by now.
    pub fn reclaim(path: &Path, scratch: bool) -> Result<RunDirectory, DirectoryError> {
        let path = fs::canonicalize(path)
            .map_err(|error| wrong(path, "cannot find the directory", &error))?;
        let opened = open(&path)?;
        match Marker::find(&path)? {
            Some(marker) if !marker.forced() => {
                Ok(RunDirectory { path, opened, scratch, remove: true, marker })
            }
            _ => Err(DirectoryError(format!("{} is not a directory of a run", path.display()))),
        }
    }

    /// Its absolute path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It is a scratch directory, not one of `--dir`.
    pub fn is_scratch(&self) -> bool {
        self.scratch
    }

    /// It will still be there after [`RunDirectory::finish`].
    pub fn stays(&self) -> bool {
        !(self.scratch && self.remove)
    }

    /// Why proved paths can still leave this directory; `None`: they cannot.
    /// Walks the tree, up to a limit.
    pub fn distrust(&self) -> Option<String> {
        if self.scratch {
            return None;
        }
        if self.marker.forced() {
            return Some(
                "the directory was taken with --force and may hold links that leave".into(),
            );
        }
        match foreign_links(&self.path) {
            Links::None => None,
            Links::Leaves(link) => {
                Some(format!("the symbolic link {} may lead out of the directory", link.display()))
            }
            Links::TooMany => {
                Some("the directory holds too many entries to look for links that leave".into())
            }
            Links::Unread(path, errno) => Some(format!(
                "{} in the directory cannot be looked at for links that leave: {}",
                path.display(),
                io::Error::from_raw_os_error(errno)
            )),
        }
    }

    /// Between two executions of a sweep: removes what is inside, but not the marker, if the
    /// directory is a scratch one or is to be cleaned; any other is left as it is.
    pub fn clear(&self, clean: bool) -> Removal {
        match self.scratch || clean {
            true => remove::contents(self.opened.as_fd(), &self.path),
            false => Removal::default(),
        }
    }

    /// The run never started: a scratch directory goes even if it was to be kept, and
    /// nothing in any other directory does.
    pub fn discard(mut self) -> Removal {
        self.remove = self.scratch;
        self.finish()
    }

    /// The end of the run: removes what was asked to be removed.
    pub fn finish(self) -> Removal {
        let removal = match (self.remove, self.scratch) {
            (false, _) => Removal::default(),
            (true, false) => remove::contents(self.opened.as_fd(), &self.path),
            (true, true) => remove::tree(self.opened.as_fd(), &self.path),
        };
        // The lock is held until here.
        drop(self.marker);
        removal
    }
}

fn scratch(request: &Request, version: &str) -> Result<RunDirectory, DirectoryError> {
    let here = std::env::current_dir()
        .map_err(|error| wrong(Path::new("."), "cannot find the current directory", &error))?;
    loop {
        let path = here.join(format!("parabench-scratch-{}", random_letters(6)));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                let (marker, opened) = marked(&path, version).inspect_err(|_| {
                    // Made a moment ago; only an empty directory goes.
                    let _ = fs::remove_dir(&path);
                })?;
                let remove = !request.keep;
                return Ok(RunDirectory { path, opened, scratch: true, remove, marker });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => {
                return Err(wrong(
                    &path,
                    "cannot make a scratch directory (choose a place with --dir)",
                    &error,
                ));
            }
        }
    }
}

/// Marks and opens a new directory.
fn marked(path: &Path, version: &str) -> Result<(Marker, File), DirectoryError> {
    let marker = Marker::create(path, version, false)?;
    let opened = open(path)?;
    Ok((marker, opened))
}

/// Letters that tell directories apart; nobody needs to be unable to guess them.
fn random_letters(count: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer is as long as said. Should the call fail, the letters are
    // all alike, and the directory is made if it does not exist.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let letter = |byte: &u8| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]);
    bytes.iter().take(count).map(letter).collect()
}

fn given(
    directory: &Path,
    request: &Request,
    version: &str,
) -> Result<RunDirectory, DirectoryError> {
    accept::make_if_missing(directory)?;
    let path = fs::canonicalize(directory)
        .map_err(|error| wrong(directory, "cannot find the directory", &error))?;
    accept::refuse_dangerous(&path, request.force)?;
    let opened = open(&path)?;
    let marker = match Marker::find(&path)? {
        Some(marker) if marker.forced() && !request.force => return Err(accept::foreign(&path)),
        Some(marker) => marker,
        None => {
            let empty = accept::is_empty(&path)?;
            if !empty && !request.force {
                return Err(accept::not_empty(&path));
            }
            Marker::create(&path, version, !empty)?
        }
    };
    if request.clean && marker.forced() {
        return Err(accept::clean_foreign(&path));
    }
    Ok(RunDirectory { path, opened, scratch: false, remove: request.clean, marker })
}

fn open(path: &Path) -> Result<File, DirectoryError> {
    File::open(path).map_err(|error| wrong(path, "cannot open the directory", &error))
}

/// A message about a path and what the system said.
fn wrong(path: &Path, what: &str, error: &io::Error) -> DirectoryError {
    DirectoryError(format!("{what}: {}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
