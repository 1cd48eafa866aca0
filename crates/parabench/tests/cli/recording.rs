//! What `parabench record` and `import` make of odd calls, of interrupted recordings and of processes left behind.

use crate::record::{compiled, operations, recorders};
use crate::scene::{Scene, skip};
use crate::tmpfs::Image;
use std::fs;
use std::path::{Path, PathBuf};

/// The program of a run, folded without loss, after its replay on real files. Without pauses: a busy machine makes them
/// longer, and long ones decide what becomes one loop.
fn folded(scene: &Scene) -> String {
    let line = "replay r -- --force --dir d --events --out again.run --fidelity-gate";
    scene.call(line).word("operations <= 0").run().exits(0).err_has("without loss");
    scene.parabench("fold r --think none").exits(0).err_has("without loss").out
}

#[test]
fn links_in_directories_lead_where_they_led() {
    for via in recorders() {
        let scene = Scene::new().file("w/keep", "");
        let script = "cd w; mkdir d d/e; echo abc > d/real; ln -s real d/link; cat d/link; \
                      ln -s ../real d/e/up; cat d/e/up; ln -s $PWD/d/real d/e/absolute; cat d/e/absolute";
        let line = format!("record --via {via} --under w -o r -- sh -c");
        scene.call(&line).word(script).run().exits(0).out_is("abc\nabc\nabc\n");
        let program = folded(&scene);
        for part in ["[\"real\", \"../real\", \"../real\"]", "symlink($names[$i], \"d/$name\")"] {
            assert!(program.contains(part), "{via}: {part} in {program}");
        }
        let texts = operations(&scene, "r");
        assert!(texts.keys().any(|text| text.starts_with("symlink ../real ")), "{texts:#?}");
    }
}

#[test]
fn modes_are_those_of_the_recording() {
    for via in recorders() {
        let scene = Scene::new().file("w/keep", "");
        let script = "cd w; mkdir d; echo abc > d/f; chmod 711 d; chmod 600 d/f; cat d/f";
        let line = format!("record --via {via} --under w -o r -- sh -c");
        scene.call(&line).word(script).run().exits(0);
        let program = folded(&scene);
        for mode in ["chmod(\"d\", 0o711)", "chmod(\"d/f\", 0o600)"] {
            assert!(program.contains(mode), "{via}: {program}");
        }
        let secret = scene.parabench("fold r --anonymise map").exits(0);
        secret.out_has("0o711");
    }
}

/// Logs that tell no modes.
#[test]
fn directories_stay_open_where_no_mode_is_known() {
    let log = "1 2 mkdir 0 0 ( /d/a 511 )\n".replace("1 2", "1.0 2.0")
        + "2.0 3.0 chmod 0 0 ( /d/a 511 )\n3.0 4.0 chmod 0 0 ( /d/f 511 )\n";
    let scene = Scene::new().file("0.txt", &log);
    scene.parabench("import --as recorder 0.txt -o r").exits(0);
    let program = scene.parabench("fold r").exits(0);
    program.out_has("chmod(\"a\", 0o755)").out_has("chmod(\"f\", 0o644)");
}

#[test]
fn copies_between_file_systems_fold() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return skip("no /dev/shm") };
    let scene = Scene::new().file("w/in", "x".repeat(9000));
    for via in recorders() {
        let out = memory.path().join("out");
        let line = format!("record --via {via} --force -o r -- cp w/in");
        scene.call(&line).word(out.to_str().expect("text")).run().exits(0);
        let texts = operations(&scene, "r");
        assert!(
            texts.keys().all(|text| text.ends_with("errno 0") || !text.starts_with("fread")),
            "{texts:#?}"
        );
        scene.parabench("fold r").exits(0).err_has("without loss");
    }
}

