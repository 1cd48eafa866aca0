//! Operations under way together, with faults: whatever partial transfers, interruptions, errors and
//! delays a seed brings, each operation ends once, and what succeeded is in the file.
#![allow(clippy::print_stderr)]

mod common;
#[path = "doubles/faults.rs"]
mod faults;

use common::Build;
use engine::buffer::{Buffers, fill_offset};
use engine::clock::Virtual;
use engine::collect::collect;
use engine::comm::{Local, Region};
use engine::machine::{Machine, Prepared, Settings, Stop};
use engine::recorder::{EventsConfig, Medium, Meta, RankRecord, Recorder, Usage};
use faults::{Faults, Faulty, directory, files_in};
use model::plan::{Operand, Options};
use model::{Event, Op, Plan, Value};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

const SEEDS: u64 = 1_000;
const SLOT_BYTES: u64 = 6_000;
const PLAN_SEED: u64 = 42;

/// No rate, rates that a rank reaches with delays of a millisecond, and that it does not.
const RATES: [Option<(f64, &str)>; 4] =
    [None, Some((500.0, "fixed")), Some((20_000.0, "poisson")), Some((1e6, "fixed"))];

/// What a seed lets a rank do.
struct Program {
    plan: Plan,
    /// Place and length of each write and read.
    pieces: Vec<(u64, u64)>,
    /// Operations are due at times.
    scheduled: bool,
}

fn program(seed: u64) -> Program {
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    let count = random.random_range(1..40);
    let length = |random: &mut ChaCha8Rng| random.random_range(0..SLOT_BYTES);
    let pieces: Vec<(u64, u64)> =
        (0..count).map(|at| (at * SLOT_BYTES, length(&mut random))).collect();
    let (depth, cut) = (random.random_range(1..20), random.random_range(500..8_000));
    let batch = random.random_range(0..=depth);
    let rate = RATES[random.random_range(0..RATES.len())];
    let plan = Build::plan(1, |b| {
        let (h, path, flags) = (b.global("h"), b.str("f"), b.str("w+"));
        b.op_to(h, Op::Fopen, &[path, flags]);
        let options = Options {
            engine: Some(b.str("uring")),
            depth: Some(b.int(depth)),
            batch: (batch > 0).then(|| b.int(batch)),
            data: Some(b.str("offset")),
            transfer: Some(b.int(cut)),
            rate: rate.map(|(ops_s, _)| b.value(Value::Float(ops_s))),
            arrival: rate.map(|(_, arrival)| b.str(arrival)),
            ..Options::default()
        };
        b.with(options, |b| {
            for op in [Op::Fwrite, Op::Fread] {
                for (offset, len) in &pieces {
                    let (len, offset) = (b.int(*len as i64), b.int(*offset as i64));
                    b.op(op, &[Operand::slot(h), len, offset]);
                }
                b.op(Op::Fsync, &[Operand::slot(h)]);
            }
        });
        b.op(Op::Fclose, &[Operand::slot(h)]);
    });
    Program { plan: Plan { seed: PLAN_SEED, ..plan }, pieces, scheduled: rate.is_some() }
}

/// Executes a plan with the faults of a seed to its end: what was recorded, and how many errors there were.
fn run(plan: &Plan, directory: &Path, seed: u64) -> (RankRecord, u64) {
    let (stop, record, errors) = run_with(&Settings::default(), plan, directory, seed);
    assert_eq!(stop, Stop::Finished);
    (record, errors)
}

/// The same, and how it ended.
fn run_with(
    settings: &Settings,
    plan: &Plan,
    directory: &Path,
    seed: u64,
) -> (Stop, RankRecord, u64) {
    let prepared = Prepared::new(plan);
    let region = Arc::new(Region::create(1, &plan.sets).expect("memory"));
    let events = Some(EventsConfig { max_bytes: 1 << 20, ..EventsConfig::default() });
    let meta = Meta { rank: 0, ranks: 1, sites: plan.code.len() as u32, events };
    let recorder = Recorder::create(Medium::Heap, &meta).expect("memory");
    let (clock, (faults, injected)) = (Virtual::start(), Faults::new(seed));
    let backend = Faulty::new(files_in(directory), clock.clone(), Some(faults));
    let mut comm = Local::new(region, 0, 1);
    let mut machine = Machine::new(&prepared, settings, Box::new(backend), &comm, clock, recorder);
    let stop = machine.run(&mut comm, &mut Buffers::new(PLAN_SEED, 0));
    let (recorder, _) = machine.finish(&stop, &mut comm, |_| Usage::default());
    (stop, recorder.into_record().expect("a record"), injected.count())
}

