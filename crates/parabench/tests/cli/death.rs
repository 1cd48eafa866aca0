//! Ranks and parents that fail, are killed or interrupted: nobody hangs, nothing is left behind, and
//! what was measured is there. Processes are found as children of the call, by number.

use crate::figures::{events, number, row};
use crate::scene::{Done, PARABENCH, Running, Scene, kill};
use crate::schema::{assert_valid, run_object};
use model::Op;
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Writes for ever; the file tells that it has begun.
/// Where `file-0` is there, rank 0 has counted its first write.
const ENDLESS: &str =
    "time[\"work\"] { write(\"first-$$rank\", 4k); while (1) write(\"file-$$rank\", 4k); }\n";

/// The folder in memory that the ranks of a run record into.
fn memory_of(scene: &Scene, results: &str) -> std::path::PathBuf {
    let run = scene.json(&format!("{results}/run.json"));
    run["run"]["recording"]["memory"].as_str().expect("a tmpfs").into()
}

fn count(run: &Value, label: &str, op: &str) -> u64 {
    row(run, label, op)["count"].as_u64().unwrap()
}

#[test]
fn a_rank_that_fails_releases_the_others_from_a_barrier() {
    let text = "write(\"a-$$rank\", 1);\nassert($$rank != 1, \"rank one is lost\");\nbarrier;\n\
                write(\"b-$$rank\", 1);\n";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl -n 3 --format json").exits(1);
    let run = run_object(&done);
    assert_eq!(count(&run, "", "write"), 3, "nobody got past the barrier");
    assert_eq!(run["run"]["outcome"], "failed");
    let errors = run["run"]["rank_errors"].as_array().unwrap();
    let own = errors.iter().find(|error| error["rank"] == 1).unwrap();
    assert_eq!(own["place"], "x.ppl:2:1");
    assert!(own["message"].as_str().unwrap().contains("rank one is lost"));
    assert_eq!(errors.len(), 3, "{errors:#?}");
}

#[test]
fn waiting_for_what_never_comes_ends_with_who_waits_where() {
    let text = "write(\"a-$$rank\", 1);\nif ($$rank == 0) barrier; else wait(\"go\");\n";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl -n 2").exits(1);
    done.out_has("nobody could go on")
        .out_has("rank 0 waits for")
        .out_has("\"go\"")
        .out_has("x.ppl:2:");
}

#[test]
fn a_rank_that_is_killed_ends_the_run_with_what_was_measured() {
    let text = format!("{ENDLESS}barrier;\n");
    let scene = Scene::new().file("x.ppl", text.replace("while (1)", "repeat 1000000000"));
    let call = scene.call("run x.ppl -n 2 --dir d --format json").start();
    call.until("the files", || scene.path("d/file-0").exists() && scene.path("d/file-1").exists());
    let ranks = call.ranks();
    assert_eq!(ranks.len(), 2);
    kill(ranks[1], 9);
    kill(ranks[0], 9);
    let run = run_object(&call.finish().exits(1));
    assert!(count(&run, "work", "write") > 0);
    let errors = run["run"]["rank_errors"].to_string();
    assert!(errors.contains("killed by signal 9"), "{errors}");
}

#[test]
fn a_killed_rank_releases_the_others_from_a_barrier() {
    // The directory comes after the write was counted.
    let text = "write(\"file-$$rank\", 1); if ($$rank == 1) { mkdir(\"asleep\"); sleep(1h); } \
                barrier; write(\"late\", 1);";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl -n 3 --dir d --format json").start();
    call.until("the directory", || scene.path("d/asleep").exists());
    kill(call.ranks()[1], 9);
    let run = run_object(&call.finish().exits(1));
    assert_eq!(count(&run, "", "write"), 3);
}

