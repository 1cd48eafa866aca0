//! The executions of a sweep on disk: each is a run of its own in `DIR/ranks/`, whole or cut off
//! like any other, until the sweep is over and they are put together.
//!
//! ```text
//! DIR/run.json                  the grid; "cut off" until the end
//! DIR/ranks/owner               the process that supervises the sweep
//! DIR/ranks/000007/run.json     the eighth execution
//! DIR/ranks/000007/events.parquet
//! DIR/ranks/000007/ranks/       only while it is under way
//! ```

use super::{EventSource, Folder, merge, owner};
use crate::error::{Error, Result};
use ::report::events::{EVENTS_FILE, EventWriter};
use ::report::{StoreError, store};
use model::run::{EventsInfo, Run};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

impl Folder {
    /// The folder of an execution that is about to begin, `number` from 0.
    pub fn execution(&self, number: usize) -> Result<Folder> {
        let path = self.ranks().join(format!("{number:06}"));
        let folder = Folder { path, temporary: false };
        fs::create_dir(&folder.path).map_err(|error| folder.failed("make", &error))?;
        Ok(folder)
    }

    /// The executions in their order.
    fn executions(&self) -> Vec<Folder> {
        let entries = fs::read_dir(self.ranks()).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.is_dir());
        paths.sort();
        paths.into_iter().map(|path| Folder { path, temporary: false }).collect()
    }

    /// At the end of a sweep, whose executions are in `run`: their events are joined, and their
    /// folders go.
    pub fn finish_sweep(&self, run: &mut Run) -> Result<()> {
        if run.run.events.is_some() {
            self.join_events(run)?;
        }
        store::write(&self.path, run).map_err(failed)?;
        fs::remove_dir_all(self.ranks()).map_err(|error| self.failed("tidy up", &error))
    }

    /// One table out of those of the executions, a row group in memory at a time.
    fn join_events(&self, run: &mut Run) -> Result<()> {
        let mut table = EventWriter::create(&self.path, &run.run.sites).map_err(failed)?;
        let sites = &mut run.run.sites.clone();
        let mut left_out = 0;
        for folder in self.executions() {
            if !folder.path.join(EVENTS_FILE).is_file() {
                continue;
            }
            let execution = store::read(&folder.path).map_err(failed)?;
            left_out += execution.run.events.map_or(0, |events| events.left_out);
            let order = execution.run.sweep.map(|sweep| sweep.order).unwrap_or_default();
            let Some(at) = order.first() else { continue };
            let numbers: HashMap<u32, u32> = merge::add_sites(sites, execution.run.sites);
            table.append(&folder.path, (at.cell, at.repetition), &numbers).map_err(failed)?;
        }
        let info = table.finish().map_err(failed)?;
        let sample_every = run.run.events.as_ref().map_or(1, |asked| asked.sample_every.max(1));
        let dropped = run.run.evidence.dropped_events;
        run.run.events = Some(EventsInfo { dropped, sample_every, left_out, ..info });
        Ok(())
    }

    /// A sweep as a reader finds it before its end.
    pub(super) fn read_sweep(&self, mut run: Run) -> Result<Run> {
        let is_over = owner::is_gone(&self.ranks());
        let mut unreadable = 0;
        for folder in self.executions() {
            match folder.read_execution() {
                Ok(execution) => {
                    merge::add(&mut run, execution);
                }
                Err(_) => unreadable += 1,
            }
        }
        let notes = &mut run.run.evidence.notes;
        if unreadable > 0 {
            notes.push(format!("{unreadable} executions left nothing that can be read"));
        }
        if !is_over {
            notes.push("the run is not over: these are figures up to now".into());
            return Ok(run);
        }
        notes.push("the sweep was cut off: these are the executions up to then".into());
        self.finish_sweep(&mut run)?;
        Ok(run)
    }

    /// An execution, merged from what its ranks left if it was cut off.
    fn read_execution(&self) -> Result<Run> {
        let mut run = store::read(&self.path).map_err(failed)?;
        let order = run.run.sweep.take().map(|sweep| sweep.order).unwrap_or_default();
        let (cell, repetition) =
            order.first().map(|at| (at.cell, at.repetition)).unwrap_or_default();
        if self.ranks().is_dir() {
            self.merge(&mut run);
            merge::stamp(&mut run, cell, repetition);
            if owner::is_gone(&self.ranks()) {
                self.finish(&mut run, EventSource::Files)?;
            }
        }
        merge::stamp(&mut run, cell, repetition);
        Ok(run)
    }
}

fn failed(error: StoreError) -> Error {
    Error::failed(error.to_string())
}
