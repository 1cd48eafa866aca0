//! An imported log as a stored run.

use super::folder::Folder;
use crate::error::{Error, Result};
use ::report::StoreError;
use ::report::events::{EventReader, EventWriter, Imported as Names};
use ::report::rows::is_above;
use ::report::store;
use model::event::NO_ID;
use model::op::Class;
use model::run::{
    EventExtents, Evidence, Header, Host, Program, Recorded, Row, Run, Site, Trace, TraceGap,
    TraceLayout, TraceLog, VERSION,
};
use model::summary::Summary;
use model::units::format_bytes;
use model::words::count;
use model::{Event, Op, escape};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, iter};
use trace::sort::Sorter;
use trace::{Facts, Format, Imported, Selection};

/// Where imported logs come from.
#[derive(Default)]
pub struct Origin {
    /// Title of the run in reports.
    pub title: String,
    /// The command, if Parabench recorded it.
    pub recorded: Option<Recorded>,
    /// Format of the logs, if it is not that of another tool.
    pub format: Option<String>,
    /// When a run of our own began; "" for what the logs tell.
    pub started: String,
    /// Places in the program of a run of our own.
    pub sites: Vec<Site>,
    /// The extents of its events.
    pub extents: Vec<EventExtents>,
}

/// Title of the run of these logs in reports.
pub fn title(logs: &[PathBuf]) -> String {
    let name = logs.first().map_or(String::new(), |log| escape::line(&log.to_string_lossy()));
    let more = if logs.len() > 1 { format!(" and {} more", logs.len() - 1) } else { String::new() };
    name + &more
}

impl Origin {
    /// Logs that others recorded.
    pub fn logs(logs: &[PathBuf]) -> Origin {
        Origin { title: title(logs), ..Origin::default() }
    }
}

