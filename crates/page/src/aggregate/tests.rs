//! Aggregates held against sums over the events one by one.

use super::*;
use model::event::{Event, FLAG_EXPECTED, FLAG_FAILED, FLAG_UNPLACED, NO_ID};
use model::pattern;
use model::run::{EventExtents, Row};
use model::{Op, Run};
use report::StoreError;
use report::events::{EVENTS_FILE, EventWriter, Origin};
use std::fs;

const LABELS: [&str; 2] = ["first", "second"];

fn run() -> Run {
    let row = |label: &str, mean_ns: f64| Row {
        label: label.into(),
        op: "fwrite".into(),
        count: 1,
        mean_ns: Some(mean_ns),
        ..Row::default()
    };
    Run { rows: vec![row("first", 10.0), row("second", 20.0)], ..Run::default() }
}

/// Blocks of 100 bytes, one after the other, in files of ten.
fn event(seq: u64) -> Event {
    Event {
        seq,
        start_ns: 1000 * seq,
        end_ns: 1000 * seq + 400,
        busy_ns: 300,
        offset_bytes: 100 * (seq % 10),
        requested_bytes: 100,
        done_bytes: 100,
        label: (seq % 2) as u32,
        path: (seq / 10) as u32,
        path2: NO_ID,
        op: if seq.is_multiple_of(3) { Op::Fwrite as u8 } else { Op::Fread as u8 },
        ..Event::default()
    }
}

/// A table of `executions`, each with two ranks of `count` events on the same files.
fn table(executions: &[Execution], count: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<String> = (0..count.div_ceil(10)).map(|path| format!("f-{path}")).collect();
    let events: Vec<Event> = (0..count).map(event).collect();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    for (cell, repetition) in executions.iter().copied() {
        for rank in 0..2 {
            let origin = Origin { rank, host: "node", cell, repetition };
            writer.rank(&origin, &LABELS, &paths, events.iter()).unwrap();
        }
    }
    writer.finish().unwrap();
    dir
}

#[test]
fn every_event_is_counted_once() {
    // More than one row group.
    let count = 100_000;
    let dir = table(&[Execution::default()], count);
    let found = aggregate(dir.path(), &run()).unwrap().unwrap();
    assert_eq!((found.events, found.bytes), (2 * count, 200 * count));
    assert_eq!((found.time.start_ns, found.bands.ranks, found.bands.count), (0, 2, 2));
    for band in 0..2 {
        let cells = found.grid.band(band);
        assert_eq!(cells.iter().map(|cell| cell.bytes).sum::<u64>(), 100 * count);
        // Times are those of one kind: every sixth event is a write in the second label.
        let kind = (count - 3).div_ceil(6);
        assert_eq!(cells.iter().map(|cell| cell.count).sum::<u64>(), kind);
        assert_eq!(cells.iter().map(|cell| cell.busy_ns).sum::<u64>(), 300 * kind);
    }
    let busiest = found.busiest.as_ref().unwrap();
    assert_eq!((busiest.label.as_str(), busiest.op), ("second", Op::Fwrite));
    assert!((busiest.share.unwrap() - 2.0 / 3.0).abs() < 1e-9);
    let writes = 2 * count.div_ceil(3);
    assert_eq!(found.ops.counts(Op::Fwrite).iter().sum::<u64>(), writes);
    assert_eq!(found.ops.bytes(model::op::Class::Write).iter().sum::<u64>(), 100 * writes);
    let offsets = &found.offsets;
    let cells =
        (0..offsets.time.count).flat_map(|column| (0..offsets.rows).map(move |row| (column, row)));
    let bytes: u64 = cells.flat_map(|(column, row)| offsets.cell(column, row)).sum();
    assert_eq!(bytes, 200 * count);
    assert_eq!((offsets.end_bytes, offsets.span_bytes(offsets.rows).end), (1000, 1000));
    assert_eq!(found.labels.labels, ["second", "first", "other labels"]);
    let cells = (0..2).flat_map(|band| (0..found.time.count).map(move |column| (band, column)));
    let busy: Vec<&[u64]> = cells.map(|(band, column)| found.labels.cell(band, column)).collect();
    let sum = |label: usize| busy.iter().map(|cell| cell[label]).sum::<u64>();
    assert_eq!([sum(0), sum(1), sum(2)], [300 * count, 300 * count, 0]);
}