const COPIES: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    char name[20] = "w/in-0", copy[20] = "w/out-0";
    for (int i = 0; i < 4; i++) {
        name[5] = copy[6] = '0' + i;
        int in = open(name, O_RDONLY), out = open(copy, O_RDWR | O_CREAT, 0600);
        while (copy_file_range(in, NULL, out, NULL, 1UL << 40, 0) > 0) {}
        off64_t from = 100, to = 9000;
        copy_file_range(in, &from, out, &to, 50, 0);
        from = 200;
        copy_file_range(in, &from, out, NULL, 500, 0);
        lseek(in, 0, SEEK_SET);
        copy_file_range(in, NULL, out, &to, 70, 0);
        char bytes[30];
        read(in, bytes, 30);
        write(out, bytes, 30);
        close(in); close(out);
    }
    return 0;
}
"#;

#[test]
fn copies_are_recorded_and_replayed_as_copies() {
    let mut all = Vec::new();
    for via in recorders() {
        let mut scene = Scene::new();
        for i in 0..4 {
            scene = scene.file(&format!("w/in-{i}"), "x".repeat(4000));
        }
        assert!(compiled(&scene, "app", COPIES, &[]));
        scene.parabench(&format!("record --via {via} --under w -o r -- ./app")).exits(0);
        let texts = operations(&scene, "r");
        let copies = texts.keys().filter(|text| text.starts_with("fcopy")).count();
        assert_eq!(copies, 5 * 4, "{via} {texts:#?}");
        let text = folded(&scene);
        for copy in ["$size", "$size2", "50, 100, 9000", "$size3, 200", "$size4, to_off=9050"] {
            assert!(text.contains(&format!("fcopy($file, $file2, {copy});")), "{copy} {text}");
        }
        all.push(texts);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");
}

const CLONES: &str = r#"
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    char name[] = "w/out-0", bytes[3000];
    struct stat facts;
    int in = open("w/in", O_RDONLY);
    fstat(in, &facts);
    for (int i = 0; i < 4; i++) {
        name[6] = '0' + i;
        int out = open(name, O_RDWR | O_CREAT, 0600);
        ioctl(out, FIONREAD, &facts);
        ioctl(out, FICLONE, in);
        for (int part = 0; part < 3; part++) {
            struct file_clone_range range = {in, part * 4096, 4096, 65536 + part * 8192};
            ioctl(out, FICLONERANGE, &range);
        }
        struct file_clone_range rest = {in, 8192, 0, 131072};
        ioctl(out, FICLONERANGE, &rest);
        read(out, bytes, sizeof bytes);
        pread(out, bytes, sizeof bytes, 131072 + 4096);
        close(out);
    }
    close(in);
    return 0;
}
"#;

/// How large the files are that were there, only what is read of others tells.
const SHARING: &str = r#"
$in = fopen("in", "r");
$out = fopen("out", "w+");
freflink($in, $out);
fread($out, 10k, 90k);
fclose($out);
reflink("a", "b");
reflink("b", "c");
read("c", 900k);
copy("e", "f");
"#;

