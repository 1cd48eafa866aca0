//! Many simulated ranks: groups, barriers, signals, deadlocks, determinism.

mod common;

use common::simulated::{config, rows, run};
use common::{Build, P, plans};
use engine::comm::End;
use engine::supervise::list_calls;
use model::plan::*;
use model::{Op, Plan, Value};
use proptest::prelude::*;

#[test]
fn groups_intersect_and_skip() {
    let plan = Build::plan(8, |b| {
        b.groups(&[("low", 0..4), ("mid", 2..6), ("none", 3..3)]);
        let (nested, low) = (b.str("nested"), b.str("low"));
        b.group(0, |b| {
            b.time(low, true, |b| b.barrier());
            b.group(1, |b| {
                let path = b.text(&[
                    P::I(Internal::GroupName),
                    P::I(Internal::GroupRank),
                    P::T("of"),
                    P::I(Internal::GroupSize),
                ]);
                b.time(nested, true, |b| b.op(Op::Mkdir, &[path]));
                b.master(|b| {
                    let path = b.str("master");
                    b.op(Op::Mkdir, &[path]);
                });
            });
        });
        b.group(2, |b| {
            let path = b.str("never");
            b.op(Op::Mkdir, &[path]);
        });
        b.push(Instr::Barrier { group: None });
    });
    let (outcome, collected) = run(&plan);
    assert!(outcome.finished());
    let ranks: Vec<(String, u32)> =
        collected.times.iter().map(|time| (time.label.clone(), time.ranks)).collect();
    assert_eq!(ranks, [("low".into(), 4), ("nested".into(), 2)]);
    let made: u64 = collected.rows.iter().map(|row| row.count).sum();
    assert_eq!(made, 3);
    assert_eq!(collected.rows.iter().map(|row| row.failed).sum::<u64>(), 0);
}

#[test]
fn barriers_bring_virtual_times_together() {
    let plan = Build::plan(3, |b| {
        let (label, us, me) = (b.str("l"), b.int(1000), b.global(""));
        b.internal(me, Internal::Rank);
        let work = b.global("");
        b.binary(work, Operand::slot(me), BinaryOp::Mul, us);
        b.op(Op::Compute, &[Operand::slot(work)]);
        let path = b.str(".");
        b.time(label, true, |b| b.op(Op::Stat, &[path]));
    });
    let (_, collected) = run(&plan);
    let time = &collected.times[0];
    assert_eq!((time.ranks, time.first_start_ns, time.last_end_ns), (3, 2_000_000, 2_001_000));
}

#[test]
fn a_barrier_by_a_stranger_is_an_error() {
    let plan = Build::plan(2, |b| {
        b.groups(&[("one", 0..1)]);
        b.push(Instr::Barrier { group: Some(0) });
    });
    let (outcome, collected) = run(&plan);
    assert_eq!(outcome.ends, [End::Finished, End::Failed]);
    assert!(collected.rank_errors[0].message.contains("barrier(\"one\") by rank 1"));
}

#[test]
fn collective_functions_meet() {
    let (outcome, collected) = run(&plans::collective());
    assert!(outcome.finished(), "{:?}", collected.rank_errors);
}

#[test]
fn a_collective_function_that_some_never_call_is_named() {
    let plan = plans::alone();
    let (outcome, _) = run(&plan);
    assert!(outcome.ends.iter().all(|end| *end == End::Released));
    let message = outcome.deadlock_message(&plan).unwrap_or_default();
    assert!(message.contains("rank 0 waits for the other members of gsum at"), "{message}");
}

#[test]
fn members_at_different_statements_are_told() {
    let plan = Build::plan(2, |b| {
        let one = b.int(1);
        b.on_rank(0, |b| {
            b.function(Function::Gsum, one);
        });
        b.barrier();
    });
    let (outcome, collected) = run(&plan);
    assert_eq!(outcome.ends[0], End::Failed);
    assert!(collected.rank_errors[0].message.contains("rank 1 has come to another statement"));
}