#[test]
fn of_several_executions_the_first_is_condensed() {
    let executions = [(3, 1), (3, 2), (4, 0)];
    let dir = table(&executions, 100);
    let found = aggregate(dir.path(), &run()).unwrap().unwrap();
    assert_eq!((found.execution, found.events), (executions[0], 200));
}

/// Executions share row groups; ranges of one must not become axes of another.
#[test]
fn an_execution_has_axes_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    for (cell, ranks, scale) in [(0, 1, 1), (1, 4, 1000)] {
        let wide = |seq| {
            let event = event(seq);
            let at = |ns: u64| ns * scale;
            let offset_bytes = event.offset_bytes * scale;
            Event { start_ns: at(event.start_ns), end_ns: at(event.end_ns), offset_bytes, ..event }
        };
        let events: Vec<Event> = (0..20).map(wide).collect();
        for rank in 0..ranks {
            let origin = Origin { rank, host: "node", cell, ..Origin::default() };
            writer.rank(&origin, &LABELS, &["a", "b"], events.iter()).unwrap();
        }
    }
    writer.finish().unwrap();
    let found = aggregate(dir.path(), &run()).unwrap().unwrap();
    assert_eq!((found.execution.0, found.events, found.bands.ranks), (0, 20, 1));
    let end_ns = found.time.edge_ns(found.time.count);
    assert!((19_401..20_500).contains(&end_ns), "{end_ns}");
    assert_eq!(found.offsets.rows as u64 * found.offsets.row_bytes, 1000);
}

#[test]
fn failed_operations_are_counted_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let failed = |seq| Event { flags: FLAG_FAILED, ..event(seq) };
    let expected = |seq| Event { flags: FLAG_EXPECTED, ..event(seq) };
    let events = [event(0), failed(1), expected(2), failed(3)];
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    let origin = Origin { host: "node", ..Origin::default() };
    writer.rank(&origin, &LABELS, &["a"], events.iter()).unwrap();
    writer.finish().unwrap();
    let found = aggregate(dir.path(), &run()).unwrap().unwrap();
    assert_eq!((found.events, found.failed, found.bytes), (1, 3, 100));
    let counted = |op| found.ops.counts(op).iter().sum::<u64>();
    assert_eq!([counted(Op::Fwrite), counted(Op::Fread)], [1, 0]);
    assert_eq!(found.grid.band(0).iter().map(|cell| cell.bytes).sum::<u64>(), 100);
}

#[test]
fn parts_of_files_have_their_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    let block = |path, at: u64| Event {
        path,
        path2: NO_ID,
        offset_bytes: at * 1000,
        done_bytes: 1000,
        op: Op::Fwrite as u8,
        label: NO_ID,
        ..Event::default()
    };
    let own = [block(0, 0), block(0, 2), block(1, 9)];
    let other = [block(0, 1), block(0, 2)];
    let origin = |rank| Origin { rank, host: "node", ..Origin::default() };
    writer.rank(&origin(0), &LABELS, &["shared", "a"], own.iter()).unwrap();
    writer.rank(&origin(1), &LABELS, &["shared"], other.iter()).unwrap();
    writer.finish().unwrap();
    let files = aggregate(dir.path(), &run()).unwrap().unwrap().files;
    assert_eq!((files.more, files.files.len()), (0, 2));
    let shared = &files.files[0];
    assert_eq!((shared.path.as_str(), shared.bytes, shared.part_bytes), ("shared", 4000, 32));
    assert_eq!(shared.owners.len(), 94, "3000 bytes in parts of 32");
    let at = |byte: usize| shared.owners[byte / 32];
    assert_eq!([at(0), at(1500), at(2500)], [Owner::Rank(0), Owner::Rank(1), Owner::Shared]);
    assert_eq!(at(1000), Owner::Several, "byte 999 and byte 1000 lie in one part");
    assert!(shared.is_compared && shared.is_shared());
    let own = &files.files[1];
    assert_eq!((own.path.as_str(), own.owners[0]), ("a", Owner::Nobody));
    assert_eq!(own.owners[9999 / own.part_bytes as usize], Owner::Rank(0));
}

