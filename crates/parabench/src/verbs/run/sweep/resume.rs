//! `run --resume DIR`: a sweep goes on with the executions that are missing, if what would be
//! executed is what was executed.
//!
//! ```text
//! parabench run --resume DIR                               the command line is that of DIR
//! parabench run x.ppl --sweep block=4k,8k --resume DIR     the same again, in place of --out
//! ```

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
use engine::host;
use model::run::{Header, Node, Param, ProgramFile};
use model::sweep::{Cell, Rest, Resumed, Sweep};
use mpi::launcher;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Differences that one message names.
const DIFFERENCES_MAX: usize = 5;

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

/// Refuses to go on with what is not the sweep that began.
pub fn check(began: &Header, now: &Header) -> Result<()> {
    let mut found = differences(began, now);
    if found.is_empty() {
        return Ok(());
    }
    let more = found.len().saturating_sub(DIFFERENCES_MAX);
    found.truncate(DIFFERENCES_MAX);
    if more > 0 {
        found.push(format!("{more} more differences"));
    }
    let message = format!("--resume: this is not the sweep that began: {}", found.join("; "));
    let undo = match (&began.job, &now.job) {
        (None, Some(_)) => "start it without mpiexec or srun",
        _ if library(began) == library(now) => "undo the difference",
        _ => {
            "start it with the mpiexec of the MPI that it began with, and the shim of that one \
             (PARABENCH_MPI_SHIM=FILE; parabench mpi info tells which is used)"
        }
    };
    Err(Error::input(message)
        .help(format!("{undo}, or start another sweep with a new folder and --out")))
}

/// Everything that differs, in words.
fn differences(began: &Header, now: &Header) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut compare = |name: &str, began: String, now: String| {
        if began != now {
            found.push(format!("{name} was {}, now it is {}", shown(&began), shown(&now)));
        }
    };
    compare("the version of Parabench", began.parabench.clone(), now.parabench.clone());
    compare("--backend", began.backend.clone(), now.backend.clone());
    compare("--seed", began.seed.to_string(), now.seed.to_string());
    let same_start = began.job.is_some() == now.job.is_some();
    match same_start {
        true => compare("the MPI job", job(began), job(now)),
        false => compare("it", start(began), start(now)),
    }
    if began.job.is_some() && now.job.is_some() {
        compare("the MPI library", library(began), library(now));
    }
    let (none, other) = (Sweep::default(), Sweep::default());
    let (a, b) = (began.sweep.as_ref().unwrap_or(&none), now.sweep.as_ref().unwrap_or(&other));
    compare("the grid", grid(a), grid(b));
    compare("--reps", a.reps.to_string(), b.reps.to_string());
    compare("--warm-up", a.warm_up.to_string(), b.warm_up.to_string());
    compare("--settle", seconds(a.settle_ns), seconds(b.settle_ns));
    compare("--until-ci", percent(a.until_ci), percent(b.until_ci));
    // Of another grid every point differs.
    if grid(a) == grid(b) {
        for (name, a, b) in pairs(&parameters(began, a), &parameters(now, b)) {
            compare(&format!("parameter {name}"), a, b);
        }
        for (name, a, b) in pairs(&ranks(a), &ranks(b)) {
            if same_start {
                compare(&name, a, b);
            }
        }
    }
    let options = |sweep: &Sweep| sweep.rest.clone().unwrap_or_default().options;
    for (name, a, b) in pairs(&options(a), &options(b)) {
        compare(&name, a, b);
    }
    found.extend(changed_files(&began.program.files, &now.program.files));
    let other_plan = |(a, b): (&Cell, &Cell)| !a.plan.is_empty() && a.plan != b.plan;
    if found.is_empty() && a.cells.iter().zip(&b.cells).any(other_plan) {
        found.push(
            "the program has become another one although its text is the same: look at the \
             environment variables that it reads, and at the groups"
                .into(),
        );
    }
    found
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "not given" } else { value }
}

/// How the ranks were started.
fn start(header: &Header) -> String {
    let ranks = header.ranks;
    let plural = if ranks == 1 { "" } else { "s" };
    match &header.job {
        Some(_) => format!("an MPI job of {ranks} rank{plural}"),
        None => "started without a launcher (mpiexec or srun)".into(),
    }
}

/// Machines and ranks of an MPI job: hosts may change, their number not.
fn job(header: &Header) -> String {
    let ranks = |node: &Node| node.spans();
    match &header.job {
        None => "none".into(),
        Some(job) => {
            let all: Vec<String> = job.nodes.iter().map(ranks).collect();
            let plural = if job.nodes.len() == 1 { "" } else { "s" };
            format!("ranks {} on {} node{plural}", all.join(" | "), job.nodes.len())
        }
    }
}

/// The rates of a sweep are those of one MPI library, name and version.
fn library(header: &Header) -> String {
    header.job.as_ref().map_or(String::new(), |job| job.mpi.clone())
}

fn grid(sweep: &Sweep) -> String {
    let one = |dimension: &model::sweep::Dimension| {
        format!("{}={}", dimension.name, dimension.values.join(","))
    };
    sweep.dimensions.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn seconds(ns: u64) -> String {
    format!("{} s", ns as f64 / 1e9)
}

fn percent(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!("{}%", share * 100.0))
}

/// The number of ranks at each cell.
fn ranks(sweep: &Sweep) -> Vec<Param> {
    let one = |cell: &Cell| Param {
        name: match sweep.dimensions.is_empty() {
            true => "the number of ranks".into(),
            false => format!("the number of ranks at {}", sweep.describe(cell.cell)),
        },
        value: cell.ranks.to_string(),
    };
    sweep.cells.iter().map(one).collect()
}

