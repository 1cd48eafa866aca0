//! Speed and memory of the language on a generated program of 1,000,000 statements.

use crate::Result;
use crate::figure::{Figure, Goal, median, range, three};
use crate::product::Place;
use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::time::Instant;

const STATEMENTS: usize = 1_000_000;
const RUNS: usize = 7;

/// MB/s and memory per source of parse + check + lower.
pub fn language(place: &Place) -> Result<Vec<Figure>> {
    let file = place.path().join("generated.ppl");
    fs::write(&file, generated())?;
    let mut rates = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..RUNS {
        let mut worker = Command::new(place.own_binary());
        let output = worker.args(["worker", "compile"]).arg(&file).output()?;
        let text = String::from_utf8(output.stdout)?;
        let mut words = text.split_whitespace().map(str::parse::<f64>);
        let mut next = || words.next().ok_or("the worker failed");
        rates.push(next()??);
        memory.push(next()??);
    }
    fs::remove_file(&file)?;
    let line = |name: &str, values: &[f64], unit, goal| Figure {
        name: name.into(),
        raw: String::new(),
        product: format!("{}{unit}", three(median(values))),
        result: median(values),
        range: Some(range(values)),
        unit,
        goal,
    };
    Ok(vec![
        line("parse + check + lower, 10^6 statements", &rates, " MB/s", Goal::AtLeast(100.0)),
        line("its peak memory / source", &memory, " x", Goal::AtMost(10.0)),
    ])
}

/// Compiles a file and prints MB/s and the largest resident memory / size of the source.
pub fn compile_once(file: &str) -> Result<()> {
    let text = fs::read(file)?;
    let source_bytes = text.len() as f64;
    let binding = ppl::Binding::default();
    let start = Instant::now();
    let compiled = ppl::compile("generated.ppl", text, &mut ppl::source::NoIncludes, &binding);
    let seconds = start.elapsed().as_secs_f64();
    let plan = compiled.plan.ok_or("the generated program has errors")?;
    if plan.code.len() < STATEMENTS {
        return Err("the plan is too short to be true".into());
    }
    println!("{} {}", source_bytes / 1e6 / seconds, peak_bytes()? / source_bytes);
    Ok(())
}

/// Largest resident memory of this process.
fn peak_bytes() -> Result<f64> {
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
