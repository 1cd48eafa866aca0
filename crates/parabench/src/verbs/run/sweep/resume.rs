//! `run --resume DIR`: a sweep goes on with the executions that are missing, if what would be
//! executed is what was executed.
//!
//! ```text
//! parabench run --resume DIR                               the command line is that of DIR
//! parabench run x.ppl --sweep block=4k,8k --resume DIR     the same again, in place of --out
//! ```

mod differences;

use super::super::Bound;
use super::super::args::{AS_STORED, Run};
use super::super::command_line;
use super::super::directory::Directory;
use super::super::page::Page;
use crate::args::{self, ResultFormat, Seed, Verb};
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::present;
use crate::program::{STDIN, Text};
use crate::results::{Begun, Unfinished};
pub use differences::check;
use engine::host;
use model::run::{Header, Node, Param};
use model::sweep::{Rest, Resumed, Sweep};
use mpi::launcher;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What may be given beside `--resume` alone: how ranks are started, and what is printed and written.
const HEEDED: [&str; 6] = ["--resume", "--mpi", "--launcher", "--format", "--html", "--quiet"];

/// What a command line with or without `--resume` asks for.
pub enum Asked {
    /// To execute this.
    Run(Box<Run>),
    /// Nothing is missing, which was said.
    Nothing(Exit),
}

/// Where a command line that is stored in a sweep comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    command: Vec<String>,
    folder: String,
    /// The program, if it came from standard input.
    stdin: Option<String>,
}

impl Origin {
    /// The text of a program that was read from standard input when the sweep began.
    pub fn text(&self) -> Option<Text> {
        let text = self.stdin.clone()?;
        Some(Text { name: STDIN.into(), bytes: text.into_bytes() })
    }
}

/// Finds out what is to be executed; `given`: the command line of this process.
pub fn asked(given: &Run) -> Result<Asked> {
    let Some(folder) = &given.sweep.resume else { return Ok(Asked::Run(Box::new(given.clone()))) };
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    let unfinished = match Begun::open(&folder)? {
        Begun::Rest(unfinished) => unfinished,
        Begun::Whole(run) if given.program.program.as_os_str() == AS_STORED => {
            refuse_others(given)?;
            let exit = print(given, &run)?;
            return Page::of_stored(given, &folder).map(|()| Asked::Nothing(exit));
        }
        // Its cells are bound first: then [`check`] sees all that differs.
        Begun::Whole(run) => return again(given.clone(), &run, folder),
    };
    unfinished.left().iter().for_each(|left| console::note(left));
    let run = match given.program.program.as_os_str() == AS_STORED {
        true => as_stored(given, &unfinished)?,
        false => given.clone(),
    };
    again(run, &unfinished.run, folder)
}

/// The run that goes on in a folder, with the seed of what is there.
fn again(mut run: Run, began: &model::Run, folder: PathBuf) -> Result<Asked> {
    if run.program.seed == Seed::Random {
        run.program.seed = Seed::Given(began.run.seed);
    }
    run.sweep.resume = Some(folder.clone());
    run.results.out = Some(folder);
    match run.sweep.is_asked_for() {
        true => Ok(Asked::Run(Box::new(run))),
        false => Err(Error::input("--resume: the command line asks for no sweep")
            .help("give the options of the sweep again, or --resume DIR alone")),
    }
}

/// Ranks of the MPI job that began the sweep in a folder.
pub fn ranks_of_job(folder: &Path) -> Option<u32> {
    let job = ::report::store::read(folder).ok()?.run.job?;
    Some(job.nodes.iter().map(Node::size).sum())
}

/// Prints a sweep of which nothing is missing.
pub fn print(given: &Run, run: &model::Run) -> Result<Exit> {
    console::note("nothing is missing of the sweep: these are its results");
    if !given.results.quiet || given.results.format != ResultFormat::Table {
        present::print(run, given.results.format)?;
    }
    Ok(Exit::from_code(run.run.exit_code))
}

