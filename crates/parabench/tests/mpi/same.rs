//! The same program gives the same counts, bytes and offsets under every MPI as on local
//! and simulated ranks.

use crate::essence::{DIVIDED, programs, run, run_with, shares_names, small, waiting};
use crate::made_up::MadeUp;
use crate::scene::Scene;
use crate::testing;
use crate::under;

#[track_caller]
fn assert_same(name: &str, text: &str, ranks: u32) {
    let (_, local) = run(text, &format!("-n {ranks}"));
    let (_, simulated) = run(text, &format!("-n {ranks} --backend mem"));
    local.assert_is(&simulated, &format!("{name} simulated"));
    for mpi in testing::all() {
        let call =
            |scene: &Scene, all: &str| under(&mpi, ranks, scene, &format!("run x.ppl {all}"));
        let (run, essence) = run_with(text, call);
        assert_eq!(run["run"]["comm"], "mpi");
        assert_eq!(run["run"]["ranks"], ranks);
        local.assert_is(&essence, &format!("{name} under {}", mpi.name));
    }
}

#[test]
fn shipped_programs_and_examples_are_the_same_under_every_mpi() {
    let mut seen = 0;
    for folder in ["programs", "examples"] {
        for (name, text) in programs(folder) {
            if !shares_names(&name) {
                seen += 1;
                assert_same(&name, &small(&text), 4);
            }
        }
    }
    assert!(seen >= 8, "only {seen}");
}

#[test]
fn programs_for_one_rank_are_the_same_under_every_mpi() {
    for (name, text) in programs("examples").into_iter().filter(|(name, _)| shares_names(name)) {
        assert_same(&name, &small(&text), 1);
    }
}

#[test]
fn made_up_programs_are_the_same_under_every_mpi() {
    for seed in [1, 2, 5] {
        assert_same(&format!("program {seed}"), &MadeUp::program(seed), 2);
    }
}

#[test]
fn ranks_divided_by_values_are_the_same_under_every_mpi() {
    for ranks in [1, 5, 8] {
        assert_same("divided", DIVIDED, ranks);
    }
}

#[test]
fn ranks_that_wait_for_each_other_are_the_same_under_every_mpi() {
    assert_same("waiting", &waiting(3), 5);
}
