//! `parabench run`: a program goes in, a run comes out.
//!
//! ```text
//! text -> directory -> plan -> preflight -> ranks -> collect -> Run -> report, store
//! ```
//!
//! Ranks are forked, simulated, or the processes of an MPI job ([`team`]); the way is the same, that
//! of a sweep ([`walk`]) of one cell or many ([`cells`]). [`launch`] only starts such a job.

mod agree;
mod args;
mod cells;
mod command;
mod command_line;
mod directory;
mod faithful;
mod foresee;
mod further;
mod gather;
mod header;
mod interrupt;
mod launch;
mod measure;
mod members;
mod mpi_writes;
mod nodes;
mod only;
mod page;
mod place;
mod progress;
mod relay;
mod remains;
mod roll_call;
mod shift;
mod sweep;
mod team;
mod trouble;
mod unheeded;
mod unseen;
mod verdict;
mod walk;

pub use args::Run;
pub use further::{for_mount, not_granted};
pub use roll_call::{end_unmet, meet, note_needless_ranks, roll_call};

use crate::args::{ProgramArgs, ResultFormat, Seed};
use crate::compile::{self, Ranks};
use crate::console;
use crate::diagnostics;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::prepare;
use crate::present;
use crate::program::{self, Text};
use crate::rehearse::rehearse;
use crate::results::{self, Folder, Needs};
use args::KeptEvents;
use directory::{Confined, Directory};
use engine::config::{BackendKind, Config, Records};
use engine::limits;
use engine::machine::Settings;
use engine::record::{Collected, EventsConfig};
use engine::supervise::Outcome;
use faithful::Faithful;
use interrupt::Interrupt;
use members::Members;
use model::Plan;
use model::rehearsal::{Expected, Rehearsal};
use mpi::launcher;
use page::Page;
use remains::Remains;
use sweep::resume::{self, Asked, Origin};
use team::Team;

/// Most ranks that are processes: a typing error must not take the machine down.
const MAX_PROCESSES: u32 = 4096;
/// Memory for the figures of a rank, without events.
const STATISTICS_BYTES: u64 = 2 << 20;
/// File descriptors that `print` writes to.
const STDOUT: i32 = 1;
const STDERR: i32 = 2;

impl Run {
    /// Runs the program, as a process of an MPI job, by starting one, or without MPI.
    pub fn execute(self) -> Result<Exit> {
        let job = launcher::job();
        let run = self.resolved(job.and_then(|job| job.ranks));
        let simulated = run.is_simulated();
        if let Err(why) = limits::check_memory() {
            let error = Error::input(why).help("raise the limit in this shell");
            return match job.filter(|_| !simulated) {
                Some(job) => Ok(trouble::give_up(job.rank, trouble::is_first_of_machine(), error)),
                None => Err(error),
            };
        }
        if !simulated {
            refuse_inherited()?;
        }
        match job {
            // One process simulates all ranks.
            Some(job) if simulated && job.rank > 0 => Ok(Exit::Success),
            Some(job) if !simulated => run.join(job),
            None if Remains::wanted().is_some() => {
                Err(Error::input("the launcher has not made this a process of an MPI job")
                    .help("it has to be mpiexec or srun"))
            }
            None if run.job.mpi || run.job.launcher.is_some() => run.launch(),
            _ => run.alone(None),
        }
    }

    /// Runs the program with ranks of this machine, also in a process of an MPI job in which the others do
    /// nothing.
    pub fn execute_here(self) -> Result<Exit> {
        if launcher::job().is_none() {
            return self.execute();
        }
        limits::check_memory()
            .map_err(|why| Error::input(why).help("raise the limit in this shell"))?;
        self.resolved(None).alone(None)
    }

    /// One process simulates all ranks.
    pub fn is_simulated(&self) -> bool {
        self.execution.backend.is_simulated()
    }

    /// Runs the program. With `--format json` standard output holds one object even if
    /// nothing could be run. `team`: the MPI job in which this is rank 0.
    fn alone(&self, team: Option<&Team>) -> Result<Exit> {
        let interrupt = Interrupt::watch(team.is_some(), self.execution.wait);
        let (run, end) = match resume::asked(self) {
            Ok(Asked::Nothing(exit)) => return Ok(exit),
            Ok(Asked::Run(run)) => {
                let mut run = run.resolved(team.map(Team::size));
                let end = run.accompanied(team, &interrupt);
                (run, end)
            }
            Err(error) => (self.clone(), Err(error.into())),
        };
        match end {
            Err(Stopped::Before(error)) => run.refused(error),
            end => end.map_err(Stopped::into_error),
        }
    }

