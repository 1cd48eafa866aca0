//! Programs that were folded of logs: `check` has nothing to say of any.

use crate::scene::{Scene, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

#[track_caller]
fn nothing_is_wrong(scene: &Scene, options: &str, of: &str) {
    let done = scene.parabench(&format!("check x.ppl {options}"));
    let (said, text) = (done.err.clone() + &done.out, scene.text("x.ppl"));
    // Files from before are made by --prepare.
    let is_alone = said.starts_with("x.ppl: nothing wrong") && said.lines().count() == 1;
    assert!(is_alone, "{of}: {said}\n{text}");
}

/// Those of one log each that import takes.
#[test]
fn nothing_is_wrong_with_programs_of_small_logs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/logs");
    let mut checked = 0;
    for file in fs::read_dir(folder).expect("logs") {
        let text = fs::read(file.expect("a file").path()).expect("a file");
        for case in String::from_utf8_lossy(&text).split("== ").skip(1) {
            let (name, rest) = case.split_once('\n').expect("a name");
            let log = rest.split("\n--\n").next().unwrap_or_default();
            if !log.contains("-- log ") && !log.starts_with("-- rules") {
                checked += u32::from(fold_and_check(name, log));
            }
        }
    }
    assert!(checked > 80, "{checked}");
}

fn fold_and_check(name: &str, log: &str) -> bool {
    let scene = Scene::new().file("log", format!("{log}\n"));
    scene.parabench("import log --all -o r");
    let folded = scene.path("r").exists();
    if folded {
        scene.parabench("fold r -o x.ppl");
        nothing_is_wrong(&scene, "", name);
    }
    folded
}

const SCRIPT: &str = "
import os
os.mkdir('w/d')
for i in range(6):
    with open(f'w/d/f{i}', 'wb') as file:
        file.write(b'x' * (1000 + 4000 * (i % 2)))
    fd = os.open(f'w/d/f{i}', os.O_RDONLY)
    while os.read(fd, 4096):
        pass
    os.close(fd)
os.rename('w/d', 'w/e')
with open('w/e/f0') as file:
    file.read()
with open('w/old') as file:
    file.read()
";

/// What reads its own files with a larger buffer meets their ends, which is no mistake.
#[test]
fn reads_to_the_ends_of_files_are_expected_to_be_short() {
    for via in ["preload", "strace"] {
        let lacks = |tool: &str| Command::new(tool).arg("--version").output().is_err();
        if lacks("python3") || (via == "strace" && lacks("strace")) {
            skip("python3 or strace is not installed");
            continue;
        }
        let scene = Scene::new().file("app.py", SCRIPT).file("w/old", "old");
        let line = format!("record --via {via} --under w -o r -- python3 app.py");
        scene.parabench(&line).exits(0);
        scene.parabench("fold r -o x.ppl").exits(0).err_has("without loss");
        nothing_is_wrong(&scene, "-n 1", via);
        let text = scene.text("x.ppl");
        // Which number its size has depends on what else has become a parameter.
        assert!(text.contains("with (expect=\"short\") fread($file, $size"), "{text}");
        // Of another file the program says where its end lies.
        assert!(text.contains("with (filesize=3) $file"), "{text}");
        assert!(text.contains("with (expect=\"short\") fread($file, 4);"), "{text}");
    }
}

/// A process appends to a file, another one reads it as far as it goes, again and again, as `tail -f`.
fn followed() -> String {
    let mut log = String::new();
    let mut time = 1000;
    let mut call = |thread: u32, text: &str| {
        // The reader looks in even steps, what it finds came at any time.
        time += if thread == 1 { 1 + time * 7919 % 60 } else { 20 };
        log += &format!("{thread} {}.{:03} {text} <0.000010>\n", time / 1000, time % 1000);
    };
    call(1, "openat(AT_FDCWD, \"/d/log\", O_WRONLY|O_CREAT|O_APPEND, 0644) = 3");
    call(2, "openat(AT_FDCWD, \"/d/log\", O_RDONLY) = 3");
    call(2, "read(3, \"\"..., 8192) = 0");
    let mut unread = 0;
    for line in 0..60 {
        let bytes = line * 37 % 211 + 5;
        unread += bytes;
        call(1, &format!("write(3, \"\"..., {bytes}) = {bytes}"));
        if line % 5 == 3 {
            continue;
        }
        for _ in 0..line * 7 % 4 {
            call(2, "fstat(3, {st_mode=S_IFREG|0644, ...}) = 0");
        }
        call(2, &format!("read(3, \"\"..., 8192) = {unread}"));
        call(2, "read(3, \"\"..., 8192) = 0");
        unread = 0;
    }
    log
}

#[test]
fn who_reads_a_file_that_grows_has_met_its_end_before_it_grows() {
    let scene = Scene::new().file("log", followed());
    scene.parabench("import log -o r").exits(0);
    scene.parabench("fold r -o x.ppl").exits(0).err_has("without loss");
    nothing_is_wrong(&scene, "-n 2", "a file that grows");
    let text = scene.text("x.ppl");
    assert!(text.lines().count() < 60, "{text}");
    let line = "replay r -- --backend mem --fidelity-gate";
    scene.call(line).word("operations <= 0").run().exits(0);
}
