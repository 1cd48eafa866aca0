//! The folder of `--out`: what is in it while a run is under way, and afterwards.
//!
//! ```text
//! DIR/run.json         the run; as long as it goes on `recording` says where its records lie
//! DIR/events.parquet   with --events
//! DIR/executions-*/    of a sweep, as long as executions are missing: those that there are
//! ```
//!
//! Ranks record in memory, so that nothing of it touches the storage that is measured
//! (`recording`). A run ends with one renaming: a run.json without `recording` is all of it.
//! A reader of a killed run puts the records of its ranks together (`stored`).

use super::owner::Owner;
use super::recording::{self, MEMORY, Unreadable};
use super::stored::{self, Stored};
use super::{leftover, sweep, tables};
use crate::error::{Error, Result};
use ::report::StoreError;
use ::report::events::{EVENTS_FILE, EventReader};
use ::report::store::{self, RUN_FILE};
use engine::config::Records;
use engine::directory::random_letters;
use engine::own_folder::OwnFolder;
use engine::recorder::RankRecord;
use model::Plan;
use model::run::{Recording, Run};
use rustix::fs::Access;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A results folder that is ours to fill.
#[derive(Default)]
pub struct Folder {
    pub(crate) path: PathBuf,
    /// Identity of the run; executions of a sweep have that of the sweep.
    pub(crate) id: String,
    /// It goes at the end.
    pub(crate) temporary: Option<OwnFolder>,
    /// Where the ranks record; executions of a sweep share that of the sweep.
    pub(crate) memory: Option<Rc<OwnFolder>>,
    /// The executions of a sweep.
    pub(crate) executions: Option<OwnFolder>,
    /// It is one of those.
    pub(crate) is_execution: bool,
    /// Tells that the run is not over where there is no memory to hold.
    pub(crate) held: Option<OwnFolder>,
    /// The run that was here, as long as nothing has taken its place.
    pub(crate) replaced: Option<Stored>,
    /// Executions of a sweep were here before: they stay, whatever happens.
    pub(crate) is_resumed: bool,
}

/// A folder that waits for a run. It goes again if none comes.
pub struct Claim {
    path: PathBuf,
    is_new: bool,
    held: Option<OwnFolder>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_new {
            // One with a run in it stays.
            let _ = fs::remove_dir(&self.path);
        }
        self.held = None;
    }
}

/// Where the events of the ranks are at the end.
pub enum EventSource {
    /// In memory, or mapped.
    Records(Vec<RankRecord>),
    /// In the ranks' files, which are read one after the other: in memory, and those in this
    /// folder, which goes.
    Files(Option<OwnFolder>),
}

/// Memory that ranks need to record.
#[derive(Clone, Copy, Debug)]
pub struct Needs<'a> {
    /// Memory on this machine, bytes.
    pub bytes: u64,
    /// The storage that is measured.
    pub measured: Option<&'a Path>,
}

