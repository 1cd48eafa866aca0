//! `parabench completions`, `parabench man`, `--help`, `--version`.

use crate::scene::Scene;
use std::process::Command;

/// What a shell is given for the last of these words, by the rules of fish: candidate, tab, help. Options follow where a
/// word has not begun; they are left out.
fn candidates(scene: &Scene, words: &[&str]) -> Vec<String> {
    let call = scene.call("-- parabench").env("PARABENCH_COMPLETE", "fish");
    let done = words.iter().fold(call, |call, word| call.word(word)).run().exits(0).err_is("");
    let wants_options = words.last().is_some_and(|word| word.starts_with('-'));
    let lines = done.out.lines().filter(|line| wants_options || !line.starts_with('-'));
    lines.map(str::to_string).collect()
}

/// The same without help.
fn values(scene: &Scene, words: &[&str]) -> Vec<String> {
    let cut = |line: String| line.split('\t').next().unwrap_or_default().to_string();
    candidates(scene, words).into_iter().map(cut).collect()
}

#[test]
fn every_shell_has_a_script_that_asks() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = Scene::new().parabench(&format!("completions {shell}")).exits(0);
        done.out_has("PARABENCH_COMPLETE").out_has("parabench").err_is("");
    }
    Scene::new().parabench("completions csh").exits(2).err_has("possible values");
    let wrong = Scene::new().call("--").env("PARABENCH_COMPLETE", "csh").run();
    wrong.exits(2).err_has("unknown shell `csh`");
}

#[test]
fn verbs_and_options_are_completed() {
    let scene = Scene::new();
    assert_eq!(values(&scene, &["comp"]), ["compare", "completions"]);
    assert_eq!(values(&scene, &["run", "--no-pre"]), ["--no-preflight"]);
    assert_eq!(values(&scene, &["run", "x.ppl", "--format", "j"]), ["json"]);
}

#[test]
fn programs_are_completed_from_the_library_and_the_folder() {
    let scene = Scene::new().file("st.ppl", "sync();").file("st.txt", "").file("std/x.ppl", "");
    assert_eq!(values(&scene, &["run", "@st"]), ["@stress", "@static", "@staging"]);
    assert_eq!(values(&scene, &["run", "st"]), ["st.ppl", "std/"]);
    let listed = candidates(&scene, &["programs", "@str"]);
    assert_eq!(listed, ["@stress\tListing 1: every everyday call on many small files."]);
}

#[test]
fn parameters_are_those_of_the_program_on_the_line() {
    let scene = Scene::new().file("x.ppl", "param $files = 2 * 3; /// how many\nparam $b = 4k;\n");
    let found = candidates(&scene, &["run", "-n", "4", "@stress", ""]);
    assert_eq!(found, ["num=\tfiles per rank [1000]", "size=\tbytes of one write [1k]"]);
    assert_eq!(candidates(&scene, &["plan", "x.ppl", "b=1", "f"]), ["files=\thow many [2 * 3]"]);
    assert_eq!(values(&scene, &["run", "x.ppl", "--sweep", ""]), ["files=", "b="]);
    let nothing: [&str; 0] = [];
    assert_eq!(values(&scene, &["run", "nosuch.ppl", ""]), nothing);
}

#[test]
fn operations_and_folders_of_runs_are_completed() {
    let scene = Scene::new().file("a/run.json", "{}").file("b/run.json", "{}").file("c/x", "");
    assert_eq!(values(&scene, &["ops", "pwr"]), ["pwrite"]);
    // Runs first; other folders may lead to some.
    assert_eq!(values(&scene, &["report", ""]), ["a/", "b/", "c/"]);
    assert_eq!(values(&scene, &["compare", "a", ""]), ["a/", "b/", "c/"]);
}

#[test]
fn bash_completes_with_the_script() {
    let scene = Scene::new();
    let ask = "PATH=$(dirname \"$0\"):$PATH; eval \"$(parabench completions bash)\"
               COMP_WORDS=(parabench run @stress n); COMP_CWORD=3; COMP_TYPE=9
               _clap_complete_parabench parabench n @stress; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["-c", ask, env!("CARGO_BIN_EXE_parabench")]);
    scene.command(bash).run().exits(0).out_is("num=\n");
}

#[test]
fn the_manual_pages_are_roff() {
    Scene::new().parabench("man").exits(0).out_has(".TH parabench").out_has("Exit codes");
    Scene::new().parabench("man run").exits(0).out_has("\\-\\-no\\-preflight");
    let scene = Scene::new().file("man/x", "");
    scene.parabench("man --into man").exits(0);
    let pages = scene.names("man");
    for verb in ["parabench.1", "parabench-run.1", "parabench-compare.1", "parabench-mpi-build.1"] {
        assert!(pages.iter().any(|page| page == verb), "{verb}: {pages:?}");
    }
    scene.parabench("man --into nosuch").exits(1).err_has("cannot write pages into nosuch");
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
