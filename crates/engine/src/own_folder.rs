//! A folder that a run has made for itself: known by its descriptor, whatever happens to its
//! name, and emptied of the files that the run put there, never of anything else.
//!
//! ```text
//! /dev/shm/parabench-records-x7Qz2w    made, locked; the kernel gives the lock back when all who hold it are gone
//! ```
//!
//! Not here: the directory that programs run in (`directory`).

use crate::backend::resolve::errno;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where memory is looked for: tmpfs on every Linux, that of the user's session, that of root.
const MEMORY: [&str; 2] = ["/dev/shm", "/run"];
const OPEN_FOLDER: i32 = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

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
        // mkdtemp(3) puts other characters in place of these six.
        let template = parent.join(format!("{prefix}XXXXXX")).into_os_string().into_vec();
        let template = CString::new(template)?.into_raw();
        // SAFETY: a NUL-terminated text that the call may write to; taken back right after it.
        let (made, name) =
            unsafe { (libc::mkdtemp(template), CString::from_raw(template).into_bytes()) };
        if made.is_null() {
            return Err(io::Error::last_os_error());
        }
        OwnFolder::open(Path::new(std::ffi::OsStr::from_bytes(&name)))
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
        let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let places = MEMORY.iter().map(PathBuf::from).chain(session);
        let mut fit = places.filter(|place| {
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
        match fs::DirBuilder::new().mode(0o700).create(path) {
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
        // SAFETY: no pointers.
        Ok(self.opened.metadata()?.uid() == unsafe { libc::geteuid() })
    }

    /// A folder that another process has left. A link is none.
    pub fn open(path: &Path) -> io::Result<OwnFolder> {
        let opened = File::options().read(true).custom_flags(OPEN_FOLDER).open(path)?;
        Ok(OwnFolder { path: path.to_path_buf(), opened })
    }

    /// A folder in this one. A link is none.
    pub fn open_in(&self, name: &str) -> io::Result<OwnFolder> {
        let c_name = CString::new(name)?;
        // SAFETY: the name is NUL-terminated, the descriptor open.
        let fd = unsafe { libc::openat(self.fd(), c_name.as_ptr(), OPEN_FOLDER) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor that belongs to nobody else.
        let opened = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(OwnFolder { path: self.path.join(name), opened })
    }

    /// Its path when it was made or opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets others list and read it too.
    pub fn share(&self) -> io::Result<()> {
        self.opened.set_permissions(fs::Permissions::from_mode(0o755))
    }

    /// Holds it until this value and its copies in forked processes are gone. Several may.
    pub fn hold(&self) -> io::Result<()> {
        // A read lock needs no right to write.
        lock(self.fd(), libc::F_OFD_SETLK, libc::F_RDLCK).map(drop)
    }

    /// Takes it for this value and its copies in forked processes alone; false if another one has it.
    /// Holding it is something else.
    pub fn claim(&self) -> io::Result<bool> {
        // SAFETY: no pointers.
        match unsafe { libc::flock(self.fd(), libc::LOCK_EX | libc::LOCK_NB) } {
            0 => Ok(true),
            _ if errno() == libc::EWOULDBLOCK => Ok(false),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Somebody holds it. Asking changes nothing.
    pub fn is_held(&self) -> io::Result<bool> {
        let found = lock(self.fd(), libc::F_OFD_GETLK, libc::F_WRLCK)?;
        Ok(i32::from(found.l_type) != libc::F_UNLCK)
    }

    /// Removes a file of the run from it; no matter if it is gone already. A link with that name
    /// goes as such, a folder stays.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        self.unlink(name, 0)
    }

    /// Removes an empty folder of the run from it; no matter if it is gone already.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.unlink(name, libc::AT_REMOVEDIR)
    }

    fn unlink(&self, name: &str, flags: i32) -> io::Result<()> {
        let name = CString::new(name)?;
        // SAFETY: the name is NUL-terminated, the descriptor open.
        match unsafe { libc::unlinkat(self.fd(), name.as_ptr(), flags) } {
            0 => Ok(()),
            _ if errno() == libc::ENOENT => Ok(()),
            _ => Err(io::Error::last_os_error()),
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

    fn fd(&self) -> RawFd {
        self.opened.as_raw_fd()
    }
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
    let Ok(path) = CString::new(place.as_os_str().as_bytes()) else { return false };
    let mut facts = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path is NUL-terminated, the structure writable.
    if unsafe { libc::statfs(path.as_ptr(), facts.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call succeeded, so it has filled the structure.
    let facts = unsafe { facts.assume_init() };
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
