//! `parabench record`: a command runs as if nobody looked, and what it did is a run.

use crate::scene::{Scene, root, skip};
use crate::schema;
use report::events::EventReader;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Recorders of this machine; one that is missing is named.
pub fn recorders() -> Vec<&'static str> {
    match Command::new("strace").arg("--version").output() {
        Ok(_) => vec!["preload", "strace"],
        Err(_) => {
            skip("strace is not installed");
            vec!["preload"]
        }
    }
}

/// Operations of a stored run on files, and how often.
pub fn operations(scene: &Scene, folder: &str) -> BTreeMap<String, usize> {
    let mut events = EventReader::open(&scene.path(folder)).expect("its events");
    let rows: Vec<_> = events.by_ref().map(Result::unwrap).collect();
    let mut counts = BTreeMap::new();
    for row in rows {
        let event = &row.event;
        let op = model::Op::from_u8(event.op).expect("an operation").name();
        let path = String::from_utf8_lossy(&events.paths()[event.path as usize]);
        let text = format!(
            "{op} {path} @{} {} of {} errno {}",
            event.offset_bytes, event.done_bytes, event.requested_bytes, event.errno
        );
        *counts.entry(text).or_insert(0) += 1;
    }
    counts
}

#[test]
fn a_command_runs_as_ever_and_becomes_a_run() {
    for via in recorders() {
        let scene = Scene::new().file("data/in", "abc");
        let line = format!("record --via {via} --under . -o r -- sh -c");
        let script = "read word; echo $word out; echo err >&2; cp data/in data/out; exit 7";
        let done = scene.call(&line).word(script).input("hello\n").run().exits(7);
        done.out_is("hello out\n").err_has("err\n").err_has("parabench report r");
        let run = schema::run_object(&scene.parabench("report r --format json"));
        let recorded = &run["run"]["trace"]["recorded"];
        assert_eq!(recorded["command"], serde_json::json!(["sh", "-c", script]), "{via}");
        assert_eq!(recorded["exit_code"], 7);
        assert!(recorded["by"].as_str().unwrap().starts_with(via));
        // What recording costs is measured from inside, and said in what is made of the run.
        let is_measured = recorded["call_ns"].as_u64().unwrap() > 0;
        assert_eq!(is_measured, via == "preload");
        let table = scene.call("report r -v").env("COLUMNS", "300").run().exits(0);
        let program = scene.parabench("fold r").exits(0);
        if is_measured {
            table.out_has("recording added about ");
            program.out_has("# Recording added about ");
        }
        let counts = operations(&scene, "r");
        let data: Vec<_> = counts.keys().filter(|text| text.contains("data")).collect();
        assert!(counts.keys().any(|text| text.starts_with("fopen data/out")), "{data:?}");
        // Which of them cp does, it decides itself.
        let moves = ["fcopy data/out @0 3 of", "fread data/in @0 3 of"];
        let moved = |text: &String| moves.iter().any(|start| text.starts_with(start));
        assert!(counts.keys().any(moved), "{data:?}");
        assert_eq!(scene.names("."), ["data", "r"], "nothing else stays");
    }
}

#[test]
fn signals_reach_the_command_and_what_was_recorded_is_kept() {
    for via in recorders() {
        for (signal, code) in [(2, 9), (15, 9), (1, 129)] {
            let scene = Scene::new();
            let line = format!("record --via {via} --under . -o r -- sh -c");
            let script = "trap 'exit 9' INT TERM; echo x > made; while :; do sleep 0.01; done";
            let running = scene.call(&line).word(script).start();
            // The file is there before its call ends; what is in it was written after that.
            let is_written = || fs::metadata(scene.path("made")).is_ok_and(|file| file.len() > 0);
            running.until("the file", is_written).signal(signal);
            running.finish().exits(code).err_has("recorded");
            let counts = operations(&scene, "r");
            assert!(counts.keys().any(|text| text.starts_with("fopen made")), "{counts:?}");
        }
    }
}