#[test]
fn a_killed_parent_leaves_a_run_that_can_be_reported() {
    let scene = Scene::new().file("x.ppl", ENDLESS.replace("{ write", "{ repeat 20 write"));
    let call = scene.call("run x.ppl -n 2 --dir d --out results --events").start();
    call.until("the files", || scene.path("d/file-0").exists() && scene.path("d/file-1").exists());
    let ranks = call.ranks();
    kill(call.pid(), 9);
    let died = call.finish();
    assert_eq!(died.code, None);
    while ranks.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        std::thread::yield_now();
    }
    let done = scene.parabench("report results").exits(0);
    done.out_has("cut off").out_has("work").out_has("write").out_has("--settle");
    // Reading has changed nothing; pictures of the events are to be had all the same.
    assert_eq!(scene.names("results"), ["run.json"]);
    let before = scene.parabench("report results --format json --data csv").exits(0).out;
    assert!(scene.path("csv/calls-over-time.csv").exists());
    assert_eq!(scene.parabench("report results --format json").exits(0).out, before);
    let memory = memory_of(&scene, "results");
    scene.parabench("report results --settle").exits(0);
    assert!(!memory.exists());
    assert_eq!(scene.names("results"), ["events.parquet", "run.json"]);
    let run = scene.parabench("report results --format json").exits(0).json();
    assert_valid(&run);
    assert_eq!(run["rows"], serde_json::from_str::<Value>(&before).unwrap()["rows"]);
    assert!(count(&run, "work", "write") > 0);
    assert_eq!(run["run"]["outcome"], "cut off");
    assert_eq!(run["run"]["sites"][0]["line"], 1);
    assert!(run["run"]["events"]["count"].as_u64().unwrap() > 0);
}

/// Nobody is left who could remove it.
#[test]
fn the_scratch_directory_of_a_killed_run_is_named() {
    let text = "param $n = 1; write(\"file\", 1); sleep(1h);";
    let scene = Scene::new().file("x.ppl", text);
    let call = scene.call("run x.ppl --sweep n=1,2 --out r").start();
    let scratch = || {
        let names = scene.names(".");
        let found = names.into_iter().find(|name| name.starts_with("parabench-scratch-"));
        found.filter(|name| scene.path(&format!("{name}/file")).exists())
    };
    call.until("a scratch directory with a file", || scratch().is_some());
    let scratch = scratch().expect("it is there");
    assert!(!scene.parabench("report r").exits(0).out.contains("rm -r"), "it is in use");
    let ranks = call.ranks();
    kill(call.pid(), 9);
    call.finish();
    while ranks.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        std::thread::yield_now();
    }
    let removal = format!("{scratch}'` removes it");
    let told = |out: &str| out.split_whitespace().collect::<Vec<_>>().join(" ").contains(&removal);
    let done = scene.parabench("report r").exits(0).out_has("has left its scratch directory");
    assert!(told(&done.out), "{}", done.out);
    fs::write(scene.path("x.ppl"), format!("{text};")).expect("written");
    let done = scene.parabench("run --resume r").exits(2).err_has("the plan of n=1 was ");
    assert!(told(&done.err), "{}", done.err);
    scene.parabench("report r --settle").exits(0).out_has("has left its scratch directory");
    scene.parabench("report r").exits(0).out_has("has left its scratch directory");
    assert!(!scene.text("r/run.json").contains("rm -r"), "it does not hold for ever");
    fs::remove_dir_all(scene.path(&scratch)).expect("removed");
    assert!(!scene.parabench("report r").exits(0).out.contains("rm -r"));
}

#[test]
fn a_run_under_way_can_be_looked_at() {
    let scene = Scene::new().file("x.ppl", "write(\"first\", 1); write(\"file\", 1); sleep(1h);");
    let call = scene.call("run x.ppl --dir d --out results").start();
    call.until("the file", || scene.path("d/file").exists());
    let so_far =
        scene.parabench("report results").exits(0).out_has("not finished").out_has("write");
    assert!(
        so_far.out.contains("under way") && !so_far.out.contains("exit code"),
        "{}",
        so_far.out
    );
    scene.parabench("report results --settle").exits(2).err_has("is not finished");
    scene.parabench("run x.ppl --dir e --out results --force").exits(2).err_has("is not finished");
    let memory = memory_of(&scene, "results");
    call.signal(2);
    call.finish().exits(130);
    assert!(!memory.exists(), "nothing is left in memory");
    assert_eq!(scene.names("results"), ["run.json"]);
}

#[test]
fn an_interrupted_run_prints_and_stores_what_was_measured_and_tidies_up() {
    for signal in [2, 15, 10] {
        let scene = Scene::new().file("x.ppl", ENDLESS);
        let call = scene.call("run x.ppl -n 2 --out results --format json").start();
        call.until("a scratch directory with a file", || {
            let names = scene.names(".");
            let scratch = names.iter().find(|name| name.starts_with("parabench-scratch"));
            scratch.is_some_and(|name| scene.path(&format!("{name}/file-1")).exists())
        });
        call.signal(signal);
        let run = run_object(&call.finish().exits(130));
        assert_eq!(run["run"]["outcome"], "interrupted");
        assert!(count(&run, "work", "write") > 0);
        assert_eq!(scene.names("."), ["results", "x.ppl"]);
        scene.parabench("report results").exits(0).out_has("interrupted");
    }
}

