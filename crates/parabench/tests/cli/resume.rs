//! `run --resume DIR`: a sweep that was killed or interrupted goes on with what is missing.

use crate::scene::{Call, Scene, kill};
use crate::schema::assert_valid;
use serde_json::{Value, json};
use std::fs;

/// Three points, three times; the execution in which the log has `$stop` bytes waits for a file.
const PROGRAM: &str = "param $n = 1; param $stop = 0;\n\
    time[\"work\"] write(\"f\", $n * 4k);\n\
    append(\"log\", 1);\n\
    if (size(\"log\") == $stop) while (!exists(\"go\")) sleep(1ms);\n";
const LINE: &str = "run x.ppl --dir d --sweep n=1..3+1 --reps 3 --events";

fn scene() -> Scene {
    Scene::new().file("x.ppl", PROGRAM)
}

/// Starts the sweep and lets it stand in its fifth execution.
fn standing(scene: &Scene, line: &str) -> crate::scene::Running {
    let call = scene.call(line).start();
    call.until("the fifth execution", || {
        fs::metadata(scene.path("d/log")).is_ok_and(|log| log.len() == 5)
    });
    call
}

/// Kills it there, by SIGKILL to the process that supervises; the rank goes with it.
fn killed(scene: &Scene) {
    killed_as(scene, &format!("{LINE} stop=5 --out r"));
}

fn killed_as(scene: &Scene, line: &str) {
    let call = standing(scene, line);
    let ranks = call.ranks();
    kill(call.pid(), 9);
    call.finish();
    let alive = |pid: &i32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    while ranks.iter().any(alive) {
        std::thread::yield_now();
    }
    fs::write(scene.path("d/go"), "").expect("written");
}

/// What a sweep has executed and counted, without times.
fn essence(run: &Value) -> Value {
    let order = run["run"]["sweep"]["order"].as_array().expect("an order");
    let at = |e: &Value| json!([e["cell"], e["repetition"], e["outcome"]]);
    let rows = run["rows"].as_array().expect("rows").iter();
    let row = |r: &Value| {
        json!([r["cell"], r["repetition"], r["label"], r["op"], r["count"], r["bytes"]])
    };
    let statistics = run["statistics"].as_array().expect("statistics").iter();
    let statistic = |s: &Value| json!([s["cell"], s["label"], s["op"], s["metric"], s["n"]]);
    json!([
        order.iter().map(at).collect::<Vec<_>>(),
        rows.map(row).collect::<Vec<_>>(),
        statistics.map(statistic).collect::<Vec<_>>(),
        run["run"]["events"]["count"],
        run["run"]["seed"],
    ])
}

fn whole(scene: &Scene) -> Value {
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"], "the folder is in order");
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_valid(&run);
    assert_eq!(run["run"]["outcome"], "finished");
    run
}

fn uninterrupted() -> Value {
    let scene = scene();
    scene.parabench(&format!("{LINE} --out r")).exits(0);
    essence(&whole(&scene))
}

#[test]
fn a_killed_sweep_goes_on_and_is_the_same_as_one_that_was_not() {
    let same = uninterrupted();
    for line in ["run --resume r --dir d", &format!("{LINE} stop=5 --resume r")] {
        let scene = scene();
        killed(&scene);
        let report = scene.parabench("report r").exits(0);
        report.out_has("executes what is missing");
        scene.parabench(line).exits(0).out_has("resumed after 4 executions");
        let run = whole(&scene);
        assert_eq!(essence(&run), same, "{line}");
        assert_eq!(run["run"]["sweep"]["resumed"][0]["executions"], 4);
        let log = fs::metadata(scene.path("d/log")).expect("the log").len();
        assert_eq!(log, 10, "one execution was made twice, because it was cut off");
    }
}

