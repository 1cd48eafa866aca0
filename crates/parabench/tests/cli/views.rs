//! The data of the pictures: `report --data`, held against golden files; and event tables that
//! are sampled, limited, damaged or cut off.
//!
//! The expectations lie in `tests/golden/views`; `UPDATE_GOLDEN=1` rewrites them.

use crate::figures::row;
use crate::scene::{Scene, kill, root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/views")
}

/// A stored run of the program of the golden files.
fn shared(options: &str) -> Scene {
    let program = fs::read_to_string(golden().join("shared.ppl")).unwrap();
    let scene = Scene::new().file("x.ppl", program);
    let line = format!("run x.ppl --backend mem -n 4 --out results {options}");
    scene.parabench(&line).exits(1);
    scene
}

/// The lines of a CSV file, its header first.
fn table(scene: &Scene, name: &str) -> Vec<Vec<String>> {
    let text = scene.text(name);
    let mut table = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let lines = table.records().map(|line| line.expect("RFC 4180"));
    lines.map(|line| line.iter().map(str::to_string).collect()).collect()
}

/// Bytes below the lines of bandwidth over time.
fn moved_bytes(scene: &Scene) -> f64 {
    let points = &table(scene, "data/bandwidth-over-time.csv")[1..];
    let number = |point: &Vec<String>, at: usize| point[at].parse::<f64>().expect("a number");
    let bytes = |pair: &[Vec<String>]| match pair[0][0] == pair[1][0] {
        true => {
            number(&pair[0], 2) * 1_048_576.0 * (number(&pair[1], 1) - number(&pair[0], 1)) / 1e9
        }
        false => 0.0,
    };
    points.windows(2).map(bytes).sum()
}

#[test]
fn the_data_of_every_picture_is_the_golden_one() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let scene = shared("--events");
    let done = scene.parabench("report results --data data").exits(0);
    assert!(!done.err.contains("no bandwidth-over-time"), "{}", done.err);
    let names = scene.names("data");
    for name in &names {
        let found = scene.text(&format!("data/{name}"));
        let path = golden().join(name);
        if update {
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == expected, "{name} is not as before; UPDATE_GOLDEN=1 accepts:\n{found}");
    }
    let mut expected: Vec<String> = fs::read_dir(golden())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".csv"))
        .collect();
    expected.sort();
    assert_eq!(names, expected, "every golden file has its picture");
}

#[test]
fn pictures_add_up_to_the_rows() {
    let scene = shared("--events");
    scene.parabench("report results --data data").exits(0);
    let run = scene.json("results/run.json");
    let rows = run["rows"].as_array().unwrap().iter().filter(|row| row["part_of"].is_null());
    let bytes: f64 = rows.map(|row| row["bytes"].as_f64().unwrap()).sum();
    let moved = moved_bytes(&scene);
    assert!((moved / bytes - 1.0).abs() < 1e-9, "{moved} against {bytes}");
}

#[test]
fn a_run_without_events_has_the_pictures_of_its_rows() {
    let scene = shared("");
    let done = scene.parabench("report results/run.json --data data").exits(0);
    done.err_has("no bandwidth-over-time.csv: the run kept no events: run with --events and --out");
    assert_eq!(scene.names("data"), ["labels-over-time.csv", "latency-cdf.csv", "phases.csv"]);
}

#[test]
fn nothing_executed_has_no_pictures_and_says_so() {
    let scene = Scene::new().file("x.ppl", "print \"hello\";\n");
    scene.parabench("run x.ppl --backend mem --out results --events").exits(0);
    let done = scene.parabench("report results --data data").exits(0);
    done.err_has("no latency-cdf.csv: nothing was executed")
        .err_has("no bandwidth-over-time.csv: no operation was kept as an event")
        .err_has("no labels-over-time.csv: the program has no labels");
    assert!(scene.names("data").is_empty());
}

#[test]
fn hard_labels_and_paths_survive() {
    let long = "x".repeat(300);
    for label in ["say \\\"hi\\\", a,b", "line\\nbreak", "</script>", long.as_str()] {
        let text = format!("time[\"{label}\"] write(\"a,b \\\"c\\\" {{d}}\", 4k);\n");
        let scene = Scene::new().file("x.ppl", text);
        scene.parabench("run x.ppl --backend mem -n 2 --out results --events").exits(0);
        scene.parabench("report results --data data").exits(0);
        for name in scene.names("data") {
            let lines = table(&scene, &format!("data/{name}"));
            assert!(lines.len() > 1, "{name}");
            let long = lines.iter().flatten().find(|cell| cell.chars().count() > 48);
            assert!(lines.iter().flatten().all(|cell| !cell.contains('\n')), "{name}");
            assert_eq!(long, None, "{name}");
        }
    }
}

