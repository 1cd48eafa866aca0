//! What the recording library cannot record it counts, by program, and everybody says so. Needs root for
//! programs that change their user, group or root directory.

use crate::record::{compiled, operations};
use crate::scene::{Done, PARABENCH, Scene, install, skip};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

const PROGRAM: &str = include_str!("recorders/lost.c");
const NOBODY: u32 = 65534;
const READS: u64 = 1000;
/// Slots that the library writes before the first call of a program.
const PRELUDE: u64 = 64;

/// The program, as it is, static, of another user, and such that only its owner reads it.
fn scene() -> Option<Scene> {
    let scene = Scene::new().file("w/file", "x").file("empty/keep", "");
    assert!(compiled(&scene, "lost", PROGRAM, &[]));
    if !rustix::process::geteuid().is_root() {
        skip("this needs root");
        return None;
    }
    if !compiled(&scene, "static", PROGRAM, &["-static", "-w"]) {
        skip("no static C library is installed");
        return None;
    }
    for (copy, of, owner, mode) in [
        ("other-user", "lost", NOBODY, 0o4755),
        ("locked", "lost", 0, 0o711),
        ("locked-static", "static", 0, 0o711),
    ] {
        install(&scene.path(of), &scene.path(copy));
        chown(scene.path(copy), Some(owner), None).expect("given away");
        fs::set_permissions(scene.path(copy), Permissions::from_mode(mode)).expect("set");
    }
    fs::set_permissions(scene.path("."), Permissions::from_mode(0o777)).expect("set");
    Some(scene)
}

/// Count and sentence of a gap of a run; 0: it has none.
fn gap(scene: &Scene, code: &str) -> (u64, String) {
    let run = scene.json("r/run.json");
    let gaps = run["run"]["trace"]["gaps"].as_array().expect("gaps").clone();
    let found = gaps.iter().find(|gap| gap["code"] == code);
    let says = found.map(|gap| gap["says"].as_str().expect("text").to_string());
    (found.map_or(0, |gap| gap["count"].as_u64().expect("a count")), says.unwrap_or_default())
}

fn reads(scene: &Scene) -> u64 {
    let all = operations(scene, "r");
    let reads = all.iter().filter(|(text, _)| text.starts_with("fread") && text.contains("file "));
    reads.map(|(_, count)| *count as u64).sum()
}

/// The program does the same with the recorder as without.
fn recorded(scene: &Scene, words: &str, user: u32) -> Done {
    let call = |program: &str, line: &str| {
        let mut command = Command::new(program);
        command.args(line.split_whitespace());
        if user > 0 {
            command.uid(user).gid(user);
        }
        scene.command(command).env("TMPDIR", "/tmp").run()
    };
    let alone = call(scene.path("lost").to_str().expect("text"), words);
    let line = format!("record --force --under w -o r -- ./lost {words}");
    let done = call(PARABENCH, &line);
    assert_eq!((done.code, &done.out), (alone.code, &alone.out), "{words}: {done:?}");
    assert!(alone.err.is_empty() && !done.err.contains("ld.so"), "{words}: {alone:?} {done:?}");
    done
}

/// How it goes on where the log is out of reach: what it is told, reads that are recorded in the range, and
/// whether others are lost with the last write or without.
#[test]
fn calls_that_are_not_recorded_are_counted_exactly() {
    let Some(scene) = scene() else { return };
    let window = 192;
    for (words, least, most, lost) in [
        ("child none 0", READS, READS, 0),
        ("child setgid 0", READS, READS, 0),
        ("child setuid 0", 0, 0, READS),
        ("child chroot 0", 0, 0, READS),
        ("child fsize 0", 0, 0, READS),
        ("child fsize 4096", 0, 0, READS),
        ("child nofile 3", 0, 0, READS),
        ("thread setuid 0", 0, 0, READS),
        ("thread chroot 0", 0, 0, READS),
        ("thread nofile 3", 0, 0, READS),
        ("here setuid 0", window - PRELUDE, window, READS + 1),
        ("here chroot 0", window - PRELUDE, window, READS + 1),
        ("here nofile 3", window - PRELUDE, window, READS + 1),
        ("here fsize 0", window - PRELUDE, window, READS + 1),
        ("here fsize 16384", window - PRELUDE, window, READS + 1),
        // 4 KiB of header, then slots of 64 bytes: all that the limit allows.
        ("here fsize 28672", 384 - PRELUDE, 384, READS + 1),
        ("here fsize 40960", 576 - PRELUDE, 576, READS + 1),
        ("here fsize 65536", 960 - PRELUDE, 960, READS + 1),
        ("here fsize 1048576", READS, READS, 0),
        ("child fsize 40960", 576 - PRELUDE, 576, READS),
    ] {
        let done = recorded(&scene, words, 0);
        let (kept, (dropped, says)) = (reads(&scene), gap(&scene, "dropped"));
        assert!((least..=most).contains(&kept), "{words}: {kept} reads; {says}");
        let expected = lost.saturating_sub(kept);
        assert_eq!(dropped, expected, "{words}: {kept} reads, {says}");
        assert_eq!(gap(&scene, "unseen-programs").0, 0, "{words}");
        if dropped > 0 {
            assert!(says.ends_with(&format!(": ./lost {dropped}")), "{words}: {says}");
            done.err_has(&says);
        } else {
            assert!(!done.err.contains("incomplete"), "{words}: {done:?}");
        }
    }
}

