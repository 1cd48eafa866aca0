//! `parabench prepare`, `run --prepare` and `run --against-trace`.

use crate::scene::{PARABENCH, Scene};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const READER: &str = "\
param $n = 3;
repeat $i $n {
    $h = fopen(\"in/d-$$rank/f-$i\", \"r\");
    fread($h, 4k, 8k);
    fclose($h);
}
stat(\"in/config\");
write(\"out-$$rank\", 1k);
read(\"whole\");
";

fn scene() -> Scene {
    Scene::new().file("x.ppl", READER)
}

#[test]
fn what_a_program_expects_is_listed_and_made() {
    let scene = scene();
    let listed = scene.parabench("prepare x.ppl -n 2 --dir d --dry-run").exits(0);
    listed
        .out_has(
            "in: directory\nin/config: file, 0 B\nin/d-0: directory\nin/d-0/f-0: file, 12 KiB\n",
        )
        .out_has("whole: file, 1 MiB\n")
        .out_has("missing: 3 directories and 8 files, ");
    assert!(!scene.path("d").exists(), "a dry run makes nothing");
    let made = scene.parabench("prepare x.ppl -n 2 --dir d --whole 64k").exits(0);
    made.out_is("made 3 directories and 8 files, 136 KiB in d\n");
    assert_eq!(fs::metadata(scene.path("d/in/d-1/f-2")).unwrap().len(), 12 << 10);
    assert_eq!(fs::metadata(scene.path("d/whole")).unwrap().len(), 64 << 10);
    assert!(!scene.path("d/out-0").exists(), "what the program makes is not made");
    scene
        .parabench("prepare x.ppl -n 2 --dir d --whole 64k")
        .exits(0)
        .out_is("nothing is missing in d\n");
    scene.parabench("run x.ppl -n 2 --dir d").exits(0);
}

#[test]
fn a_run_offers_to_make_what_is_missing_and_makes_it() {
    let scene = scene();
    let run = scene.parabench("run x.ppl n=1");
    run.exits(1).err_has("and 4 others like it; add --prepare to create what is missing");
    let run = scene.parabench("run x.ppl n=1 --prepare --out r --reps 2").exits(0);
    assert!(!run.err.contains("missing"), "{}", run.err);
    // Outside of any measurement: no operation of it is counted.
    let found = scene.parabench("report r --format json").exits(0).json();
    let ops = found["rows"].as_array().unwrap().iter().filter(|row| row["part_of"].is_null());
    let writes: Vec<_> = ops.filter(|row| row["op"] == "write").collect();
    assert_eq!(writes.len(), 2);
    assert!(writes.iter().all(|row| row["count"] == 1 && row["bytes"] == 1024), "{writes:?}");
    let run = scene.parabench("run x.ppl n=1 --backend mem").exits(1);
    run.out_has("in/d-0/f-0");
    let run = scene.parabench("run x.ppl n=1 --backend mem --prepare --format json").exits(0);
    assert!(run.json()["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{}", run.out);
    scene.parabench("run x.ppl n=1 --dry-run --prepare").exits(0);
}

#[test]
fn a_file_that_is_too_short_is_said_to_be_that_and_verified_data_is_not_offered() {
    let read = "$h = fopen(\"own-$$rank\", \"r\"); fread($h, 1m); fclose($h);";
    let scene = Scene::new()
        .file("x.ppl", read)
        .file("v.ppl", format!("with (verify=true) {{ {read} }}"))
        .file("w.ppl", "if ($$rank == 0) write(\"own-0\", 1m); else write(\"own-1\", 500000);");
    scene.parabench("run w.ppl -n 2 --dir d").exits(0);
    let short = "own-1 has 500000 of 1048576 bytes";
    let run = scene.parabench("run x.ppl -n 2 --dir d").err_has(short);
    let run = run.err_has("add --prepare");
    assert!(!run.err.contains("like it"), "{}", run.err);
    scene.parabench("run x.ppl -n 3 --dir d").err_has(", and 1 other like it").err_has(short);
    let run = scene.parabench("run v.ppl -n 2 --dir d");
    let run = run.err_has(short).err_has("what a run with verify=true has written");
    assert!(!run.err.contains("--prepare"), "{}", run.err);
}

/// What is read as a link, and not otherwise, is one.
#[test]
fn links_of_which_the_text_is_read_are_made() {
    let text =
        "readlink(\"a\"); lstat(\"a\"); with (expect=\"EINVAL\") readlink(\"b\"); stat(\"b\");";
    let scene = Scene::new().file("x.ppl", text);
    let listed = scene.parabench("prepare x.ppl --dir d --dry-run").exits(0);
    listed.out_has("a: link to target\nb: file, 0 B\n");
    scene.parabench("run x.ppl --prepare").exits(0);
}

/// Who takes the answer asks; who does not relies on it.
#[test]
fn names_that_are_looked_up_are_made_unless_the_answer_is_taken() {
    let text = "lookup(\"a\"); $there = lookup(\"b\"); if ($there) read(\"b\");";
    let scene = Scene::new().file("x.ppl", text);
    scene
        .parabench("prepare x.ppl --dir d --dry-run")
        .exits(0)
        .out_is("missing: 1 file in d\na: file, 0 B\n");
    scene
        .parabench("run x.ppl --prepare")
        .exits(1)
        .out_has("1 x lookup ENOENT")
        .out_has("rank 0, b,");
}

#[test]
fn names_that_are_expected_to_be_missing_are_not_made() {
    let scene = Scene::new().file(
        "x.ppl",
        "with (expect=\"ENOENT\") { stat(\"a/b\"); $f = fopen(\"lock\", \"r\"); }
         mkdir(\"made\"); with (expect=\"ENOENT\") stat(\"made/x/y\"); rmdir(\"made\");
         with (expect=\"EEXIST\") mkdir(\"there/d\");
         with (expect=\"EEXIST\") $g = fopen(\"f\", \"O_RDWR|O_CREAT|O_EXCL\");
         stat(\"used\");",
    );
    let listed = scene.parabench("prepare x.ppl --dir d --dry-run").exits(0);
    // Who makes a name and takes EEXIST needs it not.
    assert!(!listed.out.contains("there/d") && !listed.out.contains("f: file"), "{}", listed.out);
    assert!(!listed.out.contains("lock") && !listed.out.contains("made"), "{}", listed.out);
    listed.out_has("there: directory\nused: file, 0 B\n");
    let run = scene.parabench("run x.ppl --prepare --format json").exits(0).json();
    let failed = run["rows"].as_array().unwrap().iter().map(|row| row["failed"].as_u64().unwrap());
    assert_eq!(failed.sum::<u64>(), 0);
}

#[test]
fn directories_of_expected_files_are_there_where_the_program_takes_it() {
    let program = "with (expect=\"EEXIST\") mkdir(\"out\");
         with (expect=\"EEXIST\") mkdir(\"out/deep\");
         with (expect=\"EEXIST\") mkdir(\"other\");
         $f = fopen(\"out/deep/in\", \"r\"); fread($f, 100); fclose($f);";
    let scene = Scene::new().file("x.ppl", program);
    let listed = scene.parabench("prepare x.ppl --dry-run").exits(0);
    assert!(!listed.out.contains("other"), "{}", listed.out);
    listed.out_has("out: directory\nout/deep: directory\nout/deep/in: file, 100 B\n");
    scene.parabench("run x.ppl --prepare").exits(0);
}

/// `stat` does not tell whether a name is a file.
#[test]
fn what_is_used_as_a_directory_is_one_whatever_was_asked_before() {
    let scene = Scene::new().file(
        "x.ppl",
        "stat(\"a\"); stat(\"a/b\"); read(\"a/b/c\", 5); stat(\"l\"); readdir(\"l\"); stat(\"f\");",
    );
    scene.parabench("prepare x.ppl --dir d").exits(0);
    assert!(scene.path("d/a/b").is_dir() && scene.path("d/l").is_dir());
    assert!(scene.path("d/a/b/c").is_file() && scene.path("d/f").is_file());
    scene.parabench("run x.ppl --prepare").exits(0);
    scene.parabench("plan x.ppl").exits(0).out_has("5 B of buffers");
}

/// A file is not sized after a file with a similar name that another rank writes.
#[test]
fn files_are_as_long_as_what_is_read() {
    let text = "if ($$rank == 0) { $h = fopen(\"f-0\", \"r\"); fread($h, 8k); fclose($h); }
         else { $h = fopen(\"f-1\", \"O_WRONLY|O_CREAT\"); fwrite($h, 5); fclose($h); }";
    let scene = Scene::new().file("x.ppl", text);
    let listed = scene.parabench("prepare x.ppl -n 2 --dir d --dry-run").exits(0);
    listed.out_is("missing: 1 file, 8 KiB in d\nf-0: file, 8 KiB\n");
    scene.parabench("run x.ppl -n 2 --prepare").exits(0);
}

#[test]
fn nothing_is_overwritten_and_nothing_outside_is_made() {
    let scene = scene();
    fs::create_dir_all(scene.path("d/in")).unwrap();
    fs::write(scene.path("d/in/config"), "mine").unwrap();
    fs::write(scene.path("d/whole"), "short").unwrap();
    scene.parabench("prepare x.ppl n=1 --dir d").exits(2).err_has("--force");
    scene.parabench("prepare x.ppl n=1 --dir d --force").exits(0);
    assert_eq!(scene.text("d/in/config"), "mine");
    let whole = fs::read(scene.path("d/whole")).unwrap();
    assert_eq!((&whole[..5], whole.len()), (&b"short"[..], 1 << 20));
    fs::create_dir(scene.path("out")).unwrap();
    std::os::unix::fs::symlink("../out", scene.path("d/in/d-1")).unwrap();
    let refused = scene.parabench("prepare x.ppl -n 2 --dir d --force").exits(2);
    refused.err_has("in/d-1/f-0: d-1 is not a directory (links are not followed)");
    assert_eq!(fs::read_dir(scene.path("out")).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_prepared_is_told() {
    let scene = scene()
        .file("huge.ppl", "$h = fopen(\"a\", \"r\"); fread($h, 1, 4000t); fclose($h);")
        .file("twice.ppl", "read(\"a\"); readdir(\"a/b\");")
        .file("fails.ppl", "$l = [1]; repeat $i 2 { stat(\"f\"); $x = $l[$i]; }");
    fs::create_dir_all(scene.path("t/a")).unwrap();
    for (line, words) in [
        (
            "prepare fails.ppl --dir d",
            "--prepare could not dry-run the program: rank 0 ends at fails.ppl:1:41: index 1 is outside a list of 1",
        ),
        ("prepare huge.ppl --dir d", "are free"),
        ("prepare twice.ppl --dir t --force", "a: a file is expected, something else is there"),
        ("prepare x.ppl --dir nowhere/d", "nowhere"),
        ("prepare none.ppl --dir d", "none.ppl"),
    ] {
        scene.parabench(line).exits(2).err_has(words);
    }
    assert!(!scene.path("d").exists());
}

#[test]
fn a_run_is_compared_with_its_original() {
    let scene = scene();
    scene.parabench("run x.ppl -n 2 --prepare --events --quiet --out a").exits(0);
    let run = "run x.ppl -n 2 --prepare --against-trace a";
    let done = scene.parabench(run).exits(0);
    done.out_has("x.ppl does what a did, all of its");
    let left = scene.names(".");
    let gate = |text: &str, code: i32| {
        let call = scene.call(run).word("--fidelity-gate").word(text);
        call.run().exits(code)
    };
    gate("operations <= 0", 0);
    let call = scene
        .call(&format!("{run} n=2 --out b"))
        .word("--fidelity-gate")
        .word("missing <= 0")
        .run();
    call.exits(3).out_has("gate fails: missing <= 0: 6 operations missing");
    scene.parabench("fidelity a b").exits(0).out_has("6 missing");
    let json = scene.parabench(&format!("{run} --format json")).exits(0);
    crate::schema::run_object(&json);
    json.err_has("x.ppl does what a did");
    assert_eq!(scene.names(".").len(), left.len() + 1, "only b is new");
    scene.parabench("run x.ppl --against-trace nowhere").exits(2).err_has("nowhere");
    scene
        .parabench("run x.ppl --against-trace a --events=sample=1/2")
        .exits(2)
        .err_has("a sample of events");
}

/// `filesize` decides how much is read of a file from before, and is no reason to make one.
#[test]
fn files_are_as_long_as_the_program_says() {
    for (body, listed, bytes) in [
        (
            "with (filesize=5000) $f = fopen(\"in\", \"r\"); fread($f, 64k, 0);",
            "in: file, 4.88 KiB",
            5000,
        ),
        ("with (filesize=5000) $f = fopen(\"in\", \"r\"); fread($f);", "in: file, 4.88 KiB", 5000),
        ("with (filesize=300) read(\"in\");", "in: file, 300 B", 300),
        ("with (filesize=0) read(\"in\");", "in: file, 0 B", 0),
        ("with (filesize=300) copy(\"in\", \"out\");", "in: file, 300 B", 300),
        ("write(\"in\", 70); with (filesize=9) read(\"in\");", "nothing is missing", 140),
        ("$f = fopen(\"in\", \"r\"); fread($f, 64k, 0);", "in: file, 64 KiB", 65536),
    ] {
        let scene = Scene::new().file("x.ppl", format!("with (expect=\"short\") {{ {body} }}\n"));
        scene.parabench("prepare x.ppl --dir d --dry-run").exits(0).out_has(listed);
        for line in ["--prepare", "--backend mem --prepare"] {
            let run = scene.parabench(&format!("run x.ppl {line} --format json")).exits(0).json();
            let rows = run["rows"].as_array().expect("rows").iter();
            let own = rows.filter(|row| row["part_of"].is_null());
            let moved: u64 = own.map(|row| row["bytes"].as_u64().expect("bytes")).sum();
            assert_eq!(moved, bytes, "{body} {line}");
        }
    }
}

/// An open, readlink or rmdir that expects ENOTDIR or EINVAL needs a file.
#[test]
fn what_is_expected_to_be_another_kind_is_a_file() {
    let program = "with (expect=\"ENOTDIR\") $h = fopen(\"a\", \"O_RDONLY|O_DIRECTORY\");\n\
        with (expect=\"EINVAL\") readlink(\"b\");\nwith (expect=\"ENOTDIR\") rmdir(\"c\");\n";
    let scene = Scene::new().file("x.ppl", program);
    let listed = scene.parabench("prepare x.ppl --dir d --dry-run").exits(0);
    ["a: file", "b: file", "c: file"].iter().fold(listed, |listed, one| listed.out_has(one));
    for line in ["--prepare", "--backend mem --prepare"] {
        scene.parabench(&format!("run x.ppl {line} --quiet")).exits(0);
    }
}

/// Who asks whether a file is there takes both answers; who asks for its size, or reads it, needs it.
#[test]
fn what_is_only_asked_for_is_not_made() {
    let program = "if (!exists(\"lock\")) create(\"lock\");\nprint size(\"input\");\n";
    let scene = Scene::new().file("x.ppl", program);
    let listed = scene.parabench("prepare x.ppl --dir d --dry-run").exits(0);
    let listed = listed.out_has("input: file, ");
    assert!(!listed.out.contains("lock"), "{}", listed.out);
}

/// Whoever may write in a directory can put links into it: what is prepared is for its owner.
#[test]
fn nobody_else_can_write_what_is_prepared() {
    let scene = Scene::new().file("x.ppl", "read(\"sub/f\", 1k);");
    let line = format!("umask 0; exec {PARABENCH} prepare x.ppl --dir d");
    let mut shell = Command::new("sh");
    let done = shell.args(["-c", &line]).current_dir(scene.path(".")).output().expect("a shell");
    assert!(done.status.success(), "{done:?}");
    for name in ["d/sub", "d/sub/f"] {
        let mode = fs::metadata(scene.path(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o022, 0, "{name}");
    }
}
