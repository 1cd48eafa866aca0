//! A folder that a run has made for itself: known by its descriptor, whatever happens to its
//! name, and emptied of the files that the run put there, never of anything else.
//!
//! ```text
//! /dev/shm/parabench-records-x7Qz2w    made, locked; the kernel gives the lock back when all who hold it are gone
//! ```
//!
//! Not here: the directory that programs run in (`directory`).

use crate::directory::random_letters;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, statfs, unlinkat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where memory is looked for: tmpfs on every Linux, that of the user's session, that of root.
const MEMORY: [&str; 2] = ["/dev/shm", "/run"];
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder by its descriptor. Dropping it removes nothing.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    opened: File,
}

impl OwnFolder {
    /// Makes a fresh folder in `parent` for this user alone: its name is `prefix` and six
    /// characters that nobody can guess.
    pub fn fresh(parent: &Path, prefix: &str) -> io::Result<OwnFolder> {
        loop {
            let path = parent.join(format!("{prefix}{}", random_letters(6)));
            match make(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => return made.and_then(|()| OwnFolder::open(&path)),
            }
        }
    }

    /// Makes a fresh folder in memory: in a tmpfs with `needed_bytes` free, other than the
    /// one that `measured` is in. `None` if there is none.
    pub fn in_memory(
        needed_bytes: u64,
        measured: Option<&Path>,
        prefix: &str,
    ) -> Option<OwnFolder> {
        let device = |path: &Path| fs::metadata(path).ok().map(|facts| facts.dev());
        let measured = measured.and_then(device);
        let mut fit = memory_places().into_iter().filter(|place| {
            is_memory_with_room(place, needed_bytes)
                && (measured.is_none() || device(place) != measured)
        });
        fit.find_map(|place| OwnFolder::fresh(&place, prefix).ok())
    }

    /// Makes the folder `path`, or opens it if another process of this user has made it: the
    /// name must be one that [`OwnFolder::fresh`] gave on another machine.
    pub fn join(path: &Path) -> io::Result<OwnFolder> {
        let parent = path.parent().unwrap_or(Path::new("/"));
        if !is_memory_with_room(parent, 1) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it is no tmpfs with room"));
        }
        match make(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let folder = OwnFolder::open(path)?;
        match folder.is_mine()? {
            true => Ok(folder),
            false => Err(io::Error::from_raw_os_error(libc::EPERM)),
        }
    }

    /// Device and inode: what tells it from every other folder of the machine.
    pub fn identity(&self) -> io::Result<[u64; 2]> {
        self.opened.metadata().map(|facts| [facts.dev(), facts.ino()])
    }

    /// It belongs to this process's user.
    pub fn is_mine(&self) -> io::Result<bool> {
        Ok(self.opened.metadata()?.uid() == rustix::process::geteuid().as_raw())
    }

    /// A folder that another process has left. A link is none.
    pub fn open(path: &Path) -> io::Result<OwnFolder> {
        let opened = File::options().read(true).custom_flags(FOLDER.bits() as i32).open(path)?;
        Ok(OwnFolder { path: path.to_path_buf(), opened })
    }

    /// A folder in this one. A link is none.
    pub fn open_in(&self, name: &str) -> io::Result<OwnFolder> {
        let opened = openat(&self.opened, name, FOLDER, Mode::empty())?.into();
        Ok(OwnFolder { path: self.path.join(name), opened })
    }

    /// Its path when it was made or opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Holds it until this value and its copies in forked processes are gone. Several may.
    pub fn hold(&self) -> io::Result<()> {
        // A read lock needs no right to write.
        lock(self.opened.as_raw_fd(), libc::F_OFD_SETLK, libc::F_RDLCK).map(drop)
    }

