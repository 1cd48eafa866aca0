//! Aggregates held against sums over the events one by one.

mod cases;
mod decode;
mod recount;

use super::*;
use decode::Decoded;
use model::event::{Event, FLAG_EXPECTED, FLAG_FAILED, FLAG_UNPLACED, NO_ID};
use model::run::{Program, ProgramFile, Site};
use model::sweep::Sweep;
use proptest::prelude::*;
use report::events::{EventWriter, Origin};

const LABELS: [&str; 3] = ["first", "second", "second/inner"];

/// A program of two files, of which five lines have sites.
fn run() -> Run {
    let file = |name: &str| ProgramFile { name: name.into(), text: String::new() };
    let site = |site: u32| Site {
        site,
        file: if site.is_multiple_of(2) { "a.ppl" } else { "b.ppl" }.into(),
        line: 1 + site / 3,
        ..Site::default()
    };
    let mut run = Run::default();
    run.run.program = Program { name: "a.ppl".into(), files: vec![file("a.ppl"), file("b.ppl")] };
    run.run.sites = (0..6).map(site).collect();
    run
}

fn any_event() -> impl Strategy<Value = Event> {
    let time = prop_oneof![3 => 0u64..100_000, 1 => 0u64..1 << 40, 1 => any::<u64>()];
    let bytes = prop_oneof![2 => Just(0), 4 => 0u64..100_000, 1 => any::<u64>()];
    let flags = prop_oneof![
        8 => Just(0), 1 => Just(FLAG_FAILED), 1 => Just(FLAG_EXPECTED), 1 => Just(FLAG_UNPLACED)
    ];
    let ids = (prop_oneof![0u32..3, Just(NO_ID)], prop_oneof![0u32..40, Just(NO_ID)], 0u32..8);
    let parts = prop::array::uniform5(prop_oneof![Just(0u64), 0u64..1000]);
    (time.clone(), time.clone(), time, (bytes.clone(), bytes), flags, ids, (0..Op::COUNT, parts))
        .prop_map(|(a, b, busy_ns, (offset_bytes, done_bytes), flags, ids, (op, parts_ns))| Event {
            start_ns: a.min(b),
            end_ns: a.max(b),
            busy_ns,
            offset_bytes,
            done_bytes,
            label: ids.0,
            path: ids.1,
            path2: NO_ID,
            site: ids.2,
            op: op as u8,
            flags,
            parts_ns,
            ..Event::default()
        })
}

/// A table of executions, each with the events of its ranks.
fn table(executions: &[(Execution, Vec<Vec<Event>>)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<String> = (0..40).map(|path| format!("f-{path}")).collect();
    let mut writer = EventWriter::create(dir.path(), &[]).unwrap();
    for ((cell, repetition), ranks) in executions {
        for (rank, events) in ranks.iter().enumerate() {
            let (rank, cell, repetition) = (rank as u32, *cell, *repetition);
            let origin = Origin { rank, host: "node", cell, repetition };
            writer.rank(&origin, &LABELS, &paths, events.iter()).unwrap();
        }
    }
    writer.finish().unwrap();
    dir
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn what_is_decoded_is_what_events_add_up_to(
        ranks in prop::collection::vec(prop::collection::vec(any_event(), 0..60), 1..6),
    ) {
        let dir = table(&[(Execution::default(), ranks)]);
        recount::check(dir.path(), &run());
    }
}

/// Several row groups, bands of ranks, columns that are halved.
#[test]
fn many_events_are_counted_once() {
    let event = |rank: u64, seq: u64| Event {
        seq,
        start_ns: 1000 * seq + 13 * rank,
        end_ns: 1000 * seq + 400 + 100 * (seq % 97),
        busy_ns: 300 + 7 * (seq % 1000),
        offset_bytes: 100 * (seq * 7919 % 5000),
        done_bytes: if seq % 5 == 4 { 0 } else { 100 },
        label: (seq % 3) as u32,
        path: (seq / 10 % 40) as u32,
        path2: NO_ID,
        site: (seq % 7) as u32,
        op: [Op::Fread, Op::Fwrite, Op::Fsync, Op::Stat][(seq % 4) as usize] as u8,
        ..Event::default()
    };
    let ranks = |ranks: u64, count: u64| {
        let rank = |rank: u64| (0..count).map(|seq| event(rank, seq)).collect();
        (0..ranks).map(rank).collect::<Vec<Vec<Event>>>()
    };
    // Each of the points has an eighth of the cells.
    let points = (1..8).map(|cell| ((cell, 0), ranks(1, 20)));
    let all: Vec<_> = [((0, 0), ranks(200, 250))].into_iter().chain(points).collect();
    let dir = table(&all);
    let mut run = run();
    run.run.sweep = Some(Sweep::default());
    let all = recount::check(dir.path(), &run);
    let line = &all.executions[0];
    assert_eq!((all.executions.len(), line.events, line.ranks), (8, 50_000, 200));
    assert!(line.cells.len() <= 25_000 && line.time.count < 16_384, "{}", line.cells.len());
    assert!(line.bands.len() <= 128, "{}", line.bands.len());
    assert_eq!(line.bands.iter().map(|band| band.1 - band.0 + 1).sum::<u32>(), 200);
    assert_eq!((line.labels.len(), line.ops.len(), line.files.len()), (3, 4, 24));
    assert_eq!(line.more_files, 1);
    let is_said = |line: &TimeLine| line.notes.iter().any(|note| note.contains("shorter ones"));
    assert!(is_said(line) && !is_said(&all.executions[1]), "{:?}", line.notes);
}
