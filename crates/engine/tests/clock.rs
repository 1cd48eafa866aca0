//! What becomes of times when the clock goes backward, and of pauses when statements take time.

mod common;

use common::Build;
use engine::backend::Null;
use engine::buffer::Buffers;
use engine::clock::Virtual;
use engine::collect::{Collected, collect};
use engine::comm::{Local, Region};
use engine::machine::{Machine, Prepared, Settings, Stop};
use engine::recorder::{EventsConfig, Medium, Meta, RankRecord, Recorder, Usage};
use model::{Op, Plan};
use std::cell::Cell;
use std::sync::Arc;

/// Each reading shows so much more than the one before.
fn steps(step_ns: i64) -> Virtual {
    let clock = Virtual::start();
    clock.set(1_000_000);
    let next = Cell::new(1_000_000u64);
    clock.watched(move |clock| {
        next.set(next.get().saturating_add_signed(step_ns));
        clock.set(next.get());
    })
}

/// Five times are taken: of the stat, of the three parts of the write, and of the label.
fn plan() -> Plan {
    Build::plan(1, |b| {
        let (label, path, size) = (b.str("l"), b.str("a"), b.int(4096));
        b.time(label, false, |b| {
            b.op(Op::Stat, &[path]);
            b.op(Op::Write, &[path, size]);
        });
    })
}

fn run(step_ns: i64, events: Option<EventsConfig>) -> Collected {
    let plan = plan();
    collect(&[record(&plan, steps(step_ns), events)], &plan)
}

fn record(plan: &Plan, clock: Virtual, events: Option<EventsConfig>) -> RankRecord {
    let prepared = Prepared::new(plan);
    let settings = Settings::default();
    let mut comm = Local::new(Arc::new(Region::create(1, &plan.sets).expect("memory")), 0, 1);
    let meta = Meta { rank: 0, ranks: 1, sites: plan.code.len() as u32, events };
    let recorder = Recorder::create(Medium::Heap, &meta).expect("memory");
    let mut machine = Machine::new(&prepared, &settings, Box::new(Null), &comm, clock, recorder);
    let stop = machine.run(&mut comm, &mut Buffers::new(1, 0));
    assert_eq!(stop, Stop::Finished);
    let (recorder, _) = machine.finish(&stop, &mut comm, |_| Usage::default());
    recorder.into_record().expect("a sound record")
}

/// Time from the end of an operation to the start of the next one, with `body` between them. Each
/// reading of the clock takes `tick_ns`.
fn gap_ns(tick_ns: u64, body: impl FnOnce(&mut Build)) -> u64 {
    let plan = Build::plan(1, |b| {
        let path = b.str("a");
        b.op(Op::Stat, &[path]);
        body(b);
        b.op(Op::Stat, &[path]);
    });
    let clock = Virtual::start().watched(move |clock| clock.advance(tick_ns));
    let events = EventsConfig { max_bytes: 1 << 20, expected: 10, sample_every: 1 };
    let events: Vec<_> = record(&plan, clock, Some(events)).events().collect();
    events[1].start_ns - events[0].end_ns
}

/// Makes the statements of a plan.
type Body = fn(&mut Build);

/// A pause of 2 us.
fn pause(b: &mut Build, op: Op) {
    let us = b.int(2);
    b.op(op, &[us]);
}

/// What statements cost between two operations is part of the pauses there, so that these add up: only
/// two readings come after the last one.
#[test]
fn trap_11_pauses_add_up_exactly() {
    let bodies: [(u64, Body); 4] = [
        (2_000, |b| pause(b, Op::Compute)),
        (4_000, |b| {
            pause(b, Op::Compute);
            pause(b, Op::Sleep);
        }),
        (6_000, |b| {
            let (i, three) = (b.global("i"), b.int(3));
            b.repeat(i, three, |b| pause(b, Op::Compute));
        }),
        (200_000, |b| (0..100).for_each(|_| pause(b, Op::Compute))),
    ];
    for (pauses_ns, body) in bodies {
        assert_eq!(gap_ns(0, body), pauses_ns);
        assert_eq!(gap_ns(100, body), pauses_ns + 200);
    }
}

/// A pause is no shorter for what the rank waited before it, and a label measures all of it.
#[test]
fn a_pause_after_waiting_counts_from_its_own_start() {
    let between: [Body; 3] = [
        Build::barrier,
        |b| {
            let go = b.str("go");
            b.op(Op::Signal, &[go]);
            b.op(Op::Wait, &[go]);
        },
        |b| b.print(&[]),
    ];
    for between in between {
        let gap_ns = gap_ns(100, |b| {
            between(b);
            pause(b, Op::Compute);
        });
        // Of the three readings the first is that from which it counts.
        assert_eq!(gap_ns, 2_000 + 300);
    }
    let of_label = |b: &mut Build| {
        let label = b.str("l");
        b.time(label, false, |b| pause(b, Op::Compute));
    };
    let plan = Build::plan(1, |b| {
        let path = b.str("a");
        b.op(Op::Stat, &[path]);
        of_label(b);
    });
    let clock = Virtual::start().watched(|clock| clock.advance(100));
    let collected = collect(&[record(&plan, clock, None)], &plan);
    assert!(collected.times[0].max_ns >= 2_000, "{:?}", collected.times);
}

#[test]
fn times_that_went_backward_are_zero_and_counted() {
    let events = Some(EventsConfig { max_bytes: 1 << 20, expected: 10, sample_every: 1 });
    for events in [None, events] {
        let back = run(-10, events);
        assert_eq!(back.evidence.clock_backward, 5);
        assert!(back.rows.iter().all(|row| (row.count, row.max_ns) == (1, Some(0))));
        assert_eq!(run(10, events).evidence.clock_backward, 0);
    }
}
