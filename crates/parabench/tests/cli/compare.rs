//! `parabench compare`: what it claims, refuses, prints, and its exit codes.

use crate::scene::{Scene, root};
use serde_json::Value;

const PROGRAM: &str = "param $block = 4k;\ntime[\"w\"] repeat $i 20 write(\"f$i\", $block);\n";

/// Five runs of each side on the mem back-end: `slow` blocks on B if asked for.
fn scene_with(sides: &[(&str, &str)]) -> Scene {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    for (side, options) in sides {
        for run in 1..=5 {
            scene
                .parabench(&format!("run x.ppl --backend mem --quiet --out {side}{run} {options}"))
                .exits(0);
        }
    }
    scene
}

fn objects(text: &str) -> Vec<Value> {
    let path = root().join("docs/compare.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let objects: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for object in &objects {
        let errors: Vec<String> = validator.iter_errors(object).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    objects
}

#[test]
fn the_same_twice_is_no_difference_and_gates_decide_the_exit_code() {
    let scene = scene_with(&[("a", ""), ("b", "")]);
    let both = "compare --base a1 a2 a3 a4 a5 --new b1 b2 b3 b4 b5";
    let done = scene.parabench(both).exits(0);
    done.out_has("No difference above 5 % in w (B/A 1.000 to 1.000)");
    let found = objects(&scene.parabench(&format!("{both} --format json")).exits(0).out);
    assert_eq!(found[0]["rows"][0]["claim"], "none", "{:#}", found[0]);
    assert_eq!(found[0]["differences"], serde_json::json!([]));
    for (gate, code) in
        [("write.mib_s >= 95 %", 0), ("write.p50_ns <= +10 %", 0), ("w:write.mib_s > 1", 3)]
    {
        for format in ["table", "json", "markdown", "junit", "csv"] {
            let call = scene.call(both).word("--gate").word(gate);
            let done = call.word("--format").word(format).run().exits(code);
            assert!(done.out.contains("write"), "{gate} {format}: {}", done.out);
        }
    }
}

#[test]
fn other_parameters_are_refused_and_compared_anyway() {
    let scene = scene_with(&[("a", ""), ("b", "block=64k")]);
    let both = "compare --base a1 a2 a3 a4 a5 --new b1 b2 b3 b4 b5";
    let refused = scene.parabench(both).exits(2);
    refused.err_has("parameter block: 4096 in A, 65536 in B").err_has("--anyway");
    let done = scene.parabench(&format!("{both} --anyway --format json")).exits(0);
    let found = objects(&done.out);
    let rows = found[0]["rows"].as_array().unwrap();
    let time = rows.iter().find(|row| row["metric"] == "time_ns").unwrap();
    assert_eq!((&time["tier"], &time["claim"]), (&"label".into(), &"slower".into()), "{time:#}");
    // The amount is said before the time.
    assert_eq!(found[0]["amounts"][0]["op"], "write");
    let done = scene.parabench(&format!("{both} --anyway")).exits(0);
    done.out_has("In w B writes 16.0x as much").out_has("as long");
    // One run of either side is too little, and each later one meets the first.
    let done = scene.parabench("compare a1 a2 a3 --format json").exits(0);
    assert_eq!(objects(&done.out).len(), 2);
    scene.parabench("compare a1 a2").exits(0).out_has("at least 5");
    // Measured times never repeat.
    scene.parabench("run x.ppl --quiet --out r").exits(0);
    scene.parabench("compare r a2/../r/run.json").exits(2).err_has("the same run is on both sides");
    scene.parabench("compare r r --anyway").exits(0);
}

#[test]
fn wrong_input_is_one_clear_message() {
    let scene = scene_with(&[("a", "")]);
    scene.parabench("compare a1").exits(2).err_has("at least two runs").err_has("BEFORE AFTER");
    scene.parabench("compare a1 nowhere").exits(2).err_has("nowhere");
    scene.parabench("compare a1 a2 --min-effect x").exits(2).err_has("2%");
    let done = scene.call("compare a1 a2").word("--gate").word("write.speed >= 1").run().exits(2);
    done.err_has("expected a metric (mib_s");
    for (gate, said) in [
        ("wirte.mib_s >= 1", "did you mean write?"),
        ("write.close.mib_s >= 1", "write.close.mib_s: it moves no bytes"),
        ("v:write.mib_s >= 1", "neither side has the label v"),
        ("write.mib_s >= 100 MiB/s", ">= 90 %"),
        ("write.mib_s >= +1", "<= +10 %"),
    ] {
        scene.call("compare a1 a2").word("--gate").word(gate).run().exits(2).err_has(said);
    }
}

/// Most metrics are times: less is better.
#[test]
fn gates_hold_for_times_and_the_table_says_what_its_ratios_are() {
    let scene = scene_with(&[("a", ""), ("b", "")]);
    let both = "compare --base a1 a2 a3 a4 a5 --new b1 b2 b3 b4 b5";
    let done = scene.call(both).word("--gate").word("write.p50_ns <= 1.1").run().exits(0);
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "gate passes: write.p50_ns <= 1.1: write in \"w\": p50_ns of B / A is 1.000 (1.000 to 1.000)",
        "above 1: B is slower",
    ] {
        assert!(words.contains(part), "{part}: {}", done.out);
    }
    let full = scene.parabench(&format!("{both} -v")).exits(0);
    full.out_has("Mann-Whitney rank sum test").out_has("p adjusted");
    scene.call(both).word("--gate").word("write.p50_ns < 1").run().exits(3);
    // A percentile of fewer operations than it speaks of is none.
    let rare = scene.parabench(&format!("{both} --gate write.p99_ns<=2")).exits(3);
    rare.out_has("p99_ns needs 100 operations in each");
    // Four repetitions leave the gate undecided.
    let few = "compare --base a1 a2 a3 a4 --new b1 b2 b3 b4 --gate write.p50_ns<=2";
    let done = scene.parabench(few).exits(3);
    done.out_has("gate undecided: write.p50_ns<=2").err_has("--gate-undecided pass");
    let done = scene.parabench(&format!("{few} --gate-undecided pass")).exits(0);
    done.err_has("undecided gates pass");
    let junit = scene.parabench(&format!("{few} --gate-undecided pass --format junit")).exits(0);
    junit.out_has("<skipped message=");
    let help = scene.parabench("compare --help").exits(0);
    help.out_has("<= NUMBER").out_has("p99_ns");
}

/// The first run of each side, if both kept events; more comparisons would share one place.
#[test]
fn pages_of_runs_with_events_have_the_time_lines_of_both() {
    let scene = scene_with(&[("a", "--events"), ("b", "--events"), ("c", "")]);
    let page = |words: &str| {
        scene.parabench(&format!("compare {words} --html page.html")).exits(0);
        scene.text("page.html")
    };
    let both = page("a1 b1");
    assert_eq!(both.matches("id=\"time-line\"").count(), 1);
    assert!(both.contains("\"name\":\"A\"") && both.contains("\"name\":\"B\""));
    assert!(both.contains("id=\"bandwidth-over-time-b\""));
    for words in ["a1 c1", "a1 b1 b2", "--base a1 a2 --new c1 c2"] {
        assert!(!page(words).contains("id=\"time-line\""), "{words}");
    }
    assert!(page("--base a1 a2 --new b1 b2").contains("id=\"time-line\""));
}
