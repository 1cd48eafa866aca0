//! Starting, transfers, clocks, several runs in one process.

use crate::common::{Build, P};
use crate::testing::{CASE, LIMIT, Mpi, PLACE};
use crate::{Case, Stage};
use engine::clock::{Real, best};
use engine::comm::End;
use engine::supervise::StartError;
use model::plan::*;
use model::{Op, Value};
use mpi::run::compare;
use mpi::run_rank;
use mpi::world::{Reduce, SELF};
use std::path::Path;

pub const CASES: &[Case] = &[
    ("the world is known", 3, the_world_is_known),
    ("a process started by hand is a world of one", 0, a_world_of_one),
    ("bytes of any length travel", 3, bytes_travel),
    ("artificial offsets of clocks are found", 3, offsets_are_found),
    ("clocks of one machine are one", 3, clocks_of_one_machine),
    ("nodes are known to the program", 3, nodes_are_known),
    ("runs follow each other", 3, runs_follow_each_other),
    ("a rank that cannot start is named by all", 3, a_rank_that_cannot_start),
    ("a plan for other ranks is refused", 2, a_plan_for_others),
];

fn the_world_is_known(place: &Stage<'_>) {
    let world = place.world;
    assert_eq!((world.size, world.node, world.nodes), (3, 0, 1));
    assert_eq!((world.node_rank, world.node_size), (world.rank, 3));
    assert_eq!(world.place_in(SELF).unwrap(), (0, 1));
    let ranks = [i64::from(world.rank), -i64::from(world.rank)];
    assert_eq!(world.reduce(world.all, ranks, Reduce::Sum).unwrap(), [3, -3]);
    assert_eq!(world.reduce(world.all, ranks, Reduce::Min).unwrap(), [0, -2]);
    assert_eq!(world.reduce(world.all, ranks, Reduce::Max).unwrap(), [2, 0]);
    assert_eq!(world.reduce(world.all, [1 << world.rank], Reduce::Or).unwrap(), [7]);
    assert!(!world.library().is_empty() && !world.library().contains('\n'));
    // Of ranks 0 and 2, ordered backwards, rank 2 is the first.
    let part = world.split(world.all, (world.rank != 1).then_some(5), 2 - world.rank).unwrap();
    assert_eq!(part.is_some(), world.rank != 1);
    if let Some(part) = part {
        assert_eq!(world.place_in(part).unwrap(), (u32::from(world.rank == 0), 2));
        world.free(part).unwrap();
    }
}

fn a_world_of_one(place: &Stage<'_>) {
    assert_eq!((place.world.rank, place.world.size), (0, 1));
    let plan = Build::plan(1, |b| {
        let (path, go) = (b.str("d"), b.str("go"));
        b.barrier();
        b.op(Op::Signal, &[go]);
        b.op(Op::Wait, &[go]);
        b.op(Op::Mkdir, &[path]);
    });
    let outcome = place.run(&plan);
    assert_eq!((outcome.end, outcome.all.ends), (End::Finished, vec![End::Finished]));
    assert!(place.directory.join("d").is_dir());
}

fn bytes_travel(place: &Stage<'_>) {
    let world = place.world;
    for size in [0usize, 1, 1000, 5 << 20] {
        let bytes: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
        let mut copy = if world.rank == 0 { bytes.clone() } else { vec![9; 3] };
        world.broadcast(&mut copy).unwrap();
        assert!(copy == bytes, "broadcast of {size} bytes");
        match world.rank {
            2 => world.send(1, &bytes).unwrap(),
            1 => assert!(world.receive(2).unwrap() == bytes, "{size} bytes"),
            _ => {}
        }
    }
}

fn offsets_are_found(place: &Stage<'_>) {
    let rank = place.rank();
    // All ranks share the machine's clock; each sets its own ahead of it.
    let shared = Real::from_words(place.world.shared_words(best().to_words()).unwrap());
    let ahead_ns = i64::from(rank) * 1_000_000_000;
    let clock = shared.set_back(-ahead_ns);
    let found = compare(place.world, &clock, rank != 1).unwrap();
    assert_eq!(found.is_none(), rank == 1);
    let Some(found) = found else { return };
    let error_ns = (found.ahead_ns - ahead_ns).unsigned_abs();
    assert!(error_ns <= found.round_trip_ns / 2 + 1_000, "{found:?} instead of {ahead_ns}");
    assert_eq!(found.round_trip_ns == 0, rank == 0);
}

