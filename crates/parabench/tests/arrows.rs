//! The arrows between the crates, and what may stand in which crate.
//!
//! ARCHITECTURE.md draws them; here they are checked against `cargo metadata` and the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every crate of the workspace and the crates it may depend on, tests included.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("ppl", &["model"]),
    ("engine", &["model"]),
    ("report", &["model"]),
    ("page", &["model", "report"]),
    ("mpi", &["engine", "model"]),
    ("trace", &["model"]),
    ("fold", &["ppl", "model"]),
    ("record", &[]),
    ("studio", &[]),
    ("editor", &["ppl", "model", "engine"]),
    (
        "parabench",
        &[
            "model", "ppl", "engine", "report", "page", "mpi", "trace", "fold", "record", "editor",
            "studio",
        ],
    ),
    ("benches", &["model", "ppl", "engine", "report", "page", "trace", "parabench"]),
];

/// Crates in which `unsafe` may stand.
const UNSAFE: &[&str] = &["engine", "mpi"];

/// Crates without I/O, and what must not be named in their `src`.
const PURE: &[&str] = &["model", "ppl"];
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::time",
    "std::thread",
    "io::stdin",
    "io::stdout",
    "io::stderr",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Workspace crates and their dependencies on workspace crates, without the
/// prefix `parabench-`. Needs no network: dependencies are not resolved.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let all = package["dependencies"].as_array().expect("dependencies");
            let inner = all.iter().filter(|dependency| dependency["path"].is_string());
            (short(&package["name"]), inner.map(|dependency| short(&dependency["name"])).collect())
        })
        .collect()
}

fn short(name: &serde_json::Value) -> String {
    let name = name.as_str().expect("a name");
    name.strip_prefix("parabench-").unwrap_or(name).to_owned()
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let edges = edges();
    assert!(edges.contains_key("model") && edges.contains_key("parabench"), "{edges:?}");
    for (name, found) in &edges {
        let arrow = ARROWS.iter().find(|(from, _)| from == name);
        let (_, allowed) = arrow.unwrap_or_else(|| panic!("{name} has no place in ARROWS"));
        let wrong: Vec<&String> =
            found.iter().filter(|to| !allowed.contains(&to.as_str())).collect();
        assert!(wrong.is_empty(), "{name} must not depend on {wrong:?}");
    }
}

#[test]
fn the_arrows_have_no_cycle() {
    let mut order: Vec<&str> = Vec::new();
    for (name, allowed) in ARROWS {
        let later: Vec<_> =
            allowed.iter().filter(|to| ARROWS.iter().all(|a| a.0 != **to)).collect();
        assert!(later.is_empty(), "{name} names unknown crates {later:?}");
    }
    while order.len() < ARROWS.len() {
        let next = ARROWS.iter().find(|(name, allowed)| {
            !order.contains(name) && allowed.iter().all(|to| order.contains(to))
        });
        order.push(next.expect("a crate whose dependencies are all placed").0);
    }
}

#[test]
fn unsafe_stands_only_in_the_engine_and_mpi() {
    for (name, directory) in crates() {
        let allowed = UNSAFE.contains(&name.as_str());
        for (file, text) in rust_files(&directory) {
            // This file names the words it looks for.
            if allowed || file.ends_with("tests/arrows.rs") {
                continue;
            }
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                // SAFETY: words that are looked for, no code.
                let found =
                    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe_code"]
                        .iter()
                        .find(|word| code.contains(*word));
                assert_eq!(found, None, "{}:{}", file.display(), number + 1);
            }
        }
    }
}

#[test]
fn model_and_ppl_do_no_io() {
    for (name, directory) in crates() {
        if !PURE.contains(&name.as_str()) {
            continue;
        }
        for (file, text) in rust_files(&directory.join("src")) {
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                let found = IMPURE.iter().find(|word| code.contains(*word));
                assert_eq!(found, None, "{}:{}", file.display(), number + 1);
            }
        }
    }
}

#[test]
fn no_file_is_longer_than_1500_lines() {
    for (_, directory) in crates() {
        for (file, text) in rust_files(&directory) {
            let lines = text.lines().count();
            assert!(lines <= 1_500, "{} has {lines} lines", file.display());
        }
    }
}

/// The list of invariants names tests: they must be there.
#[test]
fn every_test_that_the_architecture_names_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let list = page.split("## ").find(|part| part.starts_with("Invariants")).expect("the list");
    let items = numbered(list);
    assert!(items.len() >= 9, "the list of invariants is not found");
    let sources: Vec<String> = crates()
        .iter()
        .flat_map(|(_, directory)| rust_files(directory))
        .map(|(_, text)| text)
        .collect();
    for item in items {
        let (_, shown) = item.split_once("Shown by").expect("every invariant says what shows it");
        let names = shown.split('`').skip(1).step_by(2);
        let names: Vec<&str> = names.filter(|name| name.matches('_').count() > 1).collect();
        assert!(!names.is_empty(), "no test is named: {item}");
        for name in names.into_iter().filter(|name| *name != "undocumented_unsafe_blocks") {
            let head = format!("fn {name}(");
            assert!(sources.iter().any(|text| text.contains(&head)), "{name} is not there");
        }
    }
}

#[test]
fn no_line_of_a_document_is_longer_than_120_characters() {
    let folders = [root(), root().join("docs"), root().join("docs/design")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let pages = files.map(|entry| entry.expect("an entry").path());
    let pages: Vec<PathBuf> =
        pages.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    assert!(pages.len() > 10, "only {} documents were found", pages.len());
    for page in pages {
        let text = fs::read_to_string(&page).expect("a page");
        // An address cannot be broken.
        let lines = text.lines().enumerate().filter(|(_, line)| !line.contains("://"));
        for (number, line) in lines {
            let columns = line.chars().count();
            assert!(columns <= 120, "{}:{} has {columns}", page.display(), number + 1);
        }
    }
}

/// Items `3. ...` of a list, each with the indented lines that belong to it.
fn numbered(list: &str) -> Vec<String> {
    let is_first =
        |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let mut items: Vec<String> = Vec::new();
    for line in list.lines() {
        match items.last_mut() {
            _ if is_first(line) => items.push(line.into()),
            Some(item) if line.starts_with("   ") => *item += line,
            _ => {}
        }
    }
    items
}

/// Name and directory of every crate of the workspace.
fn crates() -> Vec<(String, PathBuf)> {
    let listed = fs::read_dir(root().join("crates")).expect("crates");
    let inner = listed.map(|entry| entry.expect("an entry").path());
    let mut all: Vec<(String, PathBuf)> = inner
        .filter(|path| path.join("Cargo.toml").exists())
        .map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path))
        .collect();
    all.push(("benches".into(), root().join("benches")));
    all
}

/// All Rust files below a directory with their text.
fn rust_files(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                found.push((path, text));
            }
        }
    }
    found
}
