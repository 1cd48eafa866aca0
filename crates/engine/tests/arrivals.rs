//! Operations that are due at times of a schedule, in virtual time: when they start, what is kept of it.

mod common;

use common::Build;
use common::simulated::{config, rows, run, run_with};
use engine::collect::Collected;
use engine::config::Config;
use engine::recorder::EventsConfig;
use model::event::FLAG_DUE;
use model::plan::*;
use model::run::ArrivalRow;
use model::{Event, Op, Plan, Value};

/// `with (rate=ops_s, ...) repeat count { body }` on so many ranks.
fn plan(
    ranks: u32,
    (ops_s, arrival, per): (f64, &str, &str),
    count: i64,
    body: impl FnOnce(&mut Build),
) -> Plan {
    Build::plan(ranks, |b| {
        let (i, count) = (b.global("i"), b.int(count));
        let options = Options {
            rate: Some(b.value(Value::Float(ops_s))),
            arrival: Some(b.str(arrival)),
            per: Some(b.str(per)),
            ..Options::default()
        };
        let label = b.str("l");
        b.time(label, true, |b| b.with(options, |b| b.repeat(i, count, body)));
    })
}

/// One stat: 1 µs.
fn stat(b: &mut Build) {
    let path = b.str(".");
    b.op(Op::Stat, &[path]);
}

/// `compute(us)`
fn compute(b: &mut Build, us: i64) {
    let us = b.int(us);
    b.op(Op::Compute, &[us]);
}

fn arrivals(collected: &Collected) -> &ArrivalRow {
    assert_eq!(collected.arrivals.len(), 1);
    &collected.arrivals[0]
}

fn events(plan: &Plan) -> Vec<Event> {
    let events = EventsConfig { max_bytes: 1 << 24, ..EventsConfig::default() };
    let (outcome, _) = run_with(plan, &Config { events: Some(events), ..config() });
    outcome.records.iter().flat_map(|record| record.events()).collect()
}

#[test]
fn operations_start_when_they_are_due() {
    let plan = plan(1, (1000.0, "fixed", "rank"), 5, stat);
    let (_, collected) = run(&plan);
    assert_eq!(rows(&collected), ["\"l\" stat 5 0 0 0 1000", "\"l\" stat.service 5 0 0 0 1000"]);
    assert_eq!(collected.rows[1].part_of.as_deref(), Some("stat"));
    let row = arrivals(&collected);
    assert_eq!((row.asked_ops_s, row.achieved_ops_s), (1000.0, Some(1000.0)));
    assert_eq!((row.operations, row.ranks, row.executions), (5, 1, 1));
    assert_eq!((row.late_ns, row.latest_ns, row.backlog_max, row.backlog_end), (0, 0, 0, 0));
    assert!(!row.is_behind());
    let starts: Vec<u64> = events(&plan).iter().map(|event| event.start_ns).collect();
    assert_eq!(starts, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]);
    assert!(events(&plan).iter().all(|event| event.flags == FLAG_DUE));
}

/// One due every millisecond, each takes 3 ms of the rank: the k-th starts at 3k and ends 1 µs later.
#[test]
fn times_count_from_when_operations_were_due() {
    let plan = plan(1, (1000.0, "fixed", "rank"), 5, |b| {
        stat(b);
        compute(b, 2_999);
    });
    let (_, collected) = run(&plan);
    let row = arrivals(&collected);
    let late_ns: u64 = (0..5).map(|k| 2_000_000 * k).sum();
    assert_eq!((row.late_ns, row.latest_ns), (late_ns, 8_000_000));
    // At 12 ms, when the last starts, 0 to 12 are due and 5 are started; at 15 ms 0 to 15.
    assert_eq!((row.backlog_max, row.backlog_end), (11, 11));
    assert!(row.is_behind(), "{row:?}");
    let whole = &collected.rows[0];
    assert_eq!((whole.min_ns, whole.max_ns), (Some(1_000), Some(8_001_000)));
    assert_eq!(collected.rows[1].max_ns, Some(1_000));
    // The rank had an operation under way for 5 µs, however long they waited.
    assert_eq!(whole.balance.as_ref().unwrap().busy_ns, 5_000);
    assert_eq!(whole.rank_ops_s, Some(1e6));
    let events = events(&plan);
    let due: Vec<u64> = events.iter().map(|event| event.intended_start_ns).collect();
    assert_eq!(due, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]);
    assert_eq!(events[4].start_ns, 12_000_000);
}

#[test]
fn a_backlog_that_was_caught_up_with_is_no_rate_that_was_not_reached() {
    let plan = plan(1, (1000.0, "fixed", "rank"), 100, |b| {
        let (first, i) = (b.global(""), Slot(0));
        let zero = b.int(0);
        b.binary(first, Operand::slot(i), BinaryOp::Eq, zero);
        stat(b);
        b.when(Operand::slot(first), |b| compute(b, 10_000));
    });
    let (_, collected) = run(&plan);
    let row = arrivals(&collected);
    assert_eq!((row.backlog_max, row.backlog_end, row.is_behind()), (9, 0, false));
    assert_eq!(row.latest_ns, 9_001_000);
}

