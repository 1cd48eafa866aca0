//! What must hold of every execution, whatever went wrong in it.

use crate::executed::{Done, Executed, Rank};
use crate::faults::InjectedError;
use crate::program::{Phase, Program};
use engine::comm::End;
use model::event::FLAG_DUE;
use model::{Op, errno};
use std::collections::{BTreeMap, BTreeSet};

/// Panics if something does not hold.
pub fn judge(program: &Program, executed: &Executed) {
    ends(program, executed);
    nothing_is_alarmed(executed);
    for rank in &executed.ranks {
        faults_are_told(rank);
        rank.events.iter().for_each(sound);
    }
    failures_have_causes(executed);
    rows_add_up(executed);
    let all_ended = executed.outcome.finished();
    for (number, phase) in program.phases.iter().enumerate() {
        happened(executed, &format!("p{number}"), phase, all_ended);
    }
}

/// Nobody waits for what cannot come, and whoever fails says why.
fn ends(program: &Program, executed: &Executed) {
    let (outcome, errors) = (&executed.outcome, &executed.collected.rank_errors);
    // Those who wait for a signal of a rank that has failed are told as well.
    let one_failed = outcome.ends.contains(&End::Failed);
    assert!(one_failed || outcome.deadlock.is_empty(), "{:?}", outcome.deadlock);
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    for (rank, end) in (0..).zip(&outcome.ends) {
        let own: Vec<&String> =
            errors.iter().filter(|error| error.rank == rank).map(|error| &error.message).collect();
        let has_failed = executed.ranks[rank as usize].record.failure_counts.len();
        match end {
            End::Finished => assert!(own.is_empty() && !(program.stops && has_failed > 0)),
            End::Failed => {
                let planned = program.fails == Some(rank) && own[0].contains("planned");
                let stopped = program.stops && own[0].contains("--on-error stop");
                assert!(planned || stopped, "rank {rank}: {own:?}");
            }
            End::Released => assert!(one_failed, "rank {rank}"),
            other => panic!("rank {rank}: {other:?}"),
        }
    }
    assert!(program.fails.is_none() || one_failed);
}

fn sound(done: &Done) {
    let event = &done.event;
    assert!(event.intended_start_ns <= event.start_ns, "{done:?}");
    assert!(event.start_ns <= event.end_ns, "{done:?}");
    assert!(event.done_bytes <= event.requested_bytes, "{done:?}");
    assert_eq!(done.failed(), event.errno != 0, "{done:?}");
}

/// Each error of a call is that of the operation which made it: the first one where it had several.
fn faults_are_told(rank: &Rank) {
    let last_ns = rank.events.iter().map(|done| done.event.end_ns).max().unwrap_or(0);
    let at_once: Vec<&InjectedError> = rank.injected.iter().filter(|one| !one.queued).collect();
    for error in &at_once {
        let around = rank
            .events
            .iter()
            .filter(|done| (done.event.start_ns + 1..=done.event.end_ns).contains(&error.at_ns));
        let told = around.filter(|done| i32::from(done.event.errno) == first(&at_once, done));
        // What a rank that failed had left open is closed after its last operation.
        assert!(told.count() > 0 || error.at_ns > last_ns, "{error:?} of {at_once:?}");
    }
    let queued = rank.injected.iter().filter(|one| one.queued).count();
    // What is done once for all members has failed on the first one.
    let failed = rank.events.iter().filter(|done| {
        let event = &done.event;
        done.failed()
            && !done.op.is_collective()
            && matches!(i32::from(event.errno), libc::EIO | libc::ENOSPC)
            && first(&at_once, done) != i32::from(event.errno)
    });
    assert!(failed.count() <= queued);
}

/// The first error that was injected while an operation went on; 0 without one.
fn first(errors: &[&InjectedError], done: &Done) -> i32 {
    let inside = done.event.start_ns + 1..=done.event.end_ns;
    errors.iter().find(|error| inside.contains(&error.at_ns)).map_or(0, |error| error.errno)
}

/// What fails otherwise misses what failed before: a name, or an open file.
fn failures_have_causes(executed: &Executed) {
    let injected = executed.ranks.iter().map(|rank| rank.injected.len()).sum::<usize>();
    for done in executed.events().filter(|done| done.failed()) {
        assert!(injected > 0, "{done:?}");
        let known = [libc::EIO, libc::ENOSPC, libc::ENOENT, libc::EBADF];
        assert!(known.contains(&i32::from(done.event.errno)), "{done:?}");
    }
}