#[test]
fn an_interrupted_sweep_goes_on_as_well_and_can_be_killed_again() {
    let scene = scene();
    let call = standing(&scene, &format!("{LINE} stop=5 --out r"));
    call.signal(15);
    call.finish().exits(130).out_has("interrupted after").out_has("run --resume");
    let report = scene.parabench("report r --format json").exits(0).json();
    assert_eq!(report["run"]["sweep"]["order"].as_array().map(Vec::len), Some(5));
    assert_valid(&report);
    // The sixth byte of the log is that of the first execution after it.
    let text = scene.text("r/run.json");
    let again = scene.call("run --resume r --dir d").start();
    again.until("an end", || scene.path("d/log").metadata().is_ok_and(|log| log.len() == 10));
    again.finish().exits(0);
    assert!(text.contains("\"rest\""));
    assert_eq!(essence(&whole(&scene)), uninterrupted());
}

#[test]
fn executions_that_are_damaged_are_made_again() {
    type Damage = fn(&Scene, &str);
    let damages: [(&str, Damage); 5] = [
        ("run.json is cut", |scene, one| {
            let text = scene.text(&format!("{one}/run.json"));
            fs::write(scene.path(&format!("{one}/run.json")), &text[..text.len() / 2])
                .expect("cut");
        }),
        ("run.json is gone", |scene, one| {
            fs::remove_file(scene.path(&format!("{one}/run.json"))).expect("removed");
        }),
        ("the events are cut", |scene, one| {
            let path = scene.path(&format!("{one}/events.parquet"));
            let bytes = fs::read(&path).expect("a table");
            fs::write(&path, &bytes[..bytes.len() / 2]).expect("cut");
        }),
        ("the events are damaged inside", |scene, one| {
            let path = scene.path(&format!("{one}/events.parquet"));
            let mut bytes = fs::read(&path).expect("a table");
            bytes[100..500].fill(0xff);
            fs::write(&path, &bytes).expect("damaged");
        }),
        ("a rest of writing", |scene, one| {
            fs::rename(
                scene.path(&format!("{one}/run.json")),
                scene.path(&format!("{one}/.run.json.a7Bc3d.tmp")),
            )
            .expect("renamed");
        }),
    ];
    let same = uninterrupted();
    for (what, damage) in damages {
        let scene = scene();
        killed(&scene);
        let folder = scene.names("r").into_iter().find(|name| name.starts_with("executions-"));
        damage(&scene, &format!("r/{}/000002", folder.expect("the executions")));
        scene.parabench("run --resume r --dir d").exits(0).out_has("resumed after 3 executions");
        let run = whole(&scene);
        assert_eq!(essence(&run), same, "{what}");
    }
}

/// Two would take each other's unfinished executions away.
#[test]
fn a_sweep_is_resumed_by_one_process_at_a_time() {
    let scene = scene();
    killed(&scene);
    let names = scene.names("r");
    let folder = names.iter().find(|name| name.starts_with("executions-")).expect("executions");
    let other = fs::File::open(scene.path(&format!("r/{folder}"))).expect("the folder");
    other.lock().expect("nobody has it");
    scene.parabench("run --resume r --dir d").exits(2).err_has("is not finished");
    assert_eq!(scene.names("r"), names);
    drop(other);
    scene.parabench("run --resume r --dir d").exits(0).out_has("resumed after 4 executions");
}

