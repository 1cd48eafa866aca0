//! The progress lines of a job, in the log of a launcher.

use crate::scene::Scene;
use crate::testing;
use crate::{under, with};

#[test]
fn a_short_job_and_a_quiet_one_have_no_progress_lines() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "time[\"w\"] { write(\"f\", 4k); sleep 1500ms; }");
        let (lines, _) = with(&mpi, &scene, "run --mpi -n 2 x.ppl --quiet").at_terminal();
        assert_eq!(lines, "", "{}", mpi.name);
        let done = under(&mpi, 2, &scene, "run x.ppl").run().exits(0);
        assert!(!done.err.contains("ops/s"), "{}: {}", mpi.name, done.err);
    }
}

#[test]
fn a_long_job_has_progress_lines_in_the_log() {
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
                for part in [" slow - ", " % of 52 operations - ", " ops/s - ", " s left"] {
                    assert!(line.contains(part), "{}: {part}: {line}", mpi.name);
                }
                assert!(!done.err.contains(['\r', '\u{1b}']), "{:?}", done.err);
            });
        }
    });
}
