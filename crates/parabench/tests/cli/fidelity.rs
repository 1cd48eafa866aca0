//! `parabench fidelity`: what it counts, prints and refuses, and its exit codes.

use crate::scene::{Done, Scene, root};
use serde_json::Value;

const PROGRAM: &str = "\
param $last = 8k;
time[\"write\"] {
    $h = fopen(\"data-$$rank\", \"w\");
    fwrite($h, 4k, 0);
    fwrite($h, 4k, 4k);
    fwrite($h, $last, 8k);
    fclose($h);
}
time[\"read\"] {
    $h = fopen(\"data-$$rank\", \"r\");
    fread($h, 16k, 0);
    fclose($h);
}
";

/// The program on the mem back-end, stored with its events as `DIR`.
fn scene(runs: &[(&str, &str, &str)]) -> Scene {
    let mut scene = Scene::new();
    for (dir, text, options) in runs {
        scene = scene.file(&format!("{dir}.ppl"), text);
        let call =
            format!("run {dir}.ppl -n 2 --backend mem --quiet --events --out {dir} {options}");
        scene.parabench(&call).exits(0);
    }
    scene
}

fn object(done: &Done) -> Value {
    let path = root().join("docs/fidelity.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let found: Value = serde_json::from_str(&done.out).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&found).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    found
}

#[test]
fn two_runs_of_one_program_do_the_same() {
    let scene = scene(&[("a", PROGRAM, ""), ("b", PROGRAM, "")]);
    let done = scene.parabench("fidelity a b").exits(0);
    done.out_has("b does what a did, all of its 16 operations").out_has("(+0.0 %;");
    let found = object(&scene.parabench("fidelity a b --format json").exits(0));
    assert_eq!(found["replays"][0]["differences"]["operations"], 0);
    let phases: Vec<&Value> =
        found["scopes"].as_array().unwrap().iter().map(|scope| &scope["phase"]).collect();
    assert_eq!(phases, [&Value::Null, &"write".into(), &"read".into()]);
    for figure in
        found["scopes"].as_array().unwrap().iter().flat_map(|s| s["figures"].as_array().unwrap())
    {
        assert_eq!(figure["error_percent"], 0.0, "{figure}");
    }
    scene.parabench("fidelity a b --html page.html").exits(0);
    assert!(scene.text("page.html").contains("operations under way"));
}

#[test]
fn a_changed_program_differs_in_what_was_changed() {
    for (from, to, counts) in [
        ("fwrite($h, 4k, 4k);", "", "missing 2"),
        ("fclose($h);\n}\ntime[\"read\"]", "fsync($h); fclose($h);\n}\ntime[\"read\"]", "extra 2"),
        ("fwrite($h, 4k, 4k);", "fwrite($h, 4k, 3k);", "offsets 2"),
        ("fread($h, 16k, 0)", "fread($h, 8k, 0)", "bytes 2"),
        ("fread($h, 16k, 0)", "fread($h, 16k, 4k)", "offsets 2 results 2"),
        ("data-", "other-", ""),
        (
            "fwrite($h, 4k, 0);\n    fwrite($h, 4k, 4k);",
            "fwrite($h, 4k, 4k);\n    fwrite($h, 4k, 0);",
            "order 2",
        ),
    ] {
        assert!(PROGRAM.contains(from), "{from}");
        let changed = PROGRAM.replace(from, to);
        let scene = scene(&[("a", PROGRAM, ""), ("b", &changed, "")]);
        let found = object(&scene.parabench("fidelity a b --format json").exits(0));
        let differences = found["replays"][0]["differences"].as_object().unwrap();
        let differing = differences.iter().filter(|(kind, count)| {
            !["operations", "firsts"].contains(&kind.as_str()) && **count != 0
        });
        let mut seen: Vec<String> =
            differing.map(|(kind, count)| format!("{kind} {count}")).collect();
        seen.sort();
        assert_eq!(seen.join(" "), counts, "{from} -> {to}");
        let firsts = differences["firsts"].as_array().unwrap();
        assert_eq!(firsts.len(), seen.len());
        for first in firsts {
            let here: Vec<&Value> = ["original", "replay"]
                .iter()
                .flat_map(|side| first[side].as_array().unwrap())
                .filter(|step| step["here"] == true)
                .collect();
            assert!(!here.is_empty(), "{first:#}");
            assert!(here.iter().all(|step| step["place"].as_str().unwrap().contains(".ppl:")));
        }
        assert_eq!(found["renamed"], if to == "other-" { 2 } else { 0 });
    }
}

#[test]
fn gates_decide_the_exit_code() {
    let changed = PROGRAM.replace("fwrite($h, 4k, 4k);", "");
    let scene = scene(&[("a", PROGRAM, ""), ("b", PROGRAM, ""), ("c", &changed, "")]);
    for (runs, gate, code) in [
        ("a b", "operations <= 0", 0),
        ("a b", "elapsed <= 0%", 0),
        ("a b", "read: io < 1%", 0),
        ("a b", "nosuch: io < 1%", 3),
        ("a c", "operations <= 0", 3),
        ("a c", "operations <= 20%", 0),
        ("a c", "missing < 2", 3),
        ("--original a --replay b c", "missing <= 1", 3),
    ] {
        let done = scene.call(&format!("fidelity {runs}")).word("--gate").word(gate).run();
        let words = if code == 0 { "gate passes" } else { "gate fails" };
        done.exits(code).out_has(words);
    }
    let wrong = scene.call("fidelity a b").word("--gate").word("speed <= 5%").run();
    wrong.exits(2).err_has("expected one of elapsed io think");
}

#[test]
fn several_originals_give_a_spread() {
    let scene =
        scene(&[("a", PROGRAM, "--reps 3"), ("b", PROGRAM, ""), ("c", PROGRAM, "last=64k")]);
    let found =
        object(&scene.parabench("fidelity --original a b --replay c --format json").exits(0));
    assert_eq!(found["originals"].as_array().unwrap().len(), 4);
    for original in &found["originals"].as_array().unwrap()[1..] {
        assert_eq!(original["differences"]["operations"], 0, "{original:#}");
    }
    assert_eq!(found["replays"][0]["differences"]["bytes"], 2);
    assert_eq!(found["scopes"][0]["figures"][0]["spread_percent"], 0.0);
    let done = scene.parabench("fidelity -v --original a b --replay c").exits(0);
    done.out_has("the first operation of another size, on rank 0")
        .out_has("fwrite data-0, 65536 bytes at 8192");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let scene = scene(&[("a", PROGRAM, ""), ("b", PROGRAM, "")]);
    scene.parabench("run a.ppl --backend mem --quiet --out none").exits(0);
    scene.parabench("run a.ppl --backend mem --quiet --events=sample=1/2 --out some").exits(0);
    scene
        .parabench("run a.ppl --backend mem --quiet --events --out grid --sweep last=1k,2k")
        .exits(0);
    for (line, words) in [
        ("fidelity a none", "none: the run has no events"),
        ("fidelity a some", "a sample of its events, one of 2"),
        ("fidelity a grid", "a sweep over several points"),
        ("fidelity a nowhere", "nowhere"),
        ("fidelity a", "2 values required"),
        ("fidelity --original a", "--replay"),
        ("fidelity a b --html a.ppl", "not written by Parabench"),
    ] {
        scene.parabench(line).exits(2).err_has(words);
    }
}

#[test]
fn runs_without_operations_pass_no_gate() {
    let scene = Scene::new().file("x.ppl", "$nothing = 1;\n");
    scene.parabench("run x.ppl --backend mem --events --quiet --out a").exits(0);
    let call = "fidelity a a --gate";
    let done = scene.call(call).word("operations <= 0%").run().exits(2);
    done.err_has("a: the run has no operations: there is nothing to compare").out_is("");
}
