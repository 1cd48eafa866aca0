//! The same program gives the same counts, bytes and offsets under every MPI as on local
//! and simulated ranks.

use crate::essence::{
    DIVIDED, has_no_order, programs, run, run_with, shares_names, small, waiting,
};
use crate::made_up::MadeUp;
use crate::scene::Scene;
use crate::testing::{self, Mpi};
use crate::under;
use serde_json::Value;
use std::collections::BTreeMap;

#[track_caller]
fn assert_same(name: &str, text: &str, ranks: u32) {
    assert_same_under(&testing::all(), name, text, ranks);
}

#[track_caller]
fn assert_same_under(all: &[Mpi], name: &str, text: &str, ranks: u32) {
    let (_, local) = run(text, &format!("-n {ranks}"));
    let (_, simulated) = run(text, &format!("-n {ranks} --backend mem"));
    local.assert_is(&simulated, &format!("{name} simulated"));
    for mpi in all {
        let call = |scene: &Scene, all: &str| under(mpi, ranks, scene, &format!("run x.ppl {all}"));
        let (run, essence) = run_with(text, call);
        assert_eq!(run["run"]["comm"], "mpi");
        assert_eq!(run["run"]["ranks"], ranks);
        local.assert_is(&essence, &format!("{name} under {}", mpi.name));
    }
}

/// Shipped programs, each under one MPI in turn: what the MPIs do differently is tested under all of them below and in
/// `tests/mpiio`.
#[test]
fn shipped_programs_and_examples_are_the_same_under_mpi() {
    let all = ["programs", "examples"].into_iter().flat_map(programs);
    let all: Vec<_> = all.filter(|(name, _)| !shares_names(name) && !has_no_order(name)).collect();
    assert!(all.len() >= 8, "only {}", all.len());
    for ((name, text), mpi) in all.iter().zip(testing::all().iter().cycle()) {
        assert_same_under(std::slice::from_ref(mpi), name, &small(text), 4);
    }
}

/// Of the programs that assert what they are about, those whose ranks have to do with each other.
const TOGETHER: &[&str] = &[
    "collective",
    "directories",
    "figures",
    "locks",
    "perm",
    "ranks",
    "results",
    "signals",
    "split",
    "world",
];

#[test]
fn what_programs_assert_of_the_language_holds_under_every_mpi() {
    let mut programs = programs("crates/parabench/tests/sentences");
    programs.retain(|(name, _)| TOGETHER.contains(&&**name));
    assert_eq!(programs.len(), TOGETHER.len());
    for (name, text) in programs {
        for mpi in testing::all() {
            let call =
                |scene: &Scene, all: &str| under(&mpi, 4, scene, &format!("run x.ppl {all}"));
            let (run, essence) = run_with(&text, call);
            assert_eq!(
                (&run["run"]["comm"], essence.code),
                (&"mpi".into(), 0),
                "{name}: {}",
                mpi.name
            );
        }
    }
}

/// Of the whole run, by operation: how many, failed, expected, bytes. Which rank gets a lock or a task
/// is a matter of time.
fn totals(run: &Value) -> BTreeMap<String, [u64; 4]> {
    let mut totals: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for row in run["rows"].as_array().expect("rows").iter().filter(|row| row["part_of"].is_null()) {
        let op = row["op"].as_str().expect("a name").to_string();
        let sums = totals.entry(op).or_default();
        for (sum, name) in sums.iter_mut().zip(["count", "failed", "expected", "bytes"]) {
            *sum += row[name].as_u64().expect("a number");
        }
    }
    totals
}

