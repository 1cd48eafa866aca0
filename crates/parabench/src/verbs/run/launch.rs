//! `parabench run --mpi`: starts the launcher with this binary and the same arguments, passes signals on, and puts in
//! order what a job leaves whose ranks were all killed at once. For that, rank 0 leaves files:
//!
//! ```text
//! FOLDER/job.json   where the results are, and which directories to remove
//! FOLDER/ended      the exit code: rank 0 has done everything itself
//! FOLDER/results/   results that were not to be stored (no --out)
//! ```

use super::after::After;
use super::args::Run;
use crate::args::ResultFormat;
use crate::console;
use crate::error::{Error, Exit, Result, Stopped};
use crate::present;
use crate::results;
use engine::directory::{Identity, RunDirectory};
use mpi::launcher::{Launched, find_launcher};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Variable that names the folder for rank 0.
const VARIABLE: &str = "PARABENCH_JOB";
/// Pause between two looks at the launcher.
const PERIOD: Duration = Duration::from_millis(10);
/// Attempts at what has to wait for the end of ranks whose launcher has ended, and the time between them.
const ATTEMPTS: u32 = 60;
const ATTEMPT_PERIOD: Duration = Duration::from_millis(50);
/// The outcome of a run whose ranks are at work.
const UNDER_WAY: &str = "under way";

/// A job while its ranks are at work.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Folder with run.json and the ranks' files.
    pub results: PathBuf,
    /// Directories in which something is to be removed at the end, what distinguishes each from others that
    /// may get its path, and whether it goes as a whole.
    pub directories: Vec<(PathBuf, Identity, bool)>,
}

/// The folder in which rank 0 leaves files.
#[derive(Clone, Debug)]
pub struct Remains {
    folder: PathBuf,
}

impl Remains {
    /// The folder of whoever started this job; `None`: nobody waits for it.
    pub fn wanted() -> Option<Remains> {
        let folder = PathBuf::from(std::env::var_os(VARIABLE)?);
        folder.is_dir().then_some(Remains { folder })
    }

    /// Where results go that are not to be stored.
    pub fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    /// Rank 0: what would be left.
    pub fn leave(&self, job: &Job) {
        let bytes = serde_json::to_vec(job).unwrap_or_default();
        // Without it an unforeseen end loses the tables, nothing else.
        let _ = fs::write(self.folder.join("job.new"), bytes)
            .and_then(|()| fs::rename(self.folder.join("job.new"), self.folder.join("job.json")));
    }

    /// Rank 0: nothing is left to do.
    pub fn end(&self, exit: Exit) {
        let _ = fs::write(self.folder.join("ended"), exit.code().to_string());
    }

    /// The exit code, if rank 0 has done everything itself.
    fn ended(&self) -> Option<Exit> {
        let text = fs::read_to_string(self.folder.join("ended")).ok()?;
        text.parse().ok().map(Exit::from_code)
    }

    /// The remains of the job; `None` if the ranks never started.
    fn job(&self) -> Result<Option<Job>> {
        let Ok(bytes) = fs::read(self.folder.join("job.json")) else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::failed(format!("what the job left cannot be read: {error}")))
    }
}

/// Starts the job and waits for it.
pub fn launch(run: &Run) -> Result<Exit> {
    // From here on: a job of which somebody asks to end before it starts ends, too.
    let signals = signals(run)?;
    let folder = tempfile::Builder::new()
        .prefix("parabench-job-")
        .tempdir()
        .map_err(|error| Error::input(format!("cannot make a temporary folder: {error}")))?;
    let remains = Remains { folder: folder.path().into() };
    let mut command = command(run)?;
    command.env(VARIABLE, folder.path());
    let end = supervise(command, run, signals)?;
    match (remains.ended(), remains.job()?) {
        (Some(exit), _) => Ok(exit),
        (None, Some(job)) => salvage(run, &job, &end),
        (None, None) => end_without_word(&end),
    }
}

/// Signals that are passed on to the job.
fn signals(run: &Run) -> Result<Signals> {
    let usual = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    let before_limit = (!run.execution.wait).then_some(SIGUSR1);
    Signals::new(usual.iter().chain(&before_limit))
        .map_err(|error| Error::failed(format!("cannot take signals: {error}")))
}

/// The launcher's command line.
fn command(run: &Run) -> Result<Command> {
    let binary = std::env::current_exe()
        .map_err(|error| Error::failed(format!("cannot find the path of parabench: {error}")))?;
    let ranks = run.started_ranks().to_string();
    let mut command = match &run.job.launcher {
        Some(text) => {
            let mut words = text
                .split_whitespace()
                .map(|word| word.replace("{ranks}", &ranks).replace("{n}", &ranks));
            let first = words.next();
            let first = first.ok_or_else(|| Error::input("--launcher: expected a command"))?;
            let mut command = Command::new(first);
            command.args(words);
            command
        }
        None => {
            let found = mpi::shim::find_shim().map_err(|error| Error::input(error.to_string()))?;
            let launcher = find_launcher(&found.shim.library_version()).ok_or_else(|| {
                Error::input(format!("no mpiexec of {} was found", found.shim.library_name()))
                    .help("put it into PATH, or name it: --launcher \"mpiexec -n {ranks}\"")
            })?;
            let mut command = Command::new(launcher);
            command.args(["-n", &ranks]);
            command
        }
    };
    // A process of the job does not start another one.
    command.arg(binary).args(std::env::args_os().skip(1));
    if let Some(columns) = console::terminal_columns() {
        command.env("COLUMNS", columns.to_string());
        if console::colours() {
            command.env("CLICOLOR_FORCE", "1");
        }
    }
    Ok(command)
}

