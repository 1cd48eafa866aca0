//! Figures that a program computes from those of its labels, and the scores that it stores: in every format, also of
//! sweeps, and equal to the rows of the report.

use crate::scene::Scene;
use crate::schema::run_object;
use serde_json::Value;

const PROGRAM: &str = r#"
param $num = 5; /// number of files
time["all"] {
    time["write"] repeat $i $num write("f-$$rank-$i", 64k);
    repeat $i 3 time["again"] read("f-$$rank-$i");
}
repeat 600 ctime["many"] stat("f-$$rank-0");
score("write", rate("all/write", "write"));
score("all", rate("all", "read"), unit="B/s");
score("again", seconds("all/again"));
score("many", seconds("many"));
score("many", count("many", "stat") / seconds("many"));
"#;

/// A score of an execution.
fn score(run: &Value, name: &str) -> f64 {
    let all = run["run"]["scores"].as_array().expect("scores").iter();
    let own: Vec<&Value> = all.filter(|score| score["name"] == name).collect();
    assert_eq!(own.len(), 1, "{name}");
    own[0]["value"].as_f64().expect("a number")
}

fn busy_s(run: &Value, label: &str) -> f64 {
    let mut all = run["labels"].as_array().expect("labels").iter();
    let own = all.find(|row| row["label"] == label).expect("it was executed");
    own["busy_ns"].as_f64().expect("a number") / 1e9
}

fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn scores_are_the_figures_of_the_report() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    for place in ["--dir d --clean", "--backend mem"] {
        let line = format!("run x.ppl -n 3 --format json {place}");
        let run = run_object(&scene.parabench(&line).exits(0));
        let written = f64::from(3 * 5 * (64 << 10));
        assert_near(score(&run, "write"), written / busy_s(&run, "all/write"));
        assert_near(score(&run, "all"), f64::from(3 * 3 * (64 << 10)) / busy_s(&run, "all"));
        assert_near(score(&run, "again"), busy_s(&run, "all/again"));
        assert_near(score(&run, "many"), 1800.0 / busy_s(&run, "many"));
        let order: Vec<&str> = run["run"]["scores"]
            .as_array()
            .unwrap()
            .iter()
            .map(|score| score["name"].as_str().unwrap())
            .collect();
        assert_eq!(order, ["write", "all", "again", "many"]);
    }
}

#[test]
fn every_format_has_the_scores() {
    let scene = Scene::new()
        .file("x.ppl", "time[\"a\"] stat(\".\"); score(\"total\", 1.5, unit=\"GiB/s\");");
    let run =
        |options: &str| scene.parabench(&format!("run x.ppl --backend mem {options}")).exits(0);
    run("").out_has("\nscore   total   1.500 GiB/s\n");
    run("-v").out_has("\nscore   total   1.500 GiB/s\n");
    run("--format markdown").out_has("score   total   1.500 GiB/s");
    run("--format csv").out_has("total,score,,0,0,").out_has(",1.5,GiB/s\r\n");
    run("--html p.html");
    assert!(scene.text("p.html").contains("<dt>total</dt><dd>1.500 GiB/s</dd>"));
    run("--reps 2")
        .out_has("score  reps   mean")
        .out_has("total     2  1.500   1.500    1.500  GiB/s");
}

#[test]
fn points_of_a_sweep_have_scores_of_their_own() {
    let text = "param $n = 1; /// a number\nstat(\".\"); score(\"twice\", 2 * $n);";
    let scene = Scene::new().file("x.ppl", text);
    let run = scene.parabench("run x.ppl --backend mem --sweep n=3,4 --format json").exits(0);
    let scores = run_object(&run)["run"]["scores"].clone();
    let mut all: Vec<(u64, f64)> = scores
        .as_array()
        .expect("scores")
        .iter()
        .map(|one| (one["cell"].as_u64().unwrap(), one["value"].as_f64().unwrap()))
        .collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(all, [(0, 6.0), (1, 8.0)]);
    let csv = scene.parabench("run x.ppl --backend mem --sweep n=3,4 --format csv").exits(0);
    assert!(csv.out.contains("twice,score,,1,4,0,"), "{}", csv.out);
}

#[test]
fn what_cannot_be_known_ends_the_ranks_with_a_reason() {
    for (program, reason) in [
        (
            "time[\"a\"] stat(\".\"); time[\"b\"] stat(\".\"); print seconds(\"c\");",
            "the label \"c\" was not executed; labels so far: \"a\", \"b\"",
        ),
        ("print count(\"c\");", "the label \"c\" was not executed; no label was executed so far"),
        ("time[\"a\"] print seconds(\"a\");", "the label \"a\" has not ended"),
        (
            "$l = \"a\"; time[\"a\"] stat(\".\"); time[\"b\"] stat(\".\"); if ($$rank > 0) $l = \"b\"; print count($l);",
            "asks for \"b\", this rank for \"a\"",
        ),
    ] {
        let scene = Scene::new().file("x.ppl", program);
        for place in ["", "--backend mem"] {
            scene.parabench(&format!("run x.ppl -n 2 {place}")).exits(1).out_has(reason);
        }
    }
}

/// A rehearsal has no times, and `--only` leaves out labels: programs with scores go through both.
#[test]
fn rehearsals_and_single_labels_need_no_figures() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    scene.parabench("check x.ppl -n 3").exits(0);
    scene.parabench("plan x.ppl -n 3").exits(0);
    scene.parabench("plan x.ppl -n 3 num=100000").exits(0);
    let run = scene.parabench("run x.ppl -n 3 --only write --dir d --format json").exits(0);
    let run = run.err_has("--only stores no scores");
    assert_eq!(run_object(&run)["run"]["scores"], Value::Null);
}