#[test]
fn a_rank_that_fails_releases_the_others() {
    let plan = Build::plan(4, |b| {
        let no = b.value(Value::Bool(false));
        let path = b.str(".");
        b.op(Op::Stat, &[path]);
        b.on_rank(2, |b| b.op(Op::Assert, &[no]));
        b.barrier();
        b.op(Op::Stat, &[path]);
    });
    let (outcome, collected) = run(&plan);
    assert_eq!(outcome.ends, [End::Released, End::Released, End::Failed, End::Released]);
    assert_eq!(rows(&collected), ["\"\" stat 4 0 0 0 1000"]);
    assert_eq!(collected.rank_errors[0].message, "the barrier cannot be met: rank 2 has failed");
    assert!(outcome.deadlock.is_empty());
}

#[test]
fn signals_count_and_wait() {
    let plan = Build::plan(3, |b| {
        let (go, ready, two, one) = (b.str("go"), b.str("ready"), b.int(2), b.int(1));
        let path = b.text(&[P::T("order-"), P::I(Internal::Rank)]);
        b.on_rank(0, |b| {
            b.op(Op::Wait, &[ready, two]);
            b.op(Op::Mkdir, &[path]);
            b.op(Op::Signal, &[go, one]);
            b.op(Op::Wait, &[ready, two]);
        });
        b.on_rank(1, |b| {
            b.op(Op::Signal, &[ready]);
            b.op(Op::Wait, &[go]);
            b.op(Op::Signal, &[ready]);
            b.op(Op::Signal, &[ready]);
        });
        b.on_rank(2, |b| {
            b.op(Op::Signal, &[ready]);
        });
    });
    let (outcome, _) = run(&plan);
    assert!(outcome.finished(), "{:?}", outcome.deadlock_message(&plan));
}

#[test]
fn a_wait_never_ends_before_its_signal() {
    // Rank 0 runs first, up to its signal; rank 1 is at time 0 when it looks.
    let plan = Build::plan(3, |b| {
        let (go, all, path) = (b.str("go"), b.str("all"), b.str("."));
        let (us, two) = (b.int(60), b.int(2));
        b.on_rank(0, |b| {
            b.op(Op::Compute, &[us]);
            b.op(Op::Signal, &[go]);
            b.op(Op::Signal, &[all]);
        });
        b.on_rank(1, |b| {
            let label = b.str("after go");
            b.op(Op::Wait, &[go]);
            b.time(label, false, |b| b.op(Op::Stat, &[path]));
            b.op(Op::Signal, &[all]);
        });
        b.on_rank(2, |b| {
            let label = b.str("after all");
            b.op(Op::Wait, &[all, two]);
            b.time(label, false, |b| b.op(Op::Stat, &[path]));
        });
    });
    let (outcome, collected) = run(&plan);
    assert!(outcome.finished(), "{:?}", outcome.deadlock_message(&plan));
    let starts: Vec<(&str, u64)> =
        collected.times.iter().map(|time| (&*time.label, time.first_start_ns)).collect();
    assert_eq!(starts, [("after go", 60_000), ("after all", 61_000)]);
}

#[test]
fn a_wait_that_cannot_be_met_lists_who_waits_where() {
    let plan = Build::plan(3, |b| {
        let (go, two) = (b.str("go"), b.int(2));
        b.on_rank(0, |b| b.op(Op::Signal, &[go]));
        b.on_rank(1, |b| b.op(Op::Wait, &[go, two]));
    });
    let (outcome, collected) = run(&plan);
    assert_eq!(outcome.ends, [End::Finished, End::Released, End::Finished]);
    let message = outcome.deadlock_message(&plan).unwrap();
    assert!(message.contains("rank 1 waits for the signal \"go\" (1 of 2) at test.ppl:"));
    assert!(collected.rank_errors[0].message.contains("wait for the signal \"go\""));
}

