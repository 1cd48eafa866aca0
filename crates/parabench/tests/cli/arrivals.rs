//! `with (rate=...)` from the command line: the figures are in every view, and a rate that was not reached
//! is named.

use crate::figures::row;
use crate::scene::Scene;
use crate::schema::run_object;
use serde_json::Value;

/// A thousand per second, each of which takes 1 µs of the rank, or 2 ms.
fn program(us: u32) -> String {
    format!(
        "time[\"w\"] with (rate=1000/s, arrival=\"poisson\") repeat $i 50 {{ mkdir(\"d-$$rank-$i\"); compute({us}us); }}"
    )
}

fn arrivals(run: &Value) -> &Value {
    &run["run"]["arrivals"][0]
}

#[test]
fn a_rate_that_was_not_reached_is_named_everywhere() {
    let scene = Scene::new().file("x.ppl", program(2000));
    let line = "run x.ppl -n 2 --backend mem --out r -v";
    let seen = "w (x.ppl:1:11): the rate was not reached";
    scene.parabench(line).exits(0).out_has("arrivals").out_has(seen).out_has("rate-not-reached");
    let strict = "run x.ppl -n 2 --backend mem --strict --format json";
    let run = run_object(&scene.parabench(strict).exits(3));
    let found = arrivals(&run);
    assert_eq!((&found["process"], &found["operations"]), (&"poisson".into(), &100.into()));
    assert!(found["achieved_ops_s"].as_f64() < Some(1010.0), "{found}");
    assert!(found["backlog_end"].as_u64() > Some(50), "{found}");
    let times = |op: &str| row(&run, "w", op)["max_ns"].as_u64().expect("a time");
    assert!(times("mkdir") > 30_000_000 && times("mkdir.service") == 1_000);
    scene.parabench("report r --format csv").exits(0).out_has("mkdir.service,mkdir");
    scene.parabench("report r --html r.html").exits(0);
    assert!(scene.text("r.html").contains("backlog"));
}

#[test]
fn latency_from_when_operations_were_due_is_a_picture_over_time() {
    let scene = Scene::new().file("x.ppl", program(2000));
    scene.parabench("run x.ppl -n 2 --backend mem --events --out r --html x.html").exits(0);
    let page = scene.text("x.html");
    assert!(page.contains("Latency since due over time"), "{page}");
    assert!(page.contains("100 mkdir"), "{page}");
    scene.parabench("report r --data csv").exits(0);
    let data = scene.text("csv/latency-since-due-over-time.csv");
    assert!(
        data.contains("median") && data.contains("longest") && data.lines().count() > 20,
        "{data}"
    );
}

#[test]
fn a_rate_that_was_reached_is_no_reason_to_complain() {
    let scene = Scene::new().file("x.ppl", program(1));
    for line in ["run x.ppl -n 2 --backend mem", "run x.ppl -n 2 --backend mem --reps 3"] {
        let run = run_object(&scene.parabench(&format!("{line} --format json")).exits(0));
        assert!(arrivals(&run)["late_ns"].as_u64().expect("a number") < 100_000);
        let marks = run["run"]["evidence"]["marks"].to_string();
        assert!(!marks.contains("rate-not-reached"), "{marks}");
    }
}

/// Rates are no whole numbers only: one in two seconds, which virtual time does not wait for.
#[test]
fn a_rate_is_a_number_of_any_size() {
    let text = "repeat 3 stat(\".\");";
    for (rate, asked) in [("0.5/s", 0.5), ("0.5", 0.5), ("1.5k/s", 1500.0), ("2e-1/s", 0.2)] {
        let scene = Scene::new().file("x.ppl", format!("with (rate={rate}) {text}"));
        scene.parabench("check x.ppl").exits(0);
        let run = scene.parabench("run x.ppl --backend mem --format json").exits(0);
        assert_eq!(arrivals(&run_object(&run))["asked_ops_s"], asked, "{rate}");
    }
}

/// Which operations are executed, and how often, does not depend on a rate, nor on who executes them.
#[test]
fn a_rate_changes_nothing_but_times() {
    let text = "with (rate=20000/s, per=\"group\", engine=\"uring|posix\", depth=4) { \
                write(\"f-$$rank\", 64k); $h = fopen(\"f-$$rank\", \"r+\"); repeat $i 50 { \
                fread($h, 4k, rand(0, 15) * 4k); fwrite($h, 4k, 64k); } fsync($h); fclose($h); \
                repeat $i 10 until 1h stat(\"f-$$rank\"); }";
    let scene = Scene::new()
        .file("x.ppl", text)
        .file("y.ppl", text.replace("rate=20000/s, per=\"group\", ", ""));
    let counts = |line: &str| {
        let run = run_object(&scene.parabench(&format!("{line} --format json")).exits(0));
        let rows = run["rows"].as_array().expect("rows").iter();
        let whole = rows.filter(|row| row["part_of"].is_null());
        whole.map(|row| format!("{} {} {}", row["op"], row["count"], row["bytes"])).collect()
    };
    let expected: Vec<String> = counts("run y.ppl -n 2");
    for line in ["run x.ppl -n 2", "run x.ppl -n 2 --backend mem", "run x.ppl -n 2 --confine"] {
        assert_eq!(counts(line), expected, "{line}");
    }
    scene.parabench("plan x.ppl -n 2 -v").exits(0).out_has("rate=20000");
}

/// The rank waits, and is still told to stop.
#[test]
fn a_rank_that_waits_can_be_interrupted() {
    let scene = Scene::new()
        .file("x.ppl", "mkdir(\"a\"); with (rate=0.0001) { mkdir(\"b\"); mkdir(\"c\"); }");
    let call = scene.call("run x.ppl --dir d --format json").start();
    call.until("the directory", || scene.path("d/b").exists());
    call.signal(2);
    let run = run_object(&call.finish().exits(130));
    assert_eq!(arrivals(&run)["operations"], 1);
    assert_eq!(row(&run, "", "mkdir")["count"], 2);
}
