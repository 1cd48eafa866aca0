//! flock between ranks: they exclude each other, wait for each other, and are released.

use crate::figures::row;
use crate::scene::{Scene, kill};
use crate::schema::run_object;

/// Two ranks inside at the same time would meet at the directory.
const EXCLUDING: &str = r#"
if ($$rank == 0) create("lock");
barrier;
$h = fopen("lock", "r+");
repeat 25 {
    flock($h, "exclusive");
    mkdir("inside");
    rmdir("inside");
    flock($h, "unlock");
}
barrier;
flock($h, "shared");
barrier;
fclose($h);
"#;

#[test]
fn ranks_exclude_each_other() {
    let scene = Scene::new().file("x.ppl", EXCLUDING);
    for options in ["-n 4", "-n 4 --backend mem", "-n 1", "-n 3 --confine"] {
        let done = scene.parabench(&format!("run x.ppl --format json {options}")).exits(0);
        let run = run_object(&done);
        let ranks = run["run"]["ranks"].as_u64().expect("ranks");
        assert_eq!(row(&run, "", "flock")["count"], 51 * ranks, "{options}");
        assert_eq!(row(&run, "", "mkdir")["failed"], 0, "{options}");
    }
}

/// Programs in which ranks wait for ever, and what the run says of it.
const DEADLOCKS: [(&str, &str, &[&str]); 4] = [
    (
        "-n 2",
        "if ($$rank == 0) { create(\"a\"); create(\"b\"); } barrier;\n\
         $one = fopen(\"a\", \"r\"); $other = fopen(\"b\", \"r\");\n\
         if ($$rank == 0) { flock($one, \"exclusive\"); barrier; flock($other, \"exclusive\"); }\n\
         else { flock($other, \"exclusive\"); barrier; flock($one, \"exclusive\"); }",
        &["rank 0 waits for a lock of \"b\"", "rank 1 waits for a lock of \"a\""],
    ),
    (
        "-n 2",
        "if ($$rank == 0) create(\"a\"); barrier; $h = fopen(\"a\", \"r\");\n\
         if ($$rank == 0) { flock($h, \"exclusive\"); barrier; wait(\"never\"); }\n\
         else { barrier; flock($h, \"shared\"); }",
        &["rank 0 waits for the signal \"never\"", "rank 1 waits for a lock of \"a\""],
    ),
    (
        "-n 2",
        "if ($$rank == 0) create(\"a\"); barrier; $h = fopen(\"a\", \"r\");\n\
         if ($$rank == 0) { flock($h, \"exclusive\"); } barrier;\n\
         if ($$rank == 1) { flock($h, \"exclusive\"); } barrier; fclose($h);",
        &["rank 0 waits for a barrier", "rank 1 waits for a lock of \"a\""],
    ),
    (
        "-n 1",
        "create(\"a\"); $h = fopen(\"a\", \"r\"); $g = fopen(\"a\", \"r\");\n\
         flock($h, \"exclusive\"); flock($g, \"exclusive\");",
        &["every rank that is left waits"],
    ),
];

#[test]
fn ranks_that_wait_for_each_other_are_named() {
    for (ranks, text, says) in DEADLOCKS {
        let scene = Scene::new().file("x.ppl", text);
        for backend in ["posix", "mem"] {
            let line = format!("run x.ppl {ranks} --backend {backend}");
            let done = scene.parabench(&line).exits(1);
            let said = format!("{}{}", done.out, done.err);
            let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
            if (ranks, backend) == ("-n 1", "mem") {
                // The only rank is one of a simulation, in which every rank that is left waits.
                assert!(flat.contains("rank 0 waits for a lock of \"a\""), "{said}");
                continue;
            }
            for words in says {
                assert!(flat.contains(words), "{line}: no {words}: {said}");
            }
        }
    }
}

#[test]
fn a_lock_that_is_taken_is_refused_to_those_who_only_try() {
    let text = "create(\"a\"); $h = fopen(\"a\", \"r\"); $g = fopen(\"a\", \"r\");\n\
                flock($h, \"shared\"); flock($g, \"shared\", \"try\");\n\
                time[\"taken\"] flock($g, \"exclusive\", \"try\");\n\
                fclose($h); time[\"free\"] flock($g, \"exclusive\", \"try\");";
    let scene = Scene::new().file("x.ppl", text);
    for backend in ["posix", "mem"] {
        let done = scene.parabench(&format!("run x.ppl --format json --backend {backend}"));
        let run = run_object(&done.exits(1));
        assert_eq!(row(&run, "taken", "flock")["failed"], 1);
        assert_eq!(row(&run, "free", "flock")["failed"], 0);
        assert_eq!(run["run"]["failures"][0]["errno"], 11);
    }
}

/// Rank 0 ends, in one way or another, with a lock that rank 1 waits for.
const HOLDER: &str = r#"
if ($$rank == 0) create("lock");
barrier;
$h = fopen("lock", "r");
if ($$rank == 0) { flock($h, "exclusive"); create("held"); END }
else { while (!exists("held")) sleep(1ms); time["then"] flock($h, "exclusive"); }
"#;

#[test]
fn what_an_ended_rank_held_is_free() {
    for (end, code) in [("", 0), ("sleep(20ms);", 0), ("assert(1 == 2);", 1)] {
        let scene = Scene::new().file("x.ppl", HOLDER.replace("END", end));
        for backend in ["posix", "mem"] {
            let line = format!("run x.ppl -n 2 --format json --no-preflight --backend {backend}");
            let run = run_object(&scene.parabench(&line).exits(code));
            let then = row(&run, "then", "flock");
            assert_eq!((&then["count"], &then["failed"]), (&1.into(), &0.into()), "{end} {line}");
        }
    }
}

#[test]
fn what_a_killed_rank_held_is_free() {
    let scene = Scene::new().file("x.ppl", HOLDER.replace("END", "sleep(60s);"));
    let call = scene.call("run x.ppl -n 2 --dir d --format json").start();
    call.until("the lock", || scene.path("d/held").exists());
    // Rank 1 waits, or will.
    kill(call.ranks()[0], 9);
    let run = run_object(&call.finish().exits(1));
    let then = row(&run, "then", "flock");
    assert_eq!((&then["count"], &then["failed"]), (&1.into(), &0.into()), "{then:#}");
}
