//! An imported log as a stored run.

use super::{Folder, mostly};
use crate::error::{Error, Result};
use ::report::events::{EventWriter, Imported as Names};
use ::report::once::is_above;
use ::report::store;
use model::op::Class;
use model::run::{
    EventExtents, Evidence, Header, Host, Program, Recorded, Row, Run, Site, Trace, TraceGap,
    TraceLayout, VERSION,
};
use model::summary::Summary;
use model::units::format_bytes;
use model::{Event, Op, escape};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::{fs, iter};
use trace::{Imported, Told};

/// Where imported logs come from.
pub struct Origin {
    /// What reports call the run.
    pub title: String,
    /// The command, if Parabench recorded it.
    pub recorded: Option<Recorded>,
    /// What the logs were, where they are not in a format of another tool.
    pub format: Option<String>,
    /// When a run of our own began; "" for what the logs tell.
    pub started: String,
    /// Places in the program of a run of our own.
    pub sites: Vec<Site>,
    /// Which extents its events refer to.
    pub extents: Vec<EventExtents>,
}

/// What reports call the run of these logs.
pub fn title(logs: &[PathBuf]) -> String {
    let name = logs.first().map_or(String::new(), |log| escape::line(&log.to_string_lossy()));
    let more = if logs.len() > 1 { format!(" and {} more", logs.len() - 1) } else { String::new() };
    name + &more
}

impl Origin {
    /// Logs that others recorded.
    pub fn logs(logs: &[PathBuf]) -> Origin {
        Origin::command(title(logs), None)
    }

    /// Logs under this title, of a command that was recorded.
    pub fn command(title: String, recorded: Option<Recorded>) -> Origin {
        let (sites, extents) = (Vec::new(), Vec::new());
        Origin { title, recorded, format: None, started: String::new(), sites, extents }
    }
}

/// Writes the events and the run of imported logs.
pub fn store_import(folder: &Folder, origin: Origin, imported: Imported) -> Result<Run> {
    let failed = |error: ::report::StoreError| Error::failed(error.to_string());
    fs::create_dir_all(folder.path()).map_err(|error| {
        Error::input(format!("cannot make --out {}: {error}", folder.path().display()))
    })?;
    let Imported { format, logs: read, told, events } = imported;
    let mut table = EventWriter::create(folder.path(), &origin.sites).map_err(failed)?;
    table.extents(&origin.extents);
    let mut summary = Summary::default();
    let names =
        Names { labels: &told.labels, paths: &told.paths, calls: &told.calls, hosts: &told.hosts };
    let [mut counts, mut writes] = [(); 2].map(|()| vec![0; told.paths.len()]);
    let rows = events.map(|event| {
        event.map(|traced| {
            if let Some(count) = counts.get_mut(named(&traced.event) as usize) {
                *count += 1;
            }
            if let Some(count) = writes.get_mut(named(&traced.event) as usize) {
                *count += u64::from(is_write(&traced.event));
            }
            summary.add(traced.rank as u32, &traced.event);
            (traced.rank as u32, traced.event, traced.details)
        })
    });
    table.imported(&names, rows).map_err(failed)?;
    let info = table.finish().map_err(failed)?;
    let labels: Vec<String> = told.labels.iter().map(|label| lossy(label)).collect();
    let label = |id: u32| labels.get(id as usize).map_or("", String::as_str);
    let mut rows = summary.rows(label, |_| None);
    if told.gaps.iter().any(|gap| gap.code == NO_DURATIONS) {
        rows.iter_mut().for_each(forget_times);
    }
    rows.extend(told.rows.iter().cloned());
    let format = origin.format.unwrap_or_else(|| format.name().into());
    let mut header = header(origin.title, &told, &format, &rows);
    header.trace = Some(Trace {
        format,
        logs: read,
        root: lossy(&told.root),
        recorded: origin.recorded,
        threads: told.threads,
        layouts: told.layouts,
        found: told.found,
        barriers: told.barriers,
        moved: told.moved,
        gaps: told.gaps,
    });
    // Libraries are read, often: what was written is the application's own.
    let counts = if writes.iter().any(|count| *count > 0) { writes } else { counts };
    let paths = told.paths.iter().map(Vec::as_slice).zip(counts).collect::<Vec<_>>();
    let here = std::env::current_dir().unwrap_or_default();
    header.evidence.notes.extend(mostly::note(&lossy(&told.root), &here.to_string_lossy(), &paths));
    header.events = Some(info);
    header.sites = origin.sites;
    if !origin.started.is_empty() {
        header.started = origin.started;
    }
    let run = Run { version: VERSION, rows, run: header, ..Run::default() };
    store::write(folder.path(), &run).map_err(failed)?;
    Ok(run)
}

fn is_write(event: &Event) -> bool {
    Op::from_u8(event.op).is_some_and(|op| op.row().class == Class::Write)
}

/// The path that an event has to do with: what a symbolic link holds is none.
fn named(event: &Event) -> u32 {
    if event.op == Op::Symlink as u8 { event.path2 } else { event.path }
}

/// Code of the gap of logs that tell when calls began and not how long they took.
const NO_DURATIONS: &str = "no-durations";

