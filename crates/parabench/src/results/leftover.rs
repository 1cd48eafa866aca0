//! Remains of killed runs: folders in memory and executions of sweeps of runs that were killed in
//! the last moment, when their results were stored and only the folders had yet to go, folders in
//! memory of runs whose results somebody has removed, and scratch directories, which are named.
//!
//! ```text
//! /dev/shm/parabench-records-x7Qz2w/owner   device of the results folder, its path
//! DIR/executions-k3Rw9a/                    beside a run.json that does not name it
//! ./parabench-scratch-a1b2c3/               the run directory
//! ```

use super::recording::{self, EXECUTIONS, MEMORY, clear_memory};
use super::sweep;
use crate::console;
use ::report::events::EVENTS_FILE;
use ::report::file::open_regular;
use ::report::store::RUN_FILE;
use ::report::{StoreError, store};
use engine::directory::is_left_over;
use engine::own_folder::OwnFolder;
use model::run::Run;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that names the run.
const OWNER: &str = "owner";
/// Longest content of that file, bytes.
const PATH_MAX: u64 = 8192;

/// Says in a new folder which run it belongs to.
pub fn name_owner(memory: &OwnFolder, results: &Path) -> io::Result<()> {
    let mut text = format!("{} ", fs::metadata(results)?.dev()).into_bytes();
    text.extend(results.as_os_str().as_bytes());
    File::create_new(memory.path().join(OWNER))?.write_all(&text)
}

/// Removes a folder whose records are stored, or not wanted.
pub fn remove(memory: &OwnFolder, ranks: u32) -> io::Result<()> {
    clear_memory(memory, ranks)?;
    memory.remove_file(OWNER)?;
    memory.remove()
}

/// Removes the folders beside this one that nobody holds and whose records are stored, replaced, or
/// gone with their results.
pub fn remove_beside(memory: &OwnFolder) {
    let entries = memory.path().parent().map(fs::read_dir);
    for entry in entries.into_iter().flatten().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(MEMORY) && entry.path() != memory.path() {
            // What cannot be removed stays for the next run.
            let _ = remove_if_unneeded(&entry.path());
        }
    }
}

fn remove_if_unneeded(path: &Path) -> io::Result<()> {
    let left = OwnFolder::open(path)?;
    let Some((device, results)) = owner(path) else { return Ok(()) };
    if left.is_held()? || !left.is_mine()? || is_needed(path, device, &results) {
        return Ok(());
    }
    for file in recording::rank_files([&left]) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        left.remove_file(&name)?;
    }
    remove(&left, 0)
}

/// The run.json that the folder belongs to says so, or cannot be asked.
fn is_needed(memory: &Path, device: u64, results: &Path) -> bool {
    match store::read(results) {
        Ok(run) => {
            let named = run.run.recording.and_then(|recording| recording.memory);
            named.is_some_and(|named| Path::new(&named) == memory)
        }
        Err(StoreError::Missing { .. }) => !is_removed(device, results),
        Err(_) => true,
    }
}

/// It is not only out of sight: the file system that it lay on is there.
fn is_removed(device: u64, results: &Path) -> bool {
    let mut above = results.ancestors().filter_map(|above| fs::metadata(above).ok());
    above.next().is_some_and(|found| found.dev() == device)
}

fn owner(memory: &Path) -> Option<(u64, PathBuf)> {
    let (file, _) = open_regular(&memory.join(OWNER), "a path", PATH_MAX).ok()?;
    let mut bytes = Vec::new();
    file.take(PATH_MAX).read_to_end(&mut bytes).ok()?;
    let at = bytes.iter().position(|byte| *byte == b' ')?;
    let device = std::str::from_utf8(&bytes[..at]).ok()?.parse().ok()?;
    Some((device, PathBuf::from(OsString::from_vec(bytes.split_off(at + 1)))))
}

/// The scratch directories that a run of this machine has left, each in a sentence.
pub fn scratch(run: &Run) -> Vec<String> {
    let host = &run.run.host;
    let further = host.directories.iter().map(|further| &further.directory);
    let all = std::iter::once(&host.directory).chain(further);
    let left = all.filter(|path| {
        host.name == recording::here().host && is_left_over(Path::new(path.as_str()))
    });
    let told = |path: &String| {
        format!(
            "the run has left its scratch directory: `rm -r -- {}` removes it",
            console::quoted(path)
        )
    };
    left.map(told).collect()
}

