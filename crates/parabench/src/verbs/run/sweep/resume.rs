//! `run --resume DIR`: a sweep goes on with the executions that are missing, if what would be
//! executed is what was executed.
//!
//! ```text
//! parabench run --resume DIR --dir d                       what is executed is that of DIR
//! parabench run x.ppl --sweep block=4k,8k --resume DIR     the same again, in place of --out
//! ```
//!
//! DIR may come from somebody else. What it says decides what is executed and measured; where that may happen, what it
//! may touch there, how ranks are started and which files are written is for this command line alone to say.

use super::super::after;
use super::super::args::{AS_STORED, KeptEvents, Released, Results, Run};
use super::super::directory::Directory;
use super::super::header;
use super::super::point::Point;
use crate::args::{self, ResultFormat, Seed, Verb};
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::present;
use crate::program::{STDIN, Text};
use crate::results::{self, Begun, PLACES, Unfinished};
use engine::host;
use model::run::{Header, Node, Param};
use model::sweep::{Cell, Dimension, Rest, Resumed, Sweep};
use mpi::launcher;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Options of this command line alone: how ranks are started, and what is printed and written.
const OUTSIDE: [&str; 9] = [
    "--resume",
    "--mpi",
    "--launcher",
    "--format",
    "--html",
    "--progress",
    "--quiet",
    "--verbose",
    "--time-limit",
];

/// Options that may be others when a sweep goes on.
const NOT_COMPARED: [&str; 6] =
    ["--out", "--ranks", "--force", "--keep", "--no-preflight", "--timeout"];

/// Options that may be given beside `--resume` without a program.
fn is_heeded(name: &str) -> bool {
    OUTSIDE.contains(&name) || PLACES.contains(&name)
}

