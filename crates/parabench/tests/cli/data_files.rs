//! Files of data beside the program: values to draw, times, bytes to write; and random data that compresses
//! and repeats as asked.

use crate::figures::row;
use crate::scene::{PARABENCH, Scene};
use crate::schema::run_object;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

#[test]
fn values_of_a_file_are_drawn_by_their_weights() {
    let program =
        "param $file = \"sizes.txt\";\nrepeat $i 1000 write(\"f-$$rank-$i\", empirical($file));";
    let scene = Scene::new()
        .file("x.ppl", program)
        .file("sizes.txt", "# observed\n4k 90\n64k 10\n")
        .file("other.txt", "1\n");
    let bytes = |line: &str| {
        let run = run_object(&scene.parabench(&format!("{line} --format json")).exits(0));
        row(&run, "", "write")["bytes"].as_u64().expect("a number")
    };
    let first = bytes("run x.ppl -n 2 --backend mem");
    // 2,000 draws, 200 of them large: the deviation of that is 13.
    let large = (first - 2000 * 4096) / (60 << 10);
    assert!((150..250).contains(&large), "{large}");
    assert_eq!(bytes("run x.ppl -n 2"), first, "the seed gives the same everywhere");
    assert_ne!(bytes("run x.ppl -n 2 --backend mem --seed 7"), first);
    assert_eq!(bytes("run x.ppl -n 2 file=other.txt --backend mem"), 2000);
    scene.parabench("plan x.ppl -n 2").exits(0).out_has("write");
}

