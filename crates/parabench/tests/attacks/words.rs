//! Labels without text, and `--only` with labels that are not there.

use crate::scene::Scene;

const LABELS: &str = "time[\"a\"] create(\"f\"); time[\"b\"] time[\"c\"] create(\"g\");";

/// Silence would look like a run that had nothing to do.
#[test]
fn only_with_a_label_that_cannot_be_is_refused() {
    let scene = Scene::new().file("x.ppl", LABELS).file("y.ppl", "create(\"f\");");
    for wrong in ["nope", "A", "a,nope", "c/a/x", "b/"] {
        scene.parabench(&format!("run x.ppl --only {wrong}")).exits(2).err_has("a, b, c");
    }
    let said = "--only a: the program entered no label of this name";
    scene.parabench("run y.ppl --only a").exits(0).err_has(said);
    scene.call("run x.ppl --only").word("").run().exits(2);
    scene.parabench("run x.ppl --only b/c").exits(0).out_has("b/c\n");
    assert_eq!(scene.names("."), ["x.ppl", "y.ppl"]);
}

#[test]
fn only_with_a_label_that_is_never_entered_is_said() {
    let scene = Scene::new().file("x.ppl", "repeat $i 3 time[\"l$i\"] create(\"f\");");
    let said = "--only l9: the program entered no label of this name";
    scene.parabench("run x.ppl --only l9").exits(0).err_has(said);
    let run = scene.parabench("run x.ppl --only l2,l9 --format json").exits(0).json();
    assert_eq!(run["run"]["evidence"]["notes"], serde_json::json!([said]));
    assert_eq!(run["rows"][0]["label"], "l2");
}

/// The row of no label is another one.
#[test]
fn an_empty_label_has_rows_of_its_own() {
    let program = "$e = \"\"; time[\"$e\"] create(\"f\"); create(\"g\"); time[\"a\"] time[\"\"] create(\"h\");";
    let scene = Scene::new().file("x.ppl", program);
    let run = scene.parabench("run x.ppl --format json").exits(0).json();
    let creates = run["rows"].as_array().expect("rows").iter().filter(|row| row["op"] == "create");
    let labels: Vec<_> = creates.map(|row| (row["label"].clone(), row["count"].clone())).collect();
    let one = |label: &str| (label.into(), 1.into());
    assert_eq!(labels, [one("(empty)"), one(""), one("a/(empty)")]);
}

/// The processor's share is measured with the rank's start in it, which a short run cannot bear.
#[test]
fn a_run_of_microseconds_has_no_share_of_the_processor() {
    let done = Scene::new().file("x.ppl", ";").parabench("run x.ppl").exits(0);
    let share = done.out.split("processor ").nth(1).and_then(|rest| rest.split(" %").next());
    let share = share.map(|share| share.parse::<f64>().expect("a number"));
    assert!(share.is_none_or(|share| share < 101.0), "{}", done.out);
}

#[test]
fn an_empty_path_has_a_word() {
    let done = Scene::new().file("x.ppl", "stat(\"\");").parabench("run x.ppl").exits(1);
    done.out_has("first: after").out_has("rank 0, (no name), offset 0");
}
