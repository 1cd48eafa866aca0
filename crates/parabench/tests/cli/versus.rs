//! `run --against`, `--against-program`, `--versus`: A and B in randomised blocks of one run.

use crate::scene::{Done, Scene, holds};
use crate::schema::{assert_valid, run_object};
use serde_json::Value;

const PROGRAM: &str = "param $size = 64k;\ntime[\"w\"] repeat $i 20 write(\"f$i\", $size);\n";

fn scene() -> Scene {
    Scene::new().file("x.ppl", PROGRAM)
}

fn order(run: &Value) -> Vec<(u64, u64)> {
    let order = run["run"]["sweep"]["order"].as_array().unwrap();
    let at = |e: &Value| (e["cell"].as_u64().unwrap(), e["repetition"].as_u64().unwrap());
    order.iter().map(at).collect()
}

#[test]
fn two_directories_are_compared_in_blocks_and_stored_as_one_run() {
    let scene = scene();
    let line = "run x.ppl --dir a --against b --clean --out r";
    let done = scene.parabench(line).exits(0);
    let done = done.out_has("A: a   B: b\n").out_has("B/A: block by block");
    let run = scene.json("r/run.json");
    assert_valid(&run);
    let sweep = &run["run"]["sweep"];
    assert_eq!((&sweep["versus"], &sweep["reps"]), (&Value::Bool(true), &10.into()));
    assert_eq!(sweep["dimensions"][0]["kind"], "directory");
    assert_eq!(sweep["dimensions"][0]["values"], serde_json::json!(["a", "b"]));
    let (a, b) = (&run["run"]["host"]["directory"], &sweep["cells"][1]["host"]["directory"]);
    assert!(a.as_str().unwrap().ends_with("/a") && b.as_str().unwrap().ends_with("/b"));
    // Ten blocks, A and B next to one another in each, not always in the same order.
    let order = order(&run);
    assert_eq!(order.len(), 20);
    for (block, number) in order.chunks(2).zip(0..) {
        assert!(block.iter().all(|at| at.1 == number) && block[0].0 + block[1].0 == 1, "{order:?}");
    }
    let firsts = order.chunks(2).filter(|block| block[0].0 == 0).count();
    assert!((1..10).contains(&firsts), "{order:?}");
    // Both were cleaned and are unlocked.
    assert_eq!(
        (scene.names("a"), scene.names("b")),
        (vec![".parabench".into()], vec![".parabench".into()])
    );
    scene.parabench("report r").exits(0).out_is(&done.out);
    let shown = scene.parabench("compare r").exits(0);
    shown.out_has("A: a   B: b\n").out_has(" in w ");
    let shown = scene.parabench("compare r -v").exits(0);
    shown.out_has("time of label \"w\"").out_has("Wilcoxon signed rank");
    let found = scene.parabench("compare r --format json").exits(0).json();
    assert_eq!((&found["design"], &found["rows"][0]["base_n"]), (&"blocks".into(), &10.into()));
    let tested = found["rows"].as_array().unwrap().iter().filter(|row| row["tier"] == "label");
    let tested: Vec<&Value> = tested.map(|row| &row["metric"]).collect();
    assert_eq!(tested, ["time_ns", "typical_ns"], "one label, one question");
    scene.parabench("compare r --html c.html").exits(0);
    assert!(scene.text("c.html").contains("Speed of B relative to A"));
    scene
        .call("compare r")
        .word("--gate")
        .word("write.mib_s >= 0.0001")
        .run()
        .exits(0)
        .out_has("gate passes");
}

