//! Values that grow without end: a rank ends with a sentence, not with the machine's memory.

use crate::scene::Scene;

#[track_caller]
fn ends(program: &str, place: &str, words: &str) {
    let done = Scene::new().file("x.ppl", program).parabench("run x.ppl").exits(1);
    done.out_has(&format!("rank 0 ended at x.ppl:{place}: ")).out_has(words);
}

#[test]
fn texts_that_double() {
    let limit = "expected a text of at most 1 MiB";
    ends("$p = \"x\";\nrepeat 60 { $p = $p + $p; }", "2:18", limit);
    ends("$p = \"x\";\nrepeat 60 { $p = \"$p$p\"; }", "2:13", limit);
    ends("$p = \"x\";\nrepeat 20 { $p = \"$p$p\"; }\ncreate(\"$p$p$p\");", "3:1", limit);
    ends("$p = \"x\";\nrepeat 20 { $p = \"$p$p\"; }\nprint $p, $p;", "3:1", limit);
}

#[test]
fn constants_that_double_are_not_unfolded() {
    let program = "$a = \"x\";\n".to_string() + &"$a = \"$a$a$a$a$a$a$a$a\";\n".repeat(30);
    let done = Scene::new().file("x.ppl", program).parabench("run x.ppl");
    assert!(matches!(done.code, Some(1 | 2)), "{done:?}");
    assert!((done.out + &done.err).contains("expected a text of at most 1 MiB"));
}

#[test]
fn lists_in_lists() {
    ends("$l = [1];\nrepeat 300000 { $l = [$l]; }", "2:22", "lists of at most 32 levels");
    ends("$l = [1];\nrepeat 60 { $l = [$l, $l]; }", "2:18", "a list of at most 1 MiB");
}

#[test]
fn recursion_without_end() {
    let program = "define proc f($n) {\n if ($n != -1) { time[\"l$n\"] f($n + 1); }\n}\nf(0);";
    ends(program, "2:30", "10000 calls are open");
}
