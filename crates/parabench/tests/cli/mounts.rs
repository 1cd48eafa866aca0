//! Several directories: `--mount NAME=DIR`, `with (dir="NAME")`, `NAME:path`.

use crate::figures::row;
use crate::scene::Scene;
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use report::events::EventReader;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

/// Every way to name a file of another directory, and a handle that outlives its `with`.
const BOTH: &str = r#"
define proc mark($name) { write("mark-$name", 1k); }
write("slow-$$rank", 64k);
with (dir="fast") {
    write("made-$$rank", 4k);
    mark($$rank);
    repeat $i 12 create("f-$$rank-$i");
    with (dir="") create("back-$$rank");
    $h = fopen("open-$$rank", "w");
    create("./fast:name-$$rank");
    sync;
}
mark($$rank);
fwrite($h, 4k);
fclose($h);
copy("slow-$$rank", "fast:copied-$$rank");
copy("fast:copied-$$rank", "home-$$rank");
assert(size("fast:copied-$$rank") == 65536 && size("$$env(PWD)/home-$$rank") == 65536, "copied");
with (dir="fast") assert(exists("copied-$$rank") && !exists("home-$$rank"), "each in its own");
"#;

fn files(scene: &Scene, folder: &str) -> Vec<String> {
    let mut names = scene.names(folder);
    names.retain(|name| name != ".parabench" && !name.starts_with("f-"));
    names
}

#[test]
fn files_lie_in_the_directory_that_their_paths_name() {
    for confine in ["", "--confine"] {
        let scene = Scene::new().file("x.ppl", BOTH);
        let line = format!("run x.ppl --dir slow --mount fast=fast {confine} --format json");
        let run = run_object(&scene.parabench(&line).exits(0));
        assert_eq!(files(&scene, "slow"), ["back-0", "home-0", "mark-0", "slow-0"]);
        let fast = ["copied-0", "fast:name-0", "made-0", "mark-0", "open-0"];
        assert_eq!(files(&scene, "fast"), fast);
        assert_eq!(scene.names("fast").len(), fast.len() + 1 + 12, "f-0 to f-11, and the marker");
        let name = if confine.is_empty() { "checked" } else { "confined" };
        assert_eq!(run["run"]["evidence"]["confinement"], name);
        assert_eq!(row(&run, "", "copy")["bytes"], 2 * 65536);
    }
}

#[test]
fn a_program_does_the_same_on_files_in_memory() {
    let scene = Scene::new().file("x.ppl", BOTH);
    let counts = |line: &str| {
        let run = run_object(&scene.parabench(&format!("run x.ppl {line} --format json")).exits(0));
        let rows = run["rows"].as_array().unwrap().clone();
        let one = |row: &serde_json::Value| {
            let fields = ["operation", "count", "bytes", "failed"].map(|field| row[field].clone());
            serde_json::json!(fields)
        };
        rows.iter().filter(|row| row["part_of"].is_null()).map(one).collect::<Vec<_>>()
    };
    let mem = counts("--backend mem -n 3");
    assert_eq!(mem, counts("-n 3 --dir slow --mount fast=fast"));
    assert_eq!(mem, counts("-n 3"), "scratch directories");
    assert_eq!(scene.names("."), ["fast", "slow", "x.ppl"], "they are gone");
}

#[test]
fn a_name_that_nobody_granted_is_a_scratch_directory_or_one_message() {
    let scene = Scene::new().file("x.ppl", "with (dir=\"fast\") write(\"f\", 1);\n");
    let done = scene.parabench("run x.ppl --keep").exits(0);
    done.err_has("the directory fast is a scratch one").err_has("--mount fast=DIR");
    let kept: Vec<String> =
        scene.names(".").into_iter().filter(|name| name.starts_with("parabench-scratch")).collect();
    assert_eq!(kept.len(), 2);
    let done = scene.parabench("run x.ppl --dir d").exits(2);
    done.err_has("the program uses the directory fast, which is not granted")
        .err_has("say where: --mount fast=DIR");
    scene.parabench("check x.ppl").exits(0).err_has("nothing wrong").err_has("--mount fast=DIR");
    scene.parabench("plan x.ppl -v").exits(0).out_has("; directory fast = not granted");
    let granted = scene.parabench("plan x.ppl --mount fast=/burst --ops 1 -v").exits(0);
    granted.out_has("; directory fast = /burst").out_has("openat(\"/burst/f\"");
}

