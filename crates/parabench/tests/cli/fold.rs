//! `parabench fold`: a run becomes a program that does the same.

use crate::scene::{Scene, root};
use crate::schema::run_object;
use std::fs;

/// Runs a program on files in memory and keeps its events.
pub fn ran(text: &str, options: &str) -> Scene {
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench(&format!("run x.ppl --backend mem --events --out r {options}"));
    scene
}

/// Folds without loss; the text.
pub fn folded(scene: &Scene, run: &str) -> String {
    let program = format!("{run}.ppl");
    scene.parabench(&format!("fold {run} -o {program} --force")).exits(0).err_has("without loss");
    scene.parabench(&format!("check {program}")).exits(0);
    scene.parabench(&format!("fmt --check {program}")).exits(0);
    scene.text(&program)
}

/// The text without its comment; files of lists are called after their programs.
pub fn statements(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.replace("list(\"s.data\"", "list(\"r.data\"") + "\n").collect()
}

/// Programs, and ranks.
const FOLDED: [(&str, u32); 11] = [
    ("programs/stress", 1),
    ("programs/stress", 4),
    ("programs/metadata", 4),
    ("programs/random", 1),
    ("programs/sequential", 4),
    ("programs/olap", 1),
    ("examples/hello", 3),
    ("examples/procs", 2),
    ("examples/groups", 4),
    ("examples/listing1", 1),
    ("examples/random", 1),
];

/// Programs, and ranks, that are executed once and folded without loss. What they do depends on random
/// numbers, so there are lists.
const ONCE: [(&str, u32); 46] = [
    ("programs/btio", 4),
    ("programs/flash", 4),
    ("programs/hacc", 4),
    ("programs/tile", 4),
    ("programs/ior", 4),
    ("programs/mdtest", 4),
    ("programs/io500", 4),
    ("programs/postmark", 4),
    ("programs/filebench", 4),
    ("programs/mdworkbench", 4),
    ("programs/beffio", 4),
    ("programs/madbench2", 4),
    ("programs/noncontig", 4),
    ("programs/hpio", 4),
    ("programs/s3d", 4),
    ("programs/iozone", 4),
    ("programs/groups", 4),
    ("programs/piobench", 4),
    ("programs/dlio", 4),
    ("programs/kafka", 4),
    ("programs/postgres", 4),
    ("programs/sqlite", 4),
    ("programs/maildir", 4),
    ("programs/zarr", 4),
    ("programs/git", 4),
    ("programs/vmimage", 4),
    ("programs/collective", 4),
    ("programs/split", 4),
    ("programs/management", 4),
    ("programs/team", 4),
    ("programs/static", 4),
    ("examples/listing2", 4),
    ("examples/listing2-corrected", 4),
    ("examples/sharing", 4),
    ("examples/signals", 4),
    ("examples/applications/chunked", 4),
    ("examples/applications/ensemble", 4),
    ("examples/applications/genomics", 4),
    ("examples/applications/log-store", 4),
    ("examples/applications/mail", 4),
    ("examples/applications/producers", 4),
    ("examples/applications/quota", 4),
    ("examples/applications/restart", 4),
    ("examples/applications/training", 4),
    ("examples/applications/video", 4),
    ("examples/applications/object-store", 4),
];

/// Programs that do not become programs that do the same, and why.
const NOT: [(&str, &str); 2] = [
    ("programs/staging", "it uses directories that only the command line grants"),
    ("examples/applications/tasks", "ranks that race for a lock have no order but that of time"),
];

#[test]
fn every_program_is_folded_or_named_with_a_reason() {
    let folded = FOLDED.iter().map(|row| row.0).chain(ONCE.iter().map(|row| row.0));
    let named: Vec<&str> = folded.chain(NOT.iter().map(|row| row.0)).collect();
    for folder in ["programs", "examples", "examples/applications"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "ppl") {
                let name = format!("{folder}/{}", path.file_stem().unwrap().to_string_lossy());
                assert!(named.contains(&name.as_str()), "{name}");
            }
        }
    }
}

