//! `parabench replay`: fold, prepare, run and fidelity in one.

use crate::scene::Scene;

const PROGRAM: &str = "\
$h = fopen(\"in/data\", \"r\");
time[\"copy\"] repeat $i 50 {
    fread($h, 4k, $i * 4k);
    write(\"out-$$rank-$i\", 4k);
}
fclose($h);
repeat $i 50 delete(\"out-$$rank-$i\");
with (expect=\"ENOENT\") stat(\"none\");
";

/// One process reads a file of 5,000 bytes to its end and writes another one.
const LOG: &str = r#"
17 1795253061.000000 execve("/usr/bin/app", ["app"], 0x7f /* 9 vars */) = 0 <0.000300>
17 1795253061.000500 openat(AT_FDCWD</data>, "in/a", O_RDONLY) = 4</data/in/a> <0.000020>
17 1795253061.000800 read(4</data/in/a>, ""..., 4096) = 4096 <0.000030>
17 1795253061.000900 read(4</data/in/a>, ""..., 4096) = 904 <0.000030>
17 1795253061.000950 read(4</data/in/a>, "", 4096) = 0 <0.000030>
17 1795253061.001000 openat(AT_FDCWD</data>, "b", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 5</data/b> <0.000030>
17 1795253061.001100 write(5</data/b>, ""..., 5000) = 5000 <0.000030>
17 1795253061.001200 close(5</data/b>) = 0 <0.000010>
17 1795253061.001300 close(4</data/in/a>) = 0 <0.000010>
"#;

fn recorded() -> Scene {
    let scene = Scene::new().file("x.ppl", PROGRAM);
    scene.parabench("run x.ppl -n 2 --prepare --events --quiet --out a.run").exits(0);
    scene
}

#[test]
fn a_run_is_repeated_and_compared() {
    let scene = recorded();
    let before = scene.names(".");
    let done = scene.parabench("replay a.run").exits(0);
    done.out_has("a.ppl does what a.run did, all of its").err_has("without loss");
    assert_eq!(scene.names("."), before, "nothing is left");
    let kept = "replay a.run -o kept.ppl -- --reps 2 --out b.run --fidelity-gate";
    scene.call(kept).word("operations <= 0").run().exits(0).out_has("gate passes");
    assert!(scene.text("kept.ppl").starts_with("# Folded from x.ppl"));
    scene.parabench("fidelity a.run b.run").exits(0).out_has("each replay does what a.run did");
}

#[test]
fn an_imported_log_is_repeated_among_files_as_long_as_it_shows() {
    let scene = Scene::new().file("app.strace", LOG);
    scene.parabench("import app.strace -o app.run").exits(0);
    let done = scene.parabench("replay app.run --think none").exits(0);
    done.out_has("app.ppl does what").err_has("without loss");
    let done = scene.parabench("fold app.run -o app.ppl").exits(0);
    done.err_has("the program expects");
    let listed = scene.parabench("prepare app.ppl --dir d --trace app.run --dry-run").exits(0);
    listed.out_has("in/a: file, 4.88 KiB");
}

#[test]
fn what_cannot_be_repeated_is_told() {
    let scene = recorded();
    scene.parabench("run x.ppl --prepare --quiet --out none").exits(0);
    for (line, words) in [
        ("replay none", "none has no events"),
        ("replay nowhere", "nowhere"),
        ("replay a.run -- --nonsense", "options of the run: unexpected argument '--nonsense'"),
        ("replay a.run -o x.ppl", "none of Parabench"),
    ] {
        scene.parabench(line).exits(2).err_has(words);
    }
}
