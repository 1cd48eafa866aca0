//! Stored runs that somebody has changed, finished and killed ones: every byte of their files may be another one.
//! Every verb that reads a folder ends by itself within bounds of time and memory, with a sentence or with figures,
//! and writes nothing beside what was asked for.
//!
//! A case that succeeds tells its number; [`crate::random`] has the variables.

use crate::outside::Outside;
use crate::perform::NEVER;
use crate::process;
use crate::random::{Dice, cases};
use crate::scene::Scene;
use std::fs;
use std::path::Path;

const PROGRAM: &str =
    "param $n = 3; time[\"a\"] repeat $i $n write(\"f$i\", 4k); time[\"b\"] stat(\"none\");";
/// What is put in the place of a number or a word.
const VALUES: [&str; 16] = [
    "0",
    "-1",
    "1",
    "4294967295",
    "18446744073709551615",
    "9223372036854775808",
    "1e308",
    "-1e999",
    "null",
    "\"\"",
    "[]",
    "{}",
    "\"/etc/passwd\"",
    "\"../../outside\"",
    "\"\\u001b[7m\\u009b\"",
    "true",
];

#[test]
fn changed_runs_are_read_or_refused() {
    let scene = Scene::new();
    for name in ["tmp", "log", "outside"] {
        fs::create_dir(scene.path(name)).expect("made");
    }
    fs::write(scene.path("outside/victim"), "words").expect("written");
    fs::write(scene.path("x.ppl"), PROGRAM).expect("written");
    let folder = scene.path(".");
    let make = "parabench run x.ppl -n 2 --events --out one; parabench run x.ppl --sweep n=1,2 --reps 2 --out two";
    process::run(make, &folder, &scene.path("log")).expect("two runs");
    killed(&folder);
    println!("{}", cases(15, |seed| case(Dice::new(seed), &folder)));
}

/// A run that was killed, with its records beside run.json, as from another machine.
fn killed(folder: &Path) {
    let program = "time[\"a\"] repeat $i 3 write(\"f$i\", 4k); create(\"begun\"); sleep(1h);";
    fs::write(folder.join("k.ppl"), program).expect("written");
    let make = "parabench run k.ppl -n 2 --events --dir k --out three & \
                until test -e k/begun; do sleep 0.01; done; kill -9 $!; wait; \
                mv /dev/shm/parabench-records-$(sed 's/.*parabench-records-\\(......\\).*/\\1/' three/run.json) three";
    process::run(make, folder, &folder.join("log")).expect("a killed run");
    assert!(fs::read_dir(folder.join("three")).expect("stored").count() > 1, "its records");
}

/// A stored run of which some files are others.
fn copy(from: &Path, to: &Path, dice: &mut Dice) {
    fs::create_dir(to).expect("made");
    for entry in fs::read_dir(from).expect("stored").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to, dice);
            continue;
        }
        let mut bytes = fs::read(path).expect("a file");
        if dice.once_in(2) {
            change(&mut bytes, dice);
        }
        fs::write(to, bytes).expect("written");
    }
}

fn case(mut dice: Dice, scene: &Path) -> Result<(), String> {
    let run = dice.one(&["one", "one", "two", "three", "three"]);
    let odd = scene.join("odd");
    let _ = fs::remove_dir_all(&odd);
    copy(&scene.join(run), &odd, &mut dice);
    let command = match dice.below(11) {
        0 => "report odd --html log/page.html".into(),
        1 => "report odd --svg log/svg --data log/data".into(),
        2 => "compare odd one".into(),
        3 => "compare one odd --format json".into(),
        4 => "fold odd -o log/folded.ppl --force".into(),
        5 => "report odd --settle".into(),
        6 => "run x.ppl --out odd --force --quiet".into(),
        7 => "run --resume odd --quiet".into(),
        _ => format!("report odd --format {}", dice.one(&["table", "json", "csv", "markdown"])),
    };
    let before = Outside::of(scene, &["log", "tmp", "odd"]);
    // A claim of gigabytes is refused, not believed.
    let limited = format!("ulimit -v 4000000; parabench {command}");
    let ended = process::run(&limited, scene, &scene.join("log"))?;
    let mut wrong = before.changes(&Outside::of(scene, &["log", "tmp", "odd"]));
    if !(0..=3).contains(&ended.code) {
        wrong.push(format!("ended with {}", ended.code));
    }
    let harmful = ended.said.find(|c| model::escape::is_harmful(c) && !"\r\n".contains(c));
    wrong.extend(harmful.map(|_| "a character that a terminal obeys".to_string()));
    wrong.extend(NEVER.iter().filter(|words| ended.said.contains(*words)).map(|w| (*w).into()));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{command}: {}\n{}", wrong.join("\n"), ended.said)),
    }
}

/// Some bytes, a cut, a part twice, or other values.
fn change(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..1 + dice.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = dice.below(bytes.len());
        let end = (at + dice.below(64)).min(bytes.len());
        match dice.below(6) {
            0 => bytes[at] = dice.below(256) as u8,
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, part));
            }
            _ => replace_value(bytes, at, dice),
        }
    }
}

/// The value after the next `:` becomes another one.
fn replace_value(bytes: &mut Vec<u8>, at: usize, dice: &mut Dice) {
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']');
    let Some(colon) = bytes[at..].iter().position(|byte| *byte == b':') else { return };
    let from = at + colon + 1;
    let length = bytes[from..].iter().position(ends).unwrap_or(0);
    drop(bytes.splice(from..from + length, dice.one(&VALUES).bytes()));
}
