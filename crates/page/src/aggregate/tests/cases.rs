//! Cases that a random table seldom has.

use super::*;
use model::pattern;
use model::run::{EventExtents, TimeRow, Trace, TraceGap};
use model::sweep::{Dimension, Sweep};
use report::StoreError;
use report::events::EVENTS_FILE;
use std::fs;

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
        path: (seq / 10 % 40) as u32,
        path2: NO_ID,
        op: if seq.is_multiple_of(3) { Op::Fwrite as u8 } else { Op::Fread as u8 },
        ..Event::default()
    }
}

fn executions(all: &[Execution]) -> tempfile::TempDir {
    let ranks = || (0..2).map(|_| (0..100).map(event).collect()).collect();
    table(&all.iter().map(|execution| (*execution, ranks())).collect::<Vec<_>>())
}

fn shown(run: &Run, all: &[Execution]) -> Vec<(Execution, String)> {
    let found = aggregate(executions(all).path(), run).unwrap().unwrap();
    found.executions.into_iter().map(|line| (line.execution, line.name)).collect()
}

#[test]
fn of_a_sweep_each_point_is_shown_and_of_a_and_b_each_side() {
    let all: Vec<Execution> = (0..20).map(|at| (9 - at % 10, at / 10)).collect();
    assert_eq!(shown(&run(), &all), [((0, 0), String::new())]);
    let mut run = run();
    let values: Vec<String> = (0..10).map(|value| format!("{value}k")).collect();
    let dimension = Dimension { name: "block".into(), values, ..Dimension::default() };
    run.run.sweep = Some(Sweep { dimensions: vec![dimension], ..Sweep::default() });
    let expected: Vec<_> = (0..8).map(|cell| ((cell, 0), format!("block={cell}k"))).collect();
    assert_eq!(shown(&run, &all), expected);
    let sweep = run.run.sweep.as_mut().unwrap();
    sweep.versus = true;
    sweep.dimensions[0].values.truncate(2);
    let sides = [((0, 0), "A".to_string()), ((1, 0), "B".to_string())];
    assert_eq!(shown(&run, &[(1, 0), (0, 0), (0, 1), (1, 1)]), sides);
    let dir = executions(&[(1, 0), (0, 0), (0, 1)]);
    recount::check(dir.path(), &run);
}

/// Executions share row groups; ranges of one must not become axes of another.
#[test]
fn an_execution_has_axes_of_its_own() {
    let wide = |seq: u64, scale: u64| {
        let event = event(seq);
        Event {
            start_ns: event.start_ns * scale,
            end_ns: event.end_ns * scale,
            offset_bytes: event.offset_bytes * scale,
            ..event
        }
    };
    let rank = |scale| (0..20).map(|seq| wide(seq, scale)).collect::<Vec<_>>();
    let dir = table(&[((0, 0), vec![rank(1)]), ((1, 0), vec![rank(1000); 4])]);
    let found = recount::check(dir.path(), &run());
    let line = &found.executions[0];
    assert_eq!((found.executions.len(), line.events, line.ranks), (1, 20, 1));
    assert_eq!((line.start_ns, line.end_ns, line.offsets.end_bytes()), (0, 19_400, 1024));
}

#[test]
fn failed_operations_are_counted_and_nothing_else() {
    let with = |seq, flags| Event { flags, ..event(seq) };
    let events = vec![event(0), with(1, FLAG_FAILED), with(2, FLAG_EXPECTED), with(3, FLAG_FAILED)];
    let dir = table(&[(Execution::default(), vec![events])]);
    let line = &recount::check(dir.path(), &run()).executions[0];
    assert_eq!((line.events, line.failed, line.cells.len()), (1, 3, 1));
    assert!(
        line.notes.iter().any(|note| note.contains("3 operations that failed")),
        "{:?}",
        line.notes
    );
}