/// Events of an operation by offset; each stands there once.
fn by_offset(record: &RankRecord, op: Op) -> BTreeMap<u64, Event> {
    let events = record.events().filter(|event| event.op == op as u8);
    let mut found = BTreeMap::new();
    for event in events {
        assert!(event.end_ns >= event.start_ns, "{event:?}");
        assert!(event.start_ns >= event.intended_start_ns, "{event:?}");
        assert!(found.insert(event.offset_bytes, event).is_none(), "twice: {event:?}");
    }
    found
}

fn check(seed: u64) {
    let Program { plan, pieces, scheduled } = program(seed);
    let place = directory();
    let (record, errors) = run(&plan, place.path(), seed);
    let mut bytes = fs::read(place.path().join("f")).expect("a file");
    bytes.resize(pieces.len() * SLOT_BYTES as usize, 0);
    let (writes, reads) = (by_offset(&record, Op::Fwrite), by_offset(&record, Op::Fread));
    assert_eq!((writes.len(), reads.len()), (pieces.len(), pieces.len()));
    let mut expected = vec![0; SLOT_BYTES as usize];
    for (offset, len) in &pieces {
        let event = &writes[offset];
        assert_eq!(event.requested_bytes, *len);
        assert!([0, libc::EIO, libc::ENOSPC].contains(&i32::from(event.errno)), "{event:?}");
        if event.errno == 0 {
            assert_eq!(event.done_bytes, *len, "{event:?}");
            let (expected, start) = (&mut expected[..*len as usize], *offset as usize);
            fill_offset(expected, *offset, PLAN_SEED);
            assert!(bytes[start..start + expected.len()] == *expected, "{event:?}");
        }
    }
    let collected = collect(&[record], &plan);
    let row = |op: &str| {
        collected.rows.iter().find(|row| row.op == op).unwrap_or_else(|| panic!("no row {op}"))
    };
    let rows = [row("fwrite"), row("fread"), row("fsync")];
    let failed: u64 = rows.iter().map(|row| row.failed).sum();
    assert_eq!(failed, errors, "every error fails one operation");
    assert_eq!(rows.map(|row| row.count), [pieces.len() as u64, pieces.len() as u64, 2]);
    let arrived: u64 = collected.arrivals.iter().map(|row| row.operations).sum();
    assert_eq!(arrived, if scheduled { 2 * pieces.len() as u64 + 2 } else { 0 });
    for row in rows {
        let served = collected.rows.iter().find(|part| part.op == format!("{}.service", row.op));
        let served = served.map_or(0, |part| part.count);
        assert_eq!(served, if scheduled { row.count - row.failed } else { 0 }, "{row:?}");
        let busy_ns = row.balance.as_ref().expect("ranks").busy_ns;
        assert!(busy_ns <= collected.duration_wall_ns, "{row:?}");
    }
}

#[test]
fn whatever_goes_wrong_operations_end_once_and_what_succeeded_is_there() {
    for seed in 0..SEEDS {
        if let Err(cause) = catch_unwind(|| check(seed)) {
            eprintln!("seed {seed} fails");
            std::panic::resume_unwind(cause);
        }
    }
}

#[test]
fn a_rank_that_stops_counts_what_was_under_way() {
    let settings = Settings { stop_on_error: true, ..Settings::default() };
    let mut stopped_with_several = 0;
    for seed in 0..SEEDS {
        let (plan, place) = (program(seed).plan, directory());
        let (stop, record, errors) = run_with(&settings, &plan, place.path(), seed);
        assert_eq!(matches!(stop, Stop::Failed { .. }), errors > 0, "seed {seed}: {stop:?}");
        let rows = collect(&[record], &plan).rows;
        // An error of an operation that nobody waited for would be missing.
        let failed: u64 = rows.iter().map(|row| row.failed).sum();
        assert_eq!(failed, errors, "seed {seed}");
        stopped_with_several += u64::from(errors > 1);
    }
    assert!(stopped_with_several > 0, "no seed has errors of operations under way together");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let figures = |seed| {
        let (plan, place) = (program(seed).plan, directory());
        let (record, _) = run(&plan, place.path(), seed);
        let events: Vec<Event> = record.events().collect();
        (format!("{events:?}"), format!("{:?}", collect(&[record], &plan).rows))
    };
    assert_eq!(figures(7), figures(7));
    assert_ne!(figures(7), figures(8));
}