/// Operations in the events' account of a run.
fn accounted(run: &Value) -> u64 {
    let events = &run["run"]["events"];
    ["count", "dropped", "left_out"].iter().map(|field| events[*field].as_u64().unwrap()).sum()
}

#[test]
fn a_sample_is_counted_and_pictures_are_scaled() {
    let text = "repeat $i 5000 { write(\"f\", 4k); stat(\"f\"); }\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl --backend mem -n 2 --out results --events=sample=1/10").exits(0);
    let run = scene.json("results/run.json");
    let events = &run["run"]["events"];
    assert_eq!((events["sample_every"].as_u64(), events["dropped"].as_u64()), (Some(10), Some(0)));
    assert_eq!(accounted(&run), 20_000);
    let kept = events["count"].as_u64().unwrap();
    assert!((1_800..2_200).contains(&kept), "{kept}: twenty thousand with a share of a tenth");
    assert_eq!(row(&run, "", "write")["count"], 10_000, "rows count everything");
    scene.parabench("report results --data data").exits(0);
    scene.parabench("report results -v").exits(0).out_has("sample");
    let moved = moved_bytes(&scene);
    let truth = 10_000.0 * 4096.0;
    // Half of the sample are writes: the standard error is 1/sqrt(1000) of it.
    assert!((moved / truth - 1.0).abs() < 0.15, "{moved} against {truth}");
    // Every n-th operation would have been all writes, or all stats.
    let mut reader = report::events::EventReader::open(&scene.path("results")).unwrap();
    let writes = reader.by_ref().filter(|row| row.as_ref().unwrap().event.done_bytes > 0).count();
    assert!(writes > 800 && (writes as u64) < kept - 800, "{writes} of {kept}");
}

#[test]
fn wrong_amounts_of_events_are_explained() {
    let scene = Scene::new().file("x.ppl", ";\n");
    for (given, said) in [
        ("sample=0.5", "expected a share such as sample=1/100"),
        ("sample=1/0", "expected a share such as sample=1/100"),
        ("max=lots", "expected a number of bytes"),
        ("all=1", "expected max=BYTES or sample=1/N"),
    ] {
        scene.parabench(&format!("run x.ppl --events={given}")).exits(2).err_has(said);
    }
}

#[test]
fn damaged_event_tables_are_one_sentence() {
    let scene = shared("--events");
    let whole = fs::read(scene.path("results/events.parquet")).unwrap();
    let damaged = |bytes: &[u8]| {
        fs::write(scene.path("results/events.parquet"), bytes).unwrap();
        let done = scene.parabench("report results --data data");
        assert!(!done.err.contains("panicked") && !done.err.contains("RUST_BACKTRACE"), "{done:?}");
        done
    };
    damaged(&whole[..whole.len() / 2]).exits(2).err_has("ends in the middle");
    damaged(b"").exits(2).err_has("ends in the middle");
    damaged(b"label,op\n1,2\n").exits(2).err_has("is not an event table of Parabench");
    // One changed byte in any place: told, or without consequence; never a panic's text.
    for at in (0..whole.len()).step_by(whole.len() / 61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        let done = damaged(&bytes);
        assert!(matches!(done.code, Some(0 | 2)), "byte {at}: {done:?}");
        assert!(done.code == Some(0) || done.err.lines().count() <= 2, "byte {at}: {done:?}");
    }
    fs::remove_file(scene.path("results/events.parquet")).unwrap();
    scene.parabench("report results --data data").exits(2).err_has("there is no");
}

#[test]
fn a_run_that_was_cut_off_has_pictures() {
    let text = "time[\"work\"] { repeat 100 write(\"early\", 4k); while (1) write(\"file-$$rank\", 4k); }\n";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl -n 2 --dir d --out results --events=max=4m").start();
    call.until("the files", || scene.path("d/file-0").exists() && scene.path("d/file-1").exists());
    let ranks = call.ranks();
    kill(call.pid(), 9);
    assert_eq!(call.finish().code, None);
    while ranks.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        std::thread::yield_now();
    }
    scene
        .parabench("report results --settle --data data --format table")
        .exits(0)
        .out_has("cut off");
    let run = scene.json("results/run.json");
    assert!(accounted(&run) > 0);
    let names = scene.names("data");
    for name in ["bandwidth-over-time.csv", "latency-cdf.csv", "ranks-over-time.csv"] {
        assert!(names.iter().any(|found| found == name), "{name} of {names:?}");
    }
}

