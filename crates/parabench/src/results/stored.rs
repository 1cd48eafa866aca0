//! A stored run as a reader finds it: finished, or put together from what its ranks have recorded
//! so far. Reading never writes: the same folder gives the same figures every time.

use super::recording::{Found, State, Unreadable, once_let_go};
use super::sweep::Part;
use super::{leftover, recording, resume, sweep, tables};
use crate::error::{Error, Result};
use crate::present::Pictures;
use ::page::views;
use ::report::store;
use engine::own_folder::OwnFolder;
use engine::recorder::RankRecord;
use model::Plan;
use model::run::{EventsInfo, Node, Run, spans};
use model::sweep::Rest;
use std::io;
use std::path::{Path, PathBuf};

/// A stored run.
#[derive(Default)]
pub struct Stored {
    /// The run.
    pub run: Run,
    /// The folder of its run.json.
    folder: PathBuf,
    found: Found,
    /// Records of the ranks of a run that has not ended.
    records: Vec<RankRecord>,
    /// Executions of a sweep that has not ended.
    parts: Vec<Part>,
    /// Remarks that hold now and will not for ever.
    passing: Vec<String>,
    /// How to go on with a sweep.
    advice: Option<String>,
    /// Ranks whose records are on other machines, or cannot be read: until they are, nothing is final.
    is_partial: bool,
    /// Files of the latter: they stay.
    unreadable: Vec<Unreadable>,
}

/// Reads a run that must be over.
pub fn read_ended(path: &Path) -> Result<Stored> {
    once_let_go(|| read(path), |found| found.as_ref().is_ok_and(Stored::is_under_way))
}

/// Reads the run in the folder `path`, or whose run.json it is.
pub fn read(path: &Path) -> Result<Stored> {
    let mut run = store::read(path).map_err(|error| Error::input(error.to_string()))?;
    let folder = folder_of(path);
    if run.run.recording.is_none() {
        let rest = run.run.sweep.as_ref().and_then(|sweep| sweep.rest.as_ref());
        let executions = rest.and_then(|rest| resume::executions(&folder, rest).ok());
        let found = Found { executions, ..Found::default() };
        if run.run.outcome == "cut off" {
            run.run.evidence.notes.extend(leftover::scratch(&run));
        }
        return Ok(Stored::new(run, folder, found));
    }
    let found = Found::look(&folder, &run.run);
    let (mut records, mut parts) = (Vec::new(), Vec::new());
    let Merged { absent, unreadable } = match run.run.sweep.is_some() {
        true => sweep::put_together(&mut run, &found, &mut parts)?,
        false => merge(&mut run, &found, &mut records),
    };
    if found.state == State::UnderWay {
        run.run.outcome = "under way".into();
        // It has none yet; what is stored is that of a run that is cut off.
        run.run.exit_code = 0;
    }
    let mut passing = vec![found.remark.clone()];
    if found.state == State::UnderWay {
        passing.extend(found.describe_waiting(Path::new(&run.run.host.directory)));
    }
    passing.extend(absent.iter().map(|absent| absent.describe(&folder, &found)));
    if found.state != State::UnderWay {
        passing.extend(leftover::scratch(&run));
    }
    run.run.evidence.notes.extend(passing.iter().cloned());
    let advice = rest(&run).filter(|_| found.state == State::CutOff);
    let advice = advice.map(|rest| resume::advice(&folder, rest));
    run.run.evidence.notes.extend(advice.clone());
    let is_partial = !absent.is_empty() || !unreadable.is_empty();
    Ok(Stored { run, folder, found, records, parts, passing, advice, is_partial, unreadable })
}

/// The parent of `run.json` alone is "".
fn folder_of(path: &Path) -> PathBuf {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.into() }
}

/// Records that are missing in a run that was assembled.
#[derive(Default)]
pub(crate) struct Merged {
    /// Machines whose records are not here.
    absent: Vec<Absent>,
    /// Files of ranks that cannot be read.
    unreadable: Vec<Unreadable>,
}

/// Fills a run that has not ended with what its ranks have recorded.
pub(crate) fn merge(run: &mut Run, found: &Found, records: &mut Vec<RankRecord>) -> Merged {
    let unreadable;
    (*records, unreadable) = found.records();
    let mut notes: Vec<String> = unreadable.iter().map(Unreadable::describe).collect();
    let plan = found.plan().unwrap_or_else(|why| {
        if !records.is_empty() {
            notes.push(format!("the places of operations in the program are unknown: {why}"));
        }
        Plan::default()
    });
    let is_here = found.memory.is_some() || found.copies.is_some();
    let absent = if is_here { absent(run, records) } else { Vec::new() };
    let elsewhere: u32 = absent.iter().map(|absent| absent.ranks.size()).sum();
    let missing = (run.run.ranks - elsewhere.min(run.run.ranks)) as usize;
    let missing = missing.saturating_sub(records.len());
    if missing > 0 && found.memory.is_some() {
        notes.push(format!("{missing} of {} ranks left nothing on this machine", run.run.ranks));
    }
    tables::fill(run, engine::collect::collect(records, &plan));
    if let Some(asked) = &run.run.events {
        run.run.events = Some(EventsInfo {
            count: records.iter().map(RankRecord::event_count).sum(),
            dropped: run.run.evidence.dropped_events,
            left_out: records.iter().map(|record| record.header.left_out_events).sum(),
            ..asked.clone()
        });
    }
    run.run.evidence.notes.extend(notes);
    report::rules::judge(run);
    Merged { absent, unreadable }
}

/// A machine of the job whose ranks' records are not here.
struct Absent {
    host: String,
    /// Those of its ranks.
    ranks: Node,
}