/// Refuses a command line that asks for another sweep than the one of which nothing is missing. What
/// it takes to go on is not stored any more: the options are those of its command line.
pub fn check_whole(given: &Run, whole: &Header, now: &Header) -> Result<()> {
    let (mut whole, mut now) = (whole.clone(), now.clone());
    let stored = stored_options(&whole.command);
    if let Some(sweep) = &mut now.sweep {
        let options = stored.as_ref().map_or(Vec::new(), |stored| alike(stored, &options(given)));
        sweep.rest = Some(Rest { options, ..Rest::default() });
    }
    if let Some(sweep) = &mut whole.sweep {
        let options = stored.unwrap_or_default();
        sweep.rest = Some(Rest { options, ..Rest::default() });
    }
    let reps = |header: &Header| header.sweep.as_ref().map_or(0, |sweep| sweep.reps);
    check(&whole, &now).map_err(|error| {
        let what = "nothing is missing of the sweep, and this is another one";
        let message = error.message.replace("this is not the sweep that began", what);
        let help = match reps(&now) > reps(&whole) {
            true => {
                "its executions are not kept one by one any more, so that none can be added: \
                     start another sweep with a new folder, --out"
            }
            false => {
                "start another sweep with a new folder, --out; parabench report prints this one"
            }
        };
        Error::input(message).help(help)
    })
}

/// The options of a stored command line; `None`: it cannot be read again.
fn stored_options(command: &[String]) -> Option<Vec<Param>> {
    let start = command.iter().position(|word| word == "parabench")?;
    match args::parse_again(&command[start..]) {
        Ok(Verb::Run(run)) => Some(options(&run)),
        _ => None,
    }
}

/// The options of now; a path counts as the stored one if it ends alike, because nobody knows below
/// which directory that was given.
fn alike(stored: &[Param], now: &[Param]) -> Vec<Param> {
    let same = |param: &Param| {
        let there = stored.iter().find(|one| one.name == param.name)?;
        let name = |value: &str| Path::new(value).file_name().map(|name| name.to_owned());
        let is_path = param.value.starts_with('/') && there.value.starts_with('/');
        (is_path && name(&there.value) == name(&param.value)).then(|| there.clone())
    };
    now.iter().map(|param| same(param).unwrap_or_else(|| param.clone())).collect()
}

/// The run that a sweep says it was started as. Its paths are those of another current directory.
#[expect(clippy::disallowed_methods, reason = "before anything has looked at a path")]
fn as_stored(given: &Run, unfinished: &Unfinished) -> Result<Run> {
    refuse_others(given)?;
    let Rest { command, folder, .. } = unfinished.rest();
    let again = |why: String| {
        Error::input(why).help("give the whole command line again, with --resume in place of --out")
    };
    let parsed = args::parse_again(&command).map(|verb| match verb {
        Verb::Run(run) => Some(*run),
        _ => None,
    });
    let Ok(Some(mut run)) = parsed else {
        return Err(again("--resume: the command line of the sweep is not stored as text".into()));
    };
    let html = given.results.html.as_deref().map(std::path::absolute).transpose();
    let html = html.map_err(|error| again(format!("--html: {error}")))?;
    std::env::set_current_dir(&folder).map_err(|error| {
        again(format!(
            "--resume: the sweep was started in {folder}, which cannot be entered: {error}"
        ))
    })?;
    let is_stdin = run.program.program.as_os_str() == "-";
    let stdin = unfinished.run.run.program.files.first().filter(|_| is_stdin);
    let stdin = stdin.map(|file| file.text.clone());
    run.origin = Some(Origin { command, folder, stdin });
    run.results.format = given.results.format;
    run.results.quiet |= given.results.quiet;
    run.results.events_are_settled = run.results.html.is_none();
    run.results.html = html.or(run.results.html);
    run.job = given.job.clone();
    Ok(run)
}

/// Without a program, nothing may be given that the sweep knows: it would not be heeded.
fn refuse_others(given: &Run) -> Result<()> {
    // The number of ranks of a job is compared with that of its launcher.
    let is_ranks_of_job = |name: &str| {
        name == "--ranks"
            && (given.job.mpi || given.job.launcher.is_some() || launcher::job().is_some())
    };
    let is_heeded = |name: &&String| HEEDED.contains(&name.as_str()) || is_ranks_of_job(name);
    let others: Vec<&str> =
        given.given.iter().filter(|name| !is_heeded(name)).map(String::as_str).collect();
    if others.is_empty() {
        return Ok(());
    }
    let message = format!(
        "--resume without a program takes all options from the sweep: {} cannot be given",
        others.join(" ")
    );
    Err(Error::input(message).help(
        "leave it out, or give the whole command line again, with --resume in place of --out",
    ))
}

/// What resuming this sweep will need.
pub fn rest(run: &Run) -> Rest {
    let (command, folder) = match &run.origin {
        Some(origin) => (origin.command.clone(), origin.folder.clone()),
        None => (command_line::own(), here()),
    };
    Rest { executions: String::new(), command, folder, options: options(run) }
}

