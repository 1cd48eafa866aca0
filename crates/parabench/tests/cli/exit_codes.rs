//! The exit codes, one test each, and which one wins.

use crate::scene::{Call, Scene};
use crate::schema::run_object;

#[test]
fn code_0_everything_went_well() {
    Scene::new().file("x.ppl", "write(\"a\", 1);").parabench("run x.ppl").exits(0);
}

#[test]
fn code_0_expected_failures_are_none() {
    let text = "with (expect=\"ENOENT\") stat(\"missing\");";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl --format json").exits(0);
    assert_eq!(run_object(&done)["rows"][0]["expected"], 1);
}

#[test]
fn code_1_an_operation_failed() {
    let done = Scene::new().file("x.ppl", "stat(\"missing\");").parabench("run x.ppl").exits(1);
    done.out_has("ENOENT").out_has("x.ppl:1:1").out_has("missing");
}

/// The program says what its parameters have to be, and nothing is executed.
#[test]
fn code_2_an_assertion_about_parameters_fails() {
    let text = "param $n = 4; /// parts\nassert($n % 2 == 0, \"n is even\");\nwrite(\"a\", 12 / ($n % 2 + 1));";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl n=2").exits(0);
    let done = scene.parabench("run x.ppl n=3").exits(2).out_is("");
    done.err_has("assertion failed: n is even")
        .err_has("x.ppl:2:8")
        .err_has("$n is 3: give others");
    let ranks = Scene::new().parabench("run @ior t=4m").exits(2);
    ranks.err_has("b must be a multiple of t").err_has("$t is 4194304").err_has("@ior: 1 error");
}

#[test]
fn code_1_a_rank_failed() {
    Scene::new()
        .file("x.ppl", "assert(false, \"no\");")
        .parabench("run x.ppl")
        .exits(1)
        .out_has("no");
}

/// Who asks for no tables is told all the same why there is nothing to see.
#[test]
fn code_1_is_explained_without_tables() {
    for (text, said) in [("assert(1 == 2);", "x.ppl:1:1"), ("stat(\"missing\");", "ENOENT")] {
        let done = Scene::new().file("x.ppl", text).parabench("run x.ppl --quiet").exits(1);
        done.out_is("").err_has(said);
    }
    let done = Scene::new().file("x.ppl", "write(\"a\", 1);").parabench("run x.ppl --quiet");
    done.exits(0).out_is("").err_is("");
}

/// Variables of an MPI job, in a shell at a terminal: nobody else would speak. Standard input
/// passes for the launcher's connection.
#[test]
fn code_2_reaches_a_terminal_whatever_the_environment_tells() {
    let scene = Scene::new().file("x.ppl", "writ(1);");
    let job = |call: Call| call.env("PMI_RANK", "1").env("PMI_SIZE", "2").env("PMI_FD", "0");
    for line in ["check x.ppl", "nosuch"] {
        // script(1) of util-linux gives a terminal.
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &format!("{} {line}", crate::scene::PARABENCH), "/dev/null"]);
        job(scene.command(script)).run().exits(2).out_has("error");
    }
    let another = job(scene.call("check x.ppl")).run().exits(0);
    assert_eq!(another.err, "", "another process of the job tells it");
}

#[test]
fn code_2_the_input_was_wrong() {
    let scene = Scene::new().file("x.ppl", "stat(\"missing\"); writ(1);").file("d/thing", "");
    scene.parabench("run x.ppl").exits(2);
    scene.parabench("run nosuch.ppl").exits(2);
    scene.parabench("run").exits(2);
    scene.parabench("nosuch").exits(2);
    let scene = scene.file("ok.ppl", ";");
    scene.parabench("run ok.ppl --dir d").exits(2);
}

#[test]
fn code_2_is_json_too() {
    let scene = Scene::new().file("x.ppl", "writ(1);");
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(2));
    assert_eq!(run["rows"].as_array().unwrap().len(), 0);
    assert_eq!(run["run"]["outcome"], "refused");
    run_object(&scene.parabench("run nosuch.ppl --format json").exits(2));
    run_object(&scene.parabench("run x.ppl --format json --dir /nosuch/dir").exits(2));
}

#[test]
fn code_3_a_verdict_failed_under_strict() {
    // Events that do not fit contradict the event table; short operations are failures.
    let scene = Scene::new().file("x.ppl", "repeat 100000 stat(\".\");");
    let line = "run x.ppl --events=max=64k --force --out results";
    scene.parabench(line).exits(0);
    scene.parabench(&format!("{line} --strict -v")).exits(3).out_has("events were not kept");
}

#[test]
fn strict_makes_short_operations_failures() {
    let text = "write(\"a\", 1k); read(\"a\", 4k);";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(0));
    assert_eq!(run["run"]["evidence"]["short"], 1);
    scene.parabench("run x.ppl --strict").exits(1);
}

#[test]
fn what_is_expected_to_be_short_is_not() {
    let text = "write(\"a\", 1k); with (expect=\"ENOENT,short\") { read(\"a\", 4k); stat(\"b\"); }";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(0));
    assert_eq!(run["run"]["evidence"]["short"], 0);
    // Too short a run for figures, but nothing failed.
    scene.parabench("run x.ppl --strict").exits(3);
    let rows = run["rows"].as_array().expect("rows");
    let row = |op: &str| rows.iter().find(|row| row["op"] == op).expect("a row");
    let read = row("read");
    assert_eq!(
        (&read["count"], &read["short"], &read["bytes"]),
        (&1.into(), &0.into(), &1024.into())
    );
    assert_eq!(row("stat")["expected"], 1);
    // Inside of another one only what that expects.
    let inner =
        "write(\"a\", 1k); with (expect=\"short\") with (expect=\"ENOENT\") read(\"a\", 4k);";
    let scene = scene.file("y.ppl", inner).file("z.ppl", "with (expect=\"shor\") stat(\"a\");");
    scene.parabench("run y.ppl --strict").exits(1);
    scene.parabench("check z.ppl").exits(2).err_has("the nearest is short");
}

#[test]
fn code_130_wins_over_1_and_2_over_all() {
    let text = "stat(\"missing\"); create(\"begun\"); sleep(1h);";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl --dir d").start();
    call.until("the file", || scene.path("d/begun").exists());
    call.signal(2);
    call.finish().exits(130).out_has("ENOENT");
}
