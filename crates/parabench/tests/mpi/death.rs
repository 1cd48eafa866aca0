//! Ranks that fail, leave, are killed or asked to stop: the run ends with the reason and the
//! rank, never hangs, and what was measured is kept.

use crate::scene::{PARABENCH, Running, Scene, kill};
use crate::schema::assert_valid;
use crate::testing::{self, LIMIT, Mpi};
use crate::{under, with};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};

/// Every rank has written five files when it says so, and then waits for long.
const WAITS: &str = "time[\"w\"] { repeat $k 5 write(\"f-$$rank-$k\", 4k); } \
                     time[\"wait\"] { print \"ready\"; repeat 6000 { stat(\".\"); sleep(10ms); } }";
const KILL: i32 = 9;
const INT: i32 = 2;
const TERM: i32 = 15;
const QUIT: i32 = 3;

/// The process of a rank of this run, which lies in a scene.
pub(crate) fn process(scene: &Scene, rank: u32) -> i32 {
    find_process(scene, rank).expect("the rank's process")
}

fn find_process(scene: &Scene, rank: u32) -> Option<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let has = |name: &str| {
            let wanted = format!("{name}={rank}");
            environment.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes())
        };
        link("exe") == fs::canonicalize(PARABENCH).expect("the binary")
            && link("cwd").starts_with(scene.path(".").canonicalize().expect("the scene"))
            && (has("PMI_RANK") || has("OMPI_COMM_WORLD_RANK"))
    };
    pids.into_iter().find(is_it)
}

fn until_ready(running: &Running, ranks: u32) {
    running.until("all ranks at work", || {
        (0..ranks).all(|rank| running.said(&format!("[{rank}] ready")))
    });
}

/// What all ranks had written is in the run.
#[track_caller]
pub fn assert_kept(run: &serde_json::Value, mpi: &Mpi) {
    assert_valid(run);
    let write = crate::figures::row(run, "w", "write");
    assert_eq!(write["count"], 15, "under {}", mpi.name);
    assert_eq!(
        run["times"].as_array().expect("times").iter().filter(|t| t["label"] == "w").count(),
        1
    );
}

/// The run in `r`, settled as soon as its last process is gone: launchers may be gone before.
pub fn reported_when_over(scene: &Scene) -> serde_json::Value {
    let since = Instant::now();
    loop {
        let run = scene.parabench("report r --format json").exits(0).json();
        if run["run"]["outcome"] != "under way" {
            scene.parabench("report r --settle").exits(0);
            let settled = scene.parabench("report r --format json").exits(0).json();
            assert_eq!(settled["rows"], run["rows"]);
            return settled;
        }
        assert!(since.elapsed() < LIMIT, "the run is never over: {run:#}");
    }
}

#[test]
fn a_killed_rank_ends_the_job_and_leaves_a_run_that_can_be_reported() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WAITS);
        let running = under(&mpi, 3, &scene, "run x.ppl --format json --out r --events").start();
        until_ready(&running, 3);
        kill(process(&scene, 1), KILL);
        let done = running.finish();
        assert_ne!(done.code, Some(0), "under {}", mpi.name);
        assert_kept(&reported_when_over(&scene), &mpi);
        assert_eq!(scene.names("r"), ["events.parquet", "run.json"], "under {}", mpi.name);
    }
}

