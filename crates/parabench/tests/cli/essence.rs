//! What a run does, without its times: what must be the same whoever executes it.

use crate::figures::{Happened, counts, events};
use crate::scene::{Call, Scene, root};
use crate::schema::run_object;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// What does not depend on time and machine.
#[derive(Debug, PartialEq)]
pub struct Essence {
    pub code: i32,
    pub counts: BTreeMap<(String, String), [u64; 5]>,
    pub events: Vec<Happened>,
    /// Occurrences by label, and their ranks.
    pub times: BTreeMap<(String, u64), u64>,
    pub failures: Vec<String>,
    pub printed: Vec<String>,
}

impl Essence {
    /// Nothing is different; the parts one by one, so that what differs can be read.
    #[track_caller]
    pub fn assert_is(&self, other: &Essence, what: &str) {
        assert_eq!(self.counts, other.counts, "{what}");
        assert_eq!(self.times, other.times, "{what}");
        assert_eq!(self.printed, other.printed, "{what}");
        assert_eq!(self.failures, other.failures, "{what}");
        for (own, other) in self.events.iter().zip(&other.events) {
            assert_eq!(own, other, "{what}");
        }
        assert!(self == other, "{what}: exit codes {} and {}", self.code, other.code);
    }
}

/// A program whose ranks wait for each other by barriers, signals and groups, so many times. Of
/// one file the stat fails.
pub fn waiting(turns: u32) -> String {
    WAITING.replace("TURNS", &turns.to_string())
}

const WAITING: &str = "define groups {\"left\":D, \"right\":D};\n\
    repeat $turn TURNS {\n\
        $next = ($$rank + 1) % $$size;\n\
        time[\"give\", sync] write(\"turn-$turn-$$rank\", 1000 * ($$rank + 1));\n\
        time[\"take\", sync] read(\"turn-$turn-$next\");\n\
        if ($$rank == 0) { write(\"token-$turn\", 1); signal(\"go\", to=1); }\n\
        else { wait(\"go\"); append(\"token-$turn\", 1); if ($next > 0) signal(\"go\", to=$next); }\n\
        group \"left\" { master delete(\"turn-$turn-0\"); barrier; stat(\"turn-$turn-0\"); }\n\
        group \"right\" { print $$grank, $$gsize, $$crand; signal(\"here\"); wait(\"here\", $$gsize); }\n\
        barrier;\n\
        ctime[\"size\"] stat(\"token-$turn\");\n\
    }\n\
    master { repeat $turn TURNS assert(size(\"token-$turn\") == $$size, \"a token was lost\"); }\n";

/// A program that divides its ranks in every way, in groups and in itself, by loops too.
pub const DIVIDED: &str = "define groups {\"left\":D, \"right\":D};\n\
    $row = $$rank / 2;\n\
    split ($row) {\n\
        master mkdir(\"row-$row\");\n\
        if ($row == 1) barrier;\n\
        barrier;\n\
        time[\"rows\", sync] write(\"row-$row/file-$$grank\", 1000 * ($$gsize + $row));\n\
        print $row, gsum($$rank), $$grank, $$gsize, $$crand, \"$$group\";\n\
        signal(\"here\"); wait(\"here\", $$gsize);\n\
        signal(\"next\", to=($$grank + 1) % $$gsize); wait(\"next\");\n\
    }\n\
    repeat $bit 3 {\n\
        $half = ($$rank / 2 ^ $bit) % 2;\n\
        split ($half) { print $bit, $half, gmin($$rank), gmax($$rank), gsum(1), $$crand; barrier; }\n\
    }\n\
    group \"left\" split ([5, 9, 5, 1][$$grank % 4]) print \"left\", gsum($$rank), \"$$group\";\n\
    split ($$rank > 0) group \"right\" { print \"right\", gsum($$rank), \"$$group\"; barrier; }\n\
    define proc halve() {\n\
        if ($$gsize > 1) split ($$grank * 2 / $$gsize) { print \"half\", $$gsize, gmin($$rank); halve(); }\n\
    }\n\
    halve();\n\
    define pattern \"p\" level 0 { repeat $i 3 extent(($i * $$gsize + $$grank) * 1k, 1k); }\n\
    $third = $$rank % 3;\n\
    split ($third) { $h = fopen(\"third-$third\", \"O_RDWR|O_CREAT\"); fwrite($h, \"p\"); fclose($h); }\n\
    barrier;\n\
    master repeat $i 3 assert(size(\"third-$i\") == 3k * (($$size + 2 - $i) / 3), \"a hole in $i\");\n";

/// Runs a program in a folder of its own and gives what happened; `line`: options behind it.
pub fn run(text: &str, line: &str) -> (Value, Essence) {
    run_with(text, |scene, all| scene.call(&format!("run x.ppl {line} {all}")))
}

/// The same with a call made by `call` from the scene and the options that are needed.
pub fn run_with(text: &str, call: impl FnOnce(&Scene, &str) -> Call) -> (Value, Essence) {
    let scene = Scene::new().file("x.ppl", text).file("foreign/here", "");
    let done = call(&scene, "--out results --events --format json").run();
    let run = run_object(&done);
    let mut printed: Vec<String> =
        done.err.lines().filter(|line| line.starts_with('[')).map(str::to_string).collect();
    printed.sort();
    let mut failures: Vec<String> = run["run"]["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| format!("{} {} {} {}", f["place"], f["op"], f["path"], f["errno"]))
        .collect();
    // Which of several ranks is told first is a matter of time.
    failures.sort();
    failures.dedup();
    let times = run["times"].as_array().unwrap().iter().map(|time| {
        let label = time["label"].as_str().unwrap().to_string();
        ((label, time["index"].as_u64().unwrap()), time["ranks"].as_u64().unwrap())
    });
    let essence = Essence {
        code: done.code.unwrap(),
        counts: counts(&run),
        events: events(&scene, "results"),
        times: times.collect(),
        failures,
        printed,
    };
    (run, essence)
}

/// Programs of a folder that run on POSIX back-ends.
pub fn programs(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "ppl"));
    paths.retain(|path| !path.to_string_lossy().contains("listing2"));
    paths.sort();
    let named = paths.into_iter().map(|path| {
        (
            path.file_stem().unwrap().to_string_lossy().into_owned(),
            fs::read_to_string(path).unwrap(),
        )
    });
    named.collect()
}

/// Sizes small enough for a test, as lines in place of the program's own.
pub fn small(text: &str) -> String {
    let mut made = String::new();
    for line in text.lines() {
        let new = match line {
            line if line.starts_with("param $num = ") => "param $num = 7;",
            line if line.starts_with("param $indexes = ") => "param $indexes = 1;",
            line if line.starts_with("param $size = 4m") => "param $size = 64k;",
            line if line.starts_with("param $size = 16m") => "param $size = 2m;",
            line if line.starts_with("param $blocks = ") => "param $blocks = 24;",
            line if line.starts_with("define param \"num\"") => "define param \"num\" $num \"7\"",
            line => line,
        };
        let _ = writeln!(made, "{new}");
    }
    made
}

/// All ranks of these work on the same names, or on what they claim first.
pub fn shares_names(name: &str) -> bool {
    matches!(name, "hello" | "listing1" | "sharing")
}

/// The order of operations is that of requests under way, or of names in a directory of the file system.
pub fn has_no_order(name: &str) -> bool {
    matches!(name, "dlio" | "git" | "io500" | "maildir" | "static" | "team" | "vmimage")
}
