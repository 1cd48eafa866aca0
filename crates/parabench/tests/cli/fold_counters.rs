//! Programs of logs that have counters alone: what they do is what was counted.

use crate::scene::{Scene, root};
use model::run::{Run, Trace, TraceAmounts, TraceFile, TraceModule, TraceSize};

/// Counters of a file: reads, their bytes, writes, their bytes.
fn file(module: &str, path: &str, ranks: u64, moved: [u64; 4]) -> TraceFile {
    let [reads, read_bytes, writes, written_bytes] = moved.map(Some);
    TraceFile {
        path: path.into(),
        module: module.into(),
        ranks,
        opens: Some(ranks),
        reads,
        writes,
        amounts: TraceAmounts { read_bytes, written_bytes, ..TraceAmounts::default() },
        ..TraceFile::default()
    }
}

/// Counts and bytes of operations, added up: reads, bytes read, writes, bytes written.
fn moved<'a>(ops: impl Iterator<Item = (&'a str, u64, u64)>) -> [u64; 4] {
    let mut sums = [0; 4];
    for (op, count, bytes) in ops {
        let at = match op {
            "fread" | "pfread" => 0,
            "fwrite" | "pfwrite" => 2,
            _ => continue,
        };
        sums[at] += count;
        sums[at + 1] += bytes;
    }
    sums
}

/// Transfers that the program of `scene` would make.
fn planned(scene: &Scene, ranks: u32) -> [u64; 4] {
    let plan = scene.parabench(&format!("plan x.ppl -n {ranks} --format json")).exits(0).json();
    let number = |number: &serde_json::Value| number.as_u64().expect("a number");
    let ops = plan["all"]["ops"].as_array().expect("operations").iter();
    moved(
        ops.map(|op| {
            (op["op"].as_str().expect("a name"), number(&op["count"]), number(&op["bytes"]))
        }),
    )
}

/// Transfers that a run of it makes.
fn executed(scene: &Scene, ranks: u32) -> [u64; 4] {
    let line = format!("run x.ppl -n {ranks} --prepare --dir d --clean --quiet --out r --force");
    scene.parabench(&line).exits(0);
    let run: Run = report::store::read(&scene.path("r")).expect("a run");
    assert!(run.rows.iter().all(|row| row.failed + row.short == 0), "{:?}", run.rows);
    moved(run.rows.iter().map(|row| (&row.op[..], row.count, row.bytes)))
}

/// Plans and executes the program of these files. The plan has MPI-IO, too.
fn compare(what: &str, files: &[TraceFile], ranks: u32) {
    let names = ["POSIX", "MPI-IO", "STDIO"].map(String::from);
    let module = |name| TraceModule { name, ..TraceModule::default() };
    let trace = Trace {
        files: files.to_vec(),
        modules: names.into_iter().map(module).collect(),
        ..Trace::default()
    };
    let options = fold::Options::default();
    let made = fold::approximate(&trace, ranks, &options).expect("a program");
    let scene = Scene::new().file("x.ppl", &made.text);
    let sum = |number: fn(&TraceFile) -> Option<u64>| files.iter().filter_map(number).sum::<u64>();
    let expected = [
        sum(|file| file.reads),
        sum(|file| file.amounts.read_bytes),
        sum(|file| file.writes),
        sum(|file| file.amounts.written_bytes),
    ];
    assert_eq!(planned(&scene, ranks), expected, "{what}:\n{}", made.text);
    if !made.text.contains("pfopen") {
        assert_eq!(executed(&scene, ranks), expected, "{what}:\n{}", made.text);
    }
    scene.parabench(&format!("check x.ppl -n {ranks}")).exits(0);
}

