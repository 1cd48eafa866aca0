//! `parabench completions`, `parabench man`, `--help`, `--version`.

use crate::scene::Scene;

#[test]
fn completions_know_the_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = Scene::new().parabench(&format!("completions {shell}")).exits(0);
        done.out_has("on-error").out_has("no-preflight").err_is("");
    }
    Scene::new().parabench("completions csh").exits(2).err_has("possible values");
}

#[test]
fn the_manual_pages_are_roff() {
    Scene::new().parabench("man").exits(0).out_has(".TH parabench").out_has("Exit codes");
    Scene::new().parabench("man run").exits(0).out_has("\\-\\-no\\-preflight");
    Scene::new().parabench("man nosuch").exits(2).err_has("no subcommand called \"nosuch\"");
}

#[test]
fn help_teaches() {
    let done = Scene::new().parabench("--help").exits(0);
    done.out_has("parabench run @stress").out_has("130").out_has("parabench programs");
    let done = Scene::new().parabench("run --help").exits(0);
    let done = done.out_has("--only read").out_has("Exit codes").out_has("PARABENCH_NAME");
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "\"mpiexec --oversubscribe -n {ranks}\"",
        "under mpiexec or srun the processes of the job are the ranks",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    Scene::new().parabench("").exits(2).err_has("Usage");
}

#[test]
fn the_version_is_that_of_the_package() {
    let expected = format!("parabench {}\n", env!("CARGO_PKG_VERSION"));
    Scene::new().parabench("--version").exits(0).out_is(&expected);
}

#[test]
fn a_wrong_option_names_the_near_one() {
    Scene::new().parabench("run x.ppl --sed 4").exits(2).err_has("--seed");
    Scene::new().parabench("run x.ppl --format xml").exits(2).err_has("table, json, csv");
    Scene::new().parabench("run x.ppl num").exits(2).err_has("NAME=VALUE");
    Scene::new().parabench("run x.ppl -n 0").exits(2).err_has("from 1 to 1000000");
}
