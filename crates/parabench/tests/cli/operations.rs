//! Operations beyond those of POSIX's oldest calls: the same on every back-end, and told apart from
//! failures where a file system has none of them.

use crate::figures::row;
use crate::scene::Scene;
use crate::schema::run_object;
use crate::tmpfs::{Image, Tmpfs};
use serde_json::Value;

/// Says itself what must have come of it.
const PROGRAM: &str = r#"
write("a", 64k);
copy("a", "b");
assert(size("b") == 64k);
copy("a", "c", 10);
assert(size("c") == 10);
copy("a", "c", 4k, 8k, 100);
assert(size("c") == 4196);
copy("b", "c");
assert(size("c") == 64k);
with (transfer=10k, fsync="close") copy("a", "d");
copy("a", "e", 65k, 0);
assert(size("e") == 64k);
rename("a", "new", "noreplace");
assert(!exists("a"));
write("a", 1);
rename("a", "new", "exchange");
assert(size("new") == 1);
$h = fopen("f", "w+");
fallocate($h, 10k);
assert(size("f") == 10k);
fallocate($h, 8k, 8k);
assert(size("f") == 16k);
fallocate($h, 16k, 8k, "keep");
assert(size("f") == 16k);
fallocate($h, 0, 4k, "punch");
assert(size("f") == 16k);
allocate("made", 10k);
assert(size("made") == 10k);
allocate("made", 4k, 8k);
allocate("made", 1);
assert(size("made") == 12k);
fadvise($h, 0, 0, "sequential");
syncfs($h);
syncfs;
fclose($h);
$v = fopen("v", "w+");
$sizes = [512, 0, 4k];
writev($v, $sizes);
writev($v, $sizes);
assert(size("v") == 9k);
with (fsync="op") writev($v, [1], 10k);
assert(size("v") == 10k + 1);
readv($v, $sizes, 0);
readv($v, [1k, 1k]);
readv($v, [100], 20k);
fclose($v);
$a = fopen("v", "a");
writev($a, [10, 10]);
assert(size("v") == 10k + 21);
fclose($a);
write("in", 100k);
$in = fopen("in", "r");
$out = fopen("out", "w+");
$done = fcopy($in, $out, 10k);
assert($done == 10k && size("out") == 10k);
fcopy($in, $out);
assert(size("out") == 100k);
fcopy($in, $out, 5k);
fcopy($in, $out, 1k, 2k);
assert(size("out") == 101k);
fcopy($in, $out, 1k, 99k, 200k);
assert(size("out") == 201k);
fseek($in, 96k);
with (transfer=1k, fsync="op") fcopy($in, $out, 4k, to_off=300k);
assert(size("out") == 304k);
fcopy($in, $out, 4k);
assert(size("out") == 304k);
fclose($in);
fcopy($out, $out, 4k, 0, 400k);
fread($out, 4k);
fclose($out);
$t = tmpfile();
fwrite($t, 5k);
linkat($t, "named");
fclose($t);
assert(size("named") == 5k);
"#;

/// Mistakes, each with its error.
const FAILING: [(&str, &str); 12] = [
    ("copy(\"none\", \"b\");", "ENOENT"),
    ("reflink(\"none\", \"b\");", "ENOENT"),
    ("write(\"a\", 1); copy(\"a\", \"none/b\");", "ENOENT"),
    (
        "$h = fopen(\"none\", \"r\"); $o = fopen(\"b\", \"w\"); fcopy($h, $o, 4k);",
        "1 x fcopy EBADF",
    ),
    (
        "write(\"a\", 4k); $h = fopen(\"a\", \"r\"); $o = fopen(\"d/b\", \"w\"); fcopy($h, $o);",
        "1 x fcopy EBADF",
    ),
    (
        "write(\"a\", 4k); $h = fopen(\"a\", \"r\"); $o = fopen(\"d/b\", \"w\"); freflink($h, $o);",
        "1 x freflink EBADF",
    ),
    (
        "write(\"a\", 4k); $h = fopen(\"a\", \"r\"); $o = fopen(\"b\", \"a\"); fcopy($h, $o);",
        "1 x fcopy EBADF",
    ),
    ("write(\"a\", 4k); $h = fopen(\"a\", \"r+\"); fcopy($h, $h, 4k, 0, 1k);", "1 x fcopy EINVAL"),
    ("create(\"a\"); create(\"b\"); rename(\"a\", \"b\", \"noreplace\");", "EEXIST"),
    ("create(\"a\"); rename(\"a\", \"b\", \"exchange\");", "ENOENT"),
    ("$h = fopen(\"a\", \"w\"); linkat($h, \"b\");", "EINVAL"),
    ("create(\"a\"); $h = fopen(\"a\", \"r\"); fallocate($h, 0, 1, \"punch\");", "EBADF"),
];

