//! `parabench programs`, and the programs and examples themselves.

use crate::scene::{Scene, root};
use crate::schema::run_object;
use std::fs;

/// Names of the programs of a folder, without their ending.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder");
    let paths = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "ppl"));
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

/// Options under which an example runs as printed in its first lines.
fn options(name: &str) -> &'static str {
    match name {
        "groups" => "-n 4",
        "random" | "procs" => "-n 2",
        "signals" => "-n 3",
        _ => "-n 1",
    }
}

#[test]
fn every_example_runs_as_printed() {
    for name in names("examples") {
        let scene = Scene::new();
        let path = root().join(format!("examples/{name}.ppl"));
        let path = path.display();
        if name.starts_with("listing2") {
            continue;
        }
        let text = fs::read_to_string(format!("{path}")).unwrap();
        let printed = text.lines().find_map(|line| line.split_once("parabench run examples/"));
        if let Some((_, printed)) = printed {
            let words: Vec<&str> = printed.split_whitespace().skip(1).collect();
            assert!(
                words.join(" ").starts_with(options(&name)) || options(&name) == "-n 1",
                "{name}"
            );
        }
        for backend in ["posix", "mem"] {
            let line = format!("run {path} {} --backend {backend}", options(&name));
            let done = scene.parabench(&line).exits(0);
            assert!(!done.err.contains("warning["), "{name}: {}", done.err);
        }
        assert!(scene.names(".").is_empty(), "{name}");
    }
}

/// The paper's second listing cannot succeed as printed; what stands in its way is said.
#[test]
fn listing_2_checks_with_warnings_and_its_corrected_twin_without() {
    let path = |name: &str| root().join(format!("examples/{name}.ppl"));
    let done = Scene::new().call("check").word(path("listing2")).run().exits(0);
    for code in ["W0201", "W0203", "W0301", "W0302", "W0303"] {
        assert!(done.err.contains(code), "{code}: {}", done.err);
    }
    let done = Scene::new().call("check").word(path("listing2-corrected")).run().exits(0);
    done.err_has("nothing wrong");
}

/// A shipped program with figures small enough for a test.
fn small(name: &str) -> &'static str {
    match name {
        "stress" => "num=20",
        "btio" => "dumps=2",
        "collective" => "segment=64k transfer=16k",
        "dlio" => "num_files_train=20 batch_size=2 scale=10000",
        "git" => "dirs=2 files=3",
        "kafka" => "batches=40 segment_bytes=64k retention_segments=2",
        "maildir" => "messages=5",
        "postgres" => "pages=16 transactions=6 checkpoint=3 wal_segment_size=32k",
        "sqlite" => "transactions=3 pages=10",
        "vmimage" => "size=1m kernel=256k operations=20",
        "zarr" => "slices=1 chunks=32,32,32",
        "flash" => "blocks=1 zones=4",
        "hacc" => "particles=100 header=4k",
        "tile" => "sz_tile_x=16 sz_tile_y=16",
        "ior" => "b=64k t=16k",
        "beffio" => "MB=1k MPART=2k",
        "filebench" => "loops=3 nfiles=4 filesize=4k",
        "postmark" => "number=10 transactions=10",
        "hpio" => "region_count=10",
        "iozone" => "file_size=64k record=16k",
        "madbench2" => "npix=32 nbin=2",
        "mdworkbench" => "D=2 P=3 I=2",
        "noncontig" => "veccount=2",
        "s3d" => "nx_g=4 ny_g=4 nz_g=5",
        "mdtest" => "n=14 b=2 z=2 w=10 e=10",
        "io500" => "easy_block=64k easy_transfer=16k hard_segments=2 easy_n=5 hard_n=5",
        "management" => "files=2",
        "metadata" => "num=10",
        "olap" => "indexes=2",
        "sequential" => "size=1m block=64k fsync=0",
        "split" => "segment=64k transfer=16k",
        "team" | "static" => "bytes=256k chunk=64k block=16k",
        "piobench" => "buffer=4k units=4 vertices=64 blocks=1 sync=0",
        "random" => "size=256k",
        "staging" => "input=64k state=64k steps=2 work=0s --mount fast=fast",
        other => panic!("how is {other} made small?"),
    }
}

#[test]
fn trap_17_every_shipped_program_checks_and_runs_on_every_back_end() {
    for name in names("programs") {
        Scene::new().parabench(&format!("check @{name}")).exits(0).err_has("nothing wrong");
        for options in ["-n 1", "-n 2", "--backend mem -n 5", "--dry-run"] {
            let scene = Scene::new();
            let done = scene.parabench(&format!("run @{name} {} {options}", small(&name))).exits(0);
            assert!(!done.err.contains("warning["), "{name}: {}", done.err);
        }
        Scene::new().parabench(&format!("plan @{name} --ops 400")).exits(0).out_has("openat");
    }
}

#[test]
fn shipped_programs_need_no_confinement() {
    for name in names("programs") {
        let line = format!("run @{name} {} --format json -n 2", small(&name));
        let run = run_object(&Scene::new().parabench(&line).exits(0));
        assert_eq!(run["run"]["evidence"]["confinement"], "checked", "{name}");
        assert_eq!(run["run"]["evidence"]["short"], 0, "{name}");
    }
}

#[test]
fn trap_16_every_label_of_a_shipped_program_runs_alone() {
    for name in names("programs") {
        let scene = Scene::new();
        let line = format!("run @{name} {} --dir d -n 2 --keep --format json", small(&name));
        let run = run_object(&scene.parabench(&line).exits(0));
        let times = run["times"].as_array().unwrap();
        let labels: Vec<&str> = times.iter().map(|time| time["label"].as_str().unwrap()).collect();
        assert!(!labels.is_empty(), "{name}");
        for label in labels {
            let call = scene.call(&line).word("--only").word(label).run();
            let alone = run_object(&call.exits(0));
            assert!(
                alone["rows"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|row| within(row["label"].as_str().unwrap(), label))
            );
            let others = alone["rows"].as_array().unwrap().iter().map(|row| &row["label"]);
            let others: Vec<_> =
                others.filter(|l| *l != "" && !within(l.as_str().unwrap(), label)).collect();
            assert!(others.is_empty(), "{name} {label}: {others:?}");
        }
    }
}

fn within(label: &str, outer: &str) -> bool {
    label == outer || label.starts_with(&format!("{outer}/"))
}

#[test]
fn descriptions_are_whole_sentences_at_any_width() {
    for columns in ["72", "100", "200"] {
        let list = Scene::new().call("programs").env("COLUMNS", columns).run().exits(0).out;
        let paragraphs = list.split("\n@").filter(|part| !part.contains("parabench programs NAME"));
        for one in paragraphs {
            assert!(one.trim_end().ends_with('.'), "{one}");
        }
        let width = columns.parse::<usize>().unwrap();
        assert!(list.lines().all(|line| line.len() <= width), "{list}");
    }
}
