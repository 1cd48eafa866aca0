//! `parabench run`: options, one by one.

use crate::figures::row;
use crate::scene::Scene;
use crate::schema::run_object;
use serde_json::{Value, json};

const PAIR: &str = "time[\"write\"] repeat $i 10 write(\"f-$$rank-$i\", 4k);\n\
                    time[\"read\"] repeat $i 10 read(\"f-$$rank-$i\");\n";

#[test]
fn without_a_directory_a_scratch_one_is_used_and_removed() {
    let scene = Scene::new().file("x.ppl", PAIR);
    let done = scene.parabench("run x.ppl").exits(0).err_is("");
    done.out_has("write").out_has("read").out_has("   ok\n");
    assert_eq!(scene.names("."), ["x.ppl"]);
}

#[test]
fn keep_keeps_the_scratch_directory_and_says_where() {
    let scene = Scene::new().file("x.ppl", PAIR);
    scene.parabench("run x.ppl --keep").exits(0).err_has("kept /");
    let names = scene.names(".");
    assert!(names[0].starts_with("parabench-scratch-"), "{names:?}");
    assert_eq!(scene.names(&names[0]).len(), 11, "ten files and the marker");
}

#[test]
fn a_directory_of_ones_own_keeps_the_files_and_can_be_used_again() {
    let scene = Scene::new().file("x.ppl", PAIR);
    for _ in 0..2 {
        scene.parabench("run x.ppl --dir d").exits(0);
        assert_eq!(scene.names("d").len(), 11);
    }
    scene.parabench("run x.ppl --dir d --clean").exits(0);
    assert_eq!(scene.names("d"), [".parabench"]);
}

#[test]
fn json_is_the_object_alone_and_prints_go_elsewhere() {
    let scene = Scene::new().file("x.ppl", format!("print \"hello\";\n{PAIR}"));
    let done = scene.parabench("run x.ppl --format json -n 2").exits(0).err_has("[1] hello");
    let run = run_object(&done);
    assert_eq!(run["run"]["ranks"], 2);
    assert_eq!(row(&run, "write", "write")["count"], 20);
    assert_eq!(row(&run, "write", "write.data")["part_of"], "write");
    scene.parabench("run x.ppl").exits(0).out_has("[0] hello\n");
}

#[test]
fn a_stored_run_prints_in_every_format_what_it_printed_at_first() {
    let scene =
        Scene::new().file("x.ppl", "time[\"a|b\"] repeat 3 write(\"f\", 4k); read(\"none\");");
    for format in ["markdown", "csv", "json"] {
        let line = format!("run x.ppl --out results --force --format {format}");
        let fresh = scene.parabench(&line).exits(1);
        let stored = scene.parabench(&format!("report results --format {format}")).exits(0);
        assert_eq!(fresh.out, stored.out, "{format}");
        assert!(fresh.out.contains("write"), "{format}: {}", fresh.out);
    }
}

#[test]
fn csv_has_one_line_per_row() {
    let scene = Scene::new().file("x.ppl", PAIR);
    let done = scene.parabench("run x.ppl --format csv").exits(0);
    let lines: Vec<&str> = done.out.lines().collect();
    assert!(lines[0].starts_with("label,op,part_of,cell,repetition,count,failed"));
    assert!(lines[1].starts_with("write,write,,0,0,10,0,0,0,40960,"), "{}", lines[1]);
}

#[test]
fn out_stores_the_run_and_report_prints_the_same_tables() {
    let scene = Scene::new().file("x.ppl", PAIR);
    let done = scene.parabench("run x.ppl --out results").exits(0);
    assert_eq!(scene.names("results"), ["run.json"]);
    scene.parabench("report results").exits(0).out_is(&done.out);
    let json = scene.parabench("report results --format json").exits(0);
    assert_eq!(run_object(&json)["run"]["program"]["files"][0]["text"], PAIR);
    scene
        .parabench("report results --format csv")
        .exits(0)
        .out_has("write,write.open,write,0,0,10");
}

