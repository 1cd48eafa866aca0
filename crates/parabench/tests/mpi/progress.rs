//! The line that tells how far a job is: at the terminal of `parabench run --mpi`, and in the log of a
//! launcher.

use crate::scene::Scene;
use crate::testing;
use crate::{under, with};

/// Rank 0 works for seconds, without a pause and inside of a label; rank 1 does little.
const PROGRAM: &str = "time[\"outer\"] time[\"slow\"] repeat $i 300 {\n\
    if ($$rank == 0 || $i < 30) write(\"f-$$rank\", 4k);\n    compute(10ms);\n}\n";

#[test]
fn a_job_tells_how_far_it_is_while_rank_0_works() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", PROGRAM);
        let call = with(&mpi, &scene, "run --mpi -n 2 x.ppl --format json");
        let (told, out) = call.at_terminal();
        let name = mpi.name;
        let parts = [" s, in outer/slow, ", " % of 330 operations, ", " MiB/s, 2 ranks, "];
        for part in parts.into_iter().chain(["slowest: rank 0 ("]) {
            assert!(told.contains(part), "{name}: {part}: {told:?}");
        }
        assert!(!told.contains("\u{1e}"), "{name}: {told:?}");
        // The line is taken away: nothing follows the last clearing.
        let cleared = told.rfind("\u{1b}[2K").expect("it was cleared");
        assert!(!told[cleared..].contains("ops/s"), "{name}: {told:?}");
        let run: serde_json::Value = serde_json::from_str(&out).expect("the object alone");
        assert_eq!(run["run"]["outcome"], "finished");
    }
}

#[test]
fn a_job_that_nobody_looks_at_tells_nothing() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "time[\"w\"] { write(\"f\", 4k); sleep 1500ms; }");
        let (told, _) = with(&mpi, &scene, "run --mpi -n 2 x.ppl --quiet").at_terminal();
        assert_eq!(told, "", "{}", mpi.name);
        let done = under(&mpi, 2, &scene, "run x.ppl").run().exits(0);
        assert!(!done.err.contains("ops/s"), "{}: {}", mpi.name, done.err);
    }
}

#[test]
fn a_log_tells_how_far_a_job_is_that_takes_long() {
    const LONG: &str = "time[\"slow\"] repeat $i 26 { write(\"f-$$rank\", 4k); sleep 500ms; }";
    let of = |mpi: &testing::Mpi, options: &str| {
        let scene = Scene::new().file("x.ppl", LONG);
        under(mpi, 2, &scene, &format!("run x.ppl --format json{options}")).run().exits(0)
    };
    std::thread::scope(|scope| {
        for mpi in testing::all() {
            let quiet = mpi.clone();
            scope.spawn(move || assert_eq!(of(&quiet, " --quiet").err, ""));
            scope.spawn(move || {
                let done = of(&mpi, "");
                let lines = done.err.lines().filter(|line| line.starts_with("progress: "));
                let [line] = &lines.collect::<Vec<_>>()[..] else {
                    panic!("{}: {:?}", mpi.name, done.err)
                };
                for part in [" s, in slow, ", " % of 52 operations, ", " ops/s, ", ", 2 ranks"] {
                    assert!(line.contains(part), "{}: {part}: {line}", mpi.name);
                }
                assert!(!done.err.contains(['\r', '\u{1b}', '\u{1e}']), "{:?}", done.err);
            });
        }
    });
}
