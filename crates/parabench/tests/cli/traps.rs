//! Traps that other tools fell into; a test's number is that of the trap in their list.

use crate::figures::{events, number, row};
use crate::scene::{Done, Scene, kill, root};
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use model::Op;
use model::op::{Needs, OPS, ParamKind};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Lines that ranks have printed, without the rank.
fn printed(done: &Done) -> Vec<String> {
    let lines = done.out.lines().chain(done.err.lines());
    lines.filter_map(|line| line.strip_prefix("[0] ")).map(str::to_string).collect()
}

#[test]
fn trap_01_json_is_valid_at_every_verbosity_with_warnings_without_results_after_an_abort() {
    let warned = "$x = 7 % 3 * 2; print $x; write(\"a\", 1);";
    let nothing = ";";
    let aborted = "print 1; write(\"a\", 1); assert(false, \"stop \\\"here\\\"\\n\");";
    for (text, code) in [(warned, 0), (nothing, 0), (aborted, 1), ("write(\"a\"", 2)] {
        let scene = Scene::new().file("x.ppl", text);
        for options in [
            "",
            "--quiet",
            "--out results --force",
            "--events --out results --force",
            "--backend mem",
            "--dry-run",
            "--strict",
            "-n 3",
            "--only nosuch",
        ] {
            let done = scene.parabench(&format!("run x.ppl --format json {options}"));
            // A single write is too short for a rate: the verdict counts.
            let strict = options == "--strict" && code == 0 && text == warned;
            run_object(&done.exits(if strict { 3 } else { code }));
        }
    }
}

#[test]
fn trap_02_every_record_names_host_and_run() {
    let scene = Scene::new().file("x.ppl", "stat(\"missing\"); assert(false);");
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(1));
    let header = &run["run"];
    for field in ["name", "kernel", "directory", "mount", "file_system"] {
        assert_ne!(header["host"][field], "", "{field}");
    }
    let started = header["started"].as_str().unwrap();
    assert!(started.ends_with('Z') && started.len() == 20, "{started}");
    assert_eq!(header["parabench"], env!("CARGO_PKG_VERSION"));
    assert_eq!(header["program"]["files"][0]["name"], "x.ppl");
    assert_eq!(header["failures"][0]["rank"], 0);
    assert_eq!(header["rank_errors"][0]["rank"], 0);
}

#[test]
fn trap_05_the_run_time_is_right_for_every_number_of_ranks() {
    let text =
        "time[\"work\"] compute(10ms); barrier; time[\"late\"] if ($$rank == 0) compute(5ms);";
    let scene = Scene::new().file("x.ppl", text);
    for ranks in [1, 2, 7, 64] {
        let line = format!("run x.ppl --backend mem -n {ranks} --format json");
        let run = run_object(&scene.parabench(&line).exits(0));
        let duration = run["run"]["duration_wall_ns"].as_u64().unwrap();
        assert!((15_000_000..15_100_000).contains(&duration), "{ranks} ranks: {duration}");
        assert_eq!(run["times"][0]["max_ns"].as_u64().unwrap() / 1000, 10_000);
        assert_eq!(run["times"][0]["ranks"], ranks);
        assert_eq!(run["times"][1]["slowest_rank"], 0);
    }
}

#[test]
fn trap_09_random_offsets_never_repeat_and_need_no_memory() {
    let text = "repeat $i 1000 print perm($i, 1000);";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl").exits(0);
    let seen: BTreeSet<u32> = printed(&done).iter().map(|n| n.parse().unwrap()).collect();
    assert_eq!(seen, (0..1000).collect());
    // A thousand million elements: a table of them would need 8 GB.
    let text = "repeat $i 1000 print perm($i * 999983, 1000000000);";
    let scene = Scene::new().file("x.ppl", text);
    let mut shell = Command::new("sh");
    let limited =
        format!("ulimit -v 4000000; exec {} run x.ppl --backend mem", crate::scene::PARABENCH);
    shell.args(["-c", &limited]);
    let done = scene.command(shell).run().exits(0);
    let seen: BTreeSet<u32> = printed(&done).iter().map(|n| n.parse().unwrap()).collect();
    assert_eq!(seen.len(), 1000);
}

#[test]
fn trap_12_the_same_seed_gives_the_same_offsets_and_the_same_data() {
    let text = "param $n = 64; write(\"a\", 64k);\n\
                repeat $i $n print perm($i, $n), rand(0, 1000000), $$rand, $$crand;";
    let scene = Scene::new().file("x.ppl", text);
    let made = |directory: &str, options: &str| {
        let line = format!("run x.ppl --dir {directory} {options}");
        let done = scene.parabench(&line).exits(0);
        (printed(&done), fs::read(scene.path(&format!("{directory}/a"))).unwrap())
    };
    let first = made("d1", "--seed 7");
    assert_eq!(first, made("d2", "--seed 7"));
    assert_eq!(first, made("d3", "--events --out results --seed=7 n=64"));
    let other = made("d4", "--seed 8");
    assert_ne!(first.0, other.0);
    assert_ne!(first.1, other.1);
    assert_eq!(made("d5", ""), made("d6", "--seed 42"), "the default is 42");
}

