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
}

#[test]
fn a_name_that_is_none_gets_the_nearest_one() {
    let cases = [
        ("run @stres", "the nearest is @stress; "),
        ("programs mdtst", "the nearest is @mdtest; "),
        ("programs @mdtst", "the nearest is @mdtest; "),
        ("run @nosuchprogram", "help: `parabench programs` lists them"),
        ("programs nosuchprogram", "help: `parabench programs` lists them"),
    ];
    for (command, help) in cases {
        Scene::new().parabench(command).exits(2).err_has(help);
    }
    let including = Scene::new().file("a.ppl", "include \"@stres\";\n");
    including.parabench("check a.ppl").exits(2).err_has("the nearest is @stress");
}

#[test]
fn parameters_of_each_program_are_shown_with_defaults_and_texts() {
    let tile = Scene::new().parabench("programs @tile --params").exits(0);
    tile.out_has("sz_element=").out_has("nr_tiles_x=");
    for name in names("programs") {
        let shown = Scene::new().parabench(&format!("programs {name} --params")).exits(0).out;
        let text = fs::read_to_string(root().join(format!("programs/{name}.ppl"))).unwrap();
        let params: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("param $")).collect();
        assert!(!params.is_empty(), "{name}");
        for param in params {
            let (param, _) = param.split_once(" = ").expect("a default");
            let at = shown.find(&format!("{param}=")).unwrap_or_else(|| panic!("{name}: {param}"));
            let meaning = shown[at..].lines().nth(1).unwrap_or_default();
            assert!(meaning.starts_with("    ") && meaning.len() > 6, "{name} {param}: {meaning}");
        }
    }
    Scene::new().parabench("programs --params").exits(2);
}

#[test]
fn help_shows_the_parameters_of_the_program_on_the_line() {
    let scene =
        Scene::new().file("x.ppl", "param $pause = 5ms; /// between writes\nsleep($pause);");
    for call in ["run --help @tile", "run @tile --help", "plan @tile -h"] {
        let done = scene.parabench(call).exits(0);
        done.out_has("Parameters of @tile:")
            .out_has("nr_tiles_x=1   (number)\n    tiles in a row\n");
    }
    let own = scene.parabench("run x.ppl -n 2 --help").exits(0);
    own.out_has("pause=5ms   (time, as in 5ms)\n    between writes\n");
    scene.parabench("run --help nosuch.ppl").exits(0).out_has("there is no such file");
    assert!(!scene.parabench("run --help").exits(0).out.contains("Parameters of"));
}

#[test]
fn paper_is_a_parameter_with_an_option_of_its_own() {
    let scene = Scene::new().file("x.ppl", "param $paper = false; /// its size\nprint $paper;");
    scene.parabench("run x.ppl --paper").exits(0).out_has("[0] true");
    scene.parabench("run x.ppl").exits(0).out_has("[0] false");
    let refused = scene.parabench("run @tile --paper").exits(2);
    refused.err_has("--paper: the program has no parameter paper").err_has("these have one: @olap");
}

/// Zero and -1 have a meaning of their own, as no limit or the program's choice; what lies below is a mistake.
#[test]
fn numbers_below_those_with_a_meaning_are_refused() {
    let lines = [
        ("@beffio T=-1", "T is a number of seconds"),
        ("@filebench run=-1", "run is a number of seconds"),
        ("@filebench filesize=-1", "filesize is a number of bytes"),
        ("@io500 stonewall=-1", "stonewall is a number of seconds"),
        ("@ior D=-1", "D is a number of seconds"),
        ("@mdtest W=-1", "W is a number of seconds"),
        ("@noncontig fsize=-1", "fsize is a number of MiB"),
        ("@olap indexes=-1", "indexes is a number"),
        ("@postmark subdirectories=-1", "subdirectories is a number"),
        ("@s3d npz=-1", "npz is a number of blocks"),
        ("@dlio epochs_between_checkpoints=-1", "0 writes no checkpoint"),
        ("@team slow_rank=-2", "slow_rank is one of the ranks"),
        ("@static slow_rank=-2", "slow_rank is one of the ranks"),
        ("@zarr shape=64,64 chunks=16,16", "shape and chunks have three numbers each"),
    ];
    for (line, message) in lines {
        Scene::new().parabench(&format!("check {line}")).exits(2).err_has(message);
    }
}