fn clocks_of_one_machine(place: &Stage<'_>) {
    let plan = Build::plan(3, |b| b.barrier());
    let outcome = place.run_dry(&plan);
    assert_eq!(outcome.all.clock_skew_ns, 0);
    assert!(outcome.all.clock_read_ns > 0.0 && !outcome.all.clock.is_empty());
    let clock = outcome.record.expect("a record").clock.expect("compared");
    assert_eq!((clock.start.ahead_ns, clock.end.map(|end| end.ahead_ns)), (0, Some(0)));
}

fn nodes_are_known(place: &Stage<'_>) {
    let plan = Build::plan(3, |b| {
        let path = b.text(&[
            P::T("n"),
            P::I(Internal::Node),
            P::T("-"),
            P::I(Internal::NodeRank),
            P::T("-"),
            P::I(Internal::Rank),
        ]);
        b.op(Op::Mkdir, &[path]);
        b.barrier();
    });
    assert_eq!(place.run(&plan).end, End::Finished);
    let rank = place.rank();
    assert!(place.directory.join(format!("n0-{rank}-{rank}")).is_dir());
}

/// The second run starts with nothing of the first, which ended in a barrier that nobody met.
fn runs_follow_each_other(place: &Stage<'_>) {
    let failing = Build::plan(3, |b| {
        let (no, go) = (b.value(Value::Bool(false)), b.str("go"));
        b.op(Op::Signal, &[go]);
        b.on_rank(1, |b| b.op(Op::Assert, &[no]));
        b.barrier();
    });
    let fine = Build::plan(3, |b| {
        let (go, three, i, n) = (b.str("go"), b.int(3), b.global("i"), b.int(20));
        b.groups(&[("low", 0..2), ("high", 1..3)]);
        b.repeat(i, n, |b| {
            b.op(Op::Signal, &[go]);
            b.op(Op::Wait, &[go, three]);
            b.barrier();
            b.group(0, |b| b.barrier());
            b.group(1, |b| b.barrier());
        });
    });
    for _ in 0..3 {
        let outcome = place.run_dry(&failing);
        let expected = if place.rank() == 1 { End::Failed } else { End::Released };
        assert_eq!(outcome.end, expected);
        assert!(outcome.complete);
        let outcome = place.run_dry(&fine);
        assert_eq!(outcome.end, End::Finished, "{:?}", outcome.record.map(|record| record.errors));
    }
}

fn a_rank_that_cannot_start(place: &Stage<'_>) {
    let plan = Build::plan(3, |b| b.barrier());
    for failing in 0..3 {
        let mut config = place.config.clone();
        if place.rank() >= failing {
            config.directory = place.directory.join(format!("missing-{}", place.rank()));
        }
        let error = run_rank(place.world, &plan, &config, &mut |_| {}).expect_err("no directory");
        let StartError::Rank { rank, message } = error else { panic!("{error}") };
        assert_eq!(rank, failing);
        assert!(message.contains(&format!("missing-{failing}")), "{message}");
    }
}

fn a_plan_for_others(place: &Stage<'_>) {
    let plan = Build::plan(5, |b| b.barrier());
    let error = run_rank(place.world, &plan, &place.config, &mut |_| {}).expect_err("5 ranks");
    assert!(error.to_string().contains("made for 5 ranks, and MPI started 2"), "{error}");
}

/// The shim of one MPI under the launcher of another one: a clear message, not n worlds of one.
pub fn launched_by_another_mpi(mpi: &Mpi, me: &Path) {
    for other in crate::testing::all() {
        let kin = |name: &str| name == "openmpi";
        if kin(other.name) == kin(mpi.name) {
            continue;
        }
        println!("{}: a shim for {} is noticed", mpi.name, other.name);
        let place = tempfile::tempdir().expect("a temporary directory");
        let launch = mpi.launch(2, me).env(CASE, "the world is known").env(PLACE, place.path());
        let ended = launch.env("PARABENCH_MPI_SHIM", other.shim()).run(LIMIT);
        assert!(!ended.hung && !ended.status.success(), "{ended}");
        assert!(ended.stderr.contains("Mismatch"), "{ended}");
    }
}
