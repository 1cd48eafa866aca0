//! What file systems of clusters do to figures, with FUSE file systems in their place: evidence that only the kernel's
//! own file systems give, repetitions in a directory that keeps its files, several directories in one run.

use crate::figures::row;
use crate::fuse::Fuse;
use crate::scene::{PARABENCH, Scene, skip};
use serde_json::Value;
use std::process::Command;

/// A scene with the folders `s`, and `m` on which it is mounted.
fn mounted(options: &[&str], scene: Scene) -> Option<(Scene, Fuse)> {
    for name in ["s", "m"] {
        std::fs::create_dir(scene.path(name)).expect("made");
    }
    let place = scene.path("m").canonicalize().expect("a path");
    let fuse = Fuse::mount_with(options, &scene.path("s"), &place)?;
    Some((scene, fuse))
}

fn codes(run: &Value) -> Vec<String> {
    let marks = run["run"]["evidence"]["marks"].as_array().expect("marks");
    marks.iter().map(|mark| mark["code"].as_str().expect("a code").to_string()).collect()
}

/// Nobody counts what a FUSE file system fetches.
#[test]
fn nothing_is_said_of_direct_reads_where_nobody_counts() {
    let text = "write(\"f\", 8m); sync; time[\"d\"] with (direct=true) read(\"f\", 8m);";
    let scene = Scene::new().file("x.ppl", text);
    let Some((scene, _fuse)) = mounted(&[], scene) else { return };
    let run = scene.parabench("run x.ppl --dir m/d --format json").exits(0).json();
    assert_eq!(row(&run, "d", "read")["bytes"], 8 << 20);
    assert!(!run["run"]["evidence"]["notes"].to_string().contains("O_DIRECT"), "{run:#}");
}

/// A page of which a part was written is in the cache, and read from the file system all the same.
#[test]
fn pages_that_were_partly_written_are_no_cached_reads() {
    let text = "param $bytes = 3901; repeat $i 40 write(\"f-$i\", $bytes); \
                time[\"r\"] repeat $i 40 read(\"f-$i\", $bytes);";
    let scene = Scene::new().file("x.ppl", text);
    let Some((scene, _fuse)) = mounted(&["-o", "kernel_cache"], scene) else { return };
    let seen = |bytes: &str| {
        let line = format!("run x.ppl bytes={bytes} --dir m/d --clean --format json");
        let run = scene.parabench(&line).exits(0).json();
        let labels = run["run"]["evidence"]["labels"].as_array().expect("labels").clone();
        let label = labels.into_iter().find(|label| label["label"] == "r").expect("the reads");
        (label["cached_bytes"].as_u64(), codes(&run).contains(&"cached-reads".to_string()))
    };
    assert_eq!(seen("3901"), (Some(0), false));
    let (cached, is_marked) = seen("64k");
    assert!(cached > Some(0) && is_marked, "whole pages are read from the cache: {cached:?}");
}

#[test]
fn a_failure_says_when_it_was() {
    let scene = Scene::new().file("x.ppl", "delete(\"none\");");
    let run = scene.parabench("run x.ppl --format json").exits(1).json();
    assert!(run["run"]["failures"][0]["at_ns"].as_u64() > Some(0));
    scene.parabench("run x.ppl").exits(1).out_has("first: after ");
}

#[test]
fn repetitions_that_find_the_files_of_the_one_before_say_so() {
    let makes = "with (expect=\"EEXIST\") mkdir(\"d\"); create(\"d/f\");";
    let scene = Scene::new().file("x.ppl", makes).file("y.ppl", "create(\"f\"); delete(\"f\");");
    let said = "each execution finds the files of the one before";
    let err = |line: &str| scene.parabench(line).exits(0).err;
    assert!(crate::scene::holds(&err("run x.ppl --dir a --reps 2"), said));
    for line in [
        "run x.ppl --dir b --reps 2 --clean",
        "run x.ppl --reps 2",
        "run x.ppl --dir c",
        "run y.ppl --dir e --reps 2",
    ] {
        assert!(!crate::scene::holds(&err(line), said), "{line}");
    }
}

