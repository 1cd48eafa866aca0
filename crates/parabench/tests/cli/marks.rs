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
    assert!(seen.starts_with("rank 0 was ready to run but had no processor for"), "{seen}");
    assert!(contention["preemptions"].as_u64() > Some(0), "{contention:#}");
    let shown = pinned(&scene, &cpu, "run x.ppl --strict").exits(3);
    shown.out_has("verdict starved: rank 0");
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
