//! Performs one attack, and says what is wrong with how it ended.

use crate::outside::{self, Outside};
use crate::process::{self, Ended};
use crate::scene::{Scene, records, skip};
use crate::table::{Attack, Run, Step};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Beside the outside: the run directory, results, temporary files, notes of the attack itself.
const OURS: [&str; 5] = ["d", "b", "results", "tmp", "log"];
/// No message of ours has these words; those of a panic, an overflow and a failed allocation do.
pub const NEVER: [&str; 4] =
    ["panicked at", "has overflowed its stack", "memory allocation of", "RUST_BACKTRACE"];

/// Performs it in a folder of its own.
///
/// # Errors
/// What must not be.
pub fn perform(attack: &Attack) -> Result<(), String> {
    if let Some(missing) = attack.needs.iter().find(|need| !has(need)) {
        skip(&format!("{} ({}): needs {missing}", attack.name, attack.place));
        return Ok(());
    }
    let scene = Scene::new();
    outside::plant(&scene.path("."));
    fs::create_dir(scene.path("tmp")).expect("made");
    fs::create_dir(scene.path("log")).expect("made");
    let done = attack.steps.iter().try_for_each(|step| take(step, &scene.path(".")));
    let left = records(&scene.path("."));
    left.iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
    match attack.kills_a_parent() || left.is_empty() {
        true => done,
        false => done.and(Err(format!("left in memory: {left:?}"))),
    }
}

fn take(step: &Step, scene: &Path) -> Result<(), String> {
    match step {
        Step::File { path, text } => {
            let path = scene.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
            Ok(())
        }
        Step::Shell(command) => match process::run(command, scene, &scene.join("log"))? {
            Ended { code: 0, .. } => Ok(()),
            Ended { code, said } => Err(format!("`{command}` ended with {code}:\n{said}")),
        },
        Step::Run(run) => under_attack(run, scene),
    }
}

fn under_attack(run: &Run, scene: &Path) -> Result<(), String> {
    let but: Vec<&str> = OURS.into_iter().chain(run.makes.iter().map(String::as_str)).collect();
    let before = Outside::of(scene, &but);
    let ended = process::run(&run.command, scene, &scene.join("log"))?;
    let mut wrong = said_wrong(run, &ended);
    wrong.extend(before.changes(&Outside::of(scene, &but)));
    let left = Outside::of(&scene.join("tmp"), &[]);
    wrong.extend(Outside::default().changes(&left).into_iter().map(|line| format!("tmp/{line}")));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("`{}`\n   {}\n{}", run.command, wrong.join("\n   "), ended.said)),
    }
}

/// Code and words that are not as they must be.
fn said_wrong(run: &Run, ended: &Ended) -> Vec<String> {
    let mut wrong = Vec::new();
    if !run.codes.contains(&ended.code) {
        wrong.push(format!("ended with {}, expected {:?}", ended.code, run.codes));
    }
    // Tables break long lines.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = flat(&ended.said);
    let silent = run.says.iter().filter(|words| !said.contains(&flat(words)));
    wrong.extend(silent.map(|words| format!("did not say `{words}`")));
    let never = run.never.iter().map(String::as_str).chain(NEVER);
    let loud = never.filter(|words| said.contains(&flat(words)));
    wrong.extend(loud.map(|words| format!("said `{words}`")));
    wrong
}

/// Whether the machine has what an attack needs.
fn has(need: &str) -> bool {
    let works = |program: &str, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
    };
    match need {
        "root" => rustix::process::geteuid().is_root(),
        // Mounts of its own, which end with the command.
        "mount" => works("unshare", &["-m", "mount", "-t", "tmpfs", "none", "/mnt"]),
        program => works("sh", &["-c", &format!("command -v {program}")]),
    }
}
