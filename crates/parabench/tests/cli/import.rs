//! `parabench import`: a log goes in, a run with tables, events and pictures comes out.

use crate::scene::{Scene, root};
use crate::schema;
use report::events::EventReader;

/// Two processes; a file of each, one of both, one of the system, a call that has no operation.
const LOG: &str = r#"
17 1795253061.000000 execve("/usr/bin/app", ["app"], 0x7f /* 9 vars */) = 0 <0.000300>
17 1795253061.000400 openat(AT_FDCWD</data>, "/usr/lib/libc.so.6", O_RDONLY) = 3</usr/lib/libc.so.6> <0.000010>
17 1795253061.000500 openat(AT_FDCWD</data>, "a", O_RDWR|O_CREAT|O_EXCL, 0644) = 4</data/a> <0.000020>
17 1795253061.000600 clone(child_stack=NULL, flags=SIGCHLD) = 18 <0.000100>
18 1795253061.000800 write(4</data/a>, ""..., 4096) = 4096 <0.000030>
17 1795253061.000900 write(4</data/a>, ""..., 4096) = 4096 <0.000030>
17 1795253061.001000 flock(4</data/a>, LOCK_EX) = 0 <0.000030>
17 1795253061.001100 pread64(4</data/a>, ""..., 8192, 4096) = 4096 <0.000030>
what is this?
17 1795253061.001200 close(4</data/a>) = 0 <0.000010>
18 1795253061.001250 pread64(4</data/a>, ""..., 512, 0) = 512 <0.000010>
"#;

const EXCHANGE: &str = "17 1795253061.001300 renameat2(AT_FDCWD</data>, \"a\", AT_FDCWD</data>, \"b\", \
                        RENAME_EXCHANGE) = 0 <0.000010>\n";

fn imported(scene: Scene, call: &str) -> Scene {
    scene.parabench(call).exits(0);
    scene
}