/// Joined subfiles are gone: reading them is a failure, and no file is made for it.
#[test]
fn split_reads_no_subfiles_that_are_joined() {
    let scene = Scene::new();
    let line = "run @split layout=split segment=64k transfer=16k -n 2 --dir d --keep";
    scene.parabench(line).exits(0);
    scene.parabench(&format!("{line} --only read")).exits(1).out_has("fopen ENOENT");
    assert!(!scene.names("d").iter().any(|name| name.starts_with("shared.")));
}

/// Programs of two groups have a group without members on one rank.
fn least_ranks(name: &str) -> u32 {
    if name == "groups" { 2 } else { 1 }
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
        "groups" => "iterations=3 elements=4k block=4k",
        "staging" => "input=64k state=64k steps=2 work=0s --mount fast=fast",
        other => panic!("how is {other} made small?"),
    }
}

#[test]
fn trap_17_every_shipped_program_checks_and_runs_on_every_back_end() {
    for name in names("programs") {
        Scene::new().parabench(&format!("check @{name}")).exits(0).err_has("nothing wrong");
        let least = format!("-n {}", least_ranks(&name));
        let dry = format!("--dry-run {least}");
        for options in [&*least, "-n 2", "--backend mem -n 5", &dry] {
            let scene = Scene::new();
            let done = scene.parabench(&format!("run @{name} {} {options}", small(&name))).exits(0);
            assert!(!done.err.contains("warning["), "{name}: {}", done.err);
        }
        Scene::new()
            .parabench(&format!("plan @{name} --ops 10"))
            .exits(0)
            .out_has("calls of rank 0");
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
fn the_list_has_a_whole_line_for_each_program_below_its_family() {
    let list = Scene::new().call("programs").env("COLUMNS", "72").run().exits(0).out;
    assert!(list.lines().all(|line| line.len() <= 72), "{list}");
    let lines: Vec<&str> = list.lines().filter(|line| line.starts_with("  @")).collect();
    assert_eq!(lines.len(), names("programs").len());
    assert!(lines.iter().all(|line| line.ends_with('.')), "{list}");
    for (above, below) in [("The Parabench paper", "  @groups"), ("Building blocks", "  @metadata")]
    {
        assert!(list.contains(&format!("{above}\n{below}")), "{list}");
    }
}

/// The cells of a line of a table, behind its name.
fn line_of<'t>(table: &'t str, name: &str) -> Vec<&'t str> {
    let line = table.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("{name}: {table}"));
    line[name.len()..].split_whitespace().collect()
}

#[test]
fn the_papers_table_has_its_counts_and_its_published_figures() {
    let scene = Scene::new();
    let call = "run @olap --paper -n 2 --backend mem --out stored --html page.html";
    let done = scene.call(call).env("COLUMNS", "130").run().exits(0);
    let table = &done.out[done.out.find("Index create, delete, indexing:").expect("a table")..];
    let (create, rest) = table.split_once("index delete").expect("a heading");
    let (delete, indexing) = rest.split_once("\nindexing\n").expect("a heading");
    for (part, name, count, published) in [
        (
            create,
            "delete",
            "8000",
            ["0.033", "0.028", "1.188", "-", "0.049", "0.032", "0.286", "-"],
        ),
        (
            create,
            "mkdir",
            "4000",
            ["3.870", "0.521", "56.283", "-", "1.585", "0.471", "144.903", "-"],
        ),
        (
            create,
            "rename",
            "8000",
            ["0.809", "0.626", "106.685", "-", "0.164", "0.103", "88.64", "-"],
        ),
        (
            create,
            "write",
            "25000",
            ["0.105", "0.016", "7.435", "21.79", "0.185", "0.015", "229.701", "12.3"],
        ),
        (
            delete,
            "delete",
            "26000",
            ["1.249", "0.025", "80.840", "-", "0.284", "0.032", "108.633", "-"],
        ),
        (
            delete,
            "rmdir",
            "5000",
            ["200.485", "105.498", "1303.360", "-", "0.364", "0.106", "91.671", "-"],
        ),
        (
            indexing,
            "s.read",
            "40000",
            ["0.029", "0.026", "0.133", "3.79", "0.037", "0.028", "14.434", "3.08"],
        ),
        (
            indexing,
            "s.write",
            "84000",
            ["0.032", "0.021", "0.274", "2.01", "0.021", "0.011", "2.329", "2.97"],
        ),
    ] {
        let cells = line_of(part, name);
        assert_eq!((cells[0], &cells[5..]), (count, &published[..]), "{name}: {table}");
        assert!(cells[1..4].iter().all(|time| time.parse::<f64>().unwrap() > 0.0), "{name}");
    }
    let throughput = line_of(indexing, "c.throughput");
    assert_eq!(throughput[5..], ["-", "-", "-", "22.11", "-", "-", "-", "13.55"], "{table}");
    for call in ["report stored --format markdown", "report stored -v"] {
        let done = scene.call(call).env("COLUMNS", "130").run().exits(0);
        done.out_has("500 indexes, 4 servers").out_has("c.throughput").out_has("1303.360");
    }
    assert!(scene.text("page.html").contains("1303.360"));
    let plain = Scene::new().parabench("run @olap indexes=1 --backend mem").exits(0);
    assert!(!plain.out.contains("c.throughput"));
}

