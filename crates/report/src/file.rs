//! Files that are either whole or not there, and what can be wrong with them.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
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
        /// What was tried: "write", "read".
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
        /// What was expected, for example "a run (run.json)".
        expected: &'static str,
    },
    /// The file was written by a newer Parabench.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u64,
        /// The newest version this program reads.
        newest: u32,
    },
}

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
            StoreError::Missing { path } => write!(
                f,
                "there is no {}: give the folder that `parabench run --out` wrote",
                shown(path)
            ),
            StoreError::Io { path, action, source } => {
                write!(f, "cannot {action} {}: {source}", shown(path))
            }
            StoreError::Truncated { path, size_bytes } => write!(
                f,
                "{} ends in the middle after {size_bytes} bytes: copy it again, or repeat the run",
                shown(path)
            ),
            StoreError::Corrupt { path, detail } => {
                write!(f, "{} is damaged ({detail}): copy it again, or repeat the run", shown(path))
            }
            StoreError::Foreign { path, expected } => write!(
                f,
                "{} is not {expected}: give the folder that `parabench run --out` wrote",
                shown(path)
            ),
            StoreError::Newer { path, found, newest } => write!(
                f,
                "{} has format version {found}, this Parabench reads up to {newest}: use a newer Parabench",
                shown(path)
            ),
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

/// A file that appears under its name only when it is complete and on stable storage.
///
/// Until [`AtomicFile::commit`] it has a hidden temporary name in the same directory; dropped
/// without commit it is removed. A killed process leaves the temporary file, never half a result.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    committed: bool,
}

impl AtomicFile {
    /// Starts the file that shall become `target`.
    pub fn create(target: &Path) -> io::Result<AtomicFile> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        // Left by a killed process with the same number; never written through, it may be a link.
        let _ = fs::remove_file(&temporary);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        Ok(AtomicFile { file, temporary, target: target.to_path_buf(), committed: false })
    }

    /// A handle to write to; shares the position with every other handle.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Makes the content stable, then gives it its name, then makes the name stable.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        self.committed = true;
        let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing more can be done about a file that cannot be removed.
            let _ = fs::remove_file(&self.temporary);
        }
    }
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
    fn a_planted_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("run.json");
        let outside = dir.path().join("outside");
        fs::write(&outside, "mine").unwrap();
        let planted = dir.path().join(format!(".run.json.{}.tmp", std::process::id()));
        std::os::unix::fs::symlink(&outside, &planted).unwrap();
        let file = AtomicFile::create(&target).unwrap();
        file.handle().unwrap().write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
    }
}
