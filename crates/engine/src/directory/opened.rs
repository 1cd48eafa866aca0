//! A directory that is held open: what is marked, looked through and removed is this one, whatever
//! has its name meanwhile.
//!
//! [`Marker`] is the file that says "Parabench may work here", and the lock on it.
//!
//! Removing a tree never follows a link, never leaves the file system, takes nothing that has only the
//! name of what it was given, and names what it could not remove. Own code because `std::fs::remove_dir_all` walks into mounted file systems and
//! stops at the first error.

use crate::backend::MARKER;
use crate::backend::resolve::openat2;
use crate::host::utc_now;
use rustix::fs::{
    AtFlags, CWD, Dir, DirEntry, FileType, FlockOperation, Mode, OFlags, flock, openat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
pub(crate) struct Opened {
    file: File,
    path: PathBuf,
}

impl Opened {
    /// Opens the directory at an absolute path; not a symbolic link.
    pub(crate) fn open(path: &Path) -> Result<Opened, String> {
        Opened::at(CWD, path, path)
    }

    /// Opens a directory by its name in another one. `path` is its absolute path.
    pub(crate) fn at(parent: BorrowedFd<'_>, name: &Path, path: &Path) -> Result<Opened, String> {
        let opened = openat(parent, name, DIRECTORY, Mode::empty());
        let file =
            opened.map_err(|errno| wrong(path, "cannot open the directory", &errno.into()))?;
        Ok(Opened { file: file.into(), path: path.into() })
    }

    /// The path that it was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Where it is now, if it has been moved.
    fn path_now(&self) -> PathBuf {
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        fs::read_link(link).unwrap_or_else(|_| self.path.clone())
    }

    pub(crate) fn device_and_inode(&self) -> io::Result<(u64, u64)> {
        self.file.metadata().map(|facts| device_and_inode(&facts))
    }

    /// Removes this directory, which must be empty, from the one above it. Not a directory that
    /// has taken its name.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let path = self.path_now();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let parent = openat(CWD, parent, DIRECTORY, Mode::empty())?;
        let found = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if (found.st_dev, found.st_ino) != self.device_and_inode()? {
            return Err(io::Error::other("another file has its name by now"));
        }
        Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
    }
}

pub(crate) fn device_and_inode(facts: &Metadata) -> (u64, u64) {
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
        return Ok(marker_id(opened.as_fd()).is_some_and(|id| id == expected.marker));
    }
    Ok(device_and_inode(&opened.metadata()?) == (expected.device, expected.inode))
}

/// The program that writes markers.
const TOOL: &str = "parabench";
/// Markers are small; what is longer is none.
const SIZE_MAX: u64 = 4096;
/// Never a link, and not waiting for the writer of a FIFO.
const SAFELY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// An open marker, locked where the file system has locks.
#[derive(Debug)]
pub(crate) struct Marker {
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
    pub(crate) fn forced(&self) -> bool {
        self.text.forced
    }

    /// Its random id.
    pub(crate) fn id(&self) -> &str {
        &self.text.id
    }

    /// Why other runs are not kept out of the directory; `None`: they are.
    pub(crate) fn unlocked(&self) -> Option<io::Error> {
        self.unlocked.map(io::Error::from)
    }

    /// Writes a new marker and locks it.
    pub(crate) fn create(
        directory: &Opened,
        version: &str,
        forced: bool,
    ) -> Result<Marker, String> {
        let failed = |error| wrong(directory.path(), "cannot mark the run directory", &error);
        let file = make_marker(directory).map_err(|errno| failed(errno.into()))?;
        let (tool, version, created) = (TOOL.into(), version.into(), utc_now());
        let text = Text { tool, version, created, forced, id: random_letters(16) };
        let mut marker = Marker { unlocked: lock_marker(&file, directory.path())?, file, text };
        marker.write().map_err(|error| {
            // Half a marker would make the directory look like somebody else's.
            let _ = marker.remove(directory);
            failed(error)
        })?;
        Ok(marker)
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_string(&self.text)?;
        self.file.write_all(format!("{text}\n").as_bytes())?;
        // Clients of network file systems send what was written at a close; the lock stays with the other descriptor.
        drop(self.file.try_clone()?);
        Ok(())
    }

    /// The marker of an earlier run, locked; `None` if there is none. A file of that
    /// name that Parabench has not written is none.
    pub(crate) fn find(directory: &Opened) -> Result<Option<Marker>, String> {
        // Network file systems lock exclusively only what is open for writing.
        let opened = match open_marker(directory.fd(), OFlags::RDWR) {
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                open_marker(directory.fd(), OFlags::RDONLY)
            }
            opened => opened,
        };
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Ok(None),
            Err(errno) => {
                return Err(wrong(directory.path(), "cannot read the marker in", &errno.into()));
            }
        };
        let Some(text) = read_marker(&file) else { return Ok(None) };
        Ok(Some(Marker { unlocked: lock_marker(&file, directory.path())?, file, text }))
    }

    /// Removes it, and no other file that has taken its name.
    pub(crate) fn remove(&self, directory: &Opened) -> io::Result<()> {
        let found = statat(directory.fd(), MARKER, AtFlags::SYMLINK_NOFOLLOW)?;
        if (found.st_dev, found.st_ino) != device_and_inode(&self.file.metadata()?) {
            return Err(io::Error::other("another file has the marker's name by now"));
        }
        Ok(unlinkat(directory.fd(), MARKER, AtFlags::empty())?)
    }
}

