//! Files that are either whole or not there, and what can be wrong with them.

use rustix::fs::{FlockOperation, flock};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a result file could not be written or read. Displays as one sentence that names the
/// file and what to do.
#[derive(Debug)]
pub enum StoreError {
    /// There is no such file.
    Missing {
        /// The file looked for.
        path: PathBuf,
    },
    /// The operating system refused.
    Io {
        /// The file.
        path: PathBuf,
        /// The action: "write", "read".
        action: &'static str,
        /// Its answer.
        source: io::Error,
    },
    /// The file ends in the middle.
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
    },
    /// The file is one of ours, but something in it is damaged.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where and what.
        detail: String,
    },
    /// The file is something else.
    Foreign {
        /// The file.
        path: PathBuf,
        /// The expected content, for example "a run (run.json)".
        expected: &'static str,
    },
    /// The file was written by a Parabench of another format version.
    Version {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u64,
        /// The version this program reads.
        read: u32,
    },
}

/// Advice where something is no run.
pub(crate) const A_RUN: &str =
    "a folder that `parabench run --out`, `record` or `import` has written";

impl StoreError {
    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> StoreError {
        let path = path.to_path_buf();
        if action == "read" && source.kind() == io::ErrorKind::NotFound {
            return StoreError::Missing { path };
        }
        StoreError::Io { path, action, source }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Missing { path } => write!(f, "there is no {}: give {A_RUN}", shown(path)),
            StoreError::Io { path, action, source } => {
                write!(f, "cannot {action} {}: {source}", shown(path))
            }
            StoreError::Truncated { path, size_bytes } => write!(
                f,
                "{} ends in the middle after {size}: copy it again, or repeat the run",
                shown(path),
                size = model::words::count(*size_bytes, "byte")
            ),
            StoreError::Corrupt { path, detail } => {
                write!(f, "{} is damaged ({detail}): copy it again, or repeat the run", shown(path))
            }
            StoreError::Foreign { path, expected } => {
                write!(f, "{} is not {expected}: give {A_RUN}", shown(path))
            }
            StoreError::Version { path, found, read } => {
                let remedy = match *found > u64::from(*read) {
                    true => "use a newer Parabench",
                    false => "repeat the run, or use an older Parabench",
                };
                let path = shown(path);
                write!(
                    f,
                    "{path} has format version {found}, this Parabench reads {read}: {remedy}"
                )
            }
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

fn shown(path: &Path) -> String {
    crate::text::escape(&path.display().to_string())
}

/// Opens a file for reading if it is a regular one of at most `size_max` bytes; a link is not
/// followed. Nothing else is touched: a pipe would wait for a writer, a device may do things.
/// Gives its size, too.
///
/// # Errors
/// [`StoreError::Missing`], [`StoreError::Foreign`], [`StoreError::Corrupt`] if it is too large.
pub fn open_regular(
    path: &Path,
    expected: &'static str,
    size_max: u64,
) -> Result<(File, u64), StoreError> {
    let failed = |error| StoreError::io(path, "read", error);
    let foreign = || StoreError::Foreign { path: path.into(), expected };
    if !fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(foreign());
    }
    // It may have been exchanged since.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if !facts.is_file() {
        return Err(foreign());
    }
    if facts.len() > size_max {
        let detail = format!("{} bytes, at most {size_max} are possible", facts.len());
        return Err(StoreError::Corrupt { path: path.into(), detail });
    }
    Ok((file, facts.len()))
}

/// The file that a user's path means, links followed: what they name is theirs to choose.
pub(crate) fn named(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// A file that appears under its name only when it is complete and on stable storage.
///
/// Until [`AtomicFile::commit`] it has a hidden name of its own in the same directory; dropped
/// without commit it is removed. A killed process leaves that file, never half a result.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: tempfile::NamedTempFile,
    target: PathBuf,
}

impl AtomicFile {
    /// Starts the file that shall become `target`.
    ///
    /// # Errors
    /// Those of the operating system, here and in the other functions.
    pub fn create(target: &Path) -> io::Result<AtomicFile> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".tmp")
            // What the user's mask leaves of it, as for any other file.
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder_of(target))?;
        // Tells it apart from what a killed process has left; some file systems have no locks.
        let _ = flock(temporary.as_file(), FlockOperation::NonBlockingLockShared);
        Ok(AtomicFile { temporary, target: target.to_path_buf() })
    }

    /// A handle to write to; shares the position with every other handle.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn handle(&self) -> io::Result<File> {
        self.temporary.as_file().try_clone()
    }

    /// Makes the content stable, then gives it its name, then makes the name stable.
    ///
    /// # Errors
    /// The older file is then untouched.
    pub fn commit(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        File::open(folder_of(&self.target))?.sync_all()
    }

    /// The same if there is no file of that name.
    ///
    /// # Errors
    /// The file exists already, or [`AtomicFile::commit`] fails.
    pub fn commit_new(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist_noclobber(&self.target).map_err(|error| error.error)?;
        File::open(folder_of(&self.target))?.sync_all()
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("run.json");
        fs::write(&target, "old").unwrap();

        let file = AtomicFile::create(&target).unwrap();
        file.handle().unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        drop(file);
        assert_eq!(names(dir.path()), ["run.json"]);

        let file = AtomicFile::create(&target).unwrap();
        file.handle().unwrap().write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(dir.path()), ["run.json"]);
    }

    #[test]
    fn a_file_that_looks_unfinished_is_not_ours_to_remove() {
        let dir = tempfile::tempdir().unwrap();
        let others = dir.path().join(format!(".run.json.{}.tmp", std::process::id()));
        fs::write(&others, "mine").unwrap();
        let file = AtomicFile::create(&dir.path().join("run.json")).unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&others).unwrap(), "mine");
    }

    #[test]
    fn only_regular_files_of_a_sensible_size_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let open = |name: &str| open_regular(&path(name), "a run", 3);
        fs::write(path("good"), "abc").unwrap();
        fs::write(path("long"), "abcd").unwrap();
        std::os::unix::fs::symlink(path("good"), path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status();
        assert!(made.unwrap().success());
        assert_eq!(open("good").unwrap().1, 3);
        assert!(matches!(open("none"), Err(StoreError::Missing { .. })));
        assert!(matches!(open("long"), Err(StoreError::Corrupt { .. })));
        for name in ["link", "zero", "pipe", "."] {
            assert!(matches!(open(name), Err(StoreError::Foreign { .. })), "{name}");
        }
    }
}