/// Both sides work in both directories, so that the state of one is no difference between them. What is in the way
/// of that is said.
#[test]
fn directories_on_one_device_are_swapped_with_every_block() {
    let look = "time[\"w\"] { stat(\"here\"); append(\"log\", 1); }\n";
    let scene = Scene::new()
        .file("make.ppl", "write(\"here\", 1);\n")
        .file("x.ppl", look)
        .file("pwd.ppl", format!("if ($$env(PWD) == \"/none\") stat(\"x\");\n{look}"));
    let shared = |line: &str| {
        let run = run_object(&scene.parabench(&format!("run {line} --format json")));
        let marks = run["run"]["evidence"]["marks"].as_array().unwrap();
        let said = marks.iter().any(|mark| mark["code"] == "shared-device");
        assert_eq!(said, !run["run"]["sweep"]["shared_device"].is_null(), "{line}");
        run
    };
    // The file is in one of them: A misses it in the odd blocks, B in the even ones.
    let missed = |run: &Value| {
        let stats = run["rows"].as_array().unwrap().iter().filter(|row| row["op"] == "stat");
        let failed = stats.filter(|row| row["failed"] == 1);
        let place =
            |row: &Value| (row["cell"].as_u64().unwrap(), row["repetition"].as_u64().unwrap());
        let mut places: Vec<_> = failed.map(place).collect();
        places.sort_unstable();
        places
    };
    let bytes = |file: &str| std::fs::read(scene.path(file)).map_or(0, |bytes| bytes.len());
    scene.parabench("run make.ppl --dir a").exits(0);
    let run = shared("x.ppl --dir a --against b --reps 4");
    assert_eq!(run["run"]["sweep"]["shared_device"], "swapped");
    assert_eq!(missed(&run), [(0, 1), (0, 3), (1, 0), (1, 2)]);
    assert_eq!((bytes("a/log"), bytes("b/log")), (4, 4));
    // A program that uses its path is not executed with another one.
    scene.parabench("run make.ppl --dir c").exits(0);
    let run = shared("pwd.ppl --dir c --against d --reps 2");
    assert_eq!(run["run"]["sweep"]["shared_device"], "kept");
    assert_eq!(missed(&run), [(1, 0), (1, 1)]);
    // Warm-up is the first block.
    scene.parabench("run make.ppl --dir e").exits(0);
    let run = shared("x.ppl --dir e --against f --reps 2 --warm-up 1 --out r");
    assert_eq!(missed(&run), [(0, 0), (1, 1)]);
    if std::fs::metadata("/dev/shm").is_ok() {
        let other = tempfile::tempdir_in("/dev/shm").expect("a directory");
        scene.parabench("run make.ppl --dir g").exits(0);
        let run = shared(&format!("x.ppl --dir g --against {} --reps 2", other.path().display()));
        assert_eq!(run["run"]["sweep"]["shared_device"], Value::Null);
        assert_eq!(missed(&run), [(1, 0), (1, 1)]);
    }
}

#[test]
fn two_values_of_a_parameter_are_compared() {
    let scene = scene();
    let line = "run x.ppl --backend mem --versus size=1m --reps 7";
    let done = scene.parabench(line).exits(0);
    done.out_has("A: size=65536   B: size=1m\n").out_has("In w B writes 16.0x as much");
    let run = run_object(&scene.parabench(&format!("{line} size=128k --format json")).exits(0));
    let values = &run["run"]["sweep"]["dimensions"][0]["values"];
    assert_eq!(values, &serde_json::json!(["128k", "1m"]));
    assert_eq!(run["run"]["sweep"]["cells"][1]["params"][0]["value"], "1048576");
    let both = run_object(
        &scene
            .parabench("run x.ppl --backend mem --versus size=4k,8k --reps 2 --format json")
            .exits(0),
    );
    let values = &both["run"]["sweep"]["dimensions"][0]["values"];
    assert_eq!(values, &serde_json::json!(["4k", "8k"]));
    // A grid of comparisons: each point has its row.
    let two = Scene::new().file(
        "y.ppl",
        "param $size = 4k; param $n = 5; time[\"w\"] repeat $i $n write(\"f$i\", $size);",
    );
    let line = "run y.ppl --backend mem --versus size=1m --sweep n=5,10 --reps 7";
    let done = two.parabench(line).exits(0);
    done.out_has("In w at n=5 B writes").out_has("In w at n=10 B writes");
}