/// Label, operation, executions, failed and expected ones, bytes.
fn counted(run: &Value) -> Vec<[String; 6]> {
    let rows = run["rows"].as_array().expect("rows");
    let names = ["label", "op", "count", "failed", "expected", "bytes"];
    rows.iter().map(|row| names.map(|name| row[name].to_string())).collect()
}

#[test]
fn further_operations_are_the_same_on_every_back_end() {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    let run = |options: &str| {
        let done = scene.parabench(&format!("run x.ppl --format json {options}"));
        run_object(&done.exits(0))
    };
    let plain = run("");
    assert_eq!(row(&plain, "", "copy")["count"], 6);
    assert_eq!(row(&plain, "", "copy")["short"], 1);
    assert_eq!(row(&plain, "", "copy")["bytes"], 64 * 1024 * 4 + 4096 + 10);
    assert_eq!(row(&plain, "", "copy.sync")["count"], 1);
    assert_eq!(row(&plain, "", "writev")["bytes"], 9 * 1024 + 21);
    assert_eq!(row(&plain, "", "fcopy")["count"], 8);
    assert_eq!(row(&plain, "", "fcopy")["short"], 2, "{}", row(&plain, "", "fcopy"));
    let bytes = (100 + 1 + 1 + 4 + 4) * 1024;
    assert_eq!(row(&plain, "", "fcopy")["bytes"], bytes);
    // Behind what was copied last without an offset.
    assert_eq!(row(&plain, "", "fread")["bytes"], 4 * 1024);
    // From the position, which is behind both writes, a kilobyte and a byte are left.
    assert_eq!(row(&plain, "", "readv")["bytes"], 4608 + 1024 + 1);
    assert_eq!(row(&plain, "", "readv")["short"], 2);
    for options in ["--backend mem", "--confine"] {
        assert_eq!(counted(&run(options)), counted(&plain), "{options}");
    }
}

#[test]
fn mistakes_fail_with_the_errors_of_the_calls() {
    for (text, errno) in FAILING {
        let scene = Scene::new().file("x.ppl", text);
        for options in ["", "--confine", "--backend mem"] {
            let done = scene.parabench(&format!("run x.ppl {options}")).exits(1);
            done.out_has(errno);
        }
    }
}

#[test]
fn attributes_are_kept_with_their_files() {
    let text = "create(\"a\"); setxattr(\"a\", \"user.x\", 100); getxattr(\"a\", \"user.x\");\n\
                setxattr(\".\", \"user.d\", 1); listxattr(\"a\"); removexattr(\"a\", \"user.x\");\n\
                time[\"gone\"] getxattr(\"a\", \"user.x\");\n";
    let scene = Scene::new().file("x.ppl", text);
    for options in ["", "--confine", "--backend mem"] {
        let done = scene.parabench(&format!("run x.ppl --format json {options}")).exits(1);
        let run = run_object(&done);
        assert_eq!(run["run"]["evidence"]["failed"], 1, "{:#}", run["run"]["failures"]);
        assert_eq!(row(&run, "gone", "getxattr")["failed"], 1);
    }
    // The system's own are out of reach, also by a name that is known at run time only.
    let text = "$l = [\"security.x\"]; $i = $$rank; $n = $l[$i]; setxattr(\"a\", $n, 1);";
    scene.call("run -").input(text).run().exits(1).out_has("begins with user.");
}

