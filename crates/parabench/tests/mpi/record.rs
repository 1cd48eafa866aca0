//! `mpiexec parabench record`: each rank records itself, one run comes out.

use crate::scene::Scene;
use crate::testing;
use crate::{under, with};
use report::events::EventReader;
use std::ffi::OsStr;
use std::process::Command;

/// Each rank writes a file of its own, and all write to a common one by MPI-IO.
const APPLICATION: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    int rank;
    char name[64], block[4096];
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(block, 'x', sizeof block);
    snprintf(name, sizeof name, "own-%d", rank);
    FILE *own = fopen(name, "w");
    fwrite(block, 1, 100, own);
    fclose(own);
    MPI_File_open(MPI_COMM_WORLD, "./common", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 4096 * (MPI_Offset)rank, block, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_Status status;
    /* As an answer of its own, and as none. */
    MPI_File_read_at(file, 10 * rank, block, 100, MPI_INT, &status);
    MPI_File_read_at(file, 10 * rank, block, 50, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
"#;

/// Writes of a stored run, as text.
fn writes(scene: &Scene) -> Vec<String> {
    let mut events = EventReader::open(&scene.path("r")).expect("its events");
    let rows: Vec<_> = events.by_ref().map(Result::unwrap).collect();
    let path = |id: u32| String::from_utf8_lossy(&events.paths()[id as usize]).into_owned();
    let writes = rows.iter().filter(|row| row.event.op == model::Op::Fwrite as u8);
    let text = |row: &report::events::EventRow| {
        let (event, log) = (&row.event, row.details.log);
        format!("{log} {} @{} {}", path(event.path), event.offset_bytes, event.done_bytes)
    };
    let mut texts: Vec<String> = writes.map(text).collect();
    texts.sort();
    texts
}

/// Makes `app` of a source text.
pub fn compile(scene: &Scene, compiler: impl AsRef<OsStr>, source: &str) {
    let compiled = Command::new(compiler)
        .args(["-o", "app", source])
        .current_dir(scene.path("."))
        .output()
        .expect("the compiler runs");
    assert!(compiled.status.success(), "{compiled:?}");
}

/// Calls of three ranks, and bytes.
const MPI_IO: &[(&str, u64, u64)] = &[
    ("app/mpi-io pfclose", 3, 0),
    ("app/mpi-io pfopen", 3, 0),
    ("app/mpi-io pfread", 6, 3 * 600),
    ("app/mpi-io pfsync", 3, 0),
    ("app/mpi-io pfwrite", 3, 3 * 4096),
];

/// Rows of MPI-IO, in order of their names.
fn mpi_io(run: &serde_json::Value) -> Vec<(String, u64, u64)> {
    let rows = run["rows"].as_array().expect("rows").iter();
    let of_mpi = rows.filter(|row| row["label"].as_str().is_some_and(|l| l.ends_with("mpi-io")));
    let mut told: Vec<_> = of_mpi
        .map(|row| {
            let name =
                format!("{} {}", row["label"].as_str().unwrap(), row["op"].as_str().unwrap());
            (name, row["count"].as_u64().unwrap(), row["bytes"].as_u64().unwrap())
        })
        .collect();
    told.sort();
    told
}

/// What an application that both bindings of Fortran can compile does, after `use mpi` or `use mpi_f08`
/// and the declarations.
const FORTRAN: &str = "
  integer(kind=MPI_OFFSET_KIND) :: at
  integer :: rank, error
  character(len=4096) :: block
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  block = repeat('x', 4096)
  call MPI_File_open(MPI_COMM_WORLD, './common', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  at = 4096 * int(rank, MPI_OFFSET_KIND)
  call MPI_File_write_at_all(file, at, block, 4096, MPI_CHARACTER, MPI_STATUS_IGNORE, error)
  call MPI_File_sync(file, error)
  at = 10 * rank
  call MPI_File_read_at(file, at, block, 100, MPI_INTEGER, status, error)
  call MPI_File_read_at(file, at, block, 50, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  call MPI_Finalize(error)
end program
";

/// Name of the module, and how it declares a file and a status.
const BINDINGS: [(&str, &str); 2] = [
    ("mpi", "integer :: file, status(MPI_STATUS_SIZE)"),
    ("mpi_f08", "type(MPI_File) :: file\n  type(MPI_Status) :: status"),
];

#[test]
fn calls_of_fortran_are_recorded_once() {
    for mpi in testing::all() {
        let compiler = mpi.mpicc.to_string_lossy().replace("mpicc", "mpif90");
        if Command::new(&compiler).arg("--version").output().is_err() {
            println!("{}: no {compiler}: skipped", mpi.name);
            continue;
        }
        for (module, declared) in BINDINGS {
            let text =
                format!("program app\n  use {module}\n  implicit none\n  {declared}{FORTRAN}");
            let scene = Scene::new().file("app.f90", &text);
            compile(&scene, &compiler, "app.f90");
            under(&mpi, 3, &scene, "record --under . -o r -- ./app").run().exits(0);
            let found = mpi_io(&scene.json("r/run.json"));
            let found: Vec<_> = found.iter().map(|(n, c, b)| (n.as_str(), *c, *b)).collect();
            assert_eq!(found, MPI_IO, "{} by {module}", mpi.name);
        }
    }
}

#[test]
fn each_rank_records_itself_and_one_run_comes_out() {
    for mpi in testing::all() {
        let scene = Scene::new().file("app.c", APPLICATION);
        compile(&scene, &mpi.mpicc, "app.c");
        for via in ["preload", "strace"] {
            let line = format!("record --via {via} --force --under . -o r -- ./app");
            let done = under(&mpi, 3, &scene, &line).run().exits(0);
            assert_eq!(done.err.matches("recorded ").count(), 1, "{}: {}", mpi.name, done.err);
            let found = writes(&scene);
            let expected = (0..3).flat_map(|rank| {
                let common = format!("{rank} common @{} 4096", 4096 * rank);
                [common, format!("{rank} own-{rank} @0 100")]
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "{} via {via}", mpi.name);
            let run = scene.json("r/run.json");
            assert_eq!(run["run"]["trace"]["logs"].as_array().map(Vec::len), Some(3));
            let told = mpi_io(&run);
            // Bytes of MPI-IO are those of POSIX: sums hold them once.
            let written = &run["run"]["evidence"]["program_write_bytes"];
            assert_eq!(written, &serde_json::json!(3 * (4096 + 100)), "{} via {via}", mpi.name);
            let table = scene.call("report r -v").env("COLUMNS", "300").run().exits(0).out.clone();
            let total = table.lines().find(|line| line.trim_start().starts_with("writing"));
            let words: Vec<&str> = total.expect("a total").split_whitespace().collect();
            assert_eq!(words[..2], ["writing", "6"], "{} via {via}: {table}", mpi.name);
            match via {
                "preload" => {
                    let told: Vec<_> = told.iter().map(|(n, c, b)| (n.as_str(), *c, *b)).collect();
                    assert_eq!(told, MPI_IO, "{}", mpi.name);
                }
                _ => assert!(told.is_empty(), "{told:?}"),
            }
            let left = scene.names(".").into_iter().filter(|name| name.starts_with("r."));
            assert_eq!(left.count(), 0, "logs of other ranks go");
        }
    }
}

/// The last rank is the first to write; rank 1 starts a program that writes, too.
const TURNS: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size;
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = size - 1; turn >= 0; turn--) {
        if (turn == rank) {
            snprintf(name, sizeof name, "own-%d", rank);
            FILE *own = fopen(name, "w");
            fputc('x', own);
            fclose(own);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 1) system("echo x > child");
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn one_recorder_of_a_whole_job_gives_ranks_the_numbers_that_they_have_in_mpi() {
    for mpi in testing::all() {
        let scene = Scene::new().file("app.c", TURNS);
        compile(&scene, &mpi.mpicc, "app.c");
        let mpiexec = mpi.mpiexec.display();
        let line = format!("record --under . -o r -- {mpiexec} -n 3 ./app");
        with(&mpi, &scene, &line).run().exits(0);
        let mut events = EventReader::open(&scene.path("r")).expect("its events");
        let rows: Vec<_> = events.by_ref().map(Result::unwrap).collect();
        let writes = rows.iter().filter(|row| row.event.op == model::Op::Fwrite as u8);
        let path = |id: u32| String::from_utf8_lossy(&events.paths()[id as usize]).into_owned();
        let told: Vec<_> = writes.map(|row| (row.rank, path(row.event.path))).collect();
        let names: Vec<&str> = told.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["own-0", "own-1", "child", "own-2"], "{}", mpi.name);
        let ranks: Vec<u32> = told.iter().map(|(rank, _)| *rank).collect();
        // The child works in turns with its parent.
        assert_eq!(ranks, [0, 1, 1, 2], "{}", mpi.name);
    }
}
