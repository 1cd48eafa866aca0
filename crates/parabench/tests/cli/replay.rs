//! `parabench replay`: fold, prepare, run and fidelity in one.

use crate::scene::{Scene, skip};

const PROGRAM: &str = "\
$h = fopen(\"in/data\", \"r\");
time[\"copy\"] repeat $i 50 {
    fread($h, 4k, $i * 4k);
    write(\"out-$$rank-$i\", 4k);
}
fclose($h);
repeat $i 50 delete(\"out-$$rank-$i\");
with (expect=\"ENOENT\") stat(\"none\");
";

/// One process reads a file of 5,000 bytes to its end and writes another one.
const LOG: &str = r#"
17 1795253061.000000 execve("/usr/bin/app", ["app"], 0x7f /* 9 vars */) = 0 <0.000300>
17 1795253061.000500 openat(AT_FDCWD</data>, "in/a", O_RDONLY) = 4</data/in/a> <0.000020>
17 1795253061.000800 read(4</data/in/a>, ""..., 4096) = 4096 <0.000030>
17 1795253061.000900 read(4</data/in/a>, ""..., 4096) = 904 <0.000030>
17 1795253061.000950 read(4</data/in/a>, "", 4096) = 0 <0.000030>
17 1795253061.001000 openat(AT_FDCWD</data>, "b", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 5</data/b> <0.000030>
17 1795253061.001100 write(5</data/b>, ""..., 5000) = 5000 <0.000030>
17 1795253061.001200 close(5</data/b>) = 0 <0.000010>
17 1795253061.001300 close(4</data/in/a>) = 0 <0.000010>
"#;

fn recorded() -> Scene {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    scene.parabench("run x.ppl -n 2 --prepare --events --quiet --out a.run").exits(0);
    scene
}

#[test]
fn a_run_is_repeated_and_compared() {
    let scene = recorded();
    let before = scene.names(".");
    let done = scene.parabench("replay a.run").exits(0);
    done.out_has("a.ppl does what a.run did, all of its").err_has("without loss");
    assert_eq!(scene.names("."), before, "nothing is left");
    let kept = "replay a.run -o kept.ppl -- --reps 2 --out b.run --fidelity-gate";
    scene.call(kept).word("operations <= 0").run().exits(0).out_has("gate passes");
    assert!(scene.text("kept.ppl").starts_with("# Folded from x.ppl"));
    scene.parabench("fidelity a.run b.run").exits(0).out_has("each replay does what a.run did");
}

/// A repetition finds the directory as the original did, or there is none.
#[test]
fn repetitions_in_a_directory_need_it_clean() {
    let scene =
        Scene::new().file("x.ppl", "with (expect=\"ENOENT\") stat(\"a\"); write(\"a\", 1);");
    scene.parabench("run x.ppl --events --quiet --out a.run").exits(0);
    scene.parabench("replay a.run -- --dir d --reps 3").exits(2).err_has("--clean");
    let gate = "--reps 3 --fidelity-gate";
    let clean = format!("replay a.run -- --dir d --clean {gate}");
    scene.call(&clean).word("operations <= 0").run().exits(0).out_has("gate passes");
    let scratch = format!("replay a.run -- {gate}");
    scene.call(&scratch).word("operations <= 0").run().exits(0);
    scene.parabench("replay a.run -- --dir e").exits(0);
}

/// What an interrupt cut off is no difference, and nothing of it is left.
#[test]
fn an_interrupted_repetition_is_not_compared() {
    let program = "write(\"a\", 1); sleep(400ms); write(\"b\", 1);";
    let scene = Scene::new().file("x.ppl", program).file("tmp/keep", "");
    scene.parabench("run x.ppl --events --quiet --out a.run").exits(0);
    for (under_way, words) in [
        ("000001", "repetition 1 was interrupted and is not compared"),
        ("000000", "interrupted before an execution was over: it is not compared"),
    ] {
        let replay = scene.call("replay -v a.run -- --reps 20");
        let replay = replay.env("TMPDIR", scene.path("tmp").to_str().unwrap()).start();
        let executions = || -> Option<std::path::PathBuf> {
            let run =
                scene.names("tmp").into_iter().find(|name| name.starts_with("parabench-run-"));
            let run = format!("tmp/{}", run?);
            let names = scene.names(&run).into_iter();
            let own = names.into_iter().find(|name| name.starts_with("executions-"))?;
            Some(scene.path(&format!("{run}/{own}")))
        };
        let is_there =
            || executions().is_some_and(|own| own.join(under_way).join("run.json").exists());
        replay.until("an execution under way", is_there).signal(2);
        let done = replay.finish().exits(130);
        let said = format!("{} {}", done.out, done.err);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words), "{said}");
        assert!(!said.contains(" missing)") && !said.contains("--resume"), "{said}");
        assert!(!said.contains("cannot remove"), "{said}");
        assert_eq!(scene.names("tmp"), ["keep"]);
    }
}

#[test]
fn an_imported_log_is_repeated_among_files_as_long_as_it_shows() {
    let scene = Scene::new().file("app.strace", LOG);
    scene.parabench("import app.strace -o app.run").exits(0);
    let done = scene.parabench("replay app.run --think none").exits(0);
    done.out_has("app.ppl does what").err_has("without loss");
    let done = scene.parabench("fold app.run -o app.ppl").exits(0);
    done.err_has("the program needs");
    let listed = scene.parabench("prepare app.ppl --dir d --trace app.run --dry-run").exits(0);
    listed.out_has("in/a: file, 4.88 KiB");
}

/// A link, what is read through it, one that leaves, and a file that is only removed.
#[test]
fn links_and_files_that_are_only_removed_are_as_they_were_found() {
    let scene = Scene::new().file("w/dir/f", "abc").file("w/big", "x".repeat(5000));
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, scene.path(name));
    link("dir", "w/l").expect("a link");
    link("/etc/nothing", "w/dir/away").expect("a link");
    let script = "cd w; readlink l; cat l/f; readlink l/away; unlink big";
    let done = scene.call("record --via preload --under w -o r -- sh -c").word(script).run();
    done.exits(0).out_is("dir\nabc/etc/nothing\n");
    scene.parabench("fold r -o app.ppl").exits(0).err_has("without loss");
    let line = "prepare app.ppl -n 4 --dir d --trace r --dry-run";
    scene
        .parabench(line)
        .exits(0)
        .out_has("l: link to dir\n")
        .out_has("dir/f: file, 3 B")
        .out_has("dir/away: link to ../outside/etc/nothing\n")
        .out_has("big: file, 4.88 KiB")
        .out_has("missing: 2 symbolic links, 1 directory and 2 files, ");
    let replay = "replay r -- --out again.run --fidelity-gate";
    scene.call(replay).word("operations <= 0").run().exits(0).out_has("gate passes");
    let notes = scene.call("report again.run -v").env("COLUMNS", "300").run().exits(0);
    notes.out_has("--prepare makes symbolic links that lead up or are absolute, first dir/away");
}

/// Links that lead down leave no directory, whoever makes them.
#[test]
fn links_that_lead_down_are_replayed_without_confinement() {
    let scene = Scene::new().file("w/dir/f", "abc");
    std::os::unix::fs::symlink("dir", scene.path("w/l")).expect("a link");
    let script = "cd w; readlink l; cat l/f; ln -s dir/f m; cat m";
    let done = scene.call("record --via preload --under w -o r -- sh -c").word(script).run();
    done.exits(0).out_is("dir\nabcabc");
    let replay = "replay r -- --out again.run --fidelity-gate";
    scene.call(replay).word("operations <= 0").run().exits(0).out_has("gate passes");
    scene.parabench("report again.run -v").exits(0).out_has("confinement: checked");
}

/// The directory of a run is always there.
#[test]
fn commands_that_make_and_move_their_directory_are_repeated_in_one() {
    let script = "test -d w/data || mkdir w/data; echo hi > w/data/f; cat w/data/f; mkdir w/data/x; rm -r w/data; \
                  mkdir w/data; echo a > w/data/b; mv w/data w/e; mv w/e w/data; rm w/data/b; rmdir w/data";
    for via in ["preload", "strace"] {
        if via == "strace" && std::process::Command::new("strace").arg("-V").output().is_err() {
            skip("strace is not installed");
            continue;
        }
        let scene = Scene::new().file("w/other", "");
        let under = scene.path("w/data");
        let call = scene.call(&format!("record --via {via} -o r --under")).word(&under);
        call.word("--").word("sh").word("-c").word(script).run().exits(0);
        let said = "made, removed, renamed or missed the directory itself and were left out";
        scene.parabench("fold r -o x.ppl").exits(0).err_has("without loss");
        let text = scene.text("x.ppl");
        assert!(text.contains(&format!("# 7 calls {said}: a run has it.")), "{text}");
        scene.call("replay r -- --fidelity-gate").word("operations <= 0").run().exits(0);
    }
}

/// strace shows what was read of a link.
#[test]
fn links_of_a_log_are_made() {
    let log = r#"
17 1795253061.000000 execve("/usr/bin/app", ["app"], 0x7f /* 9 vars */) = 0 <0.000300>
17 1795253061.000500 readlink("/data/bin/app", "../lib/app", 4096) = 10 <0.000020>
17 1795253061.000600 readlink("/data/lib", 0x7ffd, 4096) = -1 EINVAL (Invalid argument) <0.000020>
17 1795253061.000700 unlink("/data/bin/app") = 0 <0.000020>
17 1795253061.000800 symlink("x", "/data/bin/app") = 0 <0.000020>
17 1795253061.000900 readlink("/data/bin/app", "x", 4096) = 1 <0.000020>
"#;
    let scene = Scene::new().file("app.strace", log);
    scene.parabench("import app.strace -o app.run").exits(0);
    scene.parabench("fold app.run -o app.ppl").exits(0).err_has("without loss");
    let listed = scene.parabench("prepare app.ppl --dir d --trace app.run --dry-run").exits(0);
    listed
        .out_has("bin/app: link to ../lib/app\n")
        .out_has("lib: file, 0 B\n")
        .out_has("missing: 1 symbolic link, 1 directory and 1 file in d\n");
}

#[test]
fn what_cannot_be_repeated_is_told() {
    let scene = recorded();
    scene.parabench("run x.ppl --prepare --quiet --out none").exits(0);
    for (line, words) in [
        ("replay none", "none has no events"),
        ("replay nowhere", "nowhere"),
        (
            "replay a.run -o no.ppl -- --nonsense",
            "options of the run: unexpected argument '--nonsense'",
        ),
        ("replay a.run -o x.ppl", "not written by Parabench"),
    ] {
        scene.parabench(line).exits(2).err_has(words);
    }
    assert!(!scene.path("no.ppl").exists());
}

#[test]
fn shared_files_of_runs_on_mem_fold_to_the_same() {
    let text = "write(\"in\", 100k); $in = fopen(\"in\", \"r\"); $out = fopen(\"out\", \"w+\"); freflink($in, $out);\n\
                repeat $i 9 freflink($in, $out, 4k, $i * 8k, 100k + $i * 4k);\n\
                fread($out, 10k, 90k); reflink(\"out\", \"c\"); read(\"c\", 100k);\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl --backend mem --events --quiet --out a.run").exits(0);
    let folded = scene.parabench("fold a.run").exits(0).err_has("without loss");
    folded
        .out_has("freflink($file, $file2);\n")
        .out_has("repeat $i $count freflink($file, $file2, $size2, $i * 2 * $size2, ");
}