#[test]
fn events_are_stored_with_the_run() {
    let scene = Scene::new().file("x.ppl", PAIR);
    scene.parabench("run x.ppl -n 2 --dir d --out results --events").exits(0);
    assert_eq!(scene.names("results"), ["events.parquet", "run.json"]);
    let run = scene.json("results/run.json");
    assert_eq!(
        run["run"]["events"],
        json!({
            "file": "events.parquet", "count": 40, "dropped": 0, "sample_every": 1, "left_out": 0, "extents": [],
        })
    );
    let reader = report::events::EventReader::open(&scene.path("results")).unwrap();
    assert_eq!(reader.event_count(), 40);
}

#[test]
fn events_that_do_not_fit_are_counted() {
    let text = "repeat 100000 stat(\".\");";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl --out results --events=max=64k").exits(0);
    let run = scene.json("results/run.json");
    let (kept, dropped) = (&run["run"]["events"]["count"], &run["run"]["events"]["dropped"]);
    assert_eq!(kept.as_u64().unwrap() + dropped.as_u64().unwrap(), 100_000);
    assert!(dropped.as_u64().unwrap() > 0);
    assert_eq!(row(&run, "", "stat")["count"], 100_000);
}

#[test]
fn results_never_stand_in_the_run_directory_or_among_other_things() {
    let scene = Scene::new().file("x.ppl", PAIR).file("mine/thing", "");
    scene
        .parabench("run x.ppl --dir d --out d/results")
        .exits(2)
        .err_has("inside the run directory");
    scene.parabench("run x.ppl --out mine").exits(2).err_has("holds other things, such as thing");
    scene.parabench("run x.ppl --out x.ppl").exits(2).err_has("expected a folder, found a file");
    scene.parabench("run x.ppl --out mine --force").exits(0);
    assert_eq!(scene.names("mine"), ["run.json", "thing"]);
    assert_eq!(scene.names("."), ["d", "mine", "x.ppl"], "no scratch directory is left");
}

#[test]
fn another_run_is_not_overwritten() {
    let scene = Scene::new().file("x.ppl", PAIR).file("y.ppl", "sync;");
    scene.parabench("run x.ppl --out results").exits(0);
    scene.parabench("run y.ppl --out results").exits(2).err_has("another run").err_has("--force");
    assert_eq!(scene.json("results/run.json")["run"]["program"]["name"], "x.ppl");
    scene.parabench("run y.ppl --out results --force").exits(0);
    assert_eq!(scene.json("results/run.json")["run"]["program"]["name"], "y.ppl");
}

#[test]
fn quiet_says_nothing() {
    let scene = Scene::new().file("x.ppl", format!("print \"hello\"; $x = 7 % 3 * 2;\n{PAIR}"));
    scene.parabench("run x.ppl --quiet --keep").exits(0).out_is("").err_is("");
    let done = scene.parabench("run x.ppl -s --format json").exits(0).err_is("");
    run_object(&done);
}

#[test]
fn a_dry_run_does_everything_but_the_io() {
    let scene = Scene::new().file("x.ppl", format!("print \"hello\";\n{PAIR}"));
    let done = scene.parabench("run x.ppl --dry-run --format json -n 2 --dir d").exits(0);
    let run = run_object(&done.err_has("[0] hello"));
    assert_eq!(run["run"]["backend"], "null");
    assert_eq!(row(&run, "write", "write")["bytes"], 81920);
    assert_eq!(scene.names("."), ["x.ppl"]);
}

#[test]
fn only_executes_the_named_labels_and_what_stands_in_none() {
    let scene = Scene::new().file("x.ppl", format!("mkdir(\"d-$$rank\");\n{PAIR}"));
    scene.parabench("run x.ppl --dir d").exits(0);
    let text = format!("stat(\"d-$$rank\");\n{PAIR}");
    let done = scene.file("y.ppl", text).parabench("run y.ppl --dir d --only read --format json");
    let run = run_object(&done.exits(0));
    assert_eq!(row(&run, "read", "read")["count"], 10);
    assert_eq!(row(&run, "", "stat")["count"], 1);
    let labels: Vec<&Value> = run["rows"].as_array().unwrap().iter().map(|r| &r["label"]).collect();
    assert!(!labels.contains(&&json!("write")), "{labels:?}");
}