#[test]
fn trap_13_files_foreign_directories_and_mounts_are_refused() {
    let scene =
        Scene::new().file("x.ppl", "write(\"a\", 1);").file("full/thing", "").file("file", "");
    scene.parabench("run x.ppl --dir file").exits(2).err_has("file");
    scene.parabench("run x.ppl --dir full").exits(2).err_has("--force");
    scene.parabench("run x.ppl --dir nosuch/sub").exits(2).err_has("nosuch");
    scene.parabench("run x.ppl --dir /").exits(2);
    scene.parabench("run x.ppl --dir .").exits(2);
    scene.parabench("run x.ppl --dir ..").exits(2);
    scene.parabench("run x.ppl --dir /dev").exits(2);
    scene.parabench("run x.ppl --dir /dev/null").exits(2);
    assert_eq!(scene.names("full"), ["thing"]);
    symlink("full", scene.path("link")).unwrap();
    scene.parabench("run x.ppl --dir link").exits(2).err_has("--force");
    scene.parabench("run x.ppl --dir full --force").exits(0);
    assert_eq!(scene.names("full"), [".parabench", "a", "thing"]);
    scene.parabench("run x.ppl --dir full --force --clean").exits(2);
    let scene = scene.file("parent/m/mount", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("parent/m"), "size=1m") else { return };
    scene.parabench("run x.ppl --dir parent").exits(2).err_has("--force");
    scene.parabench("run x.ppl --dir parent/m").exits(0);
}

