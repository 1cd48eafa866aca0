//! Barriers, groups, signals.

use crate::common::{Build, plans};
use crate::{Case, Stage, names};
use engine::comm::End;
use engine::recorder::State;
use model::Op;

pub const CASES: &[Case] = &[
    ("ranks write files", 3, ranks_write_files),
    ("barriers keep the order", 4, barriers_keep_the_order),
    ("many ranks on few processors", 24, many_ranks),
    ("signals reach their ranks", 3, signals_reach_their_ranks),
    ("collective functions meet", 3, collective_functions_meet),
    ("signals of groups are apart", 4, signals_of_groups),
    ("many signals wait for their rank", 2, many_signals),
    ("nested groups meet", 6, nested_groups_meet),
];

fn ranks_write_files(place: &Stage<'_>) {
    let plan = plans::files();
    let outcome = place.run(&plan);
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(outcome.all.ends, if place.rank() == 0 { vec![End::Finished; 3] } else { vec![] });
    assert_eq!(names(&place.directory).len(), 12);
    let record = outcome.record.expect("a record");
    assert_eq!((record.rank, record.ranks, record.state), (place.rank(), 3, State::Finished));
    let figures: Vec<(Op, u64, u64)> = record
        .stats
        .iter()
        .map(|stat| (stat.op, stat.figures.done.count, stat.figures.bytes))
        .collect();
    assert_eq!(figures, [(Op::Write, 4, 4_000), (Op::Read, 4, 4_000)]);
}

fn barriers_keep_the_order(place: &Stage<'_>) {
    let plan = plans::neighbours();
    let outcome = place.run(&plan);
    assert_eq!(outcome.end, End::Finished);
    let failed: u64 =
        outcome.record.expect("a record").stats.iter().map(|stat| stat.figures.failed).sum();
    assert_eq!(failed, 0);
    assert!(names(&place.directory).is_empty());
}

fn many_ranks(place: &Stage<'_>) {
    let plan = plans::barriers(24, 20);
    assert_eq!(place.run_dry(&plan).end, End::Finished);
}

fn signals_reach_their_ranks(place: &Stage<'_>) {
    let plan = plans::signals();
    let outcome = place.run_dry(&plan);
    assert_eq!(outcome.end, End::Finished, "{:?}", outcome.all.deadlock);
}

fn collective_functions_meet(place: &Stage<'_>) {
    let plan = plans::collective();
    let outcome = place.run_dry(&plan);
    assert_eq!(outcome.end, End::Finished, "{:?}", outcome.all.deadlock);
}

/// The same name in two groups and in the world: three counters.
fn signals_of_groups(place: &Stage<'_>) {
    let plan = Build::plan(4, |b| {
        let (go, two, four) = (b.str("go"), b.int(2), b.int(4));
        b.groups(&[("low", 0..2), ("high", 2..4)]);
        for group in [0, 1] {
            b.group(group, |b| {
                b.op(Op::Signal, &[go]);
                b.op(Op::Wait, &[go, two]);
            });
        }
        b.op(Op::Signal, &[go]);
        b.op(Op::Wait, &[go, four]);
    });
    assert_eq!(place.run_dry(&plan).end, End::Finished);
}

/// Nobody waits for a signal to be taken: the receiver is in a barrier of another matter.
fn many_signals(place: &Stage<'_>) {
    let plan = Build::plan(2, |b| {
        let (go, i, n) = (b.str("go"), b.global("i"), b.int(20_000));
        b.on_rank(0, |b| b.repeat(i, n, |b| b.op(Op::Signal, &[go])));
        b.barrier();
        b.on_rank(1, |b| b.op(Op::Wait, &[go, n]));
    });
    assert_eq!(place.run_dry(&plan).end, End::Finished);
}

fn nested_groups_meet(place: &Stage<'_>) {
    let plan = Build::plan(6, |b| {
        let (i, n) = (b.global("i"), b.int(20));
        b.groups(&[("a", 0..4), ("b", 2..6), ("c", 3..4)]);
        b.repeat(i, n, |b| {
            for (outer, inner) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
                b.group(outer, |b| {
                    b.barrier();
                    b.group(inner, |b| b.barrier());
                });
            }
        });
    });
    assert_eq!(place.run_dry(&plan).end, End::Finished);
}
