//! Paths that lead out of the run directory, in every way and by every operation. The proof is
//! what lies outside: names, bytes, modes, times and numbers of links stay as they were.

use crate::figures::counts;
use crate::scene::Scene;
use crate::schema::run_object;
use model::Op;
use model::op::{Needs, OPS, ParamKind};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

/// Everything of a file that an operation could change.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    bytes: Vec<u8>,
    mode: u32,
    changed: (i64, i64),
    modified: (i64, i64),
    links: u64,
    inode: u64,
}

/// What lies outside the run directory `d`.
fn outside(scene: &Scene) -> BTreeMap<String, Kept> {
    let mut found = BTreeMap::new();
    for name in ["", "out", "out/file", "out/sub", "out/sub/deep", "file"] {
        let path = scene.path(name);
        let facts = fs::symlink_metadata(&path).unwrap_or_else(|why| panic!("{name}: {why}"));
        // The scene itself has other entries that come and go.
        let whole = |pair: (i64, i64)| if name.is_empty() { (0, 0) } else { pair };
        let kept = Kept {
            bytes: fs::read(&path).unwrap_or_default(),
            mode: facts.mode(),
            changed: whole((facts.ctime(), facts.ctime_nsec())),
            modified: whole((facts.mtime(), facts.mtime_nsec())),
            links: if name.is_empty() { 0 } else { facts.nlink() },
            inode: facts.ino(),
        };
        found.insert(name.to_string(), kept);
    }
    let names = |name: &str| scene.names(name).join(" ");
    found.insert(
        format!("names: {}; {}", names("out"), names("out/sub")),
        Kept { bytes: Vec::new(), mode: 0, changed: (0, 0), modified: (0, 0), links: 0, inode: 0 },
    );
    found
}

/// Things outside, and an own run directory `d` in which a stranger has left links.
fn scene() -> Scene {
    let scene = Scene::new()
        .file("out/file", "precious")
        .file("out/sub/deep", "precious too")
        .file("file", "also precious")
        .file("ok.ppl", "write(\"own\", 1); mkdir(\"dir\");");
    scene.parabench("run ok.ppl --dir d").exits(0);
    scene
}

/// Links that lead out, directly and by detours.
fn plant(scene: &Scene) {
    let absolute = scene.path("out").canonicalize().expect("it is there");
    for (target, name) in [
        ("../out", "d/way"),
        ("../out/file", "d/one"),
        (absolute.to_str().expect("UTF-8"), "d/far"),
        ("way/sub", "d/chain"),
        ("dir/../../out", "d/detour"),
        ("..", "d/up"),
        ("../new", "d/dangling"),
    ] {
        symlink(target, scene.path(name)).expect("symlink");
    }
}

/// Each operation of the table with a path, on a path given as text of PPL; the second path of
/// those that have two lies inside.
fn statements(path: &str) -> Vec<(Op, String)> {
    let with_path = OPS.iter().filter(|row| {
        row.needs == Needs::Backend
            && row.params.first().is_some_and(|param| param.kind == ParamKind::Path)
    });
    let mut made = Vec::new();
    for (number, row) in with_path.enumerate() {
        let words = row.params.iter().enumerate();
        let words = words.filter(|(at, param)| *at == 0 || param.default.is_none());
        let words: Vec<String> = words
            .map(|(at, param)| match param.kind {
                ParamKind::Path if at == 0 => path.to_string(),
                ParamKind::Path => format!("\"inside-{number}-$$rank\""),
                ParamKind::Flags => "\"w+\"".into(),
                ParamKind::Mode => "0".into(),
                ParamKind::Attribute => "\"user.a\"".into(),
                _ => "1".into(),
            })
            .collect();
        let handle = if row.gives_handle() { "$h = " } else { "" };
        made.push((row.op, format!("{handle}{}({});\n", row.name, words.join(", "))));
    }
    // And with the path in the second place.
    made.push((Op::Rename, format!("rename(\"own\", {path});\n")));
    made.push((Op::Rename, format!("rename(\"own\", {path}, \"exchange\");\n")));
    made.push((Op::Copy, format!("copy(\"own\", {path});\n")));
    made.push((Op::Reflink, format!("reflink(\"own\", {path});\n")));
    made.push((Op::Linkat, format!("time[\"own\"] $h = tmpfile();\nlinkat($h, {path});\n")));
    made.push((Op::Link, format!("link(\"own\", {path});\n")));
    made.push((Op::Symlink, format!("symlink(\"own\", {path});\n")));
    made
}

/// Operations on a link itself, which lies inside and may be theirs.
fn works_on_the_link(op: Op) -> bool {
    matches!(op, Op::Delete | Op::Rename | Op::Link | Op::Readlink | Op::Symlink | Op::Lstat)
}

/// A program that works out its path at run time, so that the checker cannot refuse it.
fn hidden(path: &str, statement: &str) -> String {
    // From a list, by an index that is known at run time only.
    format!(
        "$list = [\"own\", \"{path}\", \"dir\"];\n$i = 1 + $$rank - $$rank;\n$p = $list[$i];\n{statement}"
    )
}

