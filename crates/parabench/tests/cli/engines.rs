//! `with (engine=...)`: other ways to move bytes do the same to files, on every back-end.

use crate::figures::row;
use crate::scene::{Scene, skip};
use crate::schema::run_object;
use crate::tmpfs::Tmpfs;
use serde_json::Value;

/// Says itself what must have come of it.
const MAPPED: &str = r#"
with (engine="mmap", fsync="close") {
    $h = fopen("f-$$rank", "w+");
    repeat $i 64 fwrite($h, 64k);
    fsync($h);
    assert(size("f-$$rank") == 4m);
    repeat $i 100 fread($h, 4k, rand(0, 1024) * 4k);
    fseek($h, 4m - 10);
    $n = fread($h, 100);
    assert($n == 10);
    ftruncate($h, 1m);
    $n = fread($h, 4k, 1m);
    assert($n == 0);
    fwrite($h, 1, 2m - 1);
    fdatasync($h);
    fclose($h);
    assert(size("f-$$rank") == 2m);
    write("g-$$rank", 1m);
    $n = read("g-$$rank");
    assert($n == 1m);
    with (transfer=64k) read("g-$$rank", 512k);
    $t = tmpfile();
    fwrite($t, 10k);
    fclose($t);
    $c = fcreat("c-$$rank");
    fwrite($c, 10k);
    fclose($c);
    mkdir("d-$$rank");
    with (expect="ENODEV") $d = fopen("d-$$rank", "r");
}
$a = fopen("f-$$rank", "r");
$n = fread($a);
assert($n == 2m);
fclose($a);
"#;

/// Label, operation, how often, how often it failed, bytes; in no order of time.
fn counts(run: &Value) -> Vec<(String, String, u64, u64, u64)> {
    let rows = run["rows"].as_array().expect("rows");
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_string();
    let number = |row: &Value, key: &str| row[key].as_u64().expect("a number");
    let counted = |row: &Value| {
        let (label, op) = (text(row, "label"), text(row, "op"));
        (label, op, number(row, "count"), number(row, "failed"), number(row, "bytes"))
    };
    let mut counts: Vec<_> = rows.iter().map(counted).collect();
    counts.sort();
    counts
}

#[test]
fn mapped_files_hold_what_calls_would_have_written_on_every_back_end() {
    let scene = Scene::new().file("m.ppl", MAPPED);
    let run = |options: &str| {
        let command = format!("run m.ppl -n 2 --format json {options}");
        run_object(&scene.parabench(&command).exits(0))
    };
    let posix = run("");
    assert!(posix["run"]["evidence"]["page_faults"].as_u64() > Some(64), "{posix:#}");
    for options in ["--confine", "--backend mem"] {
        assert_eq!(counts(&run(options)), counts(&posix), "{options}");
    }
}

#[test]
fn a_full_disk_fails_a_mapped_write_and_ends_no_rank() {
    let scene = Scene::new()
        .file(
            "m.ppl",
            "with (engine=\"mmap\") { $h = fopen(\"f\", \"w\"); repeat $i 10 fwrite($h, 1m); fclose($h); \
             write(\"g\", 1m); }\nread(\"f\", 1m);",
        );
    std::fs::create_dir(scene.path("small")).expect("mkdir");
    let Some(_small) = Tmpfs::mount(&scene.path("small"), "size=4m") else { return };
    let run = scene.parabench("run m.ppl --dir small --no-preflight --format json").exits(1);
    let run = run_object(&run);
    let fwrite = row(&run, "", "fwrite");
    assert_eq!(fwrite["count"], 10, "{fwrite:#}");
    assert!(fwrite["failed"].as_u64() > Some(5), "{fwrite:#}");
    assert_eq!(row(&run, "", "read")["bytes"], 1 << 20, "the rank went on");
    let failures = run["run"]["failures"].as_array().expect("failures");
    assert!(failures.iter().all(|failure| failure["errno"] == 28), "{failures:#?}");
}

