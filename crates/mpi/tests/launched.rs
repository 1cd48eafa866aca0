//! The shim under every MPI: one binary, compiled without any, runs under all of them.

#[path = "../testing/mod.rs"]
mod testing;

use std::path::PathBuf;
use testing::LIMIT;

/// An example of this crate: cargo builds them before it runs the tests.
fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("this test");
    tests.ancestors().nth(2).expect("target/profile").join("examples").join(name)
}

#[test]
fn all_mpis_run_one_binary() {
    for mpi in testing::all() {
        let ended = mpi.launch(3, example("hello")).run(LIMIT);
        assert!(ended.success(), "{ended}");
        let mut lines: Vec<&str> = ended.stdout.lines().collect();
        lines.sort_unstable();
        let line = |rank: u32| {
            format!("rank {rank} of 3 node 0 of 1 node rank {rank} sum 3 text the program")
        };
        assert_eq!(lines, [line(0), line(1), line(2)], "{ended}");
    }
}

#[test]
fn a_process_started_by_hand_is_a_world_of_one() {
    for mpi in testing::all() {
        let ended = mpi.command(example("hello")).run(LIMIT);
        assert!(ended.success(), "{ended}");
        assert!(ended.stdout.contains("rank 0 of 1 node 0 of 1"), "{ended}");
    }
}
