//! `with (verify=true)`: every way to move bytes, runs one after the other, and what is said of wrong
//! bytes.

use crate::figures::row;
use crate::scene::{Scene, holds};
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use serde_json::{Value, json};
use std::fs;

/// All operations that write and read, on files of one rank and on a shared one.
const ALL: &str = r#"
define pattern {"rows", 16, 3000, 0};
with (verify=true) {
    write("w-$$rank", 100k);
    append("w-$$rank", 5000);
    append("w-$$rank", 7);
    read("w-$$rank");
    read("w-$$rank", 700, 101000);
    $h = fopen("h-$$rank", "w+");
    repeat $i 50 fwrite($h, 4k);
    repeat $i 30 fwrite($h, rand(1, 9000), rand(0, 150000));
    writev($h, [10, 5000, 300, 4096], 12345);
    ftruncate($h, 120000);
    fallocate($h, 20000, 30000, "punch");
    fwrite($h, 300, 30000);
    readv($h, [7, 9000, 60000], 3);
    fread($h, 200k, 0);
    fwrite($h, "rows");
    fread($h, "rows");
    fclose($h);
    with (engine="mmap") { write("m-$$rank", 50000, 100); read("m-$$rank"); }
    with (engine="uring|posix", depth=8) {
        $q = fopen("q-$$rank", "w+");
        repeat $i 64 fwrite($q, 6000, $i * 4000);
        repeat $i 64 fread($q, 6000, $i * 4000);
        fclose($q);
    }
    $s = fopen("shared", "r+");
    repeat $i 40 fwrite($s, rand(3, 600) * 16, rand(0, 6000) * 16);
    repeat $i 40 fread($s, rand(3, 600) * 16, rand(0, 6000) * 16);
    barrier;
    fread($s);
    fclose($s);
    rename("w-$$rank", "x-$$rank");
    read("x-$$rank");
    delete("m-$$rank");
}
"#;

/// Other names, and data that has moved: nobody can know what is expected.
const UNKNOWN: &str = r#"
with (verify=true) {
    write("a", 1000); symlink("a", "b"); read("b"); link("a", "c"); read("c");
    mkdir("d"); write("d/a", 100); symlink("d", "e"); read("e/a");
    $t = tmpfile(); fwrite($t, 5000); linkat($t, "z"); fclose($t); read("z");
}
"#;
const MOVED: &str = r#"
with (verify=true, expect="EOPNOTSUPP") {
    $h = fopen("h", "w+"); fwrite($h, 64k); fallocate($h, 4k, 8k, "collapse"); fread($h, 64k, 0);
    fwrite($h, 5000, 10000); fread($h, 64k, 0); fclose($h);
}
"#;

#[test]
fn what_cannot_be_known_is_no_alarm() {
    for text in [UNKNOWN, MOVED] {
        for backend in ["posix", "mem"] {
            let done = Scene::new().file("x.ppl", text);
            done.parabench(&format!("run x.ppl --backend {backend}")).exits(0);
        }
    }
}

fn verified(run: &Value) -> Value {
    run["run"]["evidence"]["labels"][0]["verified"].clone()
}

fn notes(run: &Value) -> String {
    run["run"]["evidence"]["notes"].to_string()
}

#[test]
fn every_way_to_move_bytes_is_verified_and_nothing_is_wrong() {
    let scene = Scene::new()
        .file("all.ppl", format!("$c = fopen(\"shared\", \"a\"); fclose($c); barrier;\n{ALL}"));
    for (ranks, seed) in [(1, 1), (2, 2), (3, 3), (3, 4), (2, 5), (3, 6)] {
        let command = format!("run all.ppl -n {ranks} --seed {seed} --format json");
        let run = run_object(&scene.parabench(&command).exits(0));
        let found = verified(&run);
        assert!(found["checked_bytes"].as_u64() > Some(400_000), "{found:#}");
        assert!(found["fill_ns"].as_u64() > Some(0) && found["check_ns"].as_u64() > Some(0));
        // The shared file has holes.
        assert!(notes(&run).contains("no other byte was wrong"), "{}", notes(&run));
    }
    // Simulated files keep no bytes: nothing is verified, and nothing fails.
    let simulated =
        run_object(&scene.parabench("run all.ppl -n 2 --backend mem --format json").exits(0));
    assert_eq!(verified(&simulated), Value::Null);
}

/// What rank 0 wrote is overwritten with zeros before rank 1 checks it.
const OVERWRITTEN: &str = r#"
$h = fopen("f", "O_RDWR|O_CREAT");
if ($$rank == 0) with (verify=true) fwrite($h, 64k, 0);
barrier;
if ($$rank == 2) with (data="zero") fwrite($h, 8k, 16k);
barrier;
if ($$rank == 1) with (verify=true) fread($h, 64k, 0);
"#;

