//! What a run under MPI says about itself.

use crate::scene::{PARABENCH, Scene};
use crate::schema::run_object;
use crate::testing;
use crate::under;

fn marks(run: &serde_json::Value) -> Vec<&str> {
    let marks = run["run"]["evidence"]["marks"].as_array().expect("marks");
    marks.iter().map(|mark| mark["code"].as_str().expect("a code")).collect()
}

#[test]
fn more_ranks_than_processors_are_crowded() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "stat(\".\"); barrier;");
        for (ranks, crowded) in [(1, false), (2, true)] {
            // All of them on processor 0.
            let line = ["-c", "0", PARABENCH, "run", "x.ppl", "--format", "json"];
            let launch = mpi.launch(ranks, "taskset").args(line);
            let run = run_object(&scene.command(launch.command).run());
            assert_eq!(marks(&run).contains(&"crowded"), crowded, "under {}: {run:#}", mpi.name);
        }
    }
}

#[test]
fn direct_is_no_option_of_mpi_io() {
    for mpi in testing::all() {
        let text = "with (direct=true) { $h = pfopen(\"f\", \"crw\"); pfwrite($h, 4k, $$rank * 4k); pfclose($h); }";
        let scene = Scene::new().file("x.ppl", text);
        let run = run_object(&under(&mpi, 2, &scene, "run x.ppl --format json").run());
        let notes = run["run"]["evidence"]["notes"].to_string();
        assert!(
            notes.contains("direct=true does not concern MPI-IO"),
            "under {}: {notes}",
            mpi.name
        );
    }
}
