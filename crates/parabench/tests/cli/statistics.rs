//! docs/statistics.md: a reader can recompute every figure with pandas and SciPy.

use crate::scene::{Scene, root, skip};
use std::path::Path;

const PROGRAM: &str = "\
param $size = 8k;
time[\"data\"] {
    repeat $i 40 write(\"f-$$rank-$i\", $size);
    repeat $i 40 read(\"f-$$rank-$i\");
}
time[\"look\"] repeat $i 60 stat(\"f-$$rank-1\");
";

/// Python with pandas and SciPy comes from `make setup`, in target/readers-venv.
#[test]
fn every_figure_can_be_recomputed_with_pandas_and_scipy() {
    let python = root().join("target/readers-venv/bin/python");
    let has = |python: &Path| {
        let mut command = std::process::Command::new(python);
        let done = command.args(["-c", "import pandas, pyarrow, scipy"]).output();
        done.is_ok_and(|done| done.status.success())
    };
    if !has(&python) {
        return skip("pandas and SciPy are missing: make setup brings them");
    }
    let scene = Scene::new().file("x.ppl", PROGRAM);
    for line in [
        "run x.ppl -n 2 --reps 6 --events --quiet --out a",
        "run x.ppl -n 2 --reps 7 --events --quiet --out b",
        "run x.ppl -n 2 --versus size=12k --reps 8 --events --quiet --out both",
    ] {
        scene.parabench(line).exits(0);
    }
    let store = |line: &str, name: &str| {
        let done = scene.parabench(line).exits(0);
        std::fs::write(scene.path(name), done.out).expect("written");
    };
    store("report a --format json", "a.json");
    store("compare a b --format json", "samples.json");
    store("compare both --format json", "blocks.json");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/statistics.py");
    let mut command = std::process::Command::new(python);
    command.arg(script).args(["a", "a.json", "samples.json:a:b", "blocks.json:both"]);
    let done = scene.command(command).run().exits(0);
    let checked: u32 = done.out.trim().parse().expect("a number");
    assert!(checked > 1000, "{checked} figures");
}