#[test]
fn no_operation_changes_anything_outside_through_any_path() {
    let scene = scene();
    plant(&scene);
    let absolute = scene.path("").canonicalize().unwrap().display().to_string();
    let absolute_file = format!("{absolute}/out/file");
    let absolute_new = format!("{absolute}/d/../file");
    let before = outside(&scene);
    let mut programs = 0;
    for path in [
        "../file",
        "../out/file",
        "./dir/../../file",
        "dir/../../out/new",
        &absolute_file,
        &absolute_new,
        "//etc/hostname",
        "way/file",
        "way/new",
        "way/sub/deep",
        "far/file",
        "chain/deep",
        "detour/file",
        "up/file",
        "up/out/new",
        "dangling/",
        "one/",
    ] {
        // All statements in one program: they fail one by one.
        let all: String = statements("$p").into_iter().map(|(_, text)| text).collect();
        let scene_run = scene.call("run - --dir d --format json").input(hidden(path, &all)).run();
        let run = run_object(&scene_run.exits(1));
        programs += 1;
        assert_eq!(outside(&scene), before, "{path}");
        assert_eq!(run["run"]["evidence"]["confinement"], "confined", "{path}");
        for ((label, op), [count, failed, ..]) in counts(&run) {
            let left = if label == "own" { 1 } else { 0 };
            assert_eq!(count, failed + left, "{op} on {path}: {:#}", run["run"]["failures"]);
        }
    }
    assert_eq!(programs, 17);
}

/// A link as the last name: what follows it fails, what works on the link itself stays inside.
#[test]
fn operations_on_a_link_that_leaves_do_not_follow_it() {
    let before = outside(&scene());
    assert_eq!(before.len(), 7);
    for link in ["one", "way", "dangling", "up"] {
        for (op, text) in statements(&format!("\"{link}\"")) {
            let scene = scene();
            plant(&scene);
            let before = outside(&scene);
            let run = scene.call("run - --dir d --format json").input(&text).run();
            let run = run_object(&run);
            let failed = run["run"]["evidence"]["failed"].as_u64().unwrap();
            assert!(failed == 1 || works_on_the_link(op), "{text}: {:#}", run["rows"]);
            assert_eq!(outside(&scene), before, "{text}");
        }
    }
}

/// Links that stay inside where they are made, and leave once they are moved.
#[test]
fn links_that_turn_outwards_by_moving_are_not_followed() {
    let attack = "append(\"L\", 4); chmod(\"L\", 0); truncate(\"L\", 0); utime(\"L\");\n\
                  $h = fopen(\"L\", \"w\");\n";
    for (made, link, expected) in [
        ("symlink(\"../../file\", \"a/b/l\"); rename(\"a/b/l\", \"l\");", "l", 5),
        ("symlink(\"../../file\", \"a/b/l\"); link(\"a/b/l\", \"l\");", "l", 5),
        ("symlink(\"../../file\", \"a/b/l\"); rename(\"a/b\", \"c\");", "c/l", 5),
        ("symlink(\"../..\", \"a/b/l\"); rename(\"a/b\", \"c\");", "c/l/file", 5),
        ("symlink(\"a/b\", \"l\"); symlink($t, \"l/m\"); rename(\"l/m\", \"n\");", "n", 2),
        ("symlink(\"b\", \"a/l\"); symlink($t, \"a/l/m\"); rename(\"a/b\", \"c\");", "c/m", 5),
    ] {
        let text = format!(
            "$t = [\"../../file\", \"x\"]; $n = $$rank - $$rank; $t = $t[$n];\n\
             mkdir(\"a\"); mkdir(\"a/b\"); write(\"file\", 9);\n{made}\n{}",
            attack.replace('L', link)
        );
        let scene = scene();
        let before = outside(&scene);
        let run = scene.call("run - --dir d2 --format json").input(&text).run();
        let run = run_object(&run.exits(1));
        assert_eq!(outside(&scene), before, "{text}");
        // The link that a name through a link would make is refused: it is not there to be moved, and its name is free
        // for a file of the program.
        let failed = run["run"]["evidence"]["failed"].as_u64().unwrap();
        assert_eq!(failed, expected, "{text}{:#}", run["run"]["failures"]);
    }
}

/// A stranger swaps a directory for a link while the program works in it.
#[test]
fn a_link_that_appears_meanwhile_is_not_followed_by_a_confined_run() {
    let text = "$p = [\"dir/new\", \"own\"]; $n = $$rank - $$rank; create(\"begun\");\n\
                while (1) { write($p[$n], 10); chmod($p[$n], 384); utime($p[$n]); delete($p[$n]); }";
    let scene = scene();
    let before = outside(&scene);
    let call = scene.call("run - --dir d --confine --format json").input(text).start();
    call.until("the start", || scene.path("d/begun").exists());
    for _ in 0..200 {
        fs::rename(scene.path("d/dir"), scene.path("d/aside")).unwrap();
        symlink("../out", scene.path("d/dir")).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(200));
        fs::remove_file(scene.path("d/dir")).unwrap();
        fs::rename(scene.path("d/aside"), scene.path("d/dir")).unwrap();
    }
    call.signal(2);
    let run = run_object(&call.finish().exits(130));
    assert_eq!(outside(&scene), before);
    assert!(run["run"]["evidence"]["failed"].as_u64().unwrap() > 0, "it was met at least once");
}

/// Cleaning up follows no link either.
#[test]
fn cleaning_up_removes_links_and_not_what_they_lead_to() {
    let scene = scene();
    plant(&scene);
    let before = outside(&scene);
    scene.parabench("run ok.ppl --dir d --clean").exits(1);
    assert_eq!(outside(&scene), before);
    assert_eq!(scene.names("d"), [".parabench"]);
    // A scratch directory, with links that the program makes itself: they may dangle inside.
    let text = "mkdir(\"a\"); symlink(\"a\", \"l\"); symlink(\"l\", \"m\"); write(\"m/x\", 1);";
    scene.call("run -").input(text).run().exits(0);
    assert_eq!(outside(&scene), before);
    assert_eq!(scene.names("."), ["d", "file", "ok.ppl", "out"]);
}
