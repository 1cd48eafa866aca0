//! `parabench compare`: runs against runs.

use crate::args::Verbose;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::output::{self, PAGE};
use crate::results;
use clap::{Args, ValueEnum};
use model::words;
use page::aggregate::Aggregates;
use report::chart::View;
use report::compare::{self, Comparison, Design, Gate, Options, Side, Unknown, show};
use report::gate::Verdict;

use std::path::{Path, PathBuf};

/// Compare runs, with statistics that can be trusted
///
/// Prints which side is faster in which label and by how much, then one table; -v prints all figures,
/// tests and remarks. The unit is the repetition: make runs with `--reps 10`, or give several runs of
/// either side with --base and --new. A difference needs 5 repetitions of each side and a size above
/// --min-effect; of comparisons of the same thing at most 5 in 100 show one. Sharper, and safe from a
/// machine that drifts: `parabench run x.ppl --against DIR2`, whose run is compared block by block.
///
/// Examples:
///   parabench run x.ppl --reps 10 --out before
///   parabench run x.ppl --reps 10 --out after
///   parabench compare before after
///   parabench compare before after --gate "write.mib_s >= 95 %" --gate "stat.p99_ns <= +10 %"
///   parabench run x.ppl --dir /mnt/a --against /mnt/b --clean --out both
///   parabench compare both
///   parabench compare --base a1 a2 a3 a4 a5 --new b1 b2 b3 b4 b5
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Compare {
    /// Runs: each later one is compared with the first; or one run made with --against, --against-program
    /// or --versus
    #[arg(value_name = "DIR", required_unless_present = "base", conflicts_with = "base",
          add = crate::completion::runs())]
    runs: Vec<PathBuf>,

    /// Runs that are together the repetitions of A
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "new", add = crate::completion::runs())]
    base: Vec<PathBuf>,

    /// Runs that are together the repetitions of B
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "base", add = crate::completion::runs())]
    new: Vec<PathBuf>,

    /// Smallest difference that is reported as one: 2 % in blocks; 5 % between runs made one after the other, which
    /// differ by some per cent without a cause
    #[arg(long, value_name = "PER CENT", value_parser = share)]
    min_effect: Option<f64>,

    /// Compare although programs or parameters differ
    #[arg(long)]
    anyway: bool,

    /// Exit with code 3 if the ratio B / A fails: "OPERATION.METRIC >= NUMBER" for rates (mib_s, rank_mib_s,
    /// ops_s, rank_ops_s), "... <= NUMBER" for times (min_ns, mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns),
    /// also > and <; NUMBER is 0.9, 90 %, +10 % or -10 %; for one label with "LABEL:" before it. A gate passes if
    /// the whole 95 % interval meets the condition, and fails if no part of it does
    #[arg(long = "gate", value_name = "CONDITION", value_parser = gate)]
    gates: Vec<Gate>,

    /// Whether a gate whose interval allows both outcomes passes or fails
    #[arg(long, value_enum, value_name = "HOW", requires = "gates", default_value_t = Undecided::Fail)]
    gate_undecided: Undecided,

    /// Write a page with pictures of both sides over each other
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// How the comparison is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    #[command(flatten)]
    verbose: Verbose,
}

/// The exit code that an undecided gate gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Undecided {
    /// It passes
    Pass,
    /// It fails: exit code 3
    Fail,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Sentences and one table for people
    Table,
    /// One object for each comparison and line, see docs/compare.schema.json
    Json,
    /// One line for each figure, RFC 4180
    Csv,
    /// For an issue or a merge request
    Markdown,
    /// The gates as a test suite
    Junit,
}

/// `2%` or `0.02`.
fn share(text: &str) -> std::result::Result<f64, String> {
    let (number, scale) = match text.trim_end().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if (0.0..=10.0).contains(&(value * scale)) => Ok(value * scale),
        _ => Err(format!("expected a share such as 2% or 0.02, found {text:?}")),
    }
}

/// Reads a gate.
fn gate(text: &str) -> std::result::Result<Gate, String> {
    Gate::parse(text)
}

impl Compare {
    /// Compares, prints, judges the gates.
    pub fn execute(self) -> Result<Exit> {
        let pairs = self.pairs()?;
        let options = Options { min_effect: self.min_effect, anyway: self.anyway };
        pairs.iter().try_for_each(|(base, new, _)| self.check_gates(base, new))?;
        let mut comparisons = Vec::new();
        for (base, new, design) in &pairs {
            let mut comparison = match design {
                Design::Blocks => compare::compare_blocks(base, new, &options),
                Design::Samples => compare::compare(base, new, &options).map_err(|why| {
                    Error::input(format!(
                        "{} and {} are not runs of one thing: {}",
                        base.name,
                        new.name,
                        why.join("; ")
                    ))
                    .help("--anyway compares them nevertheless")
                })?,
            };
            let judge = |gate: &Gate| gate.judge(base, new, *design);
            comparison.gates = self.gates.iter().map(judge).collect();
            comparisons.push(comparison);
        }
        self.print(&comparisons)?;
        self.page(&pairs, &comparisons)?;
        Ok(self.exit(&comparisons))
    }

