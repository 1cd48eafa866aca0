//! `parabench fidelity`: whether a replay does what an original did.

use crate::args::Verbose;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::output::{self, PAGE};
use crate::results;
use clap::{Args, ValueEnum};
use model::Run;
use report::fidelity::{self, Gate, Recorded, Refused, show};
use report::gate::Verdict;
use report::table::Terminal;
use std::path::{Path, PathBuf};

/// Tell how faithful a replay is: what it does otherwise, and how its times differ
///
/// Both sides are stored runs with all of their events: of `parabench import`, or of
/// `parabench run --events --out`. Operations, their order in each process, names, offsets, sizes
/// and results are compared exactly; ranks are matched by number. Times are compared in all
/// and by phase, each with its error in %. docs/fidelity.md tells the rules.
///
/// Examples:
///   parabench fidelity app.run replay.run
///   parabench fidelity --original app1.run app2.run app3.run --replay r1 r2 r3
///   parabench fidelity app.run replay.run --gate "operations <= 0" --gate "elapsed <= 5%"
///   parabench fidelity app.run replay.run --html fidelity.html
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Fidelity {
    /// The original, then its replays
    #[arg(value_name = "DIR", num_args = 2.., required_unless_present = "original",
          conflicts_with = "original", add = crate::completion::runs())]
    runs: Vec<PathBuf>,

    /// Runs of the original: times are compared with their median, beside how far they vary
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "replay",
          add = crate::completion::runs())]
    original: Vec<PathBuf>,

    /// Runs of the replay
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "original",
          add = crate::completion::runs())]
    replay: Vec<PathBuf>,

    /// Exit with code 3 if it does not hold: "elapsed <= 5%" for errors of times (elapsed, io, think,
    /// concurrency, ks, wasserstein; with "PHASE:" before it, of a phase), "operations <= 0" for
    /// differences (operations, missing, extra, order, names, offsets, bytes, results, open_flags), also <
    #[arg(long = "gate", value_name = "CONDITION", value_parser = gate)]
    gates: Vec<Gate>,

    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Write a page with the time lines of both sides over each other
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    verbose: Verbose,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables and sentences for people
    Table,
    /// One object, see docs/fidelity.schema.json
    Json,
}

/// Reads a gate.
pub fn gate(text: &str) -> std::result::Result<Gate, String> {
    Gate::parse(text)
}

impl Fidelity {
    /// Compares, prints, judges the gates.
    pub fn execute(self) -> Result<Exit> {
        if let Some(file) = &self.html {
            output::check(file, "--html", PAGE)?;
        }
        let (originals, replays) = match self.runs.split_first() {
            Some((original, replays)) => (std::slice::from_ref(original), replays),
            None => (&self.original[..], &self.replay[..]),
        };
        let read = |paths: &[PathBuf]| paths.iter().map(|path| stored(path)).collect();
        let (originals, replays): (Result<Vec<_>>, Result<Vec<_>>) =
            (read(originals), read(replays));
        let found = measure(&originals?, &replays?, &self.gates)?;
        console::print_made(&match self.format {
            Format::Table => show::table(&found, terminal(), self.verbose.detail()),
            Format::Json => report::json::object(&found),
        })?;
        if let Some(file) = &self.html {
            output::write(file, "--html", PAGE, page::html::fidelity(&found).as_bytes())?;
        }
        Ok(exit(&found))
    }
}

/// How the report is drawn here.
pub fn terminal() -> Terminal {
    console::output()
}

/// Compares stored runs and judges the gates.
pub fn measure(
    originals: &[Stored],
    replays: &[Stored],
    gates: &[Gate],
) -> Result<fidelity::Fidelity> {
    let found = fidelity::compare(&recorded(originals), &recorded(replays));
    let mut found = found.map_err(refused)?;
    found.judge(gates);
    Ok(found)
}

fn refused(Refused { message, help }: Refused) -> Error {
    let error = Error::input(message);
    if help.is_empty() { error } else { error.help(help) }
}

/// A run with its name and the folder of its events.
pub type Stored = (String, PathBuf, Run);

fn recorded(runs: &[Stored]) -> Vec<Recorded<'_>> {
    runs.iter().map(|(name, folder, run)| Recorded { name, folder, run }).collect()
}

/// The exit code that the gates ask for.
pub fn exit(found: &fidelity::Fidelity) -> Exit {
    match found.gates.iter().any(|gate| gate.verdict != Verdict::Pass) {
        true => Exit::Verdict,
        false => Exit::Success,
    }
}

/// Reads a stored run whose events can be compared.
///
/// # Errors
/// There is none, it has not ended, or it lacks events.
pub fn stored(path: &Path) -> Result<Stored> {
    stored_as(path, path.to_string_lossy().into_owned())
}

/// The same for a run that is called otherwise than its path.
///
/// # Errors
/// As for [`stored`].
pub fn stored_as(path: &Path, name: String) -> Result<Stored> {
    let run = results::read(path)?.run;
    if run.run.recording.is_some() {
        return Err(Error::input(format!("{name}: the run has not ended"))
            .help("wait for its end; one that was cut off: parabench report DIR --settle"));
    }
    let folder = match path.is_dir() {
        true => path.to_path_buf(),
        false => path.parent().map(Path::to_path_buf).unwrap_or_default(),
    };
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    fidelity::check(&Recorded { name: &name, folder: &folder, run: &run }).map_err(refused)?;
    Ok((name, folder, run))
}
