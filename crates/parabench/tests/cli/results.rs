//! What is measured is neither lost nor counted twice, whenever the process is killed; reading
//! ends and changes nothing; and nothing of others is removed or replaced.

use crate::figures::row;
use crate::scene::{PARABENCH, Scene, kill, skip};
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::process::Command;

/// Every operation leaves a byte that can be counted.
const COUNTED: &str = "repeat 20 append(\"log-$$rank\", 1);";
/// Calls that make files stable, visible or vanish: the steps of an end.
const STEPS: [&str; 5] = ["fsync", "rename", "unlink", "unlinkat", "rmdir"];

/// Kills `run x.ppl -n 2 --dir d --out results OPTIONS` before its first step of each kind, its
/// second, ... to the last one, and compares what a report tells with what the ranks have done.
fn kill_at_every_step(options: &str) {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("strace is not here");
    }
    let steps = STEPS.iter().map(|call| (1..).take_while(|n| is_killed(call, *n, options)).count());
    assert!(steps.sum::<usize>() > 8, "there are so many steps at least");
}

/// False if there is no such step.
fn is_killed(call: &str, number: u32, options: &str) -> bool {
    assert!(number < 300, "it never ends");
    let at = format!("{call} {number}");
    let scene = Scene::new().file("x.ppl", COUNTED);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e"]);
    command.arg(format!("inject={call}:signal=SIGKILL:when={number}"));
    command.args([PARABENCH, "run", "x.ppl", "-n", "2", "--dir", "d", "--out", "results"]);
    command.args(options.split_whitespace());
    let done = scene.command(command).run();
    if !scene.path("results/run.json").exists() {
        assert_eq!(executed(&scene), 0, "{at}: {done:?}");
        return true;
    }
    let report = || scene.parabench("report results --format json").exits(0).out;
    let first = report();
    assert_eq!(counted(&first), executed(&scene), "{at}: {first}");
    assert_eq!(report(), first, "{at}");
    let is_finished = scene.json("results/run.json")["run"]["recording"].is_null();
    scene.parabench("report results --settle").exits(0);
    let settled = report();
    assert_eq!(counted(&settled), executed(&scene), "{at}");
    assert!(!is_finished || settled == first, "{at}");
    assert_eq!(scene.path("results/events.parquet").exists(), options.contains("--events"), "{at}");
    done.code != Some(0)
}

fn executed(scene: &Scene) -> u64 {
    let size =
        |rank: u32| fs::metadata(scene.path(&format!("d/log-{rank}"))).map_or(0, |f| f.len());
    size(0) + size(1)
}

fn counted(report: &str) -> u64 {
    let run: Value = serde_json::from_str(report).unwrap();
    let rows = run["rows"].as_array().unwrap();
    let whole = rows.iter().filter(|row| row["part_of"].is_null());
    whole.map(|row| row["count"].as_u64().unwrap()).sum()
}

#[test]
fn a_kill_at_any_step_loses_and_doubles_nothing_of_a_run() {
    kill_at_every_step("--events");
}

#[test]
fn a_kill_at_any_step_loses_and_doubles_nothing_of_a_sweep() {
    kill_at_every_step("--reps 2");
}

/// A run that was killed with both ranks' records in memory.
fn killed(scene: &Scene, options: &str) -> PathBuf {
    let call = scene.call(&format!("run x.ppl --dir d {options}")).start();
    call.until("the file", || scene.path("d/begun").exists());
    let ranks = call.ranks();
    kill(call.pid(), 9);
    call.finish();
    let alive = |pid: &i32| PathBuf::from(format!("/proc/{pid}")).exists();
    while ranks.iter().any(alive) {
        std::thread::yield_now();
    }
    let run = scene.json("results/run.json");
    PathBuf::from(run["run"]["recording"]["memory"].as_str().expect("a tmpfs"))
}

const KILLED: &str = "write(\"first\", 1); barrier; create(\"begun\"); sleep(1h);";

