//! A rank whose process calls exit() in the middle of the program, without MPI_Finalize: the
//! job ends with the reason and the rank, and what was measured is kept. A small library that
//! is loaded before the C library makes mkdir("leave") such a call.

use crate::death::{assert_kept, reported_when_over};
use crate::scene::{Call, Scene};
use crate::{preload, testing, under, with};

const TEXT: &str = "time[\"w\"] { repeat $k 5 write(\"f-$$rank-$k\", 4k); } barrier; \
                    if ($$rank == 1) mkdir(\"leave\"); barrier; stat(\".\");";
const REASON: &str = "its process called exit() in the middle of the program";

const LIBRARY: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
int mkdir(const char *path, mode_t mode)
{
    if (strcmp(path, "leave") == 0)
        exit(atoi(getenv("LEAVE_WITH")));
    return mkdirat(AT_FDCWD, path, mode);
}
"#;

/// Success is no better an end than failure: the others would wait for ever.
const CODES: [&str; 2] = ["7", "0"];

fn leaving(scene: &Scene, call: Call, code: &str) -> Call {
    preload(scene, call, LIBRARY).env("LEAVE_WITH", code)
}

#[track_caller]
fn assert_told(run: &serde_json::Value, what: &str) {
    let errors = run["run"]["rank_errors"].as_array().expect("errors");
    let own = errors.iter().any(|error| error["rank"] == 1 && error["message"] == REASON);
    assert!(own, "{what}: {errors:?}");
}

#[test]
fn a_rank_that_calls_exit_ends_the_job_and_leaves_a_run_that_can_be_reported() {
    for (mpi, code) in testing::all().iter().flat_map(|mpi| CODES.map(|code| (mpi.clone(), code))) {
        let scene = Scene::new().file("x.ppl", TEXT);
        let call = under(&mpi, 3, &scene, "run x.ppl --format json --out r");
        let done = leaving(&scene, call, code).run();
        assert_ne!(done.code, Some(0), "exit({code}) under {}", mpi.name);
        // What the rank says on standard error may be lost with the job; what it stores is not.
        let run = reported_when_over(&scene);
        assert_kept(&run, &mpi);
        assert_told(&run, &format!("exit({code}) under {}", mpi.name));
    }
}

#[test]
fn a_parent_names_the_rank_that_called_exit_and_tidies_up() {
    for (mpi, code) in testing::all().iter().flat_map(|mpi| CODES.map(|code| (mpi.clone(), code))) {
        let scene = Scene::new().file("x.ppl", TEXT);
        let call = with(&mpi, &scene, "run -n 3 --mpi x.ppl --format json --html page.html");
        let done = leaving(&scene, call, code).run().exits(1);
        let run = done.json();
        assert_kept(&run, &mpi);
        assert_eq!(run["run"]["outcome"], "cut off");
        let what = format!("exit({code}) under {}: {}", mpi.name, done.err);
        assert_told(&run, &what);
        // The page too: what rank 0 could not write, the parent does.
        assert!(scene.text("page.html").contains(REASON), "exit({code}) under {}", mpi.name);
        assert_eq!(
            scene.names("."),
            ["page.html", "preload.c", "preload.so", "x.ppl"],
            "{}",
            mpi.name
        );
    }
}