/// Those that all cells share, and those of each cell one after the other.
fn parameters(header: &Header, sweep: &Sweep) -> Vec<Param> {
    let mut all = header.params.clone();
    for cell in &sweep.cells {
        let at = sweep.describe(cell.cell);
        let named =
            |param: &Param| Param { name: format!("{} at {at}", param.name), ..param.clone() };
        all.extend(cell.params.iter().map(named));
    }
    all
}

/// Values of equal names beside each other; "" where there is none.
fn pairs(a: &[Param], b: &[Param]) -> Vec<(String, String, String)> {
    let value = |of: &[Param], name: &str| {
        of.iter().find(|param| param.name == name).map(|param| param.value.clone())
    };
    let added = b.iter().filter(|param| value(a, &param.name).is_none());
    let names = a.iter().chain(added).map(|param| param.name.clone());
    let both = |name: String| {
        let (a, b) = (value(a, &name), value(b, &name));
        (name, a.unwrap_or_default(), b.unwrap_or_default())
    };
    names.map(both).collect()
}

/// Files of the program by their order: the same program may have another name.
fn changed_files(began: &[ProgramFile], now: &[ProgramFile]) -> Option<String> {
    if began.len() != now.len() {
        return Some(format!("the program had {} files, now it has {}", began.len(), now.len()));
    }
    let (a, b) = began.iter().zip(now).find(|(a, b)| a.text != b.text)?;
    let lines = || a.text.lines().zip(b.text.lines());
    Some(match lines().position(|(a, b)| a != b) {
        Some(at) => {
            let (was, is) = lines().nth(at).unwrap_or_default();
            format!(
                "{} has changed, first in line {}: it was `{}`, now it is `{}`",
                b.name,
                at + 1,
                was.trim(),
                is.trim()
            )
        }
        None => format!(
            "{} has changed: it had {} lines, now it has {}",
            b.name,
            a.text.lines().count(),
            b.text.lines().count()
        ),
    })
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
    use model::run::Job;

    fn header(change: impl Fn(&mut Header, &mut Sweep)) -> Header {
        let param = |name: &str, value: &str| Param { name: name.into(), value: value.into() };
        let rest = Rest { options: vec![param("--dir", "/d")], ..Rest::default() };
        let cell = Cell { plan: "1".into(), ..Cell::default() };
        let mut sweep = Sweep { reps: 3, cells: vec![cell], rest: Some(rest), ..Sweep::default() };
        let file = |name: &str, text: &str| ProgramFile { name: name.into(), text: text.into() };
        let mut header = Header { seed: 1, params: vec![param("n", "5")], ..Header::default() };
        header.program.files = vec![file("x.ppl", "a;\nb;\n")];
        change(&mut header, &mut sweep);
        Header { sweep: Some(sweep), ..header }
    }

    #[test]
    fn every_difference_is_said() {
        let same = header(|_, _| ());
        assert_eq!(check(&same, &header(|_, _| ())), Ok(()));
        type Change = fn(&mut Header, &mut Sweep);
        let cases: [(Change, &str); 8] = [
            (|h, _| h.seed = 2, "--seed was 1, now it is 2"),
            (|h, _| h.params[0].value = "6".into(), "parameter n was 5, now it is 6"),
            (|h, _| h.params.clear(), "parameter n was 5, now it is not given"),
            (|_, s| s.reps = 4, "--reps was 3, now it is 4"),
            (|_, s| s.settle_ns = 5e8 as u64, "--settle was 0 s, now it is 0.5 s"),
            (
                |h, _| h.program.files[0].text = "a;\nc;\n".into(),
                "x.ppl has changed, first in line 2: it was `b;`, now it is `c;`",
            ),
            (
                |h, _| h.program.files[0].text.push_str("c;\n"),
                "x.ppl has changed: it had 2 lines, now it has 3",
            ),
            (
                |_, s| s.rest.as_mut().expect("a rest").options.clear(),
                "--dir was /d, now it is not given",
            ),
        ];
        for (change, said) in cases {
            let why = check(&same, &header(change)).unwrap_err();
            assert!(why.message.ends_with(said), "{said}: {}", why.message);
            assert!(why.help.is_some_and(|help| help.contains("--out")));
        }
        let under = |mpi: &str| {
            let job = Job { mpi: mpi.into(), ..Job::default() };
            header(|h, _| h.job = Some(job.clone()))
        };
        let why = check(&under("MPICH 4.0.2"), &under("Open MPI v4.1.4")).unwrap_err();
        let said = "the MPI library was MPICH 4.0.2, now it is Open MPI v4.1.4";
        assert!(why.message.ends_with(said), "{}", why.message);
        assert!(why.help.is_some_and(|help| help.contains("PARABENCH_MPI_SHIM")));
        let began = header(|h, _| h.ranks = 1);
        let now = header(|h, _| (h.ranks, h.job) = (2, Some(Job::default())));
        let why = check(&began, &now).unwrap_err();
        let said =
            "it was started without a launcher (mpiexec or srun), now it is an MPI job of 2 ranks";
        assert!(why.message.ends_with(said), "{}", why.message);
        assert!(why.help.is_some_and(|help| help.contains("start it without mpiexec")));
        let job =
            Job { nodes: vec![Node { ranks: vec![[0, 3]], ..Node::default() }], ..Job::default() };
        let other = header(|h, _| (h.ranks, h.job) = (2, Some(job.clone())));
        let why = check(&other, &now).unwrap_err().message;
        assert!(why.contains("the MPI job was ranks 0-3 on 1 node, now"), "{why}");
        let other = header(|_, s| s.cells[0].plan = "2".into());
        let why = check(&same, &other).unwrap_err().message;
        assert!(why.contains("environment variables"), "{why}");
    }
}