#[test]
fn an_endless_loop_without_io_can_be_interrupted() {
    let scene = Scene::new().file("x.ppl", "create(\"begun\"); while (1) ;");
    let call = scene.call("run x.ppl --dir d").start();
    call.until("the file", || scene.path("d/begun").exists());
    call.signal(2);
    call.finish().exits(130).out_has("interrupted");
}

#[test]
fn a_simulated_run_can_be_interrupted() {
    let scene = Scene::new().file("x.ppl", "print \"begun\"; while (1) write(\"a\", 1);");
    let call = scene.call("run x.ppl --backend mem --format json").start();
    call.until("the first line", || call.said("begun"));
    call.signal(2);
    let run = run_object(&call.finish().exits(130));
    assert!(count(&run, "", "write") > 0);
}

#[test]
fn report_says_what_is_wrong_with_a_folder() {
    let scene = Scene::new()
        .file("empty/x", "")
        .file("bad/run.json", "{")
        .file("other/run.json", "{\"a\": 1}")
        .file("new/run.json", "{\"version\": 99, \"rows\": [], \"run\": {}}");
    scene.parabench("report nosuch").exits(2).err_has("nosuch");
    scene.parabench("report empty").exits(2).err_has("run.json");
    scene.parabench("report bad").exits(2).err_has("run.json");
    scene.parabench("report other").exits(2).err_has("run.json");
    scene.parabench("report new").exits(2).err_has("99");
}

/// Rank 1 says that it is there and sleeps; the others wait for it in some way.
fn held_by_rank_1(way: &str) -> Scene {
    let text = format!(
        "define groups {{\"g\":D = 3}};\nwrite(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\");\n\
         if ($$rank == 1) sleep(1h);\n{way}\nwrite(\"late\", 1);\n"
    );
    Scene::new().file("x.ppl", text)
}

/// All ways in which ranks wait for each other.
const WAYS: &[&str] = &[
    "barrier;",
    "group \"g\" barrier;",
    "barrier(\"g\");",
    "time[\"t\", sync] stat(\".\");",
    "if ($$rank == 1) signal(\"go\"); else wait(\"go\");",
    "group \"g\" { if ($$rank == 1) signal(\"go\"); else wait(\"go\"); }",
];

/// Their first operation is over and recorded: the next one has left its trace.
fn ranks_have_begun(scene: &Scene, ranks: u32) -> bool {
    (0..ranks).all(|rank| scene.path(&format!("d/begun-{rank}")).is_dir())
}

