//! The calls a program names are the calls that are made: counted by strace.

use crate::scene::{PARABENCH, Scene, skip};
use std::collections::BTreeMap;
use std::process::Command;

/// System calls by name, of the whole run; `None`, said aloud, without strace.
fn counted(text: &str, options: &str) -> Option<BTreeMap<String, i64>> {
    let scene = Scene::new().file("x.ppl", text);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-U", "name,calls", "-o", "counts", PARABENCH, "run", "x.ppl"]);
    strace.args(options.split_whitespace());
    if Command::new("strace").arg("-V").output().is_err() {
        skip("strace is not installed");
        return None;
    }
    let done = scene.command(strace).run();
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    let counts = scene.text("counts");
    let lines = counts.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let numbers = lines.filter_map(|(name, count)| Some((name.into(), count.trim().parse().ok()?)));
    Some(numbers.collect())
}

/// Running `text` makes these calls more than running nothing.
#[track_caller]
fn assert_calls(text: &str, expected: &[(&str, i64)]) {
    // One operation stands in both programs, so that what is done once is done in both.
    let one = "stat(\".\");\n";
    let Some(with) = counted(&format!("{one}{text}"), "--dir d") else { return };
    let without = counted(one, "--dir d").unwrap();
    for name in FILE_CALLS {
        let count = |counts: &BTreeMap<String, i64>| counts.get(*name).copied().unwrap_or(0);
        let more = count(&with) - count(&without);
        let wanted = expected.iter().find(|entry| entry.0 == *name).map_or(0, |entry| entry.1);
        assert_eq!(more, wanted, "{name} for {text}\nwith {with:#?}\nwithout {without:#?}");
    }
}

/// Calls on files; what an operation makes of these is compared exactly. `read`, `write` and
/// `fallocate` are not among them: the tool reads its program and grows its own memory with them;
/// nor is `statx`, which it asks before cachestat(2).
const FILE_CALLS: &[&str] = &[
    "openat",
    "open",
    "creat",
    "close",
    "pread64",
    "pwrite64",
    "lseek",
    "fsync",
    "fdatasync",
    "ftruncate",
    "truncate",
    "access",
    "faccessat",
    "faccessat2",
    "stat",
    "lstat",
    "newfstatat",
    "fstat",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "readlink",
    "readlinkat",
    "chmod",
    "fchmodat",
    "utimensat",
    "statfs",
    "fstatfs",
    "getdents64",
    "syncfs",
    "sync",
];

/// The name under which one of several calls that do the same was counted.
fn calls_of(text: &str, setup: &str) -> Option<BTreeMap<String, i64>> {
    let with = counted(&format!("{setup}{text}"), "--dir d")?;
    let without = counted(setup, "--dir d")?;
    let mut more = BTreeMap::new();
    let more_of = |name: &str| {
        let count = |counts: &BTreeMap<String, i64>| counts.get(name).copied().unwrap_or(0);
        count(&with) - count(&without)
    };
    for name in FILE_CALLS {
        // What asks the name cache before a name is looked up is an openat2 and a close.
        let asked = if *name == "close" { more_of("openat2") } else { 0 };
        let difference = more_of(name) - asked;
        if difference != 0 {
            more.insert((*name).to_string(), difference);
        }
    }
    Some(more)
}

#[test]
fn transfers_are_one_call_each() {
    assert_calls(
        "$h = fopen(\"a\", \"w+\"); repeat 100 fwrite($h, 4k); repeat 50 fread($h, 4k, 0); fclose($h);",
        &[("openat", 1), ("pwrite64", 100), ("pread64", 50), ("close", 1)],
    );
}

/// Who expects the end of the file does not ask whether there is more, as read(2) does not.
#[test]
fn reads_that_are_expected_to_be_short_are_one_call() {
    let open = "write(\"a\", 1k); $h = fopen(\"a\", \"r\");";
    let calls = |reads: i64| [("openat", 2), ("pwrite64", 1), ("pread64", reads), ("close", 2)];
    assert_calls(&format!("{open} repeat 5 fread($h, 4k, 0); fclose($h);"), &calls(10));
    let expected = format!("{open} with (expect=\"short\") repeat 5 fread($h, 4k, 0); fclose($h);");
    assert_calls(&expected, &calls(5));
    let queued = "with (expect=\"short\", depth=4) repeat 5 fread($h, 4k, 0);";
    assert_calls(&format!("{open} {queued} fclose($h);"), &calls(5));
}

#[test]
fn compound_operations_are_their_parts() {
    assert_calls(
        "repeat $i 10 write(\"a$i\", 4k); repeat $i 10 read(\"a$i\", 4k);",
        &[("openat", 20), ("pwrite64", 10), ("pread64", 10), ("close", 20)],
    );
    assert_calls(
        "with (fsync=\"close\", transfer=1k) write(\"a\", 4k);",
        &[("openat", 1), ("pwrite64", 4), ("fsync", 1), ("close", 1)],
    );
}

/// Metadata operations make exactly one call, whichever of its variants that is.
#[test]
fn metadata_operations_are_one_call_each() {
    let setup = "write(\"a\", 1); mkdir(\"d\"); stat(\".\"); create(\"b\"); delete(\"b\");\n";
    for (text, variants) in [
        ("repeat 10 stat(\"a\");", &["stat", "newfstatat"][..]),
        ("repeat 10 lstat(\"a\");", &["lstat", "newfstatat"]),
        ("repeat 10 lookup(\"a\");", &["access", "faccessat", "faccessat2"]),
        ("repeat $i 10 mkdir(\"d/$i\");", &["mkdir", "mkdirat"]),
        (
            "repeat 5 { rename(\"a\", \"z\"); rename(\"z\", \"a\"); }",
            &["rename", "renameat", "renameat2"],
        ),
        ("repeat 10 chmod(\"a\", 420);", &["chmod", "fchmodat", "fchmodat2"]),
        ("repeat 10 truncate(\"a\", 9);", &["truncate"]),
        ("repeat 10 utime(\"a\");", &["utimensat"]),
        ("repeat 10 statfs(\".\");", &["statfs"]),
        ("repeat $i 10 link(\"a\", \"l$i\");", &["link", "linkat"]),
    ] {
        let Some(made) = calls_of(text, setup) else { return };
        let (name, count) = made.first_key_value().expect("calls");
        assert!(
            made.len() == 1 && *count == 10 && variants.contains(&name.as_str()),
            "{text}: {made:?}"
        );
    }
}

#[test]
fn plan_names_the_calls_that_are_made() {
    let text =
        "mkdir(\"d\"); repeat $i 3 write(\"d/a$i\", 4k); read(\"d/a0\", 4k); delete(\"d/a1\");";
    let planned =
        Scene::new().file("x.ppl", text).parabench("plan x.ppl --ops 100 --format json").exits(0);
    let planned = planned.json();
    let lines = planned["calls"]["ranks"][0]["calls"].as_array().unwrap().clone();
    let mut by_name = BTreeMap::<String, i64>::new();
    for line in &lines {
        let name = line.as_str().unwrap().split('(').next().unwrap();
        *by_name.entry(name.into()).or_default() += 1;
    }
    let setup = "stat(\".\");\n";
    let Some(made) = calls_of(text, setup) else { return };
    let total = |counts: &BTreeMap<String, i64>| counts.values().sum::<i64>();
    assert_eq!(total(&by_name), total(&made), "{by_name:?} {made:?}");
    for name in ["openat", "close"] {
        assert_eq!(by_name.get(name), made.get(name), "{by_name:?} {made:?}");
    }
}