#[test]
fn engines_that_cannot_be_are_refused_and_those_without_effect_are_said() {
    let scene = Scene::new()
        .file("both.ppl", "with (engine=\"mmap\") with (direct=true) write(\"a\", 4k);")
        .file(
            "later.ppl",
            "define proc p() { with (engine=\"mmap\") write(\"a\", 4k); } with (direct=true) p();",
        )
        .file("none.ppl", "with (engine=\"mmap\") append(\"a\", 4k);")
        .file("part.ppl", "with (engine=\"mmap\") { write(\"a\", 4k); append(\"a\", 4k); }")
        .file(
            "end.ppl",
            "with (engine=\"mmap\") { $h = fopen(\"a\", \"a\"); fwrite($h, 4k); fclose($h); }",
        )
        .file("what.ppl", "with (engine=\"libaio\") write(\"a\", 4k);");
    let contradiction = "engine=\"mmap\" and direct=true contradict each other";
    scene.parabench("check both.ppl").exits(2).err_has(contradiction);
    // What a parameter of a proc says is known to ranks alone.
    scene.parabench("run later.ppl").exits(1).out_has(contradiction);
    scene.parabench("check none.ppl").err_has("W0403").err_has("put the fopen inside");
    scene.parabench("check part.ppl").err_has("has no effect on append");
    scene.parabench("run end.ppl -v").exits(0).out_has("opened to append to were not mapped");
    scene.parabench("check what.ppl").exits(2).err_has("expected engine=\"posix\", \"mmap\"");
}

/// Says itself what must have come of it.
const QUEUED: &str = r#"
with (engine="uring|posix", depth=8) {
    $h = fopen("f-$$rank", "w+");
    time["write"] { repeat $i 256 fwrite($h, 4k, $i * 4k); }
    assert(size("f-$$rank") == 1m);
    time["read"] {
        repeat $i 500 fread($h, 4k, rand(0, 256) * 4k);
        $n = fread($h, 100, 1m - 10);
        assert($n == 10);
        with (transfer=10k) repeat 3 fread($h, 64k, 0);
    }
    repeat 4 fread($h, 64k);
    fwrite($h, 4k);
    fsync($h);
    fwrite($h, 4k);
    fdatasync($h);
    assert(size("f-$$rank") == 1m);
    fwrite($h, 4k, 1m);
    ftruncate($h, 512k);
    fread($h);
    fclose($h);
    assert(size("f-$$rank") == 512k);
    $r = fopen("f-$$rank", "r");
    with (expect="EBADF") { fwrite($r, 4k); $ok = fwrite($r, 4k); }
    assert(errno($ok) == "EBADF");
    repeat $i 100 fread($r, 4k, 0);
    compute(1ms);
    fclose($r);
    $g = fopen("g-$$rank", "w");
    repeat $i 20 fwrite($g, 4k, $i * 4k);
    barrier;
}
assert(size("g-$$rank") == 80k);
"#;

#[test]
fn queued_operations_do_what_calls_do_on_every_back_end() {
    let scene = Scene::new()
        .file("q.ppl", QUEUED)
        .file("posix.ppl", QUEUED.replace("uring|posix", "posix"));
    let run = |program: &str, options: &str| {
        let command = format!("run {program} -n 2 --format json {options}");
        run_object(&scene.parabench(&command).exits(0))
    };
    let posix = run("posix.ppl", "");
    for options in ["", "--confine", "--backend mem"] {
        let queued = run("q.ppl", options);
        assert_eq!(counts(&queued), counts(&posix), "{options}");
        for row in queued["rows"].as_array().expect("rows") {
            let busy_ns = row["balance"]["slowest_busy_ns"].as_u64().unwrap_or(0);
            let wall_ns = queued["run"]["duration_wall_ns"].as_u64().expect("a duration");
            assert!(busy_ns <= wall_ns, "{options}: {row:#}");
        }
    }
}