fn all_gone(pids: &[i32]) -> bool {
    pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

#[track_caller]
fn stored(scene: &Scene) -> Value {
    let run = scene.parabench("report results --format json").exits(0).json();
    assert_valid(&run);
    run
}

#[test]
fn a_killed_rank_releases_those_who_wait_for_it_in_any_way() {
    for way in WAYS {
        let scene = held_by_rank_1(way);
        let line = "run x.ppl -n 3 --dir d --out results --events --format json";
        let call = scene.call(line).start();
        call.until("three files", || ranks_have_begun(&scene, 3));
        let ranks = call.ranks();
        kill(ranks[1], 9);
        let run = run_object(&call.finish().exits(1));
        assert_eq!(number(&run, "", "write", "count"), 3, "{way}: nobody went on");
        assert_eq!(number(&run, "", "write", "bytes"), 3 * 4096, "{way}");
        let errors = run["run"]["rank_errors"].as_array().unwrap();
        let of = |rank: u64| errors.iter().find(|error| error["rank"] == rank);
        let own = of(1).unwrap_or_else(|| panic!("{way}: {errors:#?}"));
        assert!(own["message"].as_str().unwrap().contains("killed by signal 9"), "{own}");
        assert!(all_gone(&ranks), "{way}");
        assert_eq!(stored(&scene)["rows"], run["rows"], "{way}");
        let writes = events(&scene, "results").iter().filter(|event| event.op == Op::Write).count();
        assert_eq!(writes, 3, "{way}: the events of the dead rank too");
    }
}

#[test]
fn a_rank_that_fails_releases_those_who_wait_for_it_in_any_way() {
    for way in WAYS {
        let text = format!(
            "define groups {{\"g\":D = 3}};\nwrite(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\");\n\
             assert($$rank != 1, \"rank one is lost\");\n{way}\nwrite(\"late\", 1);\n"
        );
        let scene = Scene::new().file("x.ppl", text);
        for backend in ["posix", "mem"] {
            let line =
                format!("run x.ppl -n 3 --backend {backend} --out results --force --format json");
            let run = run_object(&scene.parabench(&line).exits(1));
            assert_eq!(number(&run, "", "write", "count"), 3, "{way} on {backend}");
            let errors = run["run"]["rank_errors"].as_array().unwrap();
            let own = errors.iter().find(|error| error["rank"] == 1).unwrap();
            assert_eq!(own["place"], "x.ppl:3:1", "{way} on {backend}");
            assert!(own["message"].as_str().unwrap().contains("rank one is lost"), "{own}");
            assert_eq!(stored(&scene)["rows"], run["rows"], "{way} on {backend}");
        }
    }
}

/// Whoever leaves early will never come to the barrier: that is told, with who waits where.
#[test]
fn a_rank_that_leaves_early_is_missed_by_name_and_place() {
    let text = "define groups {\"a\":D = 2, \"b\":D = 2};\n\
                write(\"a-$$rank\", 1);\n\
                if ($$rank == 0) {\n    stat(\".\");\n} else if ($$rank == 1) {\n    barrier;\n\
                } else if ($$rank == 2) {\n    wait(\"go\", 3);\n} else {\n    barrier(\"b\");\n}\n";
    let scene = Scene::new().file("x.ppl", text);
    for backend in ["posix", "mem"] {
        let line = format!("run x.ppl -n 4 --backend {backend} --format json");
        let run = run_object(&scene.parabench(&line).exits(1));
        assert_eq!(number(&run, "", "write", "count"), 4);
        let told = format!("{} {}", run["run"]["rank_errors"], run["run"]["evidence"]["notes"]);
        assert!(!told.contains("rank 0 waits"), "{backend}: {told}");
        let errors = run["run"]["rank_errors"].as_array().unwrap();
        for (rank, what, place) in
            [(1, "barrier", "x.ppl:6:5"), (2, "\"go\"", "x.ppl:8:5"), (3, "barrier", "x.ppl:10:5")]
        {
            let own = errors.iter().find(|error| error["rank"] == rank);
            let own = own.unwrap_or_else(|| panic!("{backend}: rank {rank} says nothing: {told}"));
            assert!(own["message"].as_str().unwrap().contains(what), "{backend}: {own}");
            assert_eq!(own["place"], place, "{backend}");
        }
    }
}

#[test]
fn a_wait_for_too_many_signals_is_found_hopeless() {
    let text = "if ($$rank > 0) signal(\"go\", to=0); else {\n    wait(\"go\", 2);\n    wait(\"go\");\n}\n";
    let scene = Scene::new().file("x.ppl", text);
    for backend in ["posix", "mem"] {
        let done = scene.parabench(&format!("run x.ppl -n 3 --backend {backend}")).exits(1);
        done.out_has("rank 0 waits").out_has("x.ppl:3:").out_has("go");
    }
    let enough = text.replace("wait(\"go\");", ";");
    Scene::new().file("x.ppl", enough).parabench("run x.ppl -n 3").exits(0);
}

/// Asleep, at a barrier, computing, in a loop without I/O: no rank outlives its parent.
#[test]
fn no_rank_outlives_a_killed_parent_wherever_it_is() {
    for rest in
        ["sleep(1h);", "if ($$rank == 0) sleep(1h); barrier;", "compute(1h);", "while (1) ;"]
    {
        let text = format!("write(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\");\n{rest}\n");
        let scene = Scene::new().file("x.ppl", text);
        let call = scene.call("run x.ppl -n 2 --dir d --out results").start();
        call.until("two files", || ranks_have_begun(&scene, 2));
        let ranks = call.ranks();
        assert_eq!(ranks.len(), 2, "{rest}");
        kill(call.pid(), 9);
        call.until("the end of all ranks", || all_gone_or_dead(&ranks));
        assert_eq!(call.finish().code, None);
        let run = stored(&scene);
        assert_eq!(number(&run, "", "write", "bytes"), 8192, "{rest}");
        assert_eq!(run["run"]["outcome"], "cut off", "{rest}");
        // A second report finds everything in order.
        assert_eq!(stored(&scene), run, "{rest}");
        assert_eq!(scene.names("results"), ["run.json"], "{rest}");
    }
}

/// Orphans may wait as zombies until somebody reaps them.
fn all_gone_or_dead(pids: &[i32]) -> bool {
    let dead = |pid: &i32| match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(_) => true,
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z')),
    };
    pids.iter().all(dead)
}

