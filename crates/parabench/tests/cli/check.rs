//! `parabench check`.

use crate::scene::{Scene, root};
use serde_json::json;

#[test]
fn a_sound_program_has_nothing_wrong() {
    let scene = Scene::new().file("x.ppl", "write(\"a-$$rank\", 1k);");
    scene.parabench("check x.ppl").exits(0).out_is("").err_is("x.ppl: nothing wrong\n");
}

#[test]
fn every_mistake_is_drawn_under_its_line() {
    let text = "writ(\"a\", 1);\n$x = $nosuch;\nrepeat 3 { stat(\"a\") }\n";
    let done = Scene::new().file("x.ppl", text).parabench("check x.ppl").exits(2).out_is("");
    let done = done.err_has("error[E0302]").err_has("x.ppl:1:1").err_has("1 | writ(\"a\", 1);");
    done.err_has("error[E0301]")
        .err_has("x.ppl:2:6")
        .err_has("x.ppl:3:")
        .err_has("x.ppl: 3 errors");
}

/// What the rehearsal finds is in both forms.
#[test]
fn failures_of_the_rehearsal_have_their_place() {
    let text = "$i = $$rank;\nassert($i < 2, \"two ranks\");\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("check x.ppl -n 3").exits(0).err_has("two ranks");
    let found = scene.parabench("check x.ppl -n 3 --format json").exits(0).json();
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert_eq!((&found[0]["code"], &found[0]["line"]), (&json!("W0315"), &json!(2)));
    assert!(found[0]["message"].as_str().is_some_and(|text| text.contains("two ranks")));
}

#[test]
fn colours_are_for_terminals() {
    let scene = Scene::new().file("x.ppl", "writ(1);");
    let plain = scene.parabench("check x.ppl").exits(2);
    assert!(!plain.err.contains('\u{1b}'));
    let forced = scene.call("check x.ppl").env("CLICOLOR_FORCE", "1").run().exits(2);
    assert!(forced.err.contains('\u{1b}'));
    let refused =
        scene.call("check x.ppl").env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").run().exits(2);
    assert!(!refused.err.contains('\u{1b}'));
}

#[test]
fn json_is_an_array_of_flat_objects() {
    let scene = Scene::new().file("x.ppl", ";\n  $x = $count;\n").file("ok.ppl", ";");
    let found = scene.parabench("check x.ppl --format json").exits(2).err_is("").json();
    let entry = &found[0];
    for (key, value) in [
        ("code", json!("E0301")),
        ("severity", json!("error")),
        ("file", json!("x.ppl")),
        ("line", json!(2)),
        ("column", json!(8)),
        ("end_line", json!(2)),
        ("end_column", json!(14)),
    ] {
        assert_eq!(entry[key], value, "{key} of {entry}");
    }
    let keys: Vec<&String> = entry.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "code",
            "column",
            "end_column",
            "end_line",
            "file",
            "fix",
            "help",
            "label",
            "line",
            "message",
            "severity"
        ]
    );
    assert_eq!(scene.parabench("check ok.ppl --format json").exits(0).json(), json!([]));
}

#[test]
fn warnings_alone_are_no_failure() {
    let scene = Scene::new().file("x.ppl", "$x = 7 % 3 * 2; print $x;");
    scene.parabench("check x.ppl").exits(0).err_has("warning[W0202]").err_has("x.ppl: 1 warning");
}

#[test]
fn parameters_and_groups_are_bound() {
    let text = "param $n = 3; define groups {\"g\"}; group \"g\" repeat $n write(\"a-$$rank\", 1);";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("check x.ppl n=4 -n 2 -g g:1").exits(0);
    scene.parabench("check x.ppl m=4").exits(2).err_has("E0311");
    scene.parabench("check x.ppl n=many").exits(2);
}

#[test]
fn programs_come_from_everywhere() {
    let scene = Scene::new();
    scene.call("check -").input("sync;").run().exits(0).err_has("<stdin>: nothing wrong");
    scene.call("check -").input("writ;").run().exits(2).err_has("<stdin>:1:1");
    scene.parabench("check @stress").exits(0);
    scene.parabench("check @stres").exits(2).err_has("@stres is not a program").err_has("@stress");
    scene
        .parabench("check stress")
        .exits(2)
        .err_has("no such file")
        .err_has("did you mean @stress");
}

#[test]
fn files_that_the_program_never_makes_are_warned_of() {
    let scene = Scene::new()
        .file("one.ppl", "read(\"nofile\");")
        .file("two.ppl", "read(\"a\"); read(\"b\");")
        .file("own.ppl", "write(\"a\", 1); read(\"a\");")
        .file("expected.ppl", "with (expect=\"ENOENT\") read(\"a\");");
    let missing = "the program reads a file that it never makes: nofile; --prepare creates it";
    scene.parabench("check one.ppl").exits(0).err_has(missing);
    scene
        .parabench("check two.ppl")
        .exits(0)
        .err_has("and 1 other like it; --prepare creates them");
    for name in ["own", "expected"] {
        scene
            .parabench(&format!("check {name}.ppl"))
            .exits(0)
            .err_is(&format!("{name}.ppl: nothing wrong\n"));
    }
}

/// No false alarm: what is shipped makes what it uses, but for a listing that is kept as it was published.
#[test]
fn shipped_programs_read_no_files_from_before() {
    for folder in ["programs", "examples", "examples/applications"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("programs") {
            let path = entry.expect("an entry").path();
            let is_whole = !path.ends_with("listing2.ppl");
            if is_whole && path.extension().is_some_and(|end| end == "ppl") {
                let done = Scene::new().call("check").word(&path).run().exits(0);
                assert!(!done.err.contains("never makes"), "{path:?}: {}", done.err);
            }
        }
    }
}

/// What stops the rehearsal is named: of constants, of parameters, of results and of one rank alone.
#[test]
fn assertions_that_fail_in_the_rehearsal_are_named() {
    for (program, why) in [
        ("assert(1 == 2, \"one\");", "rank 0 ends at x.ppl:1:1: assertion failed: one"),
        (
            "param $b = 1; $i = $$rank; assert($i * 2 == $b, \"even\");",
            "rank 0 ends at x.ppl:1:28: assertion failed: even",
        ),
        (
            "write(\"f$$rank\", 4); assert(size(\"f$$rank\") == 8, \"size\");",
            "assertion failed: size",
        ),
        ("if ($$rank == 3) assert(false, \"three\");", "rank 3 ends at x.ppl:1:18"),
    ] {
        let scene = Scene::new().file("x.ppl", program);
        let done = scene.parabench("check x.ppl").exits(0);
        let done = done.err_has("the program fails in its rehearsal").err_has(why);
        assert!(!done.err.contains("nothing wrong"), "{}", done.err);
    }
    // What parameters alone decide is an error.
    let program = "param $b = 1; $n = $b / 2; assert($n * 2 == $b, \"even\");";
    let done = Scene::new().file("x.ppl", program).parabench("check x.ppl").exits(2);
    done.err_has("assertion failed: even").err_has("$n is 0, $b is 1");
    // Another start decides: files from before, or none.
    for program in [
        "param $b = 2; assert($b % 2 == 0, \"even\");",
        "assert(!exists(\"f\"), \"new\"); write(\"f\", 1);",
    ] {
        let fine = Scene::new().file("x.ppl", program);
        fine.parabench("check x.ppl -n 1").exits(0).err_is("x.ppl: nothing wrong\n");
    }
}
