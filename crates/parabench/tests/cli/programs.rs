//! `parabench programs`, and the programs and examples themselves.

use crate::scene::{Scene, root};
use std::fs;

/// Names of the programs of a folder, without their ending.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder");
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

#[test]
fn the_list_describes_each_and_the_text_is_the_file() {
    let list = Scene::new().parabench("programs").exits(0);
    for name in names("programs") {
        assert!(list.out.contains(&format!("@{name} ")), "{name}");
        let text = fs::read_to_string(root().join(format!("programs/{name}.ppl"))).unwrap();
        Scene::new().parabench(&format!("programs {name}")).exits(0).out_is(&text);
        Scene::new().parabench(&format!("programs @{name}")).exits(0).out_is(&text);
    }
    Scene::new().parabench("programs nosuch").exits(2).err_has("no program called \"nosuch\"");
}

#[test]
fn shipped_programs_and_examples_are_formatted() {
    for folder in ["programs", "examples"] {
        for name in names(folder).iter().filter(|name| !is_printed(name)) {
            let path = root().join(folder).join(format!("{name}.ppl"));
            Scene::new().call("fmt --check").word(path).run().exits(0);
        }
    }
}

/// Listings that stand here as the paper prints them.
fn is_printed(name: &str) -> bool {
    matches!(name, "listing1" | "listing2")
}
