//! Several directories under MPI: every rank opens all of them, MPI-IO takes their absolute paths.

use crate::figures::row;
use crate::scene::Scene;
use crate::testing;
use crate::under;
use std::fs;

const STAGES: &str = r#"
define pattern {"p", 4, 1000, 3};
with (dir="fast") {
    $h = pfopen("shared", "crw");
    pfwrite($h, "p");
    write("own-$$rank", 4k);
    with (dir="") pwrite("slow", "p");
}
pfclose($h);
pwrite("fast:other", "p");
copy("fast:own-$$rank", "own-$$rank");
barrier;
with (dir="fast") assert(size("shared") == 4000 * $$size && size("other") == 4000 * $$size, "whole");
barrier;
pdelete("fast:other");
pread("slow", "p");
"#;

#[test]
fn mpi_io_and_posix_work_in_the_directory_that_a_path_names() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", STAGES);
        let line = "run x.ppl --dir slow --mount fast=fast --format json";
        let run = under(&mpi, 3, &scene, line).run().exits(0).json();
        for (op, count, bytes) in [
            ("pfwrite", 3, 12_000),
            ("pwrite", 6, 24_000),
            ("pread", 3, 12_000),
            ("copy", 3, 12_288),
        ] {
            let row = row(&run, "", op);
            assert_eq!((row["count"].as_u64(), row["bytes"].as_u64()), (Some(count), Some(bytes)));
        }
        assert_eq!(run["run"]["host"]["directories"][0]["name"], "fast");
        let names = |folder: &str| {
            let mut names = scene.names(folder);
            names.retain(|name| name != ".parabench");
            names
        };
        assert_eq!(names("fast"), ["own-0", "own-1", "own-2", "shared"], "under {}", mpi.name);
        assert_eq!(names("slow"), ["own-0", "own-1", "own-2", "slow"], "under {}", mpi.name);
        assert_eq!(fs::metadata(scene.path("fast/shared")).unwrap().len(), 12_000);
    }
}

#[test]
fn a_first_try_has_scratch_directories_for_all_ranks() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", STAGES);
        let done = under(&mpi, 2, &scene, "run x.ppl --format json").run().exits(0);
        done.err_has("the directory fast is a scratch one");
        assert_eq!(scene.names("."), ["x.ppl"], "under {}", mpi.name);
    }
}
