//! The programs of examples/applications do what their heads say: counts, bytes and files left, computed here a second
//! time from the application and not from the program, equal those of runs on disk and in memory.

mod model;
mod models;

use crate::scene::{Scene, root};
use crate::tmpfs::Tmpfs;
use model::Model;
use models::APPLICATIONS;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const RANKS: [u64; 3] = [1, 4, 9];

/// Of a finished run: what each operation came to, over all labels.
fn counts(run: &Value) -> BTreeMap<String, model::Counts> {
    let mut counts: BTreeMap<String, model::Counts> = BTreeMap::new();
    for row in run["rows"].as_array().expect("rows").iter().filter(|row| row["part_of"].is_null()) {
        let of = |name: &str| row[name].as_u64().expect("a number");
        assert_eq!((of("failed"), of("short")), (0, 0), "{row}");
        let sum = counts.entry(row["op"].as_str().expect("a name").to_string()).or_default();
        sum.count += of("count");
        sum.expected += of("expected");
        sum.bytes += of("bytes");
    }
    counts
}

/// All files below a folder with their sizes, by their path in it.
fn files(folder: &Path, inside: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder.join(inside)).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = format!("{inside}{}", entry.file_name().into_string().expect("a name"));
        let facts = entry.metadata().expect("attributes");
        if facts.is_dir() {
            found.extend(files(folder, &format!("{path}/")));
        } else if path != ".parabench" {
            found.insert(path, facts.len());
        }
    }
    found
}

/// Runs an application on disk and in memory, and holds it against its model.
fn hold(name: &str, params: &[(&str, u64)], ranks: u64, model: &Model) {
    let path = root().join(format!("examples/applications/{name}.ppl"));
    let words: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let line = format!("run {} {} -n {ranks} --format json", path.display(), words.join(" "));
    let scene = Scene::new();
    fs::create_dir(scene.path("d")).expect("made");
    for place in ["--dir d", "--backend mem"] {
        let done = scene.parabench(&format!("{line} {place}")).exits(0);
        assert!(!done.err.contains("warning["), "{name}: {}", done.err);
        assert_eq!(counts(&done.json()), model.counts, "{name} {words:?} -n {ranks} {place}");
    }
    assert_eq!(files(&scene.path("d"), ""), model.left, "{name} {words:?} -n {ranks}");
}

/// Holds one application against its model with all its parameters at 1, 4 and 9 ranks.
fn application(name: &str) {
    let (_, sets, compute) =
        APPLICATIONS.iter().find(|(known, ..)| *known == name).expect("listed");
    for (params, ranks) in sets.iter().flat_map(|set| RANKS.map(|ranks| (*set, ranks))) {
        let mut model = Model::default();
        let find = |name: &str| params.iter().find(|(known, _)| *known == name).expect("given").1;
        compute(ranks, &find, &mut model);
        hold(name, params, ranks, &model);
    }
}

/// A test for each application, so that they run side by side.
macro_rules! applications {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { application($name); })*

        #[test]
        fn every_program_has_a_model_and_is_short_and_without_warnings() {
            let names = [$($name),*];
            assert_eq!(names.to_vec(), APPLICATIONS.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
            let folder = root().join("examples/applications");
            assert_eq!(fs::read_dir(&folder).expect("a folder").count(), names.len(), "programs without a model");
            names.iter().for_each(|name| check(name));
        }
    };
}

/// A program is short, formatted, without warnings, and runs as its first line says; examples/README.md lists it.
fn check(name: &str) {
    let inside = format!("applications/{name}.ppl");
    let path = root().join("examples").join(&inside);
    let text = fs::read_to_string(&path).expect("a program");
    assert!(text.lines().count() <= 80, "{name}");
    let list = fs::read_to_string(root().join("examples/README.md")).expect("a list");
    assert!(list.contains(&format!("({inside})")), "{name}");
    Scene::new().call("fmt --check").word(&path).run().exits(0);
    for ranks in RANKS {
        let done = Scene::new().call(&format!("check -n {ranks}")).word(&path).run().exits(0);
        done.err_has("nothing wrong");
    }
    let line = text.lines().next().expect("a first line");
    let (_, line) = line.split_once(": parabench ").expect("a command");
    let line = line.replace("examples/", &format!("{}/examples/", root().display()));
    Scene::new().parabench(&format!("{line} --backend mem")).exits(0);
}

applications! {
    chunked "chunked"
    ensemble "ensemble"
    genomics "genomics"
    log_store "log-store"
    mail "mail"
    object_store "object-store"
    producers "producers"
    quota "quota"
    restart "restart"
    tasks "tasks"
    training "training"
    video "video"
}

/// What the cache does on a file system that is full: it makes room, and goes on.
#[test]
fn a_full_file_system_makes_the_cache_smaller() {
    let scene = Scene::new();
    fs::create_dir(scene.path("small")).expect("made");
    let Some(_small) = Tmpfs::mount(&scene.path("small"), "size=4m") else { return };
    let program = root().join("examples/applications/quota.ppl");
    let line = format!("run {} limit=1t --dir small --no-preflight", program.display());
    let run = scene.parabench(&format!("{line} --format json")).exits(0).json();
    let counts = counts(&run);
    assert!(counts["write"].expected > 0 && counts["delete"].count > 100, "{counts:?}");
    assert_eq!(counts["write"].count - counts["write"].expected, 200);
    assert_eq!(counts["read"].count, 200);
    let left = files(&scene.path("small"), "");
    assert!(left.values().sum::<u64>() > 1 << 20 && left.contains_key("cache-0/object-199"));
}
