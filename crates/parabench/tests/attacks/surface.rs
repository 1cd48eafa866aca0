//! Names and texts from strangers on every way out: nothing reaches a terminal, a page or a
//! spreadsheet that it obeys, and what is for programs gives the text back.

use crate::scene::{PARABENCH, Scene, skip};
use model::escape::{is_harmful, value};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

/// Text that terminals, pages, spreadsheets and wikis obey.
const EVIL: [&str; 14] = [
    "\x1b[7mreversed",
    "\x1b]0;title\x07",
    "\u{9b}31mred",
    "\u{9d}0;title\u{9c}",
    "a\rb\x08c",
    "bell\x07\x7f",
    "\u{202e}lpp.exe",
    "\u{2066}hidden\u{2069}\u{200b}",
    "two\nlines",
    "\ttab",
    "=1+1",
    "@SUM(A1)",
    "|pipe|`code`|<b>&\"'\\",
    "'\\x1b",
];

/// Measures something in a label, with paths and lines of these names, and fails with one too.
const PROGRAM: &str = "param $p = \"x\"; print \"p\", $p; time[\"$p\"] { create(\"$p\"); delete(\"$p\"); \
                       stat(\"no $p\"); } assert(1 == 2, \"$p\");";

/// Standard output and standard error of a call.
fn said(scene: &Scene, words: &[&OsStr]) -> [Vec<u8>; 2] {
    let mut command = Command::new(PARABENCH);
    command.args(words).current_dir(scene.path(".")).env_remove("CLICOLOR_FORCE");
    let output = command.output().expect("it runs");
    assert!(output.status.code().is_some(), "{words:?}: {:?}", output.status);
    [output.stdout, output.stderr]
}

/// Text without what anybody obeys but line ends, those of CSV included.
#[track_caller]
fn assert_harmless(bytes: &[u8], what: &dyn std::fmt::Debug) -> String {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|why| panic!("{what:?}: {why}"));
    let text = text.replace("\r\n", "\n");
    let harmful = text.find(|c| is_harmful(c) && c != '\n');
    if let Some(at) = harmful {
        let from = text[..at].rfind('\n').map_or(0, |at| at + 1);
        panic!("{what:?} says {:?}", text[from..].lines().next());
    }
    text
}

fn words<'a>(line: &'a str, more: &[&'a OsStr]) -> Vec<&'a OsStr> {
    line.split_whitespace().map(OsStr::new).chain(more.iter().copied()).collect()
}

#[test]
fn what_a_run_prints_is_harmless_in_every_format() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    for evil in EVIL {
        let param = OsString::from(format!("p={evil}"));
        for format in ["table", "json", "csv", "markdown"] {
            let line = format!("run x.ppl --format {format}");
            for stream in said(&scene, &words(&line, &[&param])) {
                assert_harmless(&stream, &(evil, format));
            }
        }
        let [plan, _] = said(&scene, &words("plan x.ppl --ops 5", &[&param]));
        assert_harmless(&plan, &(evil, "plan"));
        let [plan, _] = said(&scene, &words("plan x.ppl --ops 5 --format json", &[&param]));
        let plan = assert_harmless(&plan, &(evil, "plan"));
        serde_json::from_str::<serde_json::Value>(&plan).expect("JSON");
    }
}

#[test]
fn what_a_run_stores_is_harmless_and_gives_the_text_back() {
    for evil in EVIL {
        let scene = Scene::new().file("x.ppl", PROGRAM);
        let param = OsString::from(format!("p={evil}"));
        let line = "run x.ppl --out r --events --html page.html --quiet";
        said(&scene, &words(line, &[&param]));
        said(&scene, &words("report r --svg r/svg --data r/data", &[]));
        let mut files = vec![scene.path("page.html"), scene.path("r/run.json")];
        for folder in ["r/svg", "r/data"] {
            files.extend(
                fs::read_dir(scene.path(folder)).expect("there").map(|e| e.unwrap().path()),
            );
        }
        assert!(files.len() > 6, "{files:?}");
        for file in files {
            let bytes = fs::read(&file).expect("written");
            assert_harmless(&bytes, &(evil, file));
        }
        let stored = scene.json("r/run.json");
        assert_eq!(stored["rows"][0]["label"], evil);
        assert_eq!(stored["run"]["params"][0]["value"], evil);
        let [csv, _] = said(&scene, &words("report r --format csv", &[]));
        let mut table = csv::Reader::from_reader(&csv[..]);
        let first = table.records().next().expect("a row").expect("a table");
        assert_eq!(value(&first[0]), evil);
        assert!(!first[0].starts_with(['=', '+', '-', '@', '\t', '\r']), "{first:?}");
        let events = report::events::EventReader::open(&scene.path("r/events.parquet"));
        let mut events = events.expect("a table");
        assert!(events.by_ref().count() >= 3);
        assert!(events.labels().iter().any(|label| label == evil), "{:?}", events.labels());
        assert!(events.paths().iter().any(|path| path == evil.as_bytes()));
    }
}

/// Commands that repeat a word that the caller gave.
const REPEATING: [&str; 14] = [
    "",
    "--",
    "run",
    "check",
    "plan",
    "fmt",
    "report",
    "compare r",
    "ops",
    "programs",
    "pattern",
    "completions",
    "run @stress --seed",
    "run x.ppl --out",
];

