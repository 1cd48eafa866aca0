//! Speed and memory of the language on a generated program of 1,000,000 statements.

use crate::Result;
use crate::figure::{Figure, Goal};
use crate::product::Scratch;
use nix::time::{ClockId, clock_gettime};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

const STATEMENTS: usize = 1_000_000;
const RUNS: usize = 7;

/// MB/s of processor time, and memory per source. Compiling uses one
/// processor and waits for nothing, so that on an idle machine processor time is the time it takes.
pub fn language(place: &Scratch) -> Result<Vec<Figure>> {
    let file = place.path().join("generated.ppl");
    fs::write(&file, generated())?;
    let (mut rates, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (rate, peak) = worker(place, &file)?;
        rates.push(rate);
        memory.push(peak);
    }
    fs::remove_file(&file)?;
    Ok(vec![
        Figure::measured(
            "parse + check + lower, 10^6 statements",
            &rates,
            " MB/s",
            Goal::AtLeast(100.0),
        ),
        Figure::measured("its peak memory / source", &memory, " x", Goal::AtMost(10.0)),
    ])
}

/// Rate and memory of one compilation in a process of its own.
fn worker(place: &Scratch, file: &Path) -> Result<(f64, f64)> {
    let mut worker = Command::new(place.own_binary());
    let output = worker.args(["worker", "compile"]).arg(file).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    let mut next = || words.next().ok_or("the worker failed");
    Ok((next()??, next()??))
}

/// Compiles a file and prints MB/s and the largest resident memory / size of the source.
pub fn compile_once(file: &str) -> Result<()> {
    let text = fs::read(file)?;
    let source_bytes = text.len() as f64;
    let binding = ppl::Binding::default();
    let start_s = processor_s()?;
    let compiled = ppl::compile("generated.ppl", text, &mut ppl::source::NoIncludes, &binding);
    let seconds = processor_s()? - start_s;
    let plan = compiled.plan.ok_or("the generated program has errors")?;
    if plan.code.len() < STATEMENTS {
        return Err("the plan is too short to be true".into());
    }
    println!("{} {}", source_bytes / 1e6 / seconds, peak_bytes()? / source_bytes);
    Ok(())
}

/// Processor time of this process in seconds.
pub fn processor_s() -> Result<f64> {
    let now = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(now.tv_sec() as f64 + now.tv_nsec() as f64 / 1e9)
}

/// Largest resident memory of this process.
pub fn peak_bytes() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kib: f64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kib * 1024.0)
}

/// What a converted trace looks like: writes with distinct names and sizes, reads, assignments, loops.
fn generated() -> String {
    let mut text = String::from("$base = \"run\";\n");
    for turn in 0..STATEMENTS / 5 {
        let size = 512 + turn * 7919 % 1_000_000;
        let _ = write!(
            text,
            "write(\"dir-{}/file-{turn}\", {size});\n\
             $x{} = {turn} * 4k + 17;\n\
             read(\"dir-{}/$base-file-{turn}\", {size}, 4k);\n\
             repeat $i 10 stat(\"dir/file-$i\");\n",
            turn % 100,
            turn % 50,
            turn % 100,
        );
    }
    text
}
