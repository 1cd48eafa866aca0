//! The file that says "Parabench may work here", and the lock on it.

use super::opened::{Opened, numbers};
use super::{random_letters, wrong};
use crate::backend::MARKER;
use crate::host::utc_now;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, openat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The program that writes markers.
const TOOL: &str = "parabench";
/// Markers are small; what is longer is none.
const SIZE_MAX: u64 = 4096;
/// Never a link, and not waiting for the writer of a FIFO.
const SAFELY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// An open marker, locked where the file system has locks.
#[derive(Debug)]
pub(super) struct Marker {
    /// Holds the lock (flock) until it is closed, also by forked ranks.
    file: File,
    text: Text,
    /// Why there is no lock: other runs are not kept out.
    unlocked: Option<Errno>,
}

/// Contents of a marker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Text {
    tool: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    created: String,
    forced: bool,
    #[serde(default)]
    id: String,
}

impl Marker {
    /// The directory held other files when it was marked.
    pub(super) fn forced(&self) -> bool {
        self.text.forced
    }

    /// Its random id.
    pub(super) fn id(&self) -> &str {
        &self.text.id
    }

    /// Why other runs are not kept out of the directory; `None`: they are.
    pub(super) fn unlocked(&self) -> Option<io::Error> {
        self.unlocked.map(io::Error::from)
    }

    /// Writes a new marker and locks it.
    pub(super) fn create(
        directory: &Opened,
        version: &str,
        forced: bool,
    ) -> Result<Marker, String> {
        let failed = |error| wrong(directory.path(), "cannot mark the run directory", &error);
        let file = make(directory).map_err(|errno| failed(errno.into()))?;
        let (tool, version, created) = (TOOL.into(), version.into(), utc_now());
        let text = Text { tool, version, created, forced, id: random_letters(16) };
        let mut marker = Marker { unlocked: lock(&file, directory.path())?, file, text };
        marker.write().map_err(|error| {
            // Half a marker would make the directory look like somebody else's.
            let _ = marker.remove(directory);
            failed(error)
        })?;
        Ok(marker)
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_string(&self.text)?;
        self.file.write_all(format!("{text}\n").as_bytes())
    }

    /// The marker of an earlier run, locked; `None` if there is none. A file of that
    /// name that Parabench has not written is none.
    pub(super) fn find(directory: &Opened) -> Result<Option<Marker>, String> {
        // Network file systems lock exclusively only what is open for writing.
        let opened = match open(directory.fd(), OFlags::RDWR) {
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => open(directory.fd(), OFlags::RDONLY),
            opened => opened,
        };
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Ok(None),
            Err(errno) => {
                return Err(wrong(directory.path(), "cannot read the marker in", &errno.into()));
            }
        };
        let Some(text) = read(&file) else { return Ok(None) };
        Ok(Some(Marker { unlocked: lock(&file, directory.path())?, file, text }))
    }

    /// Removes it, and no other file that has taken its name.
    pub(super) fn remove(&self, directory: &Opened) -> io::Result<()> {
        let found = statat(directory.fd(), MARKER, AtFlags::SYMLINK_NOFOLLOW)?;
        if (found.st_dev, found.st_ino) != numbers(&self.file.metadata()?) {
            return Err(io::Error::other("another file has the marker's name by now"));
        }
        Ok(unlinkat(directory.fd(), MARKER, AtFlags::empty())?)
    }
}

/// A new file, or a marker that a run has made and not written, because it was killed in between.
fn make(directory: &Opened) -> rustix::io::Result<File> {
    let (new, mode) = (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o644));
    match openat(directory.fd(), MARKER, new | SAFELY, mode) {
        Ok(made) => Ok(made.into()),
        Err(Errno::EXIST) => {
            let found = open(directory.fd(), OFlags::RDWR)?;
            if is_begun(&found) { Ok(found) } else { Err(Errno::EXIST) }
        }
        Err(errno) => Err(errno),
    }
}

fn open(directory: BorrowedFd<'_>, flags: OFlags) -> rustix::io::Result<File> {
    openat(directory, MARKER, flags | SAFELY, Mode::empty()).map(File::from)
}

/// Whether a file of the marker's name is one that was made and not written.
fn is_begun(file: &File) -> bool {
    file.metadata().is_ok_and(|facts| facts.is_file() && facts.size() == 0)
}

/// Whether an open directory holds a marker that was made and not written.
pub(super) fn is_begun_in(directory: BorrowedFd<'_>) -> bool {
    open(directory, OFlags::RDONLY).is_ok_and(|file| is_begun(&file))
}

/// The random id of the marker in an open directory.
pub(super) fn id(directory: BorrowedFd<'_>) -> Option<String> {
    read(&open(directory, OFlags::RDONLY).ok()?).map(|text| text.id)
}

/// The contents of a marker; `None` if it is no marker. A marker that another
/// run has made but not yet written counts as none.
fn read(file: &File) -> Option<Text> {
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.size() > SIZE_MAX {
        return None;
    }
    let mut text = String::new();
    file.take(SIZE_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok().filter(|text: &Text| text.tool == TOOL)
}

/// Locks a marker; why not, where the file system has no locks.
fn lock(file: &File, directory: &Path) -> Result<Option<Errno>, String> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Err(busy(directory)),
        Err(errno) => Ok(Some(errno)),
    }
}

/// Keeps runs out of the directories above this one: what they move could turn links of this
/// run outwards, and the other way round.
pub(super) fn lock_above(directory: &Path) -> Result<Vec<File>, String> {
    let mut locked = Vec::new();
    for above in directory.ancestors().skip(1) {
        let name = above.join(MARKER);
        let Ok(file) = openat(CWD, &name, OFlags::RDONLY | SAFELY, Mode::empty()) else { continue };
        let file = File::from(file);
        if read(&file).is_none() {
            continue;
        }
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => return Err(busy(above)),
            _ => locked.push(file),
        }
    }
    Ok(locked)
}

/// Whether another run has locked the marker in an open directory. (Not this one: it holds its lock
/// by another opening of the file, so its own directory is not to be asked for.)
pub(super) fn is_in_use(directory: BorrowedFd<'_>) -> bool {
    let Ok(file) = open(directory, OFlags::RDONLY) else { return false };
    matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(Errno::WOULDBLOCK))
}

fn busy(directory: &Path) -> String {
    format!(
        "another run uses {} at this moment; wait for its end, \
         or choose another directory with --dir",
        directory.display()
    )
}