#[test]
fn trap_15_failures_are_one_clear_message_and_lose_nothing() {
    let text = "time[\"good\"] write(\"a\", 4k);\nmkdir(\"d\");\ntime[\"bad\"] {\n    read(\"missing\");\n    read(\"a/b\");\n    rmdir(\".\");\n    mkdir(\"d\");\n}\n";
    let done = Scene::new().file("x.ppl", text).parabench("run x.ppl --format json").exits(1);
    let run = run_object(&done);
    assert_eq!(row(&run, "good", "write")["bytes"], 4096);
    let failures = run["run"]["failures"].as_array().unwrap();
    let told: Vec<(&str, &str, u64)> = failures
        .iter()
        .map(|f| {
            (
                f["place"].as_str().unwrap(),
                f["path"].as_str().unwrap(),
                f["errno"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("x.ppl:4:5", "missing", 2),
        ("x.ppl:5:5", "a/b", 20),
        ("x.ppl:6:5", ".", 22),
        ("x.ppl:7:5", "d", 17),
    ];
    assert_eq!(told, expected);
    assert!(failures.iter().all(|f| f["rank"] == 0 && f["offset_bytes"] == 0));
}

#[test]
fn trap_25_the_tool_is_measured_by_itself() {
    let scene = Scene::new().file("x.ppl", "time[\"t\"] repeat 10000 write(\"a\", 4k);");
    let run = run_object(&scene.parabench("run x.ppl --dry-run --format json").exits(0));
    assert_eq!(row(&run, "t", "write")["count"], 10_000);
    assert!(row(&run, "t", "write")["mib_s"].as_f64().unwrap() > 0.0);
    let evidence = &run["run"]["evidence"];
    assert!(evidence["cpu_ns"].as_u64().unwrap() > 0);
    assert!(evidence["clock_read_ns"].as_f64().unwrap() > 0.0);
}

#[test]
fn trap_26_more_than_2_to_the_31_bytes_in_one_call() {
    let text = "time[\"one\"] write(\"a\", 5g); time[\"four\"] repeat 4 append(\"b\", 1g);\n\
                time[\"read\"] { $h = fopen(\"a\", \"r\"); fread($h, 5g, 1); fclose($h); }";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl --dry-run --format json").exits(0));
    assert_eq!(row(&run, "one", "write")["bytes"], 5u64 << 30);
    assert_eq!(row(&run, "four", "append")["bytes"], 4u64 << 30);
    // On real files, sparse ones: 3 GiB with one read, at an offset that needs 64 bits.
    let text = "$h = fopen(\"a\", \"w+\"); ftruncate($h, 8g);\n\
                time[\"read\"] fread($h, 3g, 5g); fwrite($h, 1, 8g); fstat($h); fclose($h);\n\
                assert(size(\"a\") == 8 * 1024 * 1024 * 1024 + 1);";
    let scene = Scene::new().file("x.ppl", text);
    let run = run_object(&scene.parabench("run x.ppl --format json").exits(0));
    assert_eq!(row(&run, "read", "fread")["bytes"], 3u64 << 30);
    assert_eq!(row(&run, "read", "fread")["short"], 0);
}

#[test]
fn trap_28_buffers_are_not_zeros_and_do_not_compress() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1m);");
    scene.parabench("run x.ppl --dir d").exits(0);
    let bytes = fs::read(scene.path("d/a")).unwrap();
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    // 4096 of each expected; 12 standard deviations allowed.
    assert!(counts.iter().all(|count| count.abs_diff(4096) < 12 * 64), "{counts:?}");
    let blocks: BTreeSet<&[u8]> = bytes.chunks(4096).collect();
    assert_eq!(blocks.len(), 256, "no block occurs twice");
}

#[test]
fn trap_29_failed_operations_give_a_non_zero_exit_status() {
    for text in [
        "stat(\"a\");",
        "read(\"a\");",
        "rmdir(\"a\");",
        "$h = fopen(\"a\", \"r\");",
        "$h = fopen(\"a\", \"r\"); fread($h, 1); fclose($h);",
    ] {
        for backend in ["posix", "mem"] {
            let scene = Scene::new().file("x.ppl", text);
            scene.parabench(&format!("run x.ppl --backend {backend} --quiet")).exits(1);
        }
    }
}

#[test]
fn trap_30_an_error_on_one_rank_does_not_hang_the_others() {
    let scene = Scene::new().file("x.ppl", "writ(1);");
    scene.parabench("run x.ppl -n 8").exits(2);
    let late =
        "if ($$rank == 3) { $x = 1 / ($$rank - 3); } barrier; time[\"t\", sync] stat(\".\");";
    for backend in ["posix", "mem"] {
        let scene = Scene::new().file("x.ppl", late);
        let done = scene.parabench(&format!("run x.ppl -n 8 --backend {backend}")).exits(1);
        done.out_has("division by zero").out_has("x.ppl:1:");
    }
}

#[test]
fn trap_31_hard_labels_survive_every_output_format() {
    let long = "x".repeat(300);
    for (written, label) in [
        ("a \\\"quoted\\\" one", "a \"quoted\" one"),
        ("commas, and; more", "commas, and; more"),
        ("two\\nlines\\tand a tab", "two\nlines\tand a tab"),
        ("grün ✓", "grün ✓"),
        ("\\x1b[31mred", "\u{1b}[31mred"),
        (&long, &long),
    ] {
        let scene = Scene::new().file("x.ppl", format!("time[\"{written}\"] write(\"a\", 1);"));
        let run =
            run_object(&scene.parabench("run x.ppl --format json --events --out results").exits(0));
        assert_eq!(row(&run, label, "write")["count"], 1);
        assert_eq!(run["times"][0]["label"], label);
        let mut reader = report::events::EventReader::open(&scene.path("results")).unwrap();
        assert_eq!(reader.by_ref().count(), 1);
        assert!(reader.labels().iter().any(|l| l == label), "{:?}", reader.labels());
        let table = scene.parabench("report results").exits(0);
        assert!(!table.out.contains('\u{1b}'), "{}", table.out);
        let csv = scene.parabench("report results --format csv").exits(0);
        let mut reader = csv::Reader::from_reader(csv.out.as_bytes());
        let record = reader.records().next().unwrap().unwrap();
        assert_eq!(model::escape::value(&record[0]), label);
    }
}

#[test]
fn trap_32_a_million_repetitions_of_a_label_keep_memory_bounded() {
    let scene = Scene::new().file("x.ppl", "repeat 1000000 time[\"t\"] stat(\".\");");
    let done = scene.parabench("run x.ppl --dry-run --format json --out results").exits(0);
    let run = run_object(&done);
    assert_eq!(row(&run, "t", "stat")["count"], 1_000_000);
    assert_eq!(run["times"].as_array().unwrap().len(), 1000);
    let more: &Value = &run["run"]["times_more"][0];
    assert_eq!(more["count"], 999_000);
    assert!(fs::metadata(scene.path("results/run.json")).unwrap().len() < 1 << 20);
}

fn json(scene: &Scene, line: &str, code: i32) -> Value {
    run_object(&scene.parabench(&format!("run {line} --format json")).exits(code))
}

/// Also what comes out of `report` is valid, whatever became of the run.
#[test]
fn trap_01_json_from_stored_runs_is_valid_too() {
    for (text, code) in [
        (";", 0),
        ("stat(\"\\x01\\x7f\\\"\");", 1),
        ("time[\"\\x00\\xff\"] write(\"a\\xff\", 1); assert(0, \"\\x02\\xff\");", 1),
        ("print 1; $n = $$rank; $x = 1 / $n; barrier;", 1),
    ] {
        for options in ["-n 1", "-n 2 --events", "--quiet", "--on-error stop", "--strict"] {
            let scene = Scene::new().file("x.ppl", text);
            let line = format!("run x.ppl {options} --out results --format json");
            let ran = run_object(&scene.parabench(&line).exits(code));
            let told = scene.parabench("report results --format json").exits(0);
            assert_eq!(run_object_of_report(&told)["rows"], ran["rows"], "{text} {options}");
        }
    }
}

fn run_object_of_report(done: &Done) -> Value {
    let run = done.json();
    crate::schema::assert_valid(&run);
    run
}

#[test]
fn trap_02_every_event_names_its_host_and_every_figure_its_place() {
    let scene = Scene::new().file("x.ppl", "time[\"t\"] {\n  write(\"a-$$rank\", 1);\n}\n");
    let run = json(&scene, "x.ppl -n 3 --events --out results", 0);
    let host = run["run"]["host"]["name"].as_str().unwrap();
    let mut reader = report::events::EventReader::open(&scene.path("results")).unwrap();
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), 3);
    let hosts: BTreeMap<u32, String> = (0..3).map(|rank| (rank, host.to_string())).collect();
    assert_eq!(*reader.hosts(), hosts);
    let sites = run["run"]["sites"].as_array().unwrap();
    assert!(sites.iter().any(|site| site["line"] == 2 && site["op"] == "write"), "{sites:#?}");
}