/// DuckDB and pandas read the event table and add up what the rows say. Python and the two come
/// from `make setup`, in target/readers-venv.
#[test]
fn other_readers_get_the_same_sums() {
    let python = root().join("target/readers-venv/bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/readers.py");
    if !python.exists() {
        return crate::scene::skip("DuckDB and pandas are missing: make setup brings them");
    }
    let scene = shared("--events");
    let mut command = std::process::Command::new(python);
    command.arg(script).arg("results");
    let done = scene.command(command).run().exits(0);
    let found = done.json();
    let run = scene.json("results/run.json");
    let rows = run["rows"].as_array().unwrap().iter().filter(|row| row["part_of"].is_null());
    let rows: Vec<&Value> = rows.collect();
    for reader in ["duckdb", "pandas"] {
        let sums = found[reader].as_object().unwrap();
        assert_eq!(sums.len(), rows.len(), "{reader}: {sums:#?}");
        for row in &rows {
            let key = format!("{}|{}", row["label"].as_str().unwrap(), row["op"].as_str().unwrap());
            let sum = &sums[&key];
            for field in ["count", "bytes", "failed", "expected", "short"] {
                assert_eq!(sum[field], row[field], "{reader} {key} {field}");
            }
            // Times of rows are those of the executions that did not fail.
            let succeeded = ["failed", "expected"]
                .iter()
                .fold(row["count"].as_u64().unwrap(), |left, field| {
                    left - row[*field].as_u64().unwrap()
                });
            let busy_ns = row["mean_ns"].as_f64().unwrap_or(0.0) * succeeded as f64;
            let found_ns = sum["busy_ns"].as_f64().unwrap();
            assert!(
                (busy_ns - found_ns).abs() <= 1e-6 * busy_ns.max(1.0),
                "{reader} {key}: {found_ns}"
            );
        }
    }
}

/// Both spellings mean the same.
#[test]
fn the_amount_of_events_may_stand_apart() {
    let scene = Scene::new().file("x.ppl", "repeat $i 300 stat(\".\");");
    for (out, events) in [("a", "--events=sample=1/10"), ("b", "--events sample=1/10")] {
        scene.parabench(&format!("run x.ppl --backend mem --out {out} {events}")).exits(0);
    }
    let kept = |out: &str| scene.json(&format!("{out}/run.json"))["run"]["events"].clone();
    assert_eq!(kept("a"), kept("b"));
    assert_eq!(kept("b")["sample_every"], 10, "{}", kept("b"));
}

/// Names in the list of pictures: what is before and behind capitals, which stand for anything.
fn documented() -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("docs/run-format.md")).unwrap();
    let list = page.split("## Pictures as data").nth(1).expect("the list");
    let is_capital = |letter: char| letter.is_ascii_uppercase();
    let quoted = list.split('`').skip(1).step_by(2);
    let parts = quoted.map(|name| match (name.find(is_capital), name.rfind(is_capital)) {
        (Some(first), Some(last)) => (name[..first].to_string(), name[last + 1..].to_string()),
        _ => (name.to_string(), String::new()),
    });
    parts.filter(|(before, _)| !before.is_empty()).collect()
}

#[test]
fn every_picture_is_documented() {
    let log = root().join("crates/trace/tests/real/mpi-io-test.darshan");
    let scene = Scene::new().file(
        "x.ppl",
        "param $n = 8; time[\"w\"] repeat $i 20 write(\"f$i\", $n * 4k); time[\"r\"] repeat $i 20 read(\"f$i\");",
    );
    scene.parabench("run x.ppl --backend mem -n 2 --events --out run").exits(0);
    scene.parabench("run x.ppl --backend mem --sweep n=8,16 --events --out sweep").exits(0);
    scene.parabench("run x.ppl --backend mem --versus n=8,9 --reps 6 --events --out ab").exits(0);
    scene.parabench(&format!("import {} --out log", log.display())).exits(0);
    let known = documented();
    let mut seen = 0;
    for run in ["run", "sweep", "ab", "log"] {
        scene.parabench(&format!("report {run} --data {run}-data")).exits(0);
        for name in scene.names(&format!("{run}-data")) {
            let name = name.trim_end_matches(".csv");
            // Of another execution: `NAME-b`, `NAME-2`.
            let first = name.strip_suffix("-b").or_else(|| name.strip_suffix("-2"));
            let is_known = |name: &str| {
                known.iter().any(|(before, after)| match before.ends_with('-') {
                    true => name.starts_with(before) && name.ends_with(after),
                    false => name == before,
                })
            };
            assert!(is_known(name) || first.is_some_and(is_known), "{name} of {run}");
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen}");
}