#[test]
fn messages_about_words_of_the_command_line_are_harmless() {
    let scene = Scene::new().file("x.ppl", ";").file("r/run.json", "{}");
    let raw = OsString::from_vec(b"\xff\x9b31m\xc2".to_vec());
    for evil in EVIL.iter().step_by(3).map(OsString::from).chain([raw]) {
        for line in REPEATING {
            for word in [evil.clone(), joined("--", &evil), joined("no/", &evil)] {
                for stream in said(&scene, &words(line, &[&word])) {
                    assert_harmless(&stream, &(line, &word));
                }
            }
        }
    }
}

fn joined(begin: &str, end: &OsStr) -> OsString {
    let mut word = OsString::from(begin);
    word.push(end);
    word
}

#[test]
fn programs_and_folders_of_evil_names_are_harmless() {
    let raw = OsString::from_vec(b"\xff\x9b31m\xc2".to_vec());
    for evil in EVIL.iter().map(OsString::from).chain([raw]) {
        // No name of a file holds a slash, and none of these does.
        let scene = Scene::new().file("ok.ppl", "write(\"a\", 1);");
        fs::create_dir(scene.path(".").join(&evil)).expect("made");
        fs::write(scene.path(".").join(&evil).join("file"), "").expect("written");
        let name = joined("", &evil);
        fs::write(scene.path(".").join(joined("x", &evil)), "print \"a\"; writ(1); stat(\"a\")")
            .unwrap();
        fs::write(scene.path(".").join(joined("y", &evil)), "stat(\"a\");   stat(\"b\");").unwrap();
        let [wrong, right] = [joined("x", &evil), joined("y", &evil)];
        let new = joined("new", &evil);
        for (line, word) in [
            ("check", &wrong),
            ("check --format json", &wrong),
            ("run", &wrong),
            ("fmt", &wrong),
            ("fmt --check", &right),
            ("run", &right),
            ("run --format json", &right),
            ("run ok.ppl --dir", &name),
            ("run ok.ppl --dir", &new),
            ("run ok.ppl --format json --dir", &new),
            ("run ok.ppl --out", &name),
            ("run ok.ppl --out", &joined("out", &evil)),
            ("report", &joined("out", &evil)),
            ("report", &name),
            ("run ok.ppl --html", &name),
        ] {
            for stream in said(&scene, &words(line, &[word])) {
                assert_harmless(&stream, &(line, word));
            }
        }
    }
}

#[test]
fn diagnostics_draw_harmless_lines() {
    for evil in EVIL {
        let text = format!(
            "// {evil}\nwrit(\"{evil}\"); $y = \"{evil}\" + $nope; include \"{evil}\";\n{evil}\n"
        );
        let scene = Scene::new().file("x.ppl", &text);
        for line in ["check x.ppl", "check x.ppl --format json", "run x.ppl", "fmt x.ppl"] {
            for stream in said(&scene, &words(line, &[])) {
                assert_harmless(&stream, &(line, evil));
            }
        }
    }
}

/// On a terminal colours and the progress are ours; everything else is not.
#[test]
fn a_terminal_gets_no_sequences_but_ours() {
    let works = Command::new("script").args(["-qec", "true", "/dev/null"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        return skip("script is not installed");
    }
    let scene = Scene::new().file("x.ppl", PROGRAM);
    for evil in EVIL.iter().filter(|evil| !evil.contains('\n')) {
        fs::write(scene.path("y.ppl"), format!("writ(\"{evil}\"); // {evil}\n")).unwrap();
        fs::write(scene.path("z.ppl"), format!("print \"{evil}\"; // {evil}\n")).unwrap();
        for line in [
            "run x.ppl \"p=$EVIL\"",
            "check y.ppl",
            "fmt --stdout z.ppl",
            "run \"$EVIL\"",
            "\"--$EVIL\"",
        ] {
            let mut command = Command::new("script");
            command.args(["-qec", &format!("{PARABENCH} {line}"), "/dev/null"]);
            command.env("EVIL", evil).env("TERM", "xterm").current_dir(scene.path("."));
            let output = command.output().expect("it runs").stdout;
            let text = without_ours(&String::from_utf8_lossy(&output));
            assert_harmless(text.as_bytes(), &(line, evil));
            assert!(!text.contains("\u{fffd}") || line.contains("y.ppl"), "{line}: {text}");
        }
    }
}

/// The text without colours, and without what moves and redraws the progress line. None of [`EVIL`] is one
/// of these but the first, which is left.
fn without_ours(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(after.len());
        let (numbers, letter) = (&after[..end], after[end..].chars().next());
        let is_ours = matches!(letter, Some('m' | 'K' | 'A')) && numbers != "7";
        if !is_ours {
            out.push_str("\x1b[");
        }
        rest = &after[if is_ours { end + 1 } else { 0 }..];
    }
    (out + rest).replace('\r', "")
}

/// Raw bytes of a program's strings.
#[test]
fn bytes_that_are_not_utf8_do_not_reach_a_terminal() {
    let text = "$b = \"\\xff\\x9b31m\\x1b]0;x\\x07\"; print $b; time[\"$b\"] stat(\"no $b\"); assert(1 == 2, \"$b\");";
    let scene = Scene::new().file("x.ppl", text);
    for format in ["table", "json", "markdown"] {
        for stream in said(&scene, &words(&format!("run x.ppl --format {format}"), &[])) {
            assert_harmless(&stream, &format);
        }
    }
    let [out, _] = said(&scene, &words("run x.ppl", &[]));
    let out = String::from_utf8(out).expect("UTF-8");
    assert!(out.contains("[0] \\xff\\x9b31m\\x1b]0;x\\x07\n"), "{out}");
}