#[test]
fn mean_rates_hold() {
    for ops_s in [1_000.0, 50_000.0] {
        for arrival in ["fixed", "poisson"] {
            for per in ["rank", "group"] {
                let count = (10.0 * ops_s) as i64 / 4;
                let (_, collected) = run(&plan(4, (ops_s, arrival, per), count, stat));
                let row = arrivals(&collected);
                let asked = if per == "rank" { 4.0 * ops_s } else { ops_s };
                assert_eq!((row.asked_ops_s, row.ranks, row.process.as_str()), (asked, 4, arrival));
                let achieved = row.achieved_ops_s.unwrap() / asked;
                assert!((0.995..1.005).contains(&achieved), "{ops_s} {arrival} {per}: {achieved}");
                assert!(!row.is_behind(), "{row:?}");
            }
        }
    }
}

#[test]
fn times_of_a_list_begin_anew_and_members_deal_them() {
    let listed = |per: &str| {
        Build::plan(2, |b| {
            let (i, count, label) = (b.global("i"), b.int(3), b.str("l"));
            let times = [0, 2_000_000, 10_000_000].map(Value::Duration).to_vec();
            let options = Options {
                arrival: Some(b.value(Value::List(times.into()))),
                per: Some(b.str(per)),
                ..Options::default()
            };
            b.time(label, true, |b| b.with(options, |b| b.repeat(i, count, stat)));
        })
    };
    for (per, expected) in [("rank", [0, 0, 2, 2, 10, 10]), ("group", [0, 2, 10, 10, 12, 20])] {
        let plan = listed(per);
        let mut starts: Vec<u64> =
            events(&plan).iter().map(|event| event.start_ns / 1_000_000).collect();
        starts.sort_unstable();
        assert_eq!(starts, expected, "{per}");
        let row = arrivals(&run(&plan).1).clone();
        let asked = if per == "rank" { 600.0 } else { 300.0 };
        assert_eq!((row.process.as_str(), row.asked_ops_s), ("times", asked));
    }
}

#[test]
fn members_of_a_group_take_turns() {
    let plan = plan(4, (1000.0, "fixed", "group"), 3, stat);
    let mut starts: Vec<u64> = events(&plan).iter().map(|event| event.start_ns).collect();
    starts.sort_unstable();
    let expected: Vec<u64> = (0..12).map(|k| k * 1_000_000).collect();
    assert_eq!(starts, expected);
}

#[test]
fn a_rate_inside_of_another_has_a_schedule_of_its_own_and_0_none() {
    let plan = plan(1, (1000.0, "fixed", "rank"), 3, |b| {
        let rate = |b: &mut Build, ops_s| Options {
            rate: Some(b.value(Value::Float(ops_s))),
            ..Options::default()
        };
        stat(b);
        let (inner, none) = (rate(b, 10_000.0), rate(b, 0.0));
        b.with(inner, |b| {
            stat(b);
            stat(b);
        });
        b.with(none, stat);
    });
    let starts: Vec<(u64, u8)> =
        events(&plan).iter().map(|event| (event.start_ns, event.flags)).collect();
    let once =
        |at| [(at, FLAG_DUE), (at + 1_000, FLAG_DUE), (at + 101_000, FLAG_DUE), (at + 102_000, 0)];
    let expected: Vec<(u64, u8)> = [0, 1_000_000, 2_000_000].into_iter().flat_map(once).collect();
    assert_eq!(starts, expected);
    let (_, collected) = run(&plan);
    let figures: Vec<_> =
        collected.arrivals.iter().map(|row| (row.operations, row.executions)).collect();
    assert_eq!(figures, [(3, 1), (6, 3)]);
}

/// Every way an operation is counted: simple, of several calls, on handles, failed.
#[test]
fn all_kinds_of_operations_are_due() {
    let plan = plan(1, (1000.0, "fixed", "rank"), 2, |b| {
        let (h, path, size) = (b.global("h"), b.str("f"), b.int(4096));
        let (missing, flags) = (b.str("missing"), b.str("r+"));
        b.op(Op::Write, &[path, size]);
        b.op_to(h, Op::Fopen, &[path, flags]);
        b.op(Op::Fread, &[Operand::slot(h), size]);
        b.op(Op::Fsync, &[Operand::slot(h)]);
        b.op(Op::Fclose, &[Operand::slot(h)]);
        b.op(Op::Stat, &[missing]);
    });
    let starts: Vec<u64> = events(&plan).iter().map(|event| event.start_ns).collect();
    let expected: Vec<u64> = (0..12).map(|k| k * 1_000_000).collect();
    assert_eq!(starts, expected);
    let (_, collected) = run(&plan);
    let serviced: Vec<&str> =
        collected.rows.iter().filter_map(|row| row.op.strip_suffix(".service")).collect();
    assert_eq!(serviced, ["write", "fopen", "fread", "fsync", "fclose"]);
    let failed = collected.rows.iter().find(|row| row.op == "stat").unwrap();
    assert_eq!((failed.count, failed.failed), (2, 2));
}

