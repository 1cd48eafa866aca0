//! The folder of `--out`: what is in it while a run is under way, and afterwards.
//!
//! ```text
//! DIR/run.json         the run; while the ranks are at work it says "cut off"
//! DIR/events.parquet   with --events
//! DIR/ranks/           while the ranks are at work: their own files, and
//! DIR/ranks/places     where in the program text each instruction stands
//! DIR/ranks/last-words  why a rank's process ended by itself, if one did
//! DIR/ranks/owner      the process that supervises them
//! ```
//!
//! A run that is killed leaves `ranks`; `parabench report DIR` merges it and
//! puts the folder in order.

mod data;
mod events;
pub mod merge;
mod owner;
mod places;
mod sweep;

pub use data::{store_data, views};

use crate::error::{Error, Result};
use ::report::events::EVENTS_FILE;
use ::report::store::{self, RUN_FILE};
use engine::record::{RankRecord, read_path};
use model::Plan;
use model::run::{Evidence, RankError, Run, VERSION};
use mpi::leaving::LAST_WORDS;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Folder of the ranks' files below the results.
const RANKS: &str = "ranks";
/// File with the places, beside the ranks' files.
const PLACES: &str = "places";

/// A results folder that is ours to fill.
pub struct Folder {
    path: PathBuf,
    /// It goes at the end.
    temporary: bool,
}

/// Where the events of the ranks are at the end.
pub enum EventSource {
    /// In memory, or mapped.
    Records(Vec<RankRecord>),
    /// In the ranks' files in this folder, as far as this machine sees them: they are read one
    /// after the other.
    Files,
}

impl Folder {
    /// Makes or accepts a folder. Everything is checked before anything is changed.
    pub fn open(path: &Path, run_directory: Option<&Path>, force: bool) -> Result<Folder> {
        let shown = path.display();
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect(),
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(Error::input(format!(
                    "--out {shown}: expected a folder, found a file"
                )));
            }
            Err(error) => return Err(Error::input(format!("--out {shown}: {error}"))),
        };
        let real =
            real_path(path).map_err(|error| Error::input(format!("--out {shown}: {error}")))?;
        if run_directory.is_some_and(|directory| real.starts_with(directory)) {
            return Err(Error::input(format!("--out {shown} lies inside the run directory"))
                .help("results stand apart from what the program makes: choose another folder"));
        }
        let ours = |name: &&std::ffi::OsString| *name == RUN_FILE || *name == RANKS;
        let foreign = entries.iter().find(|name| !ours(name) && **name != EVENTS_FILE);
        if let Some(name) = foreign.filter(|_| !force) {
            let name = name.to_string_lossy();
            return Err(Error::input(format!("--out {shown} holds other things, such as {name}"))
                .help("choose a new or empty folder, or add --force to put the run beside them"));
        }
        if !force && entries.iter().any(|name| ours(&name)) {
            return Err(Error::input(format!("--out {shown} holds another run"))
                .help("choose another folder, or add --force to replace that run"));
        }
        // A rank leaves the current directory, and under MPI one of them stores the results.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let folder = Folder { path, temporary: false };
        folder.empty().map_err(|error| folder.refused("prepare", &error))?;
        Ok(folder)
    }

    /// A folder that goes at the end: this one, or a new one.
    pub fn temporary(path: Option<PathBuf>) -> Result<Folder> {
        let failed =
            |error: io::Error| Error::input(format!("cannot make a temporary folder: {error}"));
        let path = match path {
            Some(path) => path,
            None => {
                let folder = tempfile::Builder::new().prefix("parabench-run-").tempdir();
                folder.map_err(failed)?.keep()
            }
        };
        let folder = Folder { path, temporary: true };
        folder.empty().map_err(failed)?;
        Ok(folder)
    }

    /// It is still there when the run is over.
    pub fn stays(&self) -> bool {
        !self.temporary
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the ranks keep their files while they are at work.
    pub fn ranks(&self) -> PathBuf {
        self.path.join(RANKS)
    }

    /// Before the ranks start: what `report` needs should this process be killed.
    pub fn begin(&self, run: &Run, plan: &Plan) -> Result<()> {
        let places = places::to_bytes(plan);
        fs::create_dir(self.ranks())
            .and_then(|()| owner::write(&self.ranks()))
            .and_then(|()| fs::write(self.ranks().join(PLACES), places))
            .map_err(|error| self.refused("write into", &error))?;
        store::write(&self.path, run).map_err(|error| Error::failed(error.to_string()))
    }

    /// At the end: the run as it was measured, with its events. The ranks' files go.
    pub fn finish(&self, run: &mut Run, events: EventSource) -> Result<()> {
        if self.temporary {
            return fs::remove_dir_all(&self.path).map_err(|error| self.failed("remove", &error));
        }
        if run.run.events.is_some() {
            self.write_events(run, events)?;
        }
        store::write(&self.path, run).map_err(|error| Error::failed(error.to_string()))?;
        fs::remove_dir_all(self.ranks()).map_err(|error| self.failed("tidy up", &error))
    }

    fn write_events(&self, run: &mut Run, events: EventSource) -> Result<()> {
        let files = match events {
            EventSource::Records(mut records) => {
                records.sort_by_key(|record| record.rank);
                return events::write(&self.path, run, &mut records.into_iter());
            }
            EventSource::Files => rank_files(&self.ranks()),
        };
        let missing = (run.run.ranks as usize).saturating_sub(files.len());
        if missing > 0 {
            run.run.evidence.notes.push(format!(
                "the events of {missing} ranks are not stored: their machines do not share the folder {}",
                self.path.display()
            ));
        }
        // What cannot be read was said when it was merged.
        let mut records = files.iter().filter_map(|file| read_path(file).ok());
        events::write(&self.path, run, &mut records)
    }

    /// The ranks never started: what [`Folder::begin`] wrote goes.
    pub fn abandon(&self) {
        // What cannot be removed is replaced by the next run.
        let _ = if self.temporary { fs::remove_dir_all(&self.path) } else { self.empty() };
    }

    /// Removes what an earlier run left here.
    fn empty(&self) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        for name in [RUN_FILE, EVENTS_FILE] {
            gone(fs::remove_file(self.path.join(name)))?;
        }
        gone(fs::remove_dir_all(self.path.join(RANKS)))
    }

    fn failed(&self, what: &str, error: &io::Error) -> Error {
        Error::failed(format!("cannot {what} the results folder {}: {error}", self.path.display()))
    }

    /// Nothing has run yet: another folder has to be named.
    fn refused(&self, what: &str, error: &io::Error) -> Error {
        Error::input(self.failed(what, error).message).help("choose another folder with --out")
    }
}