#[test]
fn what_cannot_be_recorded_is_said_before_anything_happens() {
    let scene = Scene::new().file("text", "no program").file("full/x", "");
    scene.parabench("record -o r -- nosuchcommand").exits(2).err_has("no such program in PATH");
    scene.parabench("record -o r -- ./text").exits(2).err_has("chmod +x");
    scene.parabench("record -o full -- true").exits(2).err_has("--force");
    scene.parabench("record -o r").exits(2).err_has("COMMAND");
    let done = scene.call("record --via strace -o r -- /bin/true").env("PATH", "/nowhere").run();
    done.exits(2).err_has("strace is not installed").err_has("apt install strace");
    assert!(!scene.path("r").exists());
}

#[test]
fn only_what_lies_below_a_directory_is_kept() {
    for via in recorders() {
        let scene = Scene::new().file("a/in", "abc").file("b/in", "abc");
        let line = format!("record --via {via} --under b -- cat a/in b/in");
        scene.parabench(&line).exits(0).out_is("abcabc");
        let counts = operations(&scene, "cat.run");
        assert!(!counts.is_empty() && counts.keys().all(|text| !text.contains(" a/")));
        // The dynamic linker would look through the folders that cargo names there.
        let line = format!("record --via {via} --force -- true");
        scene.call(&line).env("LD_LIBRARY_PATH", "").run().exits(0).err_has("--all");
    }
}

#[test]
fn options_after_the_command_are_its_own() {
    for via in recorders() {
        let scene = Scene::new();
        let line = format!("record --via {via} -o r -- echo --events max=1g --under -o");
        scene.parabench(&line).exits(0).out_is("--events max=1g --under -o\n");
    }
}

/// Commands that find the same files whoever records them; the words are those of the shell.
const SAME: &[(&str, &str)] = &[
    ("cp", "cp in/a out; cp -r in more; mv more moved; ln in/a hard; ln -s a in/soft; rm -r moved"),
    ("tar", "tar cf all.tar in; mkdir there; tar xf all.tar -C there; ls -lR there; du -s there"),
    ("sqlite3", "sqlite3 db 'create table t(a); insert into t values(1); select * from t;'"),
    (
        "git",
        "cd in; touch -d 2020-01-01 a b; git init -q .; git add a; git -c user.name=a -c user.email=b commit -q -m x; git status -s",
    ),
    (
        "streams",
        "uniq in/a > once; grep x in/a; head -c 5 in/b > head; wc in/a in/b; sed -i s/x/y/ in/a",
    ),
    (
        "processes",
        "cat in/a > both; cat in/b >> both; cat < both | dd of=copy bs=1000 conv=fsync status=none; truncate -s 9 both",
    ),
    (
        "duckdb",
        "$PYTHON -c \"import duckdb; d = duckdb.connect(config={'threads': 1}); \
      d.sql('copy (select range as a from range(100000)) to \\$\\$t.parquet\\$\\$'); \
      d.sql('select sum(a) from read_parquet(\\$\\$t.parquet\\$\\$)').fetchall()\"",
    ),
    (
        "python3",
        "python3 -c \"import os; f = open('p', 'w+b'); f.write(b'x' * 9000); f.seek(5); f.read(10); \
      os.pwrite(f.fileno(), b'y', 3); os.listdir('in'); os.rename('p', 'q'); os.stat('q'); os.mkdir('d'); os.rmdir('d')\"",
    ),
];

/// Commits at the same time have the same names.
const DATE: &str = "2026-01-01T00:00:00Z";