/// The directory of a killed run can be used again, and then holds both runs' files.
#[test]
fn the_directory_of_a_killed_run_can_be_used_again() {
    let scene = Scene::new()
        .file("x.ppl", "write(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\"); sleep(1h);")
        .file("y.ppl", "stat(\"first-0\");");
    let call = scene.call("run x.ppl --dir d --out results").start();
    call.until("a file", || ranks_have_begun(&scene, 1));
    kill(call.pid(), 9);
    call.finish();
    scene.parabench("run y.ppl --dir d --out results").exits(2).err_has("another run");
    scene.parabench("run y.ppl --dir d --clean --out results2").exits(0);
    assert_eq!(scene.names("d"), [".parabench"]);
    assert_eq!(stored(&scene)["run"]["program"]["name"], "x.ppl");
}

/// What a terminal does: the signal goes to the parent and to all ranks at once.
#[test]
fn ctrl_c_of_a_terminal_reaches_all_processes_and_ends_in_order() {
    let text = "write(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\");\n\
                time[\"work\"] while (1) append(\"first-$$rank\", 1);";
    for signal in ["-INT", "-TERM", "-HUP", "-QUIT"] {
        let scene = Scene::new().file("x.ppl", text);
        let mut command = Command::new(PARABENCH);
        command.args("run x.ppl -n 3 --out results --format json".split(' ')).process_group(0);
        let call = scene.command(command).start();
        let scratch = || {
            let names = scene.names(".");
            names.into_iter().find(|name| name.starts_with("parabench-scratch-"))
        };
        let begun = |name: &String| {
            (0..3).all(|rank| {
                fs::metadata(scene.path(&format!("{name}/first-{rank}")))
                    .is_ok_and(|file| file.len() > 4096)
            })
        };
        call.until("three files", || scratch().as_ref().is_some_and(begun));
        let ranks = call.ranks();
        let group = format!("-{}", call.pid());
        assert!(Command::new("kill").args([signal, "--", &group]).status().unwrap().success());
        let run = run_object(&call.finish().exits(130));
        assert_eq!(run["run"]["outcome"], "interrupted", "{signal}");
        assert_eq!(number(&run, "", "write", "count"), 3, "{signal}");
        assert!(number(&run, "work", "append", "bytes") > 0, "{signal}");
        assert_eq!(stored(&scene)["rows"], run["rows"], "{signal}");
        assert_eq!(scene.names("."), ["results", "x.ppl"], "{signal}: no scratch directory");
        assert!(all_gone(&ranks), "{signal}");
    }
}

/// A rank inside a call that does not return is waited for, until the second Ctrl-C.
#[test]
fn a_second_ctrl_c_ends_ranks_that_hang_in_a_call() {
    let text = "write(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\");\n\
                $h = fopen(\"pipe\", \"r\"); write(\"late\", 1);";
    let scene = Scene::new().file("x.ppl", text).file("d/here", "");
    assert!(Command::new("mkfifo").arg(scene.path("d/pipe")).status().unwrap().success());
    let line = "run x.ppl -n 2 --dir d --force --out results --format json";
    let call = scene.call(line).start();
    call.until("two files", || ranks_have_begun(&scene, 2));
    let ranks = call.ranks();
    call.until("a rank in open", || ranks.iter().all(|pid| state_of(*pid) == 'S'));
    call.signal(2);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!all_gone_or_dead(&ranks), "the first one waits for the statement");
    call.signal(2);
    let run = run_object(&call.finish().exits(130));
    assert_eq!(run["run"]["outcome"], "interrupted");
    assert_eq!(number(&run, "", "write", "count"), 2);
    assert!(all_gone(&ranks) && !scene.path("d/late").exists());
    assert_eq!(stored(&scene)["rows"], run["rows"]);
}