#[test]
fn programs_of_applications_are_folded_without_loss() {
    for (name, ranks) in ONCE {
        let text = fs::read_to_string(root().join(format!("{name}.ppl"))).unwrap();
        let scene = ran(&text, &format!("-n {ranks} --agile"));
        folded(&scene, "r");
    }
}

#[test]
fn programs_become_programs_that_do_the_same() {
    for (name, ranks) in FOLDED {
        let text = fs::read_to_string(root().join(format!("{name}.ppl"))).unwrap();
        let scene = ran(&text, &format!("-n {ranks}"));
        let short = folded(&scene, "r");
        let (lines, original) = (short.lines().count(), text.lines().count());
        assert!(lines <= 3 * original, "{name}: {lines} of {original}\n{short}");
        // The same run, the same text; and what the program does becomes the same program.
        assert_eq!(folded(&scene, "r"), short, "{name}");
        let again = format!("run r.ppl -n {ranks} --backend mem --events --out s --agile");
        scene.parabench(&again).exits(0);
        assert_eq!(statements(&folded(&scene, "s")), statements(&short), "{name}");
    }
}

#[test]
fn the_text_does_not_grow_with_iterations_or_ranks() {
    let program = |count: u32| {
        format!(
            "$f = fopen(\"data\", \"O_WRONLY|O_CREAT\");
             repeat $i {count} fwrite($f, 4k, ($i * $$size + $$rank) * 4k);
             fclose($f);"
        )
    };
    let texts = [(100, 4), (10_000, 4), (100, 8), (40_000, 4)].map(|(count, ranks)| {
        let scene = ran(&program(count), &format!("-n {ranks}"));
        statements(&folded(&scene, "r"))
    });
    let without = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    assert!(texts[0].lines().count() <= 25, "{}", texts[0]);
    assert!(texts[0].contains("$$rank"), "{}", texts[0]);
    texts[1..].iter().for_each(|text| assert_eq!(without(text), without(&texts[0])));
}