/// Killed when its results were stored, and only the executions had yet to go.
#[test]
fn executions_that_nobody_needs_any_more_go() {
    let scene = scene();
    killed(&scene);
    let names = scene.names("r");
    let folder = names.iter().find(|name| name.starts_with("executions-")).expect("executions");
    let (inside, aside) = (scene.path(&format!("r/{folder}")), scene.path(folder));
    let copy = || {
        let mut copy = std::process::Command::new("cp");
        assert!(copy.arg("-a").arg(&aside).arg(&inside).status().is_ok_and(|done| done.success()));
    };
    fs::rename(&inside, &aside).expect("put aside");
    copy();
    scene.parabench("run --resume r --dir d").exits(0);
    let whole = scene.text("r/run.json");
    copy();
    let other = fs::File::open(&inside).expect("the folder");
    other.lock().expect("nobody has it");
    scene.parabench("run --resume r --dir d").exits(0).err_has("nothing is missing");
    assert!(inside.exists(), "somebody holds it");
    drop(other);
    scene.parabench("run --resume r --dir d").exits(0).err_has("nothing is missing");
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"]);
    assert_eq!(scene.text("r/run.json"), whole);
    copy();
    scene.parabench("run x.ppl --dir e --out r --force").exits(0);
    assert_eq!(scene.names("r"), ["run.json"]);
}

#[test]
fn a_sweep_that_is_whole_is_printed() {
    let scene = scene();
    let done = scene.parabench(&format!("{LINE} --out r")).exits(0);
    let before = scene.text("r/run.json");
    let again = scene.parabench("run --resume r --dir d").exits(0).err_has("nothing is missing");
    assert_eq!(again.out, done.out);
    scene.parabench(&format!("{LINE} --resume r")).exits(0).out_is(&done.out);
    fs::write(scene.path("x.ppl"), PROGRAM.replace("4k", "8k")).expect("written");
    scene.parabench(&format!("{LINE} --resume r")).exits(2).err_has("the plan of n=1 was ");
    fs::write(scene.path("x.ppl"), PROGRAM).expect("written");
    for (line, said) in [
        (LINE.replace("n=1..3+1", "n=1,2"), "the grid was n=1,2,3, now it is n=1,2"),
        (LINE.replace("--reps 3", "--reps 50"), "--reps was 3, now it is 50"),
        (format!("{LINE} --warm-up 2"), "--warm-up was 0, now it is 2"),
        (format!("{LINE} stop=500"), "the plan of n=1 was "),
        (format!("{LINE} -n 2"), "the plan of n=3 was "),
    ] {
        let done = scene.parabench(&format!("{line} --resume r")).exits(2);
        done.err_has("this is not the sweep that began").err_has(said);
    }
    scene.parabench("run --resume r --reps 9").exits(2).err_has("takes all options");
    assert_eq!(scene.text("r/run.json"), before);
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let scene = scene().file("y.ppl", PROGRAM.replace("4k", "8k")).file("odd/run.json", "{}");
    scene.parabench("run --resume none").exits(2).err_has("none").err_has("--out");
    scene.parabench("run --resume odd").exits(2).err_has("odd");
    scene.parabench("run x.ppl --out single").exits(0);
    scene.parabench("run --resume single").exits(2).err_has("no sweep");
    scene.parabench("run").exits(2).err_has("PROGRAM");
    let call = standing(&scene, &format!("{LINE} stop=5 --out r"));
    scene.parabench("run --resume r --dir d").exits(2).err_has("is not finished");
    call.signal(2);
    call.finish().exits(130);
    let before = scene.text("r/run.json");
    let same = LINE.replace("run x.ppl ", "");
    for (line, said) in [
        (format!("run y.ppl {same} stop=5"), "the plan of n=1 was "),
        (format!("{LINE} stop=6"), "the plan of n=2 was "),
        (
            format!("{} stop=5", LINE.replace("n=1..3+1", "n=1,2")),
            "the grid was n=1,2,3, now it is n=1,2",
        ),
        (format!("{} stop=5", LINE.replace("--reps 3", "--reps 4")), "--reps was 3, now it is 4"),
        (
            format!("{} stop=5", LINE.replace("--events", "")),
            "--events was sample=1/1, now it is not given",
        ),
        (format!("{LINE} stop=5 --seed 7"), "--seed was 42, now it is 7"),
        (format!("{LINE} stop=5 --backend mem"), "--backend was posix, now it is mem"),
        (format!("{LINE} stop=5 -n 2"), "the plan of n=1 was "),
        ("run x.ppl --dir d stop=5".into(), "asks for no sweep"),
        ("run --reps 9".into(), "takes all options from the sweep"),
    ] {
        let done = scene.parabench(&format!("{line} --resume r")).exits(2);
        done.err_has(said).err_has("help");
        assert_eq!(scene.text("r/run.json"), before, "{line}");
    }
    scene.parabench(&format!("{LINE} --resume r --out o")).exits(2).err_has("--out");
    fs::write(scene.path("d/go"), "").expect("written");
    scene.parabench("run --resume r --dir d").exits(0);
}