    /// The run, with the page and the comparison that were asked for.
    fn accompanied(
        &mut self,
        team: Option<&Team>,
        interrupt: &Interrupt,
    ) -> std::result::Result<Exit, Stopped> {
        let run = self;
        let faithful = Faithful::prepare(run);
        let page = Page::prepare(run);
        let in_vain = run.sweep.is_asked_for() && run.results.out.is_none();
        if in_vain && run.results.events.take().is_some() {
            console::note("events are not kept: add --out DIR to store them");
        }
        match (page, faithful) {
            (Ok(page), Ok(faithful)) => {
                let end = run.attempt(team, interrupt);
                let end = match page {
                    Some(page) => page.finish(end),
                    None => end,
                };
                match faithful {
                    Some(faithful) => faithful.finish(end),
                    None => end,
                }
            }
            (Err(error), Ok(Some(faithful))) => faithful.finish(Err(error.into())),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        }
    }

    /// Takes part in an MPI job. All its processes leave with the same exit code.
    fn join(mut self, job: launcher::Job) -> Result<Exit> {
        let (team, agreed) = match Team::join(job.rank) {
            Ok(joined) => joined,
            Err(exit) => return Ok(exit),
        };
        let agreed = agreed.and_then(|()| self.agree_on_ranks(job));
        self.ranks = team.size();
        let all_go_on = agreed.is_ok();
        if !team.leads() {
            let exit = agreed.map_or_else(|error| Ok(error.exit), |()| team.follow())?;
            return team.leave(exit).map(|()| exit);
        }
        let done = match agreed {
            Ok(()) => self.alone(Some(&team)),
            Err(error) => self.refused(error),
        };
        let exit = done.unwrap_or_else(|error| {
            // Now: a launcher may end this process as soon as another one is gone.
            console::error(&error);
            error.exit
        });
        Remains::wanted().iter().for_each(|remains| remains.end(exit));
        match all_go_on {
            true => team.end(exit),
            false => team.leave(exit),
        }
        .map(|()| exit)
    }

    /// The number of ranks that was asked for is the launcher's. The same on all ranks, whose words
    /// are the same.
    fn agree_on_ranks(&self, job: launcher::Job) -> Result<()> {
        let Some(started) = job.ranks.filter(|started| *started != self.ranks) else {
            return Ok(());
        };
        let name = job.launcher.name();
        let message = format!("-n {}: but {name} has started {started} ranks", self.ranks);
        Err(Error::input(message).help("leave -n out: the launcher's number counts"))
    }

    /// Nothing could be run: with `--format json` standard output says so.
    fn refused(&self, error: Error) -> Result<Exit> {
        if self.results.format == ResultFormat::Json {
            present::print(&header::refused(self, &error), ResultFormat::Json)?;
        }
        Err(error)
    }

    /// Starts an MPI job that runs the program.
    fn launch(&self) -> Result<Exit> {
        if self.execution.backend.is_simulated() {
            let message =
                "--mpi: with --backend mem ranks are simulated, there is nothing to start";
            return Err(Error::input(message));
        }
        self.check_ranks()?;
        launch::launch(self)
    }

    fn attempt(
        &self,
        team: Option<&Team>,
        interrupt: &Interrupt,
    ) -> std::result::Result<Exit, Stopped> {
        self.check_ranks()?;
        self.check_members(team)?;
        let text = match self.origin.as_ref().and_then(Origin::text) {
            Some(text) => text,
            None => program::read(&self.program.program)?,
        };
        let directory = Directory::open(self)?;
        interrupt.before_end(directory.leftover());
        walk::execute(self, team, text, directory, interrupt)
    }

    /// What only ranks that are processes can do, and how many of those there can be.
    fn check_ranks(&self) -> Result<()> {
        let simulated = self.execution.backend.is_simulated();
        if simulated && self.execution.wait {
            let message = "--wait needs ranks that are processes: not with --backend mem";
            return Err(Error::input(message));
        }
        let swept = self.sweep.ranks.iter().flat_map(|ranks| &ranks.0).copied();
        let ranks = swept.max().unwrap_or(self.ranks);
        if !simulated && ranks > MAX_PROCESSES {
            let message = format!("{ranks} ranks: the limit is {MAX_PROCESSES} processes");
            return Err(Error::input(message).help("--backend mem simulates up to a million ranks"));
        }
        Ok(())
    }

    /// Points of a sweep over ranks or machines are some ranks of the job, or ranks to be started.
    fn check_members(&self, team: Option<&Team>) -> Result<()> {
        let (ranks, nodes) = (&self.sweep.ranks, &self.sweep.nodes);
        match team {
            None if nodes.is_some() => {
                Err(Error::input("--sweep-nodes needs an MPI job: there is one machine without it")
                    .help("start it with mpiexec or srun, or sweep over ranks: --sweep-ranks"))
            }
            None if ranks.is_some() && self.given_ranks.is_some() => {
                Err(Error::input("-n cannot be used with --sweep-ranks, unless ranks are MPI's")
                    .help("leave -n out: every point starts its own ranks"))
            }
            Some(team) => self.sweep.fits(team.size(), team.nodes()),
            None => Ok(()),
        }
    }