/// The rates of a table are those of its rows in `run.json`.
#[test]
fn figures_of_a_laid_out_table_are_those_of_the_rows() {
    let scene = Scene::new();
    let call = "run @olap --paper indexes=3 -n 2 --backend mem";
    let run = run_object(&scene.parabench(&format!("{call} --format json")).exits(0));
    let rows = run["rows"].as_array().unwrap();
    let read = rows.iter().find(|row| row["label"] == "indexing" && row["op"] == "fread").unwrap();
    let table = scene.call(call).env("COLUMNS", "130").run().exits(0).out;
    let cells = line_of(table.split("\nindexing\n").nth(1).expect("a heading"), "s.read");
    let mean_ms = read["mean_ns"].as_f64().unwrap() / 1e6;
    let near = |text: &str, value: f64| (text.parse::<f64>().unwrap() / value - 1.0).abs() < 0.01;
    assert_eq!(cells[0], "240");
    assert!(near(cells[1], mean_ms), "{cells:?} {read}");
    assert!(near(cells[4], read["rank_mib_s"].as_f64().unwrap()), "{cells:?} {read}");
}

const SPATIAL: [(&str, &str); 8] = [
    ("Simple Strided", "strided"),
    ("Nested Strided", "nested"),
    ("Random Strided", "random"),
    ("Sequential", "sequential"),
    ("Segmented", "segmented"),
    ("Tiled", "tiled"),
    ("FLASH I/O kernel", "flash"),
    ("Unstructured Mesh", "mesh"),
];
const TEMPORAL: [&str; 5] = ["write", "re-write", "read", "re-read", "read-modify-write"];

/// Each form of a pattern moves the same bytes, a modification reads and writes them.
#[test]
fn piobench_has_eight_patterns_in_five_forms_with_time_and_bandwidth() {
    let scene = Scene::new();
    let call = format!("run @piobench {} -n 2 --backend mem", small("piobench"));
    let run = run_object(&scene.parabench(&format!("{call} --format json")).exits(0));
    let table = scene.call(&call).env("COLUMNS", "100").run().exits(0).out;
    let table = &table[table.find("PIObench\n").expect("a table")..];
    let moved = |label: &str| -> u64 {
        let rows = run["rows"].as_array().unwrap().iter();
        let own = rows.filter(|row| row["label"] == label && row["part_of"].is_null());
        own.map(|row| row["bytes"].as_u64().unwrap()).sum()
    };
    for (shown, pattern) in SPATIAL {
        let written = moved(&format!("{pattern} write"));
        assert!(written > 0, "{pattern}");
        for form in TEMPORAL {
            let line = table.lines().find(|line| {
                line.strip_prefix(shown)
                    .is_some_and(|rest| rest.trim_start().starts_with(&format!("{form} ")))
            });
            let line = line.unwrap_or_else(|| panic!("{shown} {form}: {table}"));
            let figures: Vec<f64> =
                line.split_whitespace().rev().take(2).map(|cell| cell.parse().unwrap()).collect();
            assert!(figures.iter().all(|figure| *figure > 0.0), "{line}");
            let times = if form == "read-modify-write" { 2 } else { 1 };
            assert_eq!(moved(&format!("{pattern} {form}")), times * written, "{pattern} {form}");
        }
    }
}

/// Figure one of the article: bandwidth over the size of the buffer.
#[test]
fn piobench_sweeps_the_buffer_of_one_pattern() {
    let scene = Scene::new();
    let call = "run @piobench -n 2 --backend mem units=4 patterns=strided";
    let done =
        scene.parabench(&format!("{call} --sweep buffer=4k..64k*4 --html one.html")).exits(0);
    let done = done.out_has("PIObench (buffer=4k)").out_has("PIObench (buffer=64k)");
    assert!(!done.out.contains("mesh"), "{}", done.out);
    assert!(scene.text("one.html").contains("Bandwidth over buffer"));
}