#[test]
fn a_log_becomes_a_run_that_all_verbs_read() {
    let scene = imported(Scene::new().file("app.strace", LOG), "import app.strace -o r");
    let done = scene.parabench("report r --format json");
    let run = schema::run_object(&done);
    let trace = &run["run"]["trace"];
    assert_eq!((&trace["format"], &trace["root"]), (&"strace".into(), &"/data".into()));
    assert_eq!(trace["threads"][1]["parent"], 17);
    assert_eq!(
        (run["run"]["started"].as_str(), &run["run"]["ranks"]),
        (Some("2026-11-21T09:24:21Z"), &2.into())
    );
    let codes: Vec<&str> =
        trace["gaps"].as_array().unwrap().iter().map(|gap| gap["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["unparsed-lines", "outside", "no-operation", "duplicates"]);
    let table = scene.call("report r").env("COLUMNS", "300").run().exits(0);
    table
        .out_has("1 line is in no form that is known, first app.strace:10: what is this?")
        .out_has("flock 1");
    let program = scene.parabench("fold r").exits(0);
    program.out_has("# 1 line is in no form that is known.").out_has("flock 1.\n");
    let done = scene.parabench("report r --html a.html --svg svg --data data").exits(0);
    done.err_has("no bandwidth-over-time.csv: too few");
    assert!(scene.text("a.html").contains("what is this?"));
    let later = LOG.replace("1795253061", "1795253069");
    scene.call("import - -o s").input(later).run().exits(0);
    scene.parabench("compare r s").exits(0);
}

/// Libraries are read, often; what the application writes is what it is about.
#[test]
fn the_directory_that_is_advised_is_the_one_with_the_writes() {
    let scene = Scene::new();
    let own = scene.path("app").display().to_string();
    let mut log = String::new();
    for at in 0..20 {
        let name =
            if at < 2 { format!("{own}/out/part-{at}") } else { format!("{own}/lib/m{at}.py") };
        let (flags, call) =
            if at < 2 { ("O_WRONLY|O_CREAT", "write") } else { ("O_RDONLY", "read") };
        let time = |step: u32| format!("17 1795253061.{:06}", 1000 * at + 100 * step);
        log += &format!(
            "{} openat(AT_FDCWD</>, \"{name}\", {flags}, 0644) = 3<{name}> <0.000010>\n",
            time(0)
        );
        log += &format!("{} {call}(3<{name}>, \"\"..., 512) = 512 <0.000010>\n", time(1));
        log += &format!("{} close(3<{name}>) = 0 <0.000010>\n", time(2));
    }
    let scene = scene.file("app.strace", log).file("app/work/x", "");
    let done = scene
        .call("import ../../app.strace --all -o r")
        .inside(scene.path("app/work"))
        .run()
        .exits(0);
    let note = format!("most of it is below {own}/out: ");
    assert!(format!("{}{}", done.out, done.err).contains(&note), "{}{}", done.out, done.err);
}

/// What an import that was killed has left is taken away; what is of others is in the way.
#[test]
fn the_rest_of_a_killed_import_is_no_other_thing() {
    let scene = Scene::new().file("app.strace", LOG).file("r/.events.parquet.a7Bc3d.tmp", "half");
    let scene = imported(scene, "import app.strace -o r");
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"]);
    let scene = scene.file("s/.events.csv.a7Bc3d.tmp", "mine");
    scene.parabench("import app.strace -o s").exits(2).err_has("holds other things");
}

/// Rank, label, call and line, open file, offset, flags and microseconds of each event.
fn table(scene: &Scene, run: &str) -> String {
    let mut events = EventReader::open(&scene.path(run)).expect("its events");
    let rows: Vec<_> = events.by_ref().map(Result::unwrap).collect();
    let line = |row: &report::events::EventRow| {
        let (event, details) = (&row.event, &row.details);
        let label = &events.labels()[event.label as usize];
        let call = &events.calls()[details.call as usize];
        let (line, offset, flags) = (details.line, event.offset_bytes, event.flags);
        let (instance, start_us) = (details.instance as i32, event.start_ns / 1000);
        let rank = row.rank;
        format!("{rank} {label} {call}:{line} #{instance} @{offset} {flags} {start_us}\n")
    };
    rows.iter().map(line).collect()
}

#[test]
fn the_event_table_tells_what_the_log_told() {
    let scene = imported(Scene::new().file("app.strace", LOG), "import app.strace -o r");
    // The process and its child share the position of #1.
    let expected = "\
        0 app openat:4 #1 @0 0 500\n\
        0 app write:7 #1 @4096 16 900\n\
        0 app pread64:9 #1 @4096 2 1100\n\
        1 app write:6 #1 @0 16 800\n\
        1 app pread64:12 #1 @0 0 1250\n";
    assert_eq!(table(&scene, "r"), expected);
    let rows = crate::events::rows(EventReader::open(&scene.path("r")).unwrap(), &[]);
    assert_eq!(rows.len(), report::store::read(&scene.path("r")).expect("the run").rows.len());
    let first = EventReader::open(&scene.path("r")).unwrap().next().unwrap().unwrap();
    assert_eq!(first.details.open_flags, 0o302);
    // They are one rank if they work in turns.
    let in_turns: String =
        LOG.lines().filter(|line| !line.contains(" 512,")).map(|l| format!("{l}\n")).collect();
    scene.call("import - -o turns").input(in_turns).run().exits(0);
    let expected = "\
        0 app openat:4 #1 @0 0 500\n\
        0 app write:6 #1 @0 16 800\n\
        0 app write:7 #1 @4096 16 900\n\
        0 app pread64:9 #1 @4096 2 1100\n";
    assert_eq!(table(&scene, "turns"), expected);
}

#[test]
fn logs_come_from_pipes_and_compressed_and_are_kept_by_place() {
    let scene = Scene::new();
    scene.call("import - -o r --under /usr").input(LOG).run().exits(0).out_has("fopen");
    let run = report::store::read(&scene.path("r")).expect("the run");
    assert_eq!(run.run.trace.unwrap().root, "/usr");
    let log = root().join("crates/trace/tests/real/duckdb-olap.strace.xz");
    scene.call("import -o duck").word(log).run().exits(0).out_has("fdatasync");
    let log = root().join("crates/trace/tests/real/mpi-io-test.darshan");
    scene.call("import -o darshan").word(log).run().exits(0).out_has("32 ranks");
    scene.parabench("report darshan --html d.html").exits(0);
    scene.call("import - -o r").input(LOG).run().exits(2).err_has("--force");
    scene.call("import - -o r --force --all").input(LOG).run().exits(0);
}

#[test]
fn compressed_logs_come_from_standard_input_and_the_first_ten_lines_of_a_gap_are_shown() {
    let scene = Scene::new();
    for (name, says) in [
        ("dftracer.pfw.gz", "imported from 1 log of dftracer"),
        ("dxt-simple.dxt.txt.xz", "imported from 1 log of darshan-dxt"),
        ("fio.iolog", "imported from 1 log of fio-iolog"),
        ("lustre-own.darshan", "imported from 1 log of darshan"),
    ] {
        let log = std::fs::read(root().join("crates/trace/tests/real").join(name)).unwrap();
        scene.call("import - -o r --force").input(log).run().exits(0).out_has(says);
    }
    let unknown: String = (1..=12).map(|number| format!("what is this {number}?\n")).collect();
    let done =
        scene.call("import - -o s -v").env("COLUMNS", "300").input(LOG.to_string() + &unknown);
    let done = done.run().exits(0);
    done.out_has("13 lines are in no form that is known, first -:10: what is this?\n")
        .out_has("the log: then -:13: what is this 1?\n")
        .out_has("the log: then -:21: what is this 9?\n");
    let json = scene.text("s/run.json");
    assert!(json.contains("what is this 9?") && !json.contains("what is this 10?"));
}

#[test]
fn what_is_no_log_is_refused_in_a_sentence() {
    let scene =
        Scene::new().file("x", "a\nb\n").file("app.strace", LOG).file("y.gz", b"\x1f\x8b\x08\0cut");
    let done = scene.parabench("import x -o r").exits(2);
    done.err_has("x is in no format that is known").err_has("strace");
    scene.parabench("import nothing -o r").exits(2).err_has("cannot read nothing");
    scene.parabench("import y.gz -o r").exits(2);
    scene.parabench("import app.strace x -o r").exits(2);
    assert!(!scene.path("r").exists());
}

/// A block of docs/traces.md by its fence.
fn block(fence: &str) -> String {
    let page = std::fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{fence}\n")).expect("a block");
    rest.split_once("```").unwrap().0.to_owned()
}

/// The first example of docs/rules.md: its commands print what stands below them.
#[test]
fn the_example_of_rules_does_what_its_page_shows() {
    let scene = Scene::new()
        .file("server.log", block("text server.log"))
        .file("server.toml", block("toml server.toml"));
    let page = std::fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let (_, shown) = page.split_once("```console\n$ parabench ").unwrap();
    let commands: Vec<&str> = shown.split_once("```").unwrap().0.split("$ parabench ").collect();
    assert_eq!(commands.len(), 2);
    let (command, printed) = commands[0].split_once('\n').unwrap();
    scene.parabench(command).exits(0).out_is(printed);
    let done = scene.parabench(&format!("{} --format json", commands[1].trim()));
    let run = schema::run_object(&done);
    assert_eq!(
        (&run["run"]["trace"]["format"], &run["run"]["ranks"]),
        (&"rules".into(), &2.into())
    );
    let rows: Vec<(&str, u64)> = run["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["op"].as_str().unwrap(), row["bytes"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("fopen", 0),
        ("fread", 4096),
        ("fsync", 0),
        ("fclose", 0),
        ("fwrite", 65536),
        ("delete", 0),
    ];
    assert_eq!(rows, expected);
}

/// The other examples: every line becomes what it says.
#[test]
fn every_example_of_rules_is_read_whole() {
    for (name, log, rows) in [
        ("table", "table.csv", vec![("write", 65536), ("read", 4096), ("delete", 0)]),
        ("app", "app.log", vec![("write", 1 << 30), ("delete", 0)]),
    ] {
        let scene = Scene::new()
            .file(log, block(&format!("text {log}")))
            .file(&format!("{name}.toml"), block(&format!("toml {name}.toml")));
        let line = format!("import --rules {name}.toml {log} -o r --format json");
        let run = schema::run_object(&scene.parabench(&line));
        let gaps = run["run"]["trace"]["gaps"].as_array().unwrap();
        assert!(
            gaps.iter().all(|gap| gap["code"] != "unparsed-lines" && gap["code"] != "unfit-lines")
        );
        let mut found: Vec<(String, u64)> = run["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let op = row["op"].as_str().unwrap();
                (op.trim_start_matches('f').to_string(), row["bytes"].as_u64().unwrap())
            })
            .collect();
        let mut rows: Vec<(String, u64)> =
            rows.iter().map(|(op, n)| (op.to_string(), *n)).collect();
        found.sort();
        rows.sort();
        assert_eq!(found, rows, "{name}");
    }
}

/// Without a position and an open file a whole object is read, or a part of one, which is as long as what is read.
#[test]
fn reads_at_unknown_positions_fold_without_loss() {
    for (word, op) in [("read", "read"), ("pread", "fread")] {
        let log = "read /d/a 4096 0.1\nread /d/b 100 0.3\nread /d/a 2048 0.4\n";
        let scene = Scene::new().file("o.log", log.replace("read", word)).file(
            "o.toml",
            "[[rule]]\nmatch = '^(?<operation>\\w+) (?<path>\\S+) (?<size>\\d+) (?<start>\\S+)'\n",
        );
        scene.parabench("import --rules o.toml o.log -o r").exits(0);
        scene.parabench("fold r -o x.ppl --think none").exits(0).err_has("without loss");
        let line = "run x.ppl --prepare --against-trace r --format json";
        let run = scene.parabench(line).exits(0).json();
        let reads = run["rows"].as_array().expect("rows").iter().find(|row| row["op"] == op);
        assert_eq!(reads.map(|row| row["bytes"].as_u64()), Some(Some(4096 + 100 + 2048)), "{op}");
    }
}

#[test]
fn rules_that_do_not_fit_are_told_with_lines_and_places() {
    let log = "op=read path=/d/a n=10\nwhat is this?\nop=read path=/d/a n=ten\n\x1b[1m\n";
    let rules = "[[rule]]\nmatch = '^op=(?<operation>\\w+) path=(?<path>\\S+) n=(?<size>\\S+)'\n";
    let scene = Scene::new().file("a.log", log).file("a.toml", rules).file("b.toml", "rule = 1\n");
    let done = scene.parabench("import --rules a.toml a.log -o a.run --format json").exits(0);
    let run = schema::run_object(&done);
    let examples = |code: &str| {
        let gaps = run["run"]["trace"]["gaps"].as_array().unwrap();
        gaps.iter().find(|gap| gap["code"] == code).unwrap()["examples"].to_string()
    };
    let unparsed = examples("unparsed-lines");
    assert!(unparsed.contains("a.log:2: what is this?") && unparsed.contains("a.log:4: "));
    let unfit = examples("unfit-lines");
    assert!(unfit.contains("a.log:3: size \\\"ten\\\" is not a number of bytes"), "{unfit}");
    scene
        .parabench("import --rules b.toml a.log -o r")
        .exits(2)
        .err_has("b.toml:1:8: invalid type: integer `1`, expected a sequence");
    scene
        .parabench("import --rules c.toml a.log -o r")
        .exits(2)
        .err_has("cannot read the rules c.toml");
    scene.parabench("import a.log -o r").exits(2).err_has("--rules FILE");
    let explain = "import --rules a.toml a.log --explain-line";
    scene.parabench(&format!("{explain} 2")).exits(0).out_has("no rule takes it\n");
    scene.parabench(&format!("{explain} 9")).exits(2).err_has("a.log has 4 lines, but no line 9");
    scene.parabench("import a.log").exits(2).err_has("--out");
}

#[test]
fn a_line_of_any_log_is_explained() {
    let scene = Scene::new().file("app.strace", format!("{LOG}and this?\n{EXCHANGE}"));
    for (line, part) in [
        (
            6,
            "becomes fwrite /data/a, offset 0, 4096 of 4096 bytes, open instance 1, 30us from 800us on, rank 1\n",
        ),
        (8, "counted: 1 call has no operation of Parabench and was left out: flock 1"),
        (10, "counted: 1 line is in no form that is known, 1 of them here\nno operation\n"),
        (14, "becomes rename /data/a /data/b, \"exchange\", "),
        (13, "counted up to this line: 2 lines are in no form that is known, 1 of them here\n"),
    ] {
        let done = scene.parabench(&format!("import app.strace --explain-line {line}"));
        done.exits(0).out_has(part);
    }
    let darshan = std::fs::read(root().join("crates/trace/tests/real/dxt-simple.darshan")).unwrap();
    let scene = scene.file("app.darshan", darshan);
    let binary = "import app.darshan --explain-line 1";
    scene.parabench(binary).exits(2).err_has("app.darshan is binary: it has no lines");
}

fn rows_of(scene: &Scene, run: &str) -> Vec<String> {
    let mut events = EventReader::open(&scene.path(run)).expect("its events");
    let rows: Vec<_> = events.by_ref().map(Result::unwrap).collect();
    let name = |id: u32| events.paths().get(id as usize).cloned();
    let label = |id: u32| events.labels().get(id as usize).cloned();
    let text = |row: &report::events::EventRow| {
        let mut row = *row;
        let names = (name(row.event.path), name(row.event.path2), label(row.event.label));
        (row.event.path, row.event.path2, row.event.label) = (0, 0, 0);
        format!("{names:?} {row:?}")
    };
    rows.iter().map(text).collect()
}

#[test]
fn a_log_of_another_format_leaves_nothing_behind() {
    let scene = Scene::new().file("x", "\x01?\nwhat is this?\n").file("empty", "");
    let done = scene.parabench("import --as strace x -o r").exits(2);
    done.err_has("2 are in no form that is known")
        .err_has("x:2: what is this?")
        .err_has("--rules FILE");
    scene.parabench("import --as strace empty -o r").exits(2).err_has("empty is empty");
    assert!(!scene.path("r").exists());
}

/// A run, its event table alone, and an imported run come back event by event.
#[test]
fn runs_of_our_own_are_imported_with_the_same_events() {
    let program = r#"time["io"] { $h = fopen("a-$$rank", "w+"); fwrite($h, 8k); fseek($h, 0); fread($h, 4k); fclose($h); }
        rename("a-$$rank", "b-$$rank");"#;
    let scene = Scene::new().file("p.ppl", program).file("app.strace", LOG);
    scene.parabench("run p.ppl --backend mem -n 2 --events --out r").exits(0);
    scene.parabench("import app.strace -o s").exits(0);
    for run in ["r", "s"] {
        scene.parabench(&format!("import {run} -o {run}-folder")).exits(0);
        scene.parabench(&format!("import {run}/events.parquet -o {run}-table")).exits(0);
        let events = rows_of(&scene, run);
        assert!(events.len() >= 4, "{events:?}");
        assert_eq!(rows_of(&scene, &format!("{run}-folder")), events);
        assert_eq!(rows_of(&scene, &format!("{run}-table")), events);
    }
    let run = schema::run_object(&scene.parabench("report r-folder --format json"));
    assert_eq!(run["run"]["trace"]["format"], "parabench");
    let run = schema::run_object(&scene.parabench("report s-folder --format json"));
    assert_eq!(
        (&run["run"]["trace"]["format"], &run["run"]["trace"]["root"]),
        (&"strace".into(), &"/data".into())
    );
    scene.parabench("import r s -o t").exits(2).err_has("import one run after the other");
    let table = std::fs::read(scene.path("r/events.parquet")).unwrap();
    let scene = scene.file("cut.parquet", &table[..table.len() / 2]);
    scene.parabench("import cut.parquet -o t").exits(2).err_has("cut.parquet");
}
