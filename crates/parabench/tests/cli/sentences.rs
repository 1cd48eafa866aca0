//! What applications do, a program for each construct in `tests/sentences/`: its comment says what
//! holds, and it asserts that itself, wherever its files lie.

use crate::scene::Scene;
use std::fs;
use std::path::Path;

/// Names and texts.
fn programs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sentences");
    let entries = fs::read_dir(folder).expect("the programs are there");
    let program = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).expect("a program"))
    };
    entries.map(program).collect()
}

#[test]
fn what_programs_assert_of_the_language_holds_on_every_back_end() {
    let programs = programs();
    assert!(programs.len() > 20, "{}", programs.len());
    for (name, text) in programs {
        assert!(text.starts_with("# ") && text.contains("assert("), "{name}");
        let scene = Scene::new().file(&name, &text);
        scene.parabench(&format!("fmt --check {name}")).exits(0);
        let checked = scene.parabench(&format!("check {name} -n 4")).exits(0);
        assert!(!checked.err.contains("warning"), "{}", checked.err);
        for place in ["", "--backend mem", "--dir d --clean --confine --mount B=b"] {
            let place =
                if text.contains("B:") { place } else { place.trim_end_matches(" --mount B=b") };
            scene.parabench(&format!("run {name} -n 4 {place}")).exits(0).out_has("   ok\n");
        }
    }
}

/// The hint names the errno that was seen, and only where it can be meant.
#[test]
fn advice_on_failures_fits_the_failures() {
    for (program, said, unsaid) in [
        ("read(\"a\");", "expect=\"ENOENT\"", "EBADF"),
        ("mkdir(\"a\"); mkdir(\"a\");", "expect=\"EEXIST\"", "ENOENT"),
        (
            "$f = fopen(\"f\", \"w\"); if ($$size > 0) fclose($f); fwrite($f, 1k);",
            "only between fopen and fclose",
            "expect=",
        ),
    ] {
        let scene = Scene::new().file("x.ppl", program);
        let done = scene.parabench("run x.ppl -v").exits(1);
        let text = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(said) && !text.replace("fwrite EBADF", "").contains(unsaid),
            "{text}"
        );
    }
}