/// A call without a duration took an unknown time, not 0 ns. A row with such calls has no times.
fn forget_times(row: &mut Row) {
    if row.min_ns != Some(0) && row.failed_histogram.as_ref().is_none_or(|times| times.min > 0) {
        return;
    }
    (row.min_ns, row.mean_ns, row.max_ns) = (None, None, None);
    (row.p50_ns, row.p90_ns, row.p99_ns, row.p999_ns) = (None, None, None, None);
    (row.rank_mib_s, row.rank_ops_s) = (None, None);
    (row.histogram, row.failed_histogram) = (None, None);
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn header(title: String, told: &Told, format: &str, rows: &[Row]) -> Header {
    let started = told.started_ns.map(|ns| engine::host::utc((ns / 1_000_000_000) as i64));
    Header {
        program: Program { name: title, files: Vec::new() },
        ranks: told.ranks,
        outcome: "imported".into(),
        backend: "trace".into(),
        comm: "trace".into(),
        parabench: env!("CARGO_PKG_VERSION").into(),
        started: started.unwrap_or_default(),
        duration_wall_ns: told.duration_ns,
        host: Host { directory: lossy(&told.root), ..Host::default() },
        evidence: evidence(told, format, rows),
        ..Header::default()
    }
}

/// Different layouts that notes tell; the others are one line.
const LAYOUTS_TOLD: usize = 8;

/// "Lustre: 2012 files in 1 stripe of 1 MiB, on 248 targets in all", the commonest layout first.
fn striping(layouts: &[TraceLayout]) -> Vec<String> {
    let mut alike: BTreeMap<(u64, usize), Vec<&TraceLayout>> = BTreeMap::new();
    for layout in layouts {
        alike.entry((layout.stripe_bytes, layout.targets.len())).or_default().push(layout);
    }
    let mut alike: Vec<_> = alike.into_iter().collect();
    alike.sort_by_key(|(layout, files)| (Reverse(files.len()), *layout));
    let told = alike.iter().take(LAYOUTS_TOLD).map(|((stripe_bytes, stripes), files)| {
        let targets: BTreeSet<u64> = files.iter().flat_map(|file| &file.targets).copied().collect();
        format!(
            "Lustre: {} in {} of {}, on {} in all",
            counted(files.len(), "file"),
            counted(*stripes, "stripe"),
            format_bytes(*stripe_bytes),
            counted(targets.len(), "target"),
        )
    });
    let mut notes: Vec<String> = told.collect();
    let others: usize = alike.iter().skip(LAYOUTS_TOLD).map(|(_, files)| files.len()).sum();
    if others > 0 {
        notes.push(format!("Lustre: {} in other layouts", counted(others, "file")));
    }
    notes
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What a log does not tell, and the first lines that say so.
fn gap_notes(gap: &TraceGap) -> Vec<String> {
    let mut examples = gap.examples.iter();
    let first = examples.next().map(|first| format!(", first {first}")).unwrap_or_default();
    let whole = format!("the log: {}{first}", gap.says);
    iter::once(whole).chain(examples.map(|next| format!("the log: then {next}"))).collect()
}

/// Every report prints notes: what a log does not tell stands there.
fn evidence(told: &Told, format: &str, rows: &[Row]) -> Evidence {
    let sum = |class: Class| {
        let of_class = |row: &&Row| Op::find(&row.op).is_some_and(|op| op.row().class == class);
        let once = |row: &&Row| !is_above(format, row);
        rows.iter().filter(of_class).filter(once).map(|row| row.bytes).sum()
    };
    let gaps = told.gaps.iter().flat_map(gap_notes);
    let cost = (told.call_ns > 0)
        .then(|| format!("recording added about {} ns to each call", told.call_ns));
    let notes = cost.into_iter().chain(striping(&told.layouts)).chain(gaps);
    Evidence {
        clock: "trace".into(),
        failed: rows.iter().map(|row| row.failed).sum(),
        short: rows.iter().map(|row| row.short).sum(),
        program_read_bytes: sum(Class::Read),
        program_write_bytes: sum(Class::Write),
        confinement: "none".into(),
        notes: notes.collect(),
        ..Evidence::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of writes that took so long, and whether the log told it.
    fn rows(times_ns: &[u64]) -> Vec<Row> {
        let mut summary = Summary::default();
        for (seq, busy_ns) in (0..).zip(times_ns) {
            let (start_ns, end_ns) = (seq * 1_000, seq * 1_000 + busy_ns);
            let op = Op::Fwrite as u8;
            let event = Event {
                seq,
                op,
                start_ns,
                end_ns,
                busy_ns: *busy_ns,
                done_bytes: 512,
                ..Event::default()
            };
            summary.add(0, &event);
        }
        summary.rows(|_| "", |_| None)
    }

    #[test]
    fn unknown_times_are_none_and_not_zero() {
        for times_ns in [&[0, 0][..], &[0, 700]] {
            let mut rows = rows(times_ns);
            assert_eq!(rows[0].min_ns, Some(0));
            rows.iter_mut().for_each(forget_times);
            let row = &rows[0];
            assert_eq!((row.min_ns, row.mean_ns, row.p50_ns, row.max_ns), (None, None, None, None));
            assert_eq!((row.count, row.bytes, row.histogram.is_none()), (2, 1024, true));
        }
        let mut known = rows(&[500, 700]);
        let before = known.clone();
        known.iter_mut().for_each(forget_times);
        assert_eq!(known, before);
    }
}