/// How the launcher ended.
struct End {
    status: ExitStatus,
    /// A signal was passed on.
    interrupted: bool,
    /// The last lines of its output.
    last_lines: Vec<String>,
}

/// Rank 0 has left nothing on this machine: no rank has started, or they ran where the folder for it cannot be
/// seen, as from a login node. Then the exit code is all that is known.
fn end_without_word(end: &End) -> Result<Exit> {
    match end.status.code().map(u8::try_from) {
        _ if end.interrupted => {
            let message = "interrupted: no rank has reported to this machine";
            Err(Error { exit: Exit::Interrupted, ..Error::input(message) })
        }
        Some(Ok(code @ (0 | 2 | 3 | 130))) => Ok(Exit::from_code(code)),
        _ => {
            let message =
                format!("no rank has reported to this machine: the launcher {}", describe(end));
            Err(Error::failed(message).help(ADVICE))
        }
    }
}

/// Launchers say themselves what they lack.
const ADVICE: &str = "try the launcher with another program, such as: mpiexec -n 2 hostname; options go into \
                      --launcher, for example for more ranks than CPUs: --launcher \"mpiexec --oversubscribe \
                      -n {ranks}\"";

/// Waits for the launcher and passes signals on.
fn supervise(mut command: Command, run: &Run, mut signals: Signals) -> Result<End> {
    let name = command.get_program().to_string_lossy().into_owned();
    if run.program.program.as_os_str() != "-" {
        command.stdin(Stdio::null());
    }
    let mut launched = Launched::start(command).map_err(|error| {
        Error::input(format!("cannot start the launcher {name}: {error}"))
            .help("name another one: --launcher \"srun -n {ranks}\"")
    })?;
    let mut interrupted = false;
    loop {
        let ended = launched.child.try_wait();
        // Also a signal that ended the launcher before we had passed it on.
        for _ in signals.pending() {
            // At others, launchers write to standard output or end without a word to their ranks.
            launched.signal(SIGTERM);
            interrupted = true;
        }
        match ended {
            Ok(Some(status)) => {
                let last_lines = launched.last_lines();
                return Ok(End { status, interrupted, last_lines });
            }
            Ok(None) => std::thread::sleep(PERIOD),
            Err(error) => return Err(Error::failed(format!("lost the launcher {name}: {error}"))),
        }
    }
}

/// The job ended without rank 0's last word: merges what the ranks left, prints it, and tidies
/// up. The launcher has said which rank was killed.
fn salvage(run: &Run, job: &Job, end: &End) -> Result<Exit> {
    let mut left = when_over(&job.results)?;
    let header = &mut left.run.run;
    let mut note = format!("the job was cut off: its launcher {}", describe(end));
    if !end.last_lines.is_empty() {
        note.push_str(&format!("; it said: {}", end.last_lines.join("; ")));
    }
    header.evidence.notes.push(note);
    let exit = if end.interrupted { Exit::Interrupted } else { Exit::Failed };
    header.exit_code = exit.code();
    let stored = left.finish();
    let exit = if tidy_up(job) { exit } else { exit.and(Exit::Failed) };
    if let Ok(false) = stored {
        // Where the records lie has changed, and what is to be removed.
        left = results::read(&job.results)?;
    }
    let shown = match run.results.quiet && run.results.format == ResultFormat::Table {
        true => Ok(()),
        false => present::print(&left.run, run.results.format, run.results.verbose.detail()),
    };
    let end = stored.map(drop).and(shown).map(|()| exit).map_err(Stopped::After);
    let end = After::cut_off(run, &job.results).finish(end);
    end.map_err(Stopped::into_error)
}

/// The run of a job whose launcher has ended. Its ranks may take a little longer.
fn when_over(results: &Path) -> Result<results::Stored> {
    let is_over = |left: &Result<results::Stored>| {
        left.as_ref().is_ok_and(|left| left.run.run.outcome != UNDER_WAY)
    };
    repeat_until(is_over, || results::read(results))
}

/// Does it again and again until the result is as wanted; up to 3 s.
fn repeat_until<T>(is_wanted: impl Fn(&T) -> bool, mut attempt: impl FnMut() -> T) -> T {
    let mut result = attempt();
    for _ in 0..ATTEMPTS {
        if is_wanted(&result) {
            break;
        }
        std::thread::sleep(ATTEMPT_PERIOD);
        result = attempt();
    }
    result
}

fn describe(end: &End) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (end.status.code(), end.status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was killed by signal {}", signal.unwrap_or(0)),
    }
}

/// Does what rank 0 could not. False if something is left. Launchers may end before their ranks do, and rank 0
/// holds the directory until then.
fn tidy_up(job: &Job) -> bool {
    let mut tidy = true;
    for (path, identity, scratch) in job.directories.iter().filter(|(path, ..)| path.exists()) {
        let reclaim = || RunDirectory::reclaim(path, *scratch, identity);
        tidy &= match repeat_until(|found| found.is_ok(), reclaim) {
            Ok(directory) => super::directory::report(&directory.finish()),
            Err(error) => {
                console::warning(&error.to_string());
                false
            }
        };
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_found() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let remains = Remains { folder: folder.path().into() };
        assert_eq!((remains.ended(), remains.job()), (None, Ok(None)));
        let directories = vec![("d".into(), Identity::default(), true)];
        let job = Job { results: "r".into(), directories };
        remains.leave(&job);
        remains.end(Exit::Interrupted);
        assert_eq!((remains.ended(), remains.job()), (Some(Exit::Interrupted), Ok(Some(job))));
    }
}
