//! Marks that need a machine in a certain state: others that use its processors, odd devices.

use crate::scene::{Done, PARABENCH, Scene, skip};
use crate::schema::run_object;
use crate::tmpfs::{Image, Tmpfs};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Marks of a run by code.
fn marks(run: &Value) -> Vec<(&str, &str)> {
    let marks = run["run"]["evidence"]["marks"].as_array().expect("marks");
    marks.iter().map(|m| (m["code"].as_str().unwrap(), m["seen"].as_str().unwrap())).collect()
}

/// What a mark has seen; `None`: there is none.
fn seen<'r>(run: &'r Value, code: &str) -> Option<&'r str> {
    marks(run).into_iter().find(|mark| mark.0 == code).map(|mark| mark.1)
}

/// A process that uses a processor until the end of the test.
struct Busy(Child);

impl Busy {
    fn on(cpu: &str) -> Busy {
        let mut command = Command::new("taskset");
        command.args(["-c", cpu, "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
        Busy(command.spawn().expect("taskset runs"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it was ours");
    }
}

/// The first processor that this process may use.
fn first_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().split(['-', ',']).next().unwrap().into()
}

/// Runs on one processor.
fn pinned(scene: &Scene, cpu: &str, line: &str) -> Done {
    let mut command = Command::new("taskset");
    command.args(["-c", cpu, PARABENCH]).args(line.split_whitespace());
    scene.command(command).run()
}

/// Ranks stop by themselves at a time limit, in procs and around labels too; what a number decides is the
/// program's own.
#[test]
fn unequal_work_is_blamed_where_no_time_limit_decides() {
    let work =
        "{ write(\"f-$$rank\", 1m); if ($$rank == 1) repeat 2 write(\"g\", 1m); else sleep(9ms); }";
    let rows = [
        (format!("time[\"a\"] repeat $i 1m until 300ms {work}"), None),
        (format!("repeat $i 1m until 300ms time[\"a\"] {work}"), None),
        (format!("define proc w() {work} time[\"a\"] repeat $i 1m until 300ms w();"), None),
        (format!("time[\"a\"] repeat $i 9 until 1h {work}"), Some("\"a\"")),
        (
            format!(
                "time[\"a\"] repeat $i 1m until 300ms write(\"f-$$rank\", 1m);
                 time[\"b\"] repeat $i 99 {work}"
            ),
            Some("\"b\""),
        ),
    ];
    for (text, blamed) in rows {
        let scene = Scene::new().file("x.ppl", &text);
        let run = run_object(&scene.parabench("run x.ppl -n 2 --format json").exits(0));
        let seen = seen(&run, "unequal-work");
        assert_eq!(seen.is_some(), blamed.is_some(), "{text}: {seen:?}");
        assert!(seen.is_none_or(|seen| seen.contains(blamed.unwrap())), "{text}: {seen:?}");
    }
}

#[test]
fn a_run_that_has_to_share_its_processor_is_marked_as_starved() {
    let text = "create(\"f\"); time[\"s\"] repeat 400000 stat(\"f\");";
    let scene = Scene::new().file("x.ppl", text);
    let cpu = first_cpu();
    let _busy = [Busy::on(&cpu), Busy::on(&cpu)];
    let run = run_object(&pinned(&scene, &cpu, "run x.ppl --format json").exits(0));
    let contention = &run["run"]["evidence"]["contention"];
    if contention["waited_ns"].is_null() {
        return skip("this kernel does not tell how long tasks wait for a processor");
    }
    let seen = seen(&run, "starved").unwrap_or_else(|| panic!("{contention:#}"));
    assert!(seen.contains("rank 0 waited"), "{seen}");
    assert!(contention["preemptions"].as_u64() > Some(0), "{contention:#}");
    let shown = pinned(&scene, &cpu, "run x.ppl --strict").exits(3);
    shown.out_has("! machine busy, latencies too high: rank 0 waited ");
}

#[test]
fn a_loop_device_is_no_storage_of_its_own() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1m);").file("m/here", "");
    let Some(_image) = Image::mount(&scene.path("image"), &scene.path("m")) else { return };
    let run = run_object(&scene.parabench("run x.ppl --dir m/run --format json").exits(0));
    let image = scene.path("image").canonicalize().expect("it is there");
    let seen = seen(&run, "loop-device").unwrap_or_else(|| panic!("{:#}", run["run"]["host"]));
    assert!(seen.contains("a loop device: its storage is the file"), "{seen}");
    assert!(seen.contains(&image.display().to_string()), "{seen}");
    assert_eq!(run["run"]["host"]["devices"][0]["kind"], "loop");
}

#[test]
fn a_loop_device_in_memory_is_memory() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1m);");
    let scene = scene.file("t/here", "").file("m/here", "");
    let Some(_memory) = Tmpfs::mount(&scene.path("t"), "size=64m") else { return };
    let Some(_image) = Image::mount(&scene.path("t/image"), &scene.path("m")) else { return };
    let run = run_object(&scene.parabench("run x.ppl --dir m/run --format json").exits(0));
    let found: Vec<_> = marks(&run).into_iter().map(|mark| mark.0).collect();
    assert!(found.contains(&"memory-storage") && !found.contains(&"loop-device"), "{found:?}");
}