/// A new file, or a marker that a run has made and not written, because it was killed in between.
fn make_marker(directory: &Opened) -> rustix::io::Result<File> {
    let (new, mode) = (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o644));
    match openat(directory.fd(), MARKER, new | SAFELY, mode) {
        Ok(made) => Ok(made.into()),
        Err(Errno::EXIST) => {
            let found = open_marker(directory.fd(), OFlags::RDWR)?;
            if is_marker_written(&found) { Ok(found) } else { Err(Errno::EXIST) }
        }
        Err(errno) => Err(errno),
    }
}

fn open_marker(directory: BorrowedFd<'_>, flags: OFlags) -> rustix::io::Result<File> {
    openat(directory, MARKER, flags | SAFELY, Mode::empty()).map(File::from)
}

/// Whether a file of the marker's name is one that was made and not written.
fn is_marker_written(file: &File) -> bool {
    file.metadata().is_ok_and(|facts| facts.is_file() && facts.size() == 0)
}

/// Whether an open directory holds a marker that was made and not written.
pub(crate) fn has_marker(directory: BorrowedFd<'_>) -> bool {
    open_marker(directory, OFlags::RDONLY).is_ok_and(|file| is_marker_written(&file))
}

/// The random id of the marker in an open directory.
fn marker_id(directory: BorrowedFd<'_>) -> Option<String> {
    read_marker(&open_marker(directory, OFlags::RDONLY).ok()?).map(|text| text.id)
}

/// The contents of a marker; `None` if it is no marker. A marker that another
/// run has made but not yet written counts as none.
fn read_marker(file: &File) -> Option<Text> {
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.size() > SIZE_MAX {
        return None;
    }
    let mut text = String::new();
    file.take(SIZE_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok().filter(|text: &Text| text.tool == TOOL)
}

/// Locks a marker; why not, where the file system has no locks.
fn lock_marker(file: &File, directory: &Path) -> Result<Option<Errno>, String> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(None),
        Err(Errno::WOULDBLOCK) => Err(busy(directory)),
        Err(errno) => Ok(Some(errno)),
    }
}

/// Keeps runs out of the directories above this one: what they move could turn links of this
/// run outwards, and the other way round.
pub(crate) fn lock_above(directory: &Path) -> Result<Vec<File>, String> {
    let mut locked = Vec::new();
    for above in directory.ancestors().skip(1) {
        let name = above.join(MARKER);
        let Ok(file) = openat(CWD, &name, OFlags::RDONLY | SAFELY, Mode::empty()) else { continue };
        let file = File::from(file);
        if read_marker(&file).is_none() {
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
pub(crate) fn is_in_use(directory: BorrowedFd<'_>) -> bool {
    let Ok(file) = open_marker(directory, OFlags::RDONLY) else { return false };
    matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(Errno::WOULDBLOCK))
}

fn busy(directory: &Path) -> String {
    format!(
        "another run uses {} at this moment; wait for its end, \
         or choose another directory with --dir",
        directory.display()
    )
}

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
pub(crate) fn remove_contents(directory: &Opened) -> Removal {
    let (mut removal, path) = (Removal::default(), directory.path_now());
    let stays = [MARKER, "lost+found"].map(|name| CString::new(name).expect("no NUL inside"));
    sweep(directory.fd(), &path, 1, stays.into(), &mut removal);
    removal
}

/// Removes what is in a directory, its marker, and the directory.
pub(crate) fn remove_tree(directory: &Opened, marker: &Marker) -> Removal {
    let mut removal = remove_contents(directory);
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
        let is_directory = kind(directory, &entry) == FileType::Directory;
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

/// The kind of an entry, which not all file systems tell with its name.
pub(super) fn kind(directory: BorrowedFd<'_>, entry: &DirEntry) -> FileType {
    match entry.file_type() {
        FileType::Unknown => statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |facts| FileType::from_raw_mode(facts.st_mode)),
        known => known,
    }
}

/// unlinkat; gives the directory write permission and tries again where that was missing.
fn unlink(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<(), Errno> {
    match unlinkat(directory, name, flags) {
        Err(Errno::ACCESS) if make_writable(directory) => unlinkat(directory, name, flags),
        done => done,
    }
}

/// By its name in /proc, because fchmod refuses descriptors of `O_PATH`.
fn make_writable(directory: BorrowedFd<'_>) -> bool {
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    fs::set_permissions(path, Permissions::from_mode(0o700)).is_ok()
}

/// Opens a directory below, unless it is a link or the root of a mounted file system
/// (`EXDEV`, also for bind mounts).
fn descend(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, i32> {
    const HERE: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV;
    let open = |flags| openat2(directory, name, flags | libc::O_DIRECTORY, 0, HERE);
    match open(libc::O_RDONLY) {
        Err(libc::EACCES) => {
            let closed = open(libc::O_PATH)?;
            if !make_writable(closed.as_fd()) {
                return Err(libc::EACCES);
            }
            open(libc::O_RDONLY)
        }
        opened => opened,
    }
}

/// Random letters and digits that tell directories and runs apart, at most 16.
pub fn random_letters(count: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer is as long as said. Should the call fail, the letters are
    // all alike, and the directory is made if it does not exist.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let letter = |byte: &u8| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]);
    bytes.iter().take(count).map(letter).collect()
}

/// A message about a path and what the system said.
pub(crate) fn wrong(path: &Path, what: &str, error: &io::Error) -> String {
    format!("{what}: {}: {error}", path.display())
}