/// What file systems have: name, how they are made, their size in MiB, what they lack.
const SYSTEMS: [(&str, &str, u64, &[&str]); 4] = [
    ("tmpfs", "", 64, &["reflink", "freflink", "zero", "collapse", "insert"]),
    ("ext4", "mkfs.ext4 -q -F", 64, &["reflink", "freflink"]),
    ("xfs", "mkfs.xfs -q", 300, &[]),
    ("btrfs", "mkfs.btrfs -q", 128, &["collapse", "insert"]),
];

const LACKING: &str = r#"
write("a", 64k);
time["reflink"] reflink("a", "b");
$h = fopen("a", "r+");
$c = fopen("c", "w");
time["freflink"] freflink($h, $c);
fclose($c);
time["punch"] fallocate($h, 0, 4k, "punch");
time["zero"] fallocate($h, 0, 4k, "zero");
time["collapse"] fallocate($h, 0, 4k, "collapse");
time["insert"] fallocate($h, 0, 4k, "insert");
fclose($h);
"#;

#[test]
fn what_a_file_system_lacks_is_no_failure() {
    let mut tried = 0;
    for (name, mkfs, size_mib, lacks) in SYSTEMS {
        let scene = Scene::new().file("x.ppl", LACKING).file("m/mount", "");
        let (image, place) = (scene.path("image"), scene.path("m"));
        let _mounted = match mkfs {
            "" => Tmpfs::mount(&place, "size=64m").map(|_mounted| (Some(_mounted), None)),
            mkfs => Image::of(mkfs, size_mib, &image, &place).map(|image| (None, Some(image))),
        };
        if _mounted.is_none() {
            continue;
        }
        tried += 1;
        let done = scene.parabench("run x.ppl --dir m/d --format json").exits(0);
        let run = run_object(&done);
        for label in ["reflink", "freflink", "punch", "zero", "collapse", "insert"] {
            let op = if label.ends_with("reflink") { label } else { "fallocate" };
            let found = row(&run, label, op);
            let expected = u64::from(lacks.contains(&label));
            assert_eq!(
                (&found["expected"], &found["failed"]),
                (&expected.into(), &0.into()),
                "{label} on {name}"
            );
        }
        let notes = run["run"]["evidence"]["notes"].to_string();
        let remarked = format!("is not supported by the file system {name}");
        assert_eq!(notes.contains(&remarked), !lacks.is_empty(), "{name}: {notes}");
    }
    if tried == 0 {
        crate::scene::skip("no file system can be mounted");
    }
}

/// Sizes and room as a rehearsal finds them.
#[test]
fn a_rehearsal_follows_copies_and_holes() {
    for (text, says) in [
        ("write(\"a\", 1m); copy(\"a\", \"b\"); delete(\"a\");", "needs 2 MiB of storage"),
        (
            "write(\"a\", 1m); $a = fopen(\"a\", \"r\"); $b = fopen(\"b\", \"w\"); fcopy($a, $b); fcopy($a, $b, 1m, 0);",
            "needs 3 MiB of storage",
        ),
        ("write(\"a\", 1m); reflink(\"a\", \"b\");", "needs 1 MiB of storage"),
        (
            "write(\"a\", 1m); $a = fopen(\"a\", \"r\"); $b = fopen(\"b\", \"w\"); freflink($a, $b); \
             freflink($a, $b, 64k, 64k, 2m); fwrite($b, 1m, 0);",
            "needs 2 MiB of storage",
        ),
        (
            "$h = fopen(\"a\", \"w+\"); fwrite($h, 4m); fallocate($h, 0, 4m, \"punch\"); write(\"b\", 3m);",
            "needs 4 MiB of storage",
        ),
        (
            "$h = fopen(\"a\", \"w+\"); fwrite($h, 4m); fallocate($h, 0, 3m, \"collapse\"); write(\"b\", 3m);",
            "needs 4 MiB of storage",
        ),
        ("$h = tmpfile(); fwrite($h, 2m); fclose($h); write(\"b\", 2m);", "needs 2 MiB of storage"),
    ] {
        let scene = Scene::new().file("x.ppl", text);
        let done = scene.parabench("plan x.ppl -v").exits(0);
        done.out_has(says);
    }
}
