//! Pictures and tables of docs/programs.md: the commands that made them make the same again.
//!
//! Patterns are computed, and runs on files in memory take virtual time, so that nothing differs between
//! machines. `UPDATE_GOLDEN=1` writes the pictures anew.

use crate::scene::{Scene, root};
use std::fs;
use std::path::PathBuf;

/// Most bytes of a picture.
const MAX_BYTES: usize = 40 << 10;

/// Pictures of patterns: the file, and what `parabench pattern` is given.
const PATTERNS: &[(&str, &str)] = &[
    ("tile", "@tile nr_tiles_x=2 nr_tiles_y=2 sz_tile_x=16 sz_tile_y=12"),
    ("btio", "@btio n=6"),
    ("flash", "@flash blocks=1 zones=4 --name checkpoint"),
    ("piobench-strided", "@piobench --name strided"),
    ("piobench-nested", "@piobench --name nested"),
    ("piobench-random", "@piobench --name random"),
    ("piobench-sequential", "@piobench --name sequential"),
    ("piobench-segmented", "@piobench --name segmented"),
    ("piobench-tiled", "@piobench --name tiled"),
    ("piobench-flash", "@piobench --name flash"),
    ("piobench-mesh", "@piobench --name mesh"),
];

/// Sizes of @piobench at which every extent can be seen.
const SMALL: &str = "buffer=4k units=4 vertices=64 blocks=1";

const SLOW: &str = "-n 4 outstanding=1 bytes=64m chunk=1m slow_rank=1 --events";

/// Pictures of runs: the file, what `parabench run` is given, and the name of the picture among those of
/// the run.
const RUNS: &[(&str, &str, &str, &str)] = &[
    ("team", "@team", SLOW, "ranks-over-time"),
    ("static", "@static", SLOW, "ranks-over-time"),
    (
        "iozone",
        "@iozone",
        "--only write --sweep file_size=64k,256k,1m,4m,16m --sweep record=4k,16k,64k",
        "bandwidth-over-file_size",
    ),
    ("split", "@split", "-n 4 --versus layout=plain,split", "ratios"),
];

fn folder() -> PathBuf {
    root().join("docs/pictures")
}

/// The picture is the stored one, and the document shows it.
#[track_caller]
fn assert_stored(name: &str, picture: &str) {
    let path = folder().join(format!("{name}.svg"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(folder()).expect("the folder");
        fs::write(&path, picture).expect("written");
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == picture, "{} is not as before; UPDATE_GOLDEN=1 accepts", path.display());
    assert!(picture.len() < MAX_BYTES, "{name}: {} bytes", picture.len());
    let document = fs::read_to_string(root().join("docs/programs.md")).expect("the document");
    assert!(document.contains(&format!("](pictures/{name}.svg)")), "{name} is not shown");
}

#[test]
fn pictures_of_patterns_are_those_of_the_document() {
    for (name, words) in PATTERNS {
        let scene = Scene::new();
        let sizes = if words.starts_with("@piobench") { SMALL } else { "" };
        scene.parabench(&format!("pattern {words} -n 4 {sizes} --svg p.svg")).exits(0);
        assert_stored(name, &scene.text("p.svg"));
    }
}

#[test]
fn pictures_of_runs_are_those_of_the_document() {
    for (name, program, words, picture) in RUNS {
        let scene = Scene::new();
        scene.parabench(&format!("run {program} {words} --backend mem --out r")).exits(0);
        scene.parabench("report r --svg pictures").exits(0);
        assert_stored(name, &scene.text(&format!("pictures/{picture}.svg")));
    }
}

/// Nothing lies in the folder that no command makes.
#[test]
fn every_stored_picture_is_made_by_a_command() {
    let made = PATTERNS.iter().map(|row| row.0).chain(RUNS.iter().map(|row| row.0));
    let mut made: Vec<String> = made.map(|name| format!("{name}.svg")).collect();
    made.sort();
    let entries = fs::read_dir(folder()).expect("the folder");
    let mut stored: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().expect("a name")).collect();
    stored.sort();
    assert_eq!(stored, made);
}

/// The blocks of text in docs/programs.md that are the end of what a command prints.
#[test]
fn the_paper_s_table_is_that_of_the_document() {
    let document = fs::read_to_string(root().join("docs/programs.md")).expect("the document");
    let line = "run @olap -n 2 --paper indexes=20 --backend mem";
    assert!(document.contains(&format!("$ parabench {line}\n")));
    let out = Scene::new().parabench(line).exits(0).out;
    let table = out.split_once("Index create, delete").expect("the table").1;
    let table = table.split_once("\nmore:").expect("its end").0;
    assert!(document.contains(table), "expected in docs/programs.md:{table}");
}