/// Copies between open files, at positions and offsets.
const COPIES: &str = "\
write(\"in\", 100k);
$in = fopen(\"in\", \"r\");
$out = fopen(\"out\", \"w+\");
repeat 10 fcopy($in, $out, 8k);
fcopy($in, $out);
repeat $i 10 fcopy($out, $out, 1k, $i * 2k, 200k + $i * 4k);
fclose($in);
fclose($out);
";

#[test]
fn copies_of_open_files_are_folded_as_such() {
    let scene = Scene::new().file("x.ppl", COPIES);
    scene.parabench("run x.ppl --events --quiet --out a.run").exits(0);
    let kept = "replay a.run --think none -o kept.ppl -- --events --out b.run --fidelity-gate";
    scene.call(kept).word("operations <= 0").run().exits(0).err_has("without loss");
    let text = scene.text("kept.ppl");
    assert!(text.contains("fcopy($file, $file2, 20k, to_off=80k);"), "{text}");
    assert!(text.contains("fcopy($file2, $file2, $size2, $i * 2 * $size2, "), "{text}");
    let planned = scene.parabench("plan kept.ppl --ops 9").exits(0);
    planned
        .out_has("copy_file_range(3, [0], 4, [0], 8192, 0)")
        .out_has("copy_file_range(3, [8192], 4, [8192], 8192, 0)");
    let again = scene.parabench("fold b.run --think none").exits(0).out;
    let statements = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_string).collect()
    };
    assert_eq!(statements(&again), statements(&text), "a replay folds to the same");
}
