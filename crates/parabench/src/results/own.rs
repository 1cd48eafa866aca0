//! Runs and event tables of our own form, imported: with the same events.

use super::import::{Origin, title};
use crate::error::{Error, Result};
use ::report::StoreError;
use ::report::events::EventReader;
use ::report::store;
use model::Op;
use model::event::NO_ID;
use model::run::{Run, TraceLog};
use std::io::Read;
use std::path::{Path, PathBuf};
use trace::resolve::Sink;
use trace::sort::Sorter;
use trace::{Format, Imported, Told, Which};

/// The log is a run's folder, or an event table, and no table of other columns.
pub fn is_own(log: &Path) -> bool {
    let mut magic = [0; 4];
    let mut is_table = || {
        let read = std::fs::File::open(log).and_then(|mut file| file.read_exact(&mut magic));
        read.is_ok() && magic == *b"PAR1"
    };
    let is_ours = || !matches!(EventReader::open(log), Err(StoreError::Foreign { .. }));
    log.is_dir() || (log.is_file() && is_table() && is_ours())
}

/// Reads a run's folder, or its event table alone, which others may have written.
pub fn import_own(logs: &[PathBuf], which: &Which) -> Result<(Origin, Imported)> {
    let [log] = logs else {
        return Err(Error::input("several runs cannot become one: they have clocks of their own")
            .help("import one run after the other"));
    };
    let run = if log.is_dir() { store::read(log).map_err(failed)? } else { Run::default() };
    let trace = run.run.trace.clone().unwrap_or_default();
    let mut reader = EventReader::open(log).map_err(failed)?;
    let mut sorter = Sorter::default();
    let mut told = Told { root: trace.root.clone().into_bytes(), ..Told::default() };
    while let Some(row) = reader.next() {
        let row = row.map_err(failed)?;
        if (row.cell, row.repetition) != (0, 0) {
            return Err(Error::input(format!(
                "{} is a sweep: its executions have clocks of their own",
                log.display()
            ))
            .help("parabench report and compare read sweeps as they are"));
        }
        // What a link holds is no name.
        let is_link = row.event.op == Op::Symlink as u8;
        let name = if is_link { row.event.path2 } else { row.event.path };
        if !keeps(which, &told.root, &reader, name) {
            continue;
        }
        told.ranks = told.ranks.max(row.rank.saturating_add(1));
        told.duration_ns = told.duration_ns.max(row.event.end_ns);
        sorter.event(row.rank, &row.event, &row.details);
    }
    told.paths = reader.paths().to_vec();
    told.labels = reader.labels().iter().map(|label| label.clone().into_bytes()).collect();
    told.calls = reader.calls().iter().map(|call| call.clone().into_bytes()).collect();
    told.hosts = reader.hosts().clone();
    (told.threads, told.gaps) = (trace.threads, trace.gaps);
    (told.layouts, told.found, told.moved) = (trace.layouts, trace.found, trace.moved);
    told.barriers = trace.barriers;
    told.ranks = told.ranks.max(run.run.ranks);
    let own = TraceLog { name: title(logs), lines: reader.event_count() };
    let logs_read = if trace.logs.is_empty() { vec![own] } else { trace.logs };
    let events = sorter.finish().map_err(|error| Error::failed(error.to_string()))?;
    let extents = run.run.events.map(|events| events.extents).unwrap_or_default();
    let format = Some(trace.format).filter(|format| !format.is_empty());
    let origin = Origin {
        title: title(logs),
        recorded: trace.recorded,
        format: Some(format.unwrap_or_else(|| "parabench".into())),
        started: run.run.started,
        sites: run.run.sites,
        extents,
    };
    Ok((origin, Imported { format: Format::Rules, logs: logs_read, told, events }))
}

/// The event is one on a file that is kept.
fn keeps(which: &Which, root: &[u8], reader: &EventReader, path: u32) -> bool {
    if path == NO_ID || *which == Which::All {
        return true;
    }
    let name = reader.paths().get(path as usize).map_or(&b""[..], Vec::as_slice);
    match root {
        b"" => which.keeps(name),
        root => which.keeps(&[root.strip_suffix(b"/").unwrap_or(root), b"/", name].concat()),
    }
}

fn failed(error: StoreError) -> Error {
    Error::input(error.to_string())
}