#[test]
fn a_sweep_that_was_settled_has_ended() {
    let scene = scene();
    killed(&scene);
    scene.parabench("report r --settle").exits(0);
    assert_eq!(scene.names("r"), ["events.parquet", "run.json"]);
    scene.parabench("run --resume r --dir d").exits(2).err_has("has ended").err_has("--out");
}

#[test]
fn another_run_in_the_folder_of_an_interrupted_sweep_leaves_nothing_of_it() {
    let scene = scene();
    let call = standing(&scene, &format!("{LINE} stop=5 --out r"));
    call.signal(2);
    call.finish().exits(130);
    scene.parabench("run x.ppl --dir e --out r --force").exits(0);
    assert_eq!(scene.names("r"), ["run.json"]);
}

/// The program came by a pipe, the seed was drawn, the current directory is another.
#[test]
fn what_nobody_can_type_again_is_stored() {
    let scene = scene();
    let line = "run - --dir d --sweep n=1..3+1 --reps 3 --events stop=5 --out r --seed random";
    let call = scene.call(line).input(PROGRAM).start();
    call.until("the fifth execution", || {
        fs::metadata(scene.path("d/log")).is_ok_and(|log| log.len() == 5)
    });
    kill(call.pid(), 9);
    call.finish();
    fs::write(scene.path("d/go"), "").expect("written");
    fs::create_dir(scene.path("elsewhere")).expect("made");
    let resumed: Call = scene.call("run --resume ../r --dir ../d --format json");
    let run = resumed.inside(scene.path("elsewhere")).run().exits(0).json();
    let order = run["run"]["sweep"]["order"].as_array().expect("an order");
    assert_eq!(order.len(), 9);
    assert_eq!(run["run"]["sweep"]["resumed"][0]["executions"], 4);
}

/// With optional stopping the blocks before count as they did.
#[test]
fn equal_times_are_narrow_after_ten_repetitions_also_when_resumed() {
    let text = "param $stop = 0;\nappend(\"log\", 1);\n\
                if (size(\"log\") == $stop) while (!exists(\"go\")) sleep(1ms);\nassert(1);\n";
    let scene = Scene::new().file("x.ppl", text);
    killed_as(&scene, "run x.ppl stop=5 --dir d --until-ci 99% --reps 12 --out r");
    let run = scene.parabench("run --resume r --dir d --format json").exits(0).json();
    let order = run["run"]["sweep"]["order"].as_array().expect("an order");
    let repetitions: Vec<u64> = order.iter().filter_map(|e| e["repetition"].as_u64()).collect();
    let all: Vec<u64> = (0..repetitions.len() as u64).collect();
    assert!(repetitions.len() >= 10 && repetitions == all, "{repetitions:?}");
}

fn executions(scene: &Scene) -> String {
    let names = scene.names("r");
    names.into_iter().find(|name| name.starts_with("executions-")).expect("the executions")
}

fn copy(scene: &Scene, from: &str, to: &str) {
    let mut copy = std::process::Command::new("cp");
    let copy = copy.arg("-a").arg(scene.path(from)).arg(scene.path(to));
    assert!(copy.status().is_ok_and(|done| done.success()));
}

