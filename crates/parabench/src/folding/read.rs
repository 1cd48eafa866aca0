//! A stored run as a log that can be folded.

use super::sites;
use crate::error::{Error, Result};
use crate::results;
use ::report::events::EventReader;
use fold::{Events, Log, Logged, processes};
use model::run::{Run, Trace};
use std::path::Path;

/// Reads a run and all its events; without a log if it has counters of files alone.
///
/// # Errors
/// It has neither events nor counters, or not all events; the table cannot be read.
pub fn read(folder: &Path) -> Result<(Run, Option<Log>)> {
    let run = results::read(folder)?.run;
    let events =
        run.run.events.as_ref().map_or(0, |info| {
            info.count.saturating_add(info.dropped).saturating_add(info.left_out)
        });
    let counted = |trace: &Trace| !trace.files.is_empty() || !trace.files_more.is_empty();
    if events == 0 && run.run.trace.as_ref().is_some_and(counted) {
        return Ok((run, None));
    }
    let log = read_operations(folder, &run)?;
    Ok((run, Some(log)))
}

fn read_operations(folder: &Path, run: &Run) -> Result<Log> {
    let shown = folder.display();
    let Some(info) = &run.run.events else {
        return Err(Error::input(format!("{shown} has no events: they are what is folded"))
            .help("run the program again with --events --out DIR"));
    };
    let missing = info.dropped.saturating_add(info.left_out);
    if missing > 0 {
        return Err(Error::input(format!(
            "{shown} lacks {missing_events}, so order is unknown",
            missing_events = model::words::count(missing, "event")
        ))
        .help("keep all: run --events without sample=, with a larger max="));
    }
    let broken = |error: ::report::StoreError| Error::input(error.to_string());
    let dir = if folder.is_dir() { folder } else { folder.parent().unwrap_or(folder) };
    let mut reader = EventReader::open(dir).map_err(broken)?;
    let ranks = run.run.ranks as usize;
    let mut log = Log {
        ranks: vec![Events::default(); ranks],
        imported: run.run.trace.is_some(),
        processors: processors(run),
        recorder_ns: recorder_ns(run),
        starts_only: has_starts_only(run),
        sites: sites::find_facts(run),
        extents: info.extents.clone(),
        ..Log::default()
    };
    for row in reader.by_ref() {
        let row = row.map_err(broken)?;
        // Of a sweep the first execution.
        if let (0, 0, Some(rank)) = (row.cell, row.repetition, log.ranks.get_mut(row.rank as usize))
        {
            rank.push(&Logged { event: row.event, details: row.details });
        }
    }
    if log.ranks.iter().all(Events::is_empty) {
        return Err(nothing(folder));
    }
    log.paths = reader.paths().to_vec();
    log.labels = reader.labels().to_vec();
    log.directories = run.run.host.directories.iter().map(|one| one.name.clone()).collect();
    if let Some(trace) = &run.run.trace {
        log.take_found(&trace.found);
        log.processes = processes::find_processes(&trace.threads);
        log.barriers.clone_from(&trace.barriers);
    }
    log.complete();
    Ok(log)
}

/// The run has nothing that a program could do.
fn nothing(folder: &Path) -> Error {
    Error::input(format!("{} has no operations: there is nothing to fold", folder.display()))
        .help("where it was recorded or imported, --all keeps operations on all files")
}

/// No operation has a duration.
fn has_starts_only(run: &Run) -> bool {
    let gaps = run.run.trace.iter().flat_map(|trace| &trace.gaps);
    let mut without = gaps.filter(|gap| gap.code == "no-durations").map(|gap| gap.count);
    let operations: u64 = run.rows.iter().map(|row| row.count).sum();
    without.next().is_some_and(|count| count >= operations)
}

/// Time that recording added to each call, nanoseconds.
fn recorder_ns(run: &Run) -> Option<u64> {
    let recorded = run.run.trace.as_ref()?.recorded.as_ref()?;
    Some(recorded.call_ns.into()).filter(|ns| *ns > 0)
}

/// Processors of the machine that was recorded; under MPI several can have been.
fn processors(run: &Run) -> Option<u32> {
    let trace = run.run.trace.as_ref().filter(|trace| trace.logs.len() == 1)?;
    trace.recorded.as_ref().map(|recorded| recorded.cpus).filter(|cpus| *cpus > 0)
}