#[test]
fn programs_do_what_was_counted() {
    let changed = |file: TraceFile, change: fn(&mut TraceFile)| {
        let mut file = file;
        change(&mut file);
        file
    };
    let checkpoint = file("POSIX", "/s/data", 4, [32, 2 << 20, 64, 4 << 20]);
    let input = changed(file("POSIX", "/s/in", 4, [40, 4 << 20, 0, 0]), |it| {
        it.size_bytes = Some(1 << 20);
    });
    let random = changed(file("POSIX", "/s/db", 1, [50, 51_207, 21, 9_999]), |it| {
        (it.size_bytes, it.rank) = (Some(1 << 16), Some(2));
        (it.sequential, it.consecutive) = (Some(3), Some(0));
        it.common_sizes = vec![TraceSize { bytes: 4096, count: 9 }];
    });
    let strided = changed(file("POSIX", "/s/mesh", 3, [0, 0, 31, 31_000]), |it| {
        (it.size_bytes, it.sequential, it.consecutive) = (Some(99_000), Some(30), Some(0));
    });
    let epochs = changed(file("STDIO", "/s/in/images", 1, [30, 3_000, 0, 0]), |it| {
        (it.size_bytes, it.opens) = (Some(1000), Some(3));
    });
    let odd = changed(file("STDIO", "/s/log", 1, [1, 0, 7, 1000]), |it| it.opens = Some(5));
    let read_back = changed(file("POSIX", "/s/back", 1, [40, 40_960, 40, 40_960]), |it| {
        (it.size_bytes, it.opens) = (Some(40_960), Some(4));
        (it.sequential, it.consecutive) = (Some(3), Some(0));
    });
    let together = changed(file("MPI-IO", "/s/all", 4, [16, 1 << 20, 16, 1 << 20]), |it| {
        it.collective = Some(32);
    });
    let own = file("MPI-IO", "/s/own", 1, [0, 0, 5, 777]);
    let some = file("MPI-IO", "/s/some", 2, [5, 50, 7, 701]);
    let many: Vec<TraceFile> = (0..40)
        .map(|at| file("POSIX", &format!("/s/d/f{at}"), 1, [1 + at % 3, at * 9, 4, 400]))
        .collect();
    let both =
        [file("POSIX", "/s/both", 1, [0, 0, 2, 20]), file("STDIO", "/s/both", 1, [3, 3000, 0, 0])];
    for (what, files) in [
        ("written, then read", &[checkpoint][..]),
        ("read by all", &[input]),
        ("random", &[random]),
        ("strided by some", &[strided]),
        ("read again", &[epochs]),
        ("opened again", &[odd]),
        ("written and read in several opens", &[read_back]),
        ("collective", &[together]),
        ("MPI-IO of some", &[own, some]),
        ("many", &many),
        ("two layers", &both),
    ] {
        compare(what, files, 4);
        compare(what, files, 1);
    }
}

/// From a log to a program that says what it is.
#[test]
fn a_log_of_counters_is_folded() {
    let scene = Scene::new();
    let log = root().join("crates/trace/tests/real/lustre-own.darshan");
    scene.call("import -o r").word(log).run().exits(0);
    let done = scene.parabench("fold r -o app.ppl").exits(0);
    let done = done.err_has("approximately").err_has("order and offsets are made up");
    assert!(!done.err.contains("without loss"), "{}", done.err);
    let text = scene.text("app.ppl");
    assert!(text.starts_with("# Folded from ") && text.contains("\n# APPROXIMATE: "), "{text}");
    scene.parabench("fold r -o app.ppl").exits(2).err_has("--force");
    scene.parabench("fold r -o app.ppl --force").exits(0);
    scene.parabench("fold r --only 0").exits(2).err_has("counters alone").err_has("--under");
    let done = scene.parabench("fold r --anonymise words").exits(0);
    done.out_has("# Folded from an anonymous run.");
    scene.parabench("check app.ppl").exits(0);
}

/// A run that has counters alone is repeated, but there is nothing to compare the repetition with.
#[test]
fn a_replay_of_counters_is_not_compared() {
    let scene = Scene::new();
    let log = root().join("crates/trace/tests/real/lustre-own.darshan");
    scene.call("import -o r").word(log).run().exits(0);
    let mut run = scene.json("r/run.json");
    run["run"]["trace"]["files"] = serde_json::json!([{
        "path": "/s/f", "module": "POSIX", "ranks": 48, "opens": 48, "writes": 96, "written_bytes": 9600
    }]);
    let scene = scene.file("r/run.json", run.to_string());
    let done = scene.parabench("replay r -- --backend mem").exits(0);
    done.err_has("approximately").err_has("not compared").out_has("fwrite");
}

/// Files that the run sums up are enough; counters of nothing that could be done are named.
#[test]
fn what_no_program_can_be_made_of_is_said() {
    let scene = Scene::new();
    let log = root().join("crates/trace/tests/real/lustre-own.darshan");
    scene.call("import -o r").word(log).run().exits(0);
    let run = scene.json("r/run.json");
    let with = |files: serde_json::Value, more: serde_json::Value| {
        let mut run = run.clone();
        run["run"]["trace"]["files"] = files;
        run["run"]["trace"]["files_more"] = more;
        Scene::new().file("r/run.json", run.to_string())
    };
    let more = serde_json::json!([{"module": "POSIX", "files": 3, "written_bytes": 300}]);
    let scene = with(serde_json::json!([]), more);
    scene.parabench("fold r").exits(0).out_has("more/POSIX-file-$f");
    let unused = serde_json::json!([{"path": "/s/f", "module": "POSIX", "ranks": 1, "opens": 0}]);
    let scene = with(unused, serde_json::json!([]));
    let done = scene.parabench("fold r").exits(2);
    done.err_has("counters of no file that somebody opened").err_has("parabench report r");
}