/// On the real clock times cannot be foretold, but they must fit each other, and none can
/// be shorter than the sleep within.
#[test]
fn trap_05_real_times_fit_each_other_for_every_number_of_ranks() {
    let text = "repeat 3 time[\"t\"] { sleep(3ms); repeat 20 write(\"a-$$rank\", 4k); }";
    for ranks in [1, 2, 5] {
        let scene = Scene::new().file("x.ppl", text);
        let run = json(&scene, &format!("x.ppl -n {ranks}"), 0);
        let whole_ns = run["run"]["duration_wall_ns"].as_u64().unwrap();
        let times = run["times"].as_array().unwrap();
        assert_eq!(times.len(), 3);
        let mut spans_ns = 0;
        let label = &run["labels"][0];
        let label_ns = label["busy_ns"].as_u64().unwrap();
        for (index, time) in times.iter().enumerate() {
            let field = |name: &str| time[name].as_u64().unwrap_or_else(|| panic!("{name}"));
            assert_eq!((field("index"), field("ranks")), (index as u64, ranks));
            let span_ns = field("last_end_ns") - field("first_start_ns");
            assert!(field("max_ns") >= 3_000_000 && field("max_ns") <= span_ns, "{time}");
            assert!(field("last_end_ns") <= whole_ns, "{time} of {whole_ns}");
            assert!(label_ns >= field("max_ns"), "{time} of {label}");
            spans_ns += span_ns;
        }
        assert!(label_ns <= spans_ns, "{label} in {spans_ns}");
        assert_eq!((&label["occurrences"], &label["busy_is_bound"]), (&3.into(), &false.into()));
        let write = row(&run, "t", "write");
        let busy_ns = write["mean_ns"].as_f64().unwrap() * (60 * ranks) as f64;
        assert!(busy_ns <= (label_ns * ranks) as f64 * 1.001, "{busy_ns} in {label_ns}");
        let rate = write["bytes"].as_f64().unwrap() / 1048576.0 / (label_ns as f64 / 1e9);
        let told = write["mib_s"].as_f64().unwrap();
        assert!((told / rate - 1.0).abs() < 1e-6, "{told} reported, {rate} from the busy time");
    }
}

/// The offsets that real reads had, over all ranks.
#[test]
fn trap_09_random_offsets_of_a_run_form_a_permutation() {
    let scene = Scene::new();
    let example = root().join("examples/random.ppl");
    for ranks in [1, 3] {
        let line = format!("run {} -n {ranks} --events --force --out results", example.display());
        scene.parabench(&line).exits(0);
        let reads = events(&scene, "results").into_iter().filter(|event| event.op == Op::Fread);
        let offsets: Vec<u64> = reads.map(|event| event.offset_bytes).collect();
        let different: BTreeSet<u64> = offsets.iter().copied().collect();
        assert_eq!(offsets.len(), 512);
        assert_eq!(different, (0..512).map(|block| block * 4096).collect());
        assert!(!offsets.is_sorted(), "in random order");
    }
    // What will be read is known before: plan lists the same offsets.
    let line = format!("plan {} -n 1 --ops 2000 --format json", example.display());
    let plan = scene.parabench(&line).exits(0).json();
    let calls = plan["calls"]["ranks"][0]["calls"].as_array().unwrap();
    let reads = calls.iter().filter(|call| call.as_str().unwrap().starts_with("pread"));
    let different: BTreeSet<&str> = reads.map(|call| call.as_str().unwrap()).collect();
    assert_eq!(different.len(), 512);
}

#[test]
fn trap_12_the_same_seed_gives_the_same_events_and_the_same_files() {
    let text = "$h = fopen(\"a-$$rank\", \"w+\");\n\
                repeat $i 64 fwrite($h, rand(1, 5000), perm($i, 64) * 5000 + rand(0, 9));\n\
                repeat $i 64 fread($h, 1 + zipf(100, 1.1), $$rand % 300000);\n\
                fclose($h); write(\"b-$$rank\", rand(0, 100000));\n";
    let scene = Scene::new().file("x.ppl", text);
    let made = |name: &str, options: &str| {
        let line = format!("run x.ppl -n 2 --dir d{name} --out r{name} --events {options}");
        scene.parabench(&line).exits(0);
        let files = ["a-0", "a-1", "b-0", "b-1"];
        let bytes = files.map(|file| fs::read(scene.path(&format!("d{name}/{file}"))).unwrap());
        (events(&scene, &format!("r{name}")), bytes)
    };
    let first = made("1", "--seed 7");
    assert!(first == made("2", "--seed 7"), "the same seed");
    let other = made("3", "--seed 8");
    let offsets = |(events, _): &(Vec<crate::figures::Happened>, _)| -> Vec<u64> {
        events.iter().map(|event| event.offset_bytes).collect()
    };
    assert!(offsets(&first) != offsets(&other) && first.1 != other.1, "another seed");
    assert!(first.1[0] != first.1[1], "another rank");
}