#[test]
fn a_run_that_was_cut_off_is_read_from_a_folder_that_cannot_be_written() {
    let scene = Scene::new().file("x.ppl", KILLED).file("results/mount", "");
    let Some(mounted) = Tmpfs::mount(&scene.path("results"), "size=4m") else { return };
    killed(&scene, "--out results --events");
    mounted.make_read_only();
    let first = scene.parabench("report results --format json --html a.html").exits(0);
    assert_eq!(row(&first.json(), "", "write")["count"], 1);
    assert!(scene.path("a.html").exists());
    scene.parabench("report results --settle").exits(1).err_has("ead-only");
    let again = scene.parabench("report results --format json").exits(0);
    assert_eq!(again.out, scene.parabench("report results --format json").exits(0).out);
    let done = Command::new("mount").args(["-o", "remount,rw"]).arg(scene.path("results")).status();
    assert!(done.unwrap().success());
    scene.parabench("report results --settle").exits(0);
}

#[test]
fn a_new_run_takes_the_place_of_one_that_was_cut_off() {
    let scene = Scene::new().file("x.ppl", KILLED).file("y.ppl", "create(\"c\");");
    let memory = killed(&scene, "--out results --events");
    scene.parabench("run y.ppl --out results").exits(2).err_has("--force");
    assert!(memory.exists());
    scene.parabench("run y.ppl --out results --force").exits(0);
    assert!(!memory.exists(), "its memory is free again");
    assert_eq!(scene.names("results"), ["run.json"]);
}

fn fifo(path: PathBuf) {
    let _ = fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

/// Pipes, endless devices and giants under every name that a reader opens.
#[test]
fn reports_of_odd_files_end() {
    let scene = Scene::new().file("x.ppl", "create(\"f\");");
    scene.parabench("run x.ppl --out good --events").exits(0);
    let limited = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v 3000000; exec {PARABENCH} {line}")]);
        scene.command(command).run()
    };
    let json = scene.path("good/run.json");
    let text = fs::read(&json).unwrap();
    fifo(json.clone());
    limited("report good").exits(2).err_has("not a run of Parabench");
    limited("compare good good --anyway").exits(2).err_has("not a run of Parabench");
    limited("run x.ppl --out good --force").exits(2).err_has("not a run of Parabench");
    fs::remove_file(&json).unwrap();
    symlink("/dev/zero", &json).unwrap();
    limited("report good").exits(2).err_has("not a run of Parabench");
    fs::remove_file(&json).unwrap();
    fs::File::create(&json).unwrap().set_len(8 << 30).unwrap();
    limited("report good").exits(2).err_has("bytes, at most");
    fs::File::create(&json).unwrap().set_len(1 << 30).unwrap();
    limited("report good").exits(2).err_has("not a run of Parabench");
    fs::remove_file(&json).unwrap();
    fs::write(&json, text).unwrap();
    let events = scene.path("good/events.parquet");
    fifo(events.clone());
    limited("report good --html a.html").exits(2).err_has("not an event table");
    fs::remove_file(&events).unwrap();
    symlink("/dev/zero", &events).unwrap();
    limited("report good --svg s").exits(2).err_has("not an event table");
    fs::remove_file(&events).unwrap();
    fs::File::create(&events).unwrap().set_len(8 << 30).unwrap();
    limited("report good --data s").exits(2).err_has("not an event table");
}

#[test]
fn odd_files_among_the_records_of_a_killed_run_do_no_harm() {
    let scene = Scene::new().file("x.ppl", KILLED);
    let memory = killed(&scene, "--out results");
    fifo(memory.join("rank-1"));
    fs::remove_file(memory.join("plan")).unwrap();
    symlink("/dev/zero", memory.join("plan")).unwrap();
    scene.parabench("report results").exits(0).out_has("a rank's file cannot be read");
    for _ in 0..2 {
        scene.parabench("report results --settle").exits(1).out_has("a rank's file cannot be read");
        assert!(memory.join("rank-1").exists() && !memory.join("rank-0").exists());
    }
    fs::remove_file(memory.join("rank-1")).unwrap();
    let settled = scene.parabench("report results --settle --format json").exits(0).json();
    assert_eq!(row(&settled, "", "write")["count"], 1);
    assert!(!memory.exists());
    assert_eq!(scene.names("results"), ["run.json"]);
}

