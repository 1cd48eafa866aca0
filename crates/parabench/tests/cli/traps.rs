//! Traps that other tools fell into, by their numbers in ARCHITECTURE.md's list.
//! Some are shown elsewhere too; here each has a test of its own name.

use crate::run::row;
use crate::scene::{Done, Scene};
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

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
    let mut shell = std::process::Command::new("sh");
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
