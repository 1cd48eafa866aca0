//! `parabench job`: a submit script for a batch system, to read, change and submit.
//!
//! Mistakes are found here and not after hours in a queue: every point of the run is bound to the
//! ranks and nodes of the job and checked as the run itself does it ([`Run::foresee`]).

mod scheduler;
mod script;

use crate::args::{self, DEFAULT_SEED, MAX_RANKS, ProgramArgs, Seed};
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::output;
use crate::verbs::run::Run;
use clap::Args;
use jiff::SignedDuration;
use model::escape;
use scheduler::Scheduler;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Beginning of a script; other files are not replaced.
const HEAD: &str = "#!/bin/bash\n# Parabench: ";

/// Write a submit script for a batch system
///
/// The program and the options of its run are checked for the ranks and nodes of the job. The script is
/// yours: read it, change what is different at your site, submit it. A minute before the time limit
/// (a tenth of it, if that is less; PBS: at the limit) the ranks get SIGTERM, so that what was
/// measured until then is stored.
#[derive(Args)]
#[command(after_help = "\
Examples:
  parabench job x.ppl --nodes 4 --ranks-per-node 16 --time 20m -o x.sh
  sbatch x.sh
  parabench job @random --nodes 8 --ranks-per-node 4 --time 1h --scheduler pbs --module mpich
  parabench job x.ppl --nodes 2 --ranks-per-node 8 --time 1h --resume -- --reps 100
  parabench job x.ppl num=100 --nodes 2 --ranks-per-node 8 --time 30m --dir /scratch/me/test -- --events")]
pub struct Job {
    #[command(flatten)]
    program: ProgramArgs,

    /// Number of nodes
    #[arg(long, value_name = "N", value_parser = crate::args::ranks)]
    nodes: u32,

    /// Ranks on each node
    #[arg(long, value_name = "N", value_parser = crate::args::ranks)]
    ranks_per_node: u32,

    /// Time limit: 20m, 1h30m, 00:20:00, 1-00:00:00 (a day)
    #[arg(long, value_name = "TIME", value_parser = limit)]
    time: SignedDuration,

    /// Batch system
    #[arg(long, value_enum, default_value = "slurm")]
    scheduler: Scheduler,

    /// Directory of the run, which all nodes see [default: a scratch directory where it is submitted]
    #[arg(long, value_name = "D")]
    dir: Option<PathBuf>,

    /// Folder for the results, with the number of the job behind it
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,

    /// The script goes on with its sweep when it is submitted again: results lie in DIR itself
    #[arg(long)]
    resume: bool,

    /// An environment module to load, such as the site's MPI. Can be given again
    #[arg(long = "module", value_name = "NAME")]
    modules: Vec<String>,

    /// The compiler of the MPI, for the shim
    #[arg(long, value_name = "MPICC", default_value = "mpicc")]
    mpicc: String,

    /// Write the script to this file instead of standard output
    #[arg(short = 'o', long = "script", value_name = "FILE")]
    script: Option<PathBuf>,

    /// Options of `parabench run`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

impl Job {
    /// Checks, and writes the script.
    pub fn execute(self) -> Result<Exit> {
        if let Some(file) = &self.script {
            output::check(file, "-o", HEAD)?;
        }
        let ranks = self.ranks()?;
        self.check_words()?;
        let options = self.run_options()?;
        let warning = self.scheduler.warning(self.time);
        warning.into_iter().for_each(console::warning);
        let text = script::write(&self, ranks, &options);
        match &self.script {
            None => console::print_program(&text)?,
            Some(file) => {
                output::write(file, "-o", HEAD, text.as_bytes())?;
                console::note(&format!(
                    "submit it: {} {}",
                    self.scheduler.submit(),
                    file.display()
                ));
            }
        }
        Ok(Exit::Success)
    }

    /// Values that the script could not hold, or that commands in it would take for an option.
    fn check_words(&self) -> Result<()> {
        let out = quotable_path(&self.out)?;
        is_name("--mpicc", &self.mpicc)?;
        self.modules.iter().try_for_each(|name| is_name("--module", name))?;
        let script = self.script.as_deref().map(quotable_path).transpose()?;
        let own = [&self.mpicc, &out].into_iter().chain(&self.modules).chain(&script);
        own.chain(&self.options).try_for_each(|word| is_of_one_line(word))
    }

    fn ranks(&self) -> Result<u32> {
        let ranks = u64::from(self.nodes) * u64::from(self.ranks_per_node);
        u32::try_from(ranks).ok().filter(|ranks| i64::from(*ranks) <= MAX_RANKS).ok_or_else(|| {
            Error::input(format!(
                "--nodes {} --ranks-per-node {}: expected at most {MAX_RANKS} ranks, found {ranks}",
                self.nodes, self.ranks_per_node
            ))
        })
    }

