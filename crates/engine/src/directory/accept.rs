//! Checks of the directory of `--dir`, and the reasons to refuse it.

use super::opened::Opened;
use super::{marker, wrong};
use crate::backend::MARKER;
use crate::host::mounts_below;
use rustix::fs::Dir;
use rustix::io::Errno;
use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};

/// Makes the directory if it is missing, not its parents; true if it was missing. Everything else
/// that is no directory is refused.
pub(super) fn make_if_missing(directory: &Path) -> Result<bool, String> {
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

/// Nobody else may write in it, so that nobody can put links there.
fn make(directory: &Path) -> Result<bool, String> {
    DirBuilder::new().mode(0o755).create(directory).map(|()| true).map_err(|error| {
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
pub(super) fn refuse_dangerous(path: &Path, force: bool) -> Result<(), String> {
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
pub(super) fn is_empty(directory: &Opened) -> Result<bool, String> {
    let failed = |errno: Errno| wrong(directory.path(), "cannot read the directory", &errno.into());
    for entry in Dir::read_from(directory.fd()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let known = match entry.file_name().to_bytes() {
            b"." | b".." | b"lost+found" => true,
            name => name == MARKER.as_bytes() && marker::is_begun_in(directory.fd()),
        };
        if !known {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn not_empty(path: &Path) -> String {
    format!(
        "--dir {}: expected an empty directory or one of an earlier run, found other files; \
         name another directory, or use --force if the program may change these files",
        path.display()
    )
}

pub(super) fn foreign(path: &Path) -> String {
    format!(
        "--dir {}: an earlier run was forced into this directory, which held other files; \
         name another directory, or use --force again",
        path.display()
    )
}

pub(super) fn clean_foreign(path: &Path) -> String {
    format!(
        "--dir {}: --clean would remove files that Parabench has not made; leave out --clean, \
         or name another directory",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
