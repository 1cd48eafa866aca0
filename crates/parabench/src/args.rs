//! The command line: the subcommands, and arguments that several of them share. The
//! options of one subcommand are in its file ([`crate::verbs`]).

use crate::completion;
use crate::error::{Error, Exit, Result};
use crate::foreign_options;
use crate::verbs;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use model::directory::{DIRECTORIES_MAX, is_name};
use model::escape;
use model::run::Param;
use report::table::Detail;
use std::ffi::OsString;
use std::path::PathBuf;

/// Shown below the list of subcommands.
const EXAMPLES: &str = "\
Examples:
  parabench run @stress                     a first measurement, in a scratch directory
  parabench run x.ppl num=100 -n 4          your program, a parameter, four ranks
  parabench run x.ppl --dir /mnt/new --out results --events
  mpiexec -n 4 parabench run x.ppl          ranks under MPI, also on many machines
  parabench report results                  the same tables again
  parabench studio                          compose, run and look at programs in a browser
  parabench check x.ppl                     every mistake, drawn under its line
  parabench plan x.ppl --ops 20             what it will do, without touching the disk

Exit codes:
  0 ok · 1 an operation or rank failed · 2 the input was wrong · 3 a verdict failed (--strict)
  130 interrupted

Where to go next:
  parabench programs     programs that come with Parabench, to run or to read
  parabench ops          the operations of the language
  parabench help run     all options of a run";

/// Describe an application's I/O once, run it on any storage, get numbers one can trust.
#[derive(Parser)]
#[command(name = "parabench", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// The action.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Verb {
    Run(Box<verbs::run::Run>),
    Check(verbs::check::Check),
    Fmt(verbs::fmt::Fmt),
    Translate(verbs::translate::Translate),
    Plan(verbs::plan::Plan),
    Prepare(verbs::prepare::Prepare),
    Replay(verbs::replay::Replay),
    Report(verbs::report::Report),
    Compare(verbs::compare::Compare),
    Fidelity(verbs::fidelity::Fidelity),
    Import(verbs::import::Import),
    Record(Box<verbs::record::Record>),
    Fold(verbs::fold::Fold),
    Ops(verbs::manual::Ops),
    Studio(verbs::studio::Studio),
    Pattern(Box<verbs::pattern::Pattern>),
    Programs(verbs::manual::Programs),
    Mpi(verbs::mpi::Mpi),
    Job(Box<verbs::job::Job>),
    Lsp(verbs::lsp::Lsp),
    Completions(verbs::manual::Completions),
    Man(verbs::manual::Man),
}

impl Verb {
    /// Every process of an MPI job takes part; of other subcommands only the first does it.
    pub fn is_for_all_ranks(&self) -> bool {
        matches!(self, Verb::Run(_) | Verb::Mpi(_) | Verb::Record(_))
    }

    /// Runs the subcommand.
    pub fn execute(self) -> Result<Exit> {
        match self {
            Verb::Run(run) => run.execute(),
            Verb::Check(check) => check.execute(),
            Verb::Fmt(fmt) => fmt.execute(),
            Verb::Translate(translate) => translate.execute(),
            Verb::Plan(plan) => plan.execute(),
            Verb::Prepare(prepare) => prepare.execute(),
            Verb::Replay(replay) => replay.execute(),
            Verb::Report(report) => report.execute(),
            Verb::Compare(compare) => compare.execute(),
            Verb::Fidelity(fidelity) => fidelity.execute(),
            Verb::Import(import) => import.execute(),
            Verb::Record(record) => record.execute(),
            Verb::Fold(fold) => fold.execute(),
            Verb::Ops(ops) => ops.execute(),
            Verb::Studio(studio) => studio.execute(),
            Verb::Pattern(pattern) => pattern.execute(),
            Verb::Programs(programs) => programs.execute(),
            Verb::Mpi(mpi) => mpi.execute(),
            Verb::Job(job) => job.execute(),
            Verb::Lsp(lsp) => lsp.execute(),
            Verb::Completions(completions) => completions.execute(),
            Verb::Man(man) => man.execute(),
        }
    }
}

