//! What recording from inside adds to a call, beside the same loop alone.

use crate::Result;
use crate::figure::{Figure, Goal, median, range, three};
use crate::product::Scratch;
use crate::worker::now_ns;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::sys::uio::pread;
use std::process::Command;

const CALLS: u64 = 1_000_000;
const PAIRS: usize = 9;

/// Nanoseconds that a `pread` of one byte takes longer when it is recorded, windows of the file of
/// records included.
pub fn record(place: &Scratch) -> Result<Vec<Figure>> {
    let (mut raw, mut recorded) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        raw.push(looped(place, Command::new(place.own_binary()))?);
        let mut command = Command::new(place.parabench());
        command.args(["record", "--via", "preload", "--force", "-o", "recorded", "--"]);
        command.arg(place.own_binary());
        recorded.push(looped(place, command)?);
    }
    let more: Vec<f64> = recorded.iter().zip(&raw).map(|(with, alone)| with - alone).collect();
    Ok(vec![Figure {
        name: "recording a call from inside".into(),
        raw: format!("{} ns", three(median(&raw))),
        product: format!("{} ns", three(median(&recorded))),
        result: median(&more),
        range: Some(range(&more)),
        unit: " ns",
        goal: Goal::AtMost(150.0),
    }])
}

fn looped(place: &Scratch, mut command: Command) -> Result<f64> {
    let output = command.args(["worker", "preads"]).current_dir(place.path()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().parse().map_err(|_| format!("{command:?} failed: {output:?}").into())
}

/// Prints the time of a call in nanoseconds.
pub fn preads() -> Result<()> {
    let file = open("/proc/self/exe", OFlag::O_RDONLY, Mode::empty())?;
    let mut byte = [0];
    let start_ns = now_ns();
    for _ in 0..CALLS {
        pread(&file, &mut byte, 0)?;
    }
    println!("{}", (now_ns() - start_ns) as f64 / CALLS as f64);
    Ok(())
}
