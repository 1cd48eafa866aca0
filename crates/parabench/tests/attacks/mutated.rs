//! Stored runs that somebody has changed: every byte of them may be another one. Reading ends by
//! itself, with a sentence or with figures, and writes nothing beside what was asked for.
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
    println!("{}", cases(10, |seed| case(Dice::new(seed), &folder)));
}

fn case(mut dice: Dice, scene: &Path) -> Result<(), String> {
    let run = dice.one(&["one", "one", "two"]);
    let odd = scene.join("odd");
    let _ = fs::remove_dir_all(&odd);
    fs::create_dir(&odd).expect("made");
    for entry in fs::read_dir(scene.join(run)).expect("stored").flatten() {
        let mut bytes = fs::read(entry.path()).expect("a file");
        if dice.once_in(2) {
            change(&mut bytes, &mut dice);
        }
        fs::write(odd.join(entry.file_name()), bytes).expect("written");
    }
    let command = match dice.below(7) {
        0 => "report odd --html log/page.html".into(),
        1 => "report odd --svg log/svg --data log/data".into(),
        2 => "compare odd one".into(),
        3 => "compare one odd --format json".into(),
        _ => format!("report odd --format {}", dice.one(&["table", "json", "csv", "markdown"])),
    };
    let before = Outside::of(scene, &["log", "tmp"]);
    // A claim of gigabytes is refused, not believed.
    let limited = format!("ulimit -v 4000000; parabench {command}");
    let ended = process::run(&limited, scene, &scene.join("log"))?;
    let mut wrong = before.changes(&Outside::of(scene, &["log", "tmp"]));
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
