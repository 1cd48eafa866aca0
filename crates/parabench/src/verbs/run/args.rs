//! The options of `parabench run`.

use crate::args::{ProgramArgs, ResultFormat, Seed, Verbose, size};
use crate::completion;
use clap::builder::{
    ArgPredicate, NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use clap::{Arg, Args, ValueEnum};
use engine::config::BackendKind;
use model::run::Param;
use report::fidelity::Gate;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  parabench run @stress num=5000 -n 2
  parabench run x.ppl --dir /mnt/new --keep            keep the files...
  parabench run x.ppl --dir /mnt/new --only read       ...and measure one phase on them
  parabench run x.ppl --out results --events           store everything
  parabench run x.ppl --html report.html               one page with tables and pictures
  parabench run x.ppl --format json > run.json
  parabench run x.ppl --dry-run                        the tool measured by itself
  parabench run x.ppl --sweep block=4k..1m*4 --reps 10 --settle 2s --warm-up 1
  parabench run x.ppl --sweep-ranks 1,2,4,8 --until-ci 2% --out results
  parabench run --resume results                       go on with a sweep that was killed
  parabench run -n 4 --mpi x.ppl                       ranks under MPI on this machine
  mpiexec -n 8 parabench run x.ppl --sweep-ranks 1,2,4,8 --reps 5
  mpiexec -n 64 -f hosts parabench run x.ppl --dir /scratch/me     ...and on many

MPI: under mpiexec or srun the processes of the job are the ranks, and -n is not needed.
Rank 0 reads the program, prints the tables and writes the results. The directory must be
one that all machines share. One job executes all of a sweep; --sweep-ranks takes the first
ranks of the job, --sweep-nodes all ranks of its first machines, and the others wait.

Where: without --dir in a fresh scratch directory below the current one, which is removed
at the end. A program can touch nothing outside its directory.

Exit codes: 0 ok · 1 an operation or rank failed · 2 the input was wrong · 3 a verdict failed
(--strict) · 130 interrupted; of several, the first of 2, 130, 1, 3.";

/// Run a program and print what was measured
#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("program", needless_to_resume), mut_arg("params", |params| params.index(2)))]
pub struct Run {
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Number of ranks; each is a process of its own [default: 1, or what mpiexec started]
    #[arg(short = 'n', long = "ranks", value_name = "RANKS",
          value_parser = crate::args::ranks)]
    pub given_ranks: Option<u32>,

    /// Number of ranks: [`Run::resolved`] finds it out.
    #[arg(skip)]
    pub ranks: u32,

    #[command(flatten)]
    pub job: Job,

    #[command(flatten)]
    pub directory: DirectoryArgs,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub execution: Execution,

    #[command(flatten)]
    pub sweep: super::sweep::Sweep,

    #[command(flatten)]
    pub released: Released,

    /// The options that were typed.
    #[arg(skip)]
    pub given: Vec<Param>,

    /// Origin of this command line, if a sweep is resumed.
    #[arg(skip)]
    pub origin: Option<super::sweep::resume::Origin>,
}

/// The name of the program where a sweep is resumed that knows it.
pub const AS_STORED: &str = "(as stored)";

/// A sweep that is resumed knows its program.
fn needless_to_resume(program: Arg) -> Arg {
    let program = program.index(1).required(false).required_unless_present("resume");
    program.default_value_if("resume", ArgPredicate::IsPresent, AS_STORED)
}

/// How ranks are started that MPI connects.
#[derive(Args, Clone)]
#[command(next_help_heading = "MPI")]
pub struct Job {
    /// Start the ranks with the mpiexec of the MPI that parabench uses (see `parabench mpi info`)
    #[arg(long)]
    pub mpi: bool,

    /// Start the ranks with this command instead; {ranks} becomes their number, as in
    /// "mpiexec --oversubscribe -n {ranks}"
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    pub launcher: Option<String>,
}

/// Where the program runs.
#[derive(Args, Clone)]
#[command(next_help_heading = "Directory")]
pub struct DirectoryArgs {
    /// Run in this directory: new, empty, or left by an earlier run
    #[arg(long, value_name = "D")]
    pub dir: Option<PathBuf>,

    /// Keep what the program made
    #[arg(long)]
    pub keep: bool,

    /// Use a directory with other things in it, confined to it; overwrite results of another run
    #[arg(long)]
    pub force: bool,

    /// Make the files that the program expects to find before it starts (see `parabench prepare`)
    #[arg(long)]
    pub prepare: bool,

    /// Remove what is in the directory at the end of the run
    #[arg(short = 'c', long, conflicts_with = "keep")]
    pub clean: bool,