#[test]
fn on_error_stop_ends_the_rank_at_the_first_failure() {
    let scene = Scene::new().file("x.ppl", "stat(\"missing\");\nstat(\".\");\n");
    let on = run_object(&scene.parabench("run x.ppl --format json").exits(1));
    assert_eq!(row(&on, "", "stat")["count"], 2);
    assert_eq!(on["run"]["outcome"], "finished");
    let stopped = scene.parabench("run x.ppl --format json --on-error stop").exits(1);
    let run = run_object(&stopped);
    assert_eq!(row(&run, "", "stat")["count"], 1);
    assert_eq!(run["run"]["outcome"], "failed");
    assert!(run["run"]["rank_errors"][0]["place"].as_str().unwrap().starts_with("x.ppl:1:"));
}

#[test]
fn agile_skips_sleep() {
    let scene = Scene::new().file("x.ppl", "sleep(10h); SLEEP(99999999999);");
    scene.parabench("run x.ppl --agile").exits(0);
    scene.parabench("run x.ppl -a").exits(0);
}

#[test]
fn wait_starts_at_sigusr1() {
    let scene = Scene::new().file("x.ppl", "write(\"started\", 1);");
    let call = scene.call("run x.ppl --wait --dir d -n 2").start();
    let pid = call.pid();
    let ready = || call.said(&format!("kill -USR1 {pid}"));
    call.until("the invitation", ready);
    assert!(!scene.path("d/started").exists());
    call.signal(10);
    call.finish().exits(0);
    assert!(scene.path("d/started").exists());
    scene.parabench("run x.ppl --wait --backend mem").exits(2).err_has("--wait");
}

#[test]
fn a_run_that_waits_can_be_interrupted() {
    let scene = Scene::new().file("x.ppl", "write(\"started\", 1);");
    let call = scene.call("run x.ppl -w").start();
    call.until("the invitation", || call.said("kill -USR1"));
    call.signal(2);
    call.finish().exits(130);
    assert_eq!(scene.names("."), ["x.ppl"]);
}

#[test]
fn parameters_come_from_the_command_line_the_environment_the_program() {
    let scene =
        Scene::new().file("x.ppl", "param $n = 1; define param \"m\" $m \"1\"\nprint $n, $m;");
    scene.parabench("run x.ppl").exits(0).out_has("[0] 1 1\n");
    scene.call("run x.ppl").env("PARABENCH_n", "2").run().exits(0).out_has("[0] 2 1\n");
    let done = scene.call("run x.ppl n=3 m=4").env("PARABENCH_n", "2").run().exits(0);
    done.out_has("[0] 3 4\n");
    let run = run_object(&scene.parabench("run x.ppl n=4k --format json").exits(0));
    assert_eq!(run["run"]["params"][0], json!({"name": "n", "value": "4096"}));
}

#[test]
fn group_sizes_come_from_the_command_line() {
    let text = "define groups {\"w\":D, \"r\":D};\ngroup \"w\" print \"writer $$gsize\";";
    let scene = Scene::new().file("x.ppl", text);
    let done = scene.parabench("run x.ppl -n 3 -g w:1 --group r:2").exits(0);
    done.out_has("writer 1");
    scene.parabench("run x.ppl -n 3 -g nosuch:1").exits(2).err_has("nosuch");
}

#[test]
fn many_ranks_are_simulated_and_too_many_processes_are_refused() {
    let scene = Scene::new().file("x.ppl", "write(\"a-$$rank\", 1k); barrier;");
    scene.parabench("run x.ppl -n 100000").exits(2).err_has("4096").err_has("--backend mem");
    let done =
        scene.parabench("run x.ppl -n 2000 --backend mem --format json --out results").exits(0);
    assert_eq!(row(&run_object(&done), "", "write")["count"], 2000);
    assert_eq!(scene.names("results"), ["run.json"]);
    let done = scene.parabench("run x.ppl -n 40 --format json").exits(0);
    assert_eq!(row(&run_object(&done), "", "write")["count"], 40);
}