/// Removes executions in a folder whose run.json holds all of them, or another run, unless somebody is
/// at work on them.
pub fn remove_executions(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if recording::is_made_from(&name.to_string_lossy(), EXECUTIONS) {
            // What cannot be removed stays where it is.
            let _ = remove_if_free(&entry.path());
        }
    }
}

fn remove_if_free(executions: &Path) -> io::Result<()> {
    let left = OwnFolder::open(executions)?;
    let are_ours = || sweep::names(executions).iter().all(|one| is_ours(one));
    match left.is_mine()? && !left.is_held()? && are_ours() && left.claim()? {
        true => sweep::remove(&left),
        false => Ok(()),
    }
}

/// The folder of an execution holds a run, or nothing yet.
fn is_ours(execution: &Path) -> bool {
    matches!(store::read(execution), Ok(_) | Err(StoreError::Missing { .. }))
}

/// A result that a killed process was writing: `.run.json.a7Bc3d.tmp`.
pub(super) fn is_unfinished(folder: &Path, name: &str) -> bool {
    let place = folder.join(name);
    let is_name = |start| name.starts_with(&format!(".{start}.")) && name.ends_with(".tmp");
    let is_file = fs::symlink_metadata(&place).is_ok_and(|facts| facts.is_file());
    is_file
        && [RUN_FILE, EVENTS_FILE].into_iter().any(is_name)
        && File::open(&place).is_ok_and(|file| is_free(&file))
}

/// File systems without locks cannot tell.
fn is_free(file: &File) -> bool {
    !matches!(flock(file, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK))
}

/// Removes those that are left in a folder.
pub(super) fn remove_unfinished(own: &OwnFolder) -> io::Result<()> {
    let names = fs::read_dir(own.path())?.flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut left = names.filter(|name| is_unfinished(own.path(), name));
    left.try_for_each(|name| own.remove_file(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::{Header, Recording, Run};
    use report::file::AtomicFile;

    /// A folder as a killed run leaves it, and the run.json that says where the records are.
    fn left(place: &Path, memory: impl Fn(&OwnFolder) -> Option<String>) -> OwnFolder {
        let results = OwnFolder::fresh(place, "results-").unwrap();
        let left = OwnFolder::fresh(place, MEMORY).unwrap();
        name_owner(&left, results.path()).unwrap();
        fs::write(left.path().join("rank-0"), "").unwrap();
        let recording = Recording { memory: memory(&left), ..Recording::default() };
        let header = Header { ranks: 1, recording: Some(recording), ..Header::default() };
        store::write(
            results.path(),
            &Run { version: model::run::VERSION, run: header, ..Run::default() },
        )
        .unwrap();
        left
    }

    #[test]
    fn only_what_nobody_needs_goes() {
        let place = tempfile::tempdir().unwrap();
        let named = |own: &OwnFolder| own.path().to_str().map(str::to_string);
        let needed = left(place.path(), named);
        let stored = left(place.path(), |_| None);
        let held = left(place.path(), |_| None);
        held.hold().unwrap();
        let foreign = OwnFolder::fresh(place.path(), MEMORY).unwrap();
        let removed = left(place.path(), named);
        fs::remove_dir_all(owner(removed.path()).unwrap().1).unwrap();
        let away = left(place.path(), named);
        let results = owner(away.path()).unwrap().1;
        fs::remove_dir_all(&results).unwrap();
        let other_device = format!("{} {}", u64::MAX, results.display());
        fs::write(away.path().join(OWNER), other_device).unwrap();
        remove_beside(&OwnFolder::fresh(place.path(), MEMORY).unwrap());
        assert!(needed.path().join("rank-0").exists() && held.path().join("rank-0").exists());
        assert!(foreign.path().exists());
        assert!(away.path().join("rank-0").exists(), "its file system is not mounted");
        assert!(!stored.path().exists() && !removed.path().exists());
    }

    #[test]
    fn what_somebody_still_writes_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [".events.parquet.a7Bc3d.tmp", ".mine.a7Bc3d.tmp", "events.parquet"] {
            fs::write(folder.path().join(name), "half").expect("a file");
        }
        let writing = AtomicFile::create(&folder.path().join(RUN_FILE)).expect("a file");
        let own = OwnFolder::open(folder.path()).expect("a folder");
        remove_unfinished(&own).expect("removed");
        let names = fs::read_dir(folder.path()).expect("a folder").flatten();
        let mut names: Vec<String> =
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names[0] == ".mine.a7Bc3d.tmp" && names[1].starts_with(".run.json."), "{names:?}");
        drop(writing);
    }
}