/// A stopped process (SIGSTOP) can do nothing at all.
#[test]
fn a_second_ctrl_c_ends_stopped_ranks() {
    let scene = Scene::new()
        .file("x.ppl", "write(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\"); barrier; sleep(1h);");
    let call = scene.call("run x.ppl -n 2 --dir d --format json").start();
    call.until("two files", || ranks_have_begun(&scene, 2));
    let ranks = call.ranks();
    kill(ranks[0], 19);
    call.until("a stopped rank", || state_of(ranks[0]) == 'T');
    call.signal(2);
    call.until("the end of the other", || all_gone_or_dead(&ranks[1..]));
    call.signal(2);
    let run = run_object(&call.finish().exits(130));
    assert_eq!(number(&run, "", "write", "count"), 2);
}

/// State of a process (proc(5)): R running, S asleep, T stopped, Z ended.
fn state_of(pid: i32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit(')').next().unwrap_or_default();
    rest.trim().chars().next().unwrap_or('Z')
}

/// Sleep and compute end at once, not only at the next statement.
#[test]
fn ctrl_c_ends_what_takes_long_by_itself() {
    for rest in ["sleep(1h);", "compute(1h);", "wait(\"never\");", "repeat 1000000000000 ;"] {
        let text = format!(
            "write(\"first-$$rank\", 4k); mkdir(\"begun-$$rank\");\nif ($$rank == 0) {{ {rest} }} else sleep(1h);"
        );
        let scene = Scene::new().file("x.ppl", text);
        let call = scene.call("run x.ppl -n 2 --dir d").start();
        call.until("two files", || ranks_have_begun(&scene, 2));
        call.signal(2);
        call.finish().exits(130).out_has("interrupted").out_has("write");
    }
}

/// Nobody reads what is printed, or the place for it is full.
#[test]
fn results_are_stored_although_they_cannot_be_printed() {
    let scene = Scene::new().file("x.ppl", "print \"hello\"; write(\"a\", 4k);");
    for (redirection, codes) in [(">/dev/full", &[1][..]), (">&-", &[0, 1]), ("| :", &[0, 1])] {
        for format in ["table", "json", "csv", "markdown"] {
            let mut shell = Command::new("bash");
            let line = format!(
                "set -o pipefail; {PARABENCH} run x.ppl --out results --force --format {format} \
                 {redirection}"
            );
            shell.args(["-c", &line]);
            let done: Done = scene.command(shell).run();
            assert!(done.code.is_some_and(|code| codes.contains(&code)), "{line}: {done:?}");
            assert!(!done.err.contains("panicked"), "{line}: {done:?}");
            assert_eq!(number(&stored(&scene), "", "write", "bytes"), 4096, "{line}");
            assert_eq!(scene.names("."), ["results", "x.ppl"], "{line}");
        }
    }
}

/// A run of many ranks can be stopped while it is still being set up.
#[test]
fn ctrl_c_at_any_moment_leaves_nothing_behind() {
    for wait_ms in [0, 1, 2, 3, 5, 8, 13, 20, 30, 50, 80] {
        let scene = Scene::new().file("x.ppl", "write(\"a-$$rank\", 1); sleep(1h);");
        // A shell lets its jobs in the background ignore it until they say otherwise.
        let mut heard = Command::new("env");
        heard.args(["--default-signal=INT", PARABENCH]);
        heard.args(["run", "x.ppl", "-n", "16", "--format", "json"]);
        let call: Running = scene.command(heard).start();
        let name = format!("/proc/{}/comm", call.pid());
        call.until("the program", || fs::read_to_string(&name).is_ok_and(|n| n == "parabench\n"));
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        let ranks = call.ranks();
        call.signal(2);
        let done = call.finish();
        // Before the handlers are there the signal ends the process as it ends any other.
        let unheard = done.code.is_none() && ranks.is_empty();
        assert!(done.code == Some(130) || unheard, "after {wait_ms} ms: {done:?}");
        if done.code == Some(130) {
            run_object(&done);
        }
        assert_eq!(scene.names("."), ["x.ppl"], "after {wait_ms} ms");
        assert!(all_gone(&ranks), "after {wait_ms} ms");
    }
}

