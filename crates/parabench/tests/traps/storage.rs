//! Disks that fill up, limits, and direct I/O, beyond `tests/cli/storage.rs`.

use crate::figures::{counts, events, number, row};
use crate::scene::{PARABENCH, Scene};
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use serde_json::Value;
use std::fs;
use std::process::Command;

#[track_caller]
fn failures(run: &Value) -> Vec<&Value> {
    run["run"]["failures"].as_array().expect("failures").iter().collect()
}

/// A write that fits only in part: what is counted as moved is what the disk holds.
#[test]
fn a_disk_that_fills_up_within_one_write() {
    let text = "$h = fopen(\"a\", \"w\");\ntime[\"fill\"] repeat $i 8 fwrite($h, 300k);\n\
                fclose($h);\ndelete(\"a\");\ntime[\"again\"] write(\"b\", 500k);\n";
    let scene = Scene::new().file("x.ppl", text).file("m/here", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    let run = json(&scene, "run x.ppl --dir m --no-preflight --events --out results", 1);
    let fill = row(&run, "fill", "fwrite");
    // 1 MiB less the marker's page: three whole writes, the fourth and later ones fail.
    assert_eq!((fill["count"].as_u64(), fill["failed"].as_u64()), (Some(8), Some(5)));
    assert_eq!(fill["bytes"], 3 * 300 * 1024, "failed operations enter no rate");
    let first = failures(&run)[0];
    assert_eq!((&first["offset_bytes"], &first["path"]), (&(3 * 300 * 1024).into(), &"a".into()));
    assert_eq!((&first["errno"], &first["place"]), (&28.into(), &"x.ppl:2:26".into()));
    assert_eq!(number(&run, "again", "write", "bytes"), 500 * 1024, "the run goes on");
    let failed: Vec<_> = events(&scene, "results").into_iter().filter(|e| e.errno != 0).collect();
    assert_eq!(failed.len(), 5);
    assert!(failed.iter().all(|event| event.errno == 28 && event.requested_bytes == 300 * 1024));
}

#[track_caller]
fn json(scene: &Scene, line: &str, code: i32) -> Value {
    run_object(&scene.parabench(&format!("{line} --format json")).exits(code))
}

#[test]
fn a_file_system_without_inodes_is_refused_or_counted() {
    let text = "time[\"make\"] repeat $i 100 create(\"a-$i\");";
    let scene = Scene::new().file("x.ppl", text).file("m/here", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m,nr_inodes=40") else { return };
    scene.parabench("run x.ppl --dir m").exits(2).err_has("100").err_has("--no-preflight");
    assert_eq!(scene.names("m"), [".parabench"]);
    let run = json(&scene, "run x.ppl --dir m --no-preflight", 1);
    let made = scene.names("m").len() as u64 - 1;
    assert!((30..40).contains(&made), "{made}");
    assert_eq!(number(&run, "make", "create", "failed"), 100 - made);
    assert_eq!(failures(&run)[0]["errno"], 28);
}

/// Results on a file system of any size, down to one that holds nothing: either the run is
/// stored, or it is said that it is not; never a crash, and never a silent loss.
#[test]
fn results_on_a_small_file_system_are_stored_or_missed_aloud() {
    let text = "time[\"write\"] repeat $i 20 write(\"a-$$rank-$i\", 100);\n\
                repeat $i 200 time[\"label $i\"] stat(\".\");\n";
    let scene = Scene::new().file("x.ppl", text).file("m/here", "");
    let mut stored = 0;
    for size_kib in [4, 16, 64, 256, 700, 1024, 1500, 2048, 4096, 16384] {
        let options = format!("size={size_kib}k");
        let Some(_mounted) = Tmpfs::mount(&scene.path("m"), &options) else { return };
        let done = scene.parabench("run x.ppl -n 2 --events --out m/results --format json");
        let context = format!("{size_kib} KiB: {:?} {}", done.code, done.err);
        assert!(!done.err.contains("panicked") && !done.out.contains("signal 7"), "{context}");
        let run = done.json();
        match done.code {
            Some(0) => {
                stored += 1;
                let told = scene.parabench("report m/results --format json").exits(0).json();
                assert_eq!(told["rows"], run["rows"], "{context}");
                assert_eq!(number(&run, "write", "write", "count"), 40, "{context}");
            }
            // Before anything was measured.
            Some(2) => assert_eq!(run["rows"].as_array().map(Vec::len), Some(0), "{context}"),
            Some(1) => assert!(done.err.contains("No space left on device"), "{context}"),
            other => panic!("{other:?}: {context}"),
        }
        assert!(done.code == Some(0) || done.err.contains("No space left"), "{context}");
        // Nothing stays in the place of the run, whichever way it went.
        assert_eq!(scene.names("."), ["m", "x.ppl"], "{context}");
    }
    assert!(stored > 0, "16 MiB are enough");
}

/// The program fills the file system that its results are kept on.
#[test]
fn a_program_that_fills_the_disk_of_its_own_results() {
    let text = "time[\"fill\"] repeat $i 200 write(\"a-$i\", 64k);\n\
                repeat $i 3000 time[\"label $i\"] stat(\"a-0\");\n";
    let scene = Scene::new().file("x.ppl", text).file("m/here", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=4m") else { return };
    let line = "run x.ppl --dir m/run --out m/results --no-preflight --events";
    let done = scene.parabench(&format!("{line} --format json"));
    assert_eq!(done.code, Some(1), "{}", done.err);
    let run = done.json();
    assert_eq!(number(&run, "fill", "write", "count"), 200);
    assert!(number(&run, "fill", "write", "failed") > 130, "{:#}", run["rows"]);
    let evidence = &run["run"]["evidence"];
    assert!(evidence["cpu_ns"].as_u64() > Some(0), "ranks record in memory: {evidence:#}");
    assert!(done.err.contains("No space left on device"), "{}", done.err);
    // With room again, what the ranks left can still be reported.
    fs::remove_dir_all(scene.path("m/run")).unwrap();
    let told = scene.parabench("report m/results --format json").exits(0).json();
    assert_eq!(number(&told, "fill", "write", "count"), 200);
}

/// Handles that are never closed, met at run time.
#[test]
fn too_many_open_files_end_with_every_handle_closed() {
    let text =
        "repeat $i 200 { $h = fopen(\"f-$i\", \"w\"); fwrite($h, 1); }\nwrite(\"after\", 1);";
    let scene = Scene::new().file("x.ppl", text);
    let mut shell = Command::new("sh");
    let line = format!("ulimit -n 100; exec {PARABENCH} run x.ppl --no-preflight --format json");
    shell.args(["-c", &line]);
    let run = run_object(&scene.command(shell).run().exits(1));
    let opened = 200 - number(&run, "", "fopen", "failed");
    assert!((60..100).contains(&opened), "{opened}");
    // Operations on handles that failed to open are failures without a call.
    assert_eq!(number(&run, "", "fwrite", "failed"), 200 - opened);
    assert_eq!(number(&run, "", "fwrite", "bytes"), opened);
    let codes: Vec<&Value> = failures(&run).iter().map(|failure| &failure["errno"]).collect();
    assert!(codes.contains(&&24.into()) && codes.contains(&&9.into()), "{codes:?}");
}

/// O_DIRECT where the file system has none: refused by name, with what to do.
#[test]
fn direct_io_that_the_file_system_refuses_is_explained() {
    let text = "with (direct=true) write(\"a\", 4k);\n";
    let scene = Scene::new().file("x.ppl", text).file("m/here", "");
    // ramfs has no O_DIRECT on any Linux; tmpfs has it since 6.6.
    let mount = Command::new("mount").args(["-t", "ramfs", "ramfs"]).arg(scene.path("m")).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: a ramfs cannot be mounted here (are you root?)");
        return;
    }
    let done = scene.parabench("run x.ppl --dir m");
    let unmounted = Command::new("umount").arg("-l").arg(scene.path("m")).status();
    assert!(unmounted.unwrap().success());
    let said = format!("{}{}", done.out, done.err);
    assert!(matches!(done.code, Some(1 | 2)), "{done:?}");
    for part in ["O_DIRECT", "ramfs", "direct=true"] {
        assert!(said.contains(part), "no {part} in {said}");
    }
}

#[test]
fn direct_io_that_is_not_aligned_is_explained() {
    let text = "with (direct=true) {\n$h = fopen(\"a\", \"w+\");\nfwrite($h, 8k);\nfwrite($h, 100);\n\
                fread($h, 4k, 1);\nfread($h, 4k, 4k);\nfclose($h); }\n";
    let scene = Scene::new().file("x.ppl", text);
    let done = scene.parabench("run x.ppl --dir d");
    let said = format!("{}{}", done.out, done.err);
    if said.contains("does not support O_DIRECT") {
        println!("SKIPPED: no O_DIRECT on the file system of the build");
        return;
    }
    assert_eq!(done.code, Some(1), "{done:?}");
    for part in ["x.ppl:4:1", "x.ppl:5:1", "multiples of"] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    let run = json(&scene, "run x.ppl --dir d2", 1);
    let told = counts(&run);
    assert_eq!(told[&(String::new(), "fwrite".into())], [2, 1, 0, 0, 8192]);
    assert_eq!(told[&(String::new(), "fread".into())], [2, 1, 0, 0, 4096]);
}
