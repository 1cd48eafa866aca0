//! What recording from inside adds to a call, beside the same loop alone.

use crate::Result;
use crate::figure::{Figure, Goal, median, range, three};
use crate::product::Scratch;
use crate::worker::now_ns;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::sys::uio::pread;
use nix::unistd::{Whence, lseek, write};
use std::process::Command;

const CALLS: u64 = 1_000_000;
const PAIRS: usize = 9;
/// It is in the page cache.
const FILE: &str = "/proc/self/exe";

/// A loop that is timed alone and recorded: its name for the worker, what it does, calls per round.
const LOOPS: [(&str, &str, u64); 4] = [
    ("preads", "recording a pread of 4 KiB", 1),
    ("writes", "recording a write of 4 KiB", 1),
    ("seeks", "recording an lseek", 1),
    ("opens", "recording an open or a close", 2),
];
/// Writes before the file begins anew.
const LAP: u64 = 256;

/// Nanoseconds that a call takes longer when it is recorded from inside, windows of the file of
/// records included.
pub fn record(place: &Scratch) -> Result<Vec<Figure>> {
    LOOPS.iter().map(|(work, name, _)| figure(place, work, name)).collect()
}

fn figure(place: &Scratch, work: &str, name: &str) -> Result<Figure> {
    let (mut raw, mut recorded) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        raw.push(looped(place, Command::new(place.own_binary()), work)?);
        let mut command = Command::new(place.parabench());
        command.args(["record", "--via", "preload", "--force", "-o", "recorded", "--"]);
        command.arg(place.own_binary());
        recorded.push(looped(place, command, work)?);
    }
    let more: Vec<f64> = recorded.iter().zip(&raw).map(|(with, alone)| with - alone).collect();
    Ok(Figure {
        name: name.into(),
        raw: format!("{} ns", three(median(&raw))),
        product: format!("{} ns", three(median(&recorded))),
        result: median(&more),
        range: Some(range(&more)),
        unit: " ns",
        goal: Goal::AtMost(150.0),
    })
}

fn looped(place: &Scratch, mut command: Command, work: &str) -> Result<f64> {
    let output = command.args(["worker", "recorded", work]).current_dir(place.path()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().parse().map_err(|_| format!("{command:?} failed: {output:?}").into())
}

/// Makes calls of a kind; prints the time of one in nanoseconds.
pub fn calls(work: &str) -> Result<()> {
    let known = LOOPS.iter().find(|known| known.0 == work);
    let (_, _, per_round) = known.ok_or_else(|| format!("there is no loop called {work}"))?;
    let file = open(FILE, OFlag::O_RDONLY, Mode::empty())?;
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT;
    let written = open("written", flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
    let (mut block, rounds) = ([0; 4096], CALLS / per_round);
    let start_ns = now_ns();
    for round in 0..rounds {
        match work {
            "preads" => drop(pread(&file, &mut block, 0)?),
            "writes" => {
                if round % LAP == 0 {
                    lseek(&written, 0, Whence::SeekSet)?;
                }
                write(&written, &block)?;
            }
            "seeks" => drop(lseek(&file, round as i64, Whence::SeekSet)?),
            _ => drop(open(FILE, OFlag::O_RDONLY, Mode::empty())?),
        }
    }
    println!("{}", (now_ns() - start_ns) as f64 / CALLS as f64);
    Ok(())
}