/// A read takes 3 ms: at depth 4 one is due every millisecond in time, at depth 1 two of three are late.
#[test]
fn operations_under_way_together_keep_up_with_a_rate() {
    for (depth, behind) in [(4, false), (1, true)] {
        let plan = Build::plan(1, |b| {
            let (h, i, path, flags) = (b.global("h"), b.global("i"), b.str("f"), b.str("w+"));
            let (size, count, zero) = (b.int(6_000_000), b.int(50), b.int(0));
            b.op_to(h, Op::Fopen, &[path, flags]);
            b.op(Op::Ftruncate, &[Operand::slot(h), size]);
            let options = Options {
                engine: Some(b.str("uring")),
                depth: Some(b.int(depth)),
                rate: Some(b.value(Value::Float(1_000.0))),
                ..Options::default()
            };
            b.with(options, |b| {
                b.repeat(i, count, |b| b.op(Op::Fread, &[Operand::slot(h), size, zero]));
            });
        });
        let (_, collected) = run(&plan);
        let row = arrivals(&collected);
        assert_eq!(row.is_behind(), behind, "depth {depth}: {row:?}");
        let read = |op: &str| collected.rows.iter().find(|row| row.op == op).unwrap();
        let service_ns = read("fread.service").max_ns.unwrap();
        assert!((3_000_000..3_100_000).contains(&service_ns), "{service_ns}");
        let longest_ns = read("fread").max_ns.unwrap();
        match behind {
            false => assert_eq!(longest_ns, service_ns),
            true => assert!(longest_ns > 90_000_000, "{longest_ns}"),
        }
        let busy_ns = read("fread").balance.as_ref().unwrap().busy_ns;
        assert!(busy_ns <= collected.duration_wall_ns, "{busy_ns}");
    }
}

/// `repeat count until limit { stat }`
fn until(b: &mut Build, (count, limit_ns): (i64, i64)) {
    let (i, end, count) = (b.global("i"), b.global("end"), b.int(count));
    let limit = b.value(Value::Duration(limit_ns));
    b.internal(end, Internal::Now);
    b.binary(end, Operand::slot(end), BinaryOp::Add, limit);
    let mut at = 0;
    b.repeat(i, count, |b| {
        at = b.push(Instr::Limit { end, exit: 0 });
        stat(b);
    });
    b.plan.code[at as usize] = Instr::Limit { end, exit: b.here() };
}

/// What is due at a time limit or later is not started, and the loop lasts until its limit all the same.
#[test]
fn nothing_is_started_that_is_due_behind_a_time_limit() {
    const MS: i64 = 1_000_000;
    // Rate, count, limit; operations, the start of the last one, the end of the label.
    for (rate, loops, expected) in [
        (1e3, (100, 4 * MS + MS / 2), [5, 4 * MS, 4 * MS + MS / 2]),
        (1e3, (100, 4 * MS), [4, 3 * MS, 4 * MS]),
        (1e3, (3, 9 * MS), [3, 2 * MS, 2 * MS + 1_000]),
        // It cannot keep up: one begins every microsecond, two are due.
        (2e6, (100, 10_000), [10, 9_000, 10_000]),
        (0.0, (100, 10_000), [10, 9_000, 10_000]),
        (0.0, (100, 9_500), [10, 9_000, 10_000]),
    ] {
        let plan = plan(1, (rate, "fixed", "rank"), 1, |b| until(b, loops));
        let starts: Vec<i64> = events(&plan).iter().map(|event| event.start_ns as i64).collect();
        let end = run(&plan).1.times[0].last_end_ns as i64;
        let found = [starts.len() as i64, starts.last().copied().unwrap_or(0), end];
        assert_eq!(found, expected, "rate {rate}, {loops:?}: {starts:?}");
    }
}

#[test]
fn random_arrivals_end_at_a_time_limit_too() {
    let plan = plan(3, (2000.0, "poisson", "rank"), 1, |b| until(b, (1000, 50_000_000)));
    let found = events(&plan);
    assert!(found.len() > 200, "{}", found.len());
    assert!(found.iter().all(|event| event.intended_start_ns < 50_000_000));
    assert_eq!(run(&plan).1.times[0].last_end_ns, 50_000_000);
}

#[test]
fn more_than_a_rank_can_make_is_refused() {
    let error = common::simulated::error(&plan(1, (2e7, "fixed", "rank"), 1, stat));
    assert!(error.contains("at most 10000000 operations per second"), "{error}");
    let (outcome, _) = run(&plan(2, (2e7, "fixed", "group"), 1, stat));
    assert!(outcome.finished());
}