/// How and where a program is executed, which, by whom, and what it is called where it was not seen.
#[test]
fn programs_that_do_not_get_the_library_are_named() {
    let Some(scene) = scene() else { return };
    let all = ["execv", "execvp", "execve", "fexecve", "execveat", "execveat-path", "spawn"];
    let mut cases = Vec::new();
    for how in all {
        cases.extend([
            (how, "none", "./lost", 0, None),
            (how, "none", "./static", 0, Some("static")),
            (how, "none", "./other-user", 0, Some("other-user")),
            (how, "setuid", "./lost", 0, Some("lost")),
            (how, "setgid", "./lost", 0, None),
            (how, "chroot", "/keep", 0, None),
        ]);
    }
    for how in ["execv", "execveat-path", "spawn"] {
        cases.push((how, "none", "./locked", NOBODY, None));
        cases.push((how, "none", "./locked-static", NOBODY, Some("locked-static")));
        cases.push((how, "none", "./static", NOBODY, Some("static")));
    }
    for how in ["system", "popen"] {
        cases.push((how, "none", "./lost", 0, None));
        cases.push((how, "setuid", "./lost", 0, Some("/bin/sh")));
        cases.push((how, "none", "./static", 0, Some("static")));
    }
    for (how, what, program, user, unseen) in cases {
        let words = format!("{how} {what} 0 {program}");
        let done = recorded(&scene, &words, user);
        let (count, says) = gap(&scene, "unseen-programs");
        assert_eq!(count, u64::from(unseen.is_some()), "{words}: {says}");
        assert_eq!(gap(&scene, "dropped").0, 0, "{words}");
        if let Some(name) = unseen {
            assert!(says.ends_with(&format!("{name} 1")), "{words}: {says}");
            done.err_has(&says);
        } else if what != "chroot" {
            assert_eq!(reads(&scene), READS, "{words}");
        }
        fs::remove_dir_all(scene.path("r")).expect("removed");
    }
}

#[test]
fn nobody_calls_an_incomplete_recording_one_without_loss() {
    let Some(scene) = scene() else { return };
    recorded(&scene, "child setuid 0", 0).err_has("1000 calls were not recorded");
    let says = gap(&scene, "dropped").1;
    scene.call("report r").env("COLUMNS", "300").run().exits(0).out_has(&says);
    let folded = scene.parabench("fold r").exits(0).err_has(&says).out_has(&says);
    let replayed = scene.parabench("replay r -- --out again").exits(0).err_has(&says);
    let compared = scene.parabench("fidelity r again").exits(0).out_has(&says);
    for done in [folded, replayed, compared] {
        assert!(
            !done.err.contains("without loss") && !done.out.contains("without loss"),
            "{done:?}"
        );
    }
}

/// The log lies beside the run where no memory has room for it; there the disk is full soon.
#[test]
fn a_full_disk_of_the_log_ends_no_command() {
    let Some(scene) = scene() else { return };
    // What counts losses has 64 KiB, the header of the log 4: 16 slots lie in each of the others.
    for (kib, most) in [(72, 64_u64), (80, 192), (100, 512), (128, 960)] {
        let script = format!(
            "mount -t tmpfs -o size=1M tmpfs /dev/shm && mount -t tmpfs -o size=1M tmpfs /run && \
             mkdir -p m && mount -t tmpfs -o size={kib}k tmpfs m && mkdir m/r && \
             mount --bind \"$1\" m/r && exec \"$2\" record --under w -o m/r -- ./lost here none 0"
        );
        let _ = fs::remove_dir_all(scene.path("r"));
        fs::create_dir(scene.path("r")).expect("made");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script, "sh"]).arg(scene.path("r")).arg(PARABENCH);
        let done = scene.command(command).run();
        if done.err.contains("unshare:") || done.err.contains("mount:") {
            return skip("mounts of its own cannot be made here");
        }
        let done = done.out_is("done\n");
        let (kept, (dropped, says)) = (reads(&scene), gap(&scene, "dropped"));
        assert_eq!(kept + dropped, READS + 1, "{kib} KiB: {says} {done:?}");
        assert!((most.saturating_sub(PRELUDE)..=most).contains(&kept), "{kib} KiB: {kept} {says}");
        done.exits(7).err_has(&says);
    }
}