impl Folder {
    /// Accepts a folder that is there, or can be made. Nothing is changed before [`Folder::begin`].
    pub fn open(path: &Path, run_directory: Option<&Path>, force: bool) -> Result<Folder> {
        let shown = path.display();
        let wrong = |why: String| Error::input(format!("--out {shown}{why}"));
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect(),
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(wrong(": expected a folder, found a file".into()));
            }
            Err(error) => return Err(wrong(format!(": {error}"))),
        };
        Folder::outside(path, run_directory)?;
        check_names(path)?;
        let is_there = path.join(RUN_FILE).symlink_metadata().is_ok();
        let replaced = is_there.then(|| stored::read_ended(path)).transpose().map_err(|error| {
            wrong(format!(" holds a run.json that no run replaces: {}", error.message))
                .help("choose another folder, or move the file")
        })?;
        if replaced.as_ref().is_some_and(Stored::is_under_way) {
            return Err(wrong(" holds a run that is not finished".into())
                .help("choose another folder with --out"));
        }
        if let Some(host) = replaced.as_ref().and_then(Stored::host_out_of_sight) {
            return Err(wrong(format!(" holds a run of {host}, which may not be finished")).help(
                "choose another folder with --out; remove this one if that run is finished",
            ));
        }
        if replaced.is_some() && !force {
            return Err(wrong(" holds another run".into())
                .help("choose another folder, or add --force to replace that run"));
        }
        // A scratch directory lies where the command was given, which may be the folder.
        let is_run_directory = |name: &OsString| {
            let name = real_path(path).map(|real| real.join(name));
            run_directory.is_some_and(|own| name.is_ok_and(|name| name == own))
        };
        if let Some(name) = entries
            .iter()
            .filter(|name| !is_run_directory(name))
            .filter(|name| !leftover::is_unfinished(path, &name.to_string_lossy()))
            .find(|name| *name != RUN_FILE && *name != EVENTS_FILE || replaced.is_none())
            && !force
        {
            return Err(wrong(format!(" holds other things, such as {}", name.to_string_lossy()))
                .help("choose a new or empty folder, or add --force to put the run beside them"));
        }
        // A rank leaves the current directory, and under MPI one of them stores the results.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        Ok(Folder { replaced, path, id: new_id(), ..Folder::default() })
    }

    /// Makes the folder before what is stored in it is there, and keeps others from doing the same.
    pub fn claim(&self) -> Result<Claim> {
        let shown = self.path.display();
        let is_new = !self.path.exists();
        fs::create_dir_all(&self.path)
            .map_err(|error| Error::input(format!("cannot make --out {shown}: {error}")))?;
        let claim =
            Claim { path: self.path.clone(), is_new, held: OwnFolder::open(&self.path).ok() };
        rustix::fs::access(&self.path, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| Error::input(format!("cannot write to --out {shown}: {error}")))?;
        // File systems without locks cannot tell.
        let is_mine = claim.held.as_ref().is_none_or(|held| held.claim().unwrap_or(true));
        if !is_mine || self.is_taken() {
            return Err(Error::input(format!("--out {shown} is that of another recording"))
                .help("choose another folder"));
        }
        Ok(claim)
    }

    /// Takes away what processes that were killed had begun to write.
    pub fn remove_unfinished(&self) -> Result<()> {
        let removed = OwnFolder::open(&self.path).and_then(|own| leftover::remove_unfinished(&own));
        gone(removed).map_err(|error| self.failed("empty", &error))
    }

    /// Somebody has stored a run in it since it was opened.
    pub fn is_taken(&self) -> bool {
        self.replaced.is_none() && self.path.join(RUN_FILE).exists()
    }

    /// Refuses a folder inside of a run directory.
    pub fn outside(path: &Path, run_directory: Option<&Path>) -> Result<()> {
        let shown = path.display();
        let real =
            real_path(path).map_err(|error| Error::input(format!("--out {shown}: {error}")))?;
        if run_directory.is_some_and(|directory| real.starts_with(directory)) {
            return Err(Error::input(format!("--out {shown} lies inside the run directory"))
                .help("results stand apart from what the program makes: choose another folder"));
        }
        Ok(())
    }

    /// A folder that goes at the end: this one, or a new one.
    pub fn temporary(path: Option<PathBuf>) -> Result<Folder> {
        let made = match path {
            Some(path) => fs::create_dir(&path).and_then(|()| OwnFolder::open(&path)),
            None => OwnFolder::fresh(&std::env::temp_dir(), "parabench-run-"),
        };
        let own =
            made.map_err(|error| Error::input(format!("cannot make a temporary folder: {error}")))?;
        let path = own.path().into();
        Ok(Folder { temporary: Some(own), path, id: new_id(), ..Folder::default() })
    }

    /// It is still there when the run is over.
    pub fn stays(&self) -> bool {
        self.temporary.is_none()
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the ranks record.
    pub fn records(&self) -> Records {
        match &self.memory {
            Some(memory) => Records::Directory(memory.path().into()),
            None => Records::Memory,
        }
    }

    /// Before the ranks start: what a reader needs should this process be killed.
    pub fn begin(&mut self, run: &mut Run, plan: &Plan, needs: &Needs<'_>) -> Result<()> {
        let begun = self.prepare(run, needs).and_then(|()| {
            let keep = |memory: &Rc<OwnFolder>| recording::keep_plan(memory, plan);
            let kept = self.memory.as_ref().map_or(Ok(()), keep);
            kept.map_err(|error| self.refused("record beside", &error))?;
            self.announce(run)
        });
        begun.inspect_err(|_| self.abandon())
    }

    /// Finds memory to record in.
    pub(crate) fn prepare(&mut self, run: &mut Run, needs: &Needs<'_>) -> Result<()> {
        fs::create_dir_all(&self.path).map_err(|error| self.refused("prepare", &error))?;
        run.run.id.clone_from(&self.id);
        if self.memory.is_none() {
            self.memory = OwnFolder::in_memory(needs.bytes, needs.measured, MEMORY).map(Rc::new);
            self.memory.iter().for_each(|memory| leftover::remove_beside(memory));
        }
        let Some(memory) = &self.memory else {
            run.run.evidence.notes.push(WITHOUT_MEMORY.into());
            self.held = OwnFolder::open(&self.path).ok();
            // File systems without locks cannot tell a run that goes on from one that does not.
            let _ = self.held.as_ref().map(OwnFolder::hold);
            return Ok(());
        };
        let named = memory.hold().and_then(|()| match self.is_execution {
            true => Ok(()),
            false => self.owner().write(memory),
        });
        named.map_err(|error| self.refused("record beside", &error))
    }

    fn owner(&self) -> Owner {
        let (id, results) = (self.id.clone(), self.path.clone());
        Owner { id, host: recording::here().host, results }
    }

    /// Stores the run as one that has not ended. What was here before is replaced by it.
    pub(crate) fn announce(&mut self, run: &mut Run) -> Result<()> {
        let text = |folder: &OwnFolder| Some(folder.path().to_str()?.to_string());
        let name = |folder: &OwnFolder| Some(folder.path().file_name()?.to_str()?.to_string());
        run.run.recording = Some(Recording {
            memory: self.memory.as_deref().and_then(text),
            executions: self.executions.as_ref().and_then(name),
            ..recording::here()
        });
        if let Some(rest) = run.run.sweep.as_mut().and_then(|sweep| sweep.rest.as_mut()) {
            rest.executions = self.executions.as_ref().and_then(name).unwrap_or_default();
        }
        let failed = |error: StoreError| match self.is_execution {
            true => Error::failed(error.to_string()),
            false => Error::input(error.to_string()),
        };
        let Some(replaced) = self.replaced.take() else {
            return store::write_new(&self.path, run).map_err(failed);
        };
        store::write(&self.path, run).map_err(failed)?;
        gone(fs::remove_file(self.path.join(EVENTS_FILE)))
            .map_err(|error| self.failed("empty", &error))?;
        replaced.clear()?;
        leftover::remove_executions(&self.path);
        Ok(())
    }

    /// A sentence for the user: the fate of the results if storing them is interrupted.
    pub fn advice(&self) -> String {
        let stored_later = match (&self.memory, self.is_execution) {
            (Some(_), false) => {
                format!(
                    "they stay in memory, and `parabench report {} --settle` stores them",
                    self.path.display()
                )
            }
            (Some(_), true) => "they stay in memory".into(),
            (None, _) => "they are lost".into(),
        };
        format!("the results are being stored; if you interrupt it again, {stored_later}")
    }

    /// At the end: the run as it was measured, with its events. The ranks' files go, but for those that cannot be
    /// read.
    pub fn finish(&self, run: &mut Run, mut events: EventSource) -> Result<()> {
        run.run.recording = None;
        let kept = self.unreadable(&events);
        run.run.evidence.notes.extend(kept.iter().map(Unreadable::describe));
        if self.temporary.is_none() {
            self.store(run, &mut events).map_err(|error| self.kept(error))?;
        }
        if let EventSource::Files(Some(hidden)) = &events {
            let removed = recording::remove(hidden, &kept);
            removed.map_err(|error| self.failed("tidy up", &error))?;
        }
        self.clear(&kept)
    }

    /// Files of the ranks of an MPI job that cannot be read.
    fn unreadable(&self, events: &EventSource) -> Vec<Unreadable> {
        match events {
            EventSource::Records(_) => Vec::new(),
            EventSource::Files(hidden) => {
                let folders = self.memory.as_deref().into_iter().chain(hidden.as_ref());
                recording::unreadable(folders)
            }
        }
    }

    fn store(&self, run: &mut Run, events: &mut EventSource) -> Result<()> {
        match events {
            _ if run.run.events.is_none() => {}
            EventSource::Records(records) => {
                records.sort_by_key(|record| record.rank);
                tables::write_events(&self.path, run, &mut records.iter())?;
            }
            EventSource::Files(hidden) => {
                let folders = self.memory.as_deref().into_iter().chain(hidden.as_ref());
                self.join_events(run, recording::rank_files(folders))?;
            }
        }
        Ok(store::write(&self.path, run)?)
    }

    /// Results that could not be stored are not lost.
    fn kept(&self, error: Error) -> Error {
        let Some(memory) = &self.memory else { return error };
        let (memory, shown) = (memory.path().display(), self.path.display());
        error.help(format!(
            "what was measured is still in memory ({memory}): make room, then \
             `parabench report {shown} --settle`"
        ))
    }

    fn join_events(&self, run: &mut Run, files: Vec<PathBuf>) -> Result<()> {
        let names: HashSet<_> = files.iter().filter_map(|file| file.file_name()).collect();
        let missing = (run.run.ranks as usize).saturating_sub(names.len());
        if missing > 0 {
            run.run.evidence.notes.push(format!(
                "the events of {missing_ranks} are not stored: they did not reach rank 0",
                missing_ranks = model::words::count(missing, "rank")
            ));
        }
        // What cannot be read was said when it was merged.
        let records = files.iter().filter_map(|file| recording::read_rank(file).ok());
        // A rank that has sent its file to rank 0 may not have removed it yet.
        let mut last = None;
        let mut records = records.filter(|record| last.replace(record.rank) != Some(record.rank));
        tables::write_events(&self.path, run, &mut records)
    }

    /// The ranks never started: what [`Folder::begin`] wrote goes.
    pub fn abandon(&self) {
        let is_ours = |run: Run| run.run.recording.is_some() && run.run.id == self.id;
        let stored = store::read(&self.path);
        if !self.is_resumed && self.temporary.is_none() && stored.is_ok_and(is_ours) {
            // A run.json that cannot be removed tells that nothing was measured.
            let _ = fs::remove_file(self.path.join(RUN_FILE));
        }
        if !self.is_resumed {
            let _ = self.executions.as_ref().map(sweep::remove);
        }
        let _ = self.clear(&[]);
    }

    /// Removes what ranks have recorded but for `kept`, and a folder that was to go.
    pub(crate) fn clear(&self, kept: &[Unreadable]) -> Result<()> {
        let memory = self.memory.as_ref().map_or(Ok(()), |memory| match self.is_execution {
            true => recording::clear(memory, kept),
            false => recording::remove(memory, kept),
        });
        let temporary = self.temporary.as_ref().map_or(Ok(()), |own| {
            own.remove_file(RUN_FILE)?;
            own.remove()
        });
        memory.and(temporary).map_err(|error| self.failed("tidy up after", &error))
    }

    pub(crate) fn failed(&self, what: &str, error: &io::Error) -> Error {
        Error::failed(format!("cannot {what} the results folder {}: {error}", self.path.display()))
    }

    /// Nothing has run yet: another folder has to be named.
    pub(crate) fn refused(&self, what: &str, error: &io::Error) -> Error {
        Error::input(self.failed(what, error).message).help("choose another folder with --out")
    }
}

const WITHOUT_MEMORY: &str = "if parabench is killed, the results are lost: the only tmpfs with \
     room for them is the one that is measured";

/// Refuses files under our names that are not ours.
fn check_names(folder: &Path) -> Result<()> {
    let path = folder.join(EVENTS_FILE);
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    match EventReader::open(&path) {
        Ok(_) | Err(StoreError::Version { .. }) if !path.is_symlink() => Ok(()),
        _ => Err(Error::input(format!(
            "--out {}: {EVENTS_FILE} in it is not an event table of Parabench",
            folder.display()
        ))
        .help("choose another folder, or move the file")),
    }
}

/// Tells a run from all others.
fn new_id() -> String {
    random_letters(16)
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// A path without symbolic links; its last part need not exist.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(real_path(parent)?.join(name)),
                _ => Err(error),
            }
        }
        other => other,
    }
}