#[test]
fn trap_13_what_is_not_an_own_directory_is_refused_and_left_alone() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1);").file("mine/sub/thing", "precious");
    let pipe = Command::new("mkfifo").arg(scene.path("pipe")).status().expect("mkfifo runs");
    assert!(pipe.success());
    symlink("nowhere", scene.path("dangling")).unwrap();
    symlink("dangling2", scene.path("dangling2")).unwrap();
    for directory in [
        "pipe",
        "dangling",
        "dangling2",
        "mine",
        "mine/",
        "./mine/../mine",
        "mine/sub",
        "/proc",
        "/etc",
    ] {
        let done = scene.parabench(&format!("run x.ppl --dir {directory}")).exits(2);
        let named = done.err.contains("error: --dir ") || done.err.contains(directory);
        assert!(named, "{directory}: {}", done.err);
        // --clean is no permission, and neither is --keep.
        scene.parabench(&format!("run x.ppl --keep --clean --dir {directory}")).exits(2);
    }
    scene.call("run x.ppl").word("--dir").word("").run().exits(2);
    assert_eq!(scene.text("mine/sub/thing"), "precious");
    assert_eq!(scene.names("mine"), ["sub"]);
    assert_eq!(scene.names("."), ["dangling", "dangling2", "mine", "pipe", "x.ppl"]);
    // With --force it is used, and what was there stays, also with --clean.
    scene.parabench("run x.ppl --dir mine --force").exits(0);
    assert_eq!(scene.text("mine/sub/thing"), "precious");
}

#[test]
fn trap_13_a_marker_of_somebody_else_is_none() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1);").file("elsewhere", "");
    for (name, marker) in [("empty", ""), ("other", "something else\n"), ("binary", "\u{0}\u{1}")] {
        fs::create_dir(scene.path(name)).unwrap();
        fs::write(scene.path(&format!("{name}/.parabench")), marker).unwrap();
        fs::write(scene.path(&format!("{name}/thing")), "precious").unwrap();
        scene.parabench(&format!("run x.ppl --dir {name} --clean")).exits(2);
        assert_eq!(scene.text(&format!("{name}/thing")), "precious");
    }
    // A marker that is a link, or a directory, is refused as well.
    scene.parabench("run x.ppl --dir own").exits(0);
    fs::create_dir(scene.path("linked")).unwrap();
    fs::write(scene.path("linked/thing"), "precious").unwrap();
    symlink("../own/.parabench", scene.path("linked/.parabench")).unwrap();
    scene.parabench("run x.ppl --dir linked --clean").exits(2);
    fs::create_dir_all(scene.path("folder/.parabench")).unwrap();
    scene.parabench("run x.ppl --dir folder --clean").exits(2);
    assert_eq!(scene.text("linked/thing"), "precious");
}

/// EACCES, for somebody who is not root.
#[test]
fn trap_15_a_refusal_of_permission_is_one_clear_message() {
    let text = "mkdir(\"d\"); write(\"d/a\", 10);\nchmod(\"d\", 0);\nread(\"d/a\");\n\
                chmod(\"d\", 511); time[\"after\"] read(\"d/a\");\n";
    let Some(scene) = scene_of_nobody(text) else { return };
    let done = as_nobody(&scene, "run x.ppl --dir run --format json").exits(1);
    let run = run_object(&done);
    assert_eq!(number(&run, "after", "read", "bytes"), 10);
    let failure = &run["run"]["failures"][0];
    assert_eq!(failure["message"], "EACCES: Permission denied");
    assert_eq!((&failure["place"], &failure["path"]), (&"x.ppl:3:1".into(), &"d/a".into()));
    assert_eq!((&failure["rank"], &failure["occurrences"]), (&0.into(), &1.into()));
    // A directory that may not be written in is refused before anything happens.
    fs::create_dir(scene.path("closed")).unwrap();
    as_nobody(&scene, "run x.ppl --dir closed").exits(2).err_has("closed").err_has("denied");
    as_nobody(&scene, "run x.ppl --dir closed/new").exits(2).err_has("closed");
    assert_eq!(scene.names("closed"), [""; 0]);
}

/// A scene that a user without rights may enter, with a place that is theirs.
fn scene_of_nobody(text: &str) -> Option<Scene> {
    let scene = Scene::new().file("x.ppl", text);
    fs::create_dir(scene.path("run")).unwrap();
    let folder = scene.path("").display().to_string();
    let run = scene.path("run").display().to_string();
    let root = Command::new("chmod").args(["755", &folder]).output().is_ok()
        && Command::new("chown")
            .args(["65534:65534", &run])
            .output()
            .is_ok_and(|o| o.status.success());
    let reachable = root && as_nobody(&scene, "--version").code == Some(0);
    if !reachable {
        println!("SKIPPED: cannot start the program as another user (are you root?)");
    }
    reachable.then_some(scene)
}

fn as_nobody(scene: &Scene, line: &str) -> Done {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    command.arg(crate::scene::PARABENCH).args(line.split_whitespace());
    scene.command(command).run()
}

#[test]
fn trap_25_the_null_back_end_makes_the_same_statements_and_no_call() {
    let text = "time[\"t\"] repeat $i 500 { write(\"a-$$rank-$i\", 4k); read(\"a-$$rank-$i\"); delete(\"a-$$rank-$i\"); }";
    let scene = Scene::new().file("x.ppl", text);
    let real = json(&scene, "x.ppl -n 2", 0);
    let null = json(&scene, "x.ppl -n 2 --backend null", 0);
    for op in ["write", "read", "delete"] {
        assert_eq!(number(&real, "t", op, "count"), number(&null, "t", op, "count"), "{op}");
        assert!(null["rows"][0]["mean_ns"].as_f64().unwrap() > 0.0);
    }
    let evidence = &null["run"]["evidence"];
    assert!(
        evidence["cpu_ns"].as_u64().unwrap() > 0 && evidence["clock_read_ns"].as_f64() > Some(0.0)
    );
    assert_eq!(scene.names("."), ["x.ppl"]);
}