    /// Resolve every name beneath the directory, even if no link in it leads up
    #[arg(long)]
    pub confine: bool,

    /// Trust the program: its names and links may lead anywhere
    #[arg(long, conflicts_with = "confine")]
    pub no_confine: bool,

    /// Do not compare the plan with free space, memory and descriptors first
    #[arg(long)]
    pub no_preflight: bool,
}

/// Printing and storing of results.
#[derive(Args, Clone)]
#[command(next_help_heading = "Results")]
pub struct Results {
    /// How results are printed
    #[arg(long, value_enum, default_value_t = ResultFormat::Table)]
    pub format: ResultFormat,

    #[command(flatten)]
    pub verbose: Verbose,

    /// Store the run in this folder, for `parabench report`
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The folder goes when the run was used: nobody asked for it
    #[arg(skip)]
    pub out_goes: bool,

    /// Write a page with tables, the program with its times, and pictures; keeps events as --events does
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// A page is wanted of a sweep that goes on: whether events are kept was settled when it began.
    #[arg(skip)]
    pub events_are_settled: bool,

    /// Keep every operation as an event, in memory of limited size per node (max=BYTES; default:
    /// half of what is free, at most 8 GiB), or a random sample (sample=1/100, or both with a comma);
    /// stored with --out
    #[arg(long, value_name = "max=BYTES,sample=1/N", num_args = 0..=1, require_equals = true,
          default_missing_value = "sample=1/1", value_parser = KeptEvents::parse)]
    pub events: Option<KeptEvents>,

    /// After the run, compare it with the run in this folder, for example of `parabench import`;
    /// keeps events as --events does
    #[arg(long, value_name = "DIR", add = completion::runs())]
    pub against_trace: Option<PathBuf>,

    /// Exit with code 3 if it is less faithful: "elapsed <= 5%", "operations <= 0", as --gate of
    /// `parabench fidelity`
    #[arg(long = "fidelity-gate", value_name = "CONDITION", requires = "against_trace",
          value_parser = crate::verbs::fidelity::gate)]
    pub fidelity_gates: Vec<Gate>,

    /// Short operations count as failed, contradicted figures give exit code 3
    #[arg(long)]
    pub strict: bool,

    /// How progress is written to standard error: a line for people, or JSON lines for programs
    /// (docs/run-format.md), also with --quiet
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ProgressForm::Text)]
    pub progress: ProgressForm,

    /// No `print` lines, progress, warnings and tables; errors and files only
    #[arg(short = 's', long)]
    pub quiet: bool,
}

/// How the program is executed.
#[derive(Args, Clone)]
#[command(next_help_heading = "Execution")]
pub struct Execution {
    /// Execute I/O only inside these labels, and I/O without a label
    #[arg(long, value_name = "LABEL,..", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub only: Vec<String>,

    /// Action of a rank after a failed operation
    #[arg(long, value_enum, default_value_t = OnError::Continue)]
    pub on_error: OnError,

    /// The back-end that executes the I/O
    #[arg(long, value_parser = backends(), default_value = "posix")]
    pub backend: BackendKind,

    /// Everything but the I/O: the same as --backend null
    #[arg(short = 'd', long, conflicts_with = "backend")]
    pub dry_run: bool,

    /// Skip `sleep`
    #[arg(short = 'a', long)]
    pub agile: bool,

    /// Start when SIGUSR1 arrives
    #[arg(short = 'w', long)]
    pub wait: bool,

    /// End the run after this time, as Ctrl-C would, but with exit code 0: what was measured is printed
    /// and stored. It counts from the start of the first execution: --wait, warm-up, --settle and
    /// --prepare count, checks before do not
    #[arg(long, value_name = "TIME", value_parser = crate::args::duration)]
    pub time_limit: Option<u64>,

    /// Under MPI, end ranks that wait for what cannot come: all others wait or have ended, and nothing
    /// has changed for this time
    #[arg(long, value_name = "TIME", value_parser = crate::args::duration, default_value = "10min")]
    pub timeout: u64,
}

/// Short options of the released Parabench 1.0 that have no long form.
#[derive(Args, Clone)]
#[command(next_help_heading = "Parabench 1.0")]
pub struct Released {
    /// The same as --format json --out results
    #[arg(short = 'e', conflicts_with = "format")]
    pub e: bool,
}

/// How progress is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// A line at a terminal, a line every 10 s elsewhere
    Text,
    /// JSON lines
    Json,
}

/// Action of a rank after a failed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnError {
    /// It goes on
    Continue,
    /// It ends
    Stop,
}