/// Names that a program makes up anew each time.
fn known_names(text: &str) -> String {
    let is_random = |part: &&str| part.contains("tmp_obj_") || part.starts_with("sed");
    // Whether the file system knows symbolic links.
    let is_probe =
        |part: &&str| part.len() == 7 && part.starts_with('t') && text.contains(".git/t");
    let part = |part| if is_random(&part) || is_probe(&part) { "RANDOM" } else { part };
    text.split(' ')
        .map(|word| word.split('/').map(part).collect::<Vec<_>>().join("/"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn both_ways_record_the_same_operations() {
    if recorders().len() < 2 {
        return;
    }
    let python = root().join("target/readers-venv/bin/python").display().to_string();
    let mut differences = Vec::new();
    for (program, script) in SAME {
        let file = if *program == "duckdb" { &python } else { *program };
        let has = Command::new("sh").args(["-c", &format!("command -v {file}")]).output();
        if *program != "streams" && *program != "processes" && !has.unwrap().status.success() {
            skip(&format!("{program} is not installed"));
            continue;
        }
        let recorded = ["strace", "preload"].map(|via| {
            let scene = Scene::new().file("w/in/a", "x\ny\n".repeat(3000)).file("w/in/b", "b");
            let line = format!("record --via {via} --under w -o r -- sh -c");
            let done = scene.call(&line).word(format!("cd w; {script}"));
            let done = done
                .env("PYTHON", &python)
                .env("GIT_AUTHOR_DATE", DATE)
                .env("GIT_COMMITTER_DATE", DATE)
                .run();
            assert_eq!(done.code, Some(0), "{program} {via}: {done:?}");
            let mut counts = BTreeMap::new();
            // realpath(3) reads links inside the C library.
            let all = operations(&scene, "r");
            let is_seen = |text: &&String| *program != "duckdb" || !text.starts_with("readlink");
            for (text, count) in all.iter().filter(|(text, _)| is_seen(text)) {
                *counts.entry(known_names(text)).or_insert(0) += count;
            }
            counts
        });
        let [strace, preload] = recorded;
        assert!(strace.len() > 8, "{program}: {strace:#?}");
        let only = |one: &BTreeMap<String, usize>, other: &BTreeMap<String, usize>| {
            let more = one.iter().filter(|(text, count)| other.get(*text) != Some(*count));
            more.map(|(text, count)| format!("{count} {text}")).collect::<Vec<_>>()
        };
        let (missing, more) = (only(&strace, &preload), only(&preload, &strace));
        if !missing.is_empty() || !more.is_empty() {
            differences.push(format!("{program}: strace {missing:#?}, preload {more:#?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Threads, streams, copies of the process and other programs, in one that checks itself.
const APPLICATION: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void *thread(void *name) {
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 100; i++) if (write(fd, "ten bytes.", 10) != 10) abort();
    close(fd);
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t threads[2];
    if (argc > 1) return close(open("executed", O_WRONLY | O_CREAT, 0600));
    pthread_create(&threads[0], NULL, thread, "thread-0");
    pthread_create(&threads[1], NULL, thread, "thread-1");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    FILE *stream = fopen("stream", "w+");
    for (int i = 0; i < 10000; i++) fputc('x', stream);
    rewind(stream);
    char block[100];
    if (fread(block, 1, 100, stream) != 100) return 2;
    fclose(stream);
    int shared = open("shared", O_WRONLY | O_CREAT, 0600);
    pid_t child = fork();
    if (child == 0) _exit(write(shared, "child", 5) == 5 ? 0 : 3);
    waitpid(child, NULL, 0);
    if (write(shared, "parent", 6) != 6) return 4;
    /* Without any variable of the environment. */
    char *words[] = {argv[0], "again", NULL}, *none[] = {NULL};
    pid_t other;
    if (posix_spawn(&other, argv[0], NULL, NULL, words, none)) return 5;
    waitpid(other, NULL, 0);
    if (vfork() == 0) { execve(argv[0], words, none); _exit(6); }
    wait(NULL);
    return 0;
}
"#;

/// Compiles a program; false where there is no compiler for it.
pub fn compiled(scene: &Scene, name: &str, source: &str, options: &[&str]) -> bool {
    let file = format!("{name}.c");
    fs::write(scene.path(&file), source).expect("written");
    let mut command = Command::new("cc");
    command.args(["-o", name, &file, "-lpthread"]).args(options).current_dir(scene.path("."));
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn threads_streams_and_children_are_followed() {
    let scene = Scene::new();
    assert!(compiled(&scene, "app", APPLICATION, &[]));
    scene.parabench("record --via preload --under . -o r -- ./app").exits(0);
    let counts = operations(&scene, "r");
    for (text, count) in [
        ("fwrite thread-0 @990 10 of 10 errno 0", 1),
        ("fopen thread-1 @0 0 of 0 errno 0", 1),
        ("fwrite stream @0 4096 of 4096 errno 0", 1),
        ("fwrite stream @8192 1808 of 1808 errno 0", 1),
        ("fread stream @0 4096 of 4096 errno 0", 1),
        ("fclose stream @0 0 of 0 errno 0", 1),
        // A position is shared by both processes.
        ("fwrite shared @0 5 of 5 errno 0", 1),
        ("fwrite shared @5 6 of 6 errno 0", 1),
        ("fclose executed @0 0 of 0 errno 0", 2),
    ] {
        assert_eq!(counts.get(text), Some(&count), "{text} of {counts:#?}");
    }
    let run = scene.json("r/run.json");
    let threads = run["run"]["trace"]["threads"].as_array().expect("threads").clone();
    let root = &threads[0]["thread"];
    assert_eq!(threads.len(), 6, "{threads:#?}");
    assert!(threads[1..].iter().all(|thread| thread["parent"] == *root), "{threads:#?}");
    let of_root = |thread: &&serde_json::Value| thread["process"] == threads[0]["process"];
    assert_eq!(threads.iter().filter(of_root).count(), 3, "{threads:#?}");
}

/// Says how far it is, then calls on.
const ENDLESS: &str = r#"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int fd = open("file", O_WRONLY | O_CREAT, 0600), count = atoi(argv[1]);
    for (int i = 0; i < count; i++) if (write(fd, "x", 1) != 1) return 1;
    return kill(getpid(), SIGKILL);
}
"#;

#[test]
fn a_program_that_is_killed_loses_nothing_before() {
    let scene = Scene::new();
    assert!(compiled(&scene, "app", ENDLESS, &[]));
    // Windows of the file end at some of these.
    for count in [0, 1, 185, 186, 187, 2000, 70000] {
        let line = format!("record --via preload --force --under file -o r -- ./app {count}");
        scene.parabench(&line).exits(128 + 9);
        let counts = operations(&scene, "r");
        let writes = counts.keys().filter(|text| text.starts_with("fwrite")).count();
        assert_eq!(writes, count, "each at its own place");
    }
}

#[test]
fn programs_that_let_no_library_in_are_named() {
    let scene = Scene::new();
    if !compiled(&scene, "static", "int main(void) { return 0; }", &["-static"]) {
        return skip("no static C library is installed");
    }
    let done = scene.parabench("record --via preload -o r -- ./static").exits(2);
    done.err_has("linked statically").err_has("--via strace");
    scene.call("record --via preload -o r -- sh -c").word("./static; echo x > f").run().exits(0);
    let run = scene.json("r/run.json");
    let gaps = run["run"]["trace"]["gaps"].as_array().expect("gaps").clone();
    let unseen = gaps.iter().find(|gap| gap["code"] == "unseen-programs").expect("the gap");
    assert!(unseen["says"].as_str().unwrap().contains("1 program was executed"), "{unseen}");
}

/// The linker of Go leaves such a note; the library gets in, but sees none of the calls.
#[test]
fn dynamic_programs_of_go_are_named() {
    let scene = Scene::new().file("w/file", "x");
    let note = r#"
        asm(".pushsection .note.go.buildid, \"a\", %note\n.balign 4\n.long 4, 4, 4\n"
            ".asciz \"Go\"\n.byte 0\n.ascii \"abcd\"\n.popsection\n");
        int main(void) { return 0; }
    "#;
    assert!(compiled(&scene, "of-go", note, &[]));
    let done = scene.parabench("record -o r -- ./of-go").exits(2);
    done.err_has("written in Go").err_has("--via strace");
    let run = scene.call("record --under w -o r -- sh -c").word("./of-go; cat w/file").run();
    run.exits(0)
        .err_has("1 program was executed")
        .err_has("of-go 1")
        .err_has("record --via strace");
}