/// Reads the command line.
pub fn parse(words: Vec<OsString>) -> std::result::Result<Verb, clap::Error> {
    let words = with_amounts(words);
    read(&words).map_err(|error| {
        let error = harmless(&words).unwrap_or(error);
        explained(&words, &error).unwrap_or(error)
    })
}

/// The error with what to write instead, where the option is one of another tool.
fn explained(words: &[OsString], error: &clap::Error) -> Option<clap::Error> {
    let (message, hint) = foreign_options::explain(words, error)?;
    let text = escape::lines(&format!("{message}\n  help: {hint}\n"));
    Some(clap::Error::raw(clap::error::ErrorKind::UnknownArgument, text))
}

/// The run for which `parabench run` with these words asks. `whose`: for messages.
pub fn parse_run(words: Vec<OsString>, whose: &str) -> Result<verbs::run::Run> {
    let first = ["parabench", "run"].map(OsString::from);
    let said = match parse(first.into_iter().chain(words).collect()) {
        Ok(Verb::Run(run)) => return Ok(*run),
        Ok(_) => "expected options of parabench run".into(),
        Err(error) => error.to_string(),
    };
    // Missing arguments have lines of their own before the usage.
    let said = said.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    Err(Error::input(format!("{whose}: {said}"))
        .help("after -- stand options of parabench run: parabench help run"))
}

fn read(words: &[OsString]) -> std::result::Result<Verb, clap::Error> {
    let mut command = Cli::command();
    let mut matches = command.try_get_matches_from_mut(words)?;
    let given = given(&command, &matches);
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))?;
    Ok(match cli.verb {
        Verb::Run(run) => Verb::Run(Box::new(verbs::run::Run { given, ..*run })),
        verb => verb,
    })
}

/// The options of a subcommand that were typed, with their values; each as it is called: `--reps`, `-e`, `NAME=VALUE`.
fn given(command: &clap::Command, matches: &ArgMatches) -> Vec<Param> {
    let Some((name, own)) = matches.subcommand() else { return Vec::new() };
    let options = command.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
    let typed = options.filter_map(|option| {
        let id = option.get_id().as_str();
        own.try_contains_id(id).ok().filter(|is_there| *is_there)?;
        let is_typed = own.value_source(id) == Some(ValueSource::CommandLine);
        let values = own.get_raw(id).filter(|_| is_typed)?;
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        Some(Param { name: called(option), value: values.join(" ") })
    });
    typed.collect()
}

/// `--ranks`, `-e`, `NAME=VALUE`.
pub fn called(option: &Arg) -> String {
    let names = option.get_value_names().unwrap_or_default();
    match (option.get_long(), option.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => names.first().map_or(String::new(), ToString::to_string),
    }
}

/// The same error about words without control characters: clap repeats them with colours around.
/// `None` where there are none, so that the error stays the one it is.
fn harmless(words: &[OsString]) -> Option<clap::Error> {
    let shown: Vec<String> =
        words.iter().map(|word| escape::line(&word.to_string_lossy())).collect();
    let same = words.iter().zip(&shown).all(|(word, shown)| word == shown.as_str());
    if same { None } else { Cli::try_parse_from(shown).err() }
}

