//! The run directory: made or accepted, marked, locked, and tidied up at the end.
//!
//! Without `--dir` it is a fresh scratch directory below the current one and
//! removed whole at the end. With `--dir D` it must be missing (its parent not), empty, or carry
//! the marker of an earlier run; `--force` accepts another directory. The marker is
//! also the lock: two runs cannot use one directory at the same time.
//!
//! ```text
//! .parabench   {"tool":"parabench","version":"0.1.0","created":"2026-01-31T12:00:00Z","forced":false,"id":"x3..."}
//! ```
//!
//! The directory is held open from then on: what is looked through, entered and removed is what was
//! accepted, whatever gets its name meanwhile.
//!
//! `forced` stays true in a directory that held other files when it was marked: only
//! `--force` opens it again, and `--clean` never works there.

mod attributes;
mod opened;
mod survey;

pub use attributes::Attributes;
pub use opened::{Identity, Inside, Removal, enter, find_same, open_same, random_letters};
pub use survey::Survey;

use crate::host::mounts_below;
use opened::{Marker, Opened, lock_above, remove_contents, remove_tree, wrong};
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Prefix of the names of scratch directories.
const SCRATCH: &str = "parabench-scratch-";

/// The user's request.
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

/// An open run directory. Dropping it gives the lock back and removes nothing.
#[derive(Debug)]
pub struct RunDirectory {
    opened: Opened,
    scratch: bool,
    remove: bool,
    marker: Marker,
    /// Markers of run directories above this one; they hold locks.
    _above: Vec<File>,
}

impl RunDirectory {
    /// Makes or accepts the directory, marks and locks it. `version` goes into the marker.
    pub fn open(request: &Request, version: &str) -> Result<RunDirectory, String> {
        match &request.directory {
            None => scratch(request, version),
            Some(directory) => given(directory, request, version),
        }
    }

    /// The directory of a run whose processes are gone, so that [`RunDirectory::finish`] can do
    /// what they could not: remove a scratch directory, or what is in another (`--clean`).
    ///
    /// # Errors
    /// It is another directory by now, or another run uses it.
    pub fn reclaim(
        path: &Path,
        scratch: bool,
        identity: &Identity,
    ) -> Result<RunDirectory, String> {
        let opened = Opened::open(path)?;
        // Its device may have another number on the machine of the run.
        let inode = opened.device_and_inode().map(|(_, inode)| inode).ok();
        match Marker::find(&opened)? {
            Some(marker)
                if !marker.forced()
                    && marker.id() == identity.marker
                    && inode == Some(identity.inode) =>
            {
                Ok(RunDirectory { opened, scratch, remove: true, marker, _above: Vec::new() })
            }
            _ => Err(format!("{} is not the directory of the run any more", path.display())),
        }
    }

    /// Its absolute path, without symbolic links.
    pub fn path(&self) -> &Path {
        self.opened.path()
    }

    /// Its identity.
    ///
    /// # Errors
    /// The system's, when it is asked for the numbers of an open directory.
    pub fn identity(&self) -> io::Result<Identity> {
        let (device, inode) = self.opened.device_and_inode()?;
        Ok(Identity { device, inode, marker: self.marker.id().into() })
    }

    /// Attributes that files in it inherit and that change their speed; `None` if unknown on this file system.
    pub fn attributes(&self) -> Option<Attributes> {
        Attributes::of(self.opened.fd())
    }

    /// File systems are mounted below it (accepted with `--force`).
    pub fn holds_mounts(&self) -> bool {
        !mounts_below(self.path()).is_empty()
    }

    /// It is a scratch directory, not one of `--dir`.
    pub fn is_scratch(&self) -> bool {
        self.scratch
    }

    /// It will still be there after [`RunDirectory::finish`].
    pub fn stays(&self) -> bool {
        !(self.scratch && self.remove)
    }

