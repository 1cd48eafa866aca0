//! Ranks and parents that fail, are killed or interrupted: nobody hangs, and what
//! was measured is there.

use crate::run::row;
use crate::scene::{Scene, kill};
use crate::schema::{assert_valid, run_object};
use serde_json::Value;
use std::path::Path;

/// Writes for ever; the file tells that it has begun.
const ENDLESS: &str = "time[\"work\"] while (1) write(\"file-$$rank\", 4k);\n";

/// The folder in memory that the ranks of a run record into.
fn memory_of(scene: &Scene, results: &str) -> std::path::PathBuf {
    let run = scene.json(&format!("{results}/run.json"));
    run["run"]["recording"]["memory"].as_str().expect("a tmpfs").into()
}

fn count(run: &Value, label: &str, op: &str) -> u64 {
    row(run, label, op)["count"].as_u64().unwrap()
}

#[test]
fn a_rank_that_fails_releases_the_others_from_a_barrier() {
    let text = "write(\"a-$$rank\", 1);\nassert($$rank != 1, \"rank one is lost\");\nbarrier;\n\
                write(\"b-$$rank\", 1);\n";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl -n 3 --format json").exits(1);
    let run = run_object(&done);
    assert_eq!(count(&run, "", "write"), 3, "nobody got past the barrier");
    assert_eq!(run["run"]["outcome"], "failed");
    let errors = run["run"]["rank_errors"].as_array().unwrap();
    let own = errors.iter().find(|error| error["rank"] == 1).unwrap();
    assert_eq!(own["place"], "x.ppl:2:1");
    assert!(own["message"].as_str().unwrap().contains("rank one is lost"));
    assert_eq!(errors.len(), 3, "{errors:#?}");
}

#[test]
fn waiting_for_what_never_comes_ends_with_who_waits_where() {
    let text = "write(\"a-$$rank\", 1);\nif ($$rank == 0) barrier; else wait(\"go\");\n";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl -n 2").exits(1);
    done.out_has("nobody could go on")
        .out_has("rank 0 waits for")
        .out_has("\"go\"")
        .out_has("x.ppl:2:");
}

#[test]
fn a_rank_that_is_killed_ends_the_run_with_what_was_measured() {
    let text = format!("{ENDLESS}barrier;\n");
    let scene = Scene::new().file("x.ppl", text.replace("while (1)", "repeat 1000000000"));
    let call = scene.call("run x.ppl -n 2 --dir d --format json").start();
    call.until("the files", || scene.path("d/file-0").exists() && scene.path("d/file-1").exists());
    let ranks = call.ranks();
    assert_eq!(ranks.len(), 2);
    kill(ranks[1], 9);
    kill(ranks[0], 9);
    let run = run_object(&call.finish().exits(1));
    assert!(count(&run, "work", "write") > 0);
    let errors = run["run"]["rank_errors"].to_string();
    assert!(errors.contains("killed by signal 9"), "{errors}");
}

#[test]
fn a_killed_rank_releases_the_others_from_a_barrier() {
    // The directory comes after the write was counted.
    let text = "write(\"file-$$rank\", 1); if ($$rank == 1) { mkdir(\"asleep\"); sleep(1h); } \
                barrier; write(\"late\", 1);";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl -n 3 --dir d --format json").start();
    call.until("the directory", || scene.path("d/asleep").exists());
    kill(call.ranks()[1], 9);
    let run = run_object(&call.finish().exits(1));
    assert_eq!(count(&run, "", "write"), 3);
}

#[test]
fn a_killed_parent_leaves_a_run_that_can_be_reported() {
    let scene = Scene::new().file("x.ppl", ENDLESS);
    let call = scene.call("run x.ppl -n 2 --dir d --out results --events").start();
    call.until("the files", || scene.path("d/file-0").exists() && scene.path("d/file-1").exists());
    let ranks = call.ranks();
    kill(call.pid(), 9);
    let died = call.finish();
    assert_eq!(died.code, None);
    while ranks.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        std::thread::yield_now();
    }
    let done = scene.parabench("report results").exits(0);
    done.out_has("cut off").out_has("work").out_has("write").out_has("--settle");
    // Reading has changed nothing; pictures of the events are to be had all the same.
    assert_eq!(scene.names("results"), ["run.json"]);
    let before = scene.parabench("report results --format json --data csv").exits(0).out;
    assert!(scene.path("csv/calls-over-time.csv").exists());
    assert_eq!(scene.parabench("report results --format json").exits(0).out, before);
    let memory = memory_of(&scene, "results");
    scene.parabench("report results --settle").exits(0);
    assert!(!memory.exists());
    assert_eq!(scene.names("results"), ["events.parquet", "run.json"]);
    let run = scene.parabench("report results --format json").exits(0).json();
    assert_valid(&run);
    assert_eq!(run["rows"], serde_json::from_str::<Value>(&before).unwrap()["rows"]);
    assert!(count(&run, "work", "write") > 0);
    assert_eq!(run["run"]["outcome"], "cut off");
    assert_eq!(run["run"]["sites"][0]["line"], 1);
    assert!(run["run"]["events"]["count"].as_u64().unwrap() > 0);
}

