//! Files that a killed process was writing: `.run.json.a7Bc3d.tmp`.

use super::{EVENTS_FILE, RUN_FILE};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// It is called as a result is until all of it is written.
pub(super) fn is_name(name: &str) -> bool {
    let mut starts = [RUN_FILE, EVENTS_FILE].into_iter();
    name.ends_with(".tmp") && starts.any(|start| name.starts_with(&format!(".{start}.")))
}

/// Nobody writes it any longer.
pub(super) fn is_left(folder: &Path, name: &str) -> bool {
    let place = folder.join(name);
    let is_file = fs::symlink_metadata(&place).is_ok_and(|facts| facts.is_file());
    is_name(name) && is_file && File::open(&place).is_ok_and(|file| is_free(&file))
}

/// File systems without locks cannot tell.
fn is_free(file: &File) -> bool {
    !matches!(flock(file, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK))
}

/// Removes those that are left in a folder.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    let names = fs::read_dir(folder)?.flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut left = names.filter(|name| is_left(folder, name));
    left.try_for_each(|name| fs::remove_file(folder.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::file::AtomicFile;

    #[test]
    fn what_somebody_still_writes_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [".events.parquet.a7Bc3d.tmp", ".mine.a7Bc3d.tmp", "events.parquet"] {
            fs::write(folder.path().join(name), "half").expect("a file");
        }
        let writing = AtomicFile::create(&folder.path().join(RUN_FILE)).expect("a file");
        remove(folder.path()).expect("removed");
        let names = fs::read_dir(folder.path()).expect("a folder").flatten();
        let mut names: Vec<String> =
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names[0] == ".mine.a7Bc3d.tmp" && names[1].starts_with(".run.json."), "{names:?}");
        drop(writing);
    }
}
