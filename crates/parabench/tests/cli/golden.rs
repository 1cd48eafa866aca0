//! Whole-pipeline runs on the mem back-end with virtual time: the same program and
//! seed give the same run, byte for byte, with host fields masked.
//!
//! The expectations are in `tests/golden`: two whole runs as JSON, of the others a table of rows.
//! `UPDATE_GOLDEN=1` rewrites them.

use crate::scene::{Scene, root};
use crate::schema::run_object;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The run of a program, with what differs between machines and versions masked.
fn masked(program: &str, ranks: u32) -> Value {
    let scene = Scene::new();
    let line = format!("run - --backend mem -n {ranks} --format json");
    let mut run = run_object(&scene.call(&line).input(program).run());
    let header = &mut run["run"];
    for field in ["host", "started", "parabench"] {
        header[field] = json!("masked");
    }
    header["evidence"]["cpu_ns"] = json!("masked");
    run
}

/// Programs whose whole run is compared.
const WHOLE: [&str; 2] = ["failures", "files"];

/// One line per row of a run: its counts and times.
fn table(run: &Value) -> String {
    let columns = [
        "label", "op", "count", "bytes", "failed", "short", "min_ns", "p50_ns", "mean_ns",
        "max_ns", "ops_s",
    ];
    let mut text = columns.join(" | ");
    for row in run["rows"].as_array().expect("rows") {
        let cells = columns.map(|column| row[column].to_string());
        text += &format!("\n{}", cells.join(" | "));
    }
    text + "\n"
}

#[test]
fn runs_on_mem_are_the_golden_ones() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let entries = fs::read_dir(folder()).expect("the folder");
    let mut programs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    programs.retain(|path| path.extension().is_some_and(|ending| ending == "ppl"));
    programs.sort();
    assert!(programs.len() >= 6);
    for path in programs {
        let text = fs::read_to_string(&path).unwrap();
        let whole = WHOLE.iter().any(|name| path.ends_with(format!("{name}.ppl")));
        let run = masked(&text, 4);
        let (run, ending) =
            if whole { (format!("{run:#}\n"), "json") } else { (table(&run), "txt") };
        let expected = path.with_extension(ending);
        if update {
            fs::write(&expected, &run).unwrap();
        }
        let golden = fs::read_to_string(&expected).unwrap_or_default();
        assert!(
            golden == run,
            "{} is not as before; UPDATE_GOLDEN=1 accepts:\n{run}",
            path.display()
        );
    }
}

#[test]
fn the_same_run_twice_is_the_same() {
    for name in ["stress", "metadata", "random", "olap", "sequential"] {
        let text = fs::read_to_string(root().join(format!("programs/{name}.ppl"))).unwrap();
        assert_eq!(masked(&text, 3), masked(&text, 3), "{name}");
    }
}
