//! The same program gives the same counts, bytes, offsets and errors whoever executes it: one
//! process, several, or ranks simulated on files in memory.
//!
//! `tests/cli/golden.rs` holds whole runs on mem byte for byte; here the communicators and
//! back-ends are held against each other, on shipped, golden and made-up programs.

use crate::figures::{Happened, counts, events};
use crate::scene::{Scene, root};
use crate::schema::run_object;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// What does not depend on time and machine.
#[derive(Debug, PartialEq)]
struct Essence {
    code: i32,
    counts: BTreeMap<(String, String), [u64; 5]>,
    events: Vec<Happened>,
    /// Occurrences by label, and their ranks.
    times: BTreeMap<(String, u64), u64>,
    failures: Vec<String>,
    printed: Vec<String>,
}

fn run(text: &str, options: &str) -> (Value, Essence) {
    let scene = Scene::new().file("x.ppl", text).file("foreign/here", "");
    let line = format!("run x.ppl {options} --out results --events --format json");
    let done = scene.parabench(&line);
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

/// On `ranks` ranks the program is the same as processes and simulated.
#[track_caller]
fn assert_same(name: &str, text: &str, ranks: u32) -> Essence {
    let (run_posix, posix) = run(text, &format!("-n {ranks}"));
    let (run_mem, mem) = run(text, &format!("-n {ranks} --backend mem"));
    let comm = if ranks == 1 { "solo" } else { "local" };
    assert_eq!(run_posix["run"]["comm"], comm);
    assert_eq!(run_mem["run"]["comm"], "sim");
    assert_eq!(posix.counts, mem.counts, "{name} on {ranks} ranks\n{text}");
    assert_eq!(posix.times, mem.times, "{name} on {ranks} ranks\n{text}");
    assert_eq!(posix.printed, mem.printed, "{name} on {ranks} ranks\n{text}");
    assert_eq!(posix.failures, mem.failures, "{name} on {ranks} ranks\n{text}");
    for (posix, mem) in posix.events.iter().zip(&mem.events) {
        assert_eq!(posix, mem, "{name} on {ranks} ranks\n{text}");
    }
    assert!(posix == mem, "{name} on {ranks} ranks\n{text}");
    posix
}

/// Programs of a folder that run on POSIX back-ends.
fn programs(folder: &str) -> Vec<(String, String)> {
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
fn small(text: &str) -> String {
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

/// All ranks of these work on the same names.
fn shares_names(name: &str) -> bool {
    matches!(name, "hello" | "listing1")
}

#[test]
fn shipped_programs_and_examples_are_the_same_everywhere() {
    let mut seen = 0;
    for folder in ["programs", "examples"] {
        for (name, text) in programs(folder) {
            let text = small(&text);
            for ranks in [1, 4] {
                if ranks == 1 && name == "groups" || ranks == 4 && shares_names(&name) {
                    // Groups of nobody, or ranks that come in any order.
                    continue;
                }
                seen += 1;
                assert_same(&name, &text, ranks);
            }
        }
    }
    assert!(seen >= 15, "only {seen}");
}

/// All ranks of these use names of their own, or wait for each other.
#[test]
fn a_hundred_made_up_programs_are_the_same_everywhere() {
    let mut failing = 0;
    for seed in 0..100 {
        let text = MadeUp::program(seed);
        let ranks = [1, 2, 3][seed as usize % 3];
        let essence = assert_same(&format!("program {seed}"), &text, ranks);
        assert!(!essence.events.is_empty());
        failing += u32::from(essence.code == 1);
    }
    // Failures are part of what is compared; not all programs may be such.
    assert!((5..100).contains(&failing), "{failing} of 100 fail");
}

/// Resolving every path beneath the directory, under Landlock, changes nothing of what happens.
#[test]
fn a_confined_run_is_the_same() {
    for seed in 200..215 {
        let text = MadeUp::program(seed);
        let (_, free) = run(&text, "-n 2");
        // A directory that is taken with --force may hold links, so no path of it is trusted.
        let (confined, guarded) = run(&text, "-n 2 --dir foreign --force");
        assert_eq!(confined["run"]["evidence"]["confinement"], "landlock");
        assert!(free == guarded, "program {seed}\n{text}\n{free:#?}\n{guarded:#?}");
    }
}

/// Ranks that wait for each other by barriers, signals and groups see the same files.
#[test]
fn ranks_that_wait_for_each_other_are_the_same_everywhere() {
    let text = "define groups {\"left\":D, \"right\":D};\n\
        repeat $turn 6 {\n\
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
        master { repeat $turn 6 assert(size(\"token-$turn\") == $$size, \"a token was lost\"); }\n";
    for ranks in [2, 5, 9] {
        let essence = assert_same("waiting", text, ranks);
        assert_eq!(essence.code, 1, "stats of the deleted file fail");
        let takes = essence.counts[&("take".to_string(), "read".to_string())];
        let bytes = 6 * 1000 * u64::from(ranks * (ranks + 1) / 2);
        assert_eq!(takes, [6 * u64::from(ranks), 0, 0, 0, bytes]);
    }
}

/// One rank of many does as one alone, where ranks have nothing to do with each other.
#[test]
fn a_rank_of_many_does_as_one_alone() {
    for seed in 100..110 {
        let text = MadeUp::program(seed).replace("$$rank", "0");
        let (_, alone) = run(&text, "-n 1");
        // Ranks in directories of their own, because they now share all names.
        let apart =
            format!("mkdir(\"own-$$rank\");\n{}", text.replace("name-", "own-$$rank/name-"));
        let (_, many) = run(&apart, "-n 3 --backend mem");
        let of_rank_0 = many.events.iter().filter(|event| event.rank == 0).skip(1);
        let ops = |event: &Happened| (event.op, event.offset_bytes, event.done_bytes, event.errno);
        let of_rank_0: Vec<_> = of_rank_0.map(ops).collect();
        let of_one: Vec<_> = alone.events.iter().map(ops).collect();
        assert_eq!(of_rank_0, of_one, "program {seed}\n{text}");
    }
}

/// Programs from a seed: loops, conditions, labels, procs, all kinds of operations.
struct MadeUp {
    state: u64,
    text: String,
    depth: u32,
    loops: u32,
}

impl MadeUp {
    fn program(seed: u64) -> String {
        let text = "define proc p($f, $n) { append($f, $n); if ($n % 2 == 0) { stat($f); } }\n\
                    define groups {\"g\":D, \"h\":D};\n$n = 3;\n";
        let mut made = MadeUp { state: seed, text: text.into(), depth: 0, loops: 0 };
        for _ in 0..12 {
            made.statement();
        }
        made.text
    }

    /// The next number below `n` (splitmix64, public domain, Vigna 2015).
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn say(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", self.depth as usize * 4);
    }

    /// A name of this rank alone; few enough that they are met again.
    fn name(&mut self) -> String {
        let number = self.below(4);
        format!("\"name-$$rank-{number}\"")
    }

    fn size(&mut self) -> String {
        let sizes = ["0", "1", "100", "4k", "$n * 10", "rand(1, 9000)", "5000 % ($n + 7)", "64k"];
        sizes[self.below(sizes.len() as u64) as usize].into()
    }

    fn block(&mut self, head: &str) {
        self.say(&format!("{head} {{"));
        self.depth += 1;
        for _ in 0..1 + self.below(3) {
            self.statement();
        }
        self.depth -= 1;
        self.say("}");
    }

    fn statement(&mut self) {
        match self.below(if self.depth < 3 { 30 } else { 20 }) {
            0..20 => self.operation(),
            20 | 21 => {
                self.loops += 1;
                let (variable, turns) = (self.loops, self.below(4));
                self.block(&format!("repeat $i{variable} {turns}"));
            }
            22 => self.block("repeat $j 10..40 step 9"),
            23 => self.block("time[\"label $n\"]"),
            24 => self.block("ctime[\"sum\"]"),
            25 => self.block("if ($$rank % 2 == 0)"),
            26 => self.block("with (expect=\"ENOENT,EEXIST\", transfer=2k)"),
            27 => self.block("master"),
            28 if self.depth == 0 => self.say("barrier;"),
            28 => self.say("$n = $n * 2 % 17;"),
            _ => self.say("$n = $n + 1; print $n, $$rank, $$rand, $$crand, perm($n % 5, 5);"),
        }
    }

    fn operation(&mut self) {
        let (a, b, n) = (self.name(), self.name(), self.size());
        let at = self.below(10_000);
        let text = match self.below(22) {
            0..4 => format!("write({a}, {n});"),
            4 => format!("write({a}, {n}, {at});"),
            5 => format!("append({a}, {n});"),
            6 => format!("read({a});"),
            7 => format!("read({a}, {n}, {at});"),
            8 => format!("create({a});"),
            9 => format!("stat({a});"),
            10 => format!("lookup({a});"),
            11 => format!("delete({a});"),
            12 => format!("rename({a}, {b});"),
            13 => format!("link({a}, {b});"),
            14 => format!("truncate({a}, {n});"),
            15 => format!("mkdir({a}); readdir({a});"),
            16 => format!("rmdir({a});"),
            17 => format!("p({a}, {n});"),
            18 => format!("chmod({a}, 420); utime({a});"),
            _ => format!(
                "$h = fopen({a}, \"a+\"); fwrite($h, {n}); fseek($h, {at}); fread($h, {n}); \
                 fstat($h); fread($h, 10, 0); fclose($h);"
            ),
        };
        self.say(&text);
    }
}