/// A control group that may use a fifth of a processor; removed at the end.
struct Limited(PathBuf);

impl Limited {
    /// In either version of control groups; `None`: not here.
    fn make() -> Option<Limited> {
        let name = format!("parabench-test-{}", std::process::id());
        let versions = [
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "20000"),
            ("/sys/fs/cgroup", "cpu.max", "20000 100000"),
        ];
        versions.into_iter().find_map(|(root, file, limit)| {
            let group = Path::new(root).join(&name);
            fs::create_dir(&group).ok()?;
            let group = Limited(group);
            let is_there = group.0.join(file).exists() && group.0.join("cgroup.procs").exists();
            (is_there && fs::write(group.0.join(file), limit).is_ok()).then_some(group)
        })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_limit_on_processor_time_is_named() {
    let Some(group) = Limited::make() else {
        return skip("no control group can be made here (are you root?)");
    };
    let text = "create(\"f\"); time[\"s\"] repeat 400000 stat(\"f\");";
    let scene = Scene::new().file("x.ppl", text);
    let procs = group.0.join("cgroup.procs");
    let line = format!("echo $$ > {}; exec {PARABENCH} run x.ppl --format json", procs.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]);
    let run = run_object(&scene.command(shell).run().exits(0));
    let contention = &run["run"]["evidence"]["contention"];
    let seen = seen(&run, "throttled").unwrap_or_else(|| panic!("{contention:#}"));
    assert!(seen.contains("limit on processor time"), "{seen}");
}

/// File systems whose kernel counts what is fetched and knows extents.
fn is_on_disk(run: &Value) -> bool {
    let file_system = run["run"]["host"]["file_system"].as_str().expect("a type");
    let on_disk = ["ext4", "xfs", "btrfs"].contains(&file_system);
    if !on_disk {
        skip(&format!("the tests lie on {file_system}"));
    }
    on_disk
}

/// What a program's run says against its writes; `None`: nothing, `Some("")`: it lies in memory.
fn unstable(text: &str) -> Option<String> {
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl -n 2 --format json").exits(0));
    if marks(&run).iter().any(|mark| mark.0 == "memory-storage") {
        skip("the tests lie in memory");
        return Some(String::new());
    }
    seen(&run, "unstable-writes").map(str::to_string)
}

