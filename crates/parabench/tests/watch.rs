//! Programs that are executed to be looked at: what the studio's See and Step draw.
//!
//! The lanes and maps of See are made from events: these are those of a run on mem, operation by operation, and the
//! tiles are those of its page. `UPDATE_GOLDEN=1` rewrites the scenes in `web/tests/scenes`, which the tests of the
//! script draw.

#[path = "cli/scene.rs"]
#[allow(dead_code)] // The command line's tests use the rest.
mod scene;

use engine::config::Config;
use engine::watch::{Limits, step, watch};
use model::event::NO_ID;
use model::watched::{RankState, Snapshot, Target, Watched};
use model::{Event, Plan};
use parabench::compile::{Places, ProgramArgs, Ranks, Seed, compile};
use parabench::program::Text;
use ppl::Compiled;
use report::events::{EventReader, encode};
use scene::{Scene, root};
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// Everything is executed.
fn whole() -> Limits {
    let time = Duration::from_secs(600);
    Limits { operations: u64::MAX, steps: u64::MAX, time, ..Limits::default() }
}

/// A program without mistakes; `params`: words such as "num=7".
#[track_caller]
fn compiled(text: &str, params: &str, ranks: u32) -> Compiled {
    let params = params.split_whitespace().filter_map(|word| word.split_once('='));
    let params = params.map(|(name, value)| (name.into(), value.into())).collect();
    let (groups, include_dirs, mounts) = (Vec::new(), Vec::new(), Vec::new());
    let (program, seed) = ("x.ppl".into(), Seed::Given(42));
    let args = ProgramArgs { program, params, paper: false, groups, include_dirs, mounts, seed };
    let text = Text { name: "x.ppl".into(), bytes: text.into() };
    let ranks = Ranks { count: ranks, assumed: false, machines: Vec::new() };
    let compiled = compile(text, &args, ranks, Places::default(), true);
    assert!(compiled.plan.is_some(), "{:?}", compiled.diagnostics);
    compiled
}

/// Programs of a folder, by name.
fn programs(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "ppl"));
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("a program"))
    };
    paths.into_iter().map(read).collect()
}

/// Values for programs that take long as they are.
fn small(name: &str) -> &'static str {
    match name {
        "listing1" | "stress" => "num=7",
        "olap" => "indexes=1",
        "team" | "static" => "bytes=256k chunk=64k block=16k",
        "dlio" => "num_files_train=20 batch_size=2 scale=10000",
        "kafka" => "batches=40 segment_bytes=64k retention_segments=2",
        "filebench" => "loops=3 nfiles=4 filesize=4k",
        "io500" => "easy_block=64k easy_transfer=16k hard_segments=2 easy_n=5 hard_n=5",
        "ior" => "b=64k t=16k",
        "vmimage" => "size=1m kernel=256k operations=20",
        _ => "",
    }
}

/// An event without numbers that have a meaning only beside their tables.
type Happened = (u32, Event, String, [Option<String>; 2]);

fn happened(rank: u32, event: Event, label: Option<&str>, paths: [Option<&[u8]>; 2]) -> Happened {
    let plain = Event { label: 0, path: 0, path2: 0, extents: 0, ..event };
    let paths = paths.map(|path| path.map(|path| encode(path).into_owned()));
    (rank, plain, label.unwrap_or("").into(), paths)
}

fn stored(scene: &Scene) -> Vec<Happened> {
    let mut reader = EventReader::open(&scene.path("results")).expect("an event table");
    let mut found = Vec::new();
    while let Some(row) = reader.next() {
        let row = row.expect("a sound event");
        let label = reader.labels().get(row.event.label as usize).map(|label| &**label);
        let path = |id: u32| reader.paths().get(id as usize).map(|path| &**path);
        let paths = [row.event.path, row.event.path2].map(path);
        found.push(happened(row.rank, row.event, label, paths));
    }
    found
}

