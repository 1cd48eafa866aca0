//! Storage that does not answer, and signals while results are stored: a run always ends within seconds of the second
//! interrupt, and what was measured is kept.

use crate::figures::row;
use crate::fuse::Fuse;
use crate::scene::Scene;
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

const WRITES: &str = "repeat 100000 repeat $i 8 write(\"f-$$rank-$i\", 64k);";

/// Ranks may wait for an answer that comes no more: then nothing kills them, and they are named.
#[test]
fn storage_that_hangs_does_not_hold_a_run() {
    let scene = Scene::new().file("x.ppl", WRITES);
    for name in ["s", "m"] {
        std::fs::create_dir(scene.path(name)).expect("made");
    }
    let place = scene.path("m").canonicalize().expect("a path");
    let Some(fuse) = Fuse::mount(&scene.path("s"), &place) else { return };
    let running = scene.call("run x.ppl -n 3 --dir m/d --events --out r").start();
    running.until("files", || (0..3).all(|rank| scene.path(&format!("s/d/f-{rank}-7")).exists()));
    fuse.signal(19);
    let waits = "storage does not answer: rank ";
    running.until("a report that names a rank", || {
        scene.parabench("report r").exits(0).out.contains(waits)
    });
    running.signal(2);
    sleep(Duration::from_millis(200));
    running.signal(2);
    let stat = format!("/proc/{}/stat", running.pid());
    let is_over = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    running.until("its end", is_over);
    // A rank that is left behind has our pipes open until its storage answers.
    fuse.signal(18);
    running.finish().exits(130);
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_eq!(run["run"]["outcome"], "interrupted");
    assert!(row(&run, "", "write")["count"].as_u64() >= Some(21));
    let errors = run["run"]["rank_errors"].as_array().expect("errors").clone();
    let is_named = |error: &Value| {
        let message = error["message"].as_str().unwrap_or_default();
        message.contains("was killed by signal 9")
            || message.contains("cannot be killed, it is in ") && message.contains(" of f-")
    };
    assert!(!errors.is_empty() && errors.iter().all(is_named), "{errors:?}");
}

/// Ranks that do not stop at the limit are killed, or named where nothing kills them: that is a failure.
#[test]
fn a_time_limit_ends_a_run_on_storage_that_hangs() {
    let scene = Scene::new().file("x.ppl", WRITES);
    for name in ["s", "m"] {
        std::fs::create_dir(scene.path(name)).expect("made");
    }
    let place = scene.path("m").canonicalize().expect("a path");
    let Some(fuse) = Fuse::mount(&scene.path("s"), &place) else { return };
    let running = scene.call("run x.ppl -n 2 --dir m/d --out r --time-limit 5s").start();
    running.until("files", || (0..2).all(|rank| scene.path(&format!("s/d/f-{rank}-7")).exists()));
    fuse.signal(19);
    let stat = format!("/proc/{}/stat", running.pid());
    let is_over = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    running.until("its end", is_over);
    fuse.signal(18);
    let code = running.finish().code;
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_eq!(run["run"]["outcome"], "time limit");
    // On a busy machine the limit may come before the storage stops: then nobody is killed.
    let is_killed = run["run"]["rank_errors"].to_string().contains("kill");
    assert_eq!(code, Some(i32::from(is_killed)), "{}", run["run"]["rank_errors"]);
}

#[test]
fn storage_that_is_gone_at_the_start_is_named_and_left() {
    let scene = Scene::new().file("x.ppl", WRITES);
    for name in ["s", "m"] {
        std::fs::create_dir(scene.path(name)).expect("made");
    }
    let place = scene.path("m").canonicalize().expect("a path");
    let Some(fuse) = Fuse::mount(&scene.path("s"), &place) else { return };
    fuse.signal(19);
    let running = scene.call("run x.ppl --dir m/d --out r").start();
    running.until("a word", || running.said("storage has not answered for 5 s"));
    running.signal(2);
    running.finish().exits(130);
    assert!(!scene.path("r").exists());
}

/// The first signal says what goes on, the second one leaves the records where they are.
#[test]
fn storing_can_be_interrupted_and_loses_nothing() {
    let scene = Scene::new().file("x.ppl", "repeat 400000 stat(\".\");");
    let running = scene.call("run x.ppl --events --out r").start();
    let is_stored =
        || scene.path("r").is_dir() && scene.names("r").iter().any(|n| n.starts_with(".events"));
    running.until("storing", is_stored);
    running.signal(2);
    running.until("a word", || {
        running.said("are being stored") || scene.path("r/events.parquet").exists()
    });
    running.signal(15);
    // It may have been faster than both.
    let done = running.finish();
    assert!(matches!(done.code, Some(0 | 130)), "{:?} {}", done.code, done.err);
    if scene.json("r/run.json")["run"]["recording"] != Value::Null {
        scene.parabench("report r --settle").exits(0);
    }
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_eq!(row(&run, "", "stat")["count"], 400_000);
    assert_eq!(run["run"]["events"]["count"], 400_000);
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"]);
}

#[test]
fn virtual_time_jumps_and_signals_end_it() {
    let scene = Scene::new()
        .file("x.ppl", "compute(9223372036s);")
        .file("y.ppl", "while (true) compute(1s);");
    scene.parabench("run x.ppl --backend mem").exits(0);
    for signal in [2, 15] {
        let running = scene.call("run y.ppl --backend mem").start();
        sleep(Duration::from_millis(300));
        running.signal(signal);
        running.finish().exits(130);
    }
}