/// A stored run as a reader finds it: whole, or merged from what the ranks left if it was
/// cut off. The folder of a run whose process is gone is put in order on the way.
pub fn read(path: &Path) -> Result<Run> {
    let mut run = store::read(path).map_err(|error| Error::input(error.to_string()))?;
    let folder = Folder { path: path.to_path_buf(), temporary: false };
    if !folder.ranks().is_dir() {
        return Ok(run);
    }
    if run.run.sweep.is_some() {
        return folder.read_sweep(run);
    }
    folder.merge(&mut run);
    if owner::is_gone(&folder.ranks()) {
        settle(path, &mut run)?;
    } else {
        run.run.evidence.notes.push("the run is not over: these are figures up to now".into());
    }
    Ok(run)
}

/// A stored run, merged from what the ranks left if there is anything of that.
pub fn cut_off(path: &Path) -> Result<Run> {
    let mut run = store::read(path).map_err(|error| Error::input(error.to_string()))?;
    let folder = Folder { path: path.to_path_buf(), temporary: false };
    if folder.ranks().is_dir() {
        folder.merge(&mut run);
    }
    Ok(run)
}

/// Stores a run that was cut off as one that is over.
pub fn settle(path: &Path, run: &mut Run) -> Result<()> {
    Folder { path: path.to_path_buf(), temporary: false }.finish(run, EventSource::Files)
}

impl Folder {
    /// Fills a provisional run with what the ranks have written.
    fn merge(&self, run: &mut Run) {
        let mut notes = vec!["the run was cut off: this is what its ranks had measured".into()];
        let bytes = fs::read(self.ranks().join(PLACES)).ok();
        let plan = bytes.and_then(|bytes| places::to_plan(&bytes, &run.run.program));
        let mut records = Vec::new();
        for file in rank_files(&self.ranks()) {
            match read_path(&file) {
                Ok(record) => records.push(record),
                Err(why) => notes.push(format!("a rank's file cannot be read: {why}")),
            }
        }
        let missing = (run.run.ranks as usize).saturating_sub(records.len());
        if missing > 0 {
            notes.push(format!("{missing} of {} ranks left nothing", run.run.ranks));
        }
        fill(run, engine::record::collect(&records, &plan.unwrap_or_default()));
        let left = mpi::leaving::told(&self.ranks());
        let left = left.map(|(rank, message)| RankError { rank, message, ..RankError::default() });
        run.run.rank_errors.extend(left);
        run.run.evidence.notes.extend(notes);
        run.run.evidence.marks = report::verdict::marks(run);
    }
}

/// Puts what the ranks measured into a run whose header is there. Evidence that only
/// the parent has (clock, confinement, notes of its own) stays.
pub fn fill(run: &mut Run, collected: engine::record::Collected) {
    run.version = VERSION;
    run.rows = collected.rows;
    run.times = collected.times;
    let header = &mut run.run;
    header.times_more = collected.times_more;
    header.failures = collected.failures;
    header.rank_errors = collected.rank_errors;
    header.sites = collected.sites;
    header.duration_wall_ns = collected.duration_wall_ns;
    let own = std::mem::take(&mut header.evidence);
    let mut notes = own.notes;
    notes.extend(collected.evidence.notes);
    header.evidence = Evidence {
        clock: own.clock,
        clock_read_ns: own.clock_read_ns,
        clock_skew_ns: own.clock_skew_ns,
        confinement: own.confinement,
        notes,
        ..collected.evidence
    };
}

/// The ranks' files, without what is not one.
fn rank_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| {
        ![PLACES, owner::OWNER, LAST_WORDS].iter().any(|other| path.ends_with(other))
    });
    // By number: events are stored rank by rank.
    files.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.rsplit_once('-').and_then(|(_, rank)| rank.parse::<u32>().ok())
    });
    files
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

fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
