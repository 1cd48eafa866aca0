//! Ranks that fail, leave early, wait for ever, are interrupted or killed: nobody hangs.

use crate::common::{Build, P, plans};
use crate::testing::{CASE, LIMIT, Mpi, PLACE, send};
use crate::{Case, Stage, names, wait_for};
use engine::comm::{End, Members, Poll, Progress};
use engine::config::{Config, Records};
use engine::recorder::{State, read_path};
use model::plan::*;
use model::{Op, Plan, Value};
use mpi::comm::Comm;
use mpi::groups::Groups;
use mpi::run_rank;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

pub const CASES: &[Case] = &[
    ("a failing rank releases the others", 4, a_failing_rank_releases),
    ("a rank that leaves early releases the others", 3, a_rank_that_leaves_early),
    ("a late rank is not taken for a lost one", 3, a_late_rank),
    ("a deadlock ends with a list", 3, a_deadlock),
    ("ranks in different barriers are a deadlock", 3, different_barriers),
    ("progress of all ranks is told, also inside of labels", 2, progress_is_told),
    ("a signal that comes late is no deadlock", 3, a_late_signal),
    ("one interrupted rank stops all", 4, an_interrupt),
    ("members of nested sets come together", 3, agreements),
    ("a rank to be killed", 3, a_rank_to_be_killed),
];

/// The message of a rank's error.
fn error(outcome: &mpi::RankOutcome) -> &str {
    let record = outcome.record.as_ref().expect("a record");
    record.errors.first().map_or("", |error| error.1.as_str())
}

fn a_failing_rank_releases(place: &Stage<'_>) {
    let plan = plans::failing();
    let outcome = place.run(&plan);
    if place.rank() == 3 {
        assert_eq!((&outcome.end, error(&outcome)), (&End::Failed, "assertion failed"));
    } else {
        assert_eq!(outcome.end, End::Released);
        assert_eq!(error(&outcome), "the barrier cannot be met: rank 3 has failed");
    }
    if place.rank() == 0 {
        assert_eq!(outcome.all.ends, [End::Released, End::Released, End::Released, End::Failed]);
    }
    assert!(outcome.complete && outcome.all.deadlock.is_empty());
}

/// Rank 1 ends its program before a barrier of the two others' group too.
fn a_rank_that_leaves_early(place: &Stage<'_>) {
    let plan = Build::plan(3, |b| {
        let path = b.text(&[P::T("met-"), P::I(Internal::Rank)]);
        b.groups(&[("pair", 0..2), ("rest", 2..3)]);
        b.barrier();
        b.on_rank(1, |b| {
            b.halt();
        });
        b.group(1, |b| b.barrier());
        b.op(Op::Mkdir, &[path]);
        b.group(0, |b| b.barrier());
        b.barrier();
    });
    let outcome = place.run(&plan);
    let expected = if place.rank() == 1 { End::Finished } else { End::Released };
    assert_eq!(outcome.end, expected);
    if place.rank() != 1 {
        assert_eq!(error(&outcome), "the barrier cannot be met: rank 1 has finished");
    }
    assert_eq!(names(&place.directory), ["met-0", "met-2"]);
}

/// Barriers that take longer than it takes to be reported and asked.
fn a_late_rank(place: &Stage<'_>) {
    let plan = Build::plan(3, |b| {
        let (i, n, long) = (b.global("i"), b.int(3), b.value(Value::Duration(300_000_000)));
        b.repeat(i, n, |b| {
            b.on_rank(2, |b| b.op(Op::Sleep, &[long]));
            b.barrier();
        });
        b.on_rank(2, |b| b.op(Op::Sleep, &[long]));
    });
    let outcome = place.run_dry(&plan);
    assert_eq!((outcome.end, outcome.all.deadlock), (End::Finished, vec![]));
}

