//! A stored run as a reader finds it: finished, or put together from what its ranks have recorded
//! so far. Reading never writes: the same folder gives the same figures every time.

use super::recording::{Found, State};
use super::sweep::Part;
use super::{Folder, events, fill, leftover, resume, sweep};
use crate::error::{Error, Result};
use ::report::store;
use ::report::views::{self, Views};
use engine::record::RankRecord;
use model::Plan;
use model::run::{EventsInfo, RankError, Run};
use std::path::{Path, PathBuf};

/// A stored run.
pub struct Stored {
    /// What was measured.
    pub run: Run,
    /// The folder of its run.json.
    folder: PathBuf,
    found: Found,
    /// Of a run that has not ended: what its ranks have recorded.
    records: Vec<RankRecord>,
    /// Of a sweep that has not ended: its executions.
    parts: Vec<Part>,
    /// Remarks that hold now and will not for ever.
    passing: Vec<String>,
}

/// Reads the run in the folder `path`, or whose run.json it is.
pub fn read(path: &Path) -> Result<Stored> {
    let mut run = store::read(path).map_err(|error| Error::input(error.to_string()))?;
    let folder = folder_of(path);
    let Some(recording) = run.run.recording.clone() else {
        let rest = run.run.sweep.as_ref().and_then(|sweep| sweep.rest.as_ref());
        let executions = rest.and_then(|rest| resume::executions(&folder, rest).ok());
        let found = Found { executions, ..Found::nothing() };
        if run.run.outcome == "cut off" {
            run.run.evidence.notes.extend(leftover::scratch(&run));
        }
        return Ok(Stored::of(run, folder, found));
    };
    let found = Found::look(&folder, &recording);
    let (mut records, mut parts) = (Vec::new(), Vec::new());
    match run.run.sweep.is_some() {
        true => parts = sweep::put_together(&mut run, &found)?,
        false => records = merge(&mut run, &found),
    }
    if found.state == State::UnderWay {
        run.run.outcome = "under way".into();
        // It has none yet; what is stored is that of a run that is cut off.
        run.run.exit_code = 0;
    }
    let mut passing = vec![found.remark.clone()];
    if found.state != State::UnderWay {
        passing.extend(leftover::scratch(&run));
    }
    run.run.evidence.notes.extend(passing.iter().cloned());
    if found.state == State::CutOff && is_resumable(&run) {
        run.run.evidence.notes.push(resume::advice(&folder));
    }
    Ok(Stored { run, folder, found, records, parts, passing })
}

/// Of `run.json` alone the parent is "".
fn folder_of(path: &Path) -> PathBuf {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.into() }
}

/// Fills a run that has not ended with what its ranks have recorded.
pub(super) fn merge(run: &mut Run, found: &Found) -> Vec<RankRecord> {
    let (records, mut notes) = found.records();
    let plan = found.plan().unwrap_or_else(|why| {
        if !records.is_empty() {
            notes.push(format!("where operations stand in the program is unknown: {why}"));
        }
        Plan::default()
    });
    let missing = (run.run.ranks as usize).saturating_sub(records.len());
    if missing > 0 && found.memory.is_some() {
        notes.push(format!("{missing} of {} ranks left nothing on this machine", run.run.ranks));
    }
    fill(run, engine::record::collect(&records, &plan));
    let left = found.last_words();
    let left = left.map(|(rank, message)| RankError { rank, message, ..RankError::default() });
    run.run.rank_errors.extend(left);
    if let Some(asked) = &run.run.events {
        run.run.events = Some(EventsInfo {
            count: records.iter().map(RankRecord::event_count).sum(),
            dropped: run.run.evidence.dropped_events,
            left_out: records.iter().map(|record| record.left_out_events).sum(),
            ..asked.clone()
        });
    }
    run.run.evidence.notes.extend(notes);
    run.run.evidence.marks = report::verdict::marks(run);
    records
}

fn is_resumable(run: &Run) -> bool {
    run.run.sweep.as_ref().is_some_and(|sweep| sweep.rest.is_some())
}