#[test]
fn two_programs_are_compared_and_both_are_stored() {
    let scene = scene().file("y.ppl", PROGRAM.replace("f$i", "g$i"));
    let line = "run x.ppl --backend mem --against-program y.ppl --reps 7 --out r";
    scene
        .parabench(line)
        .exits(0)
        .out_has("A: x.ppl   B: y.ppl\n")
        .out_has("No difference above 2 %");
    let run = scene.json("r/run.json");
    assert_valid(&run);
    let names = run["run"]["program"]["files"].as_array().unwrap().iter().map(|file| &file["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["x.ppl", "y.ppl"]);
    let files = run["run"]["sites"].as_array().unwrap().iter().map(|site| &site["file"]);
    assert_eq!(files.collect::<Vec<_>>().len(), 2, "a place in each");
    scene.parabench("compare r").exits(0);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    let scene = scene();
    let refused = |line: &str| -> Done { scene.parabench(&format!("run x.ppl {line}")).exits(2) };
    refused("--against b").err_has("--dir");
    refused("--dir a --against a").err_has("stand apart");
    refused("--dir a --against a/in").err_has("stand apart");
    refused("--dir a --against b --backend mem").err_has("no directory");
    refused("--dir a --against b --out b/r").err_has("inside the run directory");
    scene.parabench("run x.ppl --backend mem --out stored --quiet").exits(0);
    let refused_stored = refused("--dir a --against stored");
    refused_stored
        .err_has("--against takes a directory to work in")
        .err_has("`parabench compare stored NEW`");
    refused("--versus sise=1").err_has("no parameter sise").err_has("nearest is size");
    refused("--versus size=1 --sweep size=2,3").err_has("--sweep varies");
    refused("--versus size=oops").err_has("size=oops");
    refused("--versus size=1,2,3").err_has("expected A and B").err_has("--sweep size=1,2,3");
    refused("--versus size=1,1").err_has("A and B are the same");
    refused("--versus size=1 --until-ci 2%").err_has("cannot be used with");
    refused("--against-program nowhere.ppl").err_has("nowhere.ppl");
    // A directory with other things in it, and one that another run uses.
    std::fs::create_dir(scene.path("full")).unwrap();
    std::fs::write(scene.path("full/mine"), "").unwrap();
    refused("--dir a --against full");
    assert_eq!(scene.names("full"), ["mine"], "nothing was touched");
    scene.parabench("compare x.ppl").exits(2);
}

/// What the number of blocks cannot tell is known before the first of them, and so is the number that can.
#[test]
fn too_few_blocks_are_said_before_they_are_measured() {
    let text = "param $n = 1;\ntime[\"a\"] { write(\"f\", 4k); stat(\"f\"); }\ntime[\"b\"] read(\"f\", 4k);\n";
    let scene = Scene::new().file("x.ppl", text);
    let few = "6 blocks are too few to show any difference in 2 labels: use --reps 7 or more";
    for (line, said) in [("--reps 6", true), ("--reps 6 --quiet", false), ("--reps 7", false)] {
        let line = format!("run x.ppl --backend mem --versus n=2 {line}");
        let done = scene.parabench(&line).exits(0);
        assert_eq!(
            (done.err.contains(few), done.err.contains("--reps 7")),
            (said, said),
            "{line}: {}",
            done.err
        );
        let cannot = holds(&done.out, "at least 7 are needed (--reps 7)");
        assert_eq!(cannot, said, "{line}: {}", done.out);
    }
    let job = "job x.ppl --nodes 1 --ranks-per-node 1 --time 20m --dir d -- --versus n=2 --reps 6";
    scene.parabench(job).exits(0).err_has(few);
}

/// An interruption keeps the blocks before, and both directories are left in order.
#[test]
fn an_interrupted_comparison_says_what_it_has() {
    let text = "param $n = 1;\ntime[\"work\"] {\n  write(\"n$n\", 4k);\n\
        if ($n == 2) while (1) write(\"endless\", 4k);\n}\n";
    let scene = Scene::new().file("x.ppl", text);
    let line = "run x.ppl --dir a --versus n=2 --clean --format json";
    let call = scene.call(line).start();
    call.until("the file", || scene.path("a/endless").exists());
    let run = run_object(&{
        call.signal(2);
        call.finish().exits(130)
    });
    assert_eq!(run["run"]["outcome"], "interrupted");
    assert_eq!(scene.names("a"), [".parabench"]);
}

/// The program's own value, written in another way.
#[test]
fn a_value_is_not_compared_with_itself() {
    let scene = scene();
    for line in ["--versus size=64k", "size=65536 --versus size=64k"] {
        let done = scene.parabench(&format!("run x.ppl {line}")).exits(2);
        done.err_has("A and B are the same: size is 65536").err_has("--against-program");
    }
    assert_eq!(scene.names("."), ["x.ppl"]);
}