/// The kernel moves at most 2 GiB - 4 KiB in a call, so that one statement needs two, and the
/// second a position that 32 bits cannot hold. Large pages, because this takes its time.
#[test]
fn trap_26_more_than_2_gib_in_one_fwrite() {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = available.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    if kib.is_none_or(|kib| kib < 7 << 20) {
        println!("SKIPPED: less than 7 GiB of memory");
        return;
    }
    let text = "with (data=\"zero\") {\n\
                $h = fopen(\"a\", \"w+\"); time[\"write\"] fwrite($h, 2052m); time[\"end\"] fwrite($h, 10);\n\
                fclose($h); }\n\
                assert(size(\"a\") == 2052 * 1024 * 1024 + 10);\n";
    let scene = Scene::new().file("x.ppl", text).file("m/here", "");
    let Some(_mounted) = Tmpfs::mount(&scene.path("m"), "size=3g,huge=always") else { return };
    let run = json(&scene, "x.ppl --dir m --events --out results", 0);
    assert_eq!(number(&run, "write", "fwrite", "bytes"), 2052 << 20);
    assert_eq!(number(&run, "write", "fwrite", "count"), 1);
    assert!(row(&run, "write", "fwrite")["mib_s"].as_f64().unwrap() > 0.0);
    let end = &events(&scene, "results")[2];
    assert_eq!((end.offset_bytes, end.done_bytes), (2052 << 20, 10));
}

#[test]
fn trap_28_written_bytes_do_not_compress_whichever_way_they_are_written() {
    let text = "write(\"w-$$rank\", 256k); append(\"w-$$rank\", 256k);\n\
                $h = fopen(\"f-$$rank\", \"w\"); repeat 4 fwrite($h, 64k); fclose($h);\n\
                with (transfer=4k) write(\"t-$$rank\", 256k);\n\
                with (data=\"offset\") write(\"o\", 256k);\n\
                with (data=\"zero\") write(\"z\", 256k);\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl -n 2 --dir d").exits(0);
    let bytes = |name: &str| fs::read(scene.path(&format!("d/{name}"))).unwrap();
    for name in ["w-0", "f-0", "t-0", "o", "w-1"] {
        let piece = &bytes(name)[..4096];
        let different: BTreeSet<&[u8]> = piece.chunks(8).collect();
        assert_eq!(different.len(), 512, "{name}: no eight bytes occur twice");
        let ones: u32 = piece.iter().map(|byte| byte.count_ones()).sum();
        assert!(ones.abs_diff(4096 * 4) < 1000, "{name}: {ones} of 32768 bits are set");
    }
    assert!(bytes("w-0")[..4096] != bytes("w-1")[..4096], "two ranks share nothing");
    assert!(bytes("z").iter().all(|byte| *byte == 0), "unless zeros are asked for");
}

/// Number of 4 KiB blocks in these files, and of different ones.
fn blocks(files: &[Vec<u8>]) -> (usize, usize) {
    let all = files.iter().flat_map(|file| file.chunks(4096));
    let different: BTreeSet<&[u8]> = all.clone().collect();
    (all.count(), different.len())
}

/// Files of a directory.
fn contents(directory: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.file_name().is_some_and(|name| name != ".parabench"));
    files.map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn trap_34_no_block_is_written_twice() {
    let text = "repeat $i 50 write(\"file-$i-$$rank\", 4k);\n\
                repeat 20 append(\"log-$$rank\", 1000);\n\
                $h = fopen(\"shared\", \"O_RDWR|O_CREAT\");\n\
                repeat $i 300 fwrite($h, 4k, ($i * 2 + $$rank) * 4k);\n\
                repeat $i 100 fwrite($h, 47008, 4m + ($i * 2 + $$rank) * 47008);\n\
                fclose($h);\n\
                define pattern \"p\" level 0 = strided(block=700, count=64);\n\
                $h = fopen(\"pieces-$$rank\", \"w\"); fwrite($h, \"p\"); fclose($h);\n\
                write(\"large-$$rank\", 20m); with (transfer=64k) write(\"cut-$$rank\", 20m);\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl -n 2 --dir d").exits(0);
    let mut files = contents(&scene.path("d"));
    assert_eq!(files.len(), 2 * 54 + 1);
    // The shared file has a hole behind the first accesses.
    files.retain(|file| !file.is_empty());
    let holes = |block: &&[u8]| block.iter().any(|byte| *byte != 0);
    for file in &mut files {
        let kept: Vec<u8> = file.chunks(4096).filter(holes).flatten().copied().collect();
        *file = kept;
    }
    let (all, different) = blocks(&files);
    assert!(all > 20_000, "{all}");
    assert_eq!(all, different);
}

#[test]
fn trap_34_repetitions_of_a_sweep_write_different_blocks() {
    // What the first one appends to is kept.
    let scene = Scene::new().file("x.ppl", "append(\"f\", 64k);");
    scene.parabench("run x.ppl --dir d --reps 2").exits(0);
    assert_eq!(blocks(&contents(&scene.path("d"))), (32, 32));
}