fn a_deadlock(place: &Stage<'_>) {
    let plan = plans::deadlock();
    let outcome = place.run_impatiently(&plan);
    let expected = if place.rank() == 0 { End::Finished } else { End::Released };
    assert_eq!(outcome.end, expected);
    if place.rank() == 0 {
        let told: Vec<(u32, &str)> =
            outcome.all.deadlock.iter().map(|stuck| (stuck.rank, stuck.what.as_str())).collect();
        assert_eq!(told, [(1, "the signal \"go\" (1 of 2)"), (2, "the signal \"2\" (0 of 1)")]);
    } else {
        assert!(error(&outcome).contains("every rank that is left waits"), "{}", error(&outcome));
    }
}

/// Rank 0 waits for the low group, rank 1 for the high one, rank 2 for the world.
fn different_barriers(place: &Stage<'_>) {
    let plan = Build::plan(3, |b| {
        b.groups(&[("low", 0..2), ("high", 1..3)]);
        b.barrier();
        b.on_rank(0, |b| b.group(0, |b| b.barrier()));
        b.on_rank(1, |b| b.group(1, |b| b.barrier()));
        b.on_rank(2, |b| b.barrier());
    });
    let outcome = place.run_impatiently(&plan);
    assert_eq!((&outcome.end, outcome.complete), (&End::Released, true));
    assert!(error(&outcome).contains("every rank that is left waits"), "{}", error(&outcome));
    if place.rank() == 0 {
        let ranks: Vec<u32> = outcome.all.deadlock.iter().map(|stuck| stuck.rank).collect();
        assert_eq!(ranks, [0, 1, 2]);
        assert!(outcome.all.deadlock.iter().all(|stuck| stuck.what == "a barrier"));
        let mut places: Vec<_> = outcome
            .all
            .deadlock
            .iter()
            .map(|stuck| plan.locate_site(stuck.site).unwrap())
            .collect();
        places.dedup();
        assert_eq!(places.len(), 3, "{places:?}");
    }
}

/// The ranks work outside of labels first, then inside of one.
fn progress_is_told(place: &Stage<'_>) {
    let plan = Build::plan(2, |b| {
        let (path, i, n, ms) =
            (b.str("."), b.global("i"), b.int(20), b.value(Value::Duration(60_000_000)));
        let label = b.str("label");
        let step = |b: &mut Build| {
            b.op(Op::Stat, &[path]);
            b.op(Op::Compute, &[ms]);
        };
        b.repeat(i, n, step);
        b.time(label, false, |b| b.repeat(i, n, step));
    });
    let mut told = Vec::new();
    let mut note = |progress: &Progress| match progress {
        Progress::At(sample) => told.push(sample.clone()),
        Progress::Alive => {}
        Progress::Held => panic!("it does not wait"),
    };
    let config = Config { watch: Some(Duration::from_millis(20)), ..place.recorded() };
    let outcome = run_rank(place.world, &plan, &config, &mut note).unwrap();
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(told.is_empty(), place.rank() != 0, "{told:?}");
    let inside: Vec<_> = told.iter().filter(|one| one.label.as_deref() == Some("label")).collect();
    let is_first = place.rank() == 0;
    assert_eq!(told.iter().any(|sample| sample.label.is_none()), is_first, "{told:?}");
    assert_eq!(inside.is_empty(), !is_first, "{told:?}");
    assert!(inside.iter().all(|sample| sample.ranks == 2 && sample.operations >= 20), "{told:?}");
    // Nobody looks: nothing is told.
    let config = Config { watch: None, records: Records::Memory, ..config };
    let mut note = |progress: &Progress| assert_eq!(*progress, Progress::Alive);
    let outcome = run_rank(place.world, &plan, &config, &mut note).unwrap();
    assert_eq!(outcome.end, End::Finished);
}

/// Two ranks wait, the third sleeps before it signals: rank 0 waits itself.
fn a_late_signal(place: &Stage<'_>) {
    let plan = Build::plan(3, |b| {
        let (go, long) = (b.str("go"), b.value(Value::Duration(400_000_000)));
        b.on_rank(2, |b| {
            b.op(Op::Sleep, &[long]);
            b.op(Op::Signal, &[go]);
        });
        b.op(Op::Wait, &[go]);
    });
    let outcome = place.run_dry(&plan);
    assert_eq!((outcome.end, outcome.all.deadlock), (End::Finished, vec![]));
}