/// What cp does on btrfs and xfs, and parts of files.
#[test]
fn shared_files_are_recorded_and_replayed_as_such() {
    let outer = Scene::new().file("m/mount", "");
    let (image, place) = (outer.path("image"), outer.path("m"));
    let Some(_mounted) = Image::of("mkfs.btrfs -q", 128, &image, &place) else { return };
    let data: Vec<u8> = (0..14_000u32).flat_map(u32::to_le_bytes).collect();
    let mut all = Vec::new();
    for via in recorders() {
        let scene = Scene::on(&place).file("w/in", &data);
        assert!(compiled(&scene, "app", CLONES, &[]));
        let mut texts = Vec::new();
        let mut made = Vec::new();
        for (command, shared) in [
            ("cp w/in w/copy", &["freflink($file, $file2);"][..]),
            (
                "./app",
                &["freflink($file, $file2);", "freflink($file, $file2, $size, ", "0, 8k, 128k);"],
            ),
        ] {
            scene
                .parabench(&format!("record --via {via} --force --under w -o r -- {command}"))
                .exits(0);
            let text = folded(&scene);
            assert!(shared.iter().all(|shared| text.contains(shared)), "{via} {text}");
            texts.push(operations(&scene, "r"));
            made.push(
                ["in", "copy", "out-3"].map(|name| fs::read(scene.path("d").join(name)).ok()),
            );
            fs::remove_dir_all(scene.path("d")).expect("removed");
        }
        assert_eq!((made[0][1].as_ref(), &made[0][2]), (made[0][0].as_ref(), &None));
        let [Some(before), _, Some(after)] = &made[1] else { panic!("{via}: {made:?}") };
        assert_eq!((before.len(), after.len()), (data.len(), 131_072 + data.len() - 8192));
        assert_eq!((&after[..data.len()], &after[131_072..]), (&before[..], &before[8192..]));
        all.push(texts);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");

    let mut scene = Scene::on(&place).file("x.ppl", SHARING);
    for (name, bytes) in [("in", 100 << 10), ("a", 1 << 20), ("e", 1 << 18)] {
        scene = scene.file(&format!("d/{name}"), vec![1; bytes]);
    }
    scene.parabench("run x.ppl --dir d --force --events --out r").exits(0);
    scene.parabench("fold r").exits(0).err_has("without loss");
}

#[test]
fn copies_of_files_that_are_left_out_are_reads_or_writes() {
    let log = "openat(AT_FDCWD, \"/usr/a\", O_RDWR) = 3\nopenat(AT_FDCWD, \"/d/b\", O_RDWR) = 4\n\
               copy_file_range(3, NULL, 4, NULL, 1099511627776, 0) = 1000\n\
               copy_file_range(4, [5], 3, NULL, 20, 0) = 20\n\
               fstat(3, {st_mode=S_IFREG|0644, st_size=700, ...}) = 0\nioctl(4, FICLONE, 3) = 0\n\
               ioctl(3, FICLONERANGE, {src_fd=4, src_offset=0, src_length=600, dest_offset=0}) = 0\n";
    let scene = Scene::new().file("log", log);
    scene.parabench("import log -o r").exits(0);
    let texts = operations(&scene, "r");
    let moved: Vec<&String> = texts.keys().filter(|text| !text.starts_with("fopen")).collect();
    let expected = [
        "fread b @0 600 of 600 errno 0",
        "fread b @5 20 of 20 errno 0",
        "fwrite b @0 1000 of 1000 errno 0",
        "fwrite b @0 700 of 700 errno 0",
    ];
    assert_eq!(moved, expected);
}

const APPENDS: &str = r#"
#include <stdio.h>
int main(void) {
    FILE *stream = fopen("w/log", "a");
    fprintf(stream, "more\n");
    fclose(stream);
    stream = freopen("w/other", "a", stdout);
    printf("more\n");
    return fclose(stream);
}
"#;

#[test]
fn streams_that_append_are_recorded_alike() {
    let mut all = Vec::new();
    for via in recorders() {
        let scene = Scene::new().file("w/log", "before\n").file("w/other", "");
        assert!(compiled(&scene, "app", APPENDS, &[]));
        scene.parabench(&format!("record --via {via} --under w -o r -- ./app")).exits(0);
        let texts = operations(&scene, "r");
        assert_eq!(texts.get("fseek log @7 0 of 0 errno 0"), Some(&1), "{via} {texts:#?}");
        assert!(!scene.text("r/run.json").contains("unknown-descriptors"), "{via}");
        folded(&scene);
        all.push(texts);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");
}

/// The files of the library grow beyond it: the command goes on, and every call is recorded or counted.
#[test]
fn a_limit_of_file_sizes_does_not_end_a_recorded_command() {
    for via in recorders() {
        let [without, with] = ["", "ulimit -f 64; "].map(|limit| {
            let scene = Scene::new().file("w/keep", "");
            let script = format!(
                "cd w; {limit}i=0; while [ $i -lt 3000 ]; do echo x > f; i=$((i+1)); done; echo done"
            );
            let line = format!("record --via {via} --under w -o r -- sh -c");
            let done = scene.call(&line).word(script).run().exits(0).out_is("done\n");
            let trace = scene.json("r/run.json")["run"]["trace"].clone();
            let gaps = trace["gaps"].as_array().expect("gaps").iter();
            let lost = gaps.filter(|gap| gap["code"] == "dropped");
            let dropped: u64 = lost.map(|gap| gap["count"].as_u64().expect("a count")).sum();
            assert_eq!(dropped > 0, done.err.contains(&format!("/sh {dropped}")), "{via}: {}", done.err);
            (trace["logs"][0]["lines"].as_u64().expect("lines"), dropped)
        });
        assert_eq!(without.1, 0, "{via}");
        assert_eq!(with.1 > 0, via == "preload", "{via}: {with:?}");
        if via == "preload" {
            // 32 KiB are 448 slots and a header.
            assert_eq!(with.0 + with.1, without.0, "{with:?} {without:?}");
            assert!((200..=448).contains(&with.0), "{with:?}");
        }
    }
}

#[test]
fn nothing_is_executed_whose_run_cannot_be_stored() {
    let scene = Scene::new();
    for out in ["/proc/x", "/dev/null/x"] {
        scene.parabench(&format!("record -o {out} -- touch made")).exits(2).err_has(out);
    }
    assert!(!scene.path("made").exists());
    // Of a command that cannot be started nothing stays.
    let scene = scene.script("script", "#!/nowhere/sh\n");
    let _ = scene.call("record -o r -- ./script").run();
    assert!(!scene.path("r").exists());
}

#[test]
fn a_folder_belongs_to_one_recording_at_a_time() {
    let scene = Scene::new();
    let script = "touch made; while ! test -e end; do sleep 0.01; done";
    let first = scene.call("record --under . -o r -- sh -c").word(script).start();
    first.until("the file", || scene.path("made").exists());
    scene.parabench("record -o r -- touch second").exits(2).err_has("another recording");
    assert!(!scene.path("second").exists());
    fs::write(scene.path("end"), "").expect("written");
    first.finish().exits(0).err_has("recorded");
}

/// Folders of recordings that hold what this program makes.
fn left_over(beside: &Path) -> Vec<PathBuf> {
    let places = [Path::new("/dev/shm"), Path::new("/run"), beside];
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let named = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("parabench-recording-"))
    };
    entries.map(|entry| entry.path()).filter(named).collect()
}