    /// Takes it for this value and its copies in forked processes alone; false if another one has it.
    /// Holding it is something else.
    pub fn claim(&self) -> io::Result<bool> {
        match flock(&self.opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Somebody holds it. Asking changes nothing.
    pub fn is_held(&self) -> io::Result<bool> {
        let found = lock(self.opened.as_raw_fd(), libc::F_OFD_GETLK, libc::F_WRLCK)?;
        Ok(i32::from(found.l_type) != libc::F_UNLCK)
    }

    /// Processes that have it open, as far as this user may look. Only the text of their links is read: a look at an
    /// open file itself would wait for storage that does not answer.
    pub fn users(&self) -> Vec<i32> {
        let Ok(path) = self.path.canonicalize() else { return Vec::new() };
        let is_own = |fd: fs::DirEntry| fs::read_link(fd.path()).is_ok_and(|open| open == path);
        let has_it = |pid: &i32| {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            *pid != std::process::id() as i32 && open.into_iter().any(is_own)
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(has_it).collect()
    }

    /// Removes a file of the run from it; no matter if it is gone already. A link with that name
    /// goes as such, a folder stays.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        self.unlink(name, AtFlags::empty())
    }

    /// Removes an empty folder of the run from it; no matter if it is gone already.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> io::Result<()> {
        match unlinkat(&self.opened, name, flags) {
            Err(errno) if errno != Errno::NOENT => Err(errno.into()),
            _ => Ok(()),
        }
    }

    /// Removes the folder itself, which must be empty, unless its name is another's by now.
    pub fn remove(&self) -> io::Result<()> {
        let opened = self.opened.metadata()?;
        match fs::symlink_metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (opened.dev(), opened.ino()) => {
                fs::remove_dir(&self.path)
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Where folders in memory are made, and left by killed processes.
pub fn memory_places() -> Vec<PathBuf> {
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    MEMORY.iter().map(PathBuf::from).chain(session).collect()
}

/// For this user alone.
fn make(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// fcntl(2) with a lock of the open file description over the whole file; gives what it answers.
fn lock(fd: RawFd, command: i32, kind: i32) -> io::Result<libc::flock> {
    // SAFETY: integers only, for which zero is a value: from the start to the end.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (kind as _, libc::SEEK_SET as _);
    // SAFETY: the descriptor is open, the structure valid for the call.
    match unsafe { libc::fcntl(fd, command, &mut lock) } {
        0 => Ok(lock),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether a place is a tmpfs with this number of bytes free.
fn is_memory_with_room(place: &Path, needed_bytes: u64) -> bool {
    let Ok(facts) = statfs(place) else { return false };
    // Without blocks it has no limit of its own.
    let free_bytes = match facts.f_blocks {
        0 => u64::MAX,
        _ => facts.f_bavail.saturating_mul(facts.f_bsize as u64),
    };
    facts.f_type == libc::TMPFS_MAGIC && free_bytes >= needed_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn fresh() -> (tempfile::TempDir, OwnFolder) {
        let parent = tempfile::tempdir().unwrap();
        let folder = OwnFolder::fresh(parent.path(), "own-").unwrap();
        (parent, folder)
    }

    #[test]
    fn a_folder_is_held_while_anybody_has_it() {
        let (_parent, folder) = fresh();
        let reader = OwnFolder::open(folder.path()).unwrap();
        assert!(!reader.is_held().unwrap(), "nobody has asked for it");
        folder.hold().unwrap();
        let other =
            OwnFolder::join(folder.path()).or_else(|_| OwnFolder::open(folder.path())).unwrap();
        other.hold().unwrap();
        assert!(reader.is_held().unwrap());
        drop(folder);
        assert!(reader.is_held().unwrap(), "one of two still has it");
        drop(other);
        assert!(!reader.is_held().unwrap());
    }

    #[test]
    fn only_what_is_named_goes() {
        let (parent, folder) = fresh();
        fs::write(folder.path().join("rank-0"), "").unwrap();
        fs::write(folder.path().join("mine"), "precious").unwrap();
        let outside = parent.path().join("outside");
        fs::write(&outside, "precious").unwrap();
        symlink(&outside, folder.path().join("rank-1")).unwrap();
        fs::create_dir(folder.path().join("rank-2")).unwrap();
        folder.remove_file("rank-0").unwrap();
        folder.remove_file("rank-1").unwrap();
        folder.remove_file("rank-9").unwrap();
        assert!(folder.remove_file("rank-2").is_err(), "a folder");
        assert!(folder.remove().is_err(), "it is not empty");
        assert!(outside.exists() && folder.path().join("mine").exists());
    }

    #[test]
    fn a_folder_that_took_its_name_stays() {
        let (parent, folder) = fresh();
        fs::rename(folder.path(), parent.path().join("moved")).unwrap();
        fs::create_dir(folder.path()).unwrap();
        folder.remove().unwrap();
        assert!(folder.path().is_dir());
        fs::remove_dir(folder.path()).unwrap();
        symlink(parent.path(), folder.path()).unwrap();
        assert!(OwnFolder::open(folder.path()).is_err(), "a link");
    }

    #[test]
    fn memory_is_a_tmpfs_with_room_that_is_not_measured() {
        let Some(folder) = OwnFolder::in_memory(1, None, "own-test-") else { return };
        assert!(is_memory_with_room(folder.path(), 1));
        let found = OwnFolder::in_memory(1, Some(folder.path()), "own-test-");
        if let Some(found) = &found {
            assert_ne!(found.path().parent(), folder.path().parent());
            found.remove().unwrap();
        }
        assert!(OwnFolder::in_memory(u64::MAX - 1, None, "own-test-").is_none());
        assert!(!is_memory_with_room(Path::new("/proc"), 1));
        folder.remove().unwrap();
    }
}