#[test]
fn directories_are_an_axis_with_a_table_of_operations() {
    let text =
        "time[\"w\"] repeat $i 3 write(\"f-$i\", 4k); time[\"s\"] repeat $i 3 stat(\"f-$i\");";
    let scene = Scene::new().file("x.ppl", text);
    let done = scene.parabench("run x.ppl --sweep-dirs one=d1,two=d2 --clean --out r").exits(0);
    let done = done.out_has("one: avg").out_has("two: avg").out_has("  write");
    assert!(done.out.lines().any(|line| line.starts_with("w   one ") && line.contains("iB/s in ")));
    let run = scene.json("r/run.json");
    assert_eq!(run["run"]["sweep"]["dimensions"][0]["values"], serde_json::json!(["one", "two"]));
    assert_eq!(run["run"]["sweep"]["versus"], false);
    let places = |cell: usize| {
        let host = &run["run"]["sweep"]["cells"][cell]["host"];
        let host = if host.is_null() { &run["run"]["host"] } else { host };
        host["directory"].as_str().expect("a path").to_string()
    };
    assert!(places(0).ends_with("/d1") && places(1).ends_with("/d2"));
    scene.parabench("report r").exits(0).out_has("two: avg");
    scene
        .parabench("run x.ppl --sweep-dirs one=d1,two=d1/x")
        .exits(2)
        .err_has("lie in one another");
    scene.parabench("run x.ppl --sweep-dirs one=d1 --dir d2").exits(2).err_has("--dir");
}

/// Whoever resumes a sweep names its directories again.
#[test]
fn a_sweep_over_directories_is_resumed_in_those_that_are_named() {
    let scene = Scene::new().file("x.ppl", "time[\"w\"] write(\"f\", 4k);");
    let line = "run x.ppl --sweep-dirs one=d1,two=d2 --reps 2 --clean";
    scene.parabench(&format!("{line} --out r")).exits(0);
    scene.parabench(&format!("{line} --resume r")).exits(0).err_has("nothing is missing");
    scene
        .parabench("run x.ppl --sweep-dirs one=d1,two=d3 --reps 2 --clean --resume r")
        .exits(0)
        .err_has("nothing is missing");
}

/// A job step of one process is not MPI's business.
#[test]
fn one_process_of_slurm_needs_no_shim() {
    let scene = Scene::new().file("x.ppl", "create(\"f\");");
    let step = |ranks: &str| {
        let mut call = scene.call("run x.ppl");
        for (name, value) in [
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", ranks),
            ("SLURM_STEP_ID", "0"),
            ("PARABENCH_MPI_SHIM", "/no/such/shim"),
        ] {
            call = call.env(name, value);
        }
        call.run()
    };
    step("1").exits(0).out_has("1 rank");
    step("2").exits(2).err_has("/no/such/shim");
}

/// Clients with close-to-open caches send what was written at a close. The marker stays open, for its lock, and other
/// nodes recognize the directory by what it says.
#[test]
fn other_nodes_can_read_the_marker_of_a_run() {
    let scene = Scene::new().file("x.ppl", "mkdir(\"begun\");");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", "trace=write,close,?mkdir,mkdirat", "-o", "calls", PARABENCH]);
    strace.args(["run", "x.ppl"]);
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("strace is not installed");
    }
    scene.command(strace).run().exits(0);
    let calls = scene.text("calls");
    let of_marker = |call: &str| {
        calls.lines().position(|line| line.contains(call) && line.contains("/.parabench>"))
    };
    let begun = calls.lines().position(|line| line.contains("\"begun\""));
    let (written, closed) = (of_marker(" write("), of_marker(" close("));
    assert!(written.is_some() && written < closed && closed < begun, "{calls}");
}
