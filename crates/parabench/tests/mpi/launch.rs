//! Launchers: who starts the ranks, and what is refused.

use crate::scene::{Done, PARABENCH, Scene};
use crate::schema::run_object;
use crate::testing::{self, Mpi};
use crate::{briefly, under, with};
use std::fs;

const WRITES: &str = "print \"rank\", $$rank, \"of\", $$size; time[\"w\"] write(\"f-$$rank\", 4k);";

#[test]
fn processes_of_mpiexec_are_the_ranks_and_rank_0_speaks_for_all() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let done = under(&mpi, 3, &scene, "run x.ppl").run().exits(0);
        assert_eq!(done.out.matches("   ok\n").count(), 1, "one table under {}", mpi.name);
        for rank in 0..3 {
            let line = format!("[{rank}] rank {rank} of 3");
            assert_eq!(
                done.out.lines().filter(|l| l.trim_end() == line).count(),
                1,
                "{}",
                done.out
            );
        }
        assert_eq!(scene.names("."), ["x.ppl"], "the scratch directory is gone");
        let run = run_object(&under(&mpi, 2, &scene, "run x.ppl -s --format json -n 2").run());
        assert_eq!((&run["run"]["comm"], &run["run"]["ranks"]), (&"mpi".into(), &2.into()));
        assert_eq!(run["run"]["evidence"]["confinement"], "checked");
    }
}

#[test]
fn lines_of_print_are_whole() {
    let text = "repeat $k 50 print $k, \"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\";";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let done = under(&mpi, 4, &scene, "run x.ppl").run().exits(0);
        for rank in 0..4 {
            let line = |k| format!("[{rank}] {k} {0}{0}", "abcdefghijklmnopqrstuvwxyz");
            let expected: Vec<String> = (0..50).map(line).collect();
            let start = format!("[{rank}] ");
            let found = done.out.lines().map(str::trim_end).filter(|line| line.starts_with(&start));
            assert_eq!(found.collect::<Vec<_>>(), expected, "under {}", mpi.name);
        }
    }
}

#[test]
fn a_number_of_ranks_that_is_not_the_launchers_is_refused_once() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let done = briefly(&mpi, 3, &scene, "run -n 4 x.ppl").exits(2);
        assert_eq!(done.err.matches("has started 3 ranks").count(), 1, "{}", done.err);
        assert_eq!(scene.names("."), ["x.ppl"]);
    }
}

/// A rank for each of two command lines.
fn unlike(mpi: &Mpi, scene: &Scene, first: &str, second: &str) -> Done {
    let launch = mpi.launch(1, PARABENCH).args(first.split_whitespace());
    let launch = launch.args([":", "-n", "1", PARABENCH]).args(second.split_whitespace());
    scene.command(launch.command).run()
}

#[test]
fn a_rank_that_was_started_with_other_words_ends_the_job_and_is_named() {
    let text = format!("param $n = 1;\n{WRITES}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", &*text).file("y.ppl", &*text);
        for (first, second) in [
            ("run x.ppl n=1", "run x.ppl n=2"),
            ("run x.ppl", "run y.ppl"),
            ("run x.ppl --seed 1", "run x.ppl"),
            ("run x.ppl", "mpi info"),
        ] {
            let done = unlike(&mpi, &scene, first, second).exits(2);
            let message = format!(
                "rank 1 on {} was started with `{second}`, rank 0 with `{first}`",
                host.trim()
            );
            assert_eq!(done.err.matches(&message).count(), 1, "{} {}", mpi.name, done.err);
            assert_eq!(scene.names("."), ["x.ppl", "y.ppl"], "{first} : {second}");
        }
        // A rank that cannot read its words ends the job.
        unlike(&mpi, &scene, "run x.ppl", "run x.ppl --nonsense").exits(2).err_has("--nonsense");
        let json = "run x.ppl n=1 --format json";
        let run = unlike(&mpi, &scene, json, "run x.ppl n=2 --format json").exits(2).json();
        assert_eq!(run["run"]["outcome"], "refused", "{}", mpi.name);
        unlike(&mpi, &scene, "run x.ppl n=2", "run x.ppl n=2").exits(0);
    }
}

/// A rank that never joins the job: the others say so, and end it.
#[test]
fn a_job_that_does_not_meet_ends_in_a_limited_time() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let launch =
            mpi.launch(1, "sleep").args(["600", ":", "-n", "2", PARABENCH, "run", "x.ppl"]);
        let launch = launch.env("PARABENCH_MPI_WAIT", "1");
        let done = scene.command(launch.command).run().exits(2);
        done.err_has("not all processes of this job have started MPI within 1 s")
            .err_has("PARABENCH_MPI_WAIT=SECONDS");
        assert_eq!(scene.names("."), ["x.ppl"]);
    }
}

