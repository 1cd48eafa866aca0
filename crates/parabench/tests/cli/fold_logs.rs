//! What folded programs do of single calls of logs.

use crate::scene::Scene;

/// A log of these calls, one after the other.
fn log(calls: &[&str]) -> String {
    let line = |(at, call)| format!("10 1795692402.{at:06} {call} <0.000010>\n");
    (1..).map(|at| at * 1000).zip(calls).map(line).collect()
}

/// Imports and folds a log: what was said, and the program.
#[track_caller]
fn folded(log: &str) -> (String, String) {
    let scene = Scene::new().file("app.strace", log);
    scene.parabench("import app.strace --under /d -o r").exits(0);
    let said = scene.parabench("fold r -o x.ppl --think none").err;
    (said, scene.text("x.ppl"))
}

/// Calls, how they fold, and what the program has.
const CALLS: [(&[&str], &str, &str); 12] = [
    (
        // Open before the log began: what follows is read from where it was.
        &[
            r#"read(3</d/f>, ""..., 4096) = 4096"#,
            r#"read(3</d/f>, ""..., 4096) = 4096"#,
            r#"read(3</d/f>, ""..., 4096) = 100"#,
            r#"read(3</d/f>, "", 4096) = 0"#,
        ],
        "without loss",
        "repeat 4 with (expect=\"short\") fread($file, $size);",
    ),
    (
        &[
            r#"write(1</d/out>, ""..., 10) = 10"#,
            r#"copy_file_range(0</d/in>, NULL, 1</d/out>, NULL, 100, 0) = 70"#,
            r#"copy_file_range(0</d/in>, NULL, 1</d/out>, NULL, 100, 0) = 0"#,
        ],
        "without loss",
        "fcopy($file2, $file, $size);",
    ),
    (
        &[
            r#"renameat2(AT_FDCWD, "/d/a", AT_FDCWD, "/d/b", RENAME_EXCHANGE) = 0"#,
            r#"renameat2(AT_FDCWD, "/d/a", AT_FDCWD, "/d/b", RENAME_NOREPLACE) = -1 EEXIST (File exists)"#,
            r#"unlink("/d/b") = 0"#,
            r#"renameat2(AT_FDCWD, "/d/a", AT_FDCWD, "/d/b", RENAME_NOREPLACE) = 0"#,
        ],
        "without loss",
        r#"rename("a", "b", "exchange");"#,
    ),
    (
        // Where it was to go nobody tells.
        &[
            r#"openat(AT_FDCWD, "/d/a", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</d/a>"#,
            r#"write(3</d/a>, ""..., 100) = 100"#,
            r#"lseek(3</d/a>, -3, SEEK_SET) = -1 EINVAL (Invalid argument)"#,
            r#"write(3</d/a>, ""..., 10) = 10"#,
        ],
        "1 operation differs",
        "fwrite($file, 100);\nfwrite($file, 10);\n",
    ),
    (
        // `delete` removes an empty directory.
        &[
            r#"mkdir("/d/a", 0777) = 0"#,
            r#"unlink("/d/a") = -1 EISDIR (Is a directory)"#,
            r#"rmdir("/d/a") = 0"#,
        ],
        "1 operation is left out",
        "mkdir(\"a\");\nrmdir(\"a\");\n",
    ),
    (
        // What is appended moves the position of the kernel.
        &[
            r#"openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT|O_EXCL|O_APPEND, 0666) = 3</d/a>"#,
            r#"write(3</d/a>, ""..., 10) = 10"#,
            r#"read(3</d/a>, "", 5) = 0"#,
        ],
        "without loss",
        "fread($file, 5, 10);",
    ),
    (
        // How long the file was, and so where the position is then, nobody tells.
        &[
            r#"openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT|O_APPEND, 0666) = 3</d/a>"#,
            r#"write(3</d/a>, ""..., 10) = 10"#,
            r#"read(3</d/a>, "", 5) = 0"#,
        ],
        "0 of 5 bytes at an unknown place in the run",
        "fread($file, 5);",
    ),
    (
        // Bytes that truncate(2) has made were not there before.
        &[
            r#"openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0666) = 3</d/a>"#,
            r#"pread64(3</d/a>, "", 100, 0) = 0"#,
            r#"truncate("/d/a", 5000) = 0"#,
            r#"pread64(3</d/a>, ""..., 100, 4950) = 50"#,
        ],
        "without loss",
        "truncate(\"a\", 5000);",
    ),
    (
        &[
            r#"openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0666) = 3</d/a>"#,
            r#"pread64(3</d/a>, "", 100, 0) = 0"#,
            r#"fallocate(3</d/a>, 0, 0, 5000) = 0"#,
            r#"pread64(3</d/a>, ""..., 100, 4950) = 50"#,
        ],
        "without loss",
        "fallocate($file, 0, 5000);",
    ),
    (
        // What was missing at first is not prepared, whoever reads it then.
        &[
            r#"rename("/d/a", "/d/b") = -1 ENOENT (No such file or directory)"#,
            r#"openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0666) = 3</d/a>"#,
            r#"write(3</d/a>, ""..., 10) = 10"#,
            r#"pread64(3</d/a>, ""..., 100, 50) = 20"#,
        ],
        "1 operation differs; the first: rank 0, operation 3",
        r#"with (expect="ENOENT") rename("a", "b");"#,
    ),
    (
        // Two names of one file stay.
        &[
            r#"openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0666) = 3</d/a>"#,
            r#"link("/d/a", "/d/b") = 0"#,
            r#"rename("/d/b", "/d/a") = 0"#,
            r#"unlink("/d/b") = 0"#,
            r#"stat("/d/a", {}) = 0"#,
        ],
        "without loss",
        r#"rename("b", "a");"#,
    ),
    (
        // What a reader's editor obeys.
        &[r#"mkdir("/d/a\342\200\256b\342\200\250c", 0777) = 0"#],
        "without loss",
        r#"mkdir("a\xe2\x80\xaeb\xe2\x80\xa8c");"#,
    ),
];

#[test]
fn calls_become_what_does_the_same() {
    for (calls, says, has) in CALLS {
        let (said, text) = folded(&log(calls));
        assert!(said.contains(says), "{says}: {said}\n{text}");
        assert!(text.contains(has), "{has}:\n{text}");
    }
}

/// Calls overlap, and their results tell which came first.
#[test]
fn results_order_calls_that_overlap() {
    let two = |first: &str, second: &str| {
        format!(
            "10 1795692402.100000 mkdir(\"/d/w\", 0777) = 0 <0.000010>\n\
             10 1795692402.110000 clone(child_stack=NULL, flags=SIGCHLD) = 11 <0.000100>\n\
             {first}{second}\
             11 1795692402.400000 +++ exited with 0 +++\n"
        )
    };
    let rmdir = "10 1795692402.200000 rmdir(\"/d/w\") = 0 <0.110000>\n";
    for line in [
        "11 1795692402.300000 mkdir(\"/d/w/x\", 0777) = -1 ENOENT (x) <0.020000>\n",
        "11 1795692402.190000 mkdir(\"/d/w/x\", 0777) = -1 ENOENT (x) <0.200000>\n",
        "11 1795692402.190000 stat(\"/d/w\", 0x7f) = -1 ENOENT (x) <0.200000>\n",
        "11 1795692402.190000 mkdir(\"/d/w\", 0777) = 0 <0.200000>\n",
    ] {
        let early = line.contains(".19");
        let (said, text) = folded(&if early { two(line, rmdir) } else { two(rmdir, line) });
        assert!(said.contains("without loss"), "{line}{said}");
        let statements = &text[text.find("mkdir").expect("a statement")..];
        let (before, behind) = statements.rsplit_once("\nbarrier;\n").expect(&text);
        assert!(before.contains("rmdir(\"w\")"), "{line}{text}");
        assert!(behind.contains("$$rank == 1"), "{line}{text}");
    }
}

/// Times of a log without durations are those at which operations were due: how long they take when they are
/// replayed adds nothing.
#[test]
fn loops_of_logs_without_durations_have_a_rate() {
    let pair = |at: u64| {
        let (start_us, offset) = (at * 20_000, at * 4096);
        format!("{start_us} /d/f write {offset} 4096\n{} /d/f sync 0 0\n", start_us + 100)
    };
    let pairs: String = (0..100).map(pair).collect();
    let log = format!("fio version 3 iolog\n0 /d/f add\n0 /d/f open\n{pairs}1980200 /d/f close\n");
    let scene = Scene::new().file("a.iolog", &log);
    scene.parabench("import a.iolog -o r").exits(0);
    let folded = scene.parabench("fold r").exits(0).err_has("without loss");
    let folded = folded.out_has("with (rate=49.997/s) repeat $i $count {");
    let folded = folded.out_has("with (rate=0) fsync($file);");
    assert!(!folded.out.contains("compute"), "{folded:?}");
    // Irregular names have no loop, and so no rate: nobody knows of work in the pauses.
    let starts = "[[rule]]\nmatch = '^(?<start>\\d+) GET (?<path>\\S+)'\noperation = \"stat\"\n";
    let scene = Scene::new().file("r.toml", starts).file("a.log", "1 GET a\n3 GET b\n");
    scene.parabench("import a.log --rules r.toml -o r").exits(0);
    scene.parabench("fold r").exits(0).out_has("sleep(2000ms);");
}
