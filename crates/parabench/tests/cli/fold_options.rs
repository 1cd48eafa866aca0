//! Options of `parabench fold`: pauses one by one, a part of a run, anonymous names.

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
        for part in ["$pauses", "1234567ns", "$i * 5 + 20) * 1us", "compute(30us)"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
    let scene = ran(PAUSES, "");
    scene.parabench("fold r --think typical").exits(0).out_has("compute(");
}

/// What a program waits for before a loop is no part of each iteration.
#[test]
fn a_pause_before_a_loop_stands_before_it() {
    let mut log = String::from(
        "17 1795253061.000000 openat(AT_FDCWD, \"/data/in\", O_RDONLY) = 3 <0.000010>\n",
    );
    let mut us = 1_795_253_061_000_010_i64;
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
    assert!(text.contains("    compute(40ms);\n    repeat $j 5 fread("), "{text}");
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
            "    compute(50ms);\n}\n\nrepeat $i 72..72 + $count2 write(",
        ),
        (
            "$f = fopen(\"a\", \"w+\");
             repeat 10 { repeat 8 fwrite($f, 64k); compute(50ms); } fclose($f);",
            1,
            "    repeat $count2 fwrite($file, $size);\n    compute(50ms);\n",
        ),
        // Bursts of several lengths, and one pause that takes most of the time.
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
         repeat $i 1500 { if (rand(0, 9) == 0) compute(4ms); fread($f, 4k, $i * 4k); }";
    let scene = ran(program, "");
    let done = scene.parabench("fold r").exits(0).err_has("pauses are averaged (one of 4");
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
    scene.parabench(&format!("{fold} x.ppl --force")).exits(2).err_has("not written by Parabench");
    scene.parabench(&format!("{fold} b.ppl -o ./b.ppl")).exits(2).err_has("the program");
    scene.parabench(&format!("{fold} b.data -o b.ppl")).exits(2).err_has("long lists");
    scene.parabench(&format!("{fold} -")).exits(2).err_has("not printed");
    assert!(scene.text("x.ppl").contains("Smith") && scene.text("words") == words);
    scene.parabench(&format!("{fold} words --force")).exits(0);
    assert_eq!(scene.text("words"), words);
    assert_eq!(text.lines().count(), folded(&scene, "r").lines().count());
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
    assert!(text.contains("define proc fwrite_a($n) {"), "{text}");
    assert!(text.contains("param $count = 16;") && text.contains("param $size = 64k;"), "{text}");
}

#[test]
fn the_head_names_a_file_as_a_shell_takes_it() {
    let scene = ran("write(\"a\", 1k);", "");
    scene.call("fold r -o").word("my program.ppl").run().exits(0);
    assert!(scene.text("my program.ppl").contains("# Run it: parabench run 'my program.ppl'\n"));
}
