//! The system calls themselves, by strace: those between the first and the last statement of a
//! program are exactly those that `parabench plan --ops` has listed, in the same order.
//! `tests/cli/calls.rs` compares the numbers of single operations.

use crate::scene::{PARABENCH, Scene, root};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Every POSIX operation of the table at least once, some of them failing.
const EVERYTHING: &str = r#"
mkdir("d"); create("d/empty");
write("d/a", 4k); write("d/a", 100, 5000); append("d/a", 1k); append("d/new", 1);
read("d/a"); read("d/a", 10); read("d/a", 10, 4k); read("d/a", 1m);
with (transfer=1k, fsync="close") write("d/b", 3500);
with (transfer=1k) read("d/b", 2500);
with (fsync="close") append("d/b", 1);
stat("d/a"); lookup("d/a"); rename("d/a", "d/c"); truncate("d/c", 10000); chmod("d/c", 384);
utime("d/c"); statfs("d"); link("d/c", "d/e"); readdir("d"); delete("d/e"); sync;
$h = fopen("d/c", "r+");
fwrite($h, 4k); fseek($h, 0); fread($h, 100); fread($h); fread($h, 10, 1m); fwrite($h, 8k, 64k);
fsync($h); fdatasync($h); ftruncate($h, 100); fallocate($h, 4k); fstat($h);
fclose($h);
$h = fcreat("d/f"); fclose($h);
$h = fopen("d/f", "a"); fwrite($h, 10); fclose($h);
$h = fopen("missing", "r"); fread($h, 10); fclose($h);
stat("missing"); delete("missing"); read("missing"); rmdir("d"); mkdir("d"); write("nowhere/a", 1);
mkdir("d/sub"); delete("d/sub"); mkdir("d/sub2"); rmdir("d/sub2");
"#;

/// The calls of rank `number` between the marks, as strace writes them; `None`, said aloud,
/// without strace.
fn traced(scene: &Scene, program: &str, ranks: u32) -> Option<BTreeMap<i32, Vec<String>>> {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("SKIPPED: strace is not installed");
        return None;
    }
    let mut strace = Command::new("strace");
    let ranks = ranks.to_string();
    strace.args(["-ff", "-s", "4", "-o", "trace", PARABENCH, "run", program, "-n", &ranks]);
    strace.args(["--dir", "run", "--no-preflight", "--quiet"]);
    let done = scene.command(strace).run();
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    let mut found = BTreeMap::new();
    for name in scene.names(".") {
        let Some(pid) = name.strip_prefix("trace.") else { continue };
        let text = String::from_utf8_lossy(&fs::read(scene.path(&name)).unwrap()).into_owned();
        let text = without_name_cache(&text);
        let Some((_, after)) = text.split_once("mark-of-the-start") else { continue };
        let Some((between, _)) = after.split_once("mark-of-the-end") else { continue };
        // Without the rest of the line of the first mark, and the start of that of the last.
        let mut lines: Vec<String> = between.lines().skip(1).map(str::to_string).collect();
        lines.pop();
        lines.retain(|line| !is_own_memory(line) && !is_evidence(line));
        found.insert(pid.parse().unwrap(), lines);
        fs::remove_file(scene.path(&name)).unwrap();
    }
    Some(found)
}

/// What a rank measures takes memory, and so do larger buffers: got between operations, outside
/// every time, in steps. (Its records grow at their end; a program's fallocate begins at 0.)
fn is_own_memory(line: &str) -> bool {
    let name = line.split('(').next().unwrap_or_default();
    let grows = name == "fallocate" && line.split(", ").nth(2) != Some("0");
    grows || matches!(name, "madvise" | "mremap" | "mmap" | "munmap" | "brk" | "sysinfo")
}

/// Asking what the page cache holds of a file that is opened for reading, which extents it has, and
/// what has been fetched so far: evidence, not timed.
fn is_evidence(line: &str) -> bool {
    // Older straces do not know the name of call 451.
    let cachestat = ["cachestat(", "syscall_0x1c3("].iter().any(|name| line.starts_with(name));
    let others = line.starts_with("getrusage(") || line.contains("FS_IOC_FIEMAP");
    others || cachestat || line.starts_with("statx(") && line.contains("DONT_SYNC")
}

