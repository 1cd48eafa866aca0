//! `parabench record`: a command runs as if nobody looked, and what it did is a run.

use crate::scene::{Scene, skip};
use crate::schema;
use report::events::EventReader;
use std::collections::BTreeMap;
use std::process::Command;

/// Recorders of this machine; one that is missing is named.
fn recorders() -> Vec<&'static str> {
    match Command::new("strace").arg("--version").output() {
        Ok(_) => vec!["strace"],
        Err(_) => {
            skip("strace is not installed");
            Vec::new()
        }
    }
}

/// Operations of a stored run on files, and how often.
fn operations(scene: &Scene, folder: &str) -> BTreeMap<String, usize> {
    let mut events = EventReader::open(&scene.path(folder)).expect("its events");
    let rows: Vec<_> = events.by_ref().map(Result::unwrap).collect();
    let mut counts = BTreeMap::new();
    for row in rows {
        let event = &row.event;
        let op = model::Op::from_u8(event.op).expect("an operation").name();
        let path = String::from_utf8_lossy(&events.paths()[event.path as usize]);
        let text = format!(
            "{op} {path} @{} {} of {} errno {}",
            event.offset_bytes, event.done_bytes, event.requested_bytes, event.errno
        );
        *counts.entry(text).or_insert(0) += 1;
    }
    counts
}

#[test]
fn a_command_runs_as_ever_and_becomes_a_run() {
    for via in recorders() {
        let scene = Scene::new().file("data/in", "abc");
        let line = format!("record --via {via} --under . -o r -- sh -c");
        let script = "read word; echo $word out; echo err >&2; cp data/in data/out; exit 7";
        let done = scene.call(&line).word(script).input("hello\n").run().exits(7);
        done.out_is("hello out\n").err_has("err\n").err_has("parabench report r");
        let run = schema::run_object(&scene.parabench("report r --format json"));
        let recorded = &run["run"]["trace"]["recorded"];
        assert_eq!(recorded["command"], serde_json::json!(["sh", "-c", script]), "{via}");
        assert_eq!(recorded["exit_code"], 7);
        assert!(recorded["by"].as_str().unwrap().starts_with(via));
        let counts = operations(&scene, "r");
        let data: Vec<_> = counts.keys().filter(|text| text.contains("data")).collect();
        assert!(counts.keys().any(|text| text.starts_with("fopen data/out")), "{data:?}");
        assert!(counts.keys().any(|text| text.starts_with("fread data/in @0 3 of")), "{data:?}");
        assert_eq!(scene.names("."), ["data", "r"], "nothing else stays");
    }
}

#[test]
fn signals_reach_the_command_and_what_was_recorded_is_kept() {
    for via in recorders() {
        for (signal, code) in [(2, 9), (15, 9), (1, 129)] {
            let scene = Scene::new();
            let line = format!("record --via {via} --under . -o r -- sh -c");
            let script = "trap 'exit 9' INT TERM; echo x > made; while :; do sleep 0.01; done";
            let running = scene.call(&line).word(script).start();
            running.until("the file", || scene.path("made").exists()).signal(signal);
            running.finish().exits(code).err_has("recorded");
            let counts = operations(&scene, "r");
            assert!(counts.keys().any(|text| text.starts_with("fopen made")), "{counts:?}");
        }
    }
}

#[test]
fn what_cannot_be_recorded_is_said_before_anything_happens() {
    let scene = Scene::new().file("text", "no program").file("full/x", "");
    scene.parabench("record -o r -- nosuchcommand").exits(2).err_has("no such program in PATH");
    scene.parabench("record -o r -- ./text").exits(2).err_has("chmod +x");
    scene.parabench("record -o full -- true").exits(2).err_has("--force");
    scene.parabench("record -o r").exits(2).err_has("COMMAND");
    let done = scene.call("record --via strace -o r -- /bin/true").env("PATH", "/nowhere").run();
    done.exits(2).err_has("strace is not installed").err_has("apt install strace");
    assert!(!scene.path("r").exists());
}

#[test]
fn only_what_lies_below_a_directory_is_kept() {
    for via in recorders() {
        let scene = Scene::new().file("a/in", "abc").file("b/in", "abc");
        let line = format!("record --via {via} --under b -- cat a/in b/in");
        scene.parabench(&line).exits(0).out_is("abcabc");
        let counts = operations(&scene, "cat.run");
        assert!(!counts.is_empty() && counts.keys().all(|text| !text.contains(" a/")));
        let line = format!("record --via {via} --force -- true");
        scene.parabench(&line).exits(0).err_has("--all");
    }
}

#[test]
fn options_after_the_command_are_its_own() {
    for via in recorders() {
        let scene = Scene::new();
        let line = format!("record --via {via} -o r -- echo --events max=1g --under -o");
        scene.parabench(&line).exits(0).out_is("--events max=1g --under -o\n");
    }
}
