//! Remains of killed runs: folders in memory and executions of sweeps of runs that were killed in
//! the last moment, when their results were stored and only the folders had yet to go, folders in
//! memory that no run names any more, and scratch directories, which are named.
//!
//! ```text
//! /dev/shm/parabench-records-x7Qz2w/owner   the run that they belong to
//! DIR/executions-k3Rw9a/                    beside a run.json that does not name it
//! ./parabench-scratch-a1b2c3/               the run directory
//! ```
//!
//! Records whose run is not where it was may be all that there is of it: its folder was moved, or lies on a file
//! system that is not mounted. They stay for [`KEPT`], and `parabench report --recover` lists them.

use super::owner::Owner;
use super::recording::{self, EXECUTIONS, MEMORY, rank_files};
use super::sweep;
use crate::console;
use ::report::events::EVENTS_FILE;
use ::report::store::RUN_FILE;
use ::report::{StoreError, store};
use engine::directory::is_left_over;
use engine::own_folder::{self, OwnFolder};
use model::run::Run;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long records that no run names are kept.
pub const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// State of the run that records belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Somebody is at work on it.
    UnderWay,
    /// Its folder names these records.
    CutOff,
    /// It is stored without them.
    Stored,
    /// Its folder was moved or removed, is out of sight, or cannot be read.
    Unknown,
}

/// A folder in memory that a run has left, or works with.
pub struct Left {
    /// Where they are.
    pub folder: OwnFolder,
    /// Whose they are.
    pub owner: Owner,
    /// State of that run.
    pub fate: Fate,
}

impl Left {
    /// The folder at `path`, if it is one of this user that says whose it is.
    pub fn look(path: &Path) -> io::Result<Option<Left>> {
        let folder = OwnFolder::open(path)?;
        let Some(owner) = Owner::read(path).filter(|_| folder.is_mine().unwrap_or(false)) else {
            return Ok(None);
        };
        let fate = if folder.is_held()? { Fate::UnderWay } else { fate(&owner) };
        Ok(Some(Left { folder, owner, fate }))
    }

    /// Size of its ranks' records, bytes.
    pub fn size_bytes(&self) -> u64 {
        let files = rank_files([&self.folder]).into_iter();
        // Files are as long as they may get; blocks are what they hold.
        files.filter_map(|file| fs::metadata(file).ok()).map(|facts| facts.blocks() * 512).sum()
    }

    /// When something was recorded last.
    pub fn last_change(&self) -> Option<SystemTime> {
        let files = rank_files([&self.folder]).into_iter();
        let changes =
            files.chain([self.folder.path().into()]).filter_map(|file| fs::metadata(file).ok());
        changes.filter_map(|facts| facts.modified().ok()).max()
    }

    fn is_old(&self) -> bool {
        let age = self.last_change().and_then(|change| change.elapsed().ok());
        age.is_some_and(|age| age > KEPT)
    }

    /// Nobody needs it: its run is stored, or nobody has named it for long.
    fn remove_if_unneeded(&self) -> io::Result<()> {
        match self.fate {
            // What was not read is not stored.
            Fate::Stored => recording::remove(&self.folder, &recording::unreadable([&self.folder])),
            Fate::Unknown if self.is_old() => recording::remove(&self.folder, &[]),
            _ => Ok(()),
        }
    }
}

fn fate(owner: &Owner) -> Fate {
    match store::read(&owner.results) {
        Ok(run) if run.run.id == owner.id && run.run.recording.is_some() => Fate::CutOff,
        Ok(run) if run.run.id == owner.id => Fate::Stored,
        _ => Fate::Unknown,
    }
}

/// The folders of this user in memory.
pub fn left() -> Vec<Left> {
    let places = own_folder::memory_places();
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let is_named = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(MEMORY);
    let mut paths: Vec<PathBuf> = entries.filter(is_named).map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| Left::look(path).ok().flatten()).collect()
}

/// Removes what nobody needs beside a folder in memory.
pub fn remove_beside(memory: &OwnFolder) {
    let entries = memory.path().parent().map(fs::read_dir);
    for entry in entries.into_iter().flatten().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(MEMORY) && entry.path() != memory.path() {
            // What cannot be removed stays for the next run.
            let _ = Left::look(&entry.path())
                .and_then(|left| left.map_or(Ok(()), |left| left.remove_if_unneeded()));
        }
    }
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
pub(crate) fn is_unfinished(folder: &Path, name: &str) -> bool {
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
pub(crate) fn remove_unfinished(own: &OwnFolder) -> io::Result<()> {
    let names = fs::read_dir(own.path())?.flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut left = names.filter(|name| is_unfinished(own.path(), name));
    left.try_for_each(|name| own.remove_file(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::recorder::{Medium, Meta, Recorder};
    use model::run::{Header, Recording, Run};
    use report::file::AtomicFile;

    /// A folder as a killed run leaves it; `is_stored`: its run.json names no records any more.
    fn left(place: &Path, is_stored: bool) -> (OwnFolder, PathBuf) {
        let results = OwnFolder::fresh(place, "results-").unwrap().path().to_path_buf();
        let left = OwnFolder::fresh(place, MEMORY).unwrap();
        let id = left.path().file_name().unwrap().to_string_lossy().into_owned();
        let owner = Owner { id: id.clone(), host: "h".into(), results: results.clone() };
        owner.write(&left).unwrap();
        let meta = Meta { rank: 0, ranks: 1, sites: 1, events: None };
        Recorder::create(Medium::File(left.path().join("rank-0")), &meta).unwrap();
        let recording = (!is_stored).then(Recording::default);
        let header = Header { id, ranks: 1, recording, ..Header::default() };
        let run = Run { version: model::run::VERSION, run: header, ..Run::default() };
        store::write(&results, &run).unwrap();
        (left, results)
    }

    #[test]
    fn only_what_nobody_needs_goes() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        let make_old = |left: &OwnFolder| {
            let time = SystemTime::now() - 2 * KEPT;
            for path in [left.path().join("rank-0"), left.path().to_path_buf()] {
                File::open(path).unwrap().set_modified(time).unwrap();
            }
        };
        let (needed, _) = left(place, false);
        make_old(&needed);
        let (stored, _) = left(place, true);
        let (held, _) = left(place, true);
        held.hold().unwrap();
        let foreign = OwnFolder::fresh(place, MEMORY).unwrap();
        let (moved, results) = left(place, false);
        fs::rename(&results, place.join("moved")).unwrap();
        let (replaced, results) = left(place, false);
        fs::copy(place.join("moved/run.json"), results.join("run.json")).unwrap();
        let (old, results) = left(place, false);
        fs::remove_dir_all(results).unwrap();
        make_old(&old);
        let (damaged, _) = left(place, true);
        fs::write(damaged.path().join("rank-1"), "no record").unwrap();
        remove_beside(&OwnFolder::fresh(place, MEMORY).unwrap());
        for (folder, stays) in [
            (&needed, true),
            (&stored, false),
            (&held, true),
            (&moved, true),
            (&replaced, true),
            (&old, false),
        ] {
            assert_eq!(folder.path().join("rank-0").exists(), stays, "{folder:?}");
        }
        assert!(foreign.path().exists() && !stored.path().exists() && !old.path().exists());
        let kept = ["rank-0", "rank-1"].map(|name| damaged.path().join(name).exists());
        assert_eq!(kept, [false, true], "what cannot be read is not stored");
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