/// Asking whether the name cache has a name is an open, and a close if it has: evidence too. Debug builds of Rust ask
/// whether a descriptor is open before they close it.
fn without_name_cache(text: &str) -> String {
    let mut cached = None;
    let kept = text.lines().filter(|line| {
        if line.contains("RESOLVE_CACHED") {
            cached = line.rsplit_once("= ").map(|(_, fd)| fd.to_string());
            return false;
        }
        let Some(fd) = &cached else { return true };
        if line.starts_with(&format!("fcntl({fd}, F_GETFD")) {
            return false;
        }
        let is_close = line.starts_with(&format!("close({fd})"));
        cached = None;
        !is_close
    });
    kept.map(|line| format!("{line}\n")).collect()
}

/// The calls that the plan lists for a rank, without the marks.
fn planned(scene: &Scene, program: &str, ranks: u32, rank: u32) -> Vec<String> {
    let line = format!("plan {program} --ops 1000000 -n {ranks} --rank {rank} --format json");
    let plan = scene.parabench(&line).exits(0).json();
    let calls = plan["calls"]["ranks"][0]["calls"].as_array().unwrap();
    let calls: Vec<String> = calls.iter().map(|call| call.as_str().unwrap().into()).collect();
    let mark = |which: &str| calls.iter().position(|call| call.contains(which)).unwrap();
    calls[mark("mark-of-the-start") + 1..mark("mark-of-the-end")].to_vec()
}

/// The name of a call without what C libraries make of it: the family.
fn family(call: &str) -> &str {
    let name = call.split('(').next().unwrap();
    match name {
        "open" | "openat" | "openat2" | "creat" => "open",
        "pread" | "pread64" => "pread",
        "pwrite" | "pwrite64" => "pwrite",
        "newfstatat" | "statx" | "stat" if call.contains("AT_EMPTY_PATH") => "fstat",
        "newfstatat" | "statx" | "stat" => "stat",
        "faccessat" | "faccessat2" | "access" => "access",
        "unlinkat" if call.contains("AT_REMOVEDIR") => "rmdir",
        "unlink" | "unlinkat" => "unlink",
        "rename" | "renameat" | "renameat2" => "rename",
        "mkdir" | "mkdirat" => "mkdir",
        "link" | "linkat" => "link",
        "chmod" | "fchmodat" | "fchmodat2" => "chmod",
        "getdents" | "getdents64" => "getdents",
        other => other,
    }
}

fn families(calls: &[String]) -> Vec<&str> {
    calls.iter().map(|call| family(call)).collect()
}

fn marked(text: &str) -> String {
    format!("lookup(\"mark-of-the-start\");\n{text}\nlookup(\"mark-of-the-end\");\n")
}

#[track_caller]
fn assert_as_planned(scene: &Scene, program: &str, ranks: u32) {
    let Some(traced) = traced(scene, program, ranks) else { return };
    assert_eq!(traced.len(), ranks as usize, "as many processes as ranks");
    let mut planned: Vec<Vec<String>> =
        (0..ranks).map(|rank| planned(scene, program, ranks, rank)).collect();
    // Processes are numbered as they please: each is one of the ranks.
    for made in traced.values() {
        let at = planned.iter().position(|planned| families(planned) == families(made));
        let at = at.unwrap_or_else(|| panic!("made {made:#?}\nplanned {planned:#?}"));
        let plan = planned.remove(at);
        for (plan, made) in plan.iter().zip(made) {
            let quoted = |call: &str| call.split('"').nth(1).map(str::to_string);
            if matches!(family(plan), "open" | "stat" | "mkdir" | "unlink" | "rename" | "rmdir") {
                assert_eq!(quoted(plan), quoted(made), "{plan} {made}");
            }
        }
    }
}

#[test]
fn the_calls_of_every_operation_are_those_of_the_plan_and_no_others() {
    let scene = Scene::new().file("x.ppl", marked(EVERYTHING));
    assert_as_planned(&scene, "x.ppl", 1);
}

