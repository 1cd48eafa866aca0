//! Programs drawn from a seed: they make, link and move names on a few levels of directories.

use crate::random::Dice;
use std::fmt::Write as _;

/// Few names, so that they meet.
pub const NAMES: [&str; 12] =
    ["a", "b", "l", "victim", "a/b", "a/l", "b/a", "b/l", "a/b/l", "a/victim", "l/victim", "a/b/c"];
/// What links point to: inside from where they are made, most of them outside from elsewhere.
const TARGETS: [&str; 9] = [
    "a",
    "b",
    "../a",
    "../victim",
    "../../victim",
    "../outside",
    "../../outside",
    "../../outside/victim",
    "l/../outside",
];
/// Those that lead down wherever such a link is.
const DOWN: [&str; 7] = ["a", "b", ".", "l", "a/b", "./l/victim", "b/l/a"];

/// A program of some statements, now and then in a loop, now and then with a path made at run time.
pub fn program(dice: &mut Dice) -> String {
    let mut text =
        String::from("$far = \"\"; $n = 0; while ($n < 1) { $far = $far + \"a\"; $n = $n + 1; }\n");
    // Paths that are constant, and some that are computed.
    let is_constant = dice.once_in(2);
    let way = if dice.once_in(2) { Way::Down } else { Way::Any };
    let times = if dice.once_in(3) { 1 + dice.below(60) } else { 1 };
    let _ = writeln!(text, "repeat $i {times} {{");
    for _ in 0..4 + dice.below(24) {
        let _ = writeln!(text, "  {}", statement(dice, is_constant, way));
    }
    text + "}\n"
}

/// Where the links of a program lead, and whether it lets others write.
#[derive(Clone, Copy)]
enum Way {
    Any,
    Down,
}

impl Way {
    fn target(self, dice: &mut Dice) -> &'static str {
        match self {
            Way::Any => dice.one(&TARGETS),
            Way::Down => dice.one(&DOWN),
        }
    }

    fn mode(self) -> u32 {
        match self {
            Way::Any => 0o777,
            Way::Down => 0o755,
        }
    }
}

fn statement(dice: &mut Dice, is_constant: bool, way: Way) -> String {
    let mut path = || {
        let name = dice.one(&NAMES);
        match is_constant || !name.starts_with("a/") || dice.once_in(2) {
            true => format!("\"{name}\""),
            false => format!("\"$far{}\"", &name[1..]),
        }
    };
    let (one, two) = (path(), path());
    match dice.below(24) {
        0..4 => format!("mkdir({one});"),
        4..8 => format!("symlink(\"{}\", {one});", way.target(dice)),
        8..11 => format!("rename({one}, {two});"),
        11 => format!("rename({one}, {two}, \"exchange\");"),
        12 => format!("link({one}, {two});"),
        13 => format!("write({one}, 4k);"),
        14 => format!("append({one}, 10);"),
        15 => format!("truncate({one}, 3);"),
        16 => format!("chmod({one}, {});", way.mode()),
        17 => format!("utime({one});"),
        18 => format!("delete({one});"),
        19 => format!("rmdir({one});"),
        20 => format!("create({one});"),
        21 => format!("$h = fopen({one}, \"w+\"); fwrite($h, 10); fclose($h);"),
        22 => format!("readdir({one}); stat({two});"),
        _ => format!("read({one}); lookup({two});"),
    }
}