/// A file of a newer version, one that is cut: settling stores and removes the others alone.
#[test]
fn records_that_cannot_be_read_stay_where_they_are() {
    let damages: [fn(&mut Vec<u8>); 3] =
        [|bytes| bytes[0] ^= 0xff, |bytes| bytes.truncate(20), |bytes| bytes[8..64].fill(0xff)];
    for damage in damages {
        let scene = Scene::new().file("x.ppl", KILLED).file("y.ppl", "create(\"c\");");
        let memory = killed(&scene, "-n 2 --out results");
        let whole = fs::read(memory.join("rank-1")).unwrap();
        let mut damaged = whole.clone();
        damage(&mut damaged);
        fs::write(memory.join("rank-1"), &damaged).unwrap();
        scene.parabench("report results --settle").exits(1).out_has("rank-1");
        scene.parabench("run y.ppl --out other").exits(0);
        assert_eq!(fs::read(memory.join("rank-1")).unwrap(), damaged);
        fs::write(memory.join("rank-1"), &whole).unwrap();
        let settled = scene.parabench("report results --settle --format json").exits(0).json();
        assert_eq!(row(&settled, "", "write")["count"], 2);
        assert!(!memory.exists());
    }
}

/// Its folder is renamed, and another run takes the name: records belong to a run, not to a path.
#[test]
fn records_of_a_killed_run_follow_its_folder() {
    let scene = Scene::new().file("x.ppl", KILLED).file("y.ppl", "create(\"c\");");
    let memory = killed(&scene, "--out results");
    fs::rename(scene.path("results"), scene.path("moved")).unwrap();
    let listed = scene.parabench("report --recover").exits(0);
    listed.out_has(memory.to_str().unwrap()).out_has("--settle` stores them");
    for out in ["results", "other", "more"] {
        scene.parabench(&format!("run y.ppl --out {out}")).exits(0);
        assert!(memory.join("rank-0").exists(), "{out}");
    }
    let settled = scene.parabench("report moved --settle --format json").exits(0).json();
    assert_eq!(row(&settled, "", "write")["count"], 1);
    assert!(!memory.exists());
}

/// What a stored file names is a stranger's word.
#[test]
fn an_edited_run_does_not_touch_the_records_of_another() {
    let scene = Scene::new().file("x.ppl", KILLED);
    let memory = killed(&scene, "--out results");
    let other = Scene::new().file("x.ppl", KILLED).file("y.ppl", "create(\"c\");");
    killed(&other, "--out results");
    let mut run = other.json("results/run.json");
    let own = run["run"]["recording"]["memory"].as_str().expect("a tmpfs").to_string();
    run["run"]["recording"]["memory"] = memory.to_str().into();
    fs::write(other.path("results/run.json"), run.to_string()).unwrap();
    other.parabench("report results").exits(0).out_has("the records of another run");
    other.parabench("report results --settle").exits(2);
    other.parabench("run y.ppl --out results --force").exits(0);
    assert!(memory.join("rank-0").exists());
    scene.parabench("report results --settle").exits(0);
    fs::remove_dir_all(own).unwrap();
}