/// Sets a value in the run.json of an execution.
fn change(scene: &Scene, one: &str, set: impl Fn(&mut Value)) {
    let path = scene.path(&format!("{one}/run.json"));
    let mut run: Value =
        serde_json::from_str(&scene.text(&format!("{one}/run.json"))).expect("JSON");
    set(&mut run);
    fs::write(path, run.to_string()).expect("written");
}

/// What is read as rows is what is read as events: every execution once, and no other.
#[test]
fn a_folder_that_is_there_twice_or_of_another_sweep_is_left_out() {
    let scene = scene();
    killed(&scene);
    let folder = executions(&scene);
    copy(&scene, &format!("r/{folder}/000000"), &format!("r/{folder}/000077"));
    copy(&scene, &format!("r/{folder}/000001"), &format!("r/{folder}/000078"));
    change(&scene, &format!("r/{folder}/000078"), |run| {
        run["run"]["sweep"]["order"][0]["cell"] = json!(40);
    });
    let said = [
        "000077 is left out: another folder holds the same",
        "000078 is left out: it is no execution",
    ];
    let cut_off = scene.parabench("report r --format json").exits(0).json();
    let order = |run: &Value| run["run"]["sweep"]["order"].as_array().map(Vec::len);
    assert_eq!(order(&cut_off), Some(5));
    let notes = cut_off["run"]["evidence"]["notes"].to_string();
    assert!(said.iter().all(|said| notes.contains(said)), "{notes}");
    let done =
        scene.parabench("run --resume r --dir d").exits(0).out_has("resumed after 4 executions");
    said.iter().fold(done, |done, said| done.err_has(said));
    assert_eq!(essence(&whole(&scene)), uninterrupted());
}

/// The figures of what is there say now that ten repetitions are enough; thirteen were finished.
#[test]
fn what_was_finished_stays_also_of_a_point_that_may_rest() {
    let text = "param $stop = 0;\nappend(\"log\", 1);\ntime[\"w\"] write(\"f\", 4k);\n\
                if (size(\"log\") == $stop) while (!exists(\"go\")) sleep(1ms);\n";
    let scene = Scene::new().file("x.ppl", text);
    let line = "run x.ppl stop=14 --dir d --until-ci 0.01% --reps 30 --events --out r";
    let call = scene.call(line).start();
    let log = || fs::metadata(scene.path("d/log")).map_or(0, |log| log.len());
    call.until("the fourteenth execution", || log() == 14);
    kill(call.pid(), 9);
    call.finish();
    fs::write(scene.path("d/go"), "").expect("written");
    let folder = executions(&scene);
    for number in 0..13 {
        change(&scene, &format!("r/{folder}/{number:06}"), |run| {
            let labels = run["labels"].as_array_mut().expect("labels");
            labels.iter_mut().for_each(|label| label["busy_ns"] = json!(1000));
        });
    }
    scene.parabench("run --resume r --dir d").exits(0).out_has("resumed after 13 executions");
    let run = whole(&scene);
    let order = run["run"]["sweep"]["order"].as_array().expect("an order").iter();
    let repetitions: Vec<u64> = order.filter_map(|e| e["repetition"].as_u64()).collect();
    assert_eq!(repetitions, (0..13).collect::<Vec<u64>>());
    assert_eq!(run["run"]["events"]["count"], 26);
    assert_eq!(log(), 14, "nothing was executed");
}