/// The request of a command line with or without `--resume`.
pub enum Resolved {
    /// To execute this.
    Run(Box<Run>),
    /// Nothing is missing: the stored run was printed.
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
pub fn resolve(given: &Run) -> Result<Resolved> {
    let Some(folder) = &given.sweep.resume else {
        return Ok(Resolved::Run(Box::new(given.clone())));
    };
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    let unfinished = match Begun::open(&folder, given.directory.force)? {
        Begun::Rest(unfinished) => unfinished,
        Begun::Whole(run) if given.program.program.as_os_str() == AS_STORED => {
            refuse_others(given)?;
            let exit = print(given, &run)?;
            return after::write_page_of(given, &folder).map(|()| Resolved::Nothing(exit));
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
fn again(mut run: Run, began: &model::Run, folder: PathBuf) -> Result<Resolved> {
    if run.program.seed == Seed::Random {
        run.program.seed = Seed::Given(began.run.seed);
    }
    run.sweep.resume = Some(folder.clone());
    run.results.out = Some(folder);
    match run.sweep.is_asked_for() {
        true => Ok(Resolved::Run(Box::new(run))),
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
        present::print(run, given.results.format, given.results.verbose.detail())?;
    }
    Ok(Exit::from_code(run.run.exit_code))
}

/// Most differences that one message has.
const DIFFERENCES_SHOWN: usize = 5;

/// Refuses to continue with what is not the sweep that began: another plan, or other options.
pub fn check(began: &Header, now: &Header) -> Result<()> {
    let (was, is) = (identity(began), identity(now));
    let value = |of: &[Param], name: &str| {
        let found = of.iter().find(|param| param.name == name);
        found.map_or("not given".to_string(), |param| param.value.clone())
    };
    let mut names: Vec<&str> = was.iter().chain(&is).map(|param| &*param.name).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name) && value(&was, name) != value(&is, name));
    if names.is_empty() {
        return Ok(());
    }
    let describe =
        |name: &&str| format!("{name} was {}, now it is {}", value(&was, name), value(&is, name));
    let mut found: Vec<String> = names.iter().take(DIFFERENCES_SHOWN).map(describe).collect();
    if names.len() > DIFFERENCES_SHOWN {
        found.push(format!("{} more differences", names.len() - DIFFERENCES_SHOWN));
    }
    let message = format!("--resume: this is not the sweep that began: {}", found.join("; "));
    Err(Error::input(message).help(
        "undo the difference, or start another sweep with a new folder and --out. A plan depends on the \
         program, its parameters, the number of ranks and the environment variables that it reads.",
    ))
}

/// Everything that decides what is executed: the plan of every cell, and options that are not in a plan. If a sweep
/// is whole, options of its command line are not stored any more.
fn identity(header: &Header) -> Vec<Param> {
    let none = Sweep::default();
    let sweep = header.sweep.as_ref().unwrap_or(&none);
    let dimension = |one: &Dimension| format!("{}={}", one.name, one.values.join(","));
    let grid: Vec<String> = sweep.dimensions.iter().map(dimension).collect();
    let job = header.job.as_ref();
    let nodes = job.map_or("none".into(), |job| {
        let ranks: Vec<String> = job.nodes.iter().map(Node::spans).collect();
        format!("ranks {}", ranks.join(" | "))
    });
    let all = [
        ("the version of Parabench", header.parabench.clone()),
        ("--backend", header.backend.clone()),
        ("--seed", header.seed.to_string()),
        ("the MPI job", nodes),
        ("the MPI library", job.map_or("none".into(), |job| job.mpi.clone())),
        ("the grid", grid.join(" ")),
        ("--reps", sweep.reps.to_string()),
        ("--warm-up", sweep.warm_up.to_string()),
        ("--settle", format!("{} s", sweep.settle_ns as f64 / 1e9)),
        ("--until-ci", sweep.until_ci.map_or("none".into(), |share| format!("{}%", share * 100.0))),
    ];
    let all = all.map(|(name, value)| Param { name: name.into(), value });
    let plan = |cell: &Cell| Param {
        name: format!("the plan of {}", sweep.describe(cell.cell)),
        value: cell.plan.clone(),
    };
    let options = sweep.rest.iter().flat_map(|rest| rest.options.iter().cloned());
    all.into_iter().chain(options).chain(sweep.cells.iter().map(plan)).collect()
}

/// The run that a sweep says it was started as, in the places that are given now.
fn as_stored(given: &Run, unfinished: &Unfinished) -> Result<Run> {
    refuse_others(given)?;
    let rest = unfinished.rest();
    check_places(given, &rest)?;
    let words = rest.command.iter().map(OsString::from).collect();
    let Ok(Verb::Run(mut run)) = args::parse(words) else {
        return Err(Error::input("--resume: the command line of the sweep is not stored as text")
            .help("give the whole command line again, with --resume in place of --out"));
    };
    let program = run.program.program.clone();
    let is_stdin = program.as_os_str() == "-";
    if !is_stdin && !program.as_os_str().as_bytes().starts_with(b"@") {
        run.program.program = Path::new(&rest.folder).join(&program);
    }
    let stdin = unfinished.run.run.program.files.first().filter(|_| is_stdin);
    let stdin = stdin.map(|file| file.text.clone());
    let Rest { command, folder, .. } = rest;
    run.origin = Some(Origin { command, folder, stdin });
    run.given.retain(|option| !is_heeded(&option.name));
    run.given.extend(given.given.iter().cloned());
    run.program.mounts.clone_from(&given.program.mounts);
    run.program.include_dirs.clone_from(&given.program.include_dirs);
    run.sweep.against.clone_from(&given.sweep.against);
    run.sweep.dirs.clone_from(&given.sweep.dirs);
    run.directory = given.directory.clone();
    run.job = given.job.clone();
    run.execution.time_limit = given.execution.time_limit;
    run.released = Released { e: false };
    // They keep events.
    let is_seen = run.results.html.is_some() || run.results.against_trace.is_some();
    run.results = Results {
        events: run.results.events.or(is_seen.then(KeptEvents::default)),
        events_are_settled: true,
        strict: run.results.strict,
        ..given.results.clone()
    };
    Ok(*run)
}

/// Refuses to continue unless all places (directories, confinement) are given again as for the
/// sweep.
fn check_places(given: &Run, rest: &Rest) -> Result<()> {
    let is_given = |name: &str| given.given.iter().any(|now| now.name == name);
    let places = rest.options.iter().filter(|option| PLACES.contains(&&*option.name));
    let missing = places.filter(|option| !is_given(&option.name));
    let words = results::as_typed(missing);
    if words.is_empty() {
        return Ok(());
    }
    let folder = &rest.folder;
    let message = format!("--resume: the sweep ran in {folder} with{words}: places are given anew");
    Err(Error::input(message).help(format!("add{words} if it is to go on there")))
}

/// Without a program, nothing may be given that the sweep knows: it would not be heeded.
fn refuse_others(given: &Run) -> Result<()> {
    // The number of ranks of a job is compared with that of its launcher.
    let is_ranks_of_job = |name: &str| {
        name == "--ranks"
            && (given.job.mpi || given.job.launcher.is_some() || launcher::job().is_some())
    };
    let names = given.given.iter().map(|option| &*option.name);
    let others: Vec<&str> =
        names.filter(|name| !is_heeded(name) && !is_ranks_of_job(name)).collect();
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

/// Facts that resuming this sweep will need.
pub fn rest(run: &Run) -> Rest {
    let (command, folder) = match &run.origin {
        Some(origin) => (origin.command.clone(), origin.folder.clone()),
        None => (header::own_command(), here()),
    };
    Rest { executions: String::new(), command, folder, options: options(run) }
}

/// Says in a sweep what is executed at each of its cells.
pub fn name_plans(sweep: &mut Sweep, cells: &[Point], directory: &Directory) {
    let directories = directory.named();
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

/// The options that decide what is executed; program, parameters and ranks decide it by the plans.
fn options(run: &Run) -> Vec<Param> {
    let decides = |option: &&Param| {
        let name = &*option.name;
        let is_path =
            ["--dir", "--sweep-dirs", "--against", "--mount", "--include-dir"].contains(&name);
        let is_compared = !OUTSIDE.contains(&name) && !NOT_COMPARED.contains(&name);
        name.starts_with('-') && is_compared && !is_path
    };
    let options = run.given.iter().filter(decides).cloned();
    paths(run).into_iter().chain(options).collect()
}

/// Directories, whatever the current one is.
fn paths(run: &Run) -> Vec<Param> {
    let absolute = |path: &Path| results::real_path(path).unwrap_or_else(|_| path.into());
    let option = |name: &str, before: &str, path: &Path| {
        let value = format!("{before}{}", absolute(path).display());
        Param { name: name.into(), value }
    };
    let swept = run.sweep.dirs.as_ref().map_or(&[][..], |dirs| &dirs.0);
    let dir = run.directory.dir.iter().filter(|_| swept.is_empty());
    let dir = dir.map(|path| option("--dir", "", path));
    let named = |(name, path): &(String, PathBuf)| format!("{name}={}", absolute(path).display());
    let swept = (!swept.is_empty()).then(|| Param {
        name: "--sweep-dirs".into(),
        value: swept.iter().map(named).collect::<Vec<_>>().join(","),
    });
    let against = run.sweep.against.iter().map(|path| option("--against", "", path));
    let mounts = run.program.mounts.iter();
    let mounts = mounts.map(|(name, path)| option("--mount", &format!("{name}="), path));
    let included = run.program.include_dirs.iter().map(|path| option("--include-dir", "", path));
    dir.chain(swept).chain(against).chain(mounts).chain(included).collect()
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
    use model::run::Job;

    /// Words after the name of an option until one is a value of it.
    fn with_value(option: &str) -> std::result::Result<Run, ErrorKind> {
        let values = ["", "1", "x=1", "1%", "1s", "json", "continue", "mem", "elapsed <= 5%"];
        let mut why = ErrorKind::InvalidValue;
        for value in values {
            let words = ["parabench", "run", "--resume", "r", option, value];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            match args::parse(words.iter().map(Into::into).collect()) {
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

    #[test]
    fn every_difference_is_named_with_both_values() {
        type Change = fn(&mut Header, &mut Sweep);
        let header = |change: Change| {
            let dir = Param { name: "--dir".into(), value: "/d".into() };
            let rest = Some(Rest { options: vec![dir], ..Rest::default() });
            let cells = vec![Cell { plan: "01".into(), ..Cell::default() }];
            let mut sweep = Sweep { reps: 3, cells, rest, ..Sweep::default() };
            let mut header = Header { seed: 1, ..Header::default() };
            change(&mut header, &mut sweep);
            Header { sweep: Some(sweep), ..header }
        };
        let same = header(|_, _| ());
        assert_eq!(check(&same, &header(|_, _| ())), Ok(()));
        let cases: [(Change, &str); 6] = [
            (|h, _| h.seed = 2, "--seed was 1, now it is 2"),
            (|_, s| s.reps = 4, "--reps was 3, now it is 4"),
            (|_, s| s.settle_ns = 5e8 as u64, "--settle was 0 s, now it is 0.5 s"),
            (|_, s| s.cells[0].plan = "02".into(), "the plan of all was 01, now it is 02"),
            (|_, s| s.rest = None, "--dir was /d, now it is not given"),
            (
                |h, _| h.job = Some(Job { mpi: "MPICH 4.0".into(), ..Job::default() }),
                "the MPI library was none, now it is MPICH 4.0",
            ),
        ];
        for (change, words) in cases {
            let why = check(&same, &header(change)).unwrap_err();
            assert!(why.message.contains(words), "{words}: {}", why.message);
        }
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
                    assert_eq!(
                        run.given.iter().filter(|one| one.name == *name).count(),
                        1,
                        "{name}"
                    );
                    let refused = refuse_others(&run);
                    assert_eq!(refused.is_ok(), is_heeded(name), "{name}: {refused:?}");
                }
                // What clap refuses beside --resume, or alone.
                Err(ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument) => {}
                Err(other) => panic!("{name}: {other}: no value of it is known here"),
            }
        }
        let params = args::parse(["parabench", "run", "--resume", "r"].map(Into::into).into());
        assert!(matches!(params, Ok(Verb::Run(run)) if refuse_others(&run).is_ok()));
    }
}