    /// Refuses gates on names that neither side has.
    fn check_gates(&self, base: &Side, new: &Side) -> Result<()> {
        let Some(found) = self.gates.iter().find_map(|gate| gate.unknown(base, new)) else {
            return Ok(());
        };
        let Unknown { gate, what, name, known } = found;
        let near = ppl::word::nearest(&name, known.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        let known = match known.is_empty() {
            true => format!("the runs have no {what}s"),
            false => format!(
                "there {} {}",
                if known.len() == 1 { "is" } else { "are" },
                words::list(known)
            ),
        };
        let message = format!("--gate {gate:?}: neither side has the {what} {name}");
        Err(Error::input(message).help(format!("{near}{known}")))
    }

    fn undecided_fails(&self) -> bool {
        self.gate_undecided == Undecided::Fail
    }

    /// Says how undecided gates were judged.
    fn exit(&self, comparisons: &[Comparison]) -> Exit {
        let gates = || comparisons.iter().flat_map(|one| &one.gates);
        if gates().any(|gate| gate.verdict == Verdict::Undecided) {
            console::note(match self.undecided_fails() {
                true => "undecided gates fail; use more repetitions, or --gate-undecided pass",
                false => "undecided gates pass (--gate-undecided)",
            });
        }
        match gates().any(|gate| gate.verdict.fails(self.undecided_fails())) {
            true => Exit::Verdict,
            false => Exit::Success,
        }
    }

    /// A and B of every comparison.
    fn pairs(&self) -> Result<Vec<(Side, Side, Design)>> {
        if !self.base.is_empty() {
            return Ok(vec![(side(&self.base)?, side(&self.new)?, Design::Samples)]);
        }
        if let [one] = &self.runs[..] {
            if let Some((base, new)) = compare::split(&results::read(one)?.run) {
                return Ok(vec![(base, new, Design::Blocks)]);
            }
            let message = format!("{}: expected at least two runs, found one", one.display());
            return Err(Error::input(message)
                .help(
                "name the runs to compare it with: parabench compare BEFORE AFTER; one run alone is a \
                 comparison if it was made with --against, --against-program or --versus",
            ));
        }
        let base = side(&self.runs[..1])?;
        let new = self.runs[1..].iter().map(|run| side(std::slice::from_ref(run)));
        new.map(|new| Ok((base.clone(), new?, Design::Samples))).collect()
    }

    fn page(&self, pairs: &[(Side, Side, Design)], comparisons: &[Comparison]) -> Result<()> {
        let Some(file) = &self.html else { return Ok(()) };
        let compared: Vec<(&Side, &Side, &Comparison)> =
            pairs.iter().zip(comparisons).map(|((base, new, _), one)| (base, new, one)).collect();
        let over_time = self.over_time(pairs)?;
        let page = page::html::comparisons(&compared, over_time.as_ref());
        output::write(file, "--html", PAGE, page.as_bytes())
    }

    /// Pictures over time of the first run of each side, of a single comparison of stored runs.
    fn over_time(&self, pairs: &[(Side, Side, Design)]) -> Result<Option<(Vec<View>, Aggregates)>> {
        let [(base, new, design)] = pairs else { return Ok(None) };
        let broken = |error: report::StoreError| Error::input(error.to_string());
        if *design == Design::Blocks {
            let stored = results::read(&self.runs[0])?;
            let (views, events) =
                page::views::stored(&self.runs[0], &stored.run).map_err(broken)?;
            let is_over_time = |view: &View| view.name.contains("-over-time");
            return Ok(events
                .map(|events| (views.views.into_iter().filter(is_over_time).collect(), events)));
        }
        let folder = |of_side: &'_ [PathBuf], at: usize| {
            of_side.first().or_else(|| self.runs.get(at)).cloned().unwrap_or_default()
        };
        let (a, b) = (folder(&self.base, 0), folder(&self.new, 1));
        page::views::beside((&a, &base.runs[0]), (&b, &new.runs[0])).map_err(broken)
    }

    fn print(&self, comparisons: &[Comparison]) -> Result<()> {
        let terminal = console::output();
        let detail = self.verbose.detail();
        let table = |one: &Comparison| show::table(one, terminal, detail);
        let markdown = |one: &Comparison| show::markdown(one, detail);
        let texts: Vec<String> = match self.format {
            Format::Csv => {
                return console::write_with(|mut out| {
                    report::csv::comparisons(comparisons, &mut out)
                });
            }
            Format::Table => comparisons.iter().map(table).collect(),
            Format::Json => comparisons.iter().map(report::json::object).collect(),
            Format::Markdown => comparisons.iter().map(markdown).collect(),
            Format::Junit => vec![show::junit(comparisons, self.undecided_fails())],
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
