//! Sweeps in one job: what is executed and counted is what it is without MPI, on fewer ranks too;
//! a job that ends in the middle is resumed by another one.

use crate::death::process;
use crate::scene::{Running, Scene, kill};
use crate::schema::assert_valid;
use crate::testing::{self, LIMIT};
use crate::{under, with};
use serde_json::{Value, json};
use std::fs;
use std::time::Instant;

const KILL: i32 = 9;
const INT: i32 = 2;

/// The execution in which the log has `$stop` bytes waits for a file.
const PROGRAM: &str = "param $n = 1; param $stop = 0;\n\
    if ($$rank == 0) append(\"log\", 1);\nbarrier;\n\
    time[\"work\"] write(\"f-$$rank\", $n * 4k);\n\
    if (size(\"log\") == $stop) while (!exists(\"go\")) sleep(1ms);\n";
pub const GRID: &str = "--sweep n=1..3+1 --reps 3 --events";

/// What a sweep has executed and counted, without times.
fn essence(run: &Value) -> Value {
    assert_valid(run);
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let at = |e: &Value| json!([e["cell"], e["repetition"], e["outcome"]]);
    let row = |r: &Value| {
        json!([r["cell"], r["repetition"], r["label"], r["op"], r["ranks"], r["count"], r["bytes"]])
    };
    let sweep = &run["run"]["sweep"];
    let cell = |c: &Value| json!([c["ranks"], c["params"]]);
    json!([
        list(&sweep["order"]).iter().map(at).collect::<Vec<_>>(),
        list(&sweep["cells"]).iter().map(cell).collect::<Vec<_>>(),
        list(&run["rows"]).iter().map(row).collect::<Vec<_>>(),
        run["run"]["events"]["count"],
    ])
}

pub fn scene() -> Scene {
    Scene::new().file("x.ppl", PROGRAM)
}

/// The sweep in `r`, which has ended and left nothing else there.
pub fn stored(scene: &Scene) -> Value {
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"]);
    essence(&scene.parabench("report r --format json").exits(0).json())
}

pub fn without_mpi(line: &str) -> Value {
    let scene = scene();
    scene.parabench(&format!("run x.ppl {line} --out r")).exits(0);
    stored(&scene)
}

#[test]
fn one_job_executes_all_of_a_sweep_as_without_mpi() {
    let line = format!("{GRID} --warm-up 1 --settle 5ms --dir d");
    let same = without_mpi(&format!("{line} -n 3"));
    for mpi in testing::all() {
        let scene = scene();
        under(&mpi, 3, &scene, &format!("run x.ppl {line} --out r")).run().exits(0);
        assert_eq!(stored(&scene), same, "under {}", mpi.name);
        // Three points to warm up, and three times each.
        let log = fs::metadata(scene.path("d/log")).expect("the log").len();
        assert_eq!(log, 12, "under {}", mpi.name);
        let done = under(&mpi, 2, &scene, "run x.ppl --reps 2 --format json").run().exits(0);
        assert_eq!(done.json()["run"]["sweep"]["order"].as_array().map(Vec::len), Some(2));
        assert_eq!(scene.names("."), ["d", "r", "x.ppl"], "nothing is left");
    }
}

#[test]
fn points_with_fewer_ranks_leave_the_others_out() {
    let line = "--sweep-ranks 1..3+1 --sweep n=1,2 --reps 2 --events";
    let same = without_mpi(line);
    for mpi in testing::all() {
        let scene = scene();
        under(&mpi, 3, &scene, &format!("run x.ppl {line} --out r")).run().exits(0);
        assert_eq!(stored(&scene), same, "under {}", mpi.name);
        let run = scene.json("r/run.json");
        assert_eq!(run["run"]["job"]["nodes"][0]["ranks"], json!([[0, 2]]));
        let nodes = "run x.ppl --sweep-nodes 1 --reps 2 --format json";
        let run = under(&mpi, 3, &scene, nodes).run().exits(0).json();
        assert_eq!(run["run"]["sweep"]["dimensions"][0]["kind"], "nodes");
        assert_eq!(run["run"]["sweep"]["cells"][0]["ranks"], 3);
        with(&mpi, &scene, "run x.ppl --mpi --sweep-ranks 1,2 -s --format json").run().exits(0);
        for (line, said) in [
            ("--sweep-ranks 2,4", "--sweep-ranks: 4 ranks, but the MPI job has 3"),
            ("--sweep-nodes 1,2", "--sweep-nodes: 2 machines, but the MPI job has 1"),
        ] {
            let done = under(&mpi, 3, &scene, &format!("run x.ppl {line}")).run().exits(2);
            assert!(done.err.contains(said), "under {}: {}", mpi.name, done.err);
        }
    }
    scene().parabench("run x.ppl --sweep-nodes 1,2").exits(2).err_has("needs an MPI job");
}

