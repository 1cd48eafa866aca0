//! `parabench fold`: a run with events goes in, a program that does the same comes out.

use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{folding, output};
use clap::Args;
use model::run::Run;
use std::path::{Path, PathBuf};
use trace::fold::{self, Folded, Log, Options, Think};

/// What folded programs begin with; others are not replaced.
pub(super) const HEAD: &str = "# Folded from ";

/// Make a short program that does what a run did
///
/// The run needs events: `run --events --out DIR`, or `import`. The program is executed on files in
/// memory before it is written, and compared with the run: operations, their order on every rank,
/// names, offsets, sizes and results.
#[derive(Args)]
#[command(after_help = "\
Examples:
  parabench run x.ppl --events --out results
  parabench fold results -o short.ppl
  parabench import app.strace -o app.run
  parabench fold app.run -o app.ppl --think none
  parabench fold app.run --explain 12        which operations line 12 stands for")]
pub struct Fold {
    /// Folder of a run with events
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Write the program to this file instead of standard output
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Pauses between operations: `typical` (the mean of each place), `drawn` (random with that
    /// mean), `none`, or `scale=FACTOR`
    #[arg(long, value_name = "HOW", default_value = "typical", value_parser = think)]
    think: Think,

    /// Write no program; show the operations of the run that this line of it stands for
    #[arg(long, value_name = "LINE", conflicts_with = "out")]
    explain: Option<u32>,
}

impl Fold {
    /// Folds, proves, writes.
    pub fn execute(self) -> Result<Exit> {
        if let Some(out) = &self.out {
            output::check(out, "-o", HEAD)?;
        }
        let (run, log) = folding::read(&self.folder)?;
        let folded = fold::fold(&log, &Options { think: self.think, head: head(&run, &log) });
        let proof = folding::prove(&log, &folded);
        if let Some(line) = self.explain {
            explain(&log, &run, &folded, &proof, line)?;
            return Ok(Exit::Success);
        }
        match &self.out {
            Some(out) => output::write(out, "-o", HEAD, folded.text.as_bytes())?,
            None => console::print_program(&folded.text)?,
        }
        say(&folded, &proof);
        Ok(if proof.is_lossless() { Exit::Success } else { Exit::Failed })
    }
}

/// A program that does what a run did.
pub(super) struct Translated {
    /// Its text.
    pub text: String,
    /// Number of its ranks.
    pub ranks: u32,
}

/// Folds a stored run, and says what came of it.
///
/// # Errors
/// The run has no events, or not all.
pub(super) fn translated(folder: &Path, think: Think) -> Result<Translated> {
    let (run, log) = folding::read(folder)?;
    let folded = fold::fold(&log, &Options { think, head: head(&run, &log) });
    say(&folded, &folding::prove(&log, &folded));
    Ok(Translated { text: folded.text, ranks: log.ranks.len() as u32 })
}

/// `typical`, `none`, `drawn`, `scale=0.5`
pub(super) fn think(text: &str) -> std::result::Result<Think, String> {
    let factor = text.strip_prefix("scale=").and_then(|factor| factor.parse().ok());
    match (text, factor) {
        ("typical", _) => Ok(Think::Typical),
        ("drawn", _) => Ok(Think::Drawn),
        ("none", _) => Ok(Think::None),
        (_, Some(factor)) if (0.0..=1e6).contains(&factor) => Ok(Think::Scaled(factor)),
        _ => Err(format!("expected typical, drawn, none or scale=0.5, found {text:?}")),
    }
}

/// The comment at the head: what was recorded, when, how complete.
fn head(run: &Run, log: &Log) -> Vec<String> {
    let header = &run.run;
    let operations: usize = log.ranks.iter().map(Vec::len).sum();
    let ranks = match header.ranks {
        1 => "1 rank".to_string(),
        ranks => format!("{ranks} ranks"),
    };
    let name = model::escape::line(&header.program.name);
    let when = match header.started.as_str() {
        "" => String::new(),
        started => format!(" of {started}"),
    };
    let mut head = vec![format!("Folded from {name}{when}: {operations} operations, {ranks}.")];
    if let Some(trace) = &header.trace {
        let what = format!("A log of {}, below {}.", trace.format, trace.root);
        head.push(model::escape::line(&what));
        head.extend(trace.gaps.iter().map(|gap| model::escape::line(&format!("{}.", gap.says))));
    }
    head
}

/// What came of it, on standard error.
fn say(folded: &Folded, proof: &folding::Proof) {
    let lines = folded.text.lines().count();
    let what = format!("{} operations became {lines} lines", proof.operations);
    let adopted = match proof.adopted {
        0 => String::new(),
        adopted => format!("; {adopted} more opens give ranks what others had opened"),
    };
    if proof.is_lossless() {
        console::note(&format!("{what}, without loss{adopted}"));
    } else {
        let mut text = format!("{what}; {} operations differ", proof.differences);
        if let Some(first) = &proof.first {
            text.push_str(&format!(
                "; the first: rank {}, operation {}: {} in the run, {} of the program",
                first.rank, first.number, first.expected, first.found
            ));
        }
        if let Some(failure) = &proof.failure {
            text.push_str(&format!("; {failure}"));
        }
        console::warning(&text);
    }
    if folded.left_out > 0 {
        console::warning(&format!("{} operations have no statement yet", folded.left_out));
    }
    if folded.guessed > 0 {
        let (n, text) = (folded.guessed, "modes or words that the run does not tell");
        console::note(&format!("{n} operations have {text}: they stand for the usual ones"));
    }
    if !folded.before.is_empty() {
        let n = folded.before.len();
        console::note(&format!("the program expects {n} files or directories to be there"));
    }
}

/// Most operations that are shown.
const SHOWN: usize = 20;

fn explain(log: &Log, run: &Run, folded: &Folded, proof: &folding::Proof, line: u32) -> Result<()> {
    let lines = folded.text.lines().count();
    let Some(text) = folded.text.lines().nth((line as usize).wrapping_sub(1)) else {
        return Err(Error::input(format!("--explain {line}: the program has {lines} lines")));
    };
    let mut out = format!("{line}: {}\n", text.trim());
    let (mut count, mut total) = (0, 0);
    for (rank, places) in proof.lines.iter().enumerate() {
        for (number, _) in places.iter().enumerate().filter(|(_, at)| **at == line) {
            total += 1;
            if count < SHOWN {
                count += 1;
                out.push_str(&origin(log, run, rank, number));
            }
        }
    }
    match total {
        0 => out.push_str("  no operation of the run\n"),
        _ if total > count => out.push_str(&format!("  and {} more\n", total - count)),
        _ => {}
    }
    console::print(&out)
}

/// One operation of the run, with its line in the log or its number.
fn origin(log: &Log, run: &Run, rank: usize, number: usize) -> String {
    let entry = &log.ranks[rank][number];
    let logs = run.run.trace.as_ref().map_or(&[][..], |trace| &trace.logs);
    let place = match logs.get(entry.details.log as usize) {
        Some(log) if entry.details.line > 0 => format!("{}:{}", log.name, entry.details.line),
        _ => format!("operation {number}"),
    };
    format!("  rank {rank}, {place}: {}\n", folding::shown(&entry.event, log))
}