#[test]
fn lists_of_a_file_are_what_they_would_be_in_the_program() {
    let program = "param $name = \"sizes\";
         $sizes = list(\"app.data\", $name); $names = list(\"app.data\", \"names\"); $plain = list(\"plain.txt\");
         assert($sizes == [4k, 64k, 64k, 7] && $names == [\"a b\", \"\\$x\"] && $plain == [1, 2.5, 5ms]);
         define pattern \"p\" { $at = list(\"plain.txt\"); extent($at[0] * 4k, 4k); }
         repeat $i len($sizes) write(\"f-$$rank-$i\", $sizes[$i]);
         repeat $name in $names write(\"$$rank-$name\", empirical($sizes));
         push($sizes, 1); assert(len($sizes) == 5);
         $h = fopen(\"p-$$rank\", \"w\"); fwrite($h, \"p\"); fclose($h);";
    let data = "# two lists\n[sizes 4]\n4k\n64k 2\n7\n[names]\n\"a b\"\n\"\\$x\" # a dollar\n";
    let scene = Scene::new()
        .file("x.ppl", program)
        .file("app.data", data)
        .file("plain.txt", "1\n2.5\n5ms\n");
    scene.parabench("check x.ppl").exits(0);
    scene.parabench("plan x.ppl -n 2").exits(0);
    let run = run_object(&scene.parabench("run x.ppl -n 2 --format json").exits(0));
    assert!(scene.names(".").contains(&"app.data".to_string()), "{:?}", scene.names("."));
    // The run holds them, so that it can be repeated.
    let files = run["run"]["program"]["files"].as_array().expect("files");
    let texts: Vec<_> = files.iter().map(|file| (&file["name"], &file["text"])).collect();
    assert_eq!(texts.len(), 3);
    assert!(
        texts[1].0 == "app.data" && texts[1].1 == data && texts[2].0 == "plain.txt",
        "{texts:?}"
    );
    scene.parabench("run x.ppl --sweep name=sizes --reps 2 --backend mem").exits(0);
}

#[test]
fn what_is_wrong_with_a_file_of_lists_is_said_once() {
    let program = "$a = list(\"app.data\", \"a\");\n$b = list(\"app.data\", \"b\"); \
                   repeat $i 2 write(\"f-$i\", $a[$i] + $b[$i]);";
    let scene = Scene::new().file("x.ppl", program);
    let wrong = |says: &[&str]| {
        for line in ["check x.ppl", "run x.ppl --backend mem", "check x.ppl -n 4"] {
            let done = scene.parabench(line).exits(2);
            assert_eq!(done.err.matches("error[").count(), 1, "{}", done.err);
            let has = |words: &&&str| done.err.contains(**words);
            assert!(
                says.iter().chain([&"app.data"]).all(|words| has(&words)),
                "{says:?}: {}",
                done.err
            );
        }
    };
    wrong(&["there is no such file", "x.ppl:1:11", "program's folder"]);
    let cases: [(&[u8], &[&str]); 7] = [
        (b"", &["it is empty"]),
        (b"[a]\n1\n", &["expected a list [b], found none", "it has a"]),
        (b"[a 3]\n1\n2\n", &["expected 3 values, as line 1 says, found 2"]),
        (
            b"[a]\n1\nlarge\n[b]\nsmall\n",
            &["a value and how often", "in line 3, found \"large\"", "4k, 1.5"],
        ),
        (b"[a]\n1\n\xff\xfe\n", &["expected UTF-8 text, found another byte in line 3"]),
        (b"[a]\n7 99999999999999999\n", &["expected at most 33554432 values", "in line 2"]),
        (
            b"\x7fELF\x02\x01\x01\x00\x00[a",
            &["expected a list [a], found none", "begins with its name"],
        ),
    ];
    for (bytes, says) in cases {
        fs::write(scene.path("app.data"), bytes).expect("written");
        wrong(says);
    }
}

#[test]
fn hostile_files_of_lists_end_within_bounded_memory() {
    let each = |at: usize| format!("$l{at} = list(\"app.data\", \"l{at}\");\n");
    let program: String = (0..64).map(each).collect();
    let repeated: String = (0..64).map(|at| format!("[l{at}]\n{at} 1048576\n")).collect();
    let long = format!("[l0]\n{}", "1234567\n".repeat(10_000_000));
    let scene = Scene::new().file("x.ppl", program).file("one.ppl", each(0));
    for (program, data, code, says) in [
        ("x.ppl", repeated.as_str(), 2, "expected at most 33554432 values"),
        ("one.ppl", "[l0]\n\"long\" 33554433\n", 2, "expected at most 33554432 values"),
        ("one.ppl", &long, 0, ""),
        ("one.ppl", &format!("[l0]\n{}", "9".repeat(50_000_000)), 2, "a value and how often"),
        ("one.ppl", &"[l0]\n".repeat(1_000_000), 2, "found [l0] in lines 1 and 2"),
    ] {
        fs::write(scene.path("app.data"), data).expect("written");
        let script = format!("ulimit -d 1500000; exec \"$PARABENCH\" check {program}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env("PARABENCH", PARABENCH).current_dir(scene.path("."));
        let done = command.output().expect("a shell");
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.code() == Some(code) && err.contains(says) && err.len() < 4000,
            "{err}"
        );
    }
}

#[test]
fn times_of_a_file_are_when_operations_are_due() {
    let scene = Scene::new()
        .file("x.ppl", "time[\"w\"] with (arrival=\"file:t.txt\") repeat $i 4 mkdir(\"d-$i\");")
        .file("t.txt", "0\n0.001\n0.001\n0.005\n");
    let run = run_object(&scene.parabench("run x.ppl --backend mem --format json").exits(0));
    assert_eq!(run["run"]["arrivals"][0]["process"], "times");
    assert_eq!(run["labels"][0]["busy_ns"], 5_001_000);
    let scene = scene.file("t.txt", "0\n0.005\n0.001\n");
    scene.parabench("check x.ppl").exits(2).err_has("in line 3, found \"0.001\"");
}

#[test]
fn written_data_comes_from_a_file() {
    let sample: Vec<u8> = (0..10_000u32).map(|at| (at % 251) as u8).collect();
    let program = "with (data=\"file:sample.bin\") { write(\"a\", 25000); $h = fopen(\"b\", \"w\"); \
                   fwrite($h, 100, 9950); fclose($h); }\n\
                   with (data=\"file:sample.bin\", engine=\"uring|posix\", depth=4) { $h = fopen(\"c\", \"w\"); \
                   repeat $i 5 fwrite($h, 5000, $i * 5000); fclose($h); }";
    let scene = Scene::new().file("x.ppl", program).file("sample.bin", &sample);
    scene.parabench("run x.ppl --dir d -v").exits(0).out_has("from a file");
    let expected: Vec<u8> = sample.iter().cycle().take(25_000).copied().collect();
    for name in ["d/a", "d/c"] {
        assert!(fs::read(scene.path(name)).unwrap() == expected, "{name}");
    }
    assert!(fs::read(scene.path("d/b")).unwrap()[9950..] == expected[9950..10_050]);
}

#[test]
fn files_outside_of_the_programs_folder_are_not_read() {
    let scene = Scene::new()
        .file("p/x.ppl", "write(\"a\", empirical(\"../secret.txt\"));")
        .file("p/y.ppl", "with (data=\"file:/etc/hostname\") write(\"a\", 4k);")
        .file("p/z.ppl", "$x = \"a\" + $$rand; with (data=\"file:$x\") write(\"a\", 4k);")
        .file("secret.txt", "4k\n");
    for program in ["p/x.ppl", "p/y.ppl"] {
        let done = scene.parabench(&format!("run {program} --backend mem")).exits(2);
        done.err_has("outside of the program's folder").err_has("--include-dir");
    }
    scene.parabench("run p/x.ppl --backend mem --include-dir .").exits(0);
    scene.parabench("run p/z.ppl --backend mem").exits(1).out_has("is not known before the");
}

/// As storage sees it: blocks of 4 KiB, each compressed by itself, and those that differ.
#[test]
fn random_data_compresses_and_repeats_as_asked() {
    for (options, compress, dedup) in [
        ("", 1.0, 1.0),
        ("compress=2, ", 2.0, 1.0),
        ("dedup=3, ", 1.0, 3.0),
        ("compress=4, dedup=2, ", 4.0, 2.0),
    ] {
        let program = format!("with ({options}transfer=64k) write(\"a\", 3m);");
        let scene = Scene::new().file("x.ppl", program);
        scene.parabench("run x.ppl --dir d").exits(0);
        let bytes = fs::read(scene.path("d/a")).unwrap();
        let different: BTreeSet<&[u8]> = bytes.chunks(4096).collect();
        let found = 768.0 / different.len() as f64;
        assert!(
            (found / dedup - 1.0).abs() < 0.02,
            "{options}: {found} blocks for each that differs"
        );
        let packed: usize = different.iter().map(|block| compressed_bytes(block)).sum();
        let found = (4096 * different.len()) as f64 / packed as f64;
        assert!((found / compress - 1.0).abs() < 0.1, "{options}: compresses by {found}");
    }
}

fn compressed_bytes(block: &[u8]) -> usize {
    use flate2::{Compression, write::DeflateEncoder};
    use std::io::Write;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(block).expect("memory");
    encoder.finish().expect("memory").len()
}

#[test]
fn what_it_costs_to_fill_data_is_told_of_each_label() {
    let program = "time[\"random\"] write(\"a\", 1m);\n\
                   time[\"shaped\"] with (compress=2, dedup=2) repeat $i 100 write(\"b-$i\", 4k);\n\
                   time[\"file\"] with (data=\"file:sample.bin\", engine=\"uring|posix\", depth=4) \
                   { $h = fopen(\"c\", \"w\"); repeat $i 9 fwrite($h, 4k, $i * 4k); fclose($h); }\n\
                   time[\"offset\"] with (data=\"offset\") { $h = fopen(\"d\", \"w\"); writev($h, [4k, 4k]); \
                   append(\"a\", 4k); fclose($h); }\n\
                   time[\"read\"] read(\"a\");\n\
                   time[\"verified\"] with (verify=true) write(\"v\", 1m);";
    let scene = Scene::new().file("x.ppl", program).file("sample.bin", "some bytes");
    let labels = |options: &str| {
        let done = scene.parabench(&format!("run x.ppl --format json {options}")).exits(0);
        let labels = run_object(&done)["run"]["evidence"]["labels"].clone();
        let all = labels.as_array().expect("labels").iter();
        let told = |label: &serde_json::Value| label["fill_ns"].as_u64().is_some_and(|ns| ns > 0);
        let name =
            |label: &serde_json::Value| label["label"].as_str().expect("a label").to_string();
        all.filter(|label| told(label)).map(name).collect::<BTreeSet<_>>()
    };
    let filled = ["file", "offset", "random", "shaped"].map(String::from);
    assert_eq!(labels("-n 2"), BTreeSet::from(filled), "what is verified is told of its own");
    assert_eq!(labels("--backend mem"), BTreeSet::new(), "virtual time does not pass meanwhile");
    let said = scene.parabench("run x.ppl -v").exits(0);
    said.out_has("filling data ").out_has(" per rank");
}

/// A label's time holds no making of memory or random data, however large the calls are.
#[test]
fn memory_and_random_data_are_made_before_the_start() {
    // A file of each rank: who cuts a file that another one has mapped makes its call fail.
    let program = "time[\"one\"] with (fsync=\"close\") write(\"f-$$rank\", 96m);\n\
                   time[\"many\"] repeat $i 50 write(\"g-$$rank-$i\", 300k);\n\
                   time[\"zeros\"] with (data=\"zero\") write(\"z-$$rank\", 24m);\n\
                   time[\"cut\"] with (transfer=4m) write(\"t-$$rank\", 80m);\n\
                   time[\"vectors\"] { $h = fopen(\"v-$$rank\", \"w+\"); writev($h, [20m, 1m]); readv($h, [20m, 1m], 0); \
                   fclose($h); }\n\
                   time[\"queue\"] with (engine=\"uring|posix\", depth=4) { $h = fopen(\"q-$$rank\", \"w+\"); \
                   repeat $i 9 fwrite($h, 1m, $i * 1m); repeat $i 9 fread($h, 1m, $i * 1m); fclose($h); }\n\
                   time[\"mapped\"] with (engine=\"mmap\") { $h = fopen(\"m-$$rank\", \"w+\"); fwrite($h, 20m); \
                   fread($h, 20m, 0); fclose($h); }\n\
                   time[\"read\"] read(\"f-$$rank\");\n\
                   time[\"read at once\"] { $h = fopen(\"f-$$rank\", \"r\"); fread($h, 96m); fclose($h); }";
    let scene = Scene::new()
        .file("x.ppl", program)
        .file("y.ppl", "time[\"late\"] with (compress=2) write(\"f\", 1m);\n");
    let late = |file: &str| {
        let done = scene.parabench(&format!("run {file} -n 2 --format json --force")).exits(0);
        let labels = run_object(&done)["run"]["evidence"]["labels"].clone();
        let all = labels.as_array().expect("labels").iter();
        let made = all.filter(|label| !label["memory_ns"].is_null());
        made.map(|label| label["label"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(late("x.ppl"), Vec::<String>::new());
    // Each shape has a pool of its own, made when it is needed, and counted.
    assert_eq!(late("y.ppl"), ["late"]);
}
