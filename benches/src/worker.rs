//! Processes of their own, started by this binary from itself.
//!
//! ```text
//! benches worker data RANK|metadata RANK    raw loops in the current directory
//! benches worker compile FILE               the language
//! benches worker pictures DIR               all pictures of a stored run
//! benches worker recorded preads|opens      a loop that is recorded
//! benches worker peak COMMAND...            memory of a command and its children
//! ```
//!
//! Raw loops say "ready", wait for a line, and print `start_ns end_ns label`.

use crate::{Result, language, pictures, raw, record};
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use std::io::{BufRead, Write};
use std::process::Command;

/// CLOCK_MONOTONIC: the same for all processes.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// What the words after `worker` ask for.
pub fn work(words: &[String]) -> Result<()> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [loops @ ("data" | "metadata"), rank] => raw_loops(loops, rank),
        ["compile", file] => language::compile_once(file),
        ["pictures", folder] => pictures::make_once(folder),
        ["recorded", work] => record::calls(work),
        ["peak", command, ref args @ ..] => peak(command, args),
        _ => Err(format!("unknown worker {words:?}").into()),
    }
}

fn raw_loops(loops: &str, rank: &str) -> Result<()> {
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new())?;
    let timed = if loops == "data" { raw::data(rank)? } else { raw::metadata()? };
    for (label, start_ns, end_ns) in timed {
        println!("{start_ns} {end_ns} {label}");
    }
    Ok(())
}

/// Runs the command and prints the largest resident memory of it or of one of its children in bytes, then
/// what it printed.
fn peak(command: &str, args: &[&str]) -> Result<()> {
    let output = Command::new(command).args(args).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command} {args:?}: {}: {said}", output.status).into());
    }
    println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss() * 1024);
    std::io::stdout().write_all(&output.stdout)?;
    Ok(())
}