/// An execution in the middle is made again and interrupted: those after it are there all the same.
#[test]
fn what_was_finished_stays_also_if_a_resumed_sweep_is_interrupted() {
    let scene = scene();
    killed(&scene);
    fs::remove_file(scene.path("d/go")).expect("removed");
    let folder = executions(&scene);
    fs::remove_file(scene.path(&format!("r/{folder}/000001/run.json"))).expect("removed");
    // The log has five bytes again when it is made.
    fs::write(scene.path("d/log"), "1234").expect("written");
    let call = standing(&scene, "run --resume r --dir d");
    call.signal(2);
    let done = call.finish().exits(130);
    done.out_has("interrupted after 3 of at most 9").out_has("resumed after 3 executions");
    let run = scene.parabench("report r --format json").exits(0).json();
    let order = run["run"]["sweep"]["order"].as_array().expect("an order");
    assert_eq!(order.len(), 4, "three that were finished, and the one that was cut off");
    let rows = run["rows"].as_array().expect("rows").iter();
    let written = rows.filter(|row| row["op"] == "write").count();
    assert_eq!(written, 4);
    fs::write(scene.path("d/go"), "").expect("written");
    scene.parabench("run --resume r --dir d").exits(0).out_has("resumed after 3 executions, ");
    assert_eq!(essence(&whole(&scene)), uninterrupted());
}

/// The next execution cannot be stored: what there is is no finished sweep, and it goes on later.
#[test]
fn a_sweep_that_an_error_has_ended_says_so_and_goes_on() {
    let scene = scene();
    let call = standing(&scene, &format!("{LINE} stop=5 --out r"));
    let next = format!("r/{}/000005", executions(&scene));
    fs::create_dir(scene.path(&next)).expect("made");
    fs::write(scene.path("d/go"), "").expect("written");
    call.finish().exits(1).err_has("cannot store another execution");
    let run = scene.parabench("report r --format json").json();
    assert_eq!((&run["run"]["outcome"], &run["run"]["exit_code"]), (&json!("cut off"), &json!(1)));
    assert_eq!(run["run"]["sweep"]["order"].as_array().map(Vec::len), Some(5));
    scene.parabench("run --resume r --dir d").exits(0).out_has("resumed after 5 executions");
    assert_eq!(essence(&whole(&scene)), uninterrupted());
}

/// Killed while it wrote the results.
#[test]
fn files_that_a_killed_sweep_was_writing_go() {
    let scene = scene();
    killed(&scene);
    let unfinished = ["r/.run.json.a7Bc3d.tmp", "r/.events.parquet.a7Bc3d.tmp"];
    let write = || unfinished.map(|name| fs::write(scene.path(name), "{").expect("written"));
    write();
    scene.parabench("run --resume r --dir d").exits(0);
    whole(&scene);
    write();
    scene.parabench("run --resume r --dir d").exits(0).err_has("nothing is missing");
    whole(&scene);
}

/// The plan tells what no option and no text does.
#[test]
fn a_whole_sweep_is_not_that_of_other_groups_or_another_environment() {
    let text = "define groups {\"a\":D, \"b\":D};\n\
                group \"a\" write(\"f-$$rank-$$env(NAME_OF_FILE)\", 4k);\n";
    let scene = Scene::new().file("x.ppl", text);
    let line = "run x.ppl --dir d --reps 2 -n 3 -g a:1 --out r";
    let with = |line: &str, name: &str| scene.call(line).env("NAME_OF_FILE", name).run();
    with(line, "x").exits(0);
    let again = line.replace("--out", "--resume");
    with(&again, "x").exits(0).err_has("nothing is missing");
    let other = "this is not the sweep that began: the plan of all was ";
    with(&again.replace("a:1", "a:2"), "x").exits(2).err_has(other);
    with(&again, "y").exits(2).err_has(other).err_has("environment variables");
}

/// Nothing of it would be heeded; the last two are.
#[test]
fn a_sweep_is_not_resumed_with_options_that_it_does_not_take() {
    let scene = scene();
    killed(&scene);
    let before = scene.text("r/run.json");
    for options in ["--dry-run", "--backend mem", "-n 3", "--strict", "--agile", "-e", "n=4"] {
        let done = scene.parabench(&format!("run --resume r {options}"));
        let option = match options.split(' ').next() {
            Some("-n") => "--ranks",
            Some("n=4") => "",
            first => first.unwrap_or_default(),
        };
        done.exits(2).err_has(option);
        assert_eq!(scene.text("r/run.json"), before, "{options}");
    }
    fs::create_dir(scene.path("elsewhere")).expect("made");
    let call = scene.call("run --resume ../r --dir ../d --html page.html --format json");
    call.inside(scene.path("elsewhere")).run().exits(0).json();
    assert_eq!(scene.names("elsewhere"), ["page.html"]);
    assert_eq!(essence(&whole(&scene)), uninterrupted());
    scene.parabench("run --resume r --html again.html -s").exits(0);
    assert!(scene.text("again.html").contains("<html"));
}