#[test]
fn what_is_made_stable_inside_the_label_is_not_marked() {
    for text in [
        "time[\"w\"] with (fsync=\"close\") {\n\
         $h = fopen(\"a-$$rank\", \"w\"); fwrite($h, 1m); fclose($h); }",
        "$h = fopen(\"a-$$rank\", \"w\"); time[\"w\"] with (fsync=\"op\") fwrite($h, 1m); fclose($h);",
        "time[\"w\"] with (fsync=\"close\") write(\"a-$$rank\", 1m);",
        "time[\"w\"] { write(\"a-$$rank\", 1m); sync; }",
        "$h = fopen(\"a-$$rank\", \"w\"); time[\"w\"] { fwrite($h, 1m); fdatasync($h); } fclose($h);",
        "$h = fopen(\"a-$$rank\", \"O_WRONLY|O_CREAT|O_SYNC\"); time[\"w\"] fwrite($h, 64k); fclose($h);",
        // The label's time holds the time of those inside.
        "$h = fopen(\"a-$$rank\", \"w\"); time[\"w\"] { fwrite($h, 1m); time[\"s\"] fsync($h); }",
        "define pattern \"p\" = segmented(block=256k, count=4);\n\
         $h = fopen(\"a\", \"O_RDWR|O_CREAT\"); time[\"w\"] with (fsync=\"op\") fwrite($h, \"p\");",
        // The parts of the loop are the label's: the program cannot put an fsync into them.
        "time[\"w\"] { $h = fopen(\"a-$$rank\", \"w\"); repeat 8 until 1s level fwrite($h, 64k); \
         fsync($h); fclose($h); }",
        // A little beside much changes no rate.
        "time[\"w\"] { with (fsync=\"close\") write(\"a-$$rank\", 4m); append(\"log-$$rank\", 4k); }",
    ] {
        assert!(unstable(text).is_none_or(|seen| seen.is_empty()), "{text}: {:?}", unstable(text));
    }
}

#[test]
fn what_is_made_stable_elsewhere_is_marked() {
    let sync_after = "time[\"w\"] write(\"a-$$rank\", 1m);\nsync;\n\
                      time[\"v\"] { write(\"b-$$rank\", 1m); sync; }";
    let small =
        "time[\"w\"] { write(\"a-$$rank\", 1m); with (fsync=\"close\") write(\"b-$$rank\", 4k); }";
    let other = "$h = fopen(\"a-$$rank\", \"w\"); $g = fopen(\"b-$$rank\", \"w\");\n\
                 time[\"w\"] { fwrite($h, 1m); fwrite($g, 4k); fsync($g); }";
    let later =
        "$h = fopen(\"a-$$rank\", \"w\"); time[\"w\"] fwrite($h, 1m); time[\"s\"] fsync($h);";
    let next = "$h = fopen(\"a-$$rank\", \"w\");\n\
                repeat 2 time[\"w\"] { fsync($h); fwrite($h, 1m); } fclose($h);";
    let limited = "$h = fopen(\"a-$$rank\", \"w\"); time[\"w\"] repeat 8 until 1s level fwrite($h, 64k); \
                   time[\"s\"] fsync($h);";
    for (text, expected) in [
        (sync_after, "in label \"w\" 2 MiB were"),
        (small, "in label \"w\" 2 MiB of 2.01 MiB were"),
        (other, "in label \"w\" 2 MiB of 2.01 MiB were"),
        (later, "in label \"w\" 2 MiB were"),
        (next, "in label \"w\" 4 MiB were"),
        (limited, "in label \"w\" 1 MiB were"),
        ("write(\"a-$$rank\", 1m);", "outside of labels 2 MiB were"),
    ] {
        let seen = unstable(text).unwrap_or_else(|| panic!("nothing said against {text}"));
        assert!(seen.is_empty() || seen.starts_with(expected), "{text}: {seen}");
        assert!(!seen.contains("label \"v\""), "{seen}");
    }
}

