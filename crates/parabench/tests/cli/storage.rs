//! Storage that must be handled well: full disks, limits, missing files, direct I/O, and directories
//! that must not be touched.

use crate::figures::{counts, events, number, row};
use crate::scene::{PARABENCH, Scene};
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

const FILL: &str = "time[\"fill\"] repeat $i 100 write(\"file-$i\", 64k);\n";

#[test]
fn a_plan_that_does_not_fit_is_refused_before_anything_is_touched() {
    let scene = Scene::new().file("x.ppl", FILL).file("m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    let done = scene.parabench("run x.ppl --dir m").exits(2);
    done.err_has("6.25 MiB").err_has("1020 KiB free").err_has("--no-preflight");
    assert_eq!(scene.names("m"), [".parabench"]);
}

/// Nobody knows how far a time limit lets a loop come.
#[test]
fn what_a_time_limit_lets_a_loop_write_is_no_reason_to_refuse() {
    let text = "time[\"w\"] repeat $i 1g until 50ms write(\"f-$$rank-$i\", 64k);";
    let scene = Scene::new().file("x.ppl", text).file("m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    let done = scene.parabench("run x.ppl -n 2 --dir m").exits(1);
    let said = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = ["depends on the speed of the storage", "1020 KiB free", "ENOSPC"];
    parts.iter().for_each(|part| assert!(said.contains(part), "{part}: {said}"));
    let first = format!("write(\"large\", 2m); barrier; {text}");
    let scene = scene.file("y.ppl", first);
    scene.parabench("run y.ppl --dir m --force").exits(2).err_has("needs 2.06 MiB at one time");
}

#[test]
fn files_count_as_long_as_they_are_there() {
    let churn = "repeat $i 1000 { create(\"f-$i\"); delete(\"f-$i\"); }\n";
    let fill = "repeat $i 1000 create(\"f-$i\"); repeat $i 1000 delete(\"f-$i\");\n";
    let scene = Scene::new().file("churn.ppl", churn).file("fill.ppl", fill).file("m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "nr_inodes=200") else { return };
    scene.parabench("run churn.ppl --dir m").exits(0);
    scene.parabench("run fill.ppl --dir m").exits(2).err_has("needs 1000 files and directories");
    scene.parabench("plan churn.ppl").out_has("makes 1000 files, 1 name at one time");
}

#[test]
fn a_full_disk_is_told_with_path_rank_offset_and_line() {
    let scene = Scene::new().file("x.ppl", FILL).file("m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    let done = scene.parabench("run x.ppl --dir m --no-preflight --out results").exits(1);
    let done = done.out_has("ENOSPC").out_has("x.ppl:1:").out_has("rank 0").out_has("file-");
    done.out_has("No space left on device");
    let run = scene.json("results/run.json");
    let write = row(&run, "fill", "write");
    assert_eq!(write["count"], 100);
    assert!(write["failed"].as_u64().unwrap() >= 80 && write["failed"].as_u64().unwrap() < 100);
    let places = run["run"]["failures"].as_array().unwrap();
    assert_eq!(places.len(), 10, "ten are told in full");
    assert_eq!(places[9]["occurrences"].as_u64().unwrap() + 9, write["failed"].as_u64().unwrap());
}

#[test]
fn results_on_a_full_disk_are_refused_before_anything_runs() {
    let scene = Scene::new().file("x.ppl", "create(\"f\");").file("m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=64k") else { return };
    scene.parabench("run x.ppl --out m/results").exits(0);
    assert!(fs::write(scene.path("m/fill"), vec![1; 1 << 20]).is_err(), "full");
    scene.parabench("run x.ppl --out m/more").exits(2).err_has("No space left");
    scene.parabench("run x.ppl --out m/results --force").exits(2).err_has("No space left");
    scene.parabench("report m/results").exits(0).out_has("create");
}

#[test]
fn too_many_open_files_are_refused_or_counted() {
    let text = "repeat $i 200 { $h = fopen(\"f-$i\", \"w\"); }\n";
    let scene = Scene::new().file("x.ppl", text);
    let limited = |options: &str| {
        let mut shell = Command::new("sh");
        let line = format!("ulimit -n 128; exec {} run x.ppl {options}", PARABENCH);
        shell.args(["-c", &line]);
        scene.command(shell).run()
    };
    limited("").exits(2).err_has("200").err_has("ulimit");
    let run = run_object(&limited("--no-preflight --format json").exits(1));
    let failed = row(&run, "", "fopen")["failed"].as_u64().unwrap();
    assert!((72..200).contains(&failed), "{failed} of 200");
    assert_eq!(run["run"]["failures"][0]["errno"], 24);
}

#[test]
fn a_read_only_directory_is_refused() {
    let scene = Scene::new().file("x.ppl", FILL).file("m/mount", "");
    let Some(mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    mounted.make_read_only();
    scene.parabench("run x.ppl --dir m").exits(2).err_has("Read-only file system");
    scene.parabench("run x.ppl --dir m/sub").exits(2).err_has("Read-only file system");
}

#[test]
fn a_directory_that_turns_read_only_is_refused_the_next_time() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1);").file("m/mount", "");
    let Some(mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    scene.parabench("run x.ppl --dir m").exits(0);
    mounted.make_read_only();
    scene.parabench("run x.ppl --dir m").exits(2).err_has("ead-only file system");
}

#[test]
fn a_file_that_is_deleted_meanwhile() {
    let text = "write(\"a\", 64k);\n$h = fopen(\"a\", \"r\");\ndelete(\"a\");\nfread($h, 64k);\n\
                fclose($h);\nread(\"a\");\nstat(\"a\");\n";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl --format json").exits(1);
    let run = run_object(&done);
    assert_eq!(row(&run, "", "fread")["bytes"], 65536, "an open file stays readable");
    assert_eq!(row(&run, "", "read")["failed"], 1);
    let failure = &run["run"]["failures"][0];
    assert_eq!(
        (failure["place"].as_str(), failure["path"].as_str()),
        (Some("x.ppl:6:1"), Some("a"))
    );
    assert_eq!(failure["message"], "ENOENT: No such file or directory");
}

#[test]
fn a_directory_that_is_removed_meanwhile() {
    let text = "write(\"a\", 1); signal(\"s\"); stat(\"a\"); create(\"b\"); while (1) { stat(\"a\"); sleep(1ms); }";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl --dir d --format json").start();
    call.until("the file", || scene.path("d/b").exists());
    fs::remove_dir_all(scene.path("d")).unwrap();
    call.signal(2);
    let run = run_object(&call.finish().exits(130));
    assert!(row(&run, "", "stat")["count"].as_u64().unwrap() > 0);
}

/// A file outside the run directory that must stay as it is.
fn outside() -> Scene {
    let scene = Scene::new().file("outside/file", "precious").file("d/.keep", "");
    fs::remove_file(scene.path("d/.keep")).unwrap();
    scene
}

#[track_caller]
fn untouched(scene: &Scene) {
    assert_eq!(scene.text("outside/file"), "precious");
    assert_eq!(scene.names("outside"), ["file"]);
    let permissions = fs::metadata(scene.path("outside/file")).unwrap().permissions();
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(permissions.mode() & 0o777, 0o644);
}

#[test]
fn paths_made_at_run_time_cannot_leave() {
    let text = "$p = \"outside\"; $n = 0;\n\
                while ($n < 2 + $$rank) { $p = \"../\" + $p; $n = $n + 1; }\n\
                write(\"$p/new\", 1); delete(\"$p/file\"); truncate(\"$p/file\", 0);\n\
                write(\"d/../../outside/x\" + $n, 1);";
    let scene = outside().file("x.ppl", text.replace("d/../../outside/x", "x"));
    let done = scene.parabench("run x.ppl --dir d --format json").exits(1);
    let run = run_object(&done);
    assert_eq!(run["run"]["evidence"]["confinement"], "checked");
    assert_eq!(run["run"]["evidence"]["failed"], 3);
    untouched(&scene);
}

#[test]
fn symbolic_links_that_leave_are_not_followed() {
    let text = "write(\"out/new\", 1); chmod(\"out/file\", 0); utime(\"out/file\");\n\
                rename(\"out/file\", \"stolen\"); truncate(\"out/file\", 0); delete(\"out/file\");\n\
                chmod(\"link\", 0); truncate(\"link\", 0); append(\"link\", 1); mkdir(\"out/d\");\n";
    let scene = outside().file("x.ppl", text).file("ok.ppl", "write(\"a\", 1);");
    scene.parabench("run ok.ppl --dir d").exits(0);
    symlink("../outside", scene.path("d/out")).unwrap();
    symlink("../outside/file", scene.path("d/link")).unwrap();
    let done = scene.parabench("run x.ppl --dir d --format json").exits(1);
    let run = run_object(&done);
    assert_eq!(run["run"]["evidence"]["confinement"], "confined");
    assert_eq!(run["run"]["evidence"]["failed"], 10, "{:#}", run["rows"]);
    untouched(&scene);
    scene.parabench("run ok.ppl --dir d --clean").exits(0);
    assert_eq!(scene.names("d"), [".parabench"]);
    untouched(&scene);
}

#[test]
fn a_symbolic_link_made_by_the_program_cannot_leave() {
    let text = "$t = \"x\"; $n = 0; while ($n < 2) { $t = \"../\" + $t; $n = $n + 1; }\n\
                symlink(\"$t/../outside/file\", \"link\"); append(\"link\", 1);";
    let scene = outside().file("x.ppl", text);
    let done = scene.parabench("run x.ppl --dir d --format json");
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    untouched(&scene);
}

#[test]
fn programs_are_confined_where_links_lead_up() {
    let scene = Scene::new()
        .file("x.ppl", "write(\"a-$$rank\", 1);")
        .file("up.ppl", "mkdir(\"d\"); symlink(\"../a\", \"d/l\"); write(\"d/l\", 1);");
    let confinement = |line: &str| {
        let done = scene.parabench(&format!("run {line} --format json")).exits(0);
        run_object(&done)["run"]["evidence"].clone()
    };
    assert_eq!(confinement("x.ppl")["confinement"], "checked");
    assert_eq!(confinement("x.ppl --no-confine")["confinement"], "none");
    assert_eq!(confinement("x.ppl --confine")["confinement"], "confined");
    let up = confinement("up.ppl");
    assert_eq!(up["confinement"], "confined");
    let notes = up["notes"].to_string();
    assert!(
        notes.contains("makes a symbolic link that is absolute or leads up (up.ppl:1:"),
        "{notes}"
    );
    assert_eq!(confinement("up.ppl --no-confine")["confinement"], "none");
}

/// The rehearsal does not know the files of an earlier run: the link is refused where it is made.
#[test]
fn a_link_that_leads_up_unforeseen_is_an_error_with_its_place() {
    let text = "mkdir(\"d\");\nif (exists(\"old\"))\n  symlink(\"../a\", \"d/l\");\n";
    let scene = Scene::new().file("old.ppl", "create(\"old\");").file("x.ppl", text);
    scene.parabench("run old.ppl --dir r").exits(0);
    let done = scene.parabench("run x.ppl --dir r -v").exits(1);
    done.out_has("confinement: checked").out_has("1 x symlink EXDEV at x.ppl:3:");
}

#[test]
fn the_marker_is_not_the_programs() {
    let text =
        "delete(\".parabench\");\nwrite(\"./.parabench\", 1);\nrename(\".parabench\", \"a\");\n";
    let scene = Scene::new().file("x.ppl", text).file("d/.keep", "");
    fs::remove_file(scene.path("d/.keep")).unwrap();
    let before = scene.parabench("run x.ppl --dir d --format json");
    assert!(matches!(before.code, Some(1 | 2)), "{before:?}");
    assert!(scene.text("d/.parabench").contains("parabench"));
}

#[test]
fn two_runs_do_not_share_a_directory() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1); sleep(1h);").file("y.ppl", ";");
    let call = scene.call("run x.ppl --dir d").start();
    call.until("the file", || scene.path("d/a").exists());
    scene.parabench("run y.ppl --dir d").exits(2).err_has("another run");
    call.signal(15);
    call.finish().exits(130);
    scene.parabench("run y.ppl --dir d").exits(0);
}

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
