//! Options of `parabench fold`: pauses one by one, a file per phase, shorter programs that do nearly
//! the same.

use crate::fold::folded;
use crate::scene::Scene;

/// Runs a program on files in memory and keeps its events.
fn ran(text: &str, options: &str) -> Scene {
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench(&format!("run x.ppl --backend mem --events --out r {options}")).exits(0);
    scene
}

/// The text without its comment.
fn statements(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// The program has neither mistakes nor warnings, and is laid out.
fn sound(scene: &Scene, program: &str) {
    let done = scene.parabench(&format!("check {program}")).exits(0);
    let said = done.out + &done.err;
    assert!(said.contains("nothing wrong"), "{said}\n{}", scene.text(program));
    scene.parabench(&format!("fmt --check {program}")).exits(0);
}

const PAUSES: &str = "$f = fopen(\"log-$$rank\", \"w\");
     time[\"load\"] repeat $i 20 {
         compute(rand(20us, 90us));
         repeat 3 { compute(rand(15us, 40us)); fwrite($f, 100); }
     }
     compute(1234567ns); mkdir(\"d-$$rank\");
     time[\"query\"] repeat $i 30 { compute([15us, 30us][$i % 2]); stat(\"log-$$rank\"); }
     repeat $i 12 { compute(20us + $i * 5us); utime(\"log-$$rank\"); }
     fclose($f);";

#[test]
fn every_pause_can_be_kept() {
    for ranks in [1, 3] {
        let scene = ran(PAUSES, &format!("-n {ranks}"));
        let fold = "--think exact --force -o";
        scene.parabench(&format!("fold r {fold} s.ppl")).exits(0).err_has("without loss");
        let text = scene.text("s.ppl");
        sound(&scene, "s.ppl");
        // Those of the program are those of the run: it has the same text again.
        scene.parabench(&format!("run s.ppl -n {ranks} --backend mem --events --out s")).exits(0);
        scene.parabench(&format!("fold s {fold} s.ppl")).exits(0);
        assert_eq!(statements(&scene.text("s.ppl")), statements(&text));
        for part in ["$pauses", "1234567ns", "% 2]", " * 5us"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
    let scene = ran(PAUSES, "");
    scene.parabench("fold r --think typical").exits(0).out_has("compute(");
}

const PHASES: &str = "mkdir(\"d-$$rank\");
     $log = fopen(\"log-$$rank\", \"w\");
     $sizes = [7000, 120, 9, 4400, 81, 4, 2500, 777, 5, 13];
     time[\"load all/of it\"] repeat $i 10 { write(\"d-$$rank/f-$i\", $sizes[$i]); fwrite($log, 10); }
     time[\"create\"] { $g = fopen(\"d-$$rank/f-0\", \"r\"); repeat 5 fread($g, 10); }
     barrier;
     if ($$rank == 1) time[\"check\"] stat(\"d-0/f-1\");
     time[\"read\"] { repeat 4 fread($g, 10); fclose($g); }
     fclose($log);";

#[test]
fn every_phase_can_be_a_file() {
    let scene = ran(PHASES, "-n 2");
    scene.parabench("fold r -o app.ppl --split").exits(0).err_has("files, without loss");
    sound(&scene, "app.ppl");
    let text = scene.text("app.ppl");
    for part in ["include \"app-create.ppl\";", "$file = phase_create();", "phase_read($file);"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("time[") && !text.contains("4400"), "{text}");
    for (file, part) in [
        ("app-of-it.ppl", "4400"),
        ("app-create.ppl", "return $file"),
        ("app-check.ppl", "define proc phase_check() {"),
        ("app-read.ppl", "fclose("),
    ] {
        let text = scene.text(file);
        assert!(text.contains(part) && text.starts_with("# Folded from "), "{part} in\n{text}");
        scene.parabench(&format!("fmt --check {file}")).exits(0);
    }
    let load = scene.text("app-of-it.ppl");
    let line = load.lines().position(|line| line.contains("write(")).unwrap() + 1;
    let explain = |place: &str| format!("fold r -o app.ppl --split --explain {place}");
    let done = scene.parabench(&explain(&format!("app-of-it.ppl:{line}"))).exits(0);
    done.out_has("write \"d-0/f-0\", 7000 of 7000 bytes").out_has("rank 1, ");
    let line = text.lines().position(|line| line.contains("mkdir(")).unwrap() + 1;
    for place in [format!("{line}"), format!("app.ppl:{line}")] {
        scene.parabench(&explain(&place)).exits(0).out_has("mkdir \"d-1\"");
    }
    scene.parabench(&explain("app-x.ppl:1")).exits(2).err_has("app-create.ppl");
    scene.parabench(&explain("app-create.ppl:99")).exits(2).err_has("lines");
    scene.parabench(&explain("app-create.ppl")).exits(2).err_has("app-load.ppl:12");
    // Together they do the same, and fold to the same program.
    scene.parabench("run app.ppl -n 2 --backend mem --events --out s").exits(0);
    let one = |run: &str| statements(&scene.parabench(&format!("fold {run}")).exits(0).out.clone());
    assert_eq!(one("s"), one("r"));
    // Files of others stay, and one's own that may have been changed.
    scene.parabench("fold r -o app.ppl --split").exits(2).err_has("--force");
    std::fs::remove_file(scene.path("app.ppl")).unwrap();
    scene.parabench("fold r -o app.ppl --split").exits(2).err_has("--split").err_has("--force");
    scene.parabench("fold r -o app.ppl --split --force").exits(0);
    scene.parabench("fold r --split").exits(2).err_has("--out");
    let plain = ran("write(\"a\", 1);", "");
    plain.parabench("fold r -o a.ppl --split").exits(0).err_has("it is one file");
    assert!(!plain.text("a.ppl").contains("include"));
}

#[test]
fn sizes_within_the_bound_become_one_and_random_ones_are_drawn() {
    let program = "$f = fopen(\"a\", \"w+\"); fwrite($f, 4m, 0);
         repeat $i 300 fwrite($f, 4000 + rand(0, 60), $i * 4k);
         repeat 300 fread($f, 4k, rand(0, 999) * 4k);
         fclose($f); $f = fopen(\"a\", \"r\");
         repeat $i 300 fread($f, 8k, perm($i, 300) * 8k);
         repeat 900 append(\"log\", rand(100, 300));
         fclose($f);";
    let scene = ran(program, "");
    scene.parabench("fold r -o exact.ppl").exits(0).err_has("without loss");
    let done = scene.parabench("fold r -o x2.ppl --approx 2%").exits(0);
    let text = scene.text("x2.ppl");
    for part in ["fread($file, $page, rand(", "perm($i, 300) * $page2", "Nearly, within 2 %"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains('[') && text.lines().count() <= 20, "{text}");
    let done = done.err_has("sizes differ by at most").err_has("places by at most");
    assert!(!done.err.contains("without loss"), "{}", done.err);
    sound(&scene, "x2.ppl");
    // A tighter bound keeps the sizes.
    scene.parabench("fold r --approx 0.1%").exits(0).out_has("$sizes");
    for wrong in ["0", "-1%", "x", "80%"] {
        scene.parabench(&format!("fold r --approx={wrong}")).exits(2).err_has("2%");
    }
}

#[test]
fn what_some_iterations_leave_out_is_drawn() {
    let program = "write(\"a\", 1m); $f = fopen(\"a\", \"r+\");
         repeat 400 {
             fstat($f);
             $n = rand(0, 99);
             if ($n < 70) fread($f, 4k, rand(0, 255) * 4k); else fwrite($f, 4k, rand(0, 255) * 4k);
             if (rand(0, 9) == 0) fdatasync($f);
         }
         fclose($f);";
    let scene = ran(program, "");
    let exact = scene.parabench("fold r").exits(0).out.clone();
    let done = scene.parabench("fold r --approx 40%").exits(0);
    for part in ["mix {", "rand(0, 255) * $size"] {
        assert!(done.out.contains(part), "{part} in\n{}\n{}", done.out, done.err);
    }
    assert!(done.out.len() * 3 < exact.len(), "{}", done.out);
    // What it does is near: as many operations of each kind as chance allows.
    assert!(done.err.contains("fread: 2") && done.err.contains("of the program"), "{}", done.err);
    // Where chance would allow too much, each operation comes as often as in the run.
    let done = scene.parabench("fold r --approx 1%").exits(0);
    assert!(!done.out.contains("mix {") && !done.err.contains("of the program"), "{}", done.err);
}

/// Sequences without an order are folded, whatever they have in common.
#[test]
fn statements_in_no_order_are_kept() {
    let program = "write(\"a\", 1m); $f = fopen(\"a\", \"r+\");
         repeat 1000 {
             $n = rand(0, 99);
             if ($n < 60) fread($f, 4k, rand(0, 255) * 4k);
             else if ($n < 90) fwrite($f, 4k, rand(0, 255) * 4k);
             else stat(\"a\");
         }
         fclose($f);";
    let scene = ran(program, "-n 2");
    scene.parabench("fold r").exits(0).err_has("without loss");
    scene.parabench("fold r --approx 2%").exits(0);
}

#[test]
fn regular_programs_stay_exact() {
    let program = "repeat $i 50 { write(\"f-$i\", 64k); if ($i % 10 == 9) stat(\"f-$i\"); }";
    let scene = ran(program, "");
    let exact = scene.parabench("fold r").exits(0).out.clone();
    let done = scene.parabench("fold r --approx 5%").exits(0).err_has("without loss");
    assert_eq!(statements(&done.out), statements(&exact));
}

/// Phases in loops and in labels, phases that come again, and one that leaves several files open.
const NESTED: &str = "time[\"app\"] {
         time[\"open 2\"] { $a = fopen(\"a\", \"w+\"); $b = fopen(\"b\", \"w\"); stat(\"a\"); }
         repeat $i 4 {
             time[\"write\"] { repeat 5 fwrite($a, 4k); fwrite($b, $i * 100 + 100); }
             time[\"check\"] { stat(\"a\"); write(\"s-$i\", 10); }
         }
         time[\"write\"] fwrite($b, 7);
         time[\"close\"] { fclose($a); fclose($b); }
     }
     time[\"other\"] { create(\"c\"); time[\"deep\"] stat(\"c\"); delete(\"c\"); time[\"check\"] stat(\"b\"); }
     $numbers = [7, 1, 19, 4, 3, 31, 2, 17, 9, 5, 11, 8];
     repeat $i 3 {
         time[\"list\"] repeat $j 4 { $n = $numbers[$i * 4 + $j]; create(\"x-$n\"); write(\"y-$i\", $n); }
         time[\"sum\"] stat(\"x-7\");
     }";

#[test]
fn phases_in_loops_and_labels_are_files_too() {
    let scene = ran(NESTED, "");
    scene.parabench("fold r -o app.ppl --split").exits(0).err_has("files, without loss");
    sound(&scene, "app.ppl");
    let text = scene.text("app.ppl");
    let parts = [
        "$open = phase_open();\n",
        "$file = $open[0];\n",
        "$file2 = $open[1];\n",
        "    phase_write($file, $file2, $i);\n    phase_app_check($i);\n",
        "phase_write_2($file2);\n",
        "phase_close($file, $file2);\n",
        "phase_deep();\n",
        "phase_other_check();\n",
    ];
    for part in parts {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let files = ["app-open-2", "app-write", "app-app-check", "app-close", "app-other-check"];
    for file in files {
        assert!(text.contains(&format!("include \"{file}.ppl\";")), "{file} in\n{text}");
    }
    assert!(!text.contains("fwrite(") && text.lines().count() < 60, "{text}");
    scene.parabench("run app.ppl --backend mem --events --out s").exits(0);
    let one = |run: &str| statements(&scene.parabench(&format!("fold {run}")).exits(0).out.clone());
    assert_eq!(one("s"), one("r"));
}

#[test]
fn a_phase_of_some_ranks_takes_the_files_that_they_have() {
    let program = "master { $h = fopen(\"a\", \"w\"); fwrite($h, 1k); } barrier; stat(\"a\");
         master { time[\"one\"] repeat 3 fwrite($h, 4k); } barrier; stat(\"a\");
         master { time[\"two\"] { fwrite($h, 5k); fclose($h); } }
         if ($$rank == 1) { $a = fopen(\"b\", \"w\"); fwrite($a, 1k); }
         if ($$rank == 2) { $b = fopen(\"c\", \"w\"); fwrite($b, 2k); }
         barrier; stat(\"b\"); stat(\"c\");
         if ($$rank > 0) time[\"three\"] {
             if ($$rank == 1) { fwrite($a, 3k); stat(\"b\"); }
             if ($$rank == 2) fwrite($b, 7k);
         }
         barrier; stat(\"b\"); stat(\"c\");
         if ($$rank == 1) fclose($a); if ($$rank == 2) fclose($b);";
    let scene = ran(program, "-n 3");
    scene.parabench("fold r -o app.ppl --split").exits(0).err_has("files, without loss");
    let text = scene.text("app.ppl");
    assert!(text.contains("phase_one($file)"), "{text}");
    sound(&scene, "app.ppl");
}

/// What a program waits for before a loop is no part of each iteration.
#[test]
fn a_pause_before_a_loop_stands_before_it() {
    let mut log = String::from(
        "17 1795253061.000000 openat(AT_FDCWD, \"/data/in\", O_RDONLY) = 3 <0.000010>\n",
    );
    let mut us = 1_795_253_061_050_000_i64;
    for round in 0..6 {
        for block in 0..5 {
            us += if block == 0 { 40_000 } else { 20 };
            let (at, second, part) = (block * 4096, us / 1_000_000, us % 1_000_000);
            log += &format!(
                "17 {second}.{part:06} pread64(3, \"\"..., 4096, {at}) = 4096 <0.000010>\n"
            );
            us += 10;
        }
        us += 30;
        let (second, part) = (us / 1_000_000, us % 1_000_000);
        log += &format!("17 {second}.{part:06} stat(\"/data/{round}\", 0x7f) = 0 <0.000010>\n");
        us += 10;
    }
    let scene = Scene::new().file("app.strace", &log);
    scene.parabench("import app.strace -o r").exits(0);
    let text = folded(&scene, "r");
    assert!(text.contains("    compute(48ms);\n    repeat $j 5 fread("), "{text}");
    assert_eq!(text.matches("compute(").count(), 1, "{text}");
}

/// Pauses between bursts of like operations: a loop over the bursts, with the pause in it.
#[test]
fn long_pauses_between_bursts_stand_between_them() {
    for (program, ranks, nest) in [
        (
            "$f = fopen(\"a-$$rank\", \"w+\");
             repeat 10 { compute(50ms); repeat 8 fwrite($f, 64k); }",
            3,
            "    compute(50ms);\n    repeat $count2 fwrite($file, $size);\n",
        ),
        (
            "repeat $i 80 { write(\"a-$$rank-$i\", 4k); if ($i % 8 == 7) compute(50ms); }",
            1,
            "    if ($i > 0) compute(50ms);\n    repeat $j $files2 {\n",
        ),
        (
            "$f = fopen(\"a\", \"w+\");
             repeat 10 { repeat 8 fwrite($f, 64k); compute(50ms); } fclose($f);",
            1,
            "    repeat $count2 fwrite($file, $size);\n    compute(50ms);\n",
        ),
        // Bursts of several lengths; one pause that takes most of the time.
        (
            "$f = fopen(\"a\", \"w+\");
             repeat $i 30 { repeat [3, 7][$i % 2] fwrite($f, 64k); compute(50ms); } fclose($f);",
            1,
            "    compute(50ms);\n    repeat 7 fwrite($file, $size);\n",
        ),
        (
            "$f = fopen(\"a\", \"w+\");
             repeat 100 fwrite($f, 64k); compute(500ms); repeat 100 fwrite($f, 64k);",
            1,
            "compute(500ms);\nrepeat $count fwrite($file, $size);\n",
        ),
    ] {
        let scene = ran(program, &format!("-n {ranks}"));
        let done = scene.parabench("fold r -o x2.ppl").exits(0).err_has("without loss");
        assert!(!done.err.contains("pauses are"), "{}", done.err);
        let text = scene.text("x2.ppl");
        assert!(text.contains(nest), "{nest} in\n{text}");
        sound(&scene, "x2.ppl");
        // The pauses are those of the run, and so is their sum.
        scene.parabench(&format!("run x2.ppl -n {ranks} --backend mem --events --out s")).exits(0);
        assert_eq!(statements(&folded(&scene, "s")), statements(&text));
        scene.parabench("fidelity r s --gate elapsed<=2%").exits(0).out_has("does what");
    }
}

/// Long pauses that follow no rule are in the mean of their place, which is said.
#[test]
fn a_mean_that_stands_for_few_long_pauses_is_told() {
    let program = "$f = fopen(\"a\", \"w+\"); fwrite($f, 1m);
         repeat $i 200 { if (rand(0, 9) == 0) compute(20ms); fread($f, 4k, $i * 4k); }";
    let scene = ran(program, "");
    let done = scene.parabench("fold r").exits(0).err_has("where one took 20");
    done.err_has("--think exact").out_has("repeat $i $count {\n    compute(");
    let exact = scene.parabench("fold r --think exact").exits(0);
    assert!(!exact.err.contains("pauses are"), "{}", exact.err);
}

#[test]
fn a_part_can_be_folded() {
    let program = "mkdir(\"d-$$rank\"); time[\"load\"] repeat $i 9 write(\"d-$$rank/f-$i\", 8k); \
                   time[\"use\"] repeat $i 9 read(\"d-$$rank/f-$i\");";
    let scene = ran(program, "-n 2");
    for (only, part, others) in
        [("load", "write(", "read("), ("1", "d-1", "d-0"), ("d-0", "d-0", "d-1")]
    {
        let done = scene.parabench(&format!("fold r --only {only}")).exits(0);
        let done = done.err_has("without loss");
        assert!(done.out.contains(part) && !done.out.contains(others), "{only}\n{}", done.out);
    }
    scene.parabench("fold r --only nosuch").exits(2).err_has("load, use");
    // Ranks that have no part in it are left out.
    let some = ran("if ($$rank >= 2) time[\"late\"] write(\"f-$$rank\", 1k); stat(\".\");", "-n 4");
    let late = some.parabench("fold r --only late").exits(0).err_has("2 operations became");
    assert!(!late.out.contains("assert") && late.out.contains("-n 2"), "{}", late.out);
    some.parabench("fold r --only f-3")
        .exits(0)
        .err_has("1 operation became ")
        .out_has(": 1 operation, ");
}

#[test]
fn programs_are_stretched_where_they_allow_it() {
    let program = "$f = fopen(\"ior\", \"O_RDWR|O_CREAT\");
         repeat $i 100 fwrite($f, 47008, ($i * $$size + $$rank) * 47008);
         barrier;
         repeat $i 100 fread($f, 47008, ($i * $$size + ($$rank + 1) % $$size) * 47008);
         fclose($f);";
    let scene = ran(program, "-n 4");
    let plain = folded(&scene, "r");
    let wide =
        scene.parabench("fold r --scale size=2 --scale count=3 --ranks 64").exits(0).out.clone();
    assert!(
        wide.contains("param $size = 94016;") && wide.contains("param $count = 300;"),
        "{wide}"
    );
    assert!(wide.contains(", 2 times that of the run"), "{wide}");
    // The head says so.
    assert_eq!(plain.lines().count() + 1, wide.lines().count());
    // Parts of ranks that would be written by others, too.
    let parts = "repeat $i 20 { $f = fopen(\"log\", \"O_RDWR|O_CREAT\");
             fwrite($f, 4k, $i * 4k + $$rank * 80k); fclose($f); }";
    let parts = ran(parts, "-n 3");
    let refused = parts.parabench("fold r --scale count=4 --scale size=1").exits(2);
    refused.err_has("both write log at").err_has("those of the run are apart");
    let apart = ran("repeat $i 20 write(\"log-$$rank\", 4k, $i * 4k);", "-n 3");
    apart.parabench("fold r --scale count=4").exits(0);
    let said = apart.parabench("fold r --scale count=2 -o y.ppl").exits(0);
    said.err_has("without loss, then scaled: count=2");
    assert!(apart.text("y.ppl").contains("\n# Not the same as the run, but scaled: count=2.\n"));
    scene.parabench("fold r --scale sizes=2").exits(2).err_has("count, size");
    scene.parabench("fold r --scale size").exits(2).err_has("size=4");
    let half = scene.parabench("fold r --scale count=0.5").exits(0);
    half.out_has("param $count = 50;").out_has("0.5 times that of the run");
    scene.parabench("fold r --scale count=0.123").exits(2).err_has("no whole number");
    let fixed = ran("if ($$rank < 2) { write(\"a-$$rank\", 1); stat(\"a-$$rank\"); }", "-n 4");
    fixed.parabench("fold r --ranks 8").exits(2).err_has("$$rank < 2");
}

/// A place in a file is no size, and no parameter that says so.
#[test]
fn seeks_are_not_called_sizes() {
    let program = "write(\"a\", 8k); $h = fopen(\"a\", \"r\");\n\
                   repeat 20 { fseek($h, 1104); fread($h, 16); fseek($h, 1104); fread($h, 100); }\n\
                   fclose($h);";
    let done = ran(program, "").parabench("fold r").exits(0).out_has("1104");
    assert!(!done.out.contains("fseek of") && !done.out.contains("per fseek"), "{}", done.out);
    assert!(!done.out.contains("param $size = 1104"), "{}", done.out);
}

#[test]
fn nothing_of_the_names_is_left_in_an_anonymous_program() {
    let program = "mkdir(\"patients\"); time[\"clinic\"] repeat $i 20 write(\"patients/Smith-$i.dicom\", 4k);";
    let scene = ran(program, "");
    scene.parabench("fold r -o a.ppl --anonymise words").exits(0).err_has("without loss");
    let (text, words) = (scene.text("a.ppl"), scene.text("words"));
    for word in ["patients", "Smith", "dicom", "clinic", "x.ppl"] {
        assert!(!text.to_lowercase().contains(&word.to_lowercase()), "{word} in\n{text}");
    }
    assert!(words.contains("\tSmith\n"), "{words}");
    // Without the map nobody can tell what the words were, and other files are not ours.
    let fold = "fold r --anonymise";
    scene.parabench(&format!("{fold} words")).exits(2).err_has("--force");
    scene.parabench(&format!("{fold} x.ppl --force")).exits(2).err_has("none of Parabench");
    scene.parabench(&format!("{fold} b.ppl -o ./b.ppl")).exits(2).err_has("the program");
    scene.parabench(&format!("{fold} b.data -o b.ppl")).exits(2).err_has("long lists");
    scene.parabench(&format!("{fold} -")).exits(2).err_has("not printed");
    assert!(scene.text("x.ppl").contains("Smith") && scene.text("words") == words);
    scene.parabench(&format!("{fold} words --force")).exits(0);
    assert_eq!(scene.text("words"), words);
    assert_eq!(text.lines().count(), folded(&scene, "r").lines().count());
}

/// Formulas that are right for the ranks of the run and give the same places or negative numbers on
/// others.
#[test]
fn a_program_for_more_ranks_keeps_them_apart() {
    let program = "$r = 3 - $$rank; write(\"out.${r:04}\", 1k);";
    let scene = ran(program, "-n 4");
    scene.parabench("fold r --ranks 2").exits(0);
    scene.parabench("fold r --ranks 9").exits(2).err_has("name out.-").err_has("is negative");
    let program = "$f = fopen(\"a\", \"O_RDWR|O_CREAT\");
         repeat $i 16 fwrite($f, 64k, $i * 256k + $$rank * 64k); fclose($f);";
    let scene = ran(program, "-n 3");
    let wide = scene.parabench("fold r --ranks 8").exits(2);
    wide.err_has("both write a at ").err_has("those of the run are apart");
    // Where ranks of the run write the same, so may others.
    let scene = ran("repeat $i 4 write(\"same\", 4k); write(\"own-$$rank\", 1k);", "-n 3");
    scene.parabench("fold r --ranks 8").exits(0);
}

#[test]
fn lines_that_call_and_values_are_explained() {
    let step = "repeat $i 20 fwrite($f, 4k, $i * 8k); fsync($f); fclose($f);";
    let program = format!(
        "$f = fopen(\"a\", \"w\"); {step} mkdir(\"d\"); stat(\"d\"); repeat $k 3 {{ \
             $f = fopen(\"b-$k\", \"w\"); {step} }} \
         $sizes = [7000, 120, 9, 4400, 81, 4, 2500, 777]; repeat $i 8 write(\"c\", $sizes[$i]);"
    );
    let scene = ran(&program, "");
    let text = folded(&scene, "r");
    let explained = |part: &str| {
        let line = text.lines().position(|line| line.contains(part));
        let line = line.unwrap_or_else(|| panic!("{part} in\n{text}")) + 1;
        scene.parabench(&format!("fold r --explain {line}")).exits(0)
    };
    let call = text.lines().find(|line| line.starts_with("write_")).expect("a call");
    let done = explained(call).out_has("fwrite \"a\", 4096 of 4096 bytes at 8192");
    assert!(!done.out.contains("b-0") && !done.out.contains("mkdir"), "{}", done.out);
    explained("repeat $i 3 {").out_has("fopen \"b-0\"").out_has("  and ");
    explained("define proc").out_has("fwrite \"a\"");
    let used = explained("param $").out;
    assert!(used.contains("  line ") && !used.contains("no operation"), "{used}");
    explained("$sizes = ").out_has("write(\"c\"");
    explained("# Run it").out_has("no operation of the run");
}

/// A value that is the same in all places is none of a proc's parameters, in a loop or not.
#[test]
fn what_is_the_same_in_all_places_is_no_parameter() {
    let step = |name: &str| {
        format!(
            "$f = fopen({name}, \"w\"); repeat $i 16 fwrite($f, 64k, $i * 256k + $$rank * 64k); \
             fsync($f); fclose($f); stat({name});"
        )
    };
    let program = format!(
        "repeat $k 5 {{ {} mkdir(\"d-$k-$$rank\"); }} stat(\".\"); {}",
        step("\"a-$k-$$rank\""),
        step("\"a-9-$$rank\"")
    );
    let scene = ran(&program, "-n 4");
    let text = folded(&scene, "r");
    assert!(text.contains("define proc write_a($n) {"), "{text}");
    assert!(text.contains("param $count = 16;") && text.contains("param $size = 64k;"), "{text}");
}

#[test]
fn the_head_names_a_file_as_a_shell_takes_it() {
    let scene = ran("write(\"a\", 1k);", "");
    scene.call("fold r -o").word("my program.ppl").run().exits(0);
    assert!(scene.text("my program.ppl").contains("# Run it: parabench run 'my program.ppl'\n"));
}