/// Before the start, while ranks are at work, while the end is being written: what lies in the
/// folder can be reported, or there is none yet and that is said.
#[test]
fn a_parent_killed_at_any_moment_leaves_a_folder_that_is_understood() {
    let text = "time[\"t\"] repeat $i 300 write(\"a-$$rank-$i\", 4k);";
    let mut reported = 0;
    for wait_ms in [0, 2, 4, 6, 8, 10, 12, 15, 18, 22, 26, 30, 35, 40, 50, 60, 80, 120, 250, 500] {
        let scene = Scene::new().file("x.ppl", text);
        let call = scene.call("run x.ppl -n 3 --dir d --out results --events").start();
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        let ranks = call.ranks();
        kill(call.pid(), 9);
        call.until("the end of all ranks", || all_gone_or_dead(&ranks));
        call.finish();
        let done = scene.parabench("report results --format json");
        match done.code {
            Some(0) => {
                let run = done.json();
                assert_valid(&run);
                reported += 1;
                assert_eq!(run["run"]["ranks"], 3, "after {wait_ms} ms");
                assert_eq!(stored(&scene), run, "after {wait_ms} ms: again the same");
            }
            Some(2) => assert!(done.err.contains("results"), "after {wait_ms} ms: {}", done.err),
            _ => panic!("after {wait_ms} ms: {done:?}"),
        }
        // And the folder can be used again.
        scene.parabench("run x.ppl -n 1 --dir d --out results --force").exits(0);
    }
    assert!(reported > 0, "the last moments are late enough");
}

/// `--time-limit` is an interrupt by the clock that is no failure; nothing is asserted on how long it took.
#[test]
fn a_time_limit_ends_any_run_and_keeps_what_was_measured() {
    let waits = "write(\"file-$$rank\", 4k); if ($$rank == 0) while (1) sleep(1ms); barrier;";
    for (program, line) in [
        (ENDLESS, "run x.ppl -n 2"),
        (ENDLESS, "run x.ppl -n 2 --backend mem"),
        (waits, "run x.ppl -n 2"),
        ("write(\"file-0\", 4k); write(\"file-1\", 4k); while (1) ;", "run x.ppl"),
        ("write(\"file-0\", 4k); write(\"file-1\", 4k); sleep(1h);", "run x.ppl"),
    ] {
        // On a busy machine ranks may not have begun after a second.
        let writes = |limit: &u32| writes_until(program, &format!("{line} --time-limit {limit}s"));
        assert!([1, 4, 16, 60].iter().map(writes).any(|writes| writes >= 2), "{line}");
    }
    let scene = Scene::new().file("x.ppl", "write(\"f\", 1);");
    scene.parabench("run x.ppl --time-limit 1h").exits(0).out_has("   ok\n");
}

/// Writes that a run with a time limit has counted.
fn writes_until(program: &str, line: &str) -> u64 {
    let scene = Scene::new().file("x.ppl", program);
    let done = scene.parabench(&format!("{line} --out r")).exits(0);
    let first = done.out.lines().find(|line| line.contains("x.ppl")).unwrap_or_default();
    assert!(first.ends_with("ended by its time limit"), "{line}: {}", done.out);
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_valid(&run);
    assert_eq!(
        (&run["run"]["outcome"], &run["run"]["exit_code"]),
        (&"time limit".into(), &0.into())
    );
    assert_eq!(scene.names("."), ["r", "x.ppl"], "the scratch directory is gone");
    let writes = run["rows"].as_array().unwrap().iter().filter(|row| row["op"] == "write");
    writes.map(|row| row["count"].as_u64().unwrap()).sum()
}

/// The executions before it count, the one under way is made again by --resume.
#[test]
fn a_sweep_that_its_time_limit_ends_can_be_resumed() {
    let text = "param $n = 1; write(\"f\", 1); if ($n == 3) while (!exists(\"go\")) sleep(1ms);";
    let scene = Scene::new().file("x.ppl", text);
    let line = "run x.ppl --sweep n=1..5+1 --out r --dir d --time-limit 3s";
    scene.parabench(line).exits(0).out_has("ended by its time limit after ");
    let run = scene.parabench("report r --format json").exits(0).json();
    assert_eq!(run["run"]["outcome"], "time limit");
    fs::write(scene.path("d/go"), "").expect("written");
    scene.parabench("run --resume r --dir d -v").exits(0).out_has("resumed after ");
    let run = scene.parabench("report r --format json").exits(0).json();
    let order = run["run"]["sweep"]["order"].as_array().expect("an order");
    assert_eq!((order.len(), &run["run"]["outcome"]), (5, &"finished".into()));
}
