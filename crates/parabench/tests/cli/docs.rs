//! Every example in the documents runs.
//!
//! | fence | the block must |
//! |---|---|
//! | `ppl` | run on the mem back-end with 4 ranks and exit with 0 |
//! | `ppl,check` | check without errors |
//! | `ppl,fail` | be refused, by the checker or at run time |
//! | `console` | run, if its lines start with `$ parabench` |
//! | `text FILE`, `toml FILE` | lie in this file where the document's commands run |

use crate::scene::{Scene, root};
use std::fs;
use std::path::PathBuf;

/// A fenced block of a document.
#[derive(Debug)]
struct Block {
    place: String,
    kind: String,
    text: String,
}

fn documents() -> Vec<PathBuf> {
    let mut paths = vec![root().join("README.md")];
    let entries = fs::read_dir(root().join("docs")).expect("docs");
    paths.extend(entries.map(|entry| entry.unwrap().path()));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort();
    paths
}

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for path in documents() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut open = false;
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            if let Some(kind) = line.trim_start().strip_prefix("```") {
                open = !open;
                if open {
                    let place = format!("{name}:{}", number + 1);
                    blocks.push(Block { place, kind: kind.into(), text: String::new() });
                }
            } else if open {
                let block = blocks.last_mut().expect("a fence opened it");
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
        assert!(!open, "{name}: a fence is not closed");
    }
    blocks
}

#[test]
fn programs_in_documents_do_what_their_fence_says() {
    let mut seen = 0;
    for block in blocks() {
        let verb = match block.kind.as_str() {
            "ppl" | "ppl,fail" => "run - --backend mem -n 4",
            "ppl,check" => "check -",
            kind => {
                assert!(!kind.starts_with("ppl"), "{}: what is {kind}?", block.place);
                continue;
            }
        };
        seen += 1;
        let done = Scene::new().call(verb).input(&block.text).run();
        let wrong = matches!(done.code, Some(1 | 2));
        let expected = if block.kind == "ppl,fail" { wrong } else { done.code == Some(0) };
        assert!(expected, "{} ({}): {done:#?}\n{}", block.place, block.kind, block.text);
    }
    assert!(seen > 20, "only {seen} blocks were found");
}

/// What a reader has recorded.
const STRACE: &str = "17 openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n17 read(3, \"\", 10) = 0\n";

/// An application that a reader has.
const APP: &str = "#!/bin/sh\nread word < app.strace\nread word < data/here\n";

/// Commands of a document run one after the other in one folder, in which the document's
/// programs lie under the name that its commands use. Storage that the reader has is a folder.
#[test]
fn commands_in_documents_run() {
    let mut seen = 0;
    for path in documents() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let of_this = |block: &Block| block.place.starts_with(&format!("{name}:"));
        let all: Vec<Block> = blocks().into_iter().filter(of_this).collect();
        let program = all.iter().find(|block| block.kind == "ppl").map_or("", |block| &block.text);
        let mut scene = Scene::new()
            .file("mnt/storage/here", "")
            .file("mnt/fs/here", "")
            .file("data/here", "a word\n");
        let darshan = root().join("crates/trace/tests/real/dxt-simple.darshan");
        let darshan = fs::read(darshan).expect("a log");
        scene = scene.file("app.strace", STRACE).file("app.darshan", darshan).script("app", APP);
        for block in &all {
            if let Some((_, file)) = block.kind.split_once(' ') {
                scene = scene.file(file, &block.text);
            }
        }
        for block in all.iter().filter(|block| block.kind == "console") {
            for line in block.text.lines().filter_map(|line| line.strip_prefix("$ parabench ")) {
                let command = line
                    .split('#')
                    .next()
                    .unwrap()
                    .replace("/mnt/", "mnt/")
                    .replace("/data", "data");
                let file = command.split_whitespace().find(|word| word.ends_with(".ppl"));
                if let Some(file) = file.filter(|file| !scene.path(file).exists()) {
                    scene = scene.file(file, program);
                }
                seen += 1;
                let done = scene.parabench(&command);
                assert_eq!(done.code, Some(0), "{}: {command}: {done:#?}", block.place);
            }
        }
    }
    assert!(seen > 5, "only {seen} commands were found");
}
