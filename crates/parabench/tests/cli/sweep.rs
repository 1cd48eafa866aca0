//! `run --sweep`, `--reps`, `--until-ci`: a grid of executions as one run.

use crate::scene::{Done, PARABENCH, Scene, kill, root};
use crate::schema::{assert_valid, run_object};
use serde_json::Value;
use std::fs;

const PROGRAM: &str = "param $block = 4k;\nparam $half = $block / 2;\n\
    time[\"write\"] repeat $i 8 write(\"f-$$rank-$i\", $block);\n\
    time[\"meta\"] repeat $i 8 stat(\"f-$$rank-$i\");\n";

fn mem(options: &str) -> Done {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    scene.parabench(&format!("run x.ppl --backend mem {options}"))
}

fn order(run: &Value) -> Vec<(u64, u64)> {
    let order = run["run"]["sweep"]["order"].as_array().unwrap();
    let at = |e: &Value| (e["cell"].as_u64().unwrap(), e["repetition"].as_u64().unwrap());
    order.iter().map(at).collect()
}

fn notes(run: &Value) -> String {
    run["run"]["evidence"]["notes"].to_string()
}

#[test]
fn the_tables_of_a_sweep_are_the_golden_ones() {
    let done = mem("--sweep block=4k,64k --sweep-ranks 1..4*2 --reps 5 -v").exits(0);
    let from = done.out.find("write: time").unwrap();
    let table = &done.out[from..done.out.find("Median of").unwrap()];
    let path = root().join("crates/parabench/tests/golden/sweep.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, table).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == table, "not as before; UPDATE_GOLDEN=1 accepts:\n{table}");
}

#[test]
fn one_run_holds_the_grid_and_every_execution() {
    let line = "--sweep block=4k..64k*4 --reps 5 --warm-up 2 --settle 2s -n 2 --format json";
    let run = run_object(&mem(line).exits(0));
    let sweep = &run["run"]["sweep"];
    assert_eq!((&sweep["warm_up"], &sweep["settle_ns"]), (&2.into(), &2_000_000_000u64.into()));
    assert_eq!(sweep["dimensions"][0]["values"], serde_json::json!(["4k", "16k", "64k"]));
    assert_eq!(sweep["cells"][1]["params"][0]["value"], "16384");
    assert_eq!(sweep["cells"][1]["params"][1]["value"], "8192", "what follows from it differs too");
    // Warm-up leaves no trace: three cells, five times.
    let order = order(&run);
    assert_eq!(order.len(), 15);
    for block in order.chunks(3) {
        let mut cells: Vec<u64> = block.iter().map(|at| at.0).collect();
        cells.sort_unstable();
        assert_eq!(cells, [0, 1, 2], "every repetition has all cells");
        assert!(block.iter().all(|at| at.1 == block[0].1));
    }
    let rows = run["rows"].as_array().unwrap();
    let writes: Vec<&Value> = rows.iter().filter(|row| row["op"] == "write").collect();
    assert_eq!(writes.len(), 15);
    assert!(writes.iter().all(|row| row["count"] == 16));
    let figures = run["statistics"].as_array().unwrap();
    let of_write = figures.iter().filter(|s| s["op"] == "write" && s["metric"] == "mib_s");
    let of_write: Vec<&Value> = of_write.collect();
    assert_eq!(of_write.len(), 3);
    for (figure, cell) in of_write.iter().zip(0..) {
        let row = writes.iter().find(|row| row["cell"] == cell).unwrap();
        assert_eq!((&figure["n"], &figure["median"]), (&5.into(), &row["mib_s"]));
        assert_eq!(figure["sd"], 0.0, "virtual time has no noise");
    }
}

#[test]
fn the_seed_gives_the_order() {
    let of = |seed: u32| {
        let line = format!("--sweep block=1k..8k+1k --reps 2 --format json --seed {seed}");
        order(&run_object(&mem(&line).exits(0)))
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn equal_times_are_narrow_after_ten_repetitions() {
    let run = run_object(&mem("--sweep block=4k,8k --until-ci 2% --format json").exits(0));
    assert_eq!(order(&run).len(), 20);
    assert_eq!(run["run"]["sweep"]["reps"], 100);
    assert_eq!(run["run"]["sweep"]["until_ci"], 0.02);
    assert!(notes(&run).contains("2 of 2 points reached it, after 10 repetitions"));
    mem("--until-ci 2% --reps 5").exits(2).err_has("at least 10");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    mem("--sweep blok=4k,8k").exits(2).err_has("no parameter blok").err_has("nearest is block");
    mem("--sweep block=4k,,8k").exits(2).err_has("expected a value, found nothing");
    mem("--sweep block=1,2 --sweep block=3").exits(2).err_has("given twice");
    mem("--sweep block=1,2 block=3").exits(2).err_has("given twice");
    mem("--sweep-ranks 1,2 -n 2").exits(2).err_has("cannot be used with");
    mem("--sweep block=1..9000+1 --sweep half=1,2").exits(2).err_has("the limit is 4096");
    let scene = Scene::new().file("x.ppl", "param $n = 1; write(\"f$n\", $n);");
    scene.parabench("run x.ppl --dir d --sweep n=1,2,oops").exits(2).err_has("at n=oops");
    assert_eq!(scene.names("d"), [".parabench"], "nothing ran");
}

/// As in `parabench report r | head -1`.
#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let text = "repeat $i 200 time[\"$i\"] write(\"f\", 4k);";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl --backend mem --reps 2 --quiet --out r").exits(0);
    for format in ["table", "json", "csv", "csv-statistics", "markdown"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = std::process::Command::new(PARABENCH);
        command.args(["report", "r", "--format", format]).current_dir(scene.path("."));
        let done = command.stdout(writer).output().expect("it runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), &said[..]), (Some(0), ""), "{format}");
    }
}

#[test]
fn csv_has_rows_or_statistics() {
    let rows = mem("--sweep block=4k,8k --reps 5 --format csv").exits(0);
    assert!(rows.out.starts_with("label,op,part_of,cell,block,repetition,"));
    let statistics = mem("--sweep block=4k,8k --reps 5 --format csv-statistics").exits(0);
    statistics.out_has("write,write,1,8k,mib_s,5,");
}

#[test]
fn a_stored_sweep_reports_the_same_and_joins_its_events() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let line = "run x.ppl --backend mem --sweep block=4k,8k --reps 3 --out r --events";
    let done = scene.parabench(line).exits(0);
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"]);
    let run = scene.json("r/run.json");
    assert_valid(&run);
    assert_eq!(run["run"]["events"]["count"], 6 * 16);
    let sites = run["run"]["sites"].as_array().unwrap();
    let counts: Vec<u64> = sites.iter().map(|site| site["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [48, 48], "one entry per place in the text");
    scene.parabench("report r").exits(0).out_is(&done.out);
}

#[test]
fn a_scratch_directory_is_emptied_between_executions_and_one_of_ones_own_is_not() {
    let scene = Scene::new().file("x.ppl", "mkdir(\"once\");");
    scene.parabench("run x.ppl --reps 3").exits(0);
    let kept = scene.parabench("run x.ppl --reps 3 --dir d").exits(1);
    kept.out_has("an execution found files of the one before").out_has("--clean");
    scene.parabench("run x.ppl --reps 3 --dir e --clean").exits(0);
    assert_eq!(scene.names("e"), [".parabench"]);
}

/// The second cell never ends. With the default seed the first block is 0, 1.
const ENDLESS: &str = "param $n = 1;\ntime[\"work\"] {\n  write(\"n$n\", 4k);\n\
    if ($n == 2) while (1) write(\"endless\", 4k);\n}\n";

#[test]
fn an_interruption_keeps_the_executions_before() {
    let scene = Scene::new().file("x.ppl", ENDLESS);
    let call = scene.call("run x.ppl --dir d --sweep n=1,2 --reps 2 --format json").start();
    call.until("the file", || scene.path("d/endless").exists());
    let run = run_object(&{
        call.signal(2);
        call.finish().exits(130)
    });
    assert_eq!(order(&run), [(0, 0), (1, 0)]);
    assert_eq!(run["run"]["outcome"], "interrupted");
    assert_eq!(run["rows"][0]["cell"], 0);
    let statistics = run["statistics"].as_array().unwrap();
    assert!(!statistics.is_empty() && statistics.iter().all(|s| s["cell"] == 0));
}

#[test]
fn a_killed_sweep_is_reported_up_to_its_last_execution() {
    let scene = Scene::new().file("x.ppl", ENDLESS.replace("  write", "  repeat 20 write"));
    let line = "run x.ppl --dir d --sweep n=1,2 --reps 2 --out r --events";
    let call = scene.call(line).start();
    call.until("the file", || scene.path("d/endless").exists());
    let ranks = call.ranks();
    kill(call.pid(), 9);
    call.finish();
    let alive = |pid: &i32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    while ranks.iter().any(alive) {
        std::thread::yield_now();
    }
    let done = scene.parabench("report r --format json").exits(0);
    let run = done.json();
    assert_valid(&run);
    assert_eq!(order(&run), [(0, 0), (1, 0)]);
    assert_eq!(run["run"]["sweep"]["order"][1]["outcome"], "cut off");
    assert!(notes(&run).contains("the run was cut off"));
    let rows = run["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["cell"] == 0) && rows.iter().any(|row| row["cell"] == 1));
    let sum = rows.iter().filter(|row| row["part_of"].is_null());
    let sum: u64 = sum.map(|row| row["count"].as_u64().unwrap()).sum();
    // The rank may have been killed between the count of an operation and its event.
    let events = run["run"]["events"]["count"].as_u64().unwrap();
    assert!(events == sum || events + 1 == sum, "{events} events of {sum} operations");
    scene.parabench("report r --format json --data csv").exits(0).out_is(&done.out);
    assert!(scene.path("csv/calls-over-time.csv").exists());
    scene.parabench("report r --settle").exits(0);
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"], "the folder is in order");
    let settled = scene.parabench("report r --format json").exits(0).json();
    assert_eq!(settled["rows"], run["rows"]);
    assert_eq!(settled["run"]["events"]["count"], run["run"]["events"]["count"]);
}

/// The first line counts what a person waits for; the ranks' time is a part of it.
#[test]
fn the_time_of_a_command_holds_that_of_its_executions() {
    let scene = Scene::new().file("x.ppl", "time[\"w\"] write(\"f\", 1);\n");
    for (options, is_known) in
        [("", true), ("--reps 3 --settle 1ms", true), ("--backend mem", false)]
    {
        let done = scene.parabench(&format!("run x.ppl {options} --format json")).exits(0);
        let run = &done.json()["run"];
        let (ranks_ns, command_ns) = (run["duration_wall_ns"].as_u64(), run["command_ns"].as_u64());
        assert_eq!(command_ns.is_some(), is_known, "{options}");
        assert!(!is_known || command_ns >= ranks_ns, "{options}: {command_ns:?} {ranks_ns:?}");
    }
}