/// What lies in a folder of results, with `--force` and without, and is not Parabench's.
#[test]
fn files_of_others_stay() {
    let scene = Scene::new()
        .file("x.ppl", "create(\"f\");")
        .file("o/ranks/mine", "precious")
        .file("o/executions-aaaaaa/000000/run.json", "precious")
        .file("p/events.parquet", "precious")
        .file("q/run.json", "precious")
        .file("outside/run.json", "precious");
    symlink(scene.path("outside/run.json"), scene.path("outside/link")).unwrap();
    fs::create_dir(scene.path("l")).unwrap();
    symlink(scene.path("outside/run.json"), scene.path("l/run.json")).unwrap();
    let mounted = fs::create_dir(scene.path("o/ranks/m"))
        .ok()
        .and_then(|()| Tmpfs::mount(&scene.path("o/ranks/m"), "size=64k"));
    fs::write(scene.path("o/ranks/m/mine"), "precious").unwrap();
    scene.parabench("run x.ppl --out o").exits(2).err_has("holds other things");
    scene.parabench("run x.ppl --out o --force --events").exits(0);
    scene.parabench("run x.ppl --out o --force --reps 2 --events").exits(0);
    scene.parabench("report o --settle").exits(0);
    for name in ["p", "q", "l"] {
        scene.parabench(&format!("run x.ppl --out {name}")).exits(2);
        scene.parabench(&format!("run x.ppl --out {name} --force")).exits(2).err_has("move");
    }
    for file in [
        "o/ranks/mine",
        "o/ranks/m/mine",
        "o/executions-aaaaaa/000000/run.json",
        "p/events.parquet",
        "q/run.json",
        "outside/run.json",
    ] {
        assert_eq!(scene.text(file), "precious", "{file}");
    }
    drop(mounted);
}

/// Pages and pictures replace older ones, and nothing else.
#[test]
fn pages_take_the_place_of_pages_only() {
    let scene =
        Scene::new().file("x.ppl", "create(\"f\");").file("mine", "precious").file("empty", "");
    symlink("mine", scene.path("link")).unwrap();
    symlink("nowhere", scene.path("dangling")).unwrap();
    fifo(scene.path("pipe"));
    fs::create_dir(scene.path("folder")).unwrap();
    for name in [
        "mine",
        "link",
        "dangling",
        "pipe",
        "folder",
        "x.ppl",
        "run.json",
        "r/run.json",
        "r/events.parquet",
    ] {
        let line = format!("run x.ppl --out r --html {name}");
        scene.parabench(&line).exits(2).err_has("--html");
        assert!(!scene.path("r").exists(), "{name}: nothing has begun");
    }
    scene.parabench("run x.ppl --out r --html empty").exits(0);
    let page = fs::metadata(scene.path("empty")).unwrap();
    scene.parabench("report r --html empty").exits(0);
    assert_ne!(fs::metadata(scene.path("empty")).unwrap().ino(), page.ino(), "a new file");
    scene.parabench("compare r r --anyway --html empty").exits(0);
    for name in ["r/run.json", "r/events.parquet", "mine", "link", "pipe"] {
        scene.parabench(&format!("report r --html {name}")).exits(2).err_has("--html");
        scene.parabench(&format!("compare r r --anyway --html {name}")).exits(2).err_has("--html");
    }
    scene.parabench("report r --svg s --data s").exits(0);
    let names = scene.names("s");
    for name in &names {
        fs::remove_file(scene.path("s").join(name)).unwrap();
        symlink(scene.path("mine"), scene.path("s").join(name)).unwrap();
    }
    scene.parabench("report r --svg s").exits(2).err_has("--svg");
    scene.parabench("report r --data s").exits(2).err_has("--data");
    assert_eq!(scene.text("mine"), "precious");
    assert_eq!(scene.text("x.ppl"), "create(\"f\");");
    scene.parabench("report r").exits(0);
}

#[test]
fn a_page_of_a_killed_run_can_still_be_had() {
    let scene = Scene::new().file("x.ppl", KILLED);
    let call = scene.call("run x.ppl --dir d --html a.html").start();
    call.until("the file", || scene.path("d/begun").exists());
    kill(call.pid(), 9);
    call.finish();
    let names = scene.names(".");
    let kept = names.iter().find(|name| name.starts_with("a.html.run-")).expect("it is kept");
    scene
        .parabench(&format!("report {kept} --html a.html --format table"))
        .exits(0)
        .out_has("write");
    scene.parabench(&format!("report {kept} --settle")).exits(0);
    scene.parabench("run x.ppl --dry-run --agile --html b.html").exits(0);
    let names = scene.names(".");
    assert!(!names.iter().any(|name| name.starts_with("b.html.run-")), "{names:?}");
}