#[test]
fn a_drawn_seed_is_recorded_and_repeats_the_run() {
    let scene = Scene::new().file("x.ppl", "print $$rand;");
    let first = scene.parabench("run x.ppl --seed random --format json").exits(0);
    let run = run_object(&first);
    let seed = run["run"]["seed"].as_u64().unwrap();
    let again = scene.parabench(&format!("run x.ppl --seed {seed} --format json")).exits(0);
    assert_eq!(first.err, again.err);
}

#[test]
fn the_program_can_come_from_standard_input() {
    let scene = Scene::new();
    let done = scene.call("run - --format json").input(PAIR).run().exits(0);
    assert_eq!(run_object(&done)["run"]["program"]["name"], "<stdin>");
}

#[test]
fn released_calls_work() {
    let scene = Scene::new().file("old.pbl", ";\nPRINT (1)+2, \"x\";\nsleep(10000000);\n");
    scene.parabench("-a old.pbl").exits(0).out_has("[0] 3 x\n");
    let done = scene.parabench("-e -a -n 2 old.pbl").exits(0);
    run_object(&done);
    assert_eq!(scene.names("results"), ["run.json"]);
}

#[test]
fn the_working_directory_is_the_run_directory() {
    let text = "$env = \"$$env(PWD)/sub\"; mkdir($env); write(\"$env/a\", 1); print $env;";
    let scene = Scene::new().file("x.ppl", text);
    let expected = format!(
        "[0] {}\n",
        scene.path("d/sub").canonicalize().unwrap_or(scene.path("d/sub")).display()
    );
    scene.parabench("run x.ppl --dir d").exits(0).out_has(&expected);
    assert!(scene.path("d/sub/a").exists());
}

/// Nobody shall believe that a queue was measured where there was none.
#[test]
fn trap_42_an_option_without_effect_is_warned_of_and_marked() {
    let text = "with (depth=32) repeat $i 4 append(\"f\", 64k);\n";
    let scene = Scene::new().file("x.ppl", text);
    let done = scene.parabench("run x.ppl --backend mem --format json").exits(0);
    let done = done.err_has("W0403").err_has("x.ppl:1:7").err_has("depth=32 has no effect");
    let run = run_object(&done);
    let said = &run["run"]["evidence"]["options_without_effect"][0];
    assert!(said.as_str().unwrap().starts_with("x.ppl:1:7: depth=32 has no effect"), "{said}");
    let marks = run["run"]["evidence"]["marks"].as_array().unwrap();
    assert!(marks.iter().any(|mark| mark["code"] == "option-without-effect"), "{marks:?}");
    scene.parabench("run x.ppl --backend mem --strict").exits(3);
    scene.parabench("run x.ppl --backend mem --reps 2 --strict").exits(3);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let scene = Scene::new().file("x.ppl", PAIR);
    for (line, said) in [
        ("run x.ppl -e --format csv", "--format"),
        ("plan x.ppl --rank 0", "--ops"),
        ("compare a b --gate-undecided pass", "--gate"),
        ("pattern --kinds --format json", "--kinds"),
    ] {
        scene.parabench(line).exits(2).err_has(said);
    }
}

/// The scratch directory lies where the command is given, which may be the folder for the results.
#[test]
fn results_go_where_the_command_is_given() {
    let scene = Scene::new().file("p/x.ppl", "write(\"f\", 4k);\n");
    std::fs::create_dir(scene.path("e")).expect("a folder");
    scene.call("run ../p/x.ppl --out .").inside(scene.path("e")).run().exits(0);
    assert_eq!(scene.names("e"), ["run.json"]);
    scene
        .call("run ../p/x.ppl --out . --dir d")
        .inside(scene.path("e"))
        .run()
        .exits(2)
        .err_has("another run");
    std::fs::remove_file(scene.path("e/run.json")).expect("removed");
    scene.call("run ../p/x.ppl --out . --dir d").inside(scene.path("e")).run().exits(0);
    assert_eq!(scene.names("e"), ["d", "run.json"]);
    std::fs::remove_file(scene.path("e/run.json")).expect("removed");
    let done = scene.call("run ../p/x.ppl --out .").inside(scene.path("e")).run().exits(2);
    done.err_has("holds other things, such as d");
}