    /// A program bound to its parameters and ranks, and checked against its directory.
    fn bind(
        &self,
        text: Text,
        binding: &Binding,
        directory: &Directory,
        team: Option<&Team>,
        warnings: bool,
    ) -> Result<Bound> {
        let name = text.name.clone();
        let all = team.map(Team::machines).unwrap_or_default();
        let part = binding.members.of(all);
        let machines: Vec<u32> = part.iter().map(|rank| all[*rank as usize]).collect();
        let count = if team.is_some() { machines.len() as u32 } else { binding.ranks };
        let config = self.for_rehearsal(directory, machines.clone());
        let ranks = Ranks { count, assumed: false, machines };
        // The null back-end takes them without MPI.
        let mpi = team.is_some() || self.execution.backend == BackendKind::Null;
        let places = directory.places(self)?;
        let mut compiled = compile::compile(text, &binding.program, ranks, places, mpi);
        if let Some(plan) = &mut compiled.plan {
            directory.further().grant(self, plan)?;
        }
        let (plan, found) = (compiled.plan.as_ref(), &mut compiled.diagnostics);
        let rehearsal = rehearse(plan, found, &config, self.finds_files(directory))?;
        if compiled.plan.is_none() || (warnings && !self.results.quiet) {
            compile::show(&compiled, &name);
        }
        let unused = diagnostics::without_effect(&compiled.diagnostics, &compiled.sources);
        let plan = compile::plan(compiled, &name)?;
        only::check(&self.execution.only, &plan)?;
        let expected = self.expected(&plan, &rehearsal, directory, &config, warnings)?;
        let confined = directory.confined(self, &plan, &rehearsal, &expected, team.is_some())?;
        let mut notes = confined.notes.clone();
        notes.extend(directory.preflight(self, &plan, &rehearsal)?);
        notes.extend(unheeded::remarks(self, team.is_some()));
        let mut run = header::provisional(self, &plan, &name, directory);
        run.run.job = team.and_then(Team::job).map(|job| job.part(&part));
        run.run.batch = if team.is_some() { String::new() } else { mpi::job::batch() };
        run.run.evidence.confinement = confined.name().into();
        run.run.evidence.notes = notes;
        run.run.evidence.options_without_effect = unused;
        Ok(Bound { plan, members: binding.members, rehearsal, confined, expected, run })
    }

    /// What is to be made before each execution: with `--prepare`. Else what is missing is told.
    fn expected(
        &self,
        plan: &Plan,
        rehearsal: &Rehearsal,
        directory: &Directory,
        config: &Config,
        warnings: bool,
    ) -> Result<Vec<Expected>> {
        let directories = directory.all();
        if directories.is_empty() {
            return Ok(Vec::new());
        }
        if self.directory.prepare {
            let mut expected = prepare::expected(plan, config, prepare::WHOLE_BYTES)?;
            if let Some(original) = &self.results.against_trace {
                expected = prepare::shown_by(original, expected)?;
            }
            prepare::missing(&directories, &expected)?;
            return Ok(expected);
        }
        if warnings && !self.results.quiet {
            prepare::tell_missing(plan, &directories, &rehearsal.expected);
        }
        Ok(Vec::new())
    }

    /// How the program is rehearsed. `machines`: of each rank.
    fn for_rehearsal(&self, directory: &Directory, machines: Vec<u32>) -> Config {
        let directory = directory.path().map(Into::into).unwrap_or_default();
        Config { directory, settings: self.settings(), machines, ..Config::default() }
    }

    /// Files that the program has not made may be there; the null back-end finds all.
    fn finds_files(&self, directory: &Directory) -> bool {
        let prepared = self.directory.prepare && directory.path().is_some();
        self.execution.backend == BackendKind::Null || prepared || directory.finds_files()
    }

    /// Names of the program's parameters, if it can be compiled without a sweep's values.
    fn parameter_names(&self, text: Text, directory: &Directory) -> Option<Vec<String>> {
        let ranks = Ranks { count: self.ranks, assumed: false, machines: Vec::new() };
        let places = directory.places(self).ok()?;
        let plan = compile::compile(text, &self.program, ranks, places, false).plan?;
        Some(plan.params.into_iter().map(|(name, _)| name).collect())
    }

    /// Turns what the ranks of an execution left into its run.
    fn assess(
        &self,
        run: &mut model::Run,
        outcome: &Outcome,
        collected: Collected,
        plan: &Plan,
    ) -> Exit {
        results::fill(run, collected);
        header::complete(run, outcome, plan);
        verdict::judge(run, outcome, self.results.strict)
    }

