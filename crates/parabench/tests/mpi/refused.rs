//! Errors that only one member of a collective call gets. A small library that is loaded before
//! the C library lets open(2) of one file fail on one rank.

use crate::scene::{Done, Scene};
use crate::testing::{self, Mpi};
use crate::{preload, under};

const LIBRARY: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
static int denied(const char *path)
{
    const char *rank = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    const char *name = strrchr(path, '/');
    return rank && !strcmp(rank, getenv("DENIED_RANK")) && name && !strcmp(name, "/denied");
}
static int opened(const char *path, int flags, va_list rest)
{
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    if (!denied(path))
        return openat(AT_FDCWD, path, flags, mode);
    errno = EACCES;
    return -1;
}
int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int fd = opened(path, flags, rest);
    va_end(rest);
    return fd;
}
int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int fd = opened(path, flags, rest);
    va_end(rest);
    return fd;
}
"#;

const TEXT: &str = "time[\"w\"] write(\"f-$$rank\", 4k);\n\
                    $h = pfopen(\"denied\", \"crw\");\n\
                    pfwrite($h, 4k, $$rank * 4k, \"all\"); pfclose($h); barrier;";

fn denied_on(rank: &str, mpi: &Mpi) -> (Scene, Done) {
    let scene = Scene::new().file("x.ppl", TEXT);
    let call = under(mpi, 3, &scene, "run x.ppl --format json");
    let call = preload(&scene, call, LIBRARY).env("DENIED_RANK", rank);
    // In the MPI-IO of Open MPI 4.1, a member whose open(2) fails waits inside MPI_File_open for
    // others that wait for it, unless it is the first; the ROMIO that comes with it tells all.
    let call = if mpi.name == "openmpi" && rank != "0" {
        call.env("OMPI_MCA_io", "romio321")
    } else {
        call
    };
    let done = call.run();
    (scene, done)
}

#[test]
fn an_open_that_fails_on_one_member_is_told_with_rank_and_class_and_nobody_hangs() {
    for (mpi, rank) in testing::all().iter().flat_map(|mpi| ["0", "1"].map(|rank| (mpi, rank))) {
        let (scene, done) = denied_on(rank, mpi);
        let run = done.exits(1).json();
        let what = format!("denied on rank {rank} under {}: {run:#}", mpi.name);
        let row = |label, op| crate::figures::row(&run, label, op);
        assert_eq!(row("w", "write")["count"], 3, "{what}");
        // What one member could not open, none has.
        for op in ["pfopen", "pfwrite", "pfclose"] {
            assert_eq!(
                (&row("", op)["count"], &row("", op)["failed"]),
                (&3.into(), &3.into()),
                "{what}"
            );
        }
        assert_eq!(run["run"]["outcome"], "finished", "{what}");
        let failures = run["run"]["failures"].as_array().expect("failures");
        let own = |failure: &&serde_json::Value| {
            failure["op"] == "pfopen" && failure["rank"].as_u64() == rank.parse().ok()
        };
        let message = failures.iter().find(own).expect(&what)["message"].to_string();
        assert!(
            message.contains("EACCES") && message.contains("MPI_File_open: MPI_ERR_ACCESS"),
            "{what}"
        );
        assert_eq!(scene.names("."), ["preload.c", "preload.so", "x.ppl"], "{what}");
    }
}