#[test]
fn a_log_of_another_tool_becomes_a_program() {
    let log = r#"
17 1795253061.000000 openat(AT_FDCWD</data>, "in", O_RDONLY) = 3</data/in> <0.000010>
17 1795253061.000100 read(3</data/in>, ""..., 4096) = 4096 <0.000010>
17 1795253061.000200 read(3</data/in>, ""..., 4096) = 904 <0.000010>
17 1795253061.000300 stat("gone", 0x7f) = -1 ENOENT (No such file or directory) <0.000010>
17 1795253061.000400 openat(AT_FDCWD</data>, "out", O_RDWR|O_CREAT|O_EXCL, 0644) = 4</data/out> <0.000020>
17 1795253061.000500 clone(child_stack=NULL, flags=SIGCHLD) = 18 <0.000100>
18 1795253061.000700 write(4</data/out>, ""..., 4096) = 4096 <0.000030>
17 1795253061.500000 write(4</data/out>, ""..., 4096) = 4096 <0.000030>
17 1795253061.500100 close(4</data/out>) = 0 <0.000010>
"#;
    // With one more call the child works beside its parent.
    let beside = r#"18 1795253061.500200 write(4</data/out>, ""..., 4096) = 4096 <0.000030>
"#;
    for (more, ranks, pause) in
        [("", "7 operations, 1 rank.", "499ms"), (beside, "8 operations, 2 ranks.", "500ms")]
    {
        let scene = Scene::new().file("app.strace", format!("{log}{more}"));
        scene.parabench("import app.strace -o r").exits(0);
        let text = folded(&scene, "r");
        for part in [
            ranks,
            "$file = fopen(\"in\", \"r\");",
            "with (expect=\"ENOENT\") stat(\"gone\");",
            "\"O_RDWR|O_EXCL|O_CREAT\"",
            &format!("compute({pause});"),
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(text.contains("barrier;"), !more.is_empty(), "{text}");
        let none = scene.parabench("fold r --think none").exits(0);
        assert!(!none.out.contains("compute"), "{}", none.out);
    }
}

#[test]
fn a_name_below_which_another_one_is_missing_is_a_directory() {
    let log = "17 1795253061.000000 stat(\"/data/bin\", 0x7f) = 0 <0.000010>\n\
               17 1795253061.000100 stat(\"/data/bin/sh\", 0x7f) = -1 ENOENT (No such file or directory) <0.000010>\n\
               17 1795253061.000200 stat(\"/data/lib/a/x\", 0x7f) = -1 ENOENT (No such file or directory) <0.000010>\n\
               17 1795253061.000300 stat(\"/data/lib/a\", 0x7f) = 0 <0.000010>\n\
               17 1795253061.000400 mkdir(\"/data/b\", 0777) = 0 <0.000010>\n";
    let scene = Scene::new().file("app.strace", log);
    scene.parabench("import app.strace -o r --all").exits(0);
    folded(&scene, "r");
}

#[test]
fn who_cuts_a_file_waits_for_who_reads_it() {
    let program = "write(\"log-$$rank\", 1);
         barrier;
         repeat $i 3 {
             if ($$rank == 0) { write(\"a\", 600 - $i * 100); signal(\"w\", to=1); wait(\"r\"); }
             if ($$rank == 1) { wait(\"w\"); read(\"a\", 4k); signal(\"r\", to=0); }
         }";
    folded(&ran(program, "-n 2"), "r");
}

#[test]
fn handles_and_parameters_have_plain_names() {
    let program = "mkdir(\"projects\"); mkdir(\"projects/climate-2026\");
         $d = \"projects/climate-2026\";
         $db = fopen(\"$d/content.db\", \"w+\");
         $wal = fopen(\"$d/content.wal\", \"a\");
         repeat $i 40 { fwrite($wal, 1000); fwrite($db, 4k, $i * 4k); }
         repeat 20 { fread($db, 100, 0); fread($db, 4k, rand(0, 30) * 4k); }
         fclose($wal); fclose($db);
         repeat $i 30 write(\"$d/part-$i\", 64k);
         stat(\"$d/part-7\"); delete(\"$d/content.wal\"); rename(\"$d/part-1\", \"$d/last\");";
    let scene = ran(program, "-n 1");
    let text = folded(&scene, "r");
    for part in [
        "$dir = \"projects/climate-2026\";",
        "$file = fopen(\"$dir/content.db\", \"w+\");",
        "fwrite($file2, $size);",
        "fwrite($file, $size2, $i * $size2);",
        "fread($file, $size3, 0);",
        "param $count = 40; /// iterations of fwrite\n",
        "param $count2 = 20; /// iterations of fread; above 20 $offsets starts again\n",
        "param $size2 = 4k; /// bytes of fwrite and fread\n",
        "param $count3 = 30; /// iterations over projects/climate-*/part-*\n",
        "write(\"$dir/part-$i\", $size4);",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    scene.parabench("run r.ppl count=50 count2=9 --backend mem").exits(0);
    scene.parabench("run r.ppl --backend mem --events --out s").exits(0);
    assert_eq!(statements(&folded(&scene, "s")), statements(&text));
}

/// Another rank, iteration or branch may have opened the file of a variable.
#[test]
fn files_of_several_branches_share_a_variable() {
    let program =
        "repeat $i 9 write(\"part-$i\", 8k); create(\"alpha.db\"); create(\"beta.log\"); barrier;
         if ($$rank == 0) $f = fopen(\"alpha.db\", \"r+\"); else $f = fopen(\"beta.log\", \"r+\");
         repeat 30 fwrite($f, 100);
         fclose($f);
         barrier;
         $f = fopen(\"alpha.db\", \"r\");
         repeat $i 9 { repeat rand(1, 3) fread($f, 8); fclose($f); $f = fopen(\"part-$i\", \"r\"); }
         fclose($f);";
    let text = folded(&ran(program, "-n 2"), "r");
    assert!(text.contains("$file"), "{text}");
}

#[test]
fn what_cannot_be_folded_is_said() {
    let scene = ran("write(\"a\", 1);", "");
    scene.parabench("run x.ppl --backend mem --out bare").exits(0);
    scene.parabench("fold bare").exits(2).err_has("no events").err_has("--events");
    scene.parabench("fold nosuch").exits(2);
    scene.parabench("fold r --think often").exits(2).err_has("typical, exact or none");
    for line in ["fold r -o no/x.ppl", "fold r --anonymise no/map", "replay r -o no/x.ppl"] {
        let done = scene.parabench(line).exits(2).err_has("there is no folder ");
        assert!(!done.err.contains(".tmp"), "{}", done.err);
    }
    for verb in ["fold", "replay"] {
        scene.parabench(&format!("{verb} r -o -")).exits(2).err_has("found standard output");
    }
    let run = scene.text("r/run.json");
    let many = run.replacen("\"params\":[],\"ranks\":1,", "\"params\":[],\"ranks\":2147483648,", 1);
    assert_ne!(run, many, "{run}");
    let scene = scene.file("r/run.json", &many);
    scene.parabench("fold r").exits(2).err_has("2147483648 ranks, at most");
    let scene = scene.file("r/run.json", &run);
    let scene = scene.file("mine.ppl", "write(\"b\", 1);\n");
    scene.parabench("fold r -o mine.ppl").exits(2).err_has("-o");
    assert_eq!(scene.text("mine.ppl"), "write(\"b\", 1);\n");
    // Also of our own: somebody may have changed it.
    scene.parabench("fold r -o again.ppl").exits(0);
    let changed = scene.text("again.ppl") + "# mine\n";
    let scene = scene.file("again.ppl", &changed);
    for line in ["fold r -o again.ppl", "replay r -o again.ppl"] {
        scene.parabench(line).exits(2).err_has("may have been changed").err_has("--force");
        assert_eq!(scene.text("again.ppl"), changed);
    }
    scene.parabench("fold r -o again.ppl --force").exits(0);
    assert!(!scene.text("again.ppl").contains("# mine"));
    scene.parabench("replay r -o again.ppl --force").exits(0);
    scene.parabench("fold r -o mine.ppl --force").exits(2).err_has("not written by Parabench");
}

#[test]
fn a_program_that_differs_is_not_called_lossless() {
    // Nothing brings about that error on files in memory.
    let log = "17 1795253061.000000 openat(AT_FDCWD</data>, \"a\", O_RDONLY) = -1 EIO (Input/output error) <0.000010>\n\
               17 1795253061.000100 mkdir(\"/data/b\", 0777) = 0 <0.000010>\n";
    let scene = Scene::new().file("app.strace", log);
    scene.parabench("import app.strace -o r --all").exits(0);
    scene.parabench("fold r -o x.ppl").exits(1).err_has("1 operation differs").err_has("EIO");
    assert!(
        scene.text("x.ppl").contains(
            "\n# Not the same as the run, which has 2 operations: 1 operation differs.\n"
        )
    );
}

#[test]
fn irregular_numbers_stand_in_lists() {
    let program = "$f = fopen(\"a\", \"w\"); repeat $i 200 fwrite($f, 4k, perm($i, 200) * 4k); \
                   ftruncate($f, 12k); fclose($f); truncate(\"a\", 5k);";
    let scene = ran(program, "-n 1");
    let text = folded(&scene, "r");
    for part in
        ["$offsets[$i % len($offsets)] * $size", "ftruncate($file, 12k)", "truncate(\"a\", 5k)"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(text.lines().count() <= 30, "{text}");
}

/// Names of attributes stand in no event: what was not there is another one than what was set.
#[test]
fn attributes_that_are_not_there_are_not_those_that_were_set() {
    let program = "create(\"a\"); setxattr(\"a\", \"user.x\", 9); getxattr(\"a\", \"user.x\");
                   with (expect=\"ENODATA\") getxattr(\"a\", \"user.y\");";
    let text = folded(&ran(program, ""), "r");
    assert!(text.contains("\"user.name\"") && text.contains("\"user.absent\""), "{text}");
}

#[test]
fn ranks_with_fewer_values_are_not_filled_up() {
    let program = "$f = fopen(\"f-$$rank\", \"w\");
                   repeat $i 8 + ($$rank % 2) * 192 fwrite($f, rand(1, 9000), perm($i, 400) * 16k); fclose($f);";
    let scene = ran(program, "-n 6");
    let text = folded(&scene, "r");
    assert!(text.contains("[$$rank] + $i]"), "{text}");
    // Three long ranks, three short ones.
    let data = scene.text("r.data");
    assert!(data.contains(" 624]\n") && !data.contains(" 1200]"), "{data}");
}

/// Lines that are no part of a list.
fn lines_without_lists(text: &str) -> usize {
    let mut in_list = false;
    let is_other = |line: &&str| {
        in_list |= line.starts_with('$') && line.contains(" = [");
        let is_list = in_list;
        in_list &= !line.ends_with(';');
        !is_list
    };
    text.lines().filter(is_other).count()
}

#[test]
fn bodies_of_different_lengths_become_loops_over_lists() {
    // As an archiver does: files of any size, read in requests that fill a block, written in blocks.
    let program = "$out = fopen(\"out\", \"w\");
         repeat $i 60 write(\"f-${i:02}\", 40k);
         repeat $i 60 {
             $n = perm($i, 60);
             $f = fopen(\"f-${n:02}\", \"r\");
             fstat($f);
             repeat rand(0, 4) { fread($f, rand(100, 9000)); fwrite($out, 10k); }
             fread($f, rand(1, 9000));
             if (rand(0, 3) == 0) fdatasync($out);
             fclose($f);
         }
         fclose($out);";
    let scene = ran(program, "-n 1");
    let text = folded(&scene, "r");
    assert!(lines_without_lists(&text) <= 45, "{text}");
    for part in ["$at = 0;", "== 1) fdatasync("] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

/// The phase begins in the middle of a file.
#[test]
fn a_loop_may_begin_with_a_file_that_an_earlier_phase_opened() {
    let program = "repeat $i 60 write(\"f-${i:02}\", 40k);
         time[\"first\"] $f = fopen(\"f-00\", \"r\");
         time[\"rest\"] {
             repeat $i 60 {
                 repeat rand(1, 5) fread($f, rand(100, 9000));
                 fclose($f);
                 $n = perm($i, 60);
                 $f = fopen(\"f-${n:02}\", \"r\");
                 fstat($f);
             }
             fclose($f);
         }";
    let scene = ran(program, "-n 1");
    let text = folded(&scene, "r");
    assert!(lines_without_lists(&text) <= 35, "{text}");
}

#[test]
fn names_without_numbers_stand_in_lists() {
    let program = "$all = [\"alpha\", \"beta\", \"gamma\", \"delta\", \"eta\", \"mu\", \"nu\", \"pi\", \"rho\"];
         mkdir(\"d\");
         repeat $name in $all { create(\"d/$name\"); stat(\"d/$name\"); write(\"d/$name\", 4k); delete(\"d/$name\"); }";
    let scene = ran(program, "-n 1");
    let text = folded(&scene, "r");
    for part in [
        "\"alpha\", \"beta\"",
        "$name = $names[$i % len($names)] + ($i < len($names) ? \"\" : \"-\" + $i / len($names));",
        "create(\"d/$name\");",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(lines_without_lists(&text) <= 15, "{text}");
}

#[test]
fn sequences_that_stand_in_several_places_become_procs() {
    let step = |n: u32, bytes: u32| {
        format!(
            "mkdir(\"step-{n}\"); $f = fopen(\"step-{n}/state\", \"w\"); fwrite($f, {bytes}); fdatasync($f);
             fclose($f); rename(\"step-{n}/state\", \"step-{n}/last\"); stat(\"step-{n}/last\");"
        )
    };
    let program = [
        "create(\"a\");".into(),
        step(3, 700),
        "create(\"b\"); delete(\"a\");".into(),
        step(9, 4100),
        "delete(\"b\");".into(),
    ];
    let scene = ran(&program.concat(), "-n 1");
    let text = folded(&scene, "r");
    for part in ["define proc fwrite_step($n, $bytes) {", "fwrite_step(9, 4100);"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(text.lines().count() <= 26, "{text}");
}

#[test]
fn lists_of_some_ranks_are_read_by_these_alone() {
    let program = "$all = [0, 7, 2, 19, 0]; $n = $all[$$rank];
         if ($$rank > 0 && $$rank < 4) { create(\"f-$n\"); stat(\"f-$n\"); }";
    let scene = ran(program, "-n 5");
    let text = folded(&scene, "r");
    assert!(text.contains("[7, 2, 19]"), "{text}");
}

#[test]
fn ranks_that_do_something_else_meet_where_all_see_it() {
    let program = "repeat $i 12 {
             if ($$rank == $i % 3) { write(\"a-$i\", rand(1, 5000)); repeat rand(0, 3) stat(\"a-$i\"); }
             barrier;
             if ($$rank == ($i + 1) % 3) read(\"a-$i\");
         }";
    let scene = ran(program, "-n 3");
    folded(&scene, "r");
    let check = scene.parabench("check r.ppl").exits(0);
    assert!(!(check.out + &check.err).contains("W0304"), "{}", scene.text("r.ppl"));
}

/// A program of a few loops and statements, another one for each number.
fn generated(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut text = String::from("repeat $i 9 write(\"f-$$rank-$i\", 64k);\n");
    for _ in 0..3 + next(4) {
        let (times, inner, size) = (2 + next(12), next(5), 1 + next(9000));
        text += &match next(5) {
            0 => format!(
                "repeat $i {times} {{ $f = fopen(\"f-$$rank-${{i:02}}\", \"w\"); \
                 repeat rand(0, {inner}) fwrite($f, rand(1, {size})); fclose($f); }}\n"
            ),
            1 => format!("barrier;\nrepeat $i {times} create(\"c-{size}-$$rank-$i\");\n"),
            2 => format!("repeat {times} append(\"log-$$rank\", rand(1, {size}));\n"),
            3 => format!(
                "repeat $i {times} {{ $n = rand(0, 8); read(\"f-$$rank-$n\", {size}); \
                 if (rand(0, 2) == 0) stat(\"f-$$rank-$n\"); }}\n"
            ),
            _ => {
                format!("time[\"p{inner}\"] repeat $i 3 write(\"s-$$rank-$i\", $i * {size} + 1);\n")
            }
        };
    }
    text
}

#[test]
fn generated_programs_become_programs_that_do_the_same() {
    for seed in 1..=12 {
        let program = generated(seed);
        let scene = ran(&program, &format!("-n {}", 1 + seed % 3));
        let text = folded(&scene, "r");
        assert!(text.lines().count() < 400, "{program}\n{text}");
    }
}

/// An append to a file whose size the log does not tell may be anywhere.
#[test]
fn appends_at_unknown_positions_are_no_differences() {
    let mut log = "17 execve(\"/usr/bin/app\", [\"app\"], 0x7f /* 9 vars */) = 0\n".to_string();
    for _ in 0..4 {
        log += "17 openat(AT_FDCWD</d>, \"x.log\", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3</d/x.log>\n\
                17 write(3</d/x.log>, \"line\", 4) = 4\n\
                17 close(3</d/x.log>) = 0\n";
    }
    let scene = Scene::new().file("app.strace", &log);
    scene.parabench("import app.strace -o r").exits(0);
    let done = scene.parabench("fold r -o r.ppl").exits(0);
    done.err_has("without loss")
        .err_has("the run has no positions of 4 transfers")
        .err_has("the positions in the program were not compared");
}

/// The proof executes them in virtual time, which jumps.
#[test]
fn pauses_of_years_fold() {
    const PAUSE_S: u64 = 30_000_000;
    let mut log = "1795253061.0 open(\"/d/f\", O_WRONLY) = 3</d/f> <0.000001>\n".to_string();
    for number in 1..=200 {
        let start_s = 1_795_253_061 + number * PAUSE_S;
        log += &format!("{start_s}.0 write(3</d/f>, \"x\", {number}) = {number} <0.000001>\n");
    }
    let scene = Scene::new().file("app.strace", &log);
    scene.parabench("import app.strace -o r").exits(0);
    scene.parabench("fold r").exits(0).err_has("without loss");
}

/// A program of its own, without the recording, reads as much as the application did.
#[test]
fn a_folded_program_reads_files_to_their_ends() {
    let scene = Scene::new();
    for (at, bytes) in (0..).zip([4097usize, 1, 70_000, 333, 0, 9000, 12, 65_536, 8191, 2]) {
        fs::create_dir_all(scene.path("in")).expect("made");
        fs::write(scene.path(&format!("in/f-{at}")), vec![7; bytes]).expect("written");
    }
    let script = "for i in 0 1 2 3 4 5 6 7 8 9; do cat in/f-$i; done > all; cat all all > twice";
    scene.call("record --under . -o r -- sh -c").word(script).run().exits(0);
    let moved = |run: &serde_json::Value| -> Vec<(String, u64, u64)> {
        let rows = run["rows"].as_array().expect("rows").iter();
        let moves = rows.filter(|row| row["bytes"].as_u64() > Some(0) && row["part_of"].is_null());
        let number = |row: &serde_json::Value, name: &str| row[name].as_u64().expect("a number");
        moves
            .map(|row| (row["op"].to_string(), number(row, "count"), number(row, "bytes")))
            .collect()
    };
    let recorded = moved(&scene.parabench("report r --format json").exits(0).json());
    assert!(!recorded.is_empty());
    let text = folded(&scene, "r");
    for line in ["--prepare", "--backend mem --prepare"] {
        let run = scene.parabench(&format!("run r.ppl {line} --format json")).exits(0);
        assert_eq!(moved(&run.json()), recorded, "{line}: {text}");
    }
}

/// Lists start again, names that are made go on: twice the iterations are twice the operations.
#[test]
fn a_count_is_raised_in_one_place() {
    for (what, body) in [
        (
            "sizes",
            "$f = fopen(\"f\", \"w\"); repeat $i 12 fwrite($f, $sizes[$i] * 100); fclose($f);",
        ),
        (
            "numbers of names",
            "repeat $i 12 { $n = $sizes[$i]; mkdir(\"a-$n\"); rename(\"a-$n\", \"b-$n\"); }",
        ),
        ("names", "repeat $i 12 { $n = $names[$i]; mkdir($n); rmdir($n); }"),
        ("inputs", "repeat $i 12 { $n = $sizes[$i]; stat(\"in/a-$n\"); }"),
        (
            "positions",
            "$f = fopen(\"f\", \"w+\"); repeat $i 12 { fstat($f); repeat $j 9 fwrite($f, $many[$i * 9 + $j]); } fclose($f);",
        ),
    ] {
        let lists = "$sizes = [3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46, 26];\n\
            $names = [\"mu\", \"nu\", \"xi\", \"pi\", \"rho\", \"eta\", \"phi\", \"chi\", \"psi\", \"tau\", \"iota\", \"zeta\"];\n\
            $many = []; repeat $i 108 $many = $many + [(($i * $i * 7919 + $i * 31) % 1000) + 1];\n";
        let scene = Scene::new().file("x.ppl", format!("{lists}{body}\n"));
        scene.parabench("run x.ppl --prepare --events --out r").exits(0);
        let text = folded(&scene, "r");
        assert!(text.contains("param $count = 12; /// iterations o"), "{what}: {text}");
        assert!(text.contains("; above 12 "), "{what}: {text}");
        let scene = scene.file("more.ppl", &text);
        let operations = |count: u32| -> u64 {
            let line = format!("run more.ppl count={count} --prepare --format json");
            let run = run_object(&scene.parabench(&line).exits(0));
            let rows = run["rows"].as_array().expect("rows").iter();
            let own = rows.filter(|row| row["part_of"].is_null());
            own.map(|row| row["count"].as_u64().expect("a number")).sum()
        };
        let fixed = 2 * operations(12) - operations(24);
        assert!(fixed <= 2, "{what}: {fixed} operations are not in the loop: {text}");
    }
}
