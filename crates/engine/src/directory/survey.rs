//! Looking through a directory that is not new, before a program may work in it: whether paths
//! that stay inside by their names alone can leave it all the same.
//!
//! | found | then |
//! |---|---|
//! | a symbolic link that goes up or is absolute: a rename may turn it outwards | doubt |
//! | a place where somebody else may put one | doubt |
//! | a file with another name outside, a device, a FIFO | a way out that nothing closes |
//!
//! Also here: reasons to refuse the directory of `--dir` at once.

use super::opened::{Opened, has_marker, is_in_use, kind, wrong};
use crate::backend::MARKER;
use crate::backend::resolve::openat2;
use crate::host::mounts_below;
use model::directory::leads_down;
use rustix::fs::{AtFlags, Dir, FileType, StatxFlags, fgetxattr_query, readlinkat, statx};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, DirBuilder};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::{env, io};

/// Entries looked at before giving up: one or two seconds.
const ENTRIES_MAX: usize = 1_000_000;
/// Write permission of the group, which shows access lists too, and of others.
const OTHERS_WRITE: u16 = 0o022;
/// Without it nobody else gets at what is below a directory.
const OTHERS_ENTER: u16 = 0o011;
const FACTS: StatxFlags = StatxFlags::BASIC_STATS;

/// Findings, as sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Why links may lead out of the directory, now or during the run.
    pub doubt: Option<String>,
    /// The same, once the program lets others enter the directory.
    pub doubt_if_opened: Option<String>,
    /// A way out even if every path is resolved beneath the directory.
    pub way_out: Option<String>,
    /// Another run is at work in a directory below.
    pub busy: Option<String>,
}

/// Looks through a directory.
pub(crate) fn survey(directory: &Opened) -> Survey {
    survey_within(directory, ENTRIES_MAX)
}

fn survey_within(directory: &Opened, entries_max: usize) -> Survey {
    let mut walk = Walk {
        root: directory.fd(),
        path: directory.path(),
        left: entries_max,
        waiting: vec![Vec::new()],
        closed: false,
        files: HashMap::new(),
        found: Survey::default(),
    };
    while let Some(path) = walk.waiting.pop() {
        match walk.directory(&path) {
            Ok(()) => {}
            Err(Unread::TooMany) => {
                walk.doubt("the directory holds too many entries to look at all of them".into());
                return walk.found;
            }
            Err(Unread::Failed(errno)) => walk.doubt(format!(
                "{} in the directory cannot be looked at for links: {}",
                show_path(&path),
                io::Error::from_raw_os_error(errno)
            )),
        }
    }
    walk.count_names();
    walk.found
}

/// Why a directory was not looked at to its end.
enum Unread {
    TooMany,
    Failed(i32),
}

impl From<Errno> for Unread {
    fn from(errno: Errno) -> Unread {
        Unread::Failed(errno.raw_os_error())
    }
}

/// A file with several names.
struct Named {
    first: Vec<u8>,
    all: u32,
    found: u32,
}

struct Walk<'a> {
    root: BorrowedFd<'a>,
    path: &'a Path,
    /// Entries that may still be looked at.
    left: usize,
    /// Directories to be looked at, relative to the root.
    waiting: Vec<Vec<u8>>,
    /// Nobody else gets into the root.
    closed: bool,
    /// By device and inode.
    files: HashMap<(u32, u32, u64), Named>,
    found: Survey,
}