#[test]
fn a_parent_prints_what_a_killed_rank_left_and_tidies_up() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WAITS);
        let temporary = scene.path("tmp");
        fs::create_dir(&temporary).expect("made");
        let call = with(&mpi, &scene, "run -n 3 --mpi x.ppl --format json");
        let running = call.env("TMPDIR", temporary.to_str().expect("text")).start();
        until_ready(&running, 3);
        kill(process(&scene, 1), KILL);
        let done = running.finish().exits(1);
        let run = done.json();
        assert_kept(&run, &mpi);
        assert_eq!(run["run"]["outcome"], "cut off");
        let notes = run["run"]["evidence"]["notes"].to_string();
        assert!(notes.contains("the job was cut off: its launcher"), "{notes}");
        assert!(notes.to_lowercase().contains("killed"), "under {}: {notes}", mpi.name);
        assert_eq!(scene.names("."), ["tmp", "x.ppl"], "under {}", mpi.name);
        let left: Vec<String> =
            scene.names("tmp").into_iter().filter(|name| name.starts_with("parabench")).collect();
        assert!(left.is_empty(), "under {}: {left:?}", mpi.name);
    }
}

/// As from a login node: nothing of what rank 0 leaves is seen where the launcher was started.
#[test]
fn a_job_out_of_sight_ends_with_its_exit_code() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WAITS);
        let launcher = format!("{} -n {{ranks}} env -u PARABENCH_JOB", mpi.mpiexec.display());
        let start = |out: &str| {
            let line = format!("run x.ppl --format json --out {out} -n 3 --launcher");
            with(&mpi, &scene, &line).word(&launcher).start()
        };
        let running = start("r");
        until_ready(&running, 3);
        kill(process(&scene, 1), KILL);
        running.finish().exits(1).err_has("no rank has reported to this machine");
        let running = start("s");
        until_ready(&running, 3);
        running.signal(TERM);
        running.finish().exits(130);
    }
}

/// Rank 0 looks at the clock; the others stop with it, also in a barrier that never comes.
#[test]
fn a_time_limit_ends_all_ranks_together() {
    const STUCK: &str = "time[\"w\"] repeat $k 5 write(\"f-$$rank-$k\", 4k); \
                         if ($$rank == 0) while (1) sleep(10ms); barrier;";
    for mpi in testing::all() {
        for program in [WAITS, STUCK] {
            let scene = Scene::new().file("x.ppl", program);
            let line = "run x.ppl --time-limit 5s --format json --out r";
            let run = under(&mpi, 3, &scene, line).run().exits(0).json();
            assert_kept(&run, &mpi);
            assert_eq!(run["run"]["outcome"], "time limit", "under {}", mpi.name);
        }
    }
}

/// The first signal says what goes on, the second one leaves the records where they are.
#[test]
fn storing_by_rank_0_can_be_interrupted_and_loses_nothing() {
    const PAUSE: Duration = Duration::from_millis(600);
    for mpi in testing::all() {
        for signals in [1, 2] {
            let scene = Scene::new().file("x.ppl", "repeat 200000 stat(\".\");");
            let running = under(&mpi, 2, &scene, "run x.ppl --events --out r").start();
            let begun = || scene.path("r").is_dir() && scene.names("r").len() > 1;
            running.until("storing", begun);
            for _ in 0..signals {
                if let Some(rank_0) = find_process(&scene, 0).and_then(Pid::from_raw) {
                    let _ = kill_process(rank_0, Signal::INT);
                    std::thread::sleep(PAUSE);
                }
            }
            // It may have been faster than the signals.
            let done = running.finish();
            let is_stored = scene.path("r/events.parquet").exists();
            assert!(
                is_stored || done.err.contains("are being stored"),
                "{}: {}",
                mpi.name,
                done.err
            );
            assert!(is_stored || signals == 2, "one signal ends nothing under {}", mpi.name);
            let run = reported_when_over(&scene);
            assert_eq!(
                crate::figures::row(&run, "", "stat")["count"],
                400_000,
                "under {}",
                mpi.name
            );
        }
    }
}