/// Rank 0 speaks for the others, after a barrier or not: that is not certain, so it is a remark.
#[test]
fn the_sync_of_another_rank_may_have_come_after_the_writes() {
    let text = "time[\"w\"] { write(\"a-$$rank\", 1m); barrier; master { sync; } }";
    let seen = unstable(text).expect("a remark");
    assert!(seen.is_empty() || seen.contains("unless a later sync of another rank"), "{seen}");
}

#[test]
fn holes_are_no_cached_reads() {
    let text = "$h = fopen(\"hole\", \"w\"); ftruncate($h, 8m); fclose($h);\n\
                $h = fopen(\"room\", \"w\"); fallocate($h, 8m); fsync($h); fclose($h);\n\
                time[\"hole\"] with (direct=true) read(\"hole\", 8m);\n\
                time[\"room\"] with (direct=true) read(\"room\", 8m);\n\
                time[\"zeros\"] read(\"room\", 8m);\n";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(0));
    if !is_on_disk(&run) {
        return;
    }
    let marks = marks(&run);
    assert!(marks.iter().all(|mark| mark.0 != "cached-reads"), "{marks:?}");
    let seen = seen(&run, "unfetched-reads").unwrap_or_else(|| panic!("{marks:?}"));
    for label in ["hole", "room", "zeros"] {
        let expected = format!("in label \"{label}\" 100 % of the files read are holes");
        assert!(seen.contains(&expected), "{seen}");
    }
}

/// Each of two labels reads its file: one from storage, one from memory.
#[test]
fn labels_are_judged_one_by_one() {
    let make = "with (fsync=\"close\") { write(\"cold\", 16m); write(\"warm\", 16m); }";
    let read = "time[\"cold\"] read(\"cold\"); time[\"warm\"] read(\"warm\");\n\
                repeat 3 { time[\"short\"] read(\"cold\", 4k); }";
    let scene = Scene::new().file("make.ppl", make).file("read.ppl", read);
    let made = run_object(&scene.parabench("run make.ppl --dir d --format json").exits(0));
    if !is_on_disk(&made) {
        return;
    }
    let forget = |name: &str| {
        let mut dd = Command::new("dd");
        dd.arg(format!("if=d/{name}")).args(["iflag=nocache", "count=0", "status=none"]);
        scene.command(dd).run().exits(0);
    };
    let attempt = || {
        forget("cold");
        fs::read(scene.path("d/warm")).expect("it is there");
        run_object(&scene.parabench("run read.ppl --dir d --format json").exits(0))
    };
    // The kernel may take memory back meanwhile, and others may empty the cache.
    let is_warm = |run: &Value| run["run"]["evidence"]["labels"][1]["fetched_bytes"] == 0;
    let mut attempts = std::iter::repeat_with(attempt).take(5);
    let run = attempts.find(is_warm).expect("nothing is fetched of what was just read");
    let labels = &run["run"]["evidence"]["labels"];
    let seen = seen(&run, "cached-reads").unwrap_or_else(|| panic!("{labels:#}"));
    assert!(seen.contains("in label \"warm\" 100 % of the bytes"), "{seen}");
    assert!(!seen.contains("label \"cold\""), "{seen}");
    assert_eq!(labels[0]["label"], "cold");
    assert!(labels[0]["fetched_bytes"].as_u64() >= Some(16 << 20), "{labels:#}");
    assert_eq!((&labels[1]["label"], &labels[1]["fetched_bytes"]), (&"warm".into(), &0.into()));
}

#[test]
fn names_that_the_run_has_made_are_warm() {
    let text = "repeat $i 64 create(\"f-$i\");\ntime[\"s\"] repeat $i 64 stat(\"f-$i\");";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(0));
    let labels = run["run"]["evidence"]["labels"].as_array().expect("labels");
    if !is_on_disk(&run) || labels.is_empty() {
        return;
    }
    let expected = "in label \"s\" 16 of 16 ";
    let seen = seen(&run, "warm-names").unwrap_or_else(|| panic!("{labels:#?}"));
    assert!(seen.starts_with(expected), "{seen}");
}