/// `--events sample=1/100` and `--events max=1g` as one word with `=`: an option whose value may be
/// left out takes it no other way, and the word would be a parameter of the program.
fn with_amounts(words: Vec<OsString>) -> Vec<OsString> {
    // What follows `--` is a command that is recorded.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    for (at, word) in words.into_iter().enumerate() {
        let text = word.to_str().unwrap_or_default();
        let is_amount = at < end && (text.starts_with("sample=") || text.starts_with("max="));
        match joined.last_mut() {
            Some(last) if is_amount && last == "--events" => {
                last.push("=");
                last.push(&word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// A program and everything it is bound to.
#[derive(Args, Clone)]
pub struct ProgramArgs {
    /// Program: a file, `-` for standard input, or `@name` of `parabench programs`
    #[arg(value_name = "PROGRAM", add = completion::programs())]
    pub program: PathBuf,

    /// Values of the program's parameters; the environment's PARABENCH_NAME comes second
    #[arg(value_name = "NAME=VALUE", value_parser = assignment, add = completion::parameters())]
    pub params: Vec<(String, String)>,

    /// The same as paper=true, of programs after a paper: its sizes, and its table
    #[arg(long)]
    pub paper: bool,

    /// Size of a group the program defines, a number or a share such as 50%
    #[arg(short = 'g', long = "group", value_name = "NAME[:SIZE]", value_parser = group)]
    pub groups: Vec<(String, Option<String>)>,

    /// Folder in which the program may include files, besides its own and those below; files are
    /// looked for there too. Can be given again
    #[arg(long = "include-dir", value_name = "DIR")]
    pub include_dirs: Vec<PathBuf>,

    /// A directory that the program uses besides the run directory, by this name: with
    /// (dir="NAME"), "NAME:path". Can be given again
    #[arg(long = "mount", value_name = "NAME=DIR", value_parser = mount)]
    pub mounts: Vec<(String, PathBuf)>,

    /// Seed of all random numbers; `random` draws one and records it
    #[arg(long, default_value = "42", value_parser = seed)]
    pub seed: Seed,
}

/// The parameter that `--paper` sets.
pub const PAPER: &str = "paper";

impl ProgramArgs {
    /// Values of parameters, that of `--paper` included.
    pub fn assignments(&self) -> Vec<(String, String)> {
        let mut all = self.params.clone();
        if self.paper && !all.iter().any(|(name, _)| name == PAPER) {
            all.push((PAPER.into(), "true".into()));
        }
        all
    }

    /// The directories of `--mount`, if no name occurs twice.
    pub fn granted(&self) -> Result<&[(String, PathBuf)]> {
        let mounts = &self.mounts;
        let again = |(at, (name, _)): &(usize, &(String, PathBuf))| {
            mounts[..*at].iter().any(|(earlier, _)| earlier == name)
        };
        if let Some((_, (name, path))) = mounts.iter().enumerate().find(again) {
            let message =
                format!("--mount {name}={}: the name {name} is given twice", path.display());
            return Err(Error::input(message).help("give each name once"));
        }
        match mounts.len() {
            0..=DIRECTORIES_MAX => Ok(mounts),
            all => Err(Error::input(format!(
                "--mount is given {all} times, at most {DIRECTORIES_MAX} are possible"
            ))),
        }
    }
}

/// Where the seed comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// This number.
    Given(u64),
    /// One that is drawn.
    Random,
}

/// The seed that nobody gave.
pub const DEFAULT_SEED: u64 = 42;

impl Seed {
    /// The number, drawn now if it has to be.
    pub fn number(self) -> u64 {
        use std::hash::{BuildHasher, RandomState};
        match self {
            Seed::Given(number) => number,
            // The standard library seeds its hash maps from the system's random source. 53 bits,
            // so that the number survives every JSON reader.
            Seed::Random => RandomState::new().hash_one("seed") >> 11,
        }
    }
}

/// How diagnostics and facts are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    /// Tables for people
    Table,
    /// One object with everything, see docs/run.schema.json
    Json,
    /// The rows of the summary, RFC 4180
    Csv,
    /// Tables for an issue or a wiki
    Markdown,
    /// The statistics of a sweep, RFC 4180
    CsvStatistics,
}

/// How much is printed.
#[derive(Args, Clone, Copy, Debug)]
pub struct Verbose {
    /// Print all figures and remarks, and how they were measured
    #[arg(short, long)]
    pub verbose: bool,
}

impl Verbose {
    /// The same for reports.
    pub fn detail(self) -> Detail {
        if self.verbose { Detail::Full } else { Detail::Short }
    }
}

/// Largest number of ranks; a typing error must not fork the machine to death.
pub const MAX_RANKS: i64 = 1_000_000;

/// A number of ranks.
pub fn ranks(text: &str) -> std::result::Result<u32, String> {
    let number = text.parse::<i64>().ok().filter(|number| (1..=MAX_RANKS).contains(number));
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let example = if digits.is_empty() || digits == text { "4" } else { &digits };
        format!("expected a number from 1 to {MAX_RANKS}, for example -n {example}, found {text:?}")
    })
}