/// Machines are distinguished by their names if these differ, or else by their records.
fn absent(run: &Run, records: &[RankRecord]) -> Vec<Absent> {
    let nodes = run.run.job.as_ref().map(|job| &job.nodes[..]).unwrap_or_default();
    let here = recording::here().host;
    let is_alone = nodes.iter().filter(|node| node.host == here).count() == 1;
    let others = nodes.iter().filter(|node| !(is_alone && node.host == here) && nodes.len() > 1);
    let missing = |rank: &u32| records.iter().all(|record| record.rank != *rank);
    let absent = others.map(|node| {
        let ranks = (0..run.run.ranks).filter(|rank| node.has(*rank)).filter(missing);
        let ranks = Node { ranks: spans(ranks), ..Node::default() };
        Absent { host: node.host.clone(), ranks }
    });
    absent.filter(|absent| absent.ranks.size() > 0).collect()
}

impl Absent {
    fn describe(&self, folder: &Path, found: &Found) -> String {
        let noun = model::words::plural(u64::from(self.ranks.size()), "rank");
        let (host, folder) = (&self.host, folder.display());
        let recorded = found.recorded.as_deref().unwrap_or(Path::new("")).display();
        format!(
            "the records of {noun} {} are not here: they lie in the memory of {host}; `parabench report {folder} \
             --settle` there adds them, or here after {host}:{recorded} was copied into {folder}",
            self.ranks.spans()
        )
    }
}

/// How a sweep is to go on.
fn rest(run: &Run) -> Option<&Rest> {
    run.run.sweep.as_ref()?.rest.as_ref()
}

impl Stored {
    /// A run with nothing besides.
    pub(crate) fn new(run: Run, folder: PathBuf, found: Found) -> Stored {
        Stored { run, folder, found, ..Stored::default() }
    }

    /// Its pictures. A damaged event table is the input's fault.
    pub fn pictures(&mut self) -> Result<Pictures> {
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
    /// a run that ended by itself, and frees the memory that it lay in. False: records are on other machines or cannot
    /// be read; the others lie in the run's folder now, and nothing is final.
    pub fn settle(&mut self) -> Result<bool> {
        let shown = self.folder.display();
        match self.found.state {
            State::Finished => {
                crate::console::note(&format!("--settle: the run in {shown} has ended already"));
                Ok(true)
            }
            State::UnderWay => {
                let users = self.found.describe_users();
                let message =
                    format!("--settle: the run in {shown} is not finished: processes {users}");
                Err(Error::input(message).help(
                    "wait for its end, or interrupt it: it stores what it has measured; ranks that \
                     nothing can kill end when their storage answers",
                ))
            }
            State::OutOfSight => Err(Error::input(format!(
                "--settle: there is nothing to store: {}",
                self.found.remark
            ))),
            State::CutOff if self.is_partial => self.finish(),
            State::CutOff => {
                if let Some(sweep) = &mut self.run.run.sweep {
                    sweep.rest = None;
                }
                let is_whole = self.finish()?;
                self.run.run.evidence.notes.extend(leftover::scratch(&self.run));
                Ok(is_whole)
            }
        }
    }

    /// The same for a run whose processes are known to be gone, or going. A sweep can be resumed.
    pub fn finish(&mut self) -> Result<bool> {
        if self.is_partial {
            return self.gather().map(|()| false);
        }
        let mut run = self.run.clone();
        run.run.recording = None;
        run.run.outcome = "cut off".into();
        let rests = rest(&run).is_some();
        let is_past = |note: &String| {
            self.passing.contains(note) || (!rests && Some(note) == self.advice.as_ref())
        };
        run.run.evidence.notes.retain(|note| !is_past(note));
        let remark = "the run was cut off: this is what its ranks had measured";
        run.run.evidence.notes.push(remark.into());
        self.store_events(&self.folder, &mut run)?;
        store::write(&self.folder, &run)?;
        // What the killed run was writing. Nobody else is at work on the folder.
        let _ = OwnFolder::open(&self.folder).and_then(|own| leftover::remove_unfinished(&own));
        self.run = run;
        if rests {
            self.found.executions = None;
        }
        self.clear().map(|()| true)
    }

    /// Brings what is in the memory of this machine to the run's folder, where it waits for that of others.
    fn gather(&mut self) -> Result<()> {
        let failed =
            |what: &str, error: io::Error| Error::failed(format!("cannot {what}: {error}"));
        let copy = self.found.copy(&self.folder, &self.unreadable);
        copy.map_err(|error| failed("copy what the ranks had measured", error))?;
        let memory = self.found.memory.take();
        let freed = memory.map_or(Ok(()), |memory| recording::remove(&memory, &self.unreadable));
        freed.map_err(|error| failed("free the memory that it lay in", error))
    }

    /// Frees what a run that was cut off has left: it is stored, or replaced.
    pub(crate) fn clear(&self) -> Result<()> {
        let Found { memory, copies, executions, .. } = &self.found;
        let mut folders = memory.iter().chain(copies);
        let memory = folders.try_for_each(|folder| recording::remove(folder, &self.unreadable));
        let executions = executions.iter().try_for_each(sweep::remove);
        memory.and(executions).map_err(|error| {
            Error::failed(format!("cannot remove what {} had left: {error}", self.folder.display()))
        })
    }

    /// The other machine, on which alone one can see whether the run is still open.
    pub(crate) fn host_out_of_sight(&self) -> Option<String> {
        let host = self.run.run.recording.as_ref().map(|recording| &recording.host);
        let is_hidden = self.found.state == State::OutOfSight;
        host.filter(|host| is_hidden && **host != recording::here().host).cloned()
    }

    /// Somebody may be at work on it.
    pub(crate) fn is_under_way(&self) -> bool {
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
        tables::write_events(folder, run, &mut self.records.iter())
    }
}
