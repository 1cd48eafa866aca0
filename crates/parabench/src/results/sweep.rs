//! The executions of a sweep on disk: each is a run of its own, finished or cut off like any
//! other, until the sweep is over and they are put together.
//!
//! ```text
//! DIR/run.json                                  the grid; `recording` names the next
//! DIR/executions-k3Rw9a/000007/run.json         the eighth execution
//! DIR/executions-k3Rw9a/000007/events.parquet
//! ```

use super::folder::{Folder, Needs};
use super::recording::EXECUTIONS;
use super::recording::Found;
use super::stored::Merged;
use super::{leftover, recording, stored, tables};
use crate::error::{Error, Result};
use ::report::events::{EVENTS_FILE, EventWriter};
use ::report::store::RUN_FILE;
use ::report::{StoreError, merge, store};
use engine::own_folder::OwnFolder;
use engine::recorder::RankRecord;
use model::run::{EventExtents, Run, Site};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Part of an execution in the events of a sweep.
pub struct Part {
    at: (u32, u32),
    sites: Vec<Site>,
    left_out: u64,
    /// Pieces that its table refers to.
    extents: Vec<EventExtents>,
    /// The folder of its table.
    folder: PathBuf,
    /// It was cut off: what its ranks have recorded is here.
    records: Option<(Run, Vec<RankRecord>)>,
}

impl Folder {
    /// Before the first execution: what a reader needs should this process be killed.
    pub fn begin_sweep(&mut self, run: &mut Run, needs: &Needs<'_>) -> Result<()> {
        let begun = self.prepare(run, needs).and_then(|()| self.make_executions());
        begun.and_then(|()| self.announce(run)).inspect_err(|_| self.abandon())
    }

    fn make_executions(&mut self) -> Result<()> {
        if self.executions.is_none() {
            let made = OwnFolder::fresh(&self.path, EXECUTIONS);
            self.executions = Some(made.map_err(|error| self.refused("prepare", &error))?);
        }
        // Nobody else resumes it meanwhile, as far as the file system has locks.
        let _ = self.executions.as_ref().map(|executions| (executions.hold(), executions.claim()));
        Ok(())
    }

    /// The folder of an execution that is about to begin, `number` from 0.
    pub fn execution(&self, number: usize) -> Result<Folder> {
        let executions = self.executions.as_ref().map_or(self.path.as_path(), OwnFolder::path);
        let path = executions.join(format!("{number:06}"));
        let made = fs::create_dir(&path);
        made.map_err(|error| self.failed("store another execution in", &error))?;
        let memory = self.memory.as_ref().map(Rc::clone);
        let id = self.id.clone();
        Ok(Folder { memory, is_execution: true, path, id, ..Folder::default() })
    }

    /// At the end of a sweep, whose executions are in `run`: their events are joined, and their
    /// folders go, unless executions are missing that can be made up for.
    pub fn finish_sweep(&self, run: &mut Run) -> Result<()> {
        run.run.recording = None;
        let is_whole = run.run.sweep.as_ref().is_none_or(|sweep| sweep.rest.is_none());
        if run.run.events.is_some() {
            join_events(&self.path, run, &self.parts(run)?)?;
        }
        store::write(&self.path, run)?;
        let removed = self.executions.as_ref().filter(|_| is_whole).map_or(Ok(()), remove);
        removed.map_err(|error| self.failed("tidy up", &error))?;
        self.clear(&recording::unreadable(self.memory.as_deref()))
    }

    /// Those of its executions that `run` consists of, all of which are finished.
    fn parts(&self, run: &Run) -> Result<Vec<Part>> {
        let order = run.run.sweep.iter().flat_map(|sweep| &sweep.order);
        let mut wanted: HashSet<(u32, u32)> =
            order.map(|execution| (execution.cell, execution.repetition)).collect();
        let mut parts = Vec::new();
        for path in self.executions.iter().flat_map(|own| names(own.path())) {
            let execution = store::read(&path)?;
            if place(&execution).is_some_and(|at| wanted.remove(&at)) {
                parts.push(Part::new(path, &execution));
            }
        }
        Ok(parts)
    }
}

/// Place of an execution in the grid, if it is one of the sweep `whole` and the first of its place. `taken`: places so
/// far.
///
/// # Errors
/// It is left out; in words.
pub(crate) fn take_place(
    whole: &Run,
    taken: &mut HashSet<(u32, u32)>,
    path: &Path,
    execution: &Run,
) -> std::result::Result<(u32, u32), String> {
    let sweep = whole.run.sweep.as_ref();
    let (cells, reps) = sweep.map_or((0, 0), |sweep| (sweep.cells.len(), sweep.reps));
    let place = place(execution).filter(|(cell, rep)| (*cell as usize) < cells && *rep < reps);
    let why = match place {
        Some(place) if taken.insert(place) => return Ok(place),
        Some(_) => "another folder holds the same execution",
        None => "it is no execution of this sweep",
    };
    Err(format!("{} is left out: {why}", path.display()))
}