#[test]
fn parabench_starts_mpiexec_itself() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let run = run_object(&with(&mpi, &scene, "run -n 3 --mpi x.ppl --format json").run());
        assert_eq!((&run["run"]["comm"], &run["run"]["ranks"]), (&"mpi".into(), &3.into()));
        let launcher = format!("{} -n {{ranks}}", mpi.mpiexec.display());
        let call =
            with(&mpi, &scene, "run -n 2 x.ppl --format json").word("--launcher").word(launcher);
        assert_eq!(run_object(&call.run())["run"]["ranks"], 2);
        let program = with(&mpi, &scene, "run -n 2 --mpi - --format json").input(WRITES);
        assert_eq!(run_object(&program.run())["run"]["program"]["name"], "<stdin>");
        with(&mpi, &scene, "run -n 2 --mpi missing.ppl").run().exits(2).err_has("missing.ppl");
        assert_eq!(scene.names("."), ["x.ppl"]);
    }
}

#[test]
fn ranks_have_the_lists_of_files_that_rank_0_reads() {
    let program = "$sizes = list(\"app.data\", \"sizes\"); write(\"f-$$rank\", $sizes[$$rank]);";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", program).file("app.data", "[sizes 3]\n4k\n8k 2\n");
        let run = run_object(&with(&mpi, &scene, "run -n 3 --mpi x.ppl --format json").run());
        assert_eq!(run["rows"][0]["bytes"], 20 << 10);
        assert_eq!(run["run"]["program"]["files"][1]["name"], "app.data");
    }
}

#[test]
fn what_cannot_be_started_is_told_with_what_to_do() {
    let scene = Scene::new().file("x.ppl", WRITES);
    let launcher = |command: &str| scene.call("run -n 2 x.ppl --launcher").word(command).run();
    launcher("no-such-launcher -n {n}").exits(2).err_has("no-such-launcher").err_has("--launcher");
    launcher("env").exits(2).err_has("process of an MPI job");
    let none = scene.call("run -n 2 --mpi x.ppl").env("PARABENCH_MPI_SHIM", "/no/such/shim");
    none.run().exits(2).err_has("/no/such/shim").err_has("parabench mpi build");
    scene.parabench("run --mpi --backend mem x.ppl").exits(2).err_has("simulated");
    for mpi in testing::all() {
        let call = under(&mpi, 2, &scene, "run x.ppl").env("PARABENCH_MPI_SHIM", "/no/such/shim");
        let done = call.run().exits(2);
        assert_eq!(done.err.matches("parabench mpi build").count(), 1, "{}", done.err);
    }
    assert_eq!(scene.names("."), ["x.ppl"]);
}

/// The first rank finds the library, the second one, which says that it is alone on its machine, does not.
#[test]
fn a_host_without_the_shim_ends_the_job_and_is_named() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let second =
            "env PARABENCH_MPI_SHIM=/no/such/shim MPI_LOCALRANKID=0 OMPI_COMM_WORLD_LOCAL_RANK=0";
        let both = |first: &str| {
            let launch = mpi.launch(1, "env").args(first.split_whitespace());
            let launch = launch.args([PARABENCH, "run", "x.ppl", ":", "-n", "1"]);
            launch.args(second.split_whitespace()).args([PARABENCH, "run", "x.ppl"])
        };
        let done = scene.command(both("A=B").command).run();
        assert_eq!(done.code, Some(2), "{}: {}", mpi.name, done.err);
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        let told = format!("{}: ", host.trim());
        assert!(done.err.contains(&told), "{}: {}", mpi.name, done.err);
        done.err_has("/no/such/shim").err_has("parabench mpi build");
    }
}

/// The first process of the machine finds it, and has nothing to say.
#[test]
fn ranks_that_alone_have_no_shim_say_so() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let launch = mpi.launch(1, PARABENCH).args(["run", "x.ppl", ":", "-n", "3", "env"]);
        let launch = launch.args(["PARABENCH_MPI_SHIM=/no/such/shim", PARABENCH, "run", "x.ppl"]);
        let done = scene.command(launch.command).run().exits(2);
        done.err_has("error: rank ").err_has("/no/such/shim");
    }
}

