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

#[test]
fn a_rank_that_calls_exit_ends_the_job_and_leaves_a_run_that_can_be_reported() {
    for (mpi, code) in testing::all().iter().flat_map(|mpi| CODES.map(|code| (mpi.clone(), code))) {
        let scene = Scene::new().file("x.ppl", TEXT);
        let call = under(&mpi, 3, &scene, "run x.ppl --format json --out r");
        let done = leaving(&scene, call, code).run().err_has(&format!("rank 1: {REASON}"));
        assert_ne!(done.code, Some(0), "exit({code}) under {}", mpi.name);
        assert_kept(&reported_when_over(&scene), &mpi);
    }
}

#[test]
fn a_parent_names_the_rank_that_called_exit_and_tidies_up() {
    for (mpi, code) in testing::all().iter().flat_map(|mpi| CODES.map(|code| (mpi.clone(), code))) {
        let scene = Scene::new().file("x.ppl", TEXT);
        let call = with(&mpi, &scene, "run -n 3 --mpi x.ppl --format json --html page.html");
        let run = leaving(&scene, call, code).run().exits(1).json();
        assert_kept(&run, &mpi);
        assert_eq!(run["run"]["outcome"], "cut off");
        let errors = &run["run"]["rank_errors"];
        let told = (&errors[0]["rank"], &errors[0]["message"]);
        assert_eq!(told, (&1.into(), &REASON.into()), "exit({code}) under {}: {run:#}", mpi.name);
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
