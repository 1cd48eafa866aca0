//! `parabench import`: a log goes in, a run with tables, events and pictures comes out.

use crate::scene::{Scene, root};
use crate::schema;
use report::events::EventReader;
use std::fmt::Write;

/// Two processes; a file of each, one of both, one of the system, a call that has no operation.
const LOG: &str = r#"
17 1795253061.000000 execve("/usr/bin/app", ["app"], 0x7f /* 9 vars */) = 0 <0.000300>
17 1795253061.000400 openat(AT_FDCWD</data>, "/usr/lib/libc.so.6", O_RDONLY) = 3</usr/lib/libc.so.6> <0.000010>
17 1795253061.000500 openat(AT_FDCWD</data>, "a", O_RDWR|O_CREAT|O_EXCL, 0644) = 4</data/a> <0.000020>
17 1795253061.000600 clone(child_stack=NULL, flags=SIGCHLD) = 18 <0.000100>
18 1795253061.000800 write(4</data/a>, ""..., 4096) = 4096 <0.000030>
17 1795253061.000900 write(4</data/a>, ""..., 4096) = 4096 <0.000030>
17 1795253061.001000 flock(4</data/a>, LOCK_EX) = 0 <0.000030>
17 1795253061.001100 pread64(4</data/a>, ""..., 8192, 4096) = 4096 <0.000030>
what is this?
17 1795253061.001200 close(4</data/a>) = 0 <0.000010>
"#;

fn imported(scene: Scene, call: &str) -> Scene {
    scene.parabench(call).exits(0);
    scene
}

#[test]
fn a_log_becomes_a_run_that_all_verbs_read() {
    let scene = imported(Scene::new().file("app.strace", LOG), "import app.strace -o r");
    let done = scene.parabench("report r --format json");
    let run = schema::run_object(&done);
    let trace = &run["run"]["trace"];
    assert_eq!((&trace["format"], &trace["root"]), (&"strace".into(), &"/data".into()));
    assert_eq!(trace["threads"][1]["parent"], 17);
    assert_eq!(
        (run["run"]["started"].as_str(), &run["run"]["ranks"]),
        (Some("2026-11-21T09:24:21Z"), &2.into())
    );
    let codes: Vec<&str> =
        trace["gaps"].as_array().unwrap().iter().map(|gap| gap["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["unparsed-lines", "outside", "no-operation", "duplicates"]);
    let table = scene.call("report r").env("COLUMNS", "300").run().exits(0);
    table
        .out_has("1 line is in no form that is known, first app.strace:10: what is this?")
        .out_has("flock 1");
    scene.parabench("report r --html a.html --svg svg --data data").exits(0);
    assert!(scene.names("data").contains(&"bandwidth-over-time.csv".into()));
    assert!(scene.text("a.html").contains("what is this?"));
    let later = LOG.replace("1795253061", "1795253069");
    scene.call("import - -o s").input(later).run().exits(0);
    scene.parabench("compare r s").exits(0);
}

#[test]
fn the_event_table_tells_what_the_log_told() {
    let scene = imported(Scene::new().file("app.strace", LOG), "import app.strace -o r");
    let mut events = EventReader::open(&scene.path("r")).expect("its events");
    let mut text = String::new();
    let rows: Vec<_> = events.by_ref().map(Result::unwrap).collect();
    for row in &rows {
        let (event, details) = (&row.event, &row.details);
        let label = &events.labels()[event.label as usize];
        let call = &events.calls()[details.call as usize];
        let (line, offset, flags) = (details.line, event.offset_bytes, event.flags);
        let (instance, start_us) = (details.instance as i32, event.start_ns / 1000);
        writeln!(
            text,
            "{} {label} {call}:{line} #{instance} @{offset} {flags} {start_us}",
            row.rank
        )
        .unwrap();
    }
    // The process and its child share the position of #1.
    let expected = "\
        0 app openat:4 #1 @0 0 500\n\
        0 app write:7 #1 @4096 16 900\n\
        0 app pread64:9 #1 @4096 2 1100\n\
        1 app write:6 #1 @0 16 800\n";
    assert_eq!(text, expected);
    assert_eq!(rows[0].details.open_flags, 0o302);
    let stored = report::store::read(&scene.path("r")).expect("the run");
    let again = report::events::rows(EventReader::open(&scene.path("r")).unwrap(), &[]).unwrap();
    assert_eq!(again.len(), stored.rows.len());
}

#[test]
fn logs_come_from_pipes_and_compressed_and_are_kept_by_place() {
    let scene = Scene::new();
    scene.call("import - -o r --under /usr").input(LOG).run().exits(0).out_has("fopen");
    let run = report::store::read(&scene.path("r")).expect("the run");
    assert_eq!(run.run.trace.unwrap().root, "/usr");
    let log = root().join("crates/trace/tests/real/duckdb-olap.strace.xz");
    scene.call("import -o duck").word(log).run().exits(0).out_has("fdatasync");
    let log = root().join("crates/trace/tests/real/mpi-io-test.darshan");
    scene.call("import -o darshan").word(log).run().exits(0).out_has("32 ranks");
    scene.parabench("report darshan --html d.html").exits(0);
    scene.call("import - -o r").input(LOG).run().exits(2).err_has("--force");
    scene.call("import - -o r --force --all").input(LOG).run().exits(0);
}

#[test]
fn what_is_no_log_is_refused_in_a_sentence() {
    let scene =
        Scene::new().file("x", "a\nb\n").file("app.strace", LOG).file("y.gz", b"\x1f\x8b\x08\0cut");
    let done = scene.parabench("import x -o r").exits(2);
    done.err_has("x is in no format that is known").err_has("strace");
    scene.parabench("import nothing -o r").exits(2).err_has("cannot read nothing");
    scene.parabench("import y.gz -o r").exits(2);
    scene.parabench("import app.strace x -o r").exits(2);
    assert!(!scene.path("r").exists());
}