/// The second rank may not have the memory that it needs to start.
#[test]
fn a_rank_that_cannot_start_ends_the_job() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        let second =
            "ulimit -v 100000 && MPI_LOCALRANKID=0 OMPI_COMM_WORLD_LOCAL_RANK=0 exec \"$@\"";
        let launch = mpi.launch(1, PARABENCH).args(["run", "x.ppl", ":", "-n", "1", "sh", "-c"]);
        let launch = launch.args([second, "sh", PARABENCH, "run", "x.ppl"]);
        scene.command(launch.command).run().exits(2).err_has("ulimit -v");
        assert_eq!(scene.names("."), ["x.ppl"], "{}", mpi.name);
    }
}

/// Open MPI starts no more ranks than there are slots.
#[test]
fn a_launcher_without_slots_is_told_how_to_allow_them() {
    for mpi in testing::all().into_iter().filter(|mpi| mpi.name == "openmpi") {
        let scene = Scene::new().file("x.ppl", WRITES);
        let launch = |options: &str| {
            let launcher = format!("{} {options} -n {{ranks}}", mpi.mpiexec.display());
            let call = with(&mpi, &scene, "run -n 3 x.ppl --format json --launcher").word(launcher);
            call.env("OMPI_MCA_rmaps_base_oversubscribe", "0").run()
        };
        launch("--host localhost:1").exits(1).err_has("--oversubscribe -n {ranks}");
        let allowed = launch("--host localhost:1 --oversubscribe");
        assert_eq!(run_object(&allowed)["run"]["ranks"], 3);
    }
}

/// A program whose names leave: computed, through a link that leads up, and of MPI files.
const LEAVES: &str = "$p = \"x\"; $n = 0; while ($n < 1) { $p = \"../outside/victim\"; $n = $n + 1; }\n\
    with (expect=\"EXDEV\") { write($p, 1); delete($p); rename($p, \"v\"); chmod($p, 0); }\n";

#[test]
fn names_do_not_leave_under_mpi() {
    let up = "mkdir(\"a-$$rank\"); symlink(\"../own-$$rank\", \"a-$$rank/l\"); \
              write(\"a-$$rank/l\", 4k); rename(\"a-$$rank/l\", \"l-$$rank\");\n\
              with (expect=\"EXDEV\") { write(\"l-$$rank\", 1); delete(\"l-$$rank/x\"); }\n";
    let files = "$h = pfopen($p, \"crw\"); if ($$rank == 0) stat(\".\");\n";
    for mpi in testing::all() {
        for (text, name, code) in [
            (LEAVES.to_string(), "checked", 0),
            (format!("{LEAVES}{up}"), "confined", 0),
            (format!("{LEAVES}{files}"), "checked", 1),
        ] {
            let scene = Scene::new().file("x.ppl", &text).file("outside/victim", "precious");
            let done = under(&mpi, 2, &scene, "run x.ppl --dir d --format json").run().exits(code);
            let run = run_object(&done);
            assert_eq!(run["run"]["evidence"]["confinement"], name, "under {}", mpi.name);
            assert_eq!(scene.text("outside/victim"), "precious");
            assert_eq!(scene.names("outside"), ["victim"]);
        }
    }
}

/// MPI libraries open files by name: nobody can do that for them beneath a directory.
#[test]
fn mpi_io_of_confined_programs_is_refused() {
    let text = "$h = pfopen(\"f\", \"crw\"); pfwrite($h, 4k); pfclose($h);\n";
    let links = "mkdir(\"a-$$rank\"); symlink(\"../f\", \"a-$$rank/l\");\n";
    let up = format!("{links}{text}");
    let scene = || Scene::new().file("x.ppl", text).file("up.ppl", &up);
    for mpi in testing::all() {
        let done = under(&mpi, 2, &scene(), "run x.ppl --confine").run().exits(2);
        done.err_has("MPI libraries open the files of MPI-IO themselves").err_has("--no-confine");
        let done = under(&mpi, 2, &scene(), "run up.ppl").run().exits(2);
        done.err_has("leads up (up.ppl:1:20)");
        // Both programs work in one directory: the links of one are there for the other.
        let both = "run up-only.ppl --against-program x.ppl --reps 1";
        let done = under(&mpi, 2, &scene().file("up-only.ppl", links), both).run().exits(2);
        done.err_has("another program of this run");
        under(&mpi, 2, &scene(), "run x.ppl").run().exits(0);
        under(&mpi, 2, &scene(), "run up.ppl --no-confine").run().exits(0);
    }
}