#[test]
fn a_name_can_be_computed_and_swept() {
    let text = r#"
param $where = "a";
with (dir=$where) time["w"] write("f", 1k);
repeat $d in ["a", "b", ""] with (dir=$d) write("each", 1k);
repeat $d in ["a", "b"] copy("$d:each", "from-$d");
"#;
    let scene = Scene::new().file("x.ppl", text);
    let line = "run x.ppl --dir d --mount a=a --mount b=b --sweep where=a,b --clean --format json";
    let run = run_object(&scene.parabench(line).exits(0));
    let writes: Vec<_> =
        run["rows"].as_array().unwrap().iter().filter(|row| row["label"] == "w").collect();
    assert!(writes.len() >= 2, "a cell each");
    for folder in ["a", "b", "d"] {
        assert_eq!(scene.names(folder), [".parabench"], "--clean is for all");
    }
    let unknown = Scene::new().file("x.ppl", "with (dir=\"no$$rank\") create(\"f\");\n");
    let done = unknown.parabench("run x.ppl --mount a=a").exits(1);
    done.out_has("no directory no0 is granted; grant it with --mount no0=DIR");
}

#[test]
fn directories_that_cannot_be_granted_are_refused() {
    let scene =
        Scene::new().file("x.ppl", "create(\"f\");\n").file("full/file", "").file("file", "");
    for (options, said) in [
        ("--dir d --mount a=d", "it and the run directory lie in one another"),
        ("--dir d --mount a=d/e", "it and the run directory lie in one another"),
        ("--mount a=.", "it and the run directory lie in one another"),
        ("--mount a=e --mount b=e", "it and that of a lie in one another"),
        ("--mount a=e --mount b=e/f", "it and that of a lie in one another"),
        ("--mount a=e --mount a=g", "the name a is given twice"),
        ("--mount a=full", "--mount a="),
        ("--mount a=full", "expected an empty directory"),
        ("--mount a=file", "expected a directory, found a file"),
        ("--mount a=no/such", "its parent directory does not exist"),
        ("--mount 1=e", "expected NAME=DIR"),
        ("--mount a=e --out e/results", "lies inside the run directory"),
    ] {
        scene.parabench(&format!("run x.ppl {options}")).exits(2).err_has(said);
        let _ = fs::remove_dir_all(scene.path("e"));
    }
    symlink(scene.path("d2"), scene.path("link")).expect("symlink");
    fs::create_dir(scene.path("d2")).expect("mkdir");
    let line = "run x.ppl --dir d2 --mount a=link";
    scene.parabench(line).exits(2).err_has("lie in one another");
}

#[test]
fn each_directory_has_its_own_room() {
    let scene = Scene::new().file("m/mount", "").file(
        "x.ppl",
        "repeat $i 20 write(\"f-$i\", 64k); repeat $i 20 copy(\"f-$i\", \"small:f-$i\");\n",
    );
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    let done = scene.parabench("run x.ppl --mount small=m").exits(2);
    done.err_has("needs 1.25 MiB").err_has("1020 KiB free").err_has("with --mount small=DIR");
    let planned = scene.parabench("plan x.ppl --mount small=m").exits(0);
    planned
        .out_has("of that in the run directory 1.25 MiB, 20 files at one time")
        .out_has("of that in small: 1.25 MiB, 20 files at one time");
    let planned = scene.parabench("plan x.ppl --mount small=m --format json").exits(0).json();
    let small = &planned["all"]["footprint_of"][1];
    assert_eq!((&small["directory"], &small["files"]), (&"small".into(), &20.into()));
    // Between two file systems, where the kernel does not copy.
    let text = "write(\"f\", 300k); with (transfer=64k) copy(\"f\", \"small:g\"); \
                assert(size(\"small:g\") == 307200, \"whole\"); copy(\"small:g\", \"h\", 4k, 100, 8); \
                $h = fopen(\"h\", \"r\"); $i = fopen(\"small:i\", \"w\"); fcopy($h, $i); fcopy($h, $i, 8, 8); \
                rename(\"f\", \"small:f\"); link(\"small:g\", \"l\");\n";
    let scene = scene.file("y.ppl", text);
    let done = scene.parabench("run y.ppl --dir d --mount small=m -v").exits(1);
    let done = done.out_has("1 x rename EXDEV").out_has("1 x link EXDEV");
    assert_eq!(fs::metadata(scene.path("d/h")).unwrap().len(), 4104);
    let (from, to) = (fs::read(scene.path("d/f")).unwrap(), fs::read(scene.path("m/g")).unwrap());
    assert!(from == to, "the same bytes");
    assert_eq!(fs::read(scene.path("d/h")).unwrap()[8..], to[100..100 + 4096]);
    let (from, to) = (fs::read(scene.path("d/h")).unwrap(), fs::read(scene.path("m/i")).unwrap());
    assert!(to == [&from[..], &from[8..16]].concat(), "the same bytes");
    done.out_has("read and\n  written through memory");
}