#[test]
fn a_and_b_follow_one_another_in_one_job() {
    for mpi in testing::all() {
        let scene = scene();
        let line = "run x.ppl --dir a --against b --clean --reps 5 --format json --out r";
        let run = under(&mpi, 2, &scene, line).run().exits(0).json();
        let order = run["run"]["sweep"]["order"].as_array().expect("an order").clone();
        let cells: Vec<u64> = order.iter().filter_map(|e| e["cell"].as_u64()).collect();
        assert_eq!(cells.len(), 10, "under {}", mpi.name);
        assert!(cells.chunks(2).all(|pair| pair[0] + pair[1] == 1), "{cells:?}");
        scene.parabench("compare r").exits(0).out_has("work");
    }
}

/// All ranks are in the execution that waits.
pub fn until_the_fifth(running: &Running, scene: &Scene, ranks: u32) {
    running.until("the fifth execution", || {
        let log = fs::metadata(scene.path("d/log")).is_ok_and(|log| log.len() == 5);
        log && (0..ranks).all(|rank| scene.path(&format!("d/f-{rank}")).exists())
    });
}

pub fn running_no_more(scene: &Scene) {
    let since = Instant::now();
    let outcome = || {
        let run = scene.parabench("report r --format json").exits(0).json();
        run["run"]["outcome"] == "under way"
    };
    while outcome() {
        assert!(since.elapsed() < LIMIT, "the job is never over");
    }
}

/// A rank that fails in one execution ends that one; the others follow.
#[test]
fn an_execution_that_fails_does_not_end_the_sweep() {
    let text = "param $n = 1; write(\"f-$$rank\", 4k); assert($$rank != 1 || $n != 2); barrier;";
    for mpi in testing::all() {
        let scene = Scene::new().file("x.ppl", text);
        let line = "run x.ppl --sweep n=1..3+1 --reps 2 --format json";
        let run = under(&mpi, 3, &scene, line).run().exits(1).json();
        assert_valid(&run);
        let order = run["run"]["sweep"]["order"].as_array().expect("an order").clone();
        let outcome = |e: &Value| (e["cell"] == 1, e["outcome"] == "failed");
        assert_eq!(order.len(), 6, "under {}", mpi.name);
        assert!(order.iter().map(outcome).all(|(second, failed)| second == failed), "{order:?}");
    }
}

/// Killed in the fifth execution with mpiexec alone, killed and put in order by `run --mpi`, and
/// interrupted: another job executes what is missing.
#[test]
fn a_sweep_whose_job_was_lost_is_resumed_by_another_job() {
    let line = format!("run x.ppl {GRID} --dir d stop=5");
    let same = without_mpi(&format!("{GRID} --dir d -n 3"));
    for mpi in testing::all() {
        for (what, signal) in [("mpiexec", KILL), ("parent", KILL), ("parent", INT)] {
            let at = format!("{what} {signal} under {}", mpi.name);
            let scene = scene();
            let call = match what {
                "mpiexec" => under(&mpi, 3, &scene, &format!("{line} --out r")),
                _ => with(&mpi, &scene, &format!("{line} --out r -n 3 --mpi")),
            };
            let running = call.start();
            until_the_fifth(&running, &scene, 3);
            match signal {
                KILL => kill(process(&scene, 1), KILL),
                _ => drop(running.signal(INT)),
            }
            assert_ne!(running.finish().code, Some(0), "{at}");
            // Launchers may be gone before their ranks.
            running_no_more(&scene);
            fs::write(scene.path("d/go"), "").expect("written");
            under(&mpi, 2, &scene, "run --resume r --dir d")
                .run()
                .exits(2)
                .err_has("the MPI job was ranks 0-2");
            let resumed = match what {
                "mpiexec" => under(&mpi, 3, &scene, "run --resume r --dir d"),
                // The sweep knows of how many ranks it is.
                _ => with(&mpi, &scene, "run --resume r --dir d --mpi"),
            };
            resumed.run().exits(0).out_has("resumed after 4 executions");
            assert_eq!(stored(&scene), same, "{at}");
        }
    }
}