#[test]
fn what_a_killed_recorder_leaves_becomes_a_run() {
    for via in recorders() {
        let scene = Scene::new();
        let before = left_over(&scene.path("."));
        let script = "echo abc > kept; touch made; while ! test -e end; do sleep 0.01; done";
        let line = format!("record --via {via} --under . -o r -- sh -c");
        let call = scene.call(&line).word(script);
        let running = call.env("TMPDIR", scene.path(".").to_str().expect("text")).start();
        running.until("the file", || scene.path("made").exists());
        let marked = |folder: &PathBuf| {
            fs::read_dir(folder).is_ok_and(|mut files| {
                files.any(|file| {
                    file.is_ok_and(|file| {
                        fs::read(file.path()).is_ok_and(|text| memchr(&text, &scene.path(".")))
                    })
                })
            })
        };
        running.signal(9);
        fs::write(scene.path("end"), "").expect("written");
        drop(running.finish());
        let new: Vec<PathBuf> = left_over(&scene.path("."))
            .into_iter()
            .filter(|folder| !before.contains(folder))
            .collect();
        let folder = new.iter().find(|folder| marked(folder)).expect("a folder");
        let done =
            scene.parabench(&format!("import {} --under . -o left", folder.display())).exits(0);
        done.err_has("rm -r");
        let texts = operations(&scene, "left");
        assert!(
            texts.keys().any(|text| text.starts_with("fwrite kept @0 4 of 4")),
            "{via} {texts:#?}"
        );
        fs::remove_dir_all(folder).expect("removed");
    }
}

/// The text has this path in it.
fn memchr(text: &[u8], path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_default();
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    text.windows(name.len()).any(|part| part == name)
}

const SLEEPER: &str = r#"
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    int fd = open("out", O_CREAT | O_WRONLY, 0644);
    struct timespec time = {0, 20000000};
    nanosleep(&time, NULL);
    write(fd, "1", 1);
    poll(NULL, 0, 20);
    return fsync(fd) + close(fd);
}
"#;