impl Walk<'_> {
    fn doubt(&mut self, why: String) {
        self.found.doubt.get_or_insert(why);
    }

    /// Others get at it only once the root is open to them.
    fn doubt_unless_closed(&mut self, why: String) {
        match self.closed {
            false => self.doubt(why),
            true => drop(self.found.doubt_if_opened.get_or_insert(why)),
        }
    }

    fn way_out(&mut self, path: &[u8], what: &str) {
        let whole = self.path.join(OsStr::from_bytes(path));
        self.found.way_out.get_or_insert(format!("{} {what}", whole.display()));
    }

    fn directory(&mut self, path: &[u8]) -> Result<(), Unread> {
        let opened = self.open(path).map_err(Unread::Failed)?;
        self.owner(&opened, path)?;
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or(Unread::TooMany)?;
            let kind = kind(opened.as_fd(), &entry);
            self.entry(opened.as_fd(), kind, name, join(path, name))?;
        }
        Ok(())
    }

    fn open(&self, path: &[u8]) -> Result<OwnedFd, i32> {
        const HERE: u64 = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_XDEV;
        let name = if path.is_empty() { b"." } else { path };
        let name = CString::new(name).map_err(|_| libc::EINVAL)?;
        openat2(self.root, &name, libc::O_RDONLY | libc::O_DIRECTORY, 0, HERE)
    }

    /// Notes other users who may make entries in a directory.
    fn owner(&mut self, opened: &OwnedFd, path: &[u8]) -> Result<(), Unread> {
        let facts = statx(opened, c"", AtFlags::EMPTY_PATH, FACTS)?;
        let own = facts.stx_uid == geteuid().as_raw();
        if path.is_empty() {
            self.closed = own && facts.stx_mode & OTHERS_ENTER == 0;
        }
        let shown = show_path(path);
        if !own {
            self.doubt(format!(
                "{shown} in the directory belongs to another user, who may put links there"
            ));
        } else if facts.stx_mode & OTHERS_WRITE != 0 {
            let mode = facts.stx_mode & 0o7777;
            self.doubt_unless_closed(format!(
                "others may put links into {shown} of the directory (mode {mode:04o}; chmod go-w)"
            ));
        } else if fgetxattr_query(opened, "system.posix_acl_default").is_ok() {
            self.doubt_unless_closed(format!(
                "others may put links into what is made in {shown} of the directory (default ACL)"
            ));
        }
        Ok(())
    }

    fn entry(
        &mut self,
        parent: BorrowedFd<'_>,
        kind: FileType,
        name: &CStr,
        path: Vec<u8>,
    ) -> Result<(), Unread> {
        match kind {
            FileType::Directory => self.waiting.push(path),
            FileType::Symlink
                if readlinkat(parent, name, Vec::new())
                    .is_ok_and(|text| leads_down(text.as_bytes())) => {}
            FileType::Symlink => self.doubt(format!(
                "the directory holds the symbolic link {}, which may lead out of it",
                show_path(&path)
            )),
            FileType::CharacterDevice | FileType::BlockDevice => self.way_out(&path, "is a device"),
            FileType::Fifo => self.way_out(&path, "is a FIFO"),
            FileType::RegularFile => {
                let is_own = path == MARKER.as_bytes();
                if name.to_bytes() == MARKER.as_bytes() && !is_own && is_in_use(parent) {
                    let marker = self.path.join(OsStr::from_bytes(&path));
                    let below = marker.parent().unwrap_or(self.path).display().to_string();
                    self.found.busy.get_or_insert(below);
                }
                self.file(parent, name, path)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn file(&mut self, parent: BorrowedFd<'_>, name: &CStr, path: Vec<u8>) -> Result<(), Unread> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
        let facts = statx(parent, name, flags, FACTS)?;
        if facts.stx_nlink > 1 {
            let key = (facts.stx_dev_major, facts.stx_dev_minor, facts.stx_ino);
            let new = Named { first: path, all: facts.stx_nlink, found: 0 };
            self.files.entry(key).or_insert(new).found += 1;
        }
        Ok(())
    }

    /// All names of a file must lie in the directory.
    fn count_names(&mut self) {
        let outside = self.files.values().filter(|file| file.found < file.all);
        if let Some(first) = outside.map(|file| file.first.clone()).min() {
            self.way_out(&first, "has another name outside of the directory (hard link)");
        }
    }
}

fn join(path: &[u8], name: &CStr) -> Vec<u8> {
    let mut below = path.to_vec();
    if !below.is_empty() {
        below.push(b'/');
    }
    below.extend_from_slice(name.to_bytes());
    below
}

fn show_path(path: &[u8]) -> String {
    let path = if path.is_empty() { b"." } else { path };
    Path::new(OsStr::from_bytes(path)).display().to_string()
}

/// Makes the directory if it is missing, not its parents; true if it was missing. Everything else
/// that is no directory is refused.
pub(crate) fn make_if_missing(directory: &Path) -> Result<bool, String> {
    match fs::metadata(directory) {
        Ok(facts) if facts.is_dir() => Ok(false),
        Ok(facts) => {
            let kind = facts.file_type();
            let found = match () {
                _ if kind.is_block_device() || kind.is_char_device() => "a device",
                _ if kind.is_file() => "a file",
                _ => "something else",
            };
            Err(format!(
                "--dir {}: expected a directory, found {found}; name a directory",
                directory.display()
            ))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(directory),
        Err(error) => Err(wrong(directory, "cannot use the directory", &error)),
    }
}

/// `s3://bucket/x`, `gs://...`: an address, and no path of this machine.
fn names_object_store(directory: &Path) -> bool {
    let text = directory.to_string_lossy();
    let scheme = text.split_once(":/").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Nobody else may write in it, so that nobody can put links there.
fn make(directory: &Path) -> Result<bool, String> {
    DirBuilder::new().mode(0o755).create(directory).map(|()| true).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound && names_object_store(directory) {
            return format!(
                "--dir {}: object stores are not supported; mount the bucket as a file system and name the directory \
                 where it is mounted",
                directory.display()
            );
        }
        if error.kind() == io::ErrorKind::NotFound {
            return format!(
                "--dir {0}: its parent directory does not exist; make it first with mkdir -p",
                directory.display()
            );
        }
        wrong(directory, "cannot make the directory", &error)
    })
}

/// Directories that are never meant: `/`, the home directory, and what lies above it
/// or above the current directory. Above a mount only with `--force`.
pub(crate) fn refuse_dangerous(path: &Path, force: bool) -> Result<(), String> {
    let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
    let here = env::current_dir().ok();
    if let Some(what) = dangerous(path, home, here) {
        let path = path.display();
        return Err(format!(
            "--dir {path}: this is {what}, which no run may use, not even with --force; \
             name a directory of its own, for example {}",
            if path.to_string() == "/" {
                "/tmp/parabench".into()
            } else {
                format!("{path}/parabench")
            }
        ));
    }
    match mounts_below(path).first() {
        Some(mount) if !force => Err(format!(
            "--dir {}: the file system mounted on {} lies below it; name that directory, \
             or use --force",
            path.display(),
            mount.display()
        )),
        _ => Ok(()),
    }
}

fn dangerous(path: &Path, home: Option<PathBuf>, here: Option<PathBuf>) -> Option<&'static str> {
    let above = |below: &Option<PathBuf>| below.as_ref().is_some_and(|b| b.starts_with(path));
    if path == Path::new("/") {
        return Some("the root of the file system");
    }
    if home.as_deref() == Some(path) {
        return Some("your home directory");
    }
    if here.as_deref() == Some(path) {
        return None;
    }
    if above(&home) {
        return Some("a directory above your home directory");
    }
    above(&here).then_some("a directory above the current one")
}

/// There is nothing in it (the `lost+found` of a fresh file system is nothing).
pub(crate) fn is_empty(directory: &Opened) -> Result<bool, String> {
    let failed = |errno: Errno| wrong(directory.path(), "cannot read the directory", &errno.into());
    for entry in Dir::read_from(directory.fd()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let known = match entry.file_name().to_bytes() {
            b"." | b".." | b"lost+found" => true,
            name => name == MARKER.as_bytes() && has_marker(directory.fd()),
        };
        if !known {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) fn not_empty(path: &Path) -> String {
    format!(
        "--dir {}: expected an empty directory or one of an earlier run, found other files; \
         name another directory, or use --force if the program may change these files",
        path.display()
    )
}

pub(crate) fn foreign(path: &Path) -> String {
    format!(
        "--dir {}: an earlier run was forced into this directory, which held other files; \
         name another directory, or use --force again",
        path.display()
    )
}

pub(crate) fn clean_foreign(path: &Path) -> String {
    format!(
        "--dir {}: --clean would remove files that Parabench has not made; leave out --clean, \
         or name another directory",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    /// A directory that others may enter, with a directory, a file and a second name of it.
    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        mode(place.path(), 0o755);
        fs::create_dir_all(place.path().join("a/b")).expect("mkdir");
        fs::write(place.path().join("a/file"), "").expect("write");
        fs::hard_link(place.path().join("a/file"), place.path().join("same")).expect("link");
        place
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    }

    fn look(path: &Path) -> Survey {
        survey(&Opened::open(path).expect("it opens"))
    }

    #[track_caller]
    fn doubted(path: &Path, words: &str) {
        let found = look(path);
        assert!(found.doubt.as_ref().is_some_and(|doubt| doubt.contains(words)), "{found:?}");
        assert_eq!(found.way_out, None);
    }

    #[test]
    fn a_directory_of_files_is_trusted() {
        assert_eq!(look(place().path()), Survey::default());
    }

    /// Wherever it leads: a rename of the program may turn it outwards.
    #[test]
    fn symbolic_links_that_do_not_lead_down_are_a_doubt() {
        for target in ["../file", "/etc", "x/../y", "../../.."] {
            let place = place();
            for (name, target) in [("a/b/link", target), ("a/down", "b"), ("a/b/missing", "./x/y")]
            {
                symlink(target, place.path().join(name)).expect("symlink");
            }
            doubted(place.path(), "the symbolic link a/b/link");
            fs::remove_file(place.path().join("a/b/link")).expect("removed");
            assert_eq!(look(place.path()), Survey::default());
        }
    }

    #[test]
    fn what_others_may_write_is_a_doubt_unless_they_cannot_get_there() {
        for (mode_below, words) in [(0o775, "mode 0775"), (0o1777, "mode 1777")] {
            let place = place();
            mode(&place.path().join("a/b"), mode_below);
            doubted(place.path(), words);
            mode(place.path(), 0o700);
            let closed = look(place.path());
            assert_eq!(closed.doubt, None);
            assert!(closed.doubt_if_opened.is_some_and(|doubt| doubt.contains(words)));
        }
        let place = place();
        if chown(place.path().join("a"), Some(1), None).is_err() {
            return eprintln!("not tested: this user cannot give directories away");
        }
        doubted(place.path(), "a in the directory belongs to another user");
    }

    #[test]
    fn names_outside_and_devices_are_ways_out() {
        let (place, outside) = (place(), tempfile::tempdir().expect("a temporary directory"));
        fs::write(outside.path().join("victim"), "").expect("write");
        fs::hard_link(outside.path().join("victim"), place.path().join("a/x")).expect("link");
        let found = look(place.path()).way_out.expect("a way out");
        assert!(found.contains("a/x has another name outside"), "{found}");
        fs::remove_file(place.path().join("a/x")).expect("removed");
        let fifo = place.path().join("a/pipe");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).expect("mkfifo");
        let found = look(place.path()).way_out.expect("a way out");
        assert!(found.ends_with("a/pipe is a FIFO"), "{found}");
    }

    #[test]
    fn the_walk_is_bounded() {
        let place = place();
        let opened = Opened::open(place.path()).expect("it opens");
        assert_eq!(survey_within(&opened, 4), Survey::default());
        let cut = survey_within(&opened, 3).doubt.expect("a doubt");
        assert!(cut.contains("too many entries"), "{cut}");
    }

    #[test]
    fn directories_above_what_matters_are_dangerous() {
        let home = Some(PathBuf::from("/home/u"));
        let here = Some(PathBuf::from("/data/a/b"));
        for (path, refused) in [
            ("/", true),
            ("/home", true),
            ("/home/u", true),
            ("/home/u/run", false),
            ("/data", true),
            ("/data/a", true),
            ("/data/a/b", false),
            ("/data/a/b/c", false),
            ("/data/other", false),
        ] {
            let found = dangerous(Path::new(path), home.clone(), here.clone());
            assert_eq!(found.is_some(), refused, "{path}: {found:?}");
        }
        assert_eq!(dangerous(Path::new("/x"), None, None), None);
        assert!(dangerous(Path::new("/h"), Some("/h".into()), Some("/h".into())).is_some());
    }
}
