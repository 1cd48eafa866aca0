//! `parabench run --mpi`: starts the launcher with this binary and the same arguments,
//! passes signals on, and puts in order what a job leaves that was killed.

use super::args::Run;
use super::header;
use super::page::Page;
use super::remains::{Job, Remains, VARIABLE};
use crate::args::ResultFormat;
use crate::console;
use crate::error::{Error, Result, Stopped};
use crate::exit::Exit;
use crate::present;
use crate::results;
use engine::directory::{DirectoryError, Identity, RunDirectory};
use model::run::RankError;
use mpi::mpiexec::{self, Launched};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often the launcher is looked at.
const PERIOD: Duration = Duration::from_millis(10);
/// How often the directory of a job that is over is asked for: 3 s.
const LOOKS: u32 = 300;
/// How often what a stopped job has printed is waited for: 1 s.
const LAST_LOOKS: u32 = 100;
/// How often a run whose launcher has ended is read until it is over: 3 s.
const ENDS: u32 = 30;
/// Between two of these.
const END_PERIOD: Duration = Duration::from_millis(100);
/// The outcome of a run that is not over.
const UNDER_WAY: &str = "under way";
/// Lines of the launcher that are kept to find out why it ended.
const LINES: usize = 200;

/// Starts the job and waits for it.
pub fn launch(run: &Run) -> Result<Exit> {
    // From here on: a job of which somebody asks to end before it starts ends, too.
    let signals = signals(run)?;
    let folder = tempdir()?;
    let remains = Remains::at(folder.path());
    remains.keep_command(&header::own_command());
    let mut command = command(run)?;
    command.env(VARIABLE, remains.path());
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

/// A folder of our own that goes with us.
fn tempdir() -> Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("parabench-job-")
        .tempdir()
        .map_err(|error| Error::input(format!("cannot make a temporary folder: {error}")))
}

/// The launcher's command line.
fn command(run: &Run) -> Result<Command> {
    let binary = std::env::current_exe()
        .map_err(|error| Error::failed(format!("cannot find the path of parabench: {error}")))?;
    let ranks = run.started_ranks().to_string();
    let mut command = match &run.job.launcher {
        Some(text) => {
            let mut words = text.split_whitespace().map(|word| with_ranks(word, &ranks));
            let first = words.next();
            let first = first.ok_or_else(|| Error::input("--launcher: expected a command"))?;
            let mut command = Command::new(first);
            command.args(words);
            command
        }
        None => {
            let found = mpi::locate::find().map_err(|error| Error::input(error.to_string()))?;
            let launcher = mpiexec::find(&found.shim).ok_or_else(|| {
                Error::input(format!("no mpiexec of {} was found", found.shim.library_name()))
                    .help("put it into PATH, or name it: --launcher \"mpiexec -n {ranks}\"")
            })?;
            let mut command = Command::new(launcher);
            command.args(["-n", &ranks]);
            command
        }
    };
    command.arg(binary).args(own_arguments(std::env::args_os().skip(1)));
    if let Some(columns) = console::terminal_columns() {
        command.env("COLUMNS", columns.to_string());
        if console::colours() {
            command.env("CLICOLOR_FORCE", "1");
        }
    }
    Ok(command)
}

/// A word of `--launcher`. `{n}` means the same, but help texts cannot show it: to clap it is a
/// line end.
fn with_ranks(word: &str, ranks: &str) -> String {
    word.replace("{ranks}", ranks).replace("{n}", ranks)
}

/// The arguments of this process without those that made it start a launcher.
fn own_arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut own = Vec::new();
    let mut all = all;
    while let Some(word) = all.next() {
        match word.to_str() {
            Some("--") => {
                own.push(word);
                own.extend(all.by_ref());
            }
            Some("--mpi") => {}
            Some("--launcher") => drop(all.next()),
            Some(text) if text.starts_with("--launcher=") => {}
            _ => own.push(word),
        }
    }
    own
}

/// How the launcher ended.
struct End {
    status: ExitStatus,
    /// The last lines it wrote on standard error.
    lines: Vec<String>,
    /// Signals that we passed on.
    signals: u32,
}

/// Rank 0 has left nothing on this machine: no rank has started, or they ran where the folder for it cannot be
/// seen, as from a login node. Then the exit code is all that is known.
fn end_without_word(end: &End) -> Result<Exit> {
    match end.status.code().map(u8::try_from) {
        _ if end.signals > 0 => {
            let message = "interrupted: no rank has reported to this machine";
            Err(Error { exit: Exit::Interrupted, ..Error::input(message) })
        }
        Some(Ok(code @ (0 | 2 | 3 | 130))) => Ok(Exit::from_code(code)),
        _ => {
            let message =
                format!("no rank has reported to this machine: the launcher {}", describe(end));
            Err(Error::failed(message).help(advice(&end.lines)))
        }
    }
}