/// What the page cache holds is copied while it is handed over.
#[test]
fn a_queue_that_is_none_is_said() {
    let text = "write(\"f\", 1m); $h = fopen(\"f\", \"r\"); fread($h);\n\
                time[\"cached\"] with (engine=\"uring\", depth=16) repeat $i 1000 fread($h, 4k, ($i % 256) * 4k);";
    let scene = Scene::new().file("x.ppl", text);
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    if disabled.is_ok_and(|setting| setting.trim() != "0") {
        return skip("io_uring is disabled here");
    }
    let run = scene.parabench("run x.ppl --format json").exits(0);
    let evidence = &run_object(&run)["run"]["evidence"];
    let label = &evidence["labels"].as_array().expect("labels")[1];
    assert_eq!(label["queued_calls"], 1000, "{label:#}");
    assert!(label["handed_over"].as_u64() < Some(500), "{label:#}");
    let marks = evidence["marks"].as_array().expect("marks");
    let serial = marks.iter().find(|mark| mark["code"] == "serial-queue");
    let seen = serial.unwrap_or_else(|| panic!("{marks:#?}"))["seen"].as_str().expect("a sentence");
    assert!(seen.starts_with("in label \"cached\""), "{seen}");
}

#[test]
fn options_of_a_queue_are_for_queues() {
    let warned = |text: &str, said: &str| {
        let scene = Scene::new().file("x.ppl", text);
        scene.parabench("check x.ppl").err_has("W0403").err_has(said);
    };
    let silent = |text: &str| {
        let scene = Scene::new().file("x.ppl", text);
        scene.parabench("check x.ppl").exits(0).err_is("x.ppl: nothing wrong\n");
    };
    let opened = "$h = fopen(\"a\", \"w+\"); fwrite($h, 4k); ";
    warned(&format!("{opened} with (depth=4) fread($h, 4k, 0); fclose($h);"), "engine=\"uring\"");
    warned(
        &format!("{opened} with (sqpoll=true) fread($h, 4k, 0); fclose($h);"),
        "engine=\"uring\"",
    );
    warned("with (engine=\"uring\", depth=4) write(\"a\", 4k);", "nothing inside takes it");
    warned(
        &format!(
            "{opened} with (engine=\"uring\") {{ fread($h, 4k, 0); write(\"b\", 1); }} fclose($h);"
        ),
        "has no effect on write",
    );
    silent(&format!("{opened} with (engine=\"uring\", depth=4) fread($h, 4k, 0); fclose($h);"));
    silent(&format!(
        "{opened} with (engine=\"uring\") with (depth=4) fread($h, 4k, 0); fclose($h);"
    ));
    silent(&format!(
        "{opened} define proc p($h) {{ with (depth=4) fread($h, 4k, 0); }} with (engine=\"uring\") p($h); \
         fclose($h);"
    ));
}

/// Says itself what must have come of it.
const NOTHING: &str = r#"
write("f-$$rank", 64k);
with (engine="null", fsync="op") {
    time["null"] {
        $h = fopen("f-$$rank", "r+");
        $n = fwrite($h, 1m);
        assert($n == 1m);
        $n = fread($h, 4k);
        assert($n == 4k);
        $n = fread($h);
        assert($n == 0);
        with (transfer=1k) fread($h, 4k, 0);
        $n = writev($h, [4k, 4k], 0);
        assert($n == 8k);
        readv($h, [512, 512]);
        fclose($h);
        write("g-$$rank", 1m);
        append("g-$$rank", 4k);
        read("f-$$rank", 1m);
        with (expect="ENOENT") read("missing", 1m);
        $a = fopen("g-$$rank", "a");
        fwrite($a, 4k);
        fclose($a);
    }
}
assert(size("f-$$rank") == 64k);
assert(size("g-$$rank") == 0);
time["real"] { write("r-$$rank", 64k); read("r-$$rank", 64k); }
"#;