/// What ranks record does not reach the storage that the results will lie on.
#[test]
fn recording_sends_nothing_to_storage() {
    let program = "create(\"f\"); repeat 20000 stat(\"f\"); sync;";
    let scene = Scene::new().file("x.ppl", program);
    let done = scene.parabench("run x.ppl --out results --events --format json").exits(0);
    let evidence = &run_object(&done)["run"]["evidence"];
    let Some(sent) = evidence["storage_write_bytes"].as_u64() else { return };
    assert!(sent < 256 << 10, "the events alone would be 2.5 MB: {sent}");
    assert_eq!(evidence["dropped_events"], 0);
}

/// The disk that the results are to be stored on is full: nothing is lost, and nobody gets a signal.
#[test]
fn a_full_disk_keeps_what_was_measured_in_memory() {
    let scene = Scene::new()
        .file("x.ppl", "repeat 200 write(\"f-$$rank\", 64k); write(\"big-$$rank\", 8m);")
        .file("m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=4m") else { return };
    let done = scene.parabench("run x.ppl -n 2 --no-preflight --dir m/d --out m/results --events");
    let done = done.exits(1).out_has("ENOSPC");
    let run = scene.json("m/results/run.json");
    let memory = PathBuf::from(run["run"]["recording"]["memory"].as_str().expect("a tmpfs"));
    done.err_has(&memory.display().to_string()).err_has("--settle");
    let report = scene.parabench("report m/results --format json").exits(0);
    assert_eq!(row(&report.json(), "", "write")["count"], 402);
    fs::remove_dir_all(scene.path("m/d")).unwrap();
    scene.parabench("report m/results --settle").exits(0);
    assert!(!memory.exists());
    assert_eq!(row(&scene.json("m/results/run.json"), "", "write")["count"], 402);
}

/// A call with another file system in place of what ranks record into.
fn with_memory(scene: &Scene, size: &str, line: &str) -> Option<crate::scene::Call> {
    let mount = |place: &str| format!("mount -t tmpfs -o size={size} tmpfs {place}");
    let all = format!("{} && {}", mount("/dev/shm"), mount("/run"));
    let may = Command::new("unshare").args(["-m", "sh", "-c", &all]).output();
    if !may.is_ok_and(|done| done.status.success()) {
        skip("mounts cannot be made here (are you root?)");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &format!("{all} && exec {PARABENCH} {line}")]);
    Some(scene.command(command).env("XDG_RUNTIME_DIR", "/"))
}

/// How often is not known before, so that memory cannot be looked for either.
const SOME_SECONDS: &str = "$t = $$time; while ($$time - $t < 2) stat(\".\");";

#[test]
fn memory_that_fills_up_drops_events_and_says_so() {
    let scene = Scene::new().file("x.ppl", SOME_SECONDS);
    let Some(call) = with_memory(&scene, "3m", "run x.ppl --out r --events --format json") else {
        return;
    };
    let run = run_object(&call.run().exits(0));
    let dropped = run["run"]["evidence"]["dropped_events"].as_u64().unwrap();
    let stored = run["run"]["events"]["count"].as_u64().unwrap();
    assert!(dropped > 0 && stored > 0, "{dropped} {stored}");
    assert_eq!(row(&run, "", "stat")["count"], dropped + stored);
}