/// `NAME=VALUE`.
pub fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("expected NAME=VALUE, for example num=100, found {text:?}")),
    }
}

/// `NAME` or `NAME:SIZE`; the name may hold colons itself.
pub fn group(text: &str) -> std::result::Result<(String, Option<String>), String> {
    let (name, size) = match text.rsplit_once(':') {
        Some((name, size)) => (name, Some(size)),
        None => (text, None),
    };
    let digits = size.map(|size| size.strip_suffix('%').unwrap_or(size));
    let is_number = |digits: &str| digits.parse::<u32>().is_ok();
    if name.is_empty() || digits.is_some_and(|digits| !is_number(digits)) {
        return Err(format!("expected NAME, NAME:4 or NAME:50%, found {text:?}"));
    }
    Ok((name.into(), size.map(str::to_string)))
}

/// `NAME=DIR`.
pub fn mount(text: &str) -> std::result::Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if is_name(name.as_bytes()) && !path.is_empty() => {
            Ok((name.into(), path.into()))
        }
        _ => Err(format!(
            "expected NAME=DIR, for example fast=/burst, with a name of letters, digits, _ and -, \
             found {text:?}"
        )),
    }
}

/// A number, or `random`.
pub fn seed(text: &str) -> std::result::Result<Seed, String> {
    match text.parse() {
        Ok(number) => Ok(Seed::Given(number)),
        Err(_) if text == "random" => Ok(Seed::Random),
        Err(_) => Err("expected a number from 0 to 2^64 - 1, or `random`".into()),
    }
}

/// A number of bytes such as `64m`.
pub fn size(text: &str) -> std::result::Result<u64, String> {
    let bytes = model::units::parse_integer_text(text.as_bytes()).and_then(|n| n.try_into().ok());
    bytes.ok_or_else(|| {
        format!("expected a number of bytes such as 4096, 64m or 1GiB, found {text:?}")
    })
}

/// Nanoseconds of `2s`.
pub fn duration(text: &str) -> std::result::Result<u64, String> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    let factor = model::units::duration_factor(unit);
    let number = digits.parse::<f64>().ok().filter(|number| (0.0..1e6).contains(number));
    match (number, factor) {
        (Some(number), Some(factor)) => Ok((number * factor as f64).round() as u64),
        _ => Err(format!("expected a duration such as 2s or 500ms, found {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_are_read_or_explained() {
        assert_eq!(assignment("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(assignment("=1").unwrap_err().contains("NAME=VALUE"));
        assert_eq!(group("w:4"), Ok(("w".into(), Some("4".into()))));
        assert_eq!(group("w:50%"), Ok(("w".into(), Some("50%".into()))));
        assert_eq!(group("w"), Ok(("w".into(), None)));
        assert_eq!(mount("b=/x=y"), Ok(("b".into(), "/x=y".into())));
        assert!(["/x", "b=", "1b=/x", "a b=/x"].iter().all(|text| mount(text).is_err()));
        assert_eq!(ranks("4"), Ok(4));
        assert!(ranks("4x").unwrap_err().contains("-n 4,"));
        assert!(["0", "-1", "x", "", "1000001", "1e3"].iter().all(|text| ranks(text).is_err()));
        assert!(group("w:many").unwrap_err().contains("NAME:50%"));
        assert_eq!(seed("7"), Ok(Seed::Given(7)));
        assert_eq!(seed("random"), Ok(Seed::Random));
        assert!(seed("-1").is_err());
        assert_eq!(size("64k"), Ok(65536));
        assert!(size("-1").is_err());
        assert_eq!(duration("0.5s"), Ok(500_000_000));
        assert!(duration("5").is_err() && duration("xs").is_err());
    }
}