#[test]
fn trap_34_what_compresses_or_repeats_is_asked_for_by_name_and_said() {
    let cases = [
        ("with (dedup=4) repeat $i 16 write(\"f-$i\", 64k);", 64, "repeats as the program says"),
        ("with (compress=2) repeat $i 16 write(\"f-$i\", 64k);", 256, "compresses or repeats"),
        (
            "with (data=\"offset\") repeat $i 16 write(\"f-$i\", 64k);",
            16,
            "equal at equal positions",
        ),
        ("with (data=\"zero\") repeat $i 16 write(\"f-$i\", 64k);", 1, "zeros were written"),
    ];
    for (text, expected, said) in cases {
        let scene = Scene::new().file("x.ppl", text);
        let told = scene.parabench("run x.ppl --dir d --format json").exits(0).out;
        assert!(told.contains(said), "{text}: {told}");
        assert_eq!(blocks(&contents(&scene.path("d"))), (256, expected), "{text}");
    }
    let scene = Scene::new().file("x.ppl", "write(\"f\", 64k);");
    let told = scene.parabench("run x.ppl --format json").exits(0).out;
    assert!(!told.contains("deduplicates"), "{told}");
}

#[test]
fn trap_39_appends_are_where_they_went() {
    let appends = "repeat 20 append(\"log\", 4k); barrier;\n\
                   $h = fopen(\"log\", \"a\"); repeat 20 fwrite($h, 1000); fclose($h);\n";
    for backend in ["posix", "mem"] {
        let scene = Scene::new().file("x.ppl", appends);
        let line = format!("run x.ppl -n 3 --backend {backend} --out results --events");
        scene.parabench(&line).exits(0);
        let mut written: Vec<(u64, u64)> = events(&scene, "results")
            .iter()
            .filter(|event| event.done_bytes > 0)
            .map(|event| (event.offset_bytes, event.done_bytes))
            .collect();
        written.sort_unstable();
        let mut end = 0;
        for (offset, bytes) in &written {
            assert_eq!(*offset, end, "{backend}: the appends follow each other: {written:?}");
            end += bytes;
        }
        assert_eq!((written.len(), end), (120, 60 * 4096 + 60 * 1000));
    }
}

#[test]
fn trap_39_the_extents_of_ranks_that_write_a_pattern_in_turn_are_apart() {
    let text = "define pattern \"turns\" level 0 = strided(block=4k, count=50);\n\
                master create(\"f\"); barrier;\n\
                $h = fopen(\"f\", \"r+\"); fwrite($h, \"turns\"); fwrite($h, \"turns\", 1m); fclose($h);\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl -n 4 --dir d --out results --events").exits(0);
    let run = scene.json("results/run.json");
    let extents = run["run"]["events"]["extents"].as_array().expect("extents");
    assert_eq!(extents.len(), 4);
    let own: Vec<u64> =
        extents.iter().map(|entry| entry["runs"][0]["offset_bytes"].as_u64().unwrap()).collect();
    assert_eq!(own, [0, 4096, 8192, 12288]);
    assert!(extents.iter().all(|entry| entry["pieces"] == 50));
}

/// Every operation of the table that has a path fails on a missing one, and that shows.
#[test]
fn trap_29_every_failing_operation_gives_exit_code_1() {
    let mut seen = 0;
    for row in OPS.iter().filter(|row| row.needs == Needs::Backend) {
        if row.params.first().is_none_or(|param| param.kind != ParamKind::Path) {
            continue;
        }
        seen += 1;
        let words = row.params.iter().enumerate();
        let words = words.filter(|(at, param)| *at == 0 || param.default.is_none());
        let words: Vec<&str> = words
            .map(|(_, param)| match param.kind {
                ParamKind::Path => "\"missing/a\"",
                ParamKind::Attribute => "\"user.a\"",
                ParamKind::Flags => "\"r\"",
                _ => "1",
            })
            .collect();
        let handle = if row.gives_handle() { "$h = " } else { "" };
        let text = format!("{handle}{}({});", row.name, words.join(", "));
        let scene = Scene::new().file("x.ppl", &text);
        for backend in ["posix", "mem"] {
            let run = json(&scene, &format!("x.ppl --backend {backend}"), 1);
            assert_eq!(number(&run, "", row.name, "failed"), 1, "{text} on {backend}");
            assert_eq!(run["run"]["failures"][0]["errno"], 2, "{text} on {backend}");
        }
    }
    assert!(seen >= 15, "only {seen} operations");
}

#[test]
fn trap_30_a_program_that_does_not_parse_starts_nothing() {
    let scene = Scene::new().file("x.ppl", "write(\"a\", 1);\nrepeat {\n");
    for ranks in [1, 4, 1000] {
        let done = scene.parabench(&format!("run x.ppl -n {ranks} --dir d")).exits(2);
        done.err_has("x.ppl:2:").out_is("");
        assert!(!scene.path("d/a").exists());
    }
    // A mistake that only some ranks would meet is found for all of them beforehand.
    let scene = Scene::new().file("x.ppl", "if ($$rank == 3) writ(\"a\", 1); barrier;");
    scene.parabench("run x.ppl -n 4").exits(2).out_is("");
}