#[test]
fn without_memory_of_its_own_a_killed_run_says_that_it_is_lost() {
    let scene = Scene::new().file("x.ppl", KILLED);
    let line = "run x.ppl -n 2 --dir d --out r --events";
    let Some(call) = with_memory(&scene, "64k", line) else { return };
    let call = call.start();
    call.until("the file", || scene.path("d/begun").exists());
    scene.parabench("report r").exits(0).out_has("not finished").out_has("the results are lost");
    scene.parabench("report r --settle").exits(2).err_has("is not finished");
    let ranks = call.ranks();
    kill(ranks[0], 9);
    call.signal(2);
    call.finish().exits(130);
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_eq!(row(&run, "", "write")["count"], 2, "a killed rank loses nothing");
    let call = with_memory(&scene, "64k", "run x.ppl --dir e --out s").expect("as before").start();
    call.until("the file", || scene.path("e/begun").exists());
    let ranks = call.ranks();
    kill(call.pid(), 9);
    call.finish();
    while ranks.iter().any(|pid| PathBuf::from(format!("/proc/{pid}")).exists()) {
        std::thread::yield_now();
    }
    scene.parabench("report s").exits(0).out_has("is lost");
    scene.parabench("report s --settle").exits(2).err_has("nothing to store");
}

/// A copy-on-write file system without room for a page that was allocated sent SIGBUS.
#[test]
fn a_full_btrfs_kills_nobody() {
    let scene = Scene::new()
        .file(
            "x.ppl",
            "repeat 200 stat(\".\"); write(\"big-$$rank\", 100m); repeat 200 stat(\".\");",
        )
        .file("m/mount", "");
    let script = "truncate -s 120m image && mkfs.btrfs -q image && mount -o loop image m";
    let mounted = Command::new("sh").args(["-c", script]).current_dir(scene.path(".")).output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        return skip("a btrfs cannot be made and mounted here");
    }
    let done = scene.parabench("run x.ppl -n 2 --no-preflight --dir m/d --out m/r --events");
    let report = scene.parabench("report m/r --format json");
    let unmounted = Command::new("umount").arg("-l").arg(scene.path("m")).status();
    assert!(unmounted.expect("umount runs").success());
    let done = done.exits(1).out_has("ENOSPC");
    assert!(!format!("{}{}", done.out, done.err).contains("killed by signal"), "{done:?}");
    assert_eq!(row(&report.exits(0).json(), "", "stat")["count"], 800);
}

/// `ulimit -f` sends no signal to a rank that records: events beyond it are dropped and counted.
#[test]
fn a_limit_of_the_size_of_files_drops_events_and_says_so() {
    let scene = Scene::new().file("x.ppl", SOME_SECONDS);
    let limited = |blocks: u32| {
        let mut command = Command::new("sh");
        let line = format!("ulimit -f {blocks}; exec {PARABENCH} run x.ppl --events --format json");
        scene
            .command({
                command.args(["-c", &line]);
                command
            })
            .run()
    };
    // Blocks of 512 bytes.
    let run = run_object(&limited(4096).exits(0));
    let dropped = run["run"]["evidence"]["dropped_events"].as_u64().unwrap();
    assert!(dropped > 0 && dropped < row(&run, "", "stat")["count"].as_u64().unwrap());
    limited(1).exits(1).err_has("File too large");
}

#[test]
fn a_report_that_writes_files_names_them_and_prints_no_table() {
    let scene = Scene::new().file("x.ppl", "time[\"w\"] write(\"f\", 4k);");
    scene.parabench("run x.ppl --out r --events").exits(0);
    scene.parabench("report r").exits(0).out_has("write");
    let done = scene.parabench("report r --svg s --html p.html --data t").exits(0);
    let pictures = scene.names("s").len();
    assert!(pictures > 1);
    let done = done.err_has(&format!("{pictures} pictures in s\n")).err_has("p.html\n");
    done.err_has(&format!("{pictures} tables in t\n")).out_is("");
    scene.parabench("report r --svg s --format csv").exits(0).out_has("write");
}

#[test]
fn a_file_gets_all_columns_unless_the_width_is_given() {
    let scene = Scene::new().file("x.ppl", "time[\"w\"] write(\"f\", 4k);");
    scene.parabench("run x.ppl --out r -v").exits(0);
    let wide = scene.call("report r -v").run().exits(0).out;
    assert!(wide.contains("p99.9") && !wide.contains("Not shown"), "{wide}");
    let narrow = scene.call("report r -v").env("COLUMNS", "80").run().exits(0).out;
    assert!(narrow.contains("Not shown at this width"), "{narrow}");
}