#[test]
fn directories_of_one_file_system_share_its_room() {
    let text = "write(\"f\", 600k); write(\"b:f\", 600k);\n";
    let scene = Scene::new().file("m/mount", "").file("x.ppl", text);
    let moves = "write(\"f\", 600k); delete(\"f\"); write(\"b:f\", 600k);\n";
    let scene = scene.file("y.ppl", moves);
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    let done = scene.parabench("run x.ppl --dir m/a --mount b=m/b").exits(2);
    done.err_has("needs 1.17 MiB at one time in the run directory and b together");
    scene.parabench("run y.ppl --dir m/a --mount b=m/b --clean").exits(0);
    scene.parabench("run x.ppl --dir d --mount b=m/b").exits(0);
}

#[test]
fn a_remark_names_the_directory_that_refuses() {
    let text = "with (dir=\"b\") { write(\"f\", 4k); reflink(\"f\", \"g\"); }\n";
    let scene = Scene::new().file("m/mount", "").file("x.ppl", text);
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m") else { return };
    let done = scene.parabench("run x.ppl --dir d --mount b=m -v").exits(0);
    done.out_has("reflink is not supported by the file system tmpfs of b:");
}

#[test]
fn a_further_directory_is_locked_like_the_run_directory() {
    let scene = Scene::new().file("x.ppl", "create(\"f\");\n");
    let scene = scene.file("long.ppl", "with (dir=\"b\") create(\"f\"); sleep(60s);\n");
    let running = scene.call("run long.ppl --dir a --mount b=b").start();
    running.until("the first file", || scene.path("b/f").exists());
    for options in ["--dir b", "--dir c --mount x=b", "--dir b/below"] {
        scene.parabench(&format!("run x.ppl {options}")).exits(2).err_has("another run uses");
    }
    running.signal(2);
    running.finish().exits(130);
    scene.parabench("run x.ppl --dir b").exits(0);
}

#[test]
fn staging_moves_what_it_says() {
    for ranks in [1u64, 4, 9] {
        let scene = Scene::new();
        let sizes = "input=64k state=192k steps=3 work=0s";
        for options in ["--dir slow --mount fast=fast", "--backend mem"] {
            let line = format!("run @staging {sizes} -n {ranks} {options} --format json");
            let run = run_object(&scene.parabench(&line).exits(0));
            let bytes = |label, op| row(&run, label, op)["bytes"].as_u64().unwrap();
            assert_eq!(bytes("stage in", "copy"), ranks * 65536);
            assert_eq!(bytes("read input", "read"), ranks * 65536);
            assert_eq!(bytes("checkpoint", "write"), ranks * 3 * 196_608);
            assert_eq!(bytes("drain", "copy"), ranks * 3 * 196_608);
            assert_eq!(bytes("restart", "read"), ranks * 196_608);
        }
        let (fast, slow) = (scene.names("fast"), scene.names("slow"));
        assert_eq!(fast.len() as u64, ranks * 3 + 1, "input and two places, and the marker");
        assert_eq!(slow.len() as u64, ranks * 4 + 1, "input and three steps, and the marker");
        let content = |name: String| fs::read(scene.path(&name)).unwrap();
        for rank in 0..ranks {
            let last = content(format!("slow/step-0002-{rank}"));
            assert!(last == content(format!("fast/state-{rank}-0")), "the last one");
            assert!(last != content(format!("slow/step-0001-{rank}")), "another one");
        }
    }
}