fn seen(watched: &Watched) -> Vec<Happened> {
    let mut found = Vec::new();
    for (rank, one) in (0..).zip(&watched.ranks) {
        for event in &one.events {
            let label = one.labels.get(event.label as usize).filter(|_| event.label != NO_ID);
            let label = label.map(|label| std::str::from_utf8(label).expect("text"));
            let path = |id: u32| one.paths.get(id as usize).map(|path| &**path);
            found.push(happened(rank, *event, label, [event.path, event.path2].map(path)));
        }
    }
    found
}

/// See draws what a run on mem records.
#[track_caller]
fn assert_seen(name: &str, text: &str, ranks: u32) {
    let scene = Scene::new().file("x.ppl", text);
    let params = small(name);
    let line = format!("run x.ppl {params} -n {ranks} --backend mem --out results --events");
    let done = scene.parabench(&line);
    assert!(matches!(done.code, Some(0 | 1)), "{name}: {}", done.err);
    let plan = compiled(text, params, ranks).plan.expect("a plan");
    let watched = watch(&plan, &Config::default(), false, whole()).expect("watched");
    let (stored_events, seen_events) = (stored(&scene), seen(&watched));
    for (stored, seen) in stored_events.iter().zip(&seen_events) {
        assert_eq!(stored, seen, "{name} on {ranks} ranks");
    }
    assert_eq!(stored_events.len(), seen_events.len(), "{name} on {ranks} ranks");
    let run = report::store::read(&scene.path("results")).expect("a run");
    assert_eq!(run.rows, watched.run.rows, "{name} on {ranks} ranks");
    assert_eq!(run.times, watched.run.times, "{name} on {ranks} ranks");
    let tiles = page::aggregate::aggregate(&scene.path("results"), &run).expect("a table");
    let tiles = tiles.map_or(String::new(), |tiles| tiles.time_line());
    let drawn = page::scene::Scene::new(&plan, &watched).time_line();
    assert!(tiles == drawn, "{name} on {ranks} ranks: other tiles\n{tiles}\n{drawn}");
}