/// Trap 39: a pattern's pieces are where it says, and ranks that take turns share nothing.
#[test]
fn pieces_of_patterns_have_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    let every = |rank: u64| pattern::Run {
        offset_bytes: rank * 4096,
        length_bytes: 4096,
        stride_bytes: 4 * 4096,
        count: 1000,
    };
    for rank in 0..4 {
        let whole = EventExtents { pieces: 1000, runs: vec![every(rank)] };
        writer.extents(&[whole]);
        let access = Event {
            path: 0,
            path2: NO_ID,
            offset_bytes: rank * 4096,
            done_bytes: 4_096_000,
            op: Op::Fwrite as u8,
            label: NO_ID,
            pieces: 1000,
            extents: 1,
            ..Event::default()
        };
        let unplaced = Event { seq: 1, extents: 0, flags: FLAG_UNPLACED, ..access };
        let origin = Origin { rank: rank as u32, host: "node", ..Origin::default() };
        let events = [access, unplaced];
        writer.rank(&origin, &LABELS, &["f"], events[..1 + usize::from(rank == 3)].iter()).unwrap();
    }
    let mut run = run();
    run.run.events = Some(writer.finish().unwrap());
    assert_eq!(run.run.events.as_ref().unwrap().extents.len(), 4);
    let found = aggregate(dir.path(), &run).unwrap().unwrap();
    assert_eq!((found.events, found.unplaced), (5, 1));
    let file = &found.files.files[0];
    assert_eq!(file.owners, vec![Owner::Several; 4_096_000 * 4 / 131_072]);
    assert!(file.is_compared && !file.is_shared() && !file.is_open());
    let offsets = &found.offsets;
    let rows: Vec<u64> = (0..offsets.rows).map(|row| offsets.cell(0, row).iter().sum()).collect();
    assert_eq!(rows.iter().sum::<u64>(), 4 * 4_096_000);
    let filled = rows.iter().filter(|bytes| **bytes > 0).count();
    assert!(filled as u64 >= 4 * 4_096_000 / offsets.row_bytes, "{rows:?}");
    // Without the table of extents nobody can say where they were.
    run.run.events = None;
    assert_eq!(aggregate(dir.path(), &run).unwrap().unwrap().unplaced, 5);
}

#[test]
fn of_many_files_those_with_most_bytes_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let many = 5000;
    let paths: Vec<String> = (0..many).map(|path| format!("f-{path}")).collect();
    let event = |path: u64| Event {
        seq: path,
        path: path as u32,
        path2: NO_ID,
        done_bytes: if path == many - 7 { 5000 } else { 1 + path % 2 },
        op: Op::Write as u8,
        label: NO_ID,
        ..Event::default()
    };
    let events: Vec<Event> = (0..many).map(event).collect();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    writer.rank(&Origin::default(), &LABELS, &paths, events.iter()).unwrap();
    writer.finish().unwrap();
    let found = aggregate(dir.path(), &run()).unwrap().unwrap();
    assert_eq!(found.files.files[0].path, format!("f-{}", many - 7));
    assert!(found.files.files[1..].iter().all(|file| file.bytes == 2));
    assert_eq!((found.files.files.len(), found.files.more), (24, 5000 - 24));
}

#[test]
fn a_table_may_number_paths_that_no_event_names() {
    for unused in [10, 5000] {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<String> = (0..unused + 2).map(|path| format!("f-{path}")).collect();
        let of = |seq, path: usize| Event { path: path as u32, ..event(seq) };
        let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
        let events = [of(0, unused), of(1, unused + 1), of(2, unused)];
        writer.rank(&Origin::default(), &LABELS, &paths, events.iter()).unwrap();
        writer.finish().unwrap();
        let found = aggregate(dir.path(), &run()).unwrap().unwrap().files;
        let shown: Vec<(&str, u64)> =
            found.files.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
        let [last, other] = [unused, unused + 1].map(|path| format!("f-{path}"));
        assert_eq!((shown, found.more), (vec![(&*last, 200), (&*other, 100)], 0));
    }
}

#[test]
fn an_empty_table_has_no_aggregates() {
    let dir = table(&[Execution::default()], 0);
    assert_eq!(aggregate(dir.path(), &run()).unwrap(), None);
}

#[test]
fn a_damaged_table_is_an_error_and_never_a_panic() {
    let dir = table(&[Execution::default()], 300);
    let path = dir.path().join(EVENTS_FILE);
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(whole.len() / 150) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&path, &bytes).unwrap();
        refused += usize::from(aggregate(&path, &run()).is_err());
    }
    assert!(refused > 20, "{refused}");
    assert!(matches!(aggregate(&dir.path().join("none"), &run()), Err(StoreError::Missing { .. })));
}