/// Nothing is there yet that could be stored.
#[test]
fn an_interrupt_before_the_ranks_are_up_is_told() {
    // Hydra ends with the number of the signal, as if the input were wrong.
    for (signal, end) in [(INT, "exit 2"), (TERM, "exit 15"), (INT, "kill -9 $$")] {
        let script = format!("trap '{end}' {signal}; : > up; while :; do sleep 0.01; done\n");
        let scene = Scene::new().file("x.ppl", WAITS).file("launcher", &script);
        let running = scene.call("run -n 2 x.ppl --launcher").word("sh launcher").start();
        running.until("the launcher is up", || scene.names(".").contains(&"up".into()));
        running.signal(signal);
        running.finish().exits(130).err_has("interrupted");
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    for mpi in testing::all() {
        for signal in [INT, TERM, QUIT] {
            let scene = Scene::new().file("x.ppl", WAITS);
            let running = with(&mpi, &scene, "run -n 3 --mpi x.ppl --format json --out r").start();
            until_ready(&running, 3);
            running.signal(signal);
            let done = running.finish();
            assert_eq!(done.code, Some(130), "signal {signal} under {}: {}", mpi.name, done.err);
            assert_kept(&done.json(), &mpi);
            assert_kept(&scene.parabench("report r --format json").exits(0).json(), &mpi);
            assert_eq!(scene.names("."), ["r", "x.ppl"], "signal {signal} under {}", mpi.name);
        }
    }
}

#[test]
fn an_interrupted_mpiexec_leaves_a_run_that_can_be_reported() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WAITS);
        let running = under(&mpi, 3, &scene, "run x.ppl --format json --out r").start();
        until_ready(&running, 3);
        running.signal(INT);
        let done = running.finish();
        // MPICH's mpiexec loses the codes of its processes now and then on a busy machine: a C
        // program that ends with 130 gave 0 in 4 of 60 interrupts. The run has the true one.
        assert!(mpi.name != "openmpi" || done.code != Some(0), "under {}", mpi.name);
        let run = reported_when_over(&scene);
        assert_eq!(run["run"]["exit_code"], 130, "under {}", mpi.name);
        assert_kept(&run, &mpi);
    }
}

#[test]
fn a_rank_that_asserts_ends_the_run_with_its_reason() {
    let text =
        "stat(\".\"); if ($$rank == 1) { assert(1 == 2, \"nonsense\"); } barrier; stat(\".\");";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let done = under(&mpi, 3, &scene, "run x.ppl --format json").run().exits(1);
        let run = done.json();
        let errors = run["run"]["rank_errors"].as_array().expect("errors");
        let own = errors.iter().find(|error| error["rank"] == 1).expect("rank 1 says why");
        assert!(own["message"].as_str().expect("text").contains("nonsense"), "{own}");
        assert!(
            errors
                .iter()
                .all(|e| e["rank"] == 1 || e["message"].to_string().contains("rank 1 has failed"))
        );
        assert_eq!(crate::figures::row(&run, "", "stat")["count"], 3, "under {}", mpi.name);
    }
}

#[test]
fn a_rank_that_leaves_early_does_not_hold_up_the_others() {
    let text = "stat(\".\"); if ($$rank != 1) { wait(\"of rank 1\"); }";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let done = under(&mpi, 3, &scene, "run x.ppl --format json --timeout 1s").run().exits(1);
        let run = done.json();
        assert_eq!(run["run"]["rank_errors"].as_array().expect("errors").len(), 2, "{run:#}");
        assert_eq!(crate::figures::row(&run, "", "stat")["count"], 3, "under {}", mpi.name);
    }
}

#[test]
fn a_rank_whose_process_ends_before_the_start_does_not_hang_the_others() {
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", WAITS).file("program", "");
        // Rank 1 finds no memory for its record and its buffers.
        let script = "test \"$PMI_RANK$OMPI_COMM_WORLD_RANK\" = 1 && kill -9 $$\nexec \"$@\"\n";
        let scene = scene.file("start", script);
        let launch = mpi.launch(3, "sh").args(["start", PARABENCH, "run", "x.ppl"]);
        let done = scene.command(launch.command).start().finish();
        assert_ne!(done.code, Some(0), "under {}", mpi.name);
    }
}
