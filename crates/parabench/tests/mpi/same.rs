//! The same program gives the same counts, bytes and offsets under every MPI as on local
//! and simulated ranks.

use crate::essence::{Essence, programs, run, run_with, shares_names, small};
use crate::made_up::MadeUp;
use crate::scene::Scene;
use crate::testing;
use crate::under;

#[track_caller]
fn assert_same(name: &str, text: &str, ranks: u32) {
    let (_, local) = run(text, &format!("-n {ranks}"));
    let (_, simulated) = run(text, &format!("-n {ranks} --backend mem"));
    assert_equal(name, "mem", &local, &simulated);
    for mpi in testing::all() {
        let call =
            |scene: &Scene, all: &str| under(&mpi, ranks, scene, &format!("run x.ppl {all}"));
        let (run, essence) = run_with(text, call);
        assert_eq!(run["run"]["comm"], "mpi");
        assert_eq!(run["run"]["ranks"], ranks);
        assert_equal(name, mpi.name, &local, &essence);
    }
}

#[track_caller]
fn assert_equal(name: &str, who: &str, local: &Essence, other: &Essence) {
    assert_eq!(local.counts, other.counts, "{name} under {who}");
    assert_eq!(local.times, other.times, "{name} under {who}");
    assert_eq!(local.printed, other.printed, "{name} under {who}");
    assert_eq!(local.failures, other.failures, "{name} under {who}");
    for (local, other) in local.events.iter().zip(&other.events) {
        assert_eq!(local, other, "{name} under {who}");
    }
    assert!(local == other, "{name} under {who}: {} and {}", local.code, other.code);
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
fn ranks_that_wait_for_each_other_are_the_same_under_every_mpi() {
    let text = "define groups {\"left\":D, \"right\":D};\n\
        repeat $turn 3 {\n\
            $next = ($$rank + 1) % $$size;\n\
            time[\"give\", sync] write(\"turn-$turn-$$rank\", 1000 * ($$rank + 1));\n\
            time[\"take\", sync] read(\"turn-$turn-$next\");\n\
            if ($$rank == 0) { write(\"token-$turn\", 1); signal(\"go\", to=1); }\n\
            else { wait(\"go\"); append(\"token-$turn\", 1); if ($next > 0) signal(\"go\", to=$next); }\n\
            group \"left\" { master delete(\"turn-$turn-0\"); barrier; stat(\"turn-$turn-1\"); }\n\
            group \"right\" { print $$grank, $$gsize, $$crand; signal(\"here\"); wait(\"here\", $$gsize); }\n\
            barrier;\n\
        }\n";
    assert_same("waiting", text, 5);
}