/// Says in a sweep what is executed at each of its cells.
pub fn name_plans(sweep: &mut Sweep, cells: &[Bound], directory: &Directory) {
    let directories = directory.all();
    let paths = || directories.iter().map(|(_, path)| path.as_os_str().as_bytes());
    for (cell, bound) in sweep.cells.iter_mut().zip(cells) {
        cell.plan = format!("{:016x}", bound.plan.fingerprint(paths()));
    }
}

/// The current directory, if it is text.
fn here() -> String {
    let folder = std::env::current_dir().ok().and_then(|folder| folder.to_str().map(String::from));
    folder.unwrap_or_default()
}

/// The options that decide what is executed and that nothing else in a run tells.
fn options(run: &Run) -> Vec<Param> {
    let Run { directory, results, execution, .. } = run;
    let absolute = |path: &Path| {
        std::path::absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
    };
    let events = results.events.map(|kept| match kept.max_bytes {
        Some(bytes) => format!("max={bytes},sample=1/{}", kept.sample_every),
        None => format!("sample=1/{}", kept.sample_every),
    });
    let given = |is_given: bool| is_given.then(|| "yes".to_string());
    let path = |path: &Option<PathBuf>| path.as_deref().map(absolute);
    let (only, on_error) = (execution.only.join(","), format!("{:?}", execution.on_error));
    let all = [
        ("--dir", path(&directory.dir)),
        ("--against", path(&run.sweep.against)),
        ("--clean", given(directory.clean)),
        ("--prepare", given(directory.prepare)),
        ("--against-trace", path(&results.against_trace)),
        ("--confine", given(directory.confine)),
        ("--no-confine", given(directory.no_confine)),
        ("--events", events),
        ("--strict", given(results.strict)),
        ("--only", Some(only).filter(|only| !only.is_empty())),
        ("--on-error", Some(on_error.to_lowercase())),
        ("--agile", given(execution.agile)),
    ];
    let mounts = run.program.mounts.iter();
    let mounts = mounts.map(|(name, path)| (format!("--mount {name}"), absolute(path)));
    let all = all.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?)));
    all.chain(mounts).map(|(name, value)| Param { name, value }).collect()
}

/// Says in a run that is about to go on that it did.
pub fn note(run: &mut Header, began: &Header, executions: usize) {
    run.started.clone_from(&began.started);
    run.command.clone_from(&began.command);
    let (Some(now), Some(before)) = (&mut run.sweep, &began.sweep) else { return };
    now.resumed.clone_from(&before.resumed);
    now.resumed.push(Resumed {
        started: host::utc_now(),
        host: run.host.name.clone(),
        executions: executions as u32,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, called};
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    /// Words after the name of an option until one is a value of it.
    fn with_value(option: &str) -> std::result::Result<Run, ErrorKind> {
        let values = ["", "1", "x=1", "1%", "1s", "json", "continue", "mem", "elapsed <= 5%"];
        let mut why = ErrorKind::InvalidValue;
        for value in values {
            let words = ["parabench", "run", "--resume", "r", option, value];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            match args::read(&words.iter().map(Into::into).collect::<Vec<_>>()) {
                Ok(Verb::Run(run)) => return Ok(*run),
                Ok(_) => {}
                Err(error) => why = error.kind(),
            }
            if matches!(why, ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument) {
                break;
            }
        }
        Err(why)
    }

    /// Every option that there is, also one that is added later.
    #[test]
    fn a_resumed_sweep_takes_no_option_that_it_does_not_heed() {
        let command = Cli::command();
        let run = command.find_subcommand("run").expect("a subcommand");
        let names: Vec<String> =
            run.get_arguments().filter(|a| !a.is_positional()).map(called).collect();
        assert!(names.len() > 40, "{names:?}");
        for name in names.iter().filter(|name| *name != "--help" && *name != "--resume") {
            match with_value(name) {
                Ok(run) => {
                    assert_eq!(run.given.iter().filter(|one| *one == name).count(), 1, "{name}");
                    let refused = refuse_others(&run);
                    assert_eq!(refused.is_ok(), HEEDED.contains(&&**name), "{name}: {refused:?}");
                }
                // What clap refuses beside --resume, or alone.
                Err(ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument) => {}
                Err(other) => panic!("{name}: {other}: no value of it is known here"),
            }
        }
        let params = args::parse_again(&["parabench", "run", "--resume", "r"].map(String::from));
        assert!(matches!(params, Ok(Verb::Run(run)) if refuse_others(&run).is_ok()));
    }
}