/// Waits for the launcher and passes signals and output on.
fn supervise(mut command: Command, run: &Run, mut signals: Signals) -> Result<End> {
    let name = command.get_program().to_string_lossy().into_owned();
    let stdin =
        if run.program.program.as_os_str() == "-" { Stdio::inherit() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut launched = Launched::start(command).map_err(|error| {
        Error::input(format!("cannot start the launcher {name}: {error}"))
            .help("name another one: --launcher \"srun -n {ranks}\"")
    })?;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let child = &mut launched.child;
    let readers = [
        child.stdout.take().map(|stream| pass_through(stream, Stream::Out, &lines)),
        child.stderr.take().map(|stream| pass_through(stream, Stream::Err, &lines)),
    ];
    let mut passed = 0;
    let status = loop {
        for signal in signals.pending() {
            // Launchers end at SIGQUIT without a word to their ranks, some at SIGUSR1 too.
            let is_passed = signal != SIGQUIT && signal != SIGUSR1;
            launched.signal(if is_passed { signal } else { SIGTERM });
            passed += 1;
        }
        match launched.child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => std::thread::sleep(PERIOD),
            Err(error) => return Err(Error::failed(format!("lost the launcher {name}: {error}"))),
        }
    };
    let mut looks = 0;
    // Nobody may read what they pass on: then a signal ends that too.
    while readers.iter().flatten().any(|reader| !reader.is_finished()) {
        passed += signals.pending().count() as u32;
        looks += u32::from(passed > 0);
        if looks > LAST_LOOKS {
            break;
        }
        std::thread::sleep(PERIOD);
    }
    // One that ended the launcher before we had passed it on.
    passed += signals.pending().count() as u32;
    let lines = lines.lock().map(|mut lines| std::mem::take(&mut *lines)).unwrap_or_default();
    Ok(End { status, lines, signals: passed })
}

/// Where lines of the ranks go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// Writes the lines of the job on our own streams and keeps the last ones of the launcher. What
/// the launcher itself has to say is no result: it goes to standard error.
#[expect(clippy::disallowed_methods, reason = "no rank runs in this process")]
fn pass_through(
    from: impl Read + Send + 'static,
    stream: Stream,
    lines: &Arc<Mutex<Vec<String>>>,
) -> std::thread::JoinHandle<()> {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line).trim().to_string();
            let is_of_ranks = stream == Stream::Out && !is_launchers(&text);
            let _ = match is_of_ranks {
                true => std::io::stdout().write_all(&line),
                false => std::io::stderr().write_all(&line),
            };
            line.clear();
            let Ok(mut lines) = lines.lock() else { continue };
            if !is_of_ranks {
                lines.push(text);
                let extra = lines.len().saturating_sub(LINES);
                lines.drain(..extra);
            }
        }
        let _ = std::io::stdout().flush();
    })
}

/// MPICH tells on standard output how a job ended.
fn is_launchers(line: &str) -> bool {
    const STARTS: [&str; 6] = [
        "=   ",
        "=====",
        "[mpiexec@",
        "YOUR APPLICATION TERMINATED",
        "This typically refers to a problem",
        "Please see the FAQ page",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// The job ended without rank 0's last word: merges what the ranks left, prints it with the
/// reason, and tidies up.
fn salvage(run: &Run, job: &Job, end: &End) -> Result<Exit> {
    let mut left = when_over(&job.results)?;
    let header = &mut left.run.run;
    header.evidence.notes.push(format!("the job was cut off: its launcher {}", describe(end)));
    header.rank_errors.extend(reason(end, job));
    header.rank_errors.sort_by_key(|error| error.rank);
    let exit = if end.signals > 0 { Exit::Interrupted } else { Exit::Failed };
    header.exit_code = exit.code();
    let stored = left.finish();
    let exit = if tidy_up(job) { exit } else { exit.and(Exit::Failed) };
    if let Ok(false) = stored {
        // Where the records lie has changed, and what is to be removed.
        left = results::read(&job.results)?;
    }
    let shown = match run.results.quiet && run.results.format == ResultFormat::Table {
        true => Ok(()),
        false => present::print(&left.run, run.results.format),
    };
    let end = stored.map(drop).and(shown).map(|()| exit).map_err(Stopped::After);
    let end = match Page::left(run, &job.results) {
        Some(page) => page.finish(end),
        None => end,
    };
    end.map_err(Stopped::into_error)
}

/// The run of a job whose launcher has ended. Its ranks may take a little longer.
fn when_over(results: &Path) -> Result<results::Stored> {
    let mut left = results::read(results)?;
    for _ in 0..ENDS {
        if left.run.run.outcome != UNDER_WAY {
            break;
        }
        std::thread::sleep(END_PERIOD);
        left = results::read(results)?;
    }
    Ok(left)
}

/// Advice about a launcher that has started nothing, from its message.
fn advice(lines: &[String]) -> &'static str {
    let said = |words: &str| lines.iter().any(|line| line.contains(words));
    if said("not enough slots") {
        "fewer ranks, or allow more of them than processors: \
         --launcher \"mpiexec --oversubscribe -n {ranks}\""
    } else if said("run as root") {
        "run as another user, or allow it: \
         export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    } else {
        "try the launcher with another program, such as: mpiexec -n 2 hostname; \
         --launcher \"mpiexec OPTIONS -n {ranks}\" gives it options"
    }
}

fn describe(end: &End) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (end.status.code(), end.status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was killed by signal {}", signal.unwrap_or(0)),
    }
}