/// Nobody is left who could remove it.
#[test]
fn the_scratch_directory_of_a_killed_run_is_named() {
    let text = "param $n = 1; write(\"file\", 1); sleep(1h);";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl --sweep n=1,2 --out r").start();
    let scratch = || {
        let names = scene.names(".");
        let found = names.into_iter().find(|name| name.starts_with("parabench-scratch-"));
        found.filter(|name| scene.path(&format!("{name}/file")).exists())
    };
    call.until("a scratch directory with a file", || scratch().is_some());
    let scratch = scratch().expect("it is there");
    assert!(!scene.parabench("report r").exits(0).out.contains("rm -r"), "it is in use");
    let ranks = call.ranks();
    kill(call.pid(), 9);
    call.finish();
    while ranks.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        std::thread::yield_now();
    }
    let removal = format!("{scratch}'` removes it");
    let told = |out: &str| out.split_whitespace().collect::<Vec<_>>().join(" ").contains(&removal);
    let done = scene.parabench("report r").exits(0).out_has("has left its scratch directory");
    assert!(told(&done.out), "{}", done.out);
    std::fs::write(scene.path("x.ppl"), format!("{text};")).expect("written");
    let done = scene.parabench("run --resume r").exits(2).err_has("x.ppl has changed");
    assert!(told(&done.err), "{}", done.err);
    scene.parabench("report r --settle").exits(0).out_has("has left its scratch directory");
    scene.parabench("report r").exits(0).out_has("has left its scratch directory");
    assert!(!scene.text("r/run.json").contains("rm -r"), "it does not hold for ever");
    std::fs::remove_dir_all(scene.path(&scratch)).expect("removed");
    assert!(!scene.parabench("report r").exits(0).out.contains("rm -r"));
}

#[test]
fn a_run_under_way_can_be_looked_at() {
    let scene = Scene::new().file("x.ppl", "write(\"file\", 1); sleep(1h);");
    let call = scene.call("run x.ppl --dir d --out results").start();
    call.until("the file", || scene.path("d/file").exists());
    let so_far = scene.parabench("report results").exits(0).out_has("not over").out_has("write");
    assert!(
        so_far.out.contains("under way") && !so_far.out.contains("exit code"),
        "{}",
        so_far.out
    );
    scene.parabench("report results --settle").exits(2).err_has("is not over");
    scene.parabench("run x.ppl --dir e --out results --force").exits(2).err_has("is not over");
    let memory = memory_of(&scene, "results");
    call.signal(2);
    call.finish().exits(130);
    assert!(!memory.exists(), "nothing is left in memory");
    assert_eq!(scene.names("results"), ["run.json"]);
}

#[test]
fn an_interrupted_run_prints_and_stores_what_was_measured_and_tidies_up() {
    for signal in [2, 15, 10] {
        let scene = Scene::new().file("x.ppl", ENDLESS);
        let call = scene.call("run x.ppl -n 2 --out results --format json").start();
        call.until("a scratch directory with a file", || {
            let names = scene.names(".");
            let scratch = names.iter().find(|name| name.starts_with("parabench-scratch"));
            scratch.is_some_and(|name| scene.path(&format!("{name}/file-1")).exists())
        });
        call.signal(signal);
        let run = run_object(&call.finish().exits(130));
        assert_eq!(run["run"]["outcome"], "interrupted");
        assert!(count(&run, "work", "write") > 0);
        assert_eq!(scene.names("."), ["results", "x.ppl"]);
        scene.parabench("report results").exits(0).out_has("interrupted");
    }
}

#[test]
fn an_endless_loop_without_io_can_be_interrupted() {
    let scene = Scene::new().file("x.ppl", "create(\"begun\"); while (1) ;");
    let call = scene.call("run x.ppl --dir d").start();
    call.until("the file", || scene.path("d/begun").exists());
    call.signal(2);
    call.finish().exits(130).out_has("interrupted");
}

#[test]
fn a_simulated_run_can_be_interrupted() {
    let scene = Scene::new().file("x.ppl", "print \"begun\"; while (1) write(\"a\", 1);");
    let call = scene.call("run x.ppl --backend mem --format json").start();
    call.until("the first line", || call.said("begun"));
    call.signal(2);
    let run = run_object(&call.finish().exits(130));
    assert!(count(&run, "", "write") > 0);
}

#[test]
fn report_says_what_is_wrong_with_a_folder() {
    let scene = Scene::new()
        .file("empty/x", "")
        .file("bad/run.json", "{")
        .file("other/run.json", "{\"a\": 1}")
        .file("new/run.json", "{\"version\": 99, \"rows\": [], \"run\": {}}");
    scene.parabench("report nosuch").exits(2).err_has("nosuch");
    scene.parabench("report empty").exits(2).err_has("run.json");
    scene.parabench("report bad").exits(2).err_has("run.json");
    scene.parabench("report other").exits(2).err_has("run.json");
    scene.parabench("report new").exits(2).err_has("99");
}
