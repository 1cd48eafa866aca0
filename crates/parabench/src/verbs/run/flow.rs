//! The main flow of `parabench run`.
//!
//! ```text
//! execute ─┬─ launch: mpiexec starts this program again, on every rank
//!          ├─ join: a process of an MPI job; rank 0 continues below, the others follow it
//!          └─ alone ── run_program: text, directory, points, executions, results
//! ```

use super::after::After;
use super::args::{ProgressForm, Run};
use super::executions::Executions;
use super::header;
use super::interrupt::Interrupt;
use super::launch::{self, Remains};
use super::points;
use super::stream;
use super::sweep::grid::Sides;
use super::sweep::resume::{self, Origin, Resolved};
use super::team::{Team, give_up};
use crate::args::ResultFormat;
use crate::console;
use crate::error::{Error, Exit, Result, Stopped};
use crate::present;
use crate::program;
use engine::clock::monotonic_raw_ns;
use engine::limits;
use mpi::launcher;
use report::table::Detail;

/// Most ranks that are processes: a typing error must not take the machine down.
const MAX_PROCESSES: u32 = 4096;

impl Run {
    /// Runs the program, as a process of an MPI job, by starting one, or without MPI.
    pub fn execute(self) -> Result<Exit> {
        let job = launcher::job();
        let run = self.resolved(job.and_then(|job| job.ranks));
        let simulated = run.is_simulated();
        if let Err(why) = limits::check_memory() {
            let error = Error::input(why).help("raise the limit in this shell");
            return match job.filter(|_| !simulated) {
                Some(job) => Ok(give_up(job.rank, error)),
                None => Err(error),
            };
        }
        if !simulated {
            refuse_inherited()?;
        }
        match job {
            // One process simulates all ranks.
            Some(job) if simulated && job.rank > 0 => Ok(Exit::Success),
            // One process needs no MPI.
            Some(job) if !simulated && job.ranks == Some(1) && mpi::shim::find_shim().is_err() => {
                run.alone(None)
            }
            Some(job) if !simulated => run.join(job),
            None if Remains::wanted().is_some() => {
                Err(Error::input("the launcher has not made this a process of an MPI job")
                    .help("it has to be mpiexec or srun"))
            }
            None if run.job.mpi || run.job.launcher.is_some() => {
                if simulated {
                    let message =
                        "--mpi: with --backend mem ranks are simulated, there is nothing to start";
                    return Err(Error::input(message));
                }
                run.check_ranks()?;
                launch::launch(&run)
            }
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
        let (run, end) = match resume::resolve(self) {
            Ok(Resolved::Nothing(exit)) => return Ok(exit),
            Ok(Resolved::Run(run)) => {
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
        let after = After::prepare(self)?;
        let has_folder = !self.sweep.is_asked_for() || self.results.out.is_some();
        if !has_folder && self.results.events.take().is_some() {
            console::note("events are not kept: add --out DIR to store them");
        }
        let end = self.run_program(team, interrupt);
        after.finish(end)
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
        let message = format!(
            "-n {}: but {name} has started {started_ranks}",
            self.ranks,
            started_ranks = model::words::count(started, "rank")
        );
        Err(Error::input(message).help("leave -n out: the launcher's number counts"))
    }

    /// Nothing could be run: with `--format json` standard output says so.
    fn refused(&self, error: Error) -> Result<Exit> {
        if self.results.format == ResultFormat::Json {
            present::print(&header::refused(self, &error), ResultFormat::Json, Detail::Full)?;
        }
        Err(error)
    }

    /// The run of a program: everything that can refuse it comes before the first execution; whatever happens after
    /// the ranks have started, what they measured is stored and printed, and the directory is tidied up.
    fn run_program(
        &self,
        team: Option<&Team>,
        interrupt: &Interrupt,
    ) -> std::result::Result<Exit, Stopped> {
        let begun_ns = monotonic_raw_ns();
        self.check_ranks()?;
        self.check_members(team)?;
        let text = match self.origin.as_ref().and_then(Origin::text) {
            Some(text) => text,
            None => program::read(&self.program.program)?,
        };
        let sides = Sides::open(self, text, Some(interrupt))?;
        let mut planned = points::plan_all(self, team, &sides, interrupt)?;
        if let Some(whole) = planned.whole.take() {
            return resume::print(self, &whole).map_err(Stopped::After);
        }
        let mut executions = Executions::new(self, team, planned, sides, begun_ns);
        let done = executions.run_all(interrupt);
        if executions.is_empty()
            && let Err(error) = done
        {
            executions.abandon();
            return Err(error.into());
        }
        let stored = executions.store(done.is_err(), interrupt);
        let printed = executions.print();
        let exit = executions.tidy_up();
        if self.results.progress == ProgressForm::Json {
            stream::end(exit);
        }
        done.and(stored).and(printed).map(|()| exit).map_err(Stopped::After)
    }

    /// Checks options that need processes as ranks, and their number.
    pub fn check_ranks(&self) -> Result<()> {
        let simulated = self.execution.backend.is_simulated();
        if simulated && self.execution.wait {
            let message = "--wait needs ranks that are processes: not with --backend mem";
            return Err(Error::input(message));
        }
        let swept = self.sweep.ranks.iter().flat_map(|ranks| &ranks.0).copied();
        let ranks = swept.max().unwrap_or(self.ranks);
        if !simulated && ranks > MAX_PROCESSES {
            let message = format!(
                "{counted_ranks}: the limit is {MAX_PROCESSES} processes",
                counted_ranks = model::words::count(ranks, "rank")
            );
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
        "{} are in the environment, but no launcher of an MPI job can be reached: they were \
         inherited from another job",
        found.join(" ")
    );
    Err(Error::input(message).help(format!(
        "start it without them, env {} parabench ..., or by a launcher, mpiexec -n 2 parabench ...",
        unset.join(" ")
    )))
}
