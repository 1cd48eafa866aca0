//! What becomes of times when the clock goes backward.

mod common;

use common::Build;
use engine::backend::Null;
use engine::buffer::Buffers;
use engine::clock::Virtual;
use engine::comm::{Region, Solo};
use engine::machine::{Machine, Prepared, Settings, Stop};
use engine::record::{Collected, EventsConfig, Medium, Meta, Recorder, Usage, collect};
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
    let prepared = Prepared::new(&plan);
    let settings = Settings::default();
    let mut comm = Solo::new(Arc::new(Region::create(1, &plan.sets).expect("memory")));
    let meta = Meta { rank: 0, ranks: 1, sites: plan.code.len() as u32, events };
    let recorder = Recorder::create(Medium::Heap, &meta).expect("memory");
    let mut machine = Machine::new(&prepared, &settings, Null, &comm, steps(step_ns), recorder);
    let stop = machine.run(&mut comm, &mut Buffers::new(1, 0));
    assert_eq!(stop, Stop::Finished);
    let (recorder, _) = machine.finish(&stop, &mut comm, |_| Usage::default());
    collect(&[recorder.into_record().expect("a sound record")], &plan)
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