#[test]
fn shipped_programs_and_examples_are_seen_as_a_run_on_mem_records_them() {
    let mut seen = 0;
    for folder in ["programs", "examples"] {
        for (name, text) in programs(folder) {
            // MPI-IO needs MPI, groups need members.
            let least = if name == "groups" { 2 } else { 1 };
            for ranks in [least, 4] {
                if !name.starts_with("listing2") {
                    assert_seen(&name, &text, ranks);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen >= 80, "only {seen}");
}

fn see(text: &str, params: &str, ranks: u32) -> Value {
    let plan = compiled(text, params, ranks).plan.expect("a plan");
    let limits = Limits { time: Duration::from_secs(600), ..Limits::default() };
    let watched = watch(&plan, &Config::default(), false, limits).expect("watched");
    serde_json::from_str(&page::scene::Scene::new(&plan, &watched).to_json()).expect("JSON")
}

const STRIDED: &str =
    "define pattern \"p\" level 0 { repeat $i 8 extent(($i * $$gsize + $$grank) * 64k, 64k); }
$h = fopen(\"shared\", \"O_RDWR|O_CREAT\");
time[\"strided\"] fwrite($h, \"p\");
fclose($h);
";
const SEGMENTED: &str =
    "define pattern \"p\" level 0 { repeat $i 8 extent(($$grank * 8 + $i) * 64k, 64k); }
$h = fopen(\"shared\", \"O_RDWR|O_CREAT\");
time[\"segmented\"] fwrite($h, \"p\");
fclose($h);
";
const OVERLAP: &str = "$h = fopen(\"shared\", \"O_RDWR|O_CREAT\");
time[\"write\"] fwrite($h, 96k, $$rank * 64k);
master fwrite($h, 4k, 1m);
fclose($h);
";
const DEADLOCK: &str = "time[\"out\"] write(\"f-$$rank\", 64k);
if ($$rank == 0) sleep(1ms); else barrier;
time[\"in\"] read(\"g-$$rank\");
";

#[test]
fn the_map_shows_who_touches_which_bytes() {
    let pieces = |scene: &Value| scene["files"][0]["layers"][0]["pieces"].clone();
    let strided = see(STRIDED, "", 2);
    assert_eq!(
        pieces(&strided),
        serde_json::json!([[0, 0, 65536, 131_072, 8], [1, 65536, 65536, 131_072, 8]])
    );
    let segmented = see(SEGMENTED, "", 2);
    assert_eq!(
        pieces(&segmented),
        serde_json::json!([[0, 0, 65536, 65536, 8], [1, 524_288, 65536, 65536, 8]])
    );
    for scene in [&strided, &segmented] {
        let layer = &scene["files"][0]["layers"][0];
        assert_eq!((&layer["overlap_bytes"], &layer["gap_bytes"]), (&0.into(), &0.into()));
        assert_eq!(layer["touched_bytes"], 1 << 20);
    }
    let layer = &see(OVERLAP, "", 3)["files"][0]["layers"][0];
    let overlaps = serde_json::json!([[65536, 98304, 2], [131_072, 163_840, 2]]);
    assert_eq!(layer["overlaps"], overlaps);
    assert_eq!(layer["gaps"], serde_json::json!([[229_376, 1_048_576]]));
}

#[test]
fn barriers_and_signals_say_who_waited_for_whom() {
    let text = "sleep(1ms * $$rank); barrier; if ($$rank == 0) { sleep(5ms); signal(\"go\"); } else wait(\"go\");";
    let scene = see(text, "", 3);
    let met = &scene["meetings"][0];
    assert_eq!((&met["late_rank"], &met["members"]), (&2.into(), &3.into()));
    assert_eq!((&met["ns"], &met["spread_ns"]), (&2_000_000.into(), &2_000_000.into()));
    let waits = &scene["lanes"][1]["waits"];
    assert_eq!((&waits[0]["kind"], &waits[0]["for_rank"]), (&"barrier".into(), &2.into()));
    assert_eq!((&waits[1]["kind"], &waits[1]["for_rank"]), (&"signal".into(), &0.into()));
    let signals = scene["signals"].as_array().expect("signals");
    let got: Vec<_> = signals.iter().map(|one| (&one["given_ns"], &one["got_ns"])).collect();
    assert_eq!(got, [(&7_000_000.into(), &7_000_000.into()); 2]);
}

#[test]
fn what_fails_is_found_with_its_place_and_ranks() {
    let scene = see(DEADLOCK, "", 3);
    let findings = scene["findings"].as_array().expect("findings");
    let never = findings.iter().find(|one| one["place"]["line"] == 2).expect("the barrier");
    assert_eq!((&never["kind"], &never["ranks"]), (&"failure".into(), &serde_json::json!([1, 2])));
    assert!(
        findings.iter().any(|one| one["message"].to_string().contains("ENOENT")),
        "{findings:#?}"
    );
    assert_eq!(scene["lanes"][1]["waits"][0]["never"], true);
}

#[test]
fn long_programs_are_cut_and_say_so() {
    let text = "repeat $i 1000000 write(\"f-$i\", 1k);";
    let scene = see(text, "", 4);
    assert_eq!((&scene["whole"], &scene["operations"]), (&false.into(), &60_000.into()));
    assert_eq!(scene["about"], "the first 60,000 of about 4,000,000 operations");
    let endless = see("while (true) { $x = 1; }", "", 2);
    assert_eq!(
        (&endless["whole"], &endless["about"]),
        (&false.into(), &"the first 0 operations".into())
    );
}

/// Pauses of a program.
struct Steps {
    compiled: Compiled,
    plan: Plan,
}

impl Steps {
    #[track_caller]
    fn new(text: &str, ranks: u32) -> Steps {
        let mut compiled = compiled(text, "", ranks);
        let plan = compiled.plan.take().expect("a plan");
        Steps { compiled, plan }
    }

    fn to(&self, target: &Target) -> Snapshot {
        let statements = ppl::statements(&self.compiled.ast, &self.compiled.sources);
        step(&self.plan, &Config::default(), statements, target).expect("a state")
    }

    fn at(&self, position: u64) -> Snapshot {
        self.to(&Target::Position { position })
    }

    /// Rank and text of the statement that is executed next.
    fn next(&self, snapshot: &Snapshot) -> Option<(u32, String)> {
        let next = snapshot.next.as_ref()?;
        let text = self.compiled.sources.files()[0].text.lines().nth(next.place.line - 1)?;
        assert_eq!(next.place.line, next.place.end_line);
        let letters = next.place.end_column - next.place.column;
        let part = text.chars().skip(next.place.column - 1).take(letters).collect();
        Some((next.rank, part))
    }
}

fn value<'a>(rank: &'a RankState, name: &str) -> Option<&'a str> {
    let found = rank.variables.iter().find(|one| one.name == name).expect(name);
    found.value.as_deref()
}

#[test]
fn each_statement_is_a_step() {
    let steps = Steps::new(
        "$n = $$rank + 2;
mkdir(\"d\");
define proc save($i) { write(\"d/f-$i\", $i * 1k); }
time[\"out\"] repeat $i $n {
    if ($i == 1) save($i);
}
$h = fopen(\"d/f-1\", \"r+\");
fseek($h, 100);
print \"done\", $n;
fclose($h);
",
        1,
    );
    let mut texts = Vec::new();
    for position in 0.. {
        let snapshot = steps.at(position);
        assert_eq!(snapshot.position, position);
        let Some((_, text)) = steps.next(&snapshot) else { break };
        texts.push(text);
    }
    let expected = [
        "$n = $$rank + 2;",
        "mkdir(\"d\");",
        "time[\"out\"]",
        "repeat $i $n",
        "if ($i == 1)",
        "if ($i == 1)",
        "save($i);",
        "write(\"d/f-$i\", $i * 1k);",
        "$h = fopen(\"d/f-1\", \"r+\");",
        "fseek($h, 100);",
        "print \"done\", $n;",
        "fclose($h);",
    ];
    assert_eq!(texts, expected);
    let inside = &steps.at(7).ranks[0];
    assert_eq!((value(inside, "n"), value(inside, "h")), (Some("2"), None));
    assert_eq!((&*inside.label, inside.calls.len(), inside.calls[0].line), ("out", 1, 5));
    let own = inside.variables.iter().find(|one| one.proc == "save").expect("an argument");
    assert_eq!((&*own.name, own.value.as_deref()), ("i", Some("1")));
    let open = steps.at(10);
    let file = &open.ranks[0].files[0];
    assert_eq!((&*file.path, file.position, file.size_bytes), ("d/f-1", 100, 1024));
    assert_eq!((&*file.flags, &file.variables[..]), ("r+", &["$h".to_string()][..]));
    let tree: Vec<_> = open.tree.iter().map(|one| (&*one.path, one.kind, one.size_bytes)).collect();
    assert_eq!(tree, [("d", "directory", 0), ("d/f-1", "file", 1024)]);
    assert_eq!((&*open.printed, &*steps.at(11).printed), ("", "[0] done 2\n"));
    let end = steps.at(99);
    assert_eq!((end.finished, end.position, end.ranks[0].state), (true, 12, "finished"));
}

#[test]
fn a_step_over_leaves_what_is_inside_and_breaks_are_met() {
    let text = "define proc twice($x) {
    $y = $x * 2;
    write(\"f-$$rank\", $y);
}
repeat $i 3 {
    twice($i + 1);
    barrier;
}
print \"end\";
";
    let steps = Steps::new(text, 2);
    let line =
        |from, line, rank| steps.to(&Target::Line { from, file: "x.ppl".into(), line, rank });
    let call = line(0, 6, Some(1));
    assert_eq!(steps.next(&call), Some((1, "twice($i + 1);".into())));
    let behind = steps.to(&Target::Over { from: call.position, rank: 1 });
    assert_eq!(steps.next(&behind), Some((1, "barrier;".into())));
    let next = steps.to(&Target::Rank { from: call.position, rank: 1 });
    assert_eq!(steps.next(&next), Some((1, "$y = $x * 2;".into())));
    let start = steps.at(0);
    assert_eq!(steps.next(&start), Some((0, "repeat $i 3".into())));
    let end = steps.to(&Target::Over { from: 0, rank: 0 });
    assert_eq!(steps.next(&end), Some((0, "print \"end\";".into())));
    // A rank that came to the barrier first waits there.
    let waiting = line(0, 6, Some(1));
    let state = &steps.to(&Target::Rank { from: waiting.position, rank: 1 }).ranks[0];
    assert!(state.why == "a barrier" || state.state == "ready", "{state:?}");
    // Positions are where they were reached, whatever way.
    let mut position = 0;
    for _ in 0..20 {
        let next = steps.to(&Target::Next { from: position });
        assert_eq!(next.position, position + 1);
        assert_eq!(next, steps.at(next.position));
        position = next.position;
    }
}

#[test]
fn ranks_that_wait_and_programs_without_an_end_are_shown() {
    let steps = Steps::new(DEADLOCK, 2);
    let barrier = Target::Line { from: 0, file: "x.ppl".into(), line: 3, rank: Some(0) };
    let inside = Target::Rank { from: steps.to(&barrier).position, rank: 0 };
    let paused = steps.to(&inside);
    assert_eq!((paused.ranks[1].state, &*paused.ranks[1].why), ("waiting", "a barrier"));
    assert_eq!(paused.ranks[1].place.as_ref().map(|place| place.line), Some(2));
    let end = steps.at(1000);
    assert!(end.finished && end.next.is_none());
    assert_eq!((end.ranks[0].state, end.ranks[1].state), ("finished", "released"));
    assert!(end.ranks[1].why.contains("rank 0 has finished"), "{}", end.ranks[1].why);
    let endless = Steps::new("$x = 0; while (true) { $x += 1; }", 1);
    let limit = endless.to(&Target::Line { from: 0, file: "x.ppl".into(), line: 9, rank: None });
    assert!(limit.limit && !limit.finished && limit.position > 1000);
}

/// Scenes that the tests of the script draw.
#[test]
fn scenes_of_the_script_are_the_golden_ones() {
    let text = |path: &str| fs::read_to_string(root().join(path)).expect("a program");
    let listing2 = text("examples/listing2-corrected.ppl");
    let scenes = [
        ("listing1", see(&text("examples/listing1.ppl"), "num=7", 2)),
        ("listing2", see(&listing2, "", 4)),
        ("strided", see(STRIDED, "", 4)),
        ("segmented", see(SEGMENTED, "", 4)),
        ("overlap", see(OVERLAP, "", 4)),
        ("ior", see(&text("programs/ior.ppl"), "b=64k t=16k", 4)),
        ("team", see(&text("programs/team.ppl"), small("team"), 4)),
        ("signals", see(&text("examples/signals.ppl"), "pieces=5", 3)),
        ("deadlock", see(DEADLOCK, "", 3)),
        ("cut", see("time[\"all\"] repeat $i 1000000 write(\"f\", 1k, $i * 1k);", "", 2)),
    ];
    let json = |snapshot: &Snapshot| serde_json::to_value(snapshot).expect("JSON");
    let signals = Steps::new(&text("examples/signals.ppl"), 3);
    let listing2 = Steps::new(&listing2, 4);
    let line = |line| Target::Line { from: 0, file: "x.ppl".into(), line, rank: None };
    let states = [
        ("step-signals", json(&signals.at(40))),
        ("step-files", json(&listing2.to(&line(27)))),
        ("step-end", json(&Steps::new(DEADLOCK, 3).at(1000))),
    ];
    let folder = root().join("web/tests/scenes");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for (name, found) in scenes.into_iter().chain(states) {
        let path = folder.join(format!("{name}.json"));
        let found = format!("{found}\n");
        if update {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(&path, &found).expect("written");
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == golden, "{name} differs; UPDATE_GOLDEN=1 rewrites it\n{found}");
    }
}