/// Labels, loops, groups, variables and messages make no call at all between operations; waking
/// those who wait at a barrier would, so there is none here.
#[test]
fn what_is_no_io_makes_no_call() {
    let text = "$n = 0; define groups {\"a\":D, \"b\":D};\n\
                repeat $i 50 time[\"label $i\"] { ctime[\"sum\"] { $n = $n + rand(1, 3) * $i; } }\n\
                group \"a\" { $x = [1, 2, $n]; if ($x[2] > 0) stat(\"only-a\"); }\n\
                define proc p($k) { if ($k > 0) p($k - 1); else stat(\"deep\"); } p(20);\n\
                repeat 3 $n = perm($n % 7, 7) + $$rand + $$crand + $$size;\n";
    let scene = Scene::new().file("x.ppl", marked(text));
    let Some(traced) = traced(&scene, "x.ppl", 2) else { return };
    let mut made: Vec<Vec<&str>> = traced.values().map(|calls| families(calls)).collect();
    made.sort();
    assert_eq!(made, [vec!["stat"], vec!["stat", "stat"]], "{traced:#?}");
}

#[test]
fn shipped_programs_make_the_calls_that_their_plan_lists() {
    for (name, small) in [("stress", "num=3"), ("olap", "indexes=1"), ("random", "size=64k")] {
        let text = fs::read_to_string(root().join(format!("programs/{name}.ppl"))).unwrap();
        let (key, value) = small.split_once('=').unwrap();
        let lines = text.lines().map(|line| match line.strip_prefix(&format!("param ${key} = ")) {
            Some(rest) => format!("param ${key} = {value};{}", rest.split_once(';').unwrap().1),
            None => line.to_string(),
        });
        let text: Vec<String> = lines.collect();
        let scene = Scene::new().file("x.ppl", marked(&text.join("\n")));
        assert_as_planned(&scene, "x.ppl", 1);
    }
}

/// A statement that moves more than the kernel does in one call is continued where it ended.
#[test]
fn two_gib_are_two_calls() {
    let text = "$h = fopen(\"a\", \"w+\"); ftruncate($h, 4g);\n\
                with (transfer=4g) { fread($h, 2049m, 1m); } fclose($h);";
    let scene = Scene::new().file("x.ppl", marked(text));
    let Some(traced) = traced(&scene, "x.ppl", 1) else { return };
    let calls = traced.values().next().unwrap();
    let reads: Vec<&String> = calls.iter().filter(|call| family(call) == "pread").collect();
    assert_eq!(reads.len(), 2, "{calls:#?}");
    let (first, rest) = (0x7fff_f000u64, (2049u64 << 20) - 0x7fff_f000);
    assert!(reads[0].ends_with(&format!("1048576) = {first}")), "{}", reads[0]);
    assert!(reads[1].ends_with(&format!("{}) = {rest}", first + (1 << 20))), "{}", reads[1]);
}

/// Files of a rank that fails are closed by it, before it says that it has ended.
#[test]
fn a_failed_program_closes_its_files() {
    let text = "$a = fopen(\"a\", \"w\"); $b = fcreat(\"b\"); $c = fopen(\"c\", \"w\"); fclose($c);\n\
                $s = lookup(\"mark-of-the-start\");\nassert(false);\n$e = lookup(\"mark-of-the-end\");\n";
    let scene = Scene::new().file("x.ppl", text);
    if Command::new("strace").arg("-V").output().is_err() {
        println!("SKIPPED: strace is not installed");
        return;
    }
    let mut strace = Command::new("strace");
    strace.args(["-ff", "-o", "trace", PARABENCH, "run", "x.ppl", "--dir", "run"]);
    scene.command(strace).run().exits(1);
    let traces = scene.names(".").into_iter().filter(|name| name.starts_with("trace."));
    let texts = traces.map(|name| scene.text(&name));
    let of_rank = texts.into_iter().find(|text| text.contains("mark-of-the-start")).unwrap();
    let descriptor = |file: &str| {
        let line = of_rank.lines().find(|line| line.contains(&format!("\"{file}\", O_")));
        let line = line.unwrap_or_else(|| panic!("{file} in {of_rank}"));
        line.rsplit("= ").next().unwrap().to_string()
    };
    let (_, after) = of_rank.split_once("mark-of-the-start").unwrap();
    for file in ["a", "b"] {
        let close = format!("close({}) ", descriptor(file));
        assert_eq!(after.matches(&close).count(), 1, "{file}: {close} in {after}");
    }
    assert!(!after.contains("mark-of-the-end"));
}