/// Rows, failures and arrivals are sums of the operations.
fn rows_add_up(executed: &Executed) {
    let collected = &executed.collected;
    let mut sums: BTreeMap<(&str, &str), [u64; 4]> = BTreeMap::new();
    for done in executed.events() {
        let sum = sums.entry((&done.label, done.op.row().name)).or_default();
        let good = u64::from(!done.failed());
        let flags = done.event.flags;
        let failed = u64::from(flags & model::event::FLAG_FAILED != 0);
        let short = good * u64::from(flags & model::event::FLAG_SHORT != 0);
        let more = [1, failed, short, good * done.event.done_bytes];
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    let whole = |op: &str| Op::find(op).is_some();
    let rows = collected.rows.iter().filter(|row| row.part_of.is_none() && whole(&row.op));
    let rows: BTreeMap<(&str, &str), [u64; 4]> = rows
        .map(|row| ((&row.label[..], &row.op[..]), [row.count, row.failed, row.short, row.bytes]))
        .collect();
    assert_eq!(sums, rows);
    let failed: u64 = sums.values().map(|sum| sum[1]).sum();
    let told: u64 = collected.failures.iter().map(|failure| failure.occurrences).sum();
    assert!(failed == told || failed > told && told > 0, "{failed} {told}");
    assert_eq!(collected.evidence.failed, failed);
    let due = executed.events().filter(|done| done.event.flags & FLAG_DUE != 0).count() as u64;
    let arrived: u64 = collected.arrivals.iter().map(|row| row.operations).sum();
    // One that others were waited for at a meeting, in vain, was due and not executed.
    let released = executed.outcome.ends.iter().filter(|end| **end == End::Released).count() as u64;
    assert!((due..=due + released).contains(&arrived), "{due} {arrived} {released}");
}

/// What is read is what somebody wrote, or a hole.
fn nothing_is_alarmed(executed: &Executed) {
    let wrong = errno::number("EBADMSG").expect("an error");
    for failure in &executed.collected.failures {
        assert_ne!(failure.errno, wrong, "{failure:?}");
    }
    for label in &executed.collected.evidence.labels {
        let Some(found) = &label.verified else { continue };
        let counts = [found.wrong_zeros, found.wrong_older, found.wrong_other];
        assert_eq!(counts, [0; 3], "{label:?}");
    }
}

/// What became of a phase.
fn happened(executed: &Executed, label: &str, phase: &Phase, all_ended: bool) {
    let of = |rank: &Rank| rank.events.iter().filter(|done| done.phase() == label).count() as u64;
    let each: Vec<u64> = executed.ranks.iter().map(of).collect();
    match phase {
        Phase::Fixed { operations } if all_ended => {
            assert!(each.iter().all(|count| count == operations), "{label}: {each:?}");
        }
        Phase::Fixed { operations } => {
            assert!(each.iter().all(|count| count <= operations), "{label}: {each:?}");
        }
        Phase::Shared { indices, by, kinds } => {
            shared(executed, label, (*indices, *by), all_ended);
            let all: u64 = each.iter().sum();
            assert!(all <= indices * kinds && (!all_ended || all == indices * kinds), "{each:?}");
        }
        Phase::Until { most, limit_ns, exact } => {
            assert!(each.iter().all(|count| count <= most), "{label}: {each:?}");
            if *exact {
                none_starts_later(executed, label, *limit_ns);
            }
        }
        Phase::Level { most } => {
            assert!(each.iter().all(|count| count <= most), "{label}: {each:?}");
            assert!(!all_ended || each.iter().all(|count| *count == each[0]), "{label}: {each:?}");
        }
    }
}

/// Each index is executed once, whoever claims it.
fn shared(executed: &Executed, label: &str, (indices, by): (u64, u64), all_ended: bool) {
    let writes = executed.events().filter(|done| done.label == label && done.op == Op::Write);
    let paths: Vec<&str> = writes.map(|done| &done.path[..]).collect();
    let once: BTreeSet<&str> = paths.iter().copied().collect();
    assert_eq!(once.len(), paths.len(), "an index came twice: {paths:?}");
    let expected: BTreeSet<String> = (0..indices).map(|index| format!("{label}-{index}")).collect();
    assert!(once.iter().all(|path| expected.contains(*path)), "{once:?}");
    if all_ended {
        assert_eq!(once.len() as u64, indices, "{once:?}");
        let rows = executed.collected.shares.iter().filter(|row| row.label == label);
        let told = rows.fold((0, 0), |sum, row| (sum.0 + row.indices, sum.1 + row.claims));
        assert_eq!(told, (indices, indices.div_ceil(by)));
    }
}

/// The limit counts from where the members met, which is the beginning of the label on the last one.
fn none_starts_later(executed: &Executed, label: &str, limit_ns: u64) {
    let entered = executed.ranks.iter().filter_map(|rank| {
        let labels = &rank.record.labels;
        let found = labels.iter().find(|one| one.path == label.as_bytes())?;
        Some(found.kept.first().map_or(found.entered_ns?, |one| one.start_ns))
    });
    let Some(met_ns) = entered.max() else { return };
    for done in executed.events().filter(|done| done.label == label) {
        assert!(
            done.event.start_ns < met_ns + limit_ns,
            "limit {limit_ns} from {met_ns}: {done:?}"
        );
    }
}