#[test]
fn the_null_engine_moves_nothing_and_no_figure_of_it_is_taken_for_storage() {
    let scene = Scene::new().file("n.ppl", NOTHING);
    let run = |options: &str| {
        let command = format!("run n.ppl -n 2 --format json {options}");
        run_object(&scene.parabench(&command).exits(0))
    };
    let posix = run("");
    for options in ["--confine", "--backend mem", "--events"] {
        assert_eq!(counts(&run(options)), counts(&posix), "{options}");
    }
    let evidence = &posix["run"]["evidence"];
    let labels = evidence["labels"].as_array().expect("labels");
    let label = |name: &str| labels.iter().find(|label| label["label"] == name).expect(name);
    assert_eq!(label("null")["null_operations"], 2 * 10, "{labels:#?}");
    assert_eq!(
        (&label("null")["read_bytes"], &label("null")["written_bytes"]),
        (&0.into(), &0.into())
    );
    assert_eq!(label("real")["written_bytes"], 128 << 10);
    assert!(label("real").get("null_operations").is_none());
    let marks = evidence["marks"].as_array().expect("marks");
    let mark = marks.iter().find(|mark| mark["code"] == "null-engine").expect("a mark");
    let seen = mark["seen"].as_str().expect("a sentence");
    assert!(seen.starts_with("in label \"null\" 20 reads and writes moved nothing"), "{seen}");
    assert_eq!(mark["counts"], true);
    scene.parabench("run n.ppl").exits(0).out_has("engine=\"null\"");
    scene.parabench("plan n.ppl --ops 100").exits(0).out_has("nothing(4096)");
}

#[test]
fn the_null_engine_and_batches_are_refused_where_they_cannot_be() {
    let said = |text: &str, verb: &str, code: i32, said: &str| {
        let scene = Scene::new().file("x.ppl", text);
        let ended = scene.parabench(&format!("{verb} x.ppl")).exits(code);
        assert!(format!("{}{}", ended.out, ended.err).contains(said), "{}{}", ended.out, ended.err);
    };
    let verified = "with (engine=\"null\", verify=true) write(\"a\", 4k);";
    said(verified, "check", 2, "engine=\"null\" and verify=true contradict each other");
    said(
        "with (engine=\"null\") copy(\"a\", \"b\");",
        "check",
        0,
        "nothing inside takes it (found copy)",
    );
    let partly = "with (engine=\"null\") { write(\"a\", 4k); copy(\"a\", \"b\"); }";
    said(partly, "check", 0, "has no effect on copy");
    let opened = "$h = fopen(\"a\", \"w+\"); ";
    let large = format!("{opened} with (engine=\"uring|posix\", depth=4, batch=8) fwrite($h, 4k);");
    said(&large, "check", 2, "batch=8 is more than depth=4");
    let later = "param $n = 1; $b = rand(8, 8); $h = fopen(\"a\", \"w+\"); \
                 with (engine=\"uring|posix\", batch=$b) fwrite($h, 4k);";
    said(later, "run", 1, "batch=8 is more than depth=1");
    said(&format!("{opened} with (batch=1) fwrite($h, 4k);"), "check", 0, "engine=\"uring\"");
    let none = format!("{opened} with (engine=\"uring\", batch=0) fwrite($h, 4k);");
    said(&none, "check", 2, "a number from 1 to 65536");
}

#[test]
fn operations_of_a_batch_are_handed_over_together() {
    let text = "$h = fopen(\"f\", \"w+\"); with (engine=\"uring\", depth=32, batch=BATCH) \
                repeat $i 1000 fwrite($h, 4k, $i * 4k); fclose($h);";
    for (batch, entered) in [("1", 1000..1100), ("8", 124..180), ("32", 31..80)] {
        let scene = Scene::new().file("x.ppl", text.replace("BATCH", batch));
        let calls = scene.parabench("plan x.ppl --ops 5000").exits(0);
        let count = calls.out.matches("io_uring_enter").count();
        assert!(entered.contains(&count), "batch={batch}: {count} system calls");
    }
}