#[test]
fn the_run_tells_what_lies_below_each_directory() {
    let scene = Scene::new().file("m/mount", "").file("x.ppl", "copy(\"small:f\", \"f\");\n");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=1m,mode=755") else { return };
    let make = scene.file("make.ppl", "with (dir=\"small\") write(\"f\", 64k);\n");
    make.parabench("run make.ppl --dir d --mount small=m").exits(0);
    let line = "run x.ppl --dir d --mount small=m --out one -v";
    let done = make.parabench(line).exits(0).out_has(" and small on tmpfs (");
    done.out_has("remark memory-storage: files of small (tmpfs)");
    let run = make.json("one/run.json");
    let further = &run["run"]["host"]["directories"];
    assert_eq!(further.as_array().unwrap().len(), 1);
    assert_eq!(further[0]["name"], "small");
    assert_eq!(further[0]["file_system"], "tmpfs");
    assert_eq!(further[0]["scratch"], false);
    let mount = make.path("m").canonicalize().unwrap();
    assert_eq!(further[0]["directory"], mount.to_str().unwrap());
    assert_eq!(further[0]["mount"], mount.to_str().unwrap());
    make.parabench("report one --html page.html").exits(0);
    assert!(make.text("page.html").contains("further directories"));
    make.parabench("report one --format markdown").exits(0).out_has("small on tmpfs");
    // Another directory of that name is a difference between two runs.
    make.parabench("run make.ppl --dir d --mount small=other").exits(0);
    make.parabench("run x.ppl --dir d --mount small=other --out two").exits(0);
    let compared = make.parabench("compare one two -v");
    assert!(compared.out.contains("directory small"), "{compared:?}");
}