/// A rank does not know what others wrote: zeros there may be holes, but are not said to be right.
#[test]
fn zeros_in_what_another_rank_wrote_are_a_verdict() {
    let scene = Scene::new().file("x.ppl", OVERWRITTEN);
    let run = run_object(&scene.parabench("run x.ppl -n 3 --format json").exits(0));
    assert!(verdicts(&run).contains(&"unknown-zeros"), "{}", run["run"]["evidence"]["marks"]);
    let said = notes(&run);
    assert!(
        said.contains("8 KiB were zeros where") && !said.contains("nothing was wrong"),
        "{said}"
    );
}

const WRITES: &str = "with (verify=true) write(\"f\", 256k);";
const READS: &str = "time[\"check\"] with (verify=true) read(\"f\", 256k);";

/// A file written by one run, changed, and read by another: its exit code, failures and notes.
fn between(change: impl FnOnce(&mut Vec<u8>)) -> (i64, String) {
    let scene = Scene::new().file("w.ppl", WRITES).file("r.ppl", READS);
    let wrote = run_object(&scene.parabench("run w.ppl --dir d --format json").exits(0));
    assert!(notes(&wrote).contains("verify=true: 256 KiB filled"), "{}", notes(&wrote));
    let mut bytes = fs::read(scene.path("d/f")).expect("the file");
    change(&mut bytes);
    fs::write(scene.path("d/f"), bytes).expect("a change");
    let read = run_object(&scene.parabench("run r.ppl --dir d --format json"));
    let code = read["run"]["exit_code"].as_i64().expect("a code");
    (code, format!("{} {}", read["run"]["failures"], notes(&read)))
}

#[test]
fn a_later_run_finds_what_was_changed_since() {
    type Change = fn(&mut Vec<u8>);
    let rows: [(Change, i64, &[&str]); 5] = [
        (|_| (), 0, &["256 KiB checked", "nothing was wrong"]),
        (
            |bytes| bytes[70_001] ^= 1,
            1,
            &["EBADMSG", "other data at offset 70001 (1 byte)", "WRONG PLACES: 1 other"],
        ),
        (
            |bytes| bytes.copy_within(4096..8192, 65536),
            1,
            &["other data at offset 65536 (4096 bytes)"],
        ),
        (|bytes| bytes[1000..3000].fill(b'x'), 1, &["other data at offset 1000 (2000 bytes)"]),
        // A hole may have been left by who wrote the file: it is counted, and said.
        (|bytes| bytes[4096..8192].fill(0), 0, &["4 KiB were zeros where"]),
    ];
    for (change, code, said) in rows {
        let (exit, text) = between(change);
        assert_eq!(exit, code, "{text}");
        said.iter().for_each(|part| assert!(holds(&text, part), "{part}: {text}"));
    }
}

/// Codes of the marks that count.
fn verdicts(run: &Value) -> Vec<&str> {
    let marks = run["run"]["evidence"]["marks"].as_array().expect("marks").iter();
    marks.filter(|mark| mark["counts"] == true).filter_map(|mark| mark["code"].as_str()).collect()
}

/// An earlier run's data that is gone, and a file that is shorter than what is asked for, are verdicts; the
/// holes of the run itself are not.
#[test]
fn what_is_gone_of_an_earlier_run_is_said() {
    let scene = Scene::new()
        .file("w.ppl", "repeat $i 7 with (verify=true) write(\"f-$i\", 64k);")
        .file("r.ppl", "repeat $i 7 time[\"check\"] with (verify=true) read(\"f-$i\", 64k);")
        .file("holes.ppl", "with (verify=true) { write(\"s\", 4k, 1m); read(\"s\"); }");
    let run = |program: &str| {
        let command = format!("run {program} --dir d --format json");
        run_object(&scene.parabench(&command).exits(0))
    };
    let says = |run: &Value, code: &str| verdicts(run).contains(&code);
    run("w.ppl");
    let sound = run("r.ppl");
    assert!(!says(&sound, "unknown-zeros") && !says(&sound, "short-operations"));
    let file = |number: usize| scene.path(&format!("d/f-{number}"));
    let bytes = fs::read(file(0)).expect("the file");
    fs::write(file(0), [&bytes[..4096], &[0; 8192], &bytes[12288..]].concat()).expect("a change");
    let zeros = run("r.ppl");
    assert!(says(&zeros, "unknown-zeros"), "{}", zeros["run"]["evidence"]["marks"]);
    let marks = zeros["run"]["evidence"]["marks"].to_string();
    assert!(marks.contains("8 KiB of 448 KiB read with verify=true were zeros"), "{marks}");
    assert!(marks.contains("f-0 at offset 4096 (8 KiB)"), "{marks}");
    fs::write(file(0), &bytes[..40_000]).expect("a change");
    assert!(says(&run("r.ppl"), "short-operations"));
    assert!(!says(&run("holes.ppl"), "unknown-zeros"));
    for number in 0..7 {
        fs::write(file(number), vec![b'x'; 65_536]).expect("a change");
    }
    let wrong = scene.parabench("run r.ppl --dir d -v").exits(1);
    let text = wrong.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for number in 0..5 {
        assert!(text.contains(&format!("rank 0, f-{number}, offset")), "{number}: {text}");
    }
    assert!(text.contains("read only by operations that failed"), "{text}");
}