#[test]
fn who_waits_between_operations_sleeps_in_the_program() {
    let scene = Scene::new();
    assert!(compiled(&scene, "app", SLEEPER, &[]));
    scene.parabench("record --via preload --under . -o r -- ./app").exits(0);
    let program = scene.parabench("fold r").exits(0).out;
    // On a busy machine it waits for a processor elsewhere, too.
    for (before, after) in [("fopen(", "fwrite("), ("fwrite(", "fsync(")] {
        let between =
            &program[program.find(before).expect("a call")..program.find(after).expect("a call")];
        assert!(between.contains("sleep("), "{program}");
    }
}

#[test]
fn processes_that_are_left_behind_are_waited_for() {
    for via in recorders() {
        let scene = Scene::new();
        let script = "(sleep 0.3; echo late > late) & echo now > now; exit 5";
        scene
            .call(&format!("record --via {via} --under . -o r -- sh -c"))
            .word(script)
            .run()
            .exits(5);
        let texts = operations(&scene, "r");
        assert!(texts.keys().any(|text| text.starts_with("fwrite late @0 5")), "{via} {texts:#?}");
    }
}

#[test]
fn processes_that_are_not_waited_for_are_counted() {
    let scene = Scene::new();
    // Starts processes also while the log is removed.
    let script = "(touch ready; while ! test -e end; do /bin/true; done) & echo now > now";
    let running = scene.call("record --via preload --under . -o r -- sh -c").word(script).start();
    running.until("the file", || scene.path("ready").exists());
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.signal(15);
    // What is left behind holds the streams open.
    running.until("the run", || scene.path("r/run.json").exists());
    fs::write(scene.path("end"), "").expect("written");
    running.finish().exits(0).err_has("recorded");
    assert!(scene.text("r/run.json").contains("still at work when recording ended"));
}

const RELATIVE: &str = r#"
17 1795253061.000500 openat(AT_FDCWD</data>, "d3/a", O_RDWR|O_CREAT|O_EXCL, 0644) = 4</data/d3/a> <0.000020>
17 1795253061.000800 write(4</data/d3/a>, ""..., 4096) = 4096 <0.000030>
17 1795253061.000900 openat(AT_FDCWD</data>, "b", O_RDONLY) = 5</data/b> <0.000020>
"#;

#[test]
fn a_relative_directory_begins_where_the_log_does() {
    let scene = Scene::new().file("a.log", RELATIVE).file("empty.ppl", "$nothing = 1;\n");
    fs::create_dir(scene.path("empty")).expect("a folder");
    scene.parabench("import a.log --under d3 -o r").exits(0);
    let texts = operations(&scene, "r");
    assert_eq!(texts.len(), 2, "{texts:#?}");
    let done = scene.parabench("import a.log --under d4 -o none").exits(2);
    done.err_has("no operation below d4; 3 calls on files elsewhere were left out");
    assert!(!scene.path("none").exists());
    let done = scene.parabench("import --as recorder a.log -o none").exits(2);
    done.err_has("lines are in no form that is known");
    scene.parabench("import empty -o none").exits(2).err_has("without a run or a recording");
    scene.parabench("record --under none -o idle -- true").exits(0).err_has("nothing was kept");
    assert!(!scene.path("idle").exists());
    let writes = "record -o idle -- dd if=/dev/zero of=made bs=1 count=1 status=none";
    scene.parabench(writes).exits(0).err_has("recorded");
    let page = scene.parabench("record --under . --force -o idle -- cp made again").exits(0);
    page.err_has("recorded");
    scene.parabench("report idle --html page.html").exits(0);
    assert!(scene.text("page.html").contains("parabench record --under . -- cp made again"));
    // A run that is replaced stays if there is nothing to take its place.
    scene.parabench("record --under none --force -o idle -- true").exits(0);
    assert_eq!(scene.names("idle"), ["events.parquet", "run.json"]);
    scene.parabench("run empty.ppl --backend mem --events --out none").exits(0);
    scene.parabench("fold none").exits(2).err_has("nothing to fold");
    scene.parabench("fold a.log").exits(2).err_has("`record` or `import` has written");
}