    /// The words after `parabench run` in the script, which a run takes.
    fn run_options(&self) -> Result<Vec<String>> {
        let mut words = vec![quotable_path(&self.program.program)?];
        words.extend(self.program.params.iter().map(|(name, value)| format!("{name}={value}")));
        words.extend(self.program.paper.then(|| "--paper".to_string()));
        for (name, size) in &self.program.groups {
            let size = size.as_ref().map(|size| format!(":{size}")).unwrap_or_default();
            words.extend(["--group".into(), format!("{name}{size}")]);
        }
        for folder in &self.program.include_dirs {
            words.extend(["--include-dir".into(), quotable_path(folder)?]);
        }
        for (name, path) in &self.program.mounts {
            words.extend(["--mount".into(), format!("{name}={}", quotable_path(path)?)]);
        }
        match self.program.seed {
            Seed::Given(DEFAULT_SEED) => {}
            Seed::Given(seed) => words.extend(["--seed".into(), seed.to_string()]),
            Seed::Random => words.extend(["--seed".into(), "random".into()]),
        }
        if let Some(dir) = &self.dir {
            words.extend(["--dir".into(), quotable_path(dir)?]);
        }
        self.options.iter().try_for_each(|word| is_of_run(word))?;
        words.extend(self.options.iter().cloned());
        words.iter().try_for_each(|word| is_of_one_line(word))?;
        let all = words.iter().map(OsString::from);
        let all = all.chain(["--out".into(), "results".into()]).collect();
        let run = args::parse_run(all, "the job's run")?;
        if self.resume && !run.sweep.is_asked_for() {
            return Err(Error::input("--resume: the job's run is no sweep")
                .help("after -- stand its options, such as -- --sweep block=4k,64k --reps 10"));
        }
        self.check(run)?;
        Ok(words)
    }

    /// Checks that the run would make when the job has started.
    fn check(&self, run: Run) -> Result<()> {
        let ranks = self.ranks()?;
        if run.program.program.as_os_str() == "-" {
            return Err(Error::input("-: a job starts when standard input is gone")
                .help("store the program in a file"));
        }
        if let Some(given) = run.given_ranks.filter(|given| *given != ranks) {
            let message = format!(
                "-n {given}: the job has {counted_ranks}",
                counted_ranks = model::words::count(ranks, "rank")
            );
            return Err(Error::input(message)
                .help("leave -n out: --nodes times --ranks-per-node is their number"));
        }
        if run.job.mpi || run.job.launcher.is_some() {
            let message = "--mpi and --launcher: the script starts the ranks";
            return Err(Error::input(message)
                .help("leave them out, and change the line of the script that starts the run"));
        }
        let machines: Vec<u32> = (0..ranks).map(|rank| rank / self.ranks_per_node).collect();
        run.foresee(&machines)
    }
}

/// The script gives the run its folder for results itself.
fn is_of_run(word: &str) -> Result<()> {
    let name = word.split('=').next().unwrap_or(word);
    match name {
        "--" => Err(Error::input("--: expected options of parabench run, found a second --")
            .help("leave it out: what follows the first one are options and parameters")),
        "--out" | "--resume" => {
            Err(Error::input(format!("{name}: the script gives the run its folder for results"))
                .help(format!("give {name} to job: in front of --")))
        }
        _ => Ok(()),
    }
}

/// A command of the script must not take it for an option.
fn is_name(option: &str, word: &str) -> Result<()> {
    let found = match word {
        "" => "nothing",
        _ if word.starts_with('-') => "what a command takes for an option",
        _ => return Ok(()),
    };
    Err(Error::input(format!("{option}={word}: expected a name, found {found}")))
}

/// Batch systems read scripts line by line: a word must not begin one.
fn is_of_one_line(word: &str) -> Result<()> {
    match word.chars().any(char::is_control) {
        true => Err(Error::input(format!(
            "{}: expected no line ends and control characters in words of a script",
            escape::line(word)
        ))
        .help("give files and folders other names; let the program read long texts from a file")),
        false => Ok(()),
    }
}

fn quotable_path(path: &Path) -> Result<String> {
    // A name that begins like an option is none where its folder stands before it.
    let is_option = |text: &str| text.starts_with('-') && text != "-";
    let named = |text: &str| if is_option(text) { format!("./{text}") } else { text.into() };
    path.to_str().map(named).ok_or_else(|| {
        Error::input(format!("{}: expected a path in UTF-8 for a script", path.display()))
    })
}

/// From a minute to a year, in whole seconds.
fn limit(text: &str) -> std::result::Result<SignedDuration, String> {
    let parsed = text.parse().ok().or_else(|| days(text));
    parsed
        .filter(|time| (60..=366 * 86_400).contains(&time.as_secs()) && time.subsec_nanos() == 0)
        .ok_or_else(|| "expected a time from a minute on, such as 20m, 1h30m or 00:20:00".into())
}

/// Slurm's `D-HH`, `D-HH:MM` and `D-HH:MM:SS`.
fn days(text: &str) -> Option<SignedDuration> {
    let (days, clock) = text.split_once('-')?;
    let parts: Vec<u32> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let seconds = parts.iter().zip([3600, 60, 1]).map(|(part, unit)| i64::from(*part) * unit);
    let days = i64::from(days.parse::<u32>().ok()?) * 86_400;
    (parts.len() <= 3).then(|| SignedDuration::from_secs(days + seconds.sum::<i64>()))
}
