//! The line that tells how far a run is: at a terminal, on standard error, gone at the end.

use crate::scene::Scene;

/// Three seconds in a label; bytes are moved before.
const PROGRAM: &str = r#"
time["outer"] time["slow"] { write("f", 4k); sleep 3s; }
"#;

/// Runs the program with a terminal as standard error: what came to it, and to standard output.
fn at_terminal(scene: &Scene, line: &str) -> (String, String) {
    scene.call(line).at_terminal()
}

#[test]
fn a_long_run_tells_how_far_it_is() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let (told, out) = at_terminal(&scene, "run x.ppl -n 2 --format json");
    for part in ["outer/slow - 100 % of 2 operations - ", "0 ops/s - ", "8 KiB so far - "] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // The line is taken away: nothing follows the last clearing.
    let cleared = told.rfind("\u{1b}[2K").expect("it was cleared");
    assert!(told[cleared..].trim_end().ends_with("\u{1b}[2K"), "{told:?}");
    let run: serde_json::Value = serde_json::from_str(&out).expect("the object alone");
    assert_eq!(run["run"]["outcome"], "finished");
}

#[test]
fn a_sweep_tells_execution_and_point() {
    let program = "param $block = 4k;\ntime[\"w\"] { write(\"f\", $block); sleep 1500ms; }\n";
    let scene = Scene::new().file("x.ppl", program);
    let (told, _) = at_terminal(&scene, "run x.ppl --sweep block=4k,64k");
    for part in
        ["run 1 of 2 (block=", "run 2 of 2 (block=", ") - w - 100 % of 1 operation - ", " s left"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn nobody_is_told_who_does_not_look() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let (told, out) = at_terminal(&scene, "run x.ppl --quiet");
    assert_eq!((told.as_str(), out.as_str()), ("", ""));
    let done = scene.parabench("run x.ppl --format json").exits(0);
    assert!(!done.err.contains("ops/s"), "{}", done.err);
}

/// Somebody who looks at a file or a pipe sees a line every ten seconds.
#[test]
fn a_run_in_a_pipe_tells_how_far_it_is() {
    let program = "time[\"w\"] { write(\"f\", 4k); sleep 11s; }\n";
    let scene = Scene::new().file("x.ppl", program);
    let done = scene.parabench("run x.ppl --format json").exits(0);
    let line = done.err.lines().find(|line| line.starts_with("progress: w - 100 % of 1 operation"));
    assert!(line.is_some(), "{}", done.err);
    assert_eq!(scene.parabench("run x.ppl --agile").exits(0).err.matches("progress").count(), 0);
}

/// A program that reads standard error gets JSON lines: the studio does.
#[test]
fn a_program_is_told_as_json() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let done = scene.parabench("run x.ppl -n 2 --progress json --quiet").exits(0);
    let lines: Vec<serde_json::Value> = done
        .err
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{line}: {why}")))
        .collect();
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!(*first, serde_json::json!({"event": "start", "executions": 1}));
    assert_eq!(*last, serde_json::json!({"event": "end", "exit_code": 0}));
    let slow = lines.iter().find(|line| line["label"] == "outer/slow").expect("a sample");
    assert_eq!((&slow["event"], &slow["execution"]), (&"sample".into(), &1.into()));
    assert_eq!(slow["labels"], serde_json::json!(["outer/slow", "outer/slow"]));
    assert_eq!((&slow["operations"], &slow["bytes"]), (&2.into(), &8192.into()));
}

#[test]
fn each_execution_of_a_sweep_is_a_json_line() {
    let program = "param $block = 4k;\nwrite(\"f\", $block);\n";
    let scene = Scene::new().file("x.ppl", program);
    let done = scene.parabench("run x.ppl --sweep block=4k,64k --progress json --quiet").exits(0);
    assert_eq!(done.err.matches(r#""event":"execution""#).count(), 2, "{}", done.err);
    for part in [r#""executions":2"#, r#""number":2"#, r#""point":"block=64k""#] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
}