/// Labels of any bytes come back from the table, JSON, CSV, the event table and from `report`.
#[test]
fn trap_31_labels_of_any_bytes_survive() {
    for (written, label) in [
        ("\\\",\\n;'`\\\\", "\",\n;'`\\"),
        ("nul\\x00nul", "nul\0nul"),
        ("\\xff\\xfe", "\u{fffd}\u{fffd}"),
        ("=1+1", "=1+1"),
        (" blanks ", " blanks "),
        ("\\x0d\\n\\x0d", "\r\n\r"),
        ("</script><b>&amp;", "</script><b>&amp;"),
        ("a/b", "a/b"),
    ] {
        let scene = Scene::new().file("x.ppl", format!("time[\"{written}\"] write(\"a\", 1);"));
        let run = json(&scene, "x.ppl --out results --events", 0);
        assert_eq!(number(&run, label, "write", "count"), 1, "{written}");
        let told = scene.parabench("report results --format json").exits(0).json();
        assert_eq!(told["times"][0]["label"], label, "{written}");
        let csv = scene.parabench("report results --format csv").exits(0);
        let mut reader = csv::Reader::from_reader(csv.out.as_bytes());
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), 4, "write and its three parts");
        assert!(
            records.iter().all(|record| model::escape::value(&record[0]) == label),
            "{written}: {records:?}"
        );
        let table = scene.parabench("report results").exits(0).out;
        let control = table.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{written}: {table}");
        assert_eq!(events(&scene, "results").len(), 1);
    }
}

/// Different labels are bounded too: they could come from a loop variable.
#[test]
fn trap_31_a_label_made_10_000_times_anew_is_counted() {
    let scene = Scene::new().file("x.ppl", "repeat $i 10000 time[\"label $i\"] stat(\".\");");
    let run = json(&scene, "x.ppl --dry-run", 0);
    let rows = run["rows"].as_array().unwrap();
    let counts = rows.iter().map(|row| row["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 10_000, "nothing is lost");
    assert_eq!(rows.len(), 4097);
    assert_eq!(number(&run, "(more)", "stat", "count"), 10_000 - 4096);
}

/// Peak memory of the supervisor and of the rank does not grow with the repetitions.
#[test]
fn trap_32_the_peak_of_memory_does_not_grow_with_repetitions() {
    let peak_kib = |repetitions: u32| {
        let text =
            format!("repeat {repetitions} time[\"t\"] stat(\".\");\ncreate(\"done\"); sleep(1h);");
        let scene = Scene::new().file("x.ppl", text);
        let call = scene.call("run x.ppl --dir d --out results --format json").start();
        call.until("the end of the loop", || scene.path("d/done").exists());
        let rank = call.ranks()[0];
        let rank_kib = high_water_kib(rank);
        call.signal(2);
        let run = run_object(&call.finish().exits(130));
        assert_eq!(number(&run, "t", "stat", "count"), u64::from(repetitions));
        rank_kib
    };
    let (few, many) = (peak_kib(2_000), peak_kib(1_000_000));
    assert!(many < few + 2048, "{few} KiB for 2,000 repetitions, {many} KiB for 1,000,000");
}

/// The most memory that a process had at any time (proc(5): VmHWM).
fn high_water_kib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Signals go to single processes by their number, never to a name.
#[test]
fn trap_30_a_rank_that_dies_before_the_start_stops_the_others() {
    let scene = Scene::new().file("x.ppl", "write(\"a-$$rank\", 1);");
    let call = scene.call("run x.ppl -n 3 --wait --dir d").start();
    call.until("the invitation", || call.said("kill -USR1"));
    let ranks = call.ranks();
    assert_eq!(ranks.len(), 3);
    kill(ranks[1], 9);
    let done = call.finish().exits(1);
    let done = done.err_has("rank 1");
    assert!(done.err.contains("signal 9"), "{}", done.err);
    assert!(!scene.path("d/a-0").exists(), "nobody has started");
}

/// Ranks that drift apart: a rate divides by the time in which somebody was inside the label, never by
/// more than the run took, and does not depend on how many occurrences are kept.
#[test]
fn trap_33_busy_time_of_ranks_that_drift_apart() {
    let busy = |text: &str| {
        let scene = Scene::new().file("x.ppl", text);
        let run = json(&scene, "x.ppl -n 2 --backend mem", 0);
        let label = run["labels"][0].clone();
        let hull_ns =
            label["last_end_ns"].as_u64().unwrap() - label["first_start_ns"].as_u64().unwrap();
        let busy_ns = label["busy_ns"].as_u64().unwrap();
        assert!(busy_ns <= hull_ns && hull_ns <= run["run"]["duration_wall_ns"].as_u64().unwrap());
        (
            busy_ns,
            label["busy_is_bound"] == true,
            row(&run, "l", "write")["mib_s"].as_f64().unwrap(),
        )
    };
    let late = "if ($$rank == 1) sleep(1s); repeat 50 time[\"l\"] { sleep(1ms); write(\"f-$$rank\", 1k); }";
    let (busy_ns, bound, _) = busy(late);
    assert!((100_000_000..110_000_000).contains(&busy_ns) && !bound, "{busy_ns}");
    let of = |count: u32| {
        busy(&format!(
            "repeat {count} {{ time[\"l\"] {{ sleep(1ms); write(\"f-$$rank\", 1k); }} sleep(9ms); }}"
        ))
    };
    let (_, bound, rate) = of(500);
    assert!(!bound);
    for count in [1000, 2000, 4000] {
        let (_, bound, more) = of(count);
        assert!(
            (more / rate - 1.0).abs() < 0.01 || bound && more < rate,
            "{more} of {count}, {rate} of 500"
        );
    }
}
