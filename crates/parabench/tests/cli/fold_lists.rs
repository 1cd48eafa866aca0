//! Long lists of folded programs stand in a file beside them.

use super::fold::{ran, statements};

/// Operations that follow no rule, of two phases.
const IRREGULAR: &str = "$f = fopen(\"secret-data\", \"w\");
    time[\"first\"] repeat $i 300 fwrite($f, rand(1, 9000), perm($i, 300) * 16k);
    time[\"second\"] repeat $i 200 with (expect=\"ENOENT\") stat(\"secret-\" + [\"x\", \"y\", \"z\"][rand(0, 2)] + \"q\");
    fclose($f);";

#[test]
fn long_lists_stand_beside_the_program() {
    let scene = ran(IRREGULAR, "-n 2");
    let done = scene.parabench("fold r -o app.ppl").exits(0);
    done.err_has("lists in app.data, without loss");
    let (text, data) = (scene.text("app.ppl"), scene.text("app.data"));
    assert!(text.lines().count() < 30 && text.contains(" = list(\"app.data\", \"sizes"), "{text}");
    assert!(data.starts_with("# Folded from x.ppl") && data.contains("\n[sizes"), "{data}");
    for line in [
        "check app.ppl",
        "fmt --check app.ppl",
        "plan app.ppl -n 2 -v",
        "prepare app.ppl -n 2 --dir d --dry-run",
    ] {
        scene.parabench(line).exits(0);
    }
    // In the run of the replay they are part of the program; it folds to the same.
    let run = "run app.ppl -n 2 --backend mem --events --out s";
    scene.parabench(run).exits(0);
    scene.parabench("fidelity r s").exits(0).out_has("does what r did");
    scene.parabench("run app.ppl -n 2 --against-trace r --dir again").exits(0);
    scene.parabench("fold s -o app.ppl --force").exits(0);
    assert_eq!(
        (statements(&scene.text("app.ppl")), statements(&scene.text("app.data"))),
        (statements(&text), statements(&data))
    );
    // Who prints the program has all of it.
    let printed = scene.parabench("fold r").exits(0);
    assert!(
        printed.out.contains("$sizes = [") && !printed.out.contains("list("),
        "{}",
        printed.out
    );
    let scene = scene.file("printed.ppl", &printed.out);
    scene.parabench("run printed.ppl -n 2 --backend mem").exits(0);
}

#[test]
fn files_of_lists_are_treated_like_the_program() {
    let scene = ran(IRREGULAR, "");
    scene.parabench("fold r -o app.ppl").exits(0);
    // Somebody may have changed them.
    std::fs::remove_file(scene.path("app.ppl")).expect("it is there");
    scene.parabench("fold r -o app.ppl").exits(2).err_has("app.data").err_has("--force");
    scene.parabench("replay r -o app.ppl").exits(2).err_has("app.data").err_has("--force");
    let mine = scene.file("app.data", "1\n").file("regular.ppl", "repeat $i 9 write(\"a-$i\", 1);");
    mine.parabench("fold r -o app.ppl --force").exits(2).err_has("not written by Parabench");
    // An anonymous one has none of the names.
    mine.parabench("fold r -o b.ppl").exits(0).err_has("lists in b.data, without loss");
    mine.parabench("run b.ppl --backend mem").exits(0);
    mine.parabench("fold r -o c.ppl --anonymise words").exits(0).err_has("without loss");
    for file in ["c.ppl", "c.data"] {
        let text = mine.text(file);
        assert!(!text.contains("secret") && !text.contains("x.ppl"), "{text}");
    }
    // A program without lists leaves none behind, and files of others stay.
    assert!(mine.names(".").contains(&"b.data".to_string()));
    mine.parabench("run regular.ppl --backend mem --events --out t").exits(0);
    mine.parabench("fold t -o b.ppl --force").exits(0);
    mine.parabench("fold t -o app.ppl --force").exits(0);
    let left = mine.names(".");
    assert!(!left.contains(&"b.data".to_string()) && mine.text("app.data") == "1\n", "{left:?}");
    let before = mine.names(".");
    mine.parabench("replay r").exits(0).out_has("r.ppl does what r did");
    assert_eq!(mine.names("."), before, "nothing is left");
}
