//! `parabench compare`: runs against runs.

use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output::{self, PAGE};
use crate::results;
use clap::{Args, ValueEnum};
use report::compare::gate::GateError;
use report::compare::{self, Comparison, Gate, Options, Side, pictures, show};
use report::table::Terminal;
use std::path::{Path, PathBuf};

/// Compare runs, with statistics that can be trusted
///
/// The unit is the repetition: make runs with `--reps 10`, or give several runs of either side
/// with --base and --new. A difference is claimed only from 5 repetitions on either side, with
/// p < 0.05 (Mann-Whitney, Holm) and above --min-effect.
///
/// Examples:
///   parabench run x.ppl --reps 10 --out before
///   parabench run x.ppl --reps 10 --out after
///   parabench compare before after
///   parabench compare before after --gate "write.mib_s >= 0.95" --gate "stat.p99_ns <= 1.1"
///   parabench compare --base a1 a2 a3 a4 a5 --new b1 b2 b3 b4 b5
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Compare {
    /// Runs: each later one is compared with the first
    #[arg(value_name = "DIR", required_unless_present = "base", conflicts_with = "base")]
    runs: Vec<PathBuf>,

    /// Runs that are together the repetitions of A
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "new")]
    base: Vec<PathBuf>,

    /// Runs that are together the repetitions of B
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "base")]
    new: Vec<PathBuf>,

    /// Smallest difference worth a claim
    #[arg(long, value_name = "PER CENT", default_value = "2%", value_parser = share)]
    min_effect: f64,

    /// Compare although programs or parameters differ
    #[arg(long)]
    anyway: bool,

    /// Exit with code 3 unless the ratio B / A of the medians holds: "OPERATION.METRIC >= RATIO" for rates
    /// (mib_s, rank_mib_s), "... <= RATIO" for times (min_ns, mean_ns, p50_ns, p99_ns, max_ns), also > and <;
    /// for one label with "LABEL:" before it
    #[arg(long = "gate", value_name = "CONDITION", value_parser = gate)]
    gates: Vec<Gate>,

    /// Write a page with pictures of both sides over each other
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// How the comparison is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables and sentences for people
    Table,
    /// One object for each comparison and line, see docs/compare.schema.json
    Json,
    /// For an issue or a merge request
    Markdown,
    /// The gates as a test suite
    Junit,
}

/// `2%` or `0.02`.
fn share(text: &str) -> std::result::Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if (0.0..=10.0).contains(&(value * scale)) => Ok(value * scale),
        _ => Err(format!("expected a share such as 2% or 0.02, found {text:?}")),
    }
}

/// The place of a mistake is marked below the condition.
fn gate(text: &str) -> std::result::Result<Gate, String> {
    Gate::parse(text).map_err(|GateError { at, message }| {
        let column = text[..at.min(text.len())].chars().count();
        format!("{message}\n  {text}\n  {}^", " ".repeat(column))
    })
}

impl Compare {
    /// Compares, prints, judges the gates.
    pub fn execute(self) -> Result<Exit> {
        let pairs = self.pairs()?;
        let options = Options { min_effect: self.min_effect, anyway: self.anyway };
        let mut comparisons = Vec::new();
        for (base, new) in &pairs {
            let mut comparison = compare::compare(base, new, &options).map_err(|why| {
                Error::input(format!(
                    "{} and {} are not runs of one thing: {}",
                    base.name,
                    new.name,
                    why.join("; ")
                ))
                .help("--anyway compares them nevertheless")
            })?;
            comparison.gates = self.gates.iter().map(|gate| gate.judge(base, new)).collect();
            comparisons.push(comparison);
        }
        self.print(&comparisons)?;
        self.page(&pairs, &comparisons)?;
        let holds = comparisons.iter().flat_map(|one| &one.gates).all(|gate| gate.holds);
        Ok(if holds { Exit::Success } else { Exit::Verdict })
    }

    /// A and B of every comparison.
    fn pairs(&self) -> Result<Vec<(Side, Side)>> {
        if !self.base.is_empty() {
            return Ok(vec![(side(&self.base)?, side(&self.new)?)]);
        }
        if let [one] = &self.runs[..] {
            let message = format!("{}: expected at least two runs, found one", one.display());
            return Err(Error::input(message)
                .help("name the runs to compare it with: parabench compare BEFORE AFTER"));
        }
        let base = side(&self.runs[..1])?;
        let new = self.runs[1..].iter().map(|run| side(std::slice::from_ref(run)));
        new.map(|new| Ok((base.clone(), new?))).collect()
    }

    fn page(&self, pairs: &[(Side, Side)], comparisons: &[Comparison]) -> Result<()> {
        let Some(file) = &self.html else { return Ok(()) };
        let compared: Vec<(&Side, &Side, &Comparison)> =
            pairs.iter().zip(comparisons).map(|((base, new), one)| (base, new, one)).collect();
        output::write(file, "--html", PAGE, pictures::html(&compared).as_bytes())
    }

    fn print(&self, comparisons: &[Comparison]) -> Result<()> {
        let terminal = Terminal { columns: console::columns(), color: console::colours() };
        let texts: Vec<String> = match self.format {
            Format::Table => comparisons.iter().map(|one| show::table(one, terminal)).collect(),
            Format::Json => comparisons.iter().map(show::json).collect(),
            Format::Markdown => comparisons.iter().map(show::markdown).collect(),
            Format::Junit => vec![show::junit(comparisons)],
        };
        console::print_made(&texts.join(if self.format == Format::Json { "" } else { "\n" }))
    }
}

fn side(paths: &[PathBuf]) -> Result<Side> {
    let run = |path: &PathBuf| results::read(path).map(|stored| stored.run);
    let runs = paths.iter().map(run).collect::<Result<Vec<_>>>()?;
    let names: Vec<String> = paths.iter().map(|path: &PathBuf| shown(path)).collect();
    Ok(Side { name: names.join(" "), runs })
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