impl Stored {
    /// A run with nothing besides.
    pub(super) fn of(run: Run, folder: PathBuf, found: Found) -> Stored {
        let (records, parts, passing) = (Vec::new(), Vec::new(), Vec::new());
        Stored { run, folder, found, records, parts, passing }
    }

    /// Its pictures. A damaged event table is the input's fault.
    pub fn views(&mut self) -> Result<Views> {
        let broken = |error: ::report::StoreError| Error::input(error.to_string());
        if self.found.state == State::Finished {
            return views::stored(&self.folder, &self.run).map_err(broken);
        }
        let temporary = tempfile::tempdir()
            .map_err(|error| Error::failed(format!("cannot make a temporary folder: {error}")))?;
        let mut run = self.run.clone();
        self.store_events(temporary.path(), &mut run)?;
        views::stored(temporary.path(), &run).map_err(broken)
    }

    /// Ends a run that was cut off: stores what its ranks had measured in its folder, like that of
    /// a run that ended by itself, and frees the memory that it lay in.
    pub fn settle(&mut self) -> Result<()> {
        let shown = self.folder.display();
        match self.found.state {
            State::Finished => {
                crate::console::note(&format!("--settle: the run in {shown} has ended already"));
                Ok(())
            }
            State::UnderWay => {
                Err(Error::input(format!("--settle: the run in {shown} is not over"))
                    .help("wait for its end, or interrupt it: it stores what it has measured"))
            }
            State::OutOfSight => Err(Error::input(format!(
                "--settle: there is nothing to store: {}",
                self.found.remark
            ))),
            State::CutOff => {
                if let Some(sweep) = &mut self.run.run.sweep {
                    sweep.rest = None;
                }
                self.finish()?;
                self.run.run.evidence.notes.extend(leftover::scratch(&self.run));
                Ok(())
            }
        }
    }

    /// The same for a run whose processes are known to be gone, or going. A sweep can be resumed.
    pub fn finish(&mut self) -> Result<()> {
        let mut run = self.run.clone();
        run.run.recording = None;
        run.run.outcome = "cut off".into();
        let rests = is_resumable(&run);
        let advice = resume::advice(&self.folder);
        let is_past = |note: &String| self.passing.contains(note) || (!rests && *note == advice);
        run.run.evidence.notes.retain(|note| !is_past(note));
        let remark = "the run was cut off: this is what its ranks had measured";
        run.run.evidence.notes.push(remark.into());
        self.store_events(&self.folder, &mut run)?;
        store::write(&self.folder, &run).map_err(|error| Error::failed(error.to_string()))?;
        let ranks = run.run.ranks;
        self.run = run;
        if rests {
            self.found.executions = None;
        }
        self.clear(ranks)
    }

    /// Frees what a run that was cut off has left: it is stored, or replaced.
    pub(super) fn clear(&self, ranks: u32) -> Result<()> {
        let Found { memory, executions, .. } = &self.found;
        let memory = memory.iter().try_for_each(|memory| leftover::remove(memory, ranks));
        let executions = executions.iter().try_for_each(sweep::remove);
        memory.and(executions).map_err(|error| {
            Error::failed(format!("cannot remove what {} had left: {error}", self.folder.display()))
        })
    }

    /// Somebody may be at work on it.
    pub(super) fn is_under_way(&self) -> bool {
        self.found.state == State::UnderWay
    }

    /// Writes the events into a folder, if there are any.
    fn store_events(&self, folder: &Path, run: &mut Run) -> Result<()> {
        if run.run.events.is_none() {
            return Ok(());
        }
        if run.run.sweep.is_some() {
            return sweep::join_events(folder, run, &self.parts);
        }
        events::write(folder, run, &mut self.records.iter())
    }
}

impl Folder {
    /// The run that is in it, if one is: what a new one would replace.
    pub(super) fn stored(path: &Path) -> Result<Option<Stored>> {
        match path.join(store::RUN_FILE).symlink_metadata() {
            Ok(_) => read(path).map(Some),
            Err(_) => Ok(None),
        }
    }
}