    /// Whether paths that stay inside by their names alone can leave this directory all the same.
    /// The directory is searched, up to a limit. A scratch directory is new and empty, but a default
    /// ACL of the directory above may let others in once the program opens it.
    pub fn survey(&self) -> Survey {
        let found = survey::survey(&self.opened);
        if self.scratch {
            return found;
        }
        let doubt = match (self.marker.forced(), self.marker.unlocked()) {
            (true, _) => {
                Some("the directory was taken with --force and may hold links that leave".into())
            }
            (_, Some(error)) => Some(format!(
                "other runs cannot be kept out of the directory: its file system refuses locks \
                 ({error})"
            )),
            _ => None,
        };
        Survey { doubt: doubt.or(found.doubt), ..found }
    }

    /// Between two executions of a sweep: removes what is inside, but not the marker, if the
    /// directory is a scratch one or is to be cleaned; any other is left as it is.
    pub fn clear(&self, clean: bool) -> Removal {
        match self.scratch || clean {
            true => remove_contents(&self.opened),
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
            (true, false) => remove_contents(&self.opened),
            (true, true) => remove_tree(&self.opened, &self.marker),
        };
        // The locks are held until here.
        drop((self.marker, self._above));
        removal
    }
}

/// A scratch directory, by its name and marker, in which nobody is at work.
pub fn is_left_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let marker = || Opened::open(path).and_then(|opened| Marker::find(&opened));
    name.starts_with(SCRATCH) && matches!(marker(), Ok(Some(marker)) if !marker.forced())
}

fn scratch(request: &Request, version: &str) -> Result<RunDirectory, String> {
    let here = std::env::current_dir()
        .map_err(|error| wrong(Path::new("."), "cannot find the current directory", &error))?;
    let parent = Opened::open(&here)?;
    let above = lock_above(&here.join("scratch"))?;
    loop {
        let name = PathBuf::from(format!("{SCRATCH}{}", random_letters(6)));
        let path = here.join(&name);
        match mkdirat(parent.fd(), &name, Mode::RWXU) {
            Ok(()) => {
                let made = Opened::at(parent.fd(), &name, &path)
                    .and_then(|opened| Ok((Marker::create(&opened, version, false)?, opened)));
                let (marker, opened) = made.inspect_err(|_| {
                    // Made a moment ago; only an empty directory goes.
                    let _ = unlinkat(parent.fd(), &name, AtFlags::REMOVEDIR);
                })?;
                let remove = !request.keep;
                return Ok(RunDirectory { opened, scratch: true, remove, marker, _above: above });
            }
            Err(Errno::EXIST) => continue,
            Err(errno) => {
                return Err(wrong(
                    &path,
                    "cannot make a scratch directory (choose a place with --dir)",
                    &errno.into(),
                ));
            }
        }
    }
}

fn given(directory: &Path, request: &Request, version: &str) -> Result<RunDirectory, String> {
    let made = survey::make_if_missing(directory)?;
    accepted(directory, request, version).inspect_err(|_| {
        if made {
            // Made a moment ago; only an empty directory goes.
            let _ = fs::remove_dir(directory);
        }
    })
}

fn accepted(directory: &Path, request: &Request, version: &str) -> Result<RunDirectory, String> {
    let path = fs::canonicalize(directory)
        .map_err(|error| wrong(directory, "cannot find the directory", &error))?;
    survey::refuse_dangerous(&path, request.force)?;
    let above = lock_above(&path)?;
    let opened = Opened::open(&path)?;
    let marker = match Marker::find(&opened)? {
        Some(marker) if marker.forced() && !request.force => return Err(survey::foreign(&path)),
        Some(marker) => marker,
        None => {
            let empty = survey::is_empty(&opened)?;
            if !empty && !request.force {
                return Err(survey::not_empty(&path));
            }
            Marker::create(&opened, version, !empty)?
        }
    };
    if request.clean && marker.forced() {
        return Err(survey::clean_foreign(&path));
    }
    Ok(RunDirectory { opened, scratch: false, remove: request.clean, marker, _above: above })
}

#[cfg(test)]
mod tests;
