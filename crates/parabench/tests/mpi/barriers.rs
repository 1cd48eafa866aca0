//! Where ranks of a recorded job waited for each other, they wait in the program that is folded of it.

use crate::record::compile;
use crate::scene::Scene;
use crate::testing;
use crate::under;
use std::process::Command;

/// In each of four steps: all reduce, rank 0 writes a header, all write behind it, the last rank reads the header.
const STEPS: &str = r#"
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    static char block[4096];
    int rank, ranks, sum;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Barrier(half);
    for (int step = 0; step < 4; step++) {
        char name[32];
        snprintf(name, sizeof name, "state.%d", step);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) {
            int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
            pwrite(file, block, 512, 0);
            close(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        int file = open(name, O_WRONLY);
        for (int i = 0; i < 5; i++) pwrite(file, block, 4096, 512 + 4096 * (i * ranks + rank));
        close(file);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == ranks - 1) {
            file = open(name, O_RDONLY);
            pread(file, block, 512, 0);
            close(file);
        }
    }
    MPI_Finalize();
    return 0;
}
"#;

/// Each rank writes a file; all read that of the next one.
const FORTRAN: &str = "program app
  use mpi
  implicit none
  integer :: rank, ranks, error, step
  character(len=512) :: block
  character(len=8) :: name
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  block = repeat('x', 512)
  do step = 0, 3
    write(name, '(a,i0,a,i0)') 'f', step, '-', rank
    open(10, file=trim(name), access='stream', form='unformatted')
    write(10) block
    close(10)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    write(name, '(a,i0,a,i0)') 'f', step, '-', mod(rank + 1, ranks)
    open(10, file=trim(name), access='stream', form='unformatted', status='old')
    read(10) block
    close(10)
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program
";

/// The program of a recording of four ranks, without its comment; it does the same.
fn folded(scene: &Scene) -> String {
    scene.parabench("fold r -o app.ppl --think none").exits(0).err_has("without loss");
    scene.parabench("check app.ppl").exits(0).err_has("nothing wrong");
    scene.parabench("run app.ppl -n 4 --prepare --against-trace r --quiet").exits(0);
    scene
        .text("app.ppl")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn ranks_meet_where_the_application_did() {
    for mpi in testing::all() {
        let scene = Scene::new().file("app.c", STEPS);
        compile(&scene, &mpi.mpicc, "app.c");
        let done = under(&mpi, 4, &scene, "record --under . -o r -- ./app").run().exits(0);
        let text = folded(&scene);
        assert!(!text.contains("signal(") && text.matches("barrier;").count() == 3, "{text}");
        let step = text.find("repeat $i 4 {").unwrap_or_else(|| panic!("{text}"));
        let parts: Vec<&str> = text[step..].split("barrier;").collect();
        assert!(parts[1].contains("master {") && !parts[1].contains("repeat"), "{text}");
        assert!(parts[2].contains("repeat $j 5") && parts[3].contains("$$rank == 3"), "{text}");
        // Barriers of a part of the job are none of all.
        let gaps = scene.json("r/run.json")["run"]["trace"]["gaps"].to_string();
        assert!(gaps.contains("barriers-of-some"), "{gaps} {}", done.err);
        let one = scene.parabench("fold r --only 0").exits(0);
        assert!(!one.out.contains("barrier;"), "{}", one.out);
    }
}

#[test]
fn barriers_of_fortran_are_recorded() {
    for mpi in testing::all() {
        let compiler = mpi.mpicc.to_string_lossy().replace("mpicc", "mpif90");
        if Command::new(&compiler).arg("--version").output().is_err() {
            println!("{}: no {compiler}: skipped", mpi.name);
            continue;
        }
        let scene = Scene::new().file("app.f90", FORTRAN);
        compile(&scene, &compiler, "app.f90");
        under(&mpi, 4, &scene, "record --under . -o r -- ./app").run().exits(0);
        let text = folded(&scene);
        assert!(!text.contains("signal(") && text.contains("barrier;"), "{text}");
        let barriers = scene.json("r/run.json")["run"]["trace"]["barriers"].clone();
        assert_eq!(barriers.as_array().map(Vec::len), Some(8), "{text}");
    }
}

/// The launcher is no rank, so that nobody waits for it.
#[test]
fn what_a_recorded_launcher_does_itself_is_left_out() {
    for mpi in testing::all() {
        let scene = Scene::new().file("app.c", STEPS);
        compile(&scene, &mpi.mpicc, "app.c");
        let launch = mpi.launch(4, "./app");
        let words = ["record", "--under", ".", "-o", "r", "--"];
        let mut command = Command::new(crate::scene::PARABENCH);
        command.args(words).arg(launch.command.get_program()).args(launch.command.get_args());
        command.envs(launch.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        scene.command(command).run().exits(0);
        let run = scene.json("r/run.json");
        assert_eq!(run["run"]["ranks"], 4, "{}", mpi.name);
        assert_eq!(folded(&scene).matches("barrier;").count(), 3, "{}", mpi.name);
    }
}
