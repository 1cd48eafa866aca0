//! Folding runs of regular programs and of an irregular one: seconds and memory of the command, and
//! whether the program that comes out stays short.
//!
//! `FOLD_OPERATIONS=10000000 cargo run --release -p benches -- fold` folds another number.

use crate::Result;
use crate::figure::{Figure, Goal};
use crate::product::Scratch;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

const OPERATIONS: &str = "100000,1000000";
const RUNS: usize = 3;
/// Lines that the program may have.
const LINES_MAX: usize = 25;
/// Lines that a program of lists may have.
const LINES_OF_LISTS_MAX: usize = 1000;

/// Seconds and peak memory by number of operations, of 4 ranks and of 8.
pub fn fold(place: &Scratch) -> Result<Vec<Figure>> {
    let numbers = std::env::var("FOLD_OPERATIONS").unwrap_or_else(|_| OPERATIONS.into());
    let mut figures = Vec::new();
    let mut texts = Vec::new();
    for number in numbers.split(',') {
        let operations: u64 = number.parse()?;
        for ranks in [4, 8] {
            let (own, text) = folded(place, operations, ranks)?;
            figures.extend(own);
            texts.push(text);
        }
    }
    let digits = |c: char| c.is_ascii_digit();
    if texts.iter().any(|text| text.replace(digits, "") != texts[0].replace(digits, "")) {
        return Err(format!("the text grows with operations or ranks:\n{texts:#?}").into());
    }
    figures.extend(irregular(place)?);
    Ok(figures)
}

/// A strided writer, so many operations in all.
fn folded(place: &Scratch, operations: u64, ranks: u64) -> Result<(Vec<Figure>, String)> {
    let program = format!(
        "$f = fopen(\"data\", \"O_WRONLY|O_CREAT\");
         repeat $i {} fwrite($f, 4k, ($i * $$size + $$rank) * 4k);
         fclose($f);",
        operations / ranks
    );
    let name = format!("fold {operations} operations of {ranks} ranks");
    let most = if operations > 1_000_000 { 60.0 } else { 10.0 };
    measured(place, &program, ranks, &name, (most, LINES_MAX))
}

/// Reads and writes of any size at any place of many files.
fn irregular(place: &Scratch) -> Result<Vec<Figure>> {
    let program = "mkdir(\"d\");
         repeat $i 300 { $f = fopen(\"d/f-$i\", \"w\"); ftruncate($f, 64m); fclose($f); }
         repeat 300 {
             $n = rand(0, 299);
             $f = fopen(\"d/f-$n\", \"r+\");
             repeat rand(100, 6500) {
                 $bytes = rand(1, 64k);
                 if (rand(0, 1) == 0) fread($f, $bytes, rand(0, 32m)); else fwrite($f, $bytes, rand(0, 32m));
             }
             fclose($f);
         }";
    let limits = (10.0, LINES_OF_LISTS_MAX);
    Ok(measured(place, program, 1, "fold 10^6 irregular operations", limits)?.0)
}

/// Seconds and peak memory of folding what a program does, and the text; `limits`: seconds, and lines.
fn measured(
    place: &Scratch,
    program: &str,
    ranks: u64,
    name: &str,
    (most, lines_max): (f64, usize),
) -> Result<(Vec<Figure>, String)> {
    let count = ranks.to_string();
    place.run(program, &["--backend", "mem", "--events=max=64g", "--out", "fold", "-n", &count])?;
    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    let mut text = String::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let output = Command::new(place.own_binary())
            .args(["worker", "peak"])
            .arg(place.parabench())
            .args(["fold", "fold", "-o", "folded.ppl", "--force"])
            .current_dir(place.path())
            .stdin(Stdio::null())
            .output()?;
        seconds.push(start.elapsed().as_secs_f64());
        let said = String::from_utf8_lossy(&output.stderr);
        // It ends otherwise if the program does something else than the run.
        if !output.status.success() {
            return Err(format!("parabench fold failed: {said}").into());
        }
        let printed = String::from_utf8(output.stdout)?;
        memory.push(printed.lines().next().ok_or("no output")?.parse::<f64>()? / 1e9);
        let program = fs::read_to_string(place.path().join("folded.ppl"))?;
        let is_own = |line: &&str| !line.starts_with('#');
        text = program.lines().filter(is_own).collect::<Vec<_>>().join("\n");
    }
    fs::remove_dir_all(place.path().join("fold"))?;
    if text.lines().count() > lines_max {
        return Err(format!("more than {lines_max} lines:\n{text}").into());
    }
    let figures = vec![
        Figure::measured(name, &seconds, " s", Goal::AtMost(most)),
        Figure::measured("its peak memory", &memory, " GB", Goal::AtMost(1.0)),
    ];
    Ok((figures, text))
}