/// As an MPI job tells it.
#[test]
fn a_run_without_mpi_tells_its_batch_job() {
    let scene = scene();
    let call = scene.call("run x.ppl --format json --out r").env("SLURM_JOB_ID", "4711");
    let run = call.run().exits(0).json();
    assert_valid(&run);
    assert_eq!(run["run"]["batch"], "slurm 4711");
    scene.parabench("report r -v").exits(0).out_has("slurm 4711");
}

/// The folder may come from somebody else: where a sweep goes on is not for it to say.
#[test]
fn a_folder_does_not_say_where_its_sweep_goes_on() {
    let scene = scene().file("mine/precious", "1").file("page", "2");
    killed(&scene);
    let command = |run: &mut Value| {
        let rest = &mut run["run"]["sweep"]["rest"];
        let words = rest["command"].as_array_mut().expect("words");
        let dir = words.iter().position(|word| word == "d").expect("the directory");
        words[dir] = json!("mine");
        let more = ["--force", "--clean", "--no-confine", "--html=page", "--launcher=touch made"];
        words.extend(more.map(|word| json!(word)));
        rest["options"] = json!([]);
    };
    change(&scene, "r", command);
    let said = "this is not the sweep that began";
    scene.parabench("run --resume r --dir d").exits(2).err_has(said);
    // In a directory of its own, no other option of that folder counts either.
    scene.parabench("run --resume r").exits(2).err_has(said);
    assert_eq!((scene.text("mine/precious"), scene.text("page")), ("1".into(), "2".into()));
    assert_eq!(scene.names("mine"), ["precious"]);
    assert!(!scene.path("made").exists());
}

#[test]
fn places_of_a_resumed_sweep_are_given_anew() {
    let scene = scene();
    killed_as(&scene, &format!("{LINE} stop=5 --confine --out r"));
    scene.parabench("report r").exits(0).out_has("/d --confine`");
    let asked = scene.parabench("run --resume r").exits(2);
    asked.err_has("places are given anew").err_has("/d --confine");
    scene.parabench("run --resume r --dir d").exits(2).err_has("add --confine");
    let other = scene.parabench("run --resume r --dir e --confine").exits(2);
    other.err_has("--dir was").err_has("/e");
    scene.parabench("run --resume r --dir d --confine").exits(0);
    assert_eq!(essence(&whole(&scene))[1], uninterrupted()[1]);
}

/// Its records cannot be seen here, but the folder of its executions is locked.
#[test]
fn a_sweep_of_another_machine_is_not_taken_over() {
    let scene = scene();
    let call = standing(&scene, &format!("{LINE} stop=5 --out r"));
    change(&scene, "r", |run| {
        run["run"]["recording"]["host"] = json!("elsewhere");
        run["run"]["recording"]["memory"] = json!("/dev/shm/parabench-records-zzzzzz");
    });
    let before = scene.text("r/run.json");
    for line in ["run --resume r --dir d", "report r --settle", "run x.ppl --out r --force"] {
        scene.parabench(line).exits(2).err_has("not finished");
        assert_eq!(scene.text("r/run.json"), before, "{line}");
    }
    kill(call.pid(), 9);
    call.finish();
    fs::write(scene.path("d/go"), "").expect("written");
    scene.parabench("run --resume r --dir d").exits(0).out_has("resumed after 4 executions");
}