/// The rank that was killed and by what, as far as the launcher tells.
fn reason(end: &End, job: &Job) -> Option<RankError> {
    let open_mpi = end.lines.iter().find_map(|line| open_mpi(line));
    let (rank, signal) = open_mpi.or_else(|| mpich(end, job))?;
    // MPICH may name a process that it killed itself.
    let doubt = match open_mpi {
        Some(_) => "",
        None => {
            " (so the launcher says; others ended with it, and one of them may have been first)"
        }
    };
    let message = format!("its process was killed by signal {signal}{doubt}");
    Some(RankError { rank, message, ..RankError::default() })
}

/// "mpirun noticed that process rank 2 with PID 77 on node x exited on signal 9 (Killed)."
fn open_mpi(line: &str) -> Option<(u32, i32)> {
    let number = |before: &str| {
        let rest = line.split_once(before)?.1;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<i32>().ok()
    };
    Some((u32::try_from(number("process rank ")?).ok()?, number("exited on signal ")?))
}

/// "=   PID 77 RUNNING AT x" and "=   EXIT CODE: 9".
fn mpich(end: &End, job: &Job) -> Option<(u32, i32)> {
    let after = |start: &str| {
        let mut lines = end.lines.iter().filter_map(|line| line.split_once(start));
        lines.next()?.1.split_whitespace().next()?.parse::<i64>().ok()
    };
    let process = after("PID ")?;
    let rank = job.processes.iter().position(|number| *number == process)?;
    Some((rank as u32, after("EXIT CODE: ")? as i32))
}

/// Does what rank 0 could not. False if something is left.
fn tidy_up(job: &Job) -> bool {
    let mut tidy = true;
    for (path, identity, scratch) in job.directories.iter().filter(|(path, ..)| path.exists()) {
        tidy &= match reclaim(path, *scratch, identity) {
            Ok(directory) => super::place::report(&directory.finish()),
            Err(error) => {
                console::warning(&error.to_string());
                false
            }
        };
    }
    tidy
}

/// A directory of a job that is over. Launchers may end before their ranks do, and rank 0
/// holds the directory until then.
fn reclaim(
    path: &Path,
    scratch: bool,
    identity: &Identity,
) -> std::result::Result<RunDirectory, DirectoryError> {
    for _ in 0..LOOKS {
        if let Ok(directory) = RunDirectory::reclaim(path, scratch, identity) {
            return Ok(directory);
        }
        std::thread::sleep(PERIOD);
    }
    RunDirectory::reclaim(path, scratch, identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn end(lines: &[&str]) -> End {
        let lines = lines.iter().map(|line| line.to_string()).collect();
        let status = ExitStatus::from_raw(9);
        End { status, lines, signals: 0 }
    }

    #[test]
    fn launchers_name_the_rank_that_was_killed() {
        let job = Job { processes: vec![70, 77], ..Job::default() };
        let lines = [
            "noise",
            "mpirun noticed that process rank 1 with PID 0 on node x exited on signal 9 (Killed).",
        ];
        let found = reason(&end(&lines), &job).expect("a reason");
        assert_eq!((found.rank, &found.message[..]), (1, "its process was killed by signal 9"));
        let lines = ["=   PID 77 RUNNING AT vm", "=   EXIT CODE: 9", "=   CLEANING UP"];
        assert_eq!(reason(&end(&lines), &job).expect("a reason").rank, 1);
        let doubtful = reason(&end(&lines), &job).expect("a reason").message;
        assert!(doubtful.ends_with("may have been first)"), "{doubtful}");
        assert_eq!(reason(&end(&["=   PID 7 RUNNING AT vm", "=   EXIT CODE: 9"]), &job), None);
        assert_eq!(reason(&end(&[]), &job), None);
        assert_eq!(describe(&end(&[])), "was killed by signal 9");
    }

    #[test]
    fn what_a_launcher_refuses_can_be_allowed() {
        let advice = |line: &str| advice(&[String::from("noise"), line.into()]);
        let root = "mpiexec.openmpi has detected an attempt to run as root.";
        assert!(advice(root).contains("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"));
        let slots = "There are not enough slots available in the system to satisfy the 4";
        assert!(advice(slots).contains("--oversubscribe -n {ranks}"));
        assert!(advice("noise").contains("--launcher"));
        assert_eq!(with_ranks("{ranks}", "4") + &with_ranks("-n{n}", "4"), "4-n4");
    }

    #[test]
    fn the_ranks_get_the_arguments_without_the_launcher() {
        let own = |words: &[&str]| own_arguments(words.iter().map(OsString::from));
        assert_eq!(
            own(&["run", "--mpi", "-n", "4", "x", "--launcher", "srun"]),
            ["run", "-n", "4", "x"]
        );
        assert_eq!(
            own(&["run", "--launcher=a b", "x", "--", "--mpi"]),
            ["run", "x", "--", "--mpi"]
        );
    }
}