/// All rates would be put down to the library that came last.
#[test]
fn a_sweep_is_not_resumed_under_another_mpi() {
    let all = testing::all();
    let one = |name| all.iter().find(|mpi| mpi.name == name);
    let (Some(first), Some(other)) = (one("mpich"), one("openmpi")) else { return };
    let scene = scene();
    let line = format!("run x.ppl {GRID} --dir d stop=5 --out r");
    let running = under(first, 2, &scene, &line).start();
    until_the_fifth(&running, &scene, 2);
    kill(process(&scene, 1), KILL);
    running.finish();
    running_no_more(&scene);
    fs::write(scene.path("d/go"), "").expect("written");
    let done = under(other, 2, &scene, "run --resume r --dir d").run().exits(2);
    done.err_has("the MPI library was MPICH ").err_has(", now it is Open MPI v");
    under(first, 2, &scene, "run --resume r --dir d")
        .run()
        .exits(0)
        .out_has("resumed after 4 executions");
    let whole = format!("run x.ppl {GRID} --dir d stop=5 --resume r");
    under(first, 2, &scene, &whole).run().exits(0).err_has("nothing is missing of the sweep: ");
    let done = under(other, 2, &scene, &whole).run().exits(2);
    done.err_has("this is not the sweep that began").err_has("Open MPI v");
    scene.parabench(&format!("{whole} -n 2")).exits(2).err_has("the MPI job was ranks 0-1");
    let command = &scene.json("r/run.json")["run"]["command"];
    assert_eq!(command[0], "mpiexec", "{command}");
    let words = command.as_array().expect("words").iter();
    assert!(words.clone().any(|word| word == "stop=5") && !words.clone().any(|w| w == "--resume"));
}

/// MPICH can take the even and the odd ranks of a machine for those of two.
#[test]
fn nodes_are_swept_over_and_stand_side_by_side() {
    for mpi in testing::all().iter().filter(|mpi| mpi.name == "mpich") {
        let scene = Scene::new().file(
            "x.ppl",
            "print $$rank, \"of\", $$size, \"on\", $$node;\n\
             time[\"work\"] repeat 3 + $$node write(\"f-$$rank\", 64k);\n",
        );
        let two =
            |line: &str| under(mpi, 5, &scene, line).env("MPIR_CVAR_ODD_EVEN_CLIQUES", "1").run();
        let line = "run x.ppl --sweep-nodes 1,2 --reps 2 --events --out r -v";
        let done = two(line).exits(0).out_has("over nodes");
        for line in ["[2] 2 of 3 on 0", "[3] 3 of 5 on 1"] {
            let times = done.out.lines().filter(|l| l.trim_end() == line).count();
            assert_eq!(times, 2, "{line}: {}", done.out);
        }
        let run = scene.json("r/run.json");
        assert_valid(&run);
        let cells = &run["run"]["sweep"]["cells"];
        assert_eq!([&cells[0]["ranks"], &cells[1]["ranks"]], [3, 5]);
        let rows = run["run"]["node_rows"].as_array().expect("rows of nodes");
        let of = |r: &Value| (r["cell"].as_u64(), r["node"].as_u64(), r["count"].as_u64());
        let mut found: Vec<_> = rows.iter().map(of).collect();
        found.sort_unstable();
        // A point on one machine has nothing to stand beside.
        let on = |node, count| (Some(1), Some(node), Some(count));
        assert_eq!(found, [on(0, 9), on(0, 9), on(1, 8), on(1, 8)]);
        assert_eq!(crate::figures::events(&scene, "r").len(), 2 * 9 + 2 * 17);
        let single = two("run x.ppl --format json").exits(0).json();
        let counts = single["run"]["node_rows"].as_array().expect("rows").iter();
        assert_eq!(counts.map(|row| row["count"].as_u64()).collect::<Vec<_>>(), [Some(9), Some(8)]);
        two("run x.ppl -v").exits(0).out_has("Over nodes:");
    }
}