/// Locks, tasks, signals and files of whole applications: tests/cli holds local ranks against models.
#[test]
fn applications_come_to_the_same_under_mpi() {
    let applications = programs("examples/applications");
    assert!(applications.len() >= 12, "only {}", applications.len());
    for ((name, text), mpi) in applications.iter().zip(testing::all().iter().cycle()) {
        let (local, essence) = run(text, "-n 4");
        assert_eq!(essence.code, 0, "{name}");
        let call = |scene: &Scene, all: &str| under(mpi, 4, scene, &format!("run x.ppl {all}"));
        let (run, essence) = run_with(text, call);
        assert_eq!(essence.code, 0, "{name} under {}", mpi.name);
        assert_eq!(totals(&run), totals(&local), "{name} under {}", mpi.name);
    }
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

/// Every index makes a directory, so one that came twice would fail.
const SHARED: &str = "repeat $r 30 share $i 7 by 2 mkdir(\"d-$r-$i\");\n\
    $g = $$rank % 2;\n\
    split ($g) repeat $r 3 { share $i 20 mkdir(\"half-$g-$r-$i\"); share $i $r mkdir(\"few-$g-$r-$i\"); }\n\
    split ($$rank) { $r = $$rank; share $i 3 by 5 mkdir(\"alone-$r-$i\"); share $i 0 sync; }\n\
    share $i 4 by 1 write(\"f-$i\", 4k);\n";

#[test]
fn shared_work_comes_to_the_same_under_every_mpi() {
    let (local, essence) = run(SHARED, "-n 3");
    assert_eq!(essence.code, 0);
    let indices = |run: &Value| {
        let shares = run["run"]["shares"].as_array().expect("shares").iter();
        shares.map(|share| share["indices"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(indices(&local), [210, 120, 6, 9, 0, 4]);
    for mpi in testing::all() {
        let call = |scene: &Scene, all: &str| under(&mpi, 3, scene, &format!("run x.ppl {all}"));
        let (run, essence) = run_with(SHARED, call);
        assert_eq!(essence.code, 0, "under {}", mpi.name);
        assert_eq!(totals(&run), totals(&local), "under {}", mpi.name);
        assert_eq!(indices(&run), indices(&local), "under {}", mpi.name);
    }
}

/// Ways to move bytes: each asserts what must have come of it, and no count depends on time.
const ENGINES: &str = r#"
write("f-$$rank", 256k);
with (engine="uring|posix", depth=8) {
    $h = fopen("f-$$rank", "r+");
    time["uring"] {
        repeat $i 64 fwrite($h, 4k, $i * 4k);
        fsync($h);
        repeat $i 100 fread($h, 4k, rand(0, 63) * 4k);
    }
    with (batch=4) time["batch"] repeat $i 32 fread($h, 4k, $i * 4k);
    fclose($h);
}
with (engine="mmap", fsync="close") time["mmap"] {
    $m = fopen("m-$$rank", "w+");
    repeat $i 16 fwrite($m, 64k);
    fsync($m);
    repeat $i 32 fread($m, 4k, rand(0, 255) * 4k);
    fclose($m);
}
assert(size("m-$$rank") == 1m);
with (engine="null") time["null"] {
    $n = fopen("f-$$rank", "r+");
    repeat 100 fwrite($n, 1m);
    fread($n, 4k, 0);
    fclose($n);
}
assert(size("f-$$rank") == 256k);
"#;

/// Operations that are due, limits of time that nobody reaches, weights, kinds of data, verified data.
const SHAPES: &str = r#"
with (data="offset") write("f-$$rank", 64k);
$h = fopen("f-$$rank", "r");
time["due"] {
    with (rate=5000/s, arrival="poisson") repeat $i 20 fread($h, 4k, rand(0, 15) * 4k);
    with (rate=5000/s, per="group") repeat $i 20 stat("f-$$rank");
    with (arrival=[0s, 1ms, 2ms]) repeat $i 4 fread($h, 4k, 0);
}
fclose($h);
time["until"] repeat $i 50 until 1h mkdir("d-$$rank-$i");
time["level"] repeat $i 50 until 1h level rmdir("d-$$rank-$i");
time["mix"] repeat $i 200 mix { 70: read("f-$$rank", 4k); 25: stat("f-$$rank"); 5: lookup("f-$$rank"); }
time["data"] {
    write("zero-$$rank", 64k);
    with (data="zero") write("zero-$$rank", 64k);
    with (compress=2, dedup=2) write("shaped-$$rank", 256k);
}
barrier;
time["verified"] with (verify=true) {
    write("v-$$rank", 256k);
    barrier;
    $next = ($$rank + 1) % $$size;
    read("v-$next");
    with (engine="uring|posix", depth=4) {
        $v = fopen("v-$$rank", "r+");
        repeat $i 16 fwrite($v, 4k, $i * 8k);
        repeat $i 16 fread($v, 4k, $i * 8k);
        fclose($v);
    }
}
assert(size("v-$$rank") == 256k);
"#;

/// What io_uring is given ends in any order, so rows are compared, by label and operation.
fn rows(run: &Value) -> BTreeMap<String, [u64; 5]> {
    let rows = run["rows"].as_array().expect("rows").iter();
    let figures = ["count", "failed", "expected", "short", "bytes"];
    let of = |row: &Value| {
        let name = format!("{}: {}", row["label"], row["op"]);
        (name, figures.map(|name| row[name].as_u64().expect("a number")))
    };
    rows.map(of).collect()
}

#[track_caller]
fn assert_same_rows(name: &str, text: &str, ranks: u32) {
    let (local, essence) = run(text, &format!("-n {ranks}"));
    assert_eq!(essence.code, 0, "{name}");
    let (simulated, _) = run(text, &format!("-n {ranks} --backend mem"));
    assert_eq!(rows(&simulated), rows(&local), "{name} simulated");
    for mpi in testing::all() {
        let call =
            |scene: &Scene, all: &str| under(&mpi, ranks, scene, &format!("run x.ppl {all}"));
        let (run, essence) = run_with(text, call);
        assert_eq!((&run["run"]["comm"], essence.code), (&"mpi".into(), 0), "{}", mpi.name);
        assert_eq!(rows(&run), rows(&local), "{name} under {}", mpi.name);
    }
}

#[test]
fn engines_come_to_the_same_under_every_mpi() {
    assert_same_rows("engines", ENGINES, 3);
}

#[test]
fn shapes_of_load_come_to_the_same_under_every_mpi() {
    assert_same_rows("shapes", SHAPES, 3);
}
