//! `parabench fold`: a run becomes a program that does the same.

use crate::scene::{Scene, root};

/// Runs a program on files in memory and keeps its events.
fn ran(text: &str, options: &str) -> Scene {
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench(&format!("run x.ppl --backend mem --events --out r {options}"));
    scene
}

/// Folds without loss; the text.
fn folded(scene: &Scene, run: &str) -> String {
    let program = format!("{run}.ppl");
    scene.parabench(&format!("fold {run} -o {program}")).exits(0).err_has("without loss");
    scene.parabench(&format!("check {program}")).exits(0);
    scene.parabench(&format!("fmt --check {program}")).exits(0);
    scene.text(&program)
}

/// The text without its comment.
fn statements(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn programs_become_programs_that_do_the_same() {
    for (name, ranks, most_times) in [
        ("programs/stress", 1, 3),
        ("programs/stress", 4, 3),
        ("programs/metadata", 4, 3),
        ("programs/random", 1, 100),
        ("programs/sequential", 4, 3),
        ("programs/olap", 1, 10),
        ("examples/hello", 3, 3),
        ("examples/procs", 2, 3),
        ("examples/groups", 4, 3),
        ("examples/listing1", 1, 3),
    ] {
        let text = std::fs::read_to_string(root().join(format!("{name}.ppl"))).unwrap();
        let scene = ran(&text, &format!("-n {ranks}"));
        let short = folded(&scene, "r");
        let (lines, original) = (short.lines().count(), text.lines().count());
        assert!(lines <= most_times * original, "{name}: {lines} of {original}\n{short}");
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
    let texts = [(100, 4), (5000, 4), (100, 8)].map(|(count, ranks)| {
        let scene = ran(&program(count), &format!("-n {ranks}"));
        statements(&folded(&scene, "r"))
    });
    let without = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    assert!(texts[0].lines().count() <= 25, "{}", texts[0]);
    assert!(texts[0].contains("$$rank"), "{}", texts[0]);
    assert_eq!(without(&texts[0]), without(&texts[1]));
    assert_eq!(without(&texts[0]), without(&texts[2]));
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
    let scene = Scene::new().file("app.strace", log);
    scene.parabench("import app.strace -o r").exits(0);
    let text = folded(&scene, "r");
    for part in [
        "$file = fopen(\"in\", \"r\");",
        "with (expect=\"ENOENT\") stat(\"gone\");",
        "\"O_RDWR|O_EXCL|O_CREAT\"",
        "compute(500ms);",
        "barrier;",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let line = text.lines().position(|line| line.contains("ENOENT")).unwrap() + 1;
    scene.parabench(&format!("fold r --explain {line}")).exits(0).out_has("app.strace:5: stat");
    let none = scene.parabench("fold r --think none").exits(0);
    assert!(!none.out.contains("compute"), "{}", none.out);
}

#[test]
fn what_cannot_be_folded_is_said() {
    let scene = ran("write(\"a\", 1);", "");
    scene.parabench("run x.ppl --backend mem --out bare").exits(0);
    scene.parabench("fold bare").exits(2).err_has("no events").err_has("--events");
    scene.parabench("fold nosuch").exits(2);
    scene.parabench("fold r --think often").exits(2).err_has("scale=0.5");
    scene.parabench("fold r --explain 99").exits(2).err_has("lines");
    let scene = scene.file("mine.ppl", "write(\"b\", 1);\n");
    scene.parabench("fold r -o mine.ppl").exits(2).err_has("-o");
    assert_eq!(scene.text("mine.ppl"), "write(\"b\", 1);\n");
}

#[test]
fn a_program_that_differs_is_not_called_lossless() {
    // Nothing brings about that error on files in memory.
    let log = "17 1795253061.000000 openat(AT_FDCWD</data>, \"a\", O_RDONLY) = -1 EIO (Input/output error) <0.000010>\n\
               17 1795253061.000100 mkdir(\"/data/b\", 0777) = 0 <0.000010>\n";
    let scene = Scene::new().file("app.strace", log);
    scene.parabench("import app.strace -o r --all").exits(0);
    scene.parabench("fold r -o x.ppl").exits(1).err_has("1 operations differ").err_has("EIO");
}