/// Paths of a run's events, each once.
fn paths(scene: &Scene, results: &str) -> BTreeSet<String> {
    let mut events = EventReader::open(&scene.path(results)).expect("an event table");
    assert!(events.by_ref().filter(Result::is_ok).count() > 0);
    events.paths().iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

#[test]
fn results_call_files_by_the_name_of_their_directory() {
    let text = r#"
with (dir="fast") { write("f", 1k); mkdir("d"); write("d/g", 1k); }
copy("fast:d/g", "h");
with (dir="fast", expect="ENOENT") stat("gone");
stat("fast:no");
read("fast:d/g/");
"#;
    let scene = Scene::new().file("x.ppl", text);
    let places = ["", "--dir d --mount fast=fast", "--backend mem"];
    let told = places.map(|place| {
        let out = format!("r{}", place.len());
        let line = format!("run x.ppl {place} --events --out {out} --on-error continue");
        let done = scene.parabench(&line).exits(1);
        done.out_has("stat ENOENT").out_has("fast:no").out_has("fast:d/g/");
        let run = scene.json(&format!("{out}/run.json"));
        assert_eq!(run["run"]["host"]["directories"][0]["name"], "fast", "{place}");
        let failed: Vec<_> = run["run"]["failures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["path"].clone())
            .collect();
        assert_eq!(failed, ["fast:no", "fast:d/g/"], "{place}");
        paths(&scene, &out)
    });
    let expected = ["fast:d", "fast:d/g", "fast:d/g/", "fast:f", "fast:gone", "fast:no", "h"];
    assert_eq!(told[0], expected.map(String::from).into());
    assert!(told[0] == told[1] && told[1] == told[2], "{told:?}");
}

#[test]
fn messages_call_files_by_the_name_of_their_directory() {
    let scene = Scene::new().file("stop.ppl", "with (dir=\"fast\") stat(\"no\");\n").file(
        "lock.ppl",
        "with (dir=\"fast\") { $h = fopen(\"l\", \"w\"); $g = fopen(\"l\", \"w\"); flock($h, \
             \"exclusive\"); flock($g, \"exclusive\"); }\n",
    );
    for place in ["", "--dir d --mount fast=fast", "--backend mem"] {
        let done = scene.parabench(&format!("run stop.ppl {place} --on-error stop")).exits(1);
        done.out_has("stat \"fast:no\" failed");
        let done = scene.parabench(&format!("run lock.ppl {place}")).exits(1);
        assert!((done.out.clone() + &done.err).contains("fast:l"), "{place}: {done:?}");
        let _ = fs::remove_dir_all(scene.path("fast"));
    }
}

#[test]
fn a_run_in_several_directories_folds_to_a_program_that_runs_anywhere() {
    let scene = Scene::new();
    let sizes = "input=64k state=192k steps=3 work=0s";
    scene.parabench(&format!("run @staging {sizes} -n 2 --events --out st.run --quiet")).exits(0);
    let folded = scene.parabench("fold st.run -o st.ppl").exits(0).err_has("without loss");
    assert!(!folded.err.contains("expects"), "copies are made: {}", folded.err);
    assert!(scene.text("st.ppl").contains("--mount fast=DIR"), "{}", scene.text("st.ppl"));
    let checked = scene.parabench("check st.ppl -n 2").exits(0);
    checked.err_has("nothing wrong").err_has("--mount fast=DIR");
    for place in ["", "--dir d --mount fast=fast", "--backend mem"] {
        let line = format!("run st.ppl -n 2 {place} --against-trace st.run --fidelity-gate");
        let done = scene.call(&line).word("operations <= 0").run().exits(0);
        done.out_has("does what st.run did, all of its");
    }
    assert_eq!(files(&scene, "fast").len(), 2 * 3);
    assert_eq!(files(&scene, "d").len(), 2 * 4);
    scene.parabench("fold st.run --anonymise map.txt -o anonymous.ppl").exits(0);
    let text = scene.text("anonymous.ppl");
    assert!(text.contains("=DIR") && !text.contains("fast"), "{text}");
    scene.parabench("run anonymous.ppl -n 2").exits(0);
}

#[test]
fn what_made_a_further_directory_stable_folds_to_a_sync_of_it() {
    let text = "write(\"f\", 4k); sync; with (dir=\"fast\") { write(\"f\", 4k); sync; }\n\
                repeat $i 3 with (dir=\"fast\") { write(\"g\", 4k); syncfs(); }\n\
                $h = fopen(\"fast:g\", \"r\"); syncfs($h); fclose($h);\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl --events --out r --quiet").exits(0);
    scene.parabench("fold r -o folded.ppl").exits(0).err_has("without loss");
    let folded = scene.text("folded.ppl");
    let lines: Vec<&str> = folded.lines().map(str::trim).collect();
    for line in
        ["sync;", "with (dir=\"fast\") sync;", "with (dir=\"fast\") syncfs();", "syncfs($file);"]
    {
        assert!(lines.contains(&line), "{line}: {folded}");
    }
    let again = scene.parabench("run folded.ppl --dir d --mount fast=fast --format json").exits(0);
    let run = run_object(&again);
    let unstable = written(&run, "").into_iter().map(|(name, _, unstable)| (name, unstable));
    assert_eq!(unstable.collect::<Vec<_>>(), [(String::new(), 0), ("fast".into(), 0)]);
    scene.parabench("fold r --anonymise map.txt -o anonymous.ppl").exits(0);
    let anonymous = scene.text("anonymous.ppl");
    assert!(anonymous.contains("\") sync;") && !anonymous.contains("fast"), "{anonymous}");
    scene.parabench("run anonymous.ppl").exits(0);
}

#[test]
fn what_is_expected_in_further_directories_is_made_there() {
    let text = "read(\"in\", 8k); read(\"fast:in\", 64k); with (dir=\"fast\") { readdir(\".\"); \
                readdir(\"d\"); read(\"d/e/f\", 1k); }\n";
    let scene = Scene::new().file("x.ppl", text);
    let line = "prepare x.ppl --dir slow --mount fast=fast";
    let listed = scene.parabench(&format!("{line} --dry-run")).exits(0);
    assert_eq!(
        listed.out,
        "missing: 2 directories and 3 files, 73 KiB in slow and fast\nin: file, 8 KiB\nfast:d: directory\n\
         fast:d/e: directory\nfast:d/e/f: file, 1 KiB\nfast:in: file, 64 KiB\n"
    );
    assert!(!scene.path("fast").exists());
    scene.parabench("prepare x.ppl --dir slow").exits(2).err_has("--mount fast=DIR");
    let told = scene.parabench("run x.ppl --dir slow --mount fast=fast --clean").exits(1);
    told.err_has("does not exist: in, and 4 others like it");
    scene.parabench(line).exits(0).out_has("made 2 directories and 3 files");
    assert_eq!(fs::metadata(scene.path("fast/d/e/f")).unwrap().len(), 1024);
    let (slow, fast) = (fs::read(scene.path("slow/in")), fs::read(scene.path("fast/in")));
    assert!(slow.unwrap()[..] != fast.unwrap()[..8192], "each has its own data");
    scene.parabench("run x.ppl --dir slow --mount fast=fast").exits(0);
    scene.parabench(line).exits(0).out_has("nothing is missing in slow and fast");
    scene.parabench("run x.ppl --prepare").exits(0);
    // Of a run that was recorded: by its own names.
    let line = "run x.ppl --dir slow --mount fast=fast --events --out r";
    scene.parabench(line).exits(0);
    scene.parabench("replay r -- --mount fast=again").exits(0).out_has("does what r did");
}

/// What a label wrote and what of it is not stable, by directory.
fn written(run: &serde_json::Value, label: &str) -> Vec<(String, u64, u64)> {
    let labels = run["run"]["evidence"]["labels"].as_array().unwrap();
    let found = labels.iter().find(|one| one["label"] == label).unwrap();
    let number = |one: &serde_json::Value, name: &str| one[name].as_u64().unwrap();
    let each = found["directories"].as_array().unwrap().iter().map(|one| {
        let name = one["directory"].as_str().unwrap().to_string();
        (name, number(one, "written_bytes"), number(one, "unstable_bytes"))
    });
    each.collect()
}

#[test]
fn evidence_tells_directories_apart() {
    let text = r#"
time["own sync"] { write("f", 64k); write("fast:f", 4k); sync; }
time["file system"] { write("f", 64k); $c = fopen("fast:h", "w"); write("fast:f", 4k); syncfs($c); fclose($c); }
time["fast sync"] { write("f", 64k); with (dir="fast") { write("g", 4k); sync; } }
time["handles"] { $a = fopen("h", "w"); $b = fopen("fast:h", "w"); fwrite($a, 8k); fwrite($b, 4k); fsync($b); }
time["copy"] with (fsync="close") copy("f", "fast:c");
time["read"] { read("fast:c"); read("f"); }
fclose($a);
fclose($b);
"#;
    let scene = Scene::new().file("x.ppl", text);
    for place in ["--dir d --mount fast=fast", "--backend mem"] {
        let run =
            run_object(&scene.parabench(&format!("run x.ppl {place} --format json")).exits(0));
        let one = |name: &str, written, unstable| (name.to_string(), written, unstable);
        let own = [one("", 65536, 0), one("fast", 4096, 4096)];
        assert_eq!(written(&run, "own sync"), own, "{place}");
        let fast = [one("", 65536, 65536), one("fast", 4096, 0)];
        assert_eq!(written(&run, "file system"), fast, "{place}");
        assert_eq!(written(&run, "fast sync"), fast, "{place}");
        let handles = [one("", 8192, 8192), one("fast", 4096, 0)];
        assert_eq!(written(&run, "handles"), handles, "{place}");
        assert_eq!(written(&run, "copy"), [one("", 0, 0), one("fast", 65536, 0)], "{place}");
        let labels = run["run"]["evidence"]["labels"].as_array().unwrap();
        let read = labels.iter().find(|one| one["label"] == "read").unwrap();
        let bytes = |at: usize| read["directories"][at]["read_bytes"].as_u64().unwrap();
        assert_eq!((bytes(0), bytes(1)), (65536, 65536), "{place}");
    }
    let alone = scene.file("y.ppl", "write(\"f\", 1k);\n").parabench("run y.ppl --format json");
    assert!(run_object(&alone.exits(0))["run"]["evidence"]["labels"][0]["directories"].is_null());
}

/// A directory that only its owner enters may hold one that all can write: it must not be moved to where
/// others come.
#[test]
fn open_directories_are_confined_beside_further_ones() {
    let scene = Scene::new()
        .file("open.ppl", "mkdir(\"s\"); chmod(\"s\", 0o777); chmod(\".\", 0o700);")
        .file("x.ppl", "stat(\"s\");")
        .file("m/.keep", "");
    fs::remove_file(scene.path("m/.keep")).expect("removed");
    scene.parabench("run open.ppl --dir d").exits(0);
    for (further, confinement) in [("", "checked"), (" --mount fast=m", "confined")] {
        let done = scene.parabench(&format!("run x.ppl --dir d --format json{further}"));
        assert_eq!(run_object(&done)["run"]["evidence"]["confinement"], confinement, "{further}");
    }
}
