//! Logs that mean harm, given to the program: it ends in order, and within bounded memory.

use crate::scene::{PARABENCH, Scene};
use std::process::{Command, Output};

/// Imports what a shell command writes. The program gets so many KiB of memory of its own.
fn imported(scene: &Scene, writes: &str, format: &str, memory_kib: u32) -> Output {
    let script = format!(
        "({writes}) | (ulimit -d {memory_kib}; exec \"$PARABENCH\" import - --as {format} -o r --force)"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env("PARABENCH", PARABENCH).current_dir(scene.path("."));
    command.env_remove("LD_LIBRARY_PATH").output().expect("a shell")
}

/// What is written, the memory that it may take, and what is said of it.
const LOGS: &[(&str, &str, u32, &str)] = &[
    (
        "a line of more than 4 GiB",
        r#"printf 'open("/d/f", 0) = 3\nread(3, "'; head -c 4400000000 /dev/zero; printf '\nread(3, "", 1) = 0\n'"#,
        200_000,
        "1 line is longer than 1 MiB: their ends were skipped, first -:2:",
    ),
    (
        "a million descriptors that nobody closes, in processes that each copy them",
        r#"awk 'BEGIN { for (i = 3; i < 1000003; i++) print "open(\"/d/f\", O_RDONLY) = " i
            for (c = 2; c < 202; c++) print "1 fork() = " c "\n" c " close(3) = 0" }'"#,
        500_000,
        "200 calls use descriptors that the log does not explain",
    ),
    (
        "calls that all begin and never end",
        r#"awk 'BEGIN { for (i = 1; i < 300000; i++) printf "%d read(3, \"%01000d <unfinished ...>\n", i, i }'"#,
        500_000,
        "calls contradict what the log says before, exceed every limit, or hold a name with a zero byte",
    ),
    (
        "names with zeros, line ends and ways up, among renames in circles",
        r#"printf '%s\n' 'chdir("/d/e") = 0' 'open("../../../../a\0b\nc", 0) = 3' 'rename("/d", "/d/e") = 0' \
            'rename("/", "/d") = 0' 'write(3, "", 99999999999999999999999) = 99999999999999999999'"#,
        200_000,
        "3 calls contradict what the log says before, exceed every limit, or hold a name with a zero byte",
    ),
];

#[test]
fn hostile_logs_are_counted_in_bounded_memory() {
    for (name, writes, memory_kib, says) in LOGS {
        let scene = Scene::new();
        let done = imported(&scene, writes, "strace", *memory_kib);
        let err = String::from_utf8_lossy(&done.stderr);
        // Of calls that never end nothing is left to keep.
        let code = if name.ends_with("never end") { 2 } else { 0 };
        assert_eq!(done.status.code(), Some(code), "{name}: {err}");
        let out = format!("{}{err}", String::from_utf8_lossy(&done.stdout));
        let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(says), "{name}: {out}");
    }
}

#[test]
fn what_is_no_log_at_all_is_an_error_or_counted_in_every_format() {
    let formats: Vec<&str> = trace::Format::all().map(trace::Format::name).collect();
    assert!(formats.len() > 8, "{formats:?}");
    for format in formats {
        for writes in ["head -c 2000000 \"$PARABENCH\"", "head -c 500000000 /dev/zero"] {
            let scene = Scene::new();
            let done = imported(&scene, writes, format, 300_000);
            let err = String::from_utf8_lossy(&done.stderr);
            let is_error =
                done.status.code() == Some(2) && err.contains("error: ") && err.contains('-');
            let is_counted =
                done.status.success() && scene.text("r/run.json").contains("unparsed-lines");
            assert!(is_error || is_counted, "{format} {writes}: {:?} {err}", done.status);
            assert!(!err.contains("panicked") && !err.contains("out of memory"), "{format}: {err}");
        }
    }
}