#[test]
fn ranks_that_wait_for_each_other_are_a_deadlock() {
    let plan = Build::plan(2, |b| {
        let go = b.str("go");
        b.on_rank(0, |b| b.barrier());
        b.on_rank(1, |b| b.op(Op::Wait, &[go]));
    });
    let (outcome, _) = run(&plan);
    assert_eq!(outcome.ends, [End::Released, End::Released]);
    let message = outcome.deadlock_message(&plan).unwrap();
    assert!(message.contains("rank 0 waits for a barrier at"), "{message}");
    assert!(message.contains("rank 1 waits for the signal \"go\" (0 of 1) at"), "{message}");
}

#[test]
fn random_numbers_are_common_or_not() {
    let plan = Build::plan(4, |b| {
        let (i, three) = (b.global("i"), b.int(3));
        let common = b.text(&[P::T("c-"), P::I(Internal::CommonRand)]);
        let own = b.text(&[P::T("r-"), P::I(Internal::Rand)]);
        b.repeat(i, three, |b| {
            b.op(Op::Create, &[common]);
            b.op(Op::Mkdir, &[own]);
        });
        let (root, x) = (b.str("."), b.global("x"));
        b.op(Op::Readdir, &[root]);
        let (index, n) = (Operand::slot(i), b.int(100));
        b.repeat(i, n, |b| {
            let args = b.args(&[index, n]);
            b.push(Instr::Function { function: Function::Perm, dst: x, args });
            let path = b.text(&[P::T("p-"), P::I(Internal::Rank), P::T("-"), P::V(x)]);
            b.op(Op::Mkdir, &[path]);
        });
    });
    let (_, collected) = run(&plan);
    // Own numbers differ, and a permutation repeats nothing: no mkdir fails.
    assert_eq!(collected.rows.iter().map(|row| row.failed).sum::<u64>(), 0);
    let listed = list_calls(&plan, &config(), 0..4, 6).unwrap();
    let creates = |rank: usize| -> Vec<&String> {
        listed.ranks[rank].1.iter().filter(|line| line.contains("\"c-")).collect()
    };
    assert_eq!(creates(0).len(), 2);
    assert_eq!(creates(0), creates(3));
    assert_ne!(creates(0)[0], creates(0)[1]);
}

/// A program of many kinds of statements, as numbers choose them.
fn arbitrary(ranks: u32, choices: &[(u8, u8)]) -> Plan {
    Build::plan(ranks, |b| {
        b.groups(&[("a", 0..ranks.div_ceil(2)), ("b", 1.min(ranks)..ranks)]);
        let i = b.global("i");
        let (label, size) = (b.text(&[P::T("l"), P::V(i)]), b.int(3000));
        let zero = b.int(0);
        b.set(i, zero);
        for (what, which) in choices {
            let path = match which % 3 {
                0 => b.text(&[P::T("x")]),
                1 => b.text(&[P::T("y-"), P::I(Internal::Rank)]),
                _ => b.text(&[P::T("z-"), P::I(Internal::CommonRand), P::V(i)]),
            };
            let count = b.int(i64::from(which % 4));
            match what % 8 {
                0 => b.op(Op::Write, &[path, size]),
                1 => b.op(Op::Append, &[path, size]),
                2 => b.op(Op::Delete, &[path]),
                3 => b.repeat(i, count, |b| b.op(Op::Read, &[path])),
                4 => b.time(label, which % 2 == 0, |b| b.op(Op::Mkdir, &[path])),
                5 => b.group(u32::from(which % 2), |b| b.barrier()),
                6 => b.barrier(),
                _ => b.on_rank(i64::from(*which % 3), |b| b.op(Op::Signal, &[path])),
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn simulation_is_deterministic(
        ranks in 1u32..7,
        choices in prop::collection::vec(any::<(u8, u8)>(), 1..40),
    ) {
        let plan = arbitrary(ranks, &choices);
        let (first, one) = run(&plan);
        let (_, two) = run(&plan);
        prop_assert!(first.finished(), "{:?}", first.deadlock_message(&plan));
        prop_assert_eq!(format!("{:?}", one.rows), format!("{:?}", two.rows));
        prop_assert_eq!(format!("{:?}", one.times), format!("{:?}", two.times));
        prop_assert_eq!(format!("{:?}", one.failures), format!("{:?}", two.failures));
    }
}