/// Places of zeros are named one by one, from each rank and from wherever its reads begin; the rest is counted.
#[test]
fn zeros_of_an_earlier_run_are_named_by_file_and_offset() {
    let scene = Scene::new().file("w.ppl", "with (verify=true) write(\"f-$$rank\", 1m);").file(
        "r.ppl",
        "with (verify=true) { $h = fopen(\"f-$$rank\", \"r\"); repeat 512 fread($h, 2k); }",
    );
    scene.parabench("run w.ppl -n 2 --dir d").exits(0);
    for (file, holes) in [("d/f-0", 4), ("d/f-1", 10)] {
        let mut bytes = fs::read(scene.path(file)).expect("the file");
        // Each lies in three reads.
        (0..holes).for_each(|at| bytes[at * 65536 + 1536..at * 65536 + 6656].fill(0));
        fs::write(scene.path(file), bytes).expect("a change");
    }
    let run = run_object(&scene.parabench("run r.ppl -n 2 --dir d --format json").exits(0));
    let found = verified(&run);
    assert_eq!((&found["zero_places"], &found["zero_bytes"]), (&14.into(), &(14 * 5120).into()));
    let places = found["zeros"].as_array().expect("places");
    assert_eq!(places.len(), 10, "{places:#?}");
    assert_eq!(
        places[3],
        json!({"rank": 0, "path": "f-0", "offset_bytes": 198_144, "bytes": 5120})
    );
    assert_eq!(places[4], json!({"rank": 1, "path": "f-1", "offset_bytes": 1536, "bytes": 5120}));
    let marks = run["run"]["evidence"]["marks"].to_string();
    assert!(marks.contains("the first of 14 places: f-0 at offset 1536 (5 KiB), f-0"), "{marks}");
}

#[test]
fn options_that_contradict_are_refused_and_copies_are_not_verified() {
    let scene = Scene::new()
        .file("zero.ppl", "with (verify=true, data=\"zero\") write(\"f\", 4k);")
        .file("inner.ppl", "with (verify=true) with (compress=2) write(\"f\", 4k);")
        .file("none.ppl", "with (verify=true) stat(\".\");")
        .file(
            "copy.ppl",
            "with (verify=true) { write(\"f\", 4k); copy(\"f\", \"g\"); read(\"g\"); }",
        );
    scene.parabench("check zero.ppl").exits(2).err_has("verify=true writes data of its own");
    scene.parabench("run inner.ppl").exits(1).out_has("verify=true writes");
    scene.parabench("check none.ppl").err_has("W0403");
    let copied = run_object(&scene.parabench("run copy.ppl --format json").exits(0));
    assert_eq!(verified(&copied)["checked_bytes"], 4096);
    // What is copied over verified data is another file's, and where it belongs.
    let scene = scene.file(
        "fcopy.ppl",
        "with (verify=true) { write(\"f\", 8k); write(\"g\", 4k); $f = fopen(\"f\", \"r\"); \
         $g = fopen(\"g\", \"r+\"); fcopy($f, $g, 4k); fread($g, 4k, 0); }",
    );
    let copied = run_object(&scene.parabench("run fcopy.ppl --format json").exits(0));
    assert_eq!(row(&copied, "", "fcopy")["bytes"], 4096);
    assert_eq!(verified(&copied)["checked_bytes"], 4096);
}

#[test]
fn the_page_and_the_table_name_the_first_wrong_place() {
    let scene = Scene::new().file("w.ppl", WRITES).file("r.ppl", READS);
    scene.parabench("run w.ppl --dir d").exits(0);
    let mut bytes = fs::read(scene.path("d/f")).expect("the file");
    bytes[5000] ^= 8;
    fs::write(scene.path("d/f"), bytes).expect("a change");
    scene.parabench("run r.ppl --dir d --out o --html page.html").exits(1);
    for page in [scene.text("page.html"), scene.text("o/run.json")] {
        assert!(page.contains("other data at offset 5000 (1 byte)"), "{page}");
        assert!(page.contains("WRONG PLACES: 1 other"), "{page}");
    }
}

#[test]
fn a_mounted_directory_is_verified_too() {
    let text = "with (verify=true) { with (dir=\"far\") write(\"f\", 64k); read(\"far:f\"); }";
    let scene = Scene::new().file("m.ppl", text);
    fs::create_dir(scene.path("other")).expect("mkdir");
    let run = run_object(&scene.parabench("run m.ppl --mount far=other --format json").exits(0));
    assert_eq!(verified(&run)["checked_bytes"], 65536);
}

/// What brings a copy through memory is no write of its own: the copy holds the source's bytes.
#[test]
fn a_copy_between_file_systems_is_the_source() {
    let text = "write(\"f\", 300k); with (verify=true) copy(\"f\", \"fast:f\");";
    let scene = Scene::new().file("x.ppl", text).file("m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=8m") else { return };
    scene.parabench("run x.ppl --dir d --mount fast=m").exits(0);
    let [source, copy] = ["d/f", "m/f"].map(|name| fs::read(scene.path(name)).expect("a file"));
    assert!(source.len() == 300 << 10 && source == copy, "the copy differs");
}
