//! Inputs that must be refused well: storage. Full disks, limits, missing files, and
//! directories that must not be touched.

use crate::run::row;
use crate::scene::Scene;
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
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
    scene.parabench("plan churn.ppl").out_has("makes 1000 files and 0 directories, 1 at one time");
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
        let line = format!("ulimit -n 128; exec {} run x.ppl {options}", crate::scene::PARABENCH);
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
    let text = "write(\"a\", 1); signal(\"s\"); while (1) { stat(\"a\"); sleep(1ms); }";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl --dir d --format json").start();
    call.until("the file", || scene.path("d/a").exists());
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
    assert_eq!(run["run"]["evidence"]["confinement"], "landlock");
    assert_eq!(run["run"]["evidence"]["failed"], 3);
    let notes = run["run"]["evidence"]["notes"].to_string();
    assert!(notes.contains("confined by Landlock because the path at x.ppl:3:"), "{notes}");
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
    assert_eq!(run["run"]["evidence"]["confinement"], "landlock");
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
fn proved_programs_run_unconfined_unless_asked() {
    let scene = Scene::new().file("x.ppl", "write(\"a-$$rank\", 1);");
    let confinement = |options: &str| {
        let done = scene.parabench(&format!("run x.ppl --format json {options}")).exits(0);
        run_object(&done)["run"]["evidence"]["confinement"].as_str().unwrap().to_string()
    };
    assert_eq!(confinement(""), "proved");
    assert_eq!(confinement("--no-confine"), "proved");
    assert_eq!(confinement("--confine"), "landlock");
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