/// A log that tells when calls began, and not how long they took.
#[test]
fn unknown_times_are_unknown() {
    let events = (0..50).map(|seq| Event { busy_ns: 0, ..event(seq) }).collect();
    let dir = table(&[(Execution::default(), vec![events])]);
    let gap = TraceGap { code: "no-durations".into(), count: 50, ..TraceGap::default() };
    let mut run = run();
    run.run.trace = Some(Trace { gaps: vec![gap], ..Trace::default() });
    let found = aggregate(dir.path(), &run).unwrap().unwrap();
    let line = &found.executions[0];
    assert!(!line.has_times && line.latencies().is_empty() && !found.access[0].has_times);
    assert!(line.notes.iter().any(|note| note.contains("unknown")), "{:?}", line.notes);
    assert_eq!(line.cells.iter().map(|cell| cell.calls).sum::<u64>(), 50);
}

/// Phases have the labels of their calls, and labels without calls are labels, too.
#[test]
fn phases_lie_in_the_order_of_their_starts() {
    let time = |label: &str, first_start_ns, last_end_ns| TimeRow {
        label: label.into(),
        ranks: 2,
        first_start_ns,
        last_end_ns,
        ..TimeRow::default()
    };
    let mut run = run();
    run.times = vec![time("second", 50, 90), time("second/inner", 50, 60), time("idle", 3, 9)];
    run.times.push(TimeRow { cell: 1, ..time("first", 0, 1) });
    let found = aggregate(executions(&[(0, 0)]).path(), &run).unwrap().unwrap();
    let line = &found.executions[0];
    assert_eq!(line.labels, ["first", "second", "idle", "second/inner"]);
    let phases = [Phase(2, 3, 9, 2), Phase(1, 50, 90, 2), Phase(3, 50, 60, 2)];
    assert_eq!(line.phases, phases);
}

/// A pattern's pieces are where it says.
#[test]
fn pieces_of_patterns_have_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    let every = |rank: u64| pattern::Run {
        offset_bytes: rank * 4096,
        length_bytes: 4096,
        stride_bytes: 8 * 4096,
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
    let found = aggregate(dir.path(), &run).unwrap().unwrap();
    let offsets = &found.executions[0].offsets;
    assert_eq!((found.executions[0].events, offsets.unplaced), (5, 1));
    let bytes: Vec<u64> = offsets.cells().iter().map(|cell| cell.bytes).collect();
    assert_eq!((bytes.iter().sum::<u64>(), bytes.len()), (4 * 4_096_000, 128));
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(most - least <= 2 * 4 * 4096, "{least} {most}");
    // Without the table of extents nobody can say where they were.
    run.run.events = None;
    let found = aggregate(dir.path(), &run).unwrap().unwrap();
    assert_eq!(found.executions[0].offsets.unplaced, 5);
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
    let (line, access) = (&found.executions[0], &found.access[0]);
    assert_eq!(line.files[0], format!("f-{}", many - 7));
    assert_eq!((line.files.len(), line.more_files), (24, 5000 - 24));
    assert_eq!((access.files.len(), access.more_files), (1000, 4000));
    assert!(access.files[1..].iter().all(|file| file.bytes() == 2 && file.opens == 1));
    let all: u64 = events.iter().map(|event| event.done_bytes).sum();
    let own: u64 = access.files.iter().map(FileAccess::bytes).sum();
    assert_eq!((own + access.others.bytes(), access.others.opens), (all, 4000));
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
        let found = recount::check(dir.path(), &run());
        let files: Vec<(&str, u64)> =
            found.access[0].files.iter().map(|file| (&*file.path, file.bytes())).collect();
        let [last, other] = [unused, unused + 1].map(|path| format!("f-{path}"));
        assert_eq!(files, [(&*last, 200), (&*other, 100)]);
    }
}

#[test]
fn an_empty_table_has_no_aggregates() {
    let dir = table(&[(Execution::default(), vec![Vec::new()])]);
    assert_eq!(aggregate(dir.path(), &run()).unwrap(), None);
}

#[test]
fn a_damaged_table_is_an_error_and_never_a_panic() {
    let dir = table(&[(Execution::default(), vec![(0..300).map(event).collect()])]);
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
