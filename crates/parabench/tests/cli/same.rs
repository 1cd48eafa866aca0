//! The same program gives the same counts, bytes, offsets and errors whoever executes it: one
//! process, several, or ranks simulated on files in memory.
//!
//! `tests/cli/golden.rs` holds whole runs on mem byte for byte; here the communicators and
//! back-ends are held against each other, on shipped, golden and made-up programs.

use crate::essence::{DIVIDED, Essence, has_no_order, programs, run, shares_names, small, waiting};
use crate::figures::Happened;
use crate::made_up::MadeUp;

/// On `ranks` ranks the program is the same as processes and simulated.
#[track_caller]
fn assert_same(name: &str, text: &str, ranks: u32) -> Essence {
    let (run_posix, posix) = run(text, &format!("-n {ranks}"));
    let (run_mem, mem) = run(text, &format!("-n {ranks} --backend mem"));
    let comm = if ranks == 1 { "solo" } else { "local" };
    assert_eq!(run_posix["run"]["comm"], comm);
    assert_eq!(run_mem["run"]["comm"], "sim");
    posix.assert_is(&mem, &format!("{name} on {ranks} ranks\n{text}"));
    posix
}

#[test]
fn shipped_programs_and_examples_are_the_same_everywhere() {
    let mut seen = 0;
    for folder in ["programs", "examples"] {
        for (name, text) in programs(folder) {
            let text = small(&text);
            for ranks in [1, 4] {
                let shares = ranks == 4 && shares_names(&name);
                if has_no_order(&name) || ranks == 1 && name == "groups" || shares {
                    // Groups of nobody, ranks that come in any order.
                    continue;
                }
                seen += 1;
                assert_same(&name, &text, ranks);
            }
        }
    }
    assert!(seen >= 15, "only {seen}");
}

/// All ranks of these use names of their own, or wait for each other.
#[test]
fn a_hundred_made_up_programs_are_the_same_everywhere() {
    let mut failing = 0;
    for seed in 0..100 {
        let text = MadeUp::program(seed);
        let ranks = [1, 2, 3][seed as usize % 3];
        let essence = assert_same(&format!("program {seed}"), &text, ranks);
        assert!(!essence.events.is_empty());
        failing += u32::from(essence.code == 1);
    }
    // Failures are part of what is compared; not all programs may be such.
    assert!((5..100).contains(&failing), "{failing} of 100 fail");
}

/// Resolving every path beneath the directory changes nothing of what happens.
#[test]
fn a_confined_run_is_the_same() {
    for seed in 200..215 {
        let text = MadeUp::program(seed);
        let (_, free) = run(&text, "-n 2");
        // A directory that is taken with --force may hold links, so no path of it is trusted.
        let (confined, beneath) = run(&text, "-n 2 --dir foreign --force");
        assert_eq!(confined["run"]["evidence"]["confinement"], "confined");
        assert!(free == beneath, "program {seed}\n{text}\n{free:#?}\n{beneath:#?}");
    }
}

/// Ranks of the same value meet each other alone, and see the same files.
#[test]
fn ranks_divided_by_values_are_the_same_everywhere() {
    for ranks in [1, 5, 8] {
        assert_same("divided", DIVIDED, ranks);
    }
}

/// Ranks that wait for each other by barriers, signals and groups see the same files.
#[test]
fn ranks_that_wait_for_each_other_are_the_same_everywhere() {
    let text = waiting(6);
    for ranks in [2, 5, 9] {
        let essence = assert_same("waiting", &text, ranks);
        assert_eq!(essence.code, 1, "stats of the deleted file fail");
        let takes = essence.counts[&("take".to_string(), "read".to_string())];
        let bytes = 6 * 1000 * u64::from(ranks * (ranks + 1) / 2);
        assert_eq!(takes, [6 * u64::from(ranks), 0, 0, 0, bytes]);
    }
}

/// One rank of many does as one alone, where ranks have nothing to do with each other.
#[test]
fn a_rank_of_many_does_as_one_alone() {
    for seed in 100..110 {
        let text = MadeUp::program(seed).replace("$$rank", "0");
        let (_, alone) = run(&text, "-n 1");
        // Ranks in directories of their own, because they now share all names.
        let apart =
            format!("mkdir(\"own-$$rank\");\n{}", text.replace("name-", "own-$$rank/name-"));
        let (_, many) = run(&apart, "-n 3 --backend mem");
        let of_rank_0 = many.events.iter().filter(|event| event.rank == 0).skip(1);
        let ops = |event: &Happened| (event.op, event.offset_bytes, event.done_bytes, event.errno);
        let of_rank_0: Vec<_> = of_rank_0.map(ops).collect();
        let of_one: Vec<_> = alone.events.iter().map(ops).collect();
        assert_eq!(of_rank_0, of_one, "program {seed}\n{text}");
    }
}