#[test]
fn other_subcommands_speak_once() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", "writ(1);").file("y.ppl", WRITES);
        let done = briefly(&mpi, 3, &scene, "check x.ppl").exits(2);
        assert_eq!(done.err.matches("E0302").count(), 1, "{}", done.err);
        // A script does as it likes; the run is the only command of it that joins the job.
        fs::write(scene.path("z.ppl"), WRITES).expect("written");
        let script = format!("{PARABENCH} check z.ppl && {PARABENCH} run z.ppl");
        let launch = mpi.launch(2, "sh").args(["-c", &script]);
        let done = scene.command(launch.command).run().exits(0);
        assert_eq!(done.err.matches("nothing wrong").count(), 1, "{}", done.err);
        // It runs what it has folded by itself.
        scene.parabench("run y.ppl -n 2 --events --quiet --out r").exits(0);
        let done = briefly(&mpi, 3, &scene, "replay r").exits(0);
        assert_eq!(done.out.matches("elapsed time").count(), 1, "{}", done.out);
        fs::remove_dir_all(scene.path("r")).expect("removed");
        let done = briefly(&mpi, 3, &scene, "run y.ppl --backend mem -n 5 --format json");
        assert_eq!(run_object(&done)["run"]["ranks"], 5, "rank 0 simulates them all");
    }
    assert!(PARABENCH.ends_with("parabench"));
}

#[test]
fn results_and_events_of_all_ranks_are_stored() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES).file("d/.gitignore", "");
        under(&mpi, 3, &scene, "run x.ppl --out r --events").run().exits(0);
        assert_eq!(scene.names("r"), ["events.parquet", "run.json"], "under {}", mpi.name);
        assert_eq!(crate::figures::events(&scene, "r").len(), 3);
        scene.parabench("report r").exits(0).out_has("3 ranks");
        under(&mpi, 2, &scene, "run x.ppl --dir new --keep").run().exits(0);
        assert_eq!(scene.names("new"), [".parabench", "f-0", "f-1"]);
        under(&mpi, 2, &scene, "run x.ppl --dir d").run().exits(2);
    }
}

/// Ranks without a folder in memory that rank 0 sees, as on other machines: what they recorded
/// comes over MPI.
#[test]
fn events_of_ranks_out_of_sight_come_to_rank_0() {
    const ALONE: &str = "#!/bin/sh\nif [ \"$OMPI_COMM_WORLD_RANK\" = 0 ]; then exec \"$@\"; fi\n\
        exec unshare -m sh -c 'umount -l /dev/shm && exec \"$@\"' sh \"$@\"\n";
    let may =
        std::process::Command::new("unshare").args(["-m", "umount", "-l", "/dev/shm"]).output();
    if !may.is_ok_and(|done| done.status.success()) {
        return crate::scene::skip("mounts cannot be hidden here (are you root?)");
    }
    // Other MPIs need the common memory for themselves.
    for mpi in testing::all().into_iter().filter(|mpi| mpi.name == "openmpi") {
        let scene = Scene::new().file("x.ppl", WRITES).file("alone", ALONE);
        let launch = |line: &str| {
            let launch = mpi.launch(3, "sh").args(["alone", PARABENCH]);
            let mut command = launch.args(line.split_whitespace()).command;
            command.env("OMPI_MCA_btl", "self,tcp");
            scene.command(command).run().exits(0)
        };
        launch("run x.ppl --out r --events");
        assert_eq!(scene.names("r"), ["events.parquet", "run.json"]);
        assert_eq!(crate::figures::events(&scene, "r").len(), 3);
        launch("run x.ppl --events");
        assert_eq!(scene.names("."), ["alone", "r", "x.ppl"]);
    }
}

/// Rank 0 writes it from the run directory.
#[test]
fn a_page_with_a_relative_name_lies_where_the_job_was_started() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WRITES);
        under(&mpi, 2, &scene, "run x.ppl --html page.html").run().exits(0);
        assert_eq!(scene.names("."), ["page.html", "x.ppl"], "under {}", mpi.name);
        let line = "run x.ppl -n 2 --mpi --html pages/two.html --out r";
        let scene = scene.file("pages/keep", "");
        with(&mpi, &scene, line).run().exits(0);
        assert_eq!(scene.names("pages"), ["keep", "two.html"], "under {}", mpi.name);
        assert_eq!(scene.names("r"), ["events.parquet", "run.json"], "under {}", mpi.name);
        assert!(
            scene.text("pages/two.html").contains("<dt>ranks</dt><dd>2</dd>"),
            "under {}",
            mpi.name
        );
    }
}