    /// Where the run is stored. Ranks without common memory need a folder in any case.
    fn folder(&self, directory: &Directory, mpi: bool) -> Result<Option<Folder>> {
        match &self.results.out {
            Some(out) => Folder::open(out, directory.path(), self.directory.force).map(Some),
            None if mpi => {
                let wanted = Remains::wanted().map(|remains| remains.results());
                Folder::temporary(wanted).map(Some)
            }
            None => Ok(None),
        }
    }

    /// What the ranks of one machine need to record.
    fn needs<'a>(&self, rehearsal: &Rehearsal, directory: &'a Directory, nodes: u32) -> Needs<'a> {
        let events = self.results.events.map(|kept| events(rehearsal, kept, nodes));
        let events = events.map_or(0, |events| events.expected_bytes());
        let ranks = u64::from(ranks(rehearsal).div_ceil(nodes.max(1)));
        Needs { bytes: ranks.saturating_mul(STATISTICS_BYTES + events), measured: directory.path() }
    }

    fn config(
        &self,
        rehearsal: &Rehearsal,
        directory: &Directory,
        confined: &Confined,
        folder: Option<&Folder>,
        nodes: u32,
    ) -> Config {
        Config {
            directory: directory.path().map(Into::into).unwrap_or_default(),
            backend: self.execution.backend,
            execution: 0,
            identity: directory.identity(),
            directories: directory.further().identities(),
            confinement: confined.by,
            events: self.results.events.map(|kept| events(rehearsal, kept, nodes)),
            machines: Vec::new(),
            forecasts: rehearsal.forecasts(),
            records: folder.map_or(Records::Memory, Folder::records),
            wait_for_signal: self.execution.wait,
            watch: progress::watch(self.results.quiet),
            settings: self.settings(),
        }
    }

    /// What the program may do.
    fn settings(&self) -> Settings {
        Settings {
            agile: self.execution.agile,
            stop_on_error: self.execution.on_error == args::OnError::Stop,
            strict: self.results.strict,
            only: self.execution.only.clone(),
            print_fd: match self.results.format {
                _ if self.results.quiet => None,
                ResultFormat::Table => Some(STDOUT),
                _ => Some(STDERR),
            },
            run_mark: run_mark(self.execution.backend),
        }
    }
}

/// Variables say that this is one of several processes of an MPI job, but nothing says how to reach
/// its launcher. Each of them alone would measure something else.
fn refuse_inherited() -> Result<()> {
    let found = launcher::inherited();
    if found.is_empty() {
        return Ok(());
    }
    let names = found.iter().filter_map(|found| found.split_once('=')).map(|(name, _)| name);
    let unset: Vec<String> = names.map(|name| format!("-u {name}")).collect();
    let message = format!(
        "{} stand in the environment, but no launcher of an MPI job can be reached: they were \
         inherited from another job",
        found.join(" ")
    );
    Err(Error::input(message).help(format!(
        "start it without them, env {} parabench ..., or by a launcher, mpiexec -n 2 parabench ...",
        unset.join(" ")
    )))
}

/// Why there is no run, or none that went well.
enum Stopped {
    /// Nothing was run.
    Before(Error),
    /// It was run and reported; this went wrong besides.
    After(Error),
}

impl Stopped {
    fn into_error(self) -> Error {
        match self {
            Stopped::Before(error) | Stopped::After(error) => error,
        }
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Before(error)
    }
}

/// Memory for events: what was given is for all ranks of a machine together.
fn events(rehearsal: &Rehearsal, kept: KeptEvents, nodes: u32) -> EventsConfig {
    let ranks = ranks(rehearsal).div_ceil(nodes.max(1)).max(1);
    EventsConfig {
        max_bytes: kept.max_bytes() / u64::from(ranks),
        expected: rehearsal.most_operations(),
        sample_every: kept.sample_every,
    }
}

/// Number of ranks.
fn ranks(rehearsal: &Rehearsal) -> u32 {
    rehearsal.ranks.last().map_or(0, |(ranks, _)| ranks.end)
}

/// What a program is bound to.
struct Binding {
    program: ProgramArgs,
    ranks: u32,
    members: Members,
}

/// A program that can be executed here.
struct Bound {
    plan: Plan,
    members: Members,
    rehearsal: Rehearsal,
    confined: Confined,
    /// What is made before each execution.
    expected: Vec<Expected>,
    /// Its run as far as it is known before.
    run: model::Run,
}

/// Tells verified data of this run from that of others; simulated runs are all alike.
fn run_mark(backend: BackendKind) -> u16 {
    if backend.is_simulated() { 0 } else { Seed::Random.number() as u16 }
}
