//! `parabench plan`.

use crate::scene::Scene;

const TEXT: &str = "mkdir(\"d-$$rank\");\nrepeat $i 10 write(\"d-$$rank/a$i\", 4k);\n\
                    read(\"d-$$rank/a0\", 1k);\n";

#[test]
fn code_and_budget_are_printed_and_nothing_is_touched() {
    let scene = Scene::new().file("x.ppl", TEXT);
    let done = scene.parabench("plan x.ppl -n 3 -v").exits(0);
    let done = done.out_has("mkdir").out_has("budget of each of ranks 0 to 2");
    done.out_has("budget of all 3 ranks").out_has(
        "reads 3 KiB, writes 120 KiB, makes 30 files and 3 directories, 33 names at one time",
    );
    assert_eq!(scene.names("."), ["x.ppl"]);
}

#[test]
fn the_first_calls_of_a_rank_are_listed() {
    let scene = Scene::new().file("x.ppl", TEXT);
    let done = scene.parabench("plan x.ppl -n 3 --rank 2 --ops 4 -v").exits(0);
    let done = done.out_has("first 4 calls of rank 2").out_has("\"d-2\"").out_has("\"d-2/a0\"");
    assert!(!done.out.contains("d-2/a1\""), "{}", done.out);
    scene.parabench("plan x.ppl --rank 1 --ops 4").exits(2).err_has("no rank 1");
}

#[test]
fn json_has_the_same_figures() {
    let scene = Scene::new().file("x.ppl", TEXT);
    let plan = scene.parabench("plan x.ppl -n 3 --ops 2 --format json").exits(0).json();
    assert_eq!(plan["all"]["written_bytes"], 122_880);
    assert_eq!(plan["all"]["exact"], true);
    assert_eq!(plan["budget"][0]["last_rank"], 2);
    assert_eq!(plan["calls"]["ranks"][0]["calls"].as_array().unwrap().len(), 2);
    assert!(plan["code"].as_array().unwrap().len() > 5);
}

#[test]
fn what_is_not_known_is_about() {
    let text = "read(\"there-from-before\", 4k);";
    let done = Scene::new().file("x.ppl", text).parabench("plan x.ppl").exits(0);
    done.out_has("budget of rank 0, about").out_has("4096 bytes  about");
    // What the seed decides is known.
    let text = "while ($$rand % 10 > 0) write(\"a\", 4k);";
    let done = Scene::new().file("x.ppl", text).parabench("plan x.ppl").exits(0);
    assert!(!done.out.contains("about"), "{}", done.out);
}

#[test]
fn a_plan_of_ten_thousand_ranks_stays_small() {
    let scene = Scene::new().file("x.ppl", TEXT);
    let done = scene.parabench("plan x.ppl -n 10000 --rank 9999 --ops 1").exits(0);
    assert!(done.out.len() < 10_000);
    done.out_has("makes 100000 files").out_has("d-9999");
}

#[test]
fn a_program_with_mistakes_has_no_plan() {
    Scene::new()
        .file("x.ppl", "writ(1);")
        .parabench("plan x.ppl")
        .exits(2)
        .out_is("")
        .err_has("E0302");
}
