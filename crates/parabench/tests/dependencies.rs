//! Licences and duplicates of all dependencies against `deny.toml`, as `cargo deny` reads it: that tool takes minutes to
//! build and the network to run, this takes neither.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn rules() -> toml::Table {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    text.parse().expect("TOML")
}

/// The packages of this platform, tests included.
fn packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform"])
        .arg(target)
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let used: BTreeSet<String> = entries(&metadata["resolve"]["nodes"], "id").collect();
    let Value::Array(all) = metadata["packages"].take() else { panic!("packages") };
    all.into_iter().filter(|package| used.contains(text(package, "id"))).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn entries<'a>(list: &'a Value, key: &'a str) -> impl Iterator<Item = String> + 'a {
    list.as_array().into_iter().flatten().map(move |entry| text(entry, key).to_string())
}

/// Whether an expression of SPDX, with alternatives in parentheses at most, is satisfied by these licences.
fn allows(allowed: &[&str], expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        let part = part.trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|licence| allowed.contains(&licence.trim()))
    })
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let rules = rules();
    let allowed = rules["licenses"]["allow"].as_array().expect("a list");
    let allowed: Vec<&str> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let packages = packages();
    assert!(packages.len() > 50, "{} packages", packages.len());
    for package in packages {
        let licence = text(&package, "license");
        assert!(allows(&allowed, licence), "{}: {licence:?}", text(&package, "name"));
    }
}

#[test]
fn alternatives_and_conjunctions_of_licences_are_read() {
    let allowed = ["MIT", "Zlib"];
    for expression in ["MIT", "Apache-2.0/MIT", "(MIT OR Apache-2.0) AND Zlib"] {
        assert!(allows(&allowed, expression), "{expression}");
    }
    for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-2.0"] {
        assert!(!allows(&allowed, expression), "{expression}");
    }
}

#[test]
fn crates_that_are_there_twice_are_explained() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        let name = text(&package, "name").to_string();
        versions.entry(name).or_default().insert(text(&package, "version").to_string());
    }
    let rules = rules();
    let explained = rules["bans"]["skip"].as_array().expect("a list");
    let is_explained = |name: &str, version: &str| {
        explained.iter().any(|entry| {
            let (other, prefix) =
                entry["crate"].as_str().and_then(|c| c.split_once('@')).expect("a crate");
            let rest = version.strip_prefix(prefix);
            other == name && rest.is_some_and(|rest| rest.starts_with('.'))
        })
    };
    for (name, versions) in versions {
        let open = versions.iter().filter(|version| !is_explained(&name, version)).count();
        assert!(
            open <= 1,
            "{name} is there as {versions:?}: say why in deny.toml, or cargo update"
        );
    }
}

#[test]
fn all_dependencies_come_from_the_registry() {
    for package in packages() {
        let source = package["source"].as_str().unwrap_or("registry+");
        assert!(source.starts_with("registry+"), "{} from {source}", text(&package, "name"));
    }
}
