//! What folded programs take from the text of the program whose run they are, what their heads say, and where
//! they wait for others.

use super::fold::{folded, ran};
use crate::scene::Scene;

/// Ranks that are named one by one: the program says for how many it is, and how it is run.
#[test]
fn a_program_that_names_ranks_says_how_many() {
    let text = "$n = [1k, 5k, 70k]; $h = [3, 1, 2];\n\
        repeat $i $h[$$rank] write(\"f-$$rank-$i\", $n[$$rank]);\nbarrier;\n\
        read(\"f-\" + ($$rank + 1) % 3 + \"-0\", $n[($$rank + 1) % 3]);\nread(\"old\", 1k);\n";
    let scene = Scene::new().file("x.ppl", text);
    scene.parabench("run x.ppl -n 3 --prepare --events --quiet --out r").exits(0);
    scene.parabench("fold r -o app.ppl").exits(0).err_has("without loss");
    let folded = scene.text("app.ppl");
    assert!(folded.contains("# Run it: parabench run app.ppl -n 3 --prepare\n"), "{folded}");
    assert!(folded.contains("\nassert($$size == 3, "), "{folded}");
    scene.parabench("check app.ppl").exits(0).err_has("nothing wrong");
    scene.parabench("run app.ppl -n 3 --prepare").exits(0);
    scene.parabench("run app.ppl -n 2 --prepare").exits(2).err_has("run it with -n 3");
    let one = Scene::new().file("x.ppl", "write(\"a\", 1k);\n");
    one.parabench("run x.ppl --events --quiet --out r").exits(0);
    let folded = one.parabench("fold r").exits(0);
    let folded = folded.out_has("# Run it: parabench run FILE\n");
    assert!(!folded.out.contains("assert"), "{}", folded.out);
}

/// Who hands over in each iteration of a loop in a label does so in all of them, the first and the last too.
#[test]
fn hand_overs_at_the_ends_of_labels_stay_in_their_loops() {
    let program = "if ($$rank % 2 == 0) {
            time[\"produce\"] repeat $i 20 { write(\"q-$$rank-$i\", 64k); signal(\"made\", to=$$rank + 1); }
        } else {
            $r = $$rank - 1;
            time[\"consume\"] repeat $i 20 { wait(\"made\"); read(\"q-$r-$i\", 64k); delete(\"q-$r-$i\"); }
        }";
    let scene = ran(program, "-n 4");
    let text = folded(&scene, "r");
    assert!(text.contains("param $count = 20;"), "{text}");
    assert_eq!(text.matches("write(").count() + text.matches("read(").count(), 2, "{text}");
}

/// Words and parts of files are those of the program whose run is folded: events do not hold them.
#[test]
fn words_of_the_program_are_kept() {
    let lines = [
        "flock($f, \"exclusive\", \"try\");",
        "flock($f, \"unlock\");",
        "fallocate($f, 4k, 16k, \"punch\");",
        "fadvise($f, 0, 0, \"dontneed\");",
        "copy(\"a\", \"b\", 16k, 32k, 8k);",
        "copy(\"a\", \"c\", 20k);",
        "copy(\"a\", \"d\");",
    ];
    let program = format!(
        "write(\"a\", 64k); write(\"b\", 1k); $f = fopen(\"a\", \"r+\"); {}",
        lines.join(" ")
    );
    let scene = ran(&program, "-n 1");
    let text = folded(&scene, "r").replace("$file", "$f");
    for line in lines {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    let said = scene.parabench("fold r").exits(0).err.clone();
    assert!(!said.contains("words"), "{said}");
}

/// Events do not tell how an operation was made, only what it did: who measures with the program is told.
#[test]
fn options_that_events_do_not_hold_are_named() {
    let program = "with (direct=true, expect=\"ENOENT\") { write(\"a\", 64k); stat(\"b\"); }
         with (transfer=4k, direct=true) read(\"a\");";
    let text = folded(&ran(program, "-n 1"), "r");
    assert!(
        text.contains(
            "# Without these options of the program, where events do not tell them: direct, transfer.\n"
        ),
        "{text}"
    );
    let text = folded(&ran("with (expect=\"ENOENT\") stat(\"b\");", "-n 1"), "r");
    assert!(!text.contains("options"), "{text}");
}

#[test]
fn of_a_long_command_the_head_has_the_beginning() {
    let scene = Scene::new();
    let script = format!(": {}; echo a > f", "word ".repeat(100));
    scene.call("record --under . -o r -- sh -c").word(&script).run().exits(0);
    let folded = scene.parabench("fold r").exits(0);
    let longest = folded.out.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(200) && folded.out.contains("word word"), "{}", folded.out);
}