/// Writes the events and the run of imported logs.
pub fn store_import(folder: &Folder, origin: Origin, imported: Imported) -> Result<Run> {
    fs::create_dir_all(folder.path()).map_err(|error| {
        Error::input(format!("cannot make --out {}: {error}", folder.path().display()))
    })?;
    let Imported { format, logs: read, facts, events } = imported;
    let mut table = EventWriter::create(folder.path(), &origin.sites)?;
    table.extents(&origin.extents);
    let mut summary = Summary::default();
    let names = Names {
        labels: &facts.labels,
        paths: &facts.paths,
        calls: &facts.calls,
        hosts: &facts.hosts,
    };
    let [mut counts, mut writes] = [(); 2].map(|()| vec![0; facts.paths.len()]);
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
    table.imported(&names, rows)?;
    let info = table.finish()?;
    let labels: Vec<String> = facts.labels.iter().map(|label| lossy(label)).collect();
    let label = |id: u32| labels.get(id as usize).map_or("", String::as_str);
    let mut rows = summary.rows(label, |_| None);
    if facts.gaps.iter().any(|gap| gap.code == NO_DURATIONS) {
        rows.iter_mut().for_each(forget_times);
    }
    rows.extend(facts.rows.iter().cloned());
    let format = origin.format.unwrap_or_else(|| format.name().into());
    let mut header = header(origin.title, &facts, &format, &rows);
    header.trace = Some(Trace {
        format,
        logs: read,
        root: lossy(&facts.root),
        recorded: origin.recorded,
        threads: facts.threads,
        layouts: facts.layouts,
        found: facts.found,
        barriers: facts.barriers,
        moved: facts.moved,
        times: facts.times,
        modules: facts.modules,
        files: facts.files,
        files_more: facts.files_more,
        gaps: facts.gaps,
    });
    // Libraries are read, often: what was written is the application's own.
    let counts = if writes.iter().any(|count| *count > 0) { writes } else { counts };
    let paths = facts.paths.iter().map(Vec::as_slice).zip(counts).collect::<Vec<_>>();
    let here = std::env::current_dir().unwrap_or_default();
    header.evidence.notes.extend(describe_main_directory(
        &lossy(&facts.root),
        &here.to_string_lossy(),
        &paths,
    ));
    header.events = Some(info);
    header.sites = origin.sites;
    if !origin.started.is_empty() {
        header.started = origin.started;
    }
    let run = Run { version: VERSION, rows, run: header, ..Run::default() };
    store::write(folder.path(), &run)?;
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

fn header(title: String, facts: &Facts, format: &str, rows: &[Row]) -> Header {
    let started = facts.started_ns.map(|ns| engine::host::utc((ns / 1_000_000_000) as i64));
    Header {
        program: Program { name: title, files: Vec::new() },
        ranks: facts.ranks,
        outcome: "imported".into(),
        backend: "trace".into(),
        comm: "trace".into(),
        parabench: env!("CARGO_PKG_VERSION").into(),
        started: started.unwrap_or_default(),
        duration_wall_ns: facts.duration_ns,
        host: Host { directory: lossy(&facts.root), ..Host::default() },
        evidence: evidence(facts, format, rows),
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
    let listed = alike.iter().take(LAYOUTS_TOLD).map(|((stripe_bytes, stripes), files)| {
        let targets: BTreeSet<u64> = files.iter().flat_map(|file| &file.targets).copied().collect();
        format!(
            "Lustre: {} in {} of {}, on {} in all",
            count(files.len(), "file"),
            count(*stripes, "stripe"),
            format_bytes(*stripe_bytes),
            count(targets.len(), "target"),
        )
    });
    let mut notes: Vec<String> = listed.collect();
    let others: usize = alike.iter().skip(LAYOUTS_TOLD).map(|(_, files)| files.len()).sum();
    if others > 0 {
        notes.push(format!("Lustre: {} in other layouts", count(others, "file")));
    }
    notes
}

/// Notes on information that a log lacks, with the first lines that show it.
fn gap_notes(gap: &TraceGap) -> Vec<String> {
    let mut examples = gap.examples.iter();
    let first = examples.next().map(|first| format!(", first {first}")).unwrap_or_default();
    let whole = format!("the log: {}{first}", gap.says);
    iter::once(whole).chain(examples.map(|next| format!("the log: then {next}"))).collect()
}

/// Gaps of calls that are not in the log.
const MISSING: [&str; 8] = [
    "untraced",
    "partial-modules",
    "later-modules",
    "dropped",
    "unseen-programs",
    "streams",
    "running",
    "partial",
];

/// Evidence of an imported run. Its notes name the information that the log lacks, because every
/// report prints notes.
fn evidence(facts: &Facts, format: &str, rows: &[Row]) -> Evidence {
    let sum = |class: Class| {
        let of_class = |row: &&Row| Op::find(&row.op).is_some_and(|op| op.row().class == class);
        let once = |row: &&Row| !is_above(format, row);
        rows.iter().filter(of_class).filter(once).map(|row| row.bytes).sum()
    };
    // Short reports print the first notes: what was never recorded is the gravest.
    let (missing, others): (Vec<&TraceGap>, Vec<&TraceGap>) =
        facts.gaps.iter().partition(|gap| MISSING.contains(&&*gap.code));
    let gaps = missing.into_iter().chain(others).flat_map(gap_notes);
    let cost = (facts.call_ns > 0)
        .then(|| format!("recording added about {} ns to each call", facts.call_ns));
    let notes = gaps.chain(cost).chain(striping(&facts.layouts));
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

/// Beginning of the note.
pub const MOSTLY: &str = "most of it is below ";
/// Share that counts as most, per cent.
const PERCENT: u64 = 60;

/// A note, if the run reaches above `here` and one directory has most of them. `counts`: how many each
/// path below `root` has, or 0.
fn describe_main_directory(root: &str, here: &str, counts: &[(&[u8], u64)]) -> Option<String> {
    let below = here.strip_prefix(root.trim_end_matches('/'))?;
    if below.trim_matches('/').is_empty() || !(below.starts_with('/') || root == "/") {
        return None;
    }
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut directories: BTreeMap<&[u8], u64> = BTreeMap::new();
    for (path, count) in counts {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            *directories.entry(&path[..at]).or_default() += count;
        }
    }
    let most = |count: u64| count.saturating_mul(100) >= total.saturating_mul(PERCENT);
    let is_below = |path: &[u8], above: &[u8]| {
        path.strip_prefix(above).is_some_and(|rest| rest.starts_with(b"/"))
    };
    let leaves_some = |above: &[u8]| counts.iter().any(|(path, _)| !is_below(path, above));
    let found = directories.iter().filter(|(path, count)| most(**count) && leaves_some(path));
    let found = found.max_by_key(|(path, _)| path.len());
    let path = format!("{}/{}", root.trim_end_matches('/'), String::from_utf8_lossy(found?.0));
    Some(format!("{MOSTLY}{path}: --under {path} keeps only that"))
}

/// The log is a run's folder, or an event table, and no table of other columns.
pub fn is_own(log: &Path) -> bool {
    let mut magic = [0; 4];
    let mut is_table = || {
        let read = fs::File::open(log).and_then(|mut file| file.read_exact(&mut magic));
        read.is_ok() && magic == *b"PAR1"
    };
    let is_ours = || !matches!(EventReader::open(log), Err(StoreError::Foreign { .. }));
    log.is_dir() || (log.is_file() && is_table() && is_ours())
}

/// Reads a run's folder, or its event table alone, which others may have written.
pub fn import_own(logs: &[PathBuf], which: &Selection) -> Result<(Origin, Imported)> {
    let [log] = logs else {
        return Err(Error::input("several runs cannot become one: they have clocks of their own")
            .help("import one run after the other"));
    };
    let run = if log.is_dir() { store::read(log).map_err(failed)? } else { Run::default() };
    let trace = run.run.trace.clone().unwrap_or_default();
    let mut reader = EventReader::open(log).map_err(failed)?;
    let mut sorter = Sorter::default();
    let mut facts = Facts { root: trace.root.clone().into_bytes(), ..Facts::default() };
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
        if !keeps(which, &facts.root, &reader, name) {
            continue;
        }
        facts.ranks = facts.ranks.max(row.rank.saturating_add(1));
        facts.duration_ns = facts.duration_ns.max(row.event.end_ns);
        sorter.event(row.rank, &row.event, &row.details);
    }
    facts.paths = reader.paths().to_vec();
    facts.labels = reader.labels().iter().map(|label| label.clone().into_bytes()).collect();
    facts.calls = reader.calls().iter().map(|call| call.clone().into_bytes()).collect();
    facts.hosts = reader.hosts().clone();
    (facts.threads, facts.gaps) = (trace.threads, trace.gaps);
    (facts.layouts, facts.found, facts.moved) = (trace.layouts, trace.found, trace.moved);
    facts.barriers = trace.barriers;
    (facts.modules, facts.files, facts.files_more) = (trace.modules, trace.files, trace.files_more);
    facts.ranks = facts.ranks.max(run.run.ranks);
    let own = TraceLog { name: title(logs), lines: reader.event_count(), job: None };
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
    Ok((origin, Imported { format: Format::Rules, logs: logs_read, facts, events }))
}

/// The event is one on a file that is kept.
fn keeps(which: &Selection, root: &[u8], reader: &EventReader, path: u32) -> bool {
    if path == NO_ID || *which == Selection::All {
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

    #[test]
    fn a_directory_with_most_operations_is_named_where_others_are_far_away() {
        let counts: &[(&[u8], u64)] =
            &[(b"work/app/d/f", 50), (b"work/app/d/g", 45), (b".cache/x", 5)];
        let found = describe_main_directory("/home/u", "/home/u/work/app", counts).expect("a note");
        assert_eq!(
            found,
            "most of it is below /home/u/work/app/d: --under /home/u/work/app/d keeps only that"
        );
        assert_eq!(describe_main_directory("/home/u", "/home/u", counts), None);
        assert_eq!(describe_main_directory("/home/u", "/home/user", counts), None);
        assert_eq!(
            describe_main_directory("/home/u", "/home/u/work", &[(b"a/f", 50), (b"b/f", 50)]),
            None
        );
        assert_eq!(describe_main_directory("/home/u", "/home/u/work", &[(b"f", 50)]), None);
        let written = describe_main_directory("/", "/app", &[(b"app/out/f", 50), (b"lib/m.py", 0)])
            .expect("a note");
        assert!(written.contains("below /app/out:"), "{written}");
        assert!(
            describe_main_directory("/", "/data", &[(b"data/f", 9), (b"tmp/f", 1)])
                .expect("a note")
                .contains("below /data:")
        );
    }
}
