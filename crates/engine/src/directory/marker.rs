//! The file that says "Parabench may work here", and the lock on it.

use super::{DirectoryError, wrong};
use crate::backend::MARKER;
use crate::host::utc_now;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Markers are small; what is longer is none.
const SIZE_MAX: u64 = 4096;

/// An open, locked marker.
#[derive(Debug)]
pub(super) struct Marker {
    /// Holds the lock (flock) until it is closed, also by forked ranks.
    _file: File,
    forced: bool,
}

impl Marker {
    /// The directory held other files when it was marked.
    pub(super) fn forced(&self) -> bool {
        self.forced
    }

    /// Writes a new marker and locks it.
    pub(super) fn create(
        directory: &Path,
        version: &str,
        forced: bool,
    ) -> Result<Marker, DirectoryError> {
        let failed = |error: io::Error| wrong(directory, "cannot mark the run directory", &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o644);
        let made = options.clone().create_new(true).open(directory.join(MARKER));
        let mut file = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                begun(&options, directory).ok_or(error)
            }
            made => made,
        }
        .map_err(failed)?;
        lock(&file, directory)?;
        let created = utc_now();
        let text = serde_json::json!({
            "tool": "parabench", "version": version, "created": created, "forced": forced,
        });
        file.write_all(format!("{text}\n").as_bytes()).map_err(|error| {
            // Half a marker would make the directory look like somebody else's.
            let _ = std::fs::remove_file(directory.join(MARKER));
            failed(error)
        })?;
        Ok(Marker { _file: file, forced })
    }

    /// The marker of an earlier run, locked; `None` if there is none. A file of that
    /// name that Parabench has not written is none.
    pub(super) fn find(directory: &Path) -> Result<Option<Marker>, DirectoryError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = match options.open(directory.join(MARKER)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Ok(None),
            Err(error) => return Err(wrong(directory, "cannot read the marker in", &error)),
        };
        let Some(forced) = read(&file) else { return Ok(None) };
        lock(&file, directory)?;
        Ok(Some(Marker { _file: file, forced }))
    }
}

/// A marker that a run has made and not written, because it was killed in between: empty.
fn begun(options: &OpenOptions, directory: &Path) -> Option<File> {
    let options = options.clone().custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).to_owned();
    let file = options.open(directory.join(MARKER)).ok()?;
    file.metadata().is_ok_and(|facts| is_begun(&facts)).then_some(file)
}

/// Whether a file of the marker's name is one that was made and not written.
pub(super) fn is_begun(facts: &Metadata) -> bool {
    facts.is_file() && facts.size() == 0
}

/// Whether the marker says "forced"; `None` if it is no marker. A marker that another
/// run has made but not yet written counts as none.
fn read(file: &File) -> Option<bool> {
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.size() > SIZE_MAX {
        return None;
    }
    let mut text = String::new();
    file.take(SIZE_MAX).read_to_string(&mut text).ok()?;
    let marker: serde_json::Value = serde_json::from_str(&text).ok()?;
    (marker.get("tool")?.as_str()? == "parabench").then_some(())?;
    marker.get("forced")?.as_bool()
}

fn lock(file: &File, directory: &Path) -> Result<(), DirectoryError> {
    // SAFETY: no pointers; the descriptor is open.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::WouldBlock {
                return Err(DirectoryError(format!(
                    "another run uses {} at this moment; wait for its end, \
                     or choose another directory with --dir",
                    directory.display()
                )));
            }
            Err(wrong(directory, "cannot lock the run directory", &error))
        }
    }
}