fn busy_plan() -> Plan {
    Build::plan(4, |b| {
        let path = b.text(&[P::T("here-"), P::I(Internal::Rank)]);
        let (hour, go) = (b.value(Value::Duration(3_600_000_000_000)), b.str("go"));
        b.op(Op::Mkdir, &[path]);
        b.on_rank(0, |b| {
            let here = b.here();
            b.push(Instr::Jump { to: here });
        });
        b.on_rank(1, |b| b.op(Op::Compute, &[hour]));
        b.on_rank(2, |b| b.op(Op::Wait, &[go]));
        b.barrier();
    })
}

/// Rank 3 is in the barrier when it is told; the others hear of it.
fn an_interrupt(place: &Stage<'_>) {
    if place.rank() == 3 {
        let directory = place.directory.clone();
        std::thread::spawn(move || {
            (0..4).for_each(|rank| wait_for(&directory.join(format!("here-{rank}"))));
            // SAFETY: sends a signal to this process, which takes it.
            unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        });
    }
    let outcome = place.run(&busy_plan());
    assert_eq!(outcome.end, End::Interrupted);
    assert!(outcome.all.interrupted && outcome.complete);
    if place.rank() == 0 {
        assert_eq!(outcome.all.ends, [const { End::Interrupted }; 4]);
    }
    let record = outcome.record.expect("a record");
    assert_eq!((record.state, record.stats[0].figures.done.count), (State::Interrupted, 1));
}

fn agreements(place: &Stage<'_>) {
    let set = |members: Range<u32>| MemberSet { members: members.into(), ..MemberSet::default() };
    let sets = [set(0..3), set(1..3), set(2..3)];
    let groups = Groups::new(place.world, &sets).unwrap();
    let mut ignore = |_: &Progress| {};
    let mut comm = Comm::new(place.world, &groups, &place.config, false, &mut ignore).unwrap();
    let rank = place.rank();
    for set in 0..3 {
        let members = Members { set, ranks: sets[set as usize].members.clone() };
        assert_eq!(groups.handle(set).is_some(), members.ranks.contains(rank));
        if members.ranks.contains(rank) {
            assert_eq!(engine::comm::Comm::barrier(&mut comm, &members, 0, None), Poll::Ready);
        }
    }
    engine::comm::Comm::leave(&mut comm, End::Finished);
    assert!(comm.finish().unwrap().complete);
    groups.free(place.world).unwrap();
}

/// Under [`a_killed_rank_ends_the_job`] it never ends by itself; else it ends at once.
fn a_rank_to_be_killed(place: &Stage<'_>) {
    if !place.directory.join("for-ever").exists() {
        return;
    }
    let plan = Build::plan(3, |b| {
        let path = b.text(&[P::T("here-"), P::I(Internal::Rank)]);
        b.op(Op::Mkdir, &[path]);
        b.on_rank(1, |b| {
            let here = b.here();
            b.push(Instr::Jump { to: here });
        });
        b.barrier();
    });
    std::fs::write(place.directory.join(format!("pid-{}", place.rank())), pid()).unwrap();
    place.run_with(&plan, &place.recorded());
}

fn pid() -> String {
    std::process::id().to_string()
}

/// The launcher ends the others; what all of them measured is in their files.
pub fn a_killed_rank_ends_the_job(mpi: &Mpi, me: &Path) {
    println!("{}: a killed rank ends the job", mpi.name);
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = place.path();
    std::fs::write(path.join("for-ever"), "").unwrap();
    let launch = mpi.launch(3, me).env(CASE, "a rank to be killed").env(PLACE, path);
    let running = launch.start();
    (0..3).for_each(|rank| wait_for(&path.join(format!("here-{rank}"))));
    let victim = std::fs::read_to_string(path.join("pid-1")).unwrap().parse().unwrap();
    send("KILL", &[victim]);
    let ended = running.end(LIMIT);
    assert!(!ended.hung && !ended.status.success(), "{ended}");
    for rank in 0..3 {
        let record = read_path(&path.join(format!("records/rank-{rank}"))).expect("readable");
        assert_eq!((record.rank, record.stats[0].figures.done.count), (rank, 1));
        assert_ne!(record.state, State::Finished);
    }
}