/// Place of an execution in the grid.
pub(crate) fn place(execution: &Run) -> Option<(u32, u32)> {
    match &execution.run.sweep.as_ref()?.order[..] {
        [one] => Some((one.cell, one.repetition)),
        _ => None,
    }
}

impl Part {
    fn new(folder: PathBuf, run: &Run) -> Part {
        Part {
            at: place(run).unwrap_or_default(),
            sites: run.run.sites.clone(),
            left_out: run.run.events.as_ref().map_or(0, |events| events.left_out),
            extents: run.run.events.as_ref().map_or_else(Vec::new, |info| info.extents.clone()),
            folder,
            records: None,
        }
    }
}

/// The folders of executions in their order.
pub(crate) fn names(executions: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(executions).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.len() == 6 && name.bytes().all(|byte| byte.is_ascii_digit()));
    names.sort();
    names.iter().map(|name| executions.join(name)).collect()
}

/// Fills a sweep that has not ended with its executions. Gives what the last one lacks.
pub(crate) fn put_together(run: &mut Run, found: &Found, parts: &mut Vec<Part>) -> Result<Merged> {
    let (mut merged, mut unreadable) = (Merged::default(), 0);
    let (mut places, mut left_out) = (HashSet::new(), Vec::new());
    for path in found.executions.iter().flat_map(|own| names(own.path())) {
        let mut execution = match store::read(&path) {
            Ok(execution) => execution,
            // It was about to begin.
            Err(StoreError::Missing { .. }) => continue,
            Err(_) => {
                unreadable += 1;
                continue;
            }
        };
        if let Err(why) = take_place(run, &mut places, &path, &execution) {
            left_out.push(why);
            continue;
        }
        let mut part = Part::new(path, &execution);
        if execution.run.recording.take().is_some() {
            execution.run.sweep = None;
            let mut records = Vec::new();
            merged = stored::merge(&mut execution, found, &mut records);
            merge::stamp(&mut execution, part.at.0, part.at.1);
            part.sites = execution.run.sites.clone();
            part.records = Some((execution.clone(), records));
        }
        if let (Some(whole), Some(events)) = (&mut run.run.events, &execution.run.events) {
            whole.count += events.count;
            whole.left_out += events.left_out;
        }
        merge::add(run, execution);
        parts.push(part);
    }
    run.run.evidence.notes.extend(left_out);
    if unreadable > 0 {
        let note = format!(
            "{unreadable_executions} left nothing that can be read",
            unreadable_executions = model::words::count(unreadable, "execution")
        );
        run.run.evidence.notes.push(note);
    }
    Ok(merged)
}

/// Joins the tables of the executions, with one row group in memory at a time.
pub(crate) fn join_events(folder: &Path, run: &mut Run, parts: &[Part]) -> Result<()> {
    let mut table = EventWriter::create(folder, &run.run.sites)?;
    let sites = &mut run.run.sites.clone();
    let mut left_out = 0;
    for part in parts {
        let numbers: HashMap<u32, u32> = merge::add_sites(sites, part.sites.clone());
        left_out += part.left_out;
        match &part.records {
            Some((run, records)) => {
                let temporary = tempfile::tempdir_in(folder)
                    .map_err(|error| Error::failed(format!("cannot make a folder: {error}")))?;
                let mut run = run.clone();
                tables::write_events(temporary.path(), &mut run, &mut records.iter())?;
                let events = run.run.events.unwrap_or_default();
                left_out += events.left_out;
                table.append(temporary.path(), part.at, &numbers, &events.extents)?;
            }
            None if part.folder.join(EVENTS_FILE).is_file() => {
                table.append(&part.folder, part.at, &numbers, &part.extents)?;
            }
            None => {}
        }
    }
    tables::finish(table, run, left_out)
}

/// Removes the executions of a sweep, and nothing else that may lie there.
pub(crate) fn remove(executions: &OwnFolder) -> io::Result<()> {
    names(executions.path()).iter().try_for_each(|path| remove_one(executions, path))?;
    executions.remove()
}

/// Removes an execution.
pub(crate) fn remove_one(executions: &OwnFolder, path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let own = executions.open_in(&name)?;
    for file in [RUN_FILE, EVENTS_FILE] {
        own.remove_file(file)?;
    }
    leftover::remove_unfinished(&own)?;
    executions.remove_folder(&name)
}