/// The back-ends by name.
fn backends() -> impl TypedValueParser<Value = BackendKind> {
    let all = BackendKind::ALL.iter().map(|(_, name, doc)| PossibleValue::new(*name).help(*doc));
    let find = |name: String| BackendKind::ALL.iter().find(|row| row.1 == name).map(|row| row.0);
    PossibleValuesParser::new(all).map(move |name| find(name).unwrap_or_default())
}

impl Run {
    /// Ranks of a job that this run starts: as many as the resumed sweep or the largest point has.
    pub fn started_ranks(&self) -> u32 {
        let begun = || super::sweep::resume::ranks_of_job(self.sweep.resume.as_deref()?);
        let swept = self.sweep.ranks.iter().flat_map(|ranks| &ranks.0).copied().max();
        self.given_ranks.or_else(begun).or(swept).unwrap_or(self.ranks)
    }

    /// Whether its blocks are enough is worth a word: whoever resumes a run cannot choose their number.
    pub fn says_of_blocks(&self) -> bool {
        !self.results.quiet && self.sweep.resume.is_none()
    }

    /// Expands short forms of options. `started`: number of processes in this one's MPI job.
    pub fn resolved(mut self, started: Option<u32>) -> Run {
        self.ranks = self.given_ranks.or(started).unwrap_or(1);
        if self.sweep.is_asked_for() && self.sweep.resume.is_none() {
            // One for all points, and for those that are executed later.
            self.program.seed = Seed::Given(self.program.seed.number());
        }
        if self.released.e {
            self.results.format = ResultFormat::Json;
            self.results.out.get_or_insert_with(|| "results".into());
        }
        if self.execution.dry_run {
            self.execution.backend = BackendKind::Null;
        }
        if let Some((_, first)) = self.sweep.dirs.iter().find_map(|dirs| dirs.0.first()) {
            self.directory.dir = Some(first.clone());
        }
        self
    }
}

/// How much of the event table is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptEvents {
    /// Memory for events on a node, bytes; `None`: what it can spare.
    pub max_bytes: Option<u64>,
    /// One event of this number is kept; 1: all.
    pub sample_every: u64,
}

impl Default for KeptEvents {
    /// All events, in what memory can be spared.
    fn default() -> KeptEvents {
        KeptEvents { max_bytes: None, sample_every: 1 }
    }
}

impl KeptEvents {
    /// Memory for events on this node, bytes: what was asked for, or half of what is free, at
    /// most 8 GiB.
    pub fn max_bytes(self) -> u64 {
        let spare = || engine::limits::free_memory_bytes().unwrap_or(2 << 30) / 2;
        self.max_bytes.unwrap_or_else(|| spare().min(8 << 30))
    }

    /// Reads `max=BYTES`, `sample=1/N` or both; a number of bytes alone is the former.
    fn parse(text: &str) -> Result<KeptEvents, String> {
        let mut kept = KeptEvents::default();
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("max", bytes)) => kept.max_bytes = Some(size(bytes)?),
                Some(("sample", share)) => kept.sample_every = one_of(share)?,
                Some((name, _)) => {
                    return Err(format!("expected max=BYTES or sample=1/N, found {name:?}"));
                }
                None => kept.max_bytes = Some(size(part)?),
            }
        }
        Ok(kept)
    }
}

/// N of `1/N`.
fn one_of(text: &str) -> Result<u64, String> {
    let every = text.strip_prefix("1/").and_then(|every| every.parse().ok());
    every.filter(|every| *every > 0).ok_or_else(|| {
        format!("expected a share such as sample=1/100 for one event of a hundred, found {text:?}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_limited_or_sampled() {
        let kept = |max_bytes, sample_every| Ok(KeptEvents { max_bytes, sample_every });
        assert_eq!(KeptEvents::parse("max=64k"), kept(Some(65536), 1));
        assert_eq!(KeptEvents::parse("64k"), kept(Some(65536), 1));
        assert_eq!(KeptEvents::parse("sample=1/100"), kept(None, 100));
        assert_eq!(KeptEvents::parse("sample=1/7,max=1m"), kept(Some(1 << 20), 7));
        for (text, said) in [
            ("sample=0.01", "sample=1/100"),
            ("sample=1/0", "sample=1/100"),
            ("sample=1/-3", "sample=1/100"),
            ("max=much", "a number of bytes"),
            ("most=1", "max=BYTES or sample=1/N"),
            ("", "a number of bytes"),
        ] {
            let why = KeptEvents::parse(text).unwrap_err();
            assert!(why.contains(said), "{text}: {why}");
        }
    }
}
