//! `parabench run`: a program goes in, a run comes out.
//!
//! ```text
//! text -> directory -> plan -> preflight -> ranks -> collect -> Run -> report, store
//! ```
//!
//! Whatever happens after the ranks have started, what they measured is printed
//! and stored, and the directory is tidied up.

mod args;
mod header;
mod interrupt;
mod only;
mod place;
mod progress;
mod verdict;

pub use args::Run;

use crate::args::ResultFormat;
use crate::compile::{self, Ranks};
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::present;
use crate::program::{self, Text};
use crate::results::{self, Folder};
use args::Backend;
use engine::config::{BackendKind, Config, Records};
use engine::machine::Settings;
use engine::record::{EventsConfig, collect};
use engine::supervise::{self, Outcome};
use interrupt::Interrupt;
use model::Plan;
use place::Place;
use progress::Bar;

/// Most ranks that are processes: a typing error must not take the machine down.
const MAX_PROCESSES: u32 = 4096;
/// File descriptors that `print` writes to.
const STDOUT: i32 = 1;
const STDERR: i32 = 2;

impl Run {
    /// Runs the program. With `--format json` standard output holds one object even if
    /// nothing could be run.
    pub fn execute(self) -> Result<Exit> {
        let run = self.resolved();
        let end = run.attempt();
        if let (Err(Stopped::Before(error)), ResultFormat::Json) = (&end, run.results.format) {
            present::print(&header::refused(&run, error), ResultFormat::Json)?;
        }
        end.map_err(Stopped::into_error)
    }

    fn attempt(&self) -> std::result::Result<Exit, Stopped> {
        self.check_ranks()?;
        let text = program::read(&self.program.program)?;
        // From here on there may be a directory to tidy up.
        let interrupt = Interrupt::watch();
        let place = Place::open(self)?;
        match self.prepare(text, &place, &interrupt) {
            Ok(ready) => ready.go(place, &interrupt),
            Err(error) => {
                place.discard();
                Err(error.into())
            }
        }
    }

    /// What only ranks that are processes can do, and how many of those there can be.
    fn check_ranks(&self) -> Result<()> {
        let simulated = self.execution.backend == Backend::Mem;
        if simulated && self.execution.wait {
            let message = "--wait needs ranks that are processes: not with --backend mem";
            return Err(Error::input(message));
        }
        if !simulated && self.ranks > MAX_PROCESSES {
            let message = format!("-n {}: the limit is {MAX_PROCESSES} processes", self.ranks);
            return Err(Error::input(message).help("--backend mem simulates up to a million ranks"));
        }
        Ok(())
    }

    /// Everything that can refuse a run, before anything of it happens.
    fn prepare(&self, text: Text, place: &Place, interrupt: &Interrupt) -> Result<Ready<'_>> {
        let name = text.name.clone();
        let ranks = Ranks { count: self.ranks, assumed: false };
        let compiled = compile::compile(text, &self.program, ranks, place.name(), false);
        if compiled.plan.is_none() || !self.results.quiet {
            compile::show(&compiled, &name);
        }
        let plan = compile::plan(compiled, &name)?;
        only::check(&self.execution.only, &plan)?;
        let confinement = place.confinement(self, &plan)?;
        let mut notes = confinement.notes.clone();
        notes.extend(place.preflight(self, &plan)?);
        let folder = match &self.results.out {
            Some(out) => Some(Folder::open(out, place.path(), self.place.force)?),
            None => None,
        };
        let mut run = header::provisional(self, &plan, &name, place);
        run.run.evidence.confinement = confinement.name.into();
        run.run.evidence.notes = notes;
        if interrupt.requested() {
            return Err(Error { exit: Exit::Interrupted, ..Error::input("interrupted") });
        }
        if let Some(folder) = &folder {
            folder.begin(&run, &plan)?;
        }
        let config = self.config(&plan, place, &confinement, folder.as_ref());
        Ok(Ready { args: self, plan, config, folder, run })
    }

    fn config(
        &self,
        plan: &Plan,
        place: &Place,
        confinement: &place::Confinement,
        folder: Option<&Folder>,
    ) -> Config {
        Config {
            directory: place.path().map(Into::into).unwrap_or_default(),
            backend: self.backend(),
            landlock: confinement.landlock,
            guarded: confinement.guarded,
            events: self.results.events.map(|bytes| events(plan, bytes)),
            records: folder.map_or(Records::Memory, |folder| Records::Directory(folder.ranks())),
            wait_for_signal: self.execution.wait,
            settings: Settings {
                agile: self.execution.agile,
                stop_on_error: self.execution.on_error == args::OnError::Stop,
                strict: self.results.strict,
                only: self.execution.only.clone(),
                print_fd: match self.results.format {
                    _ if self.results.quiet => None,
                    ResultFormat::Table => Some(STDOUT),
                    _ => Some(STDERR),
                },
            },
        }
    }

    fn backend(&self) -> BackendKind {
        match self.execution.backend {
            Backend::Posix => BackendKind::Posix,
            Backend::Null => BackendKind::Null,
            Backend::Mem => BackendKind::Mem,
        }
    }
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

/// Memory for events: what was given is for all ranks together.
fn events(plan: &Plan, bytes: u64) -> EventsConfig {
    let operations = |budget: &model::plan::Budget| budget.ops.iter().map(|(_, op)| op.count).sum();
    let expected = plan.budget.iter().map(|(_, budget)| operations(budget)).max().unwrap_or(0);
    EventsConfig { max_bytes: bytes / u64::from(plan.ranks.max(1)), expected }
}

/// A run that nothing stands against any more.
struct Ready<'a> {
    args: &'a Run,
    plan: Plan,
    config: Config,
    folder: Option<Folder>,
    run: model::Run,
}

impl Ready<'_> {
    /// Lets the ranks run, then prints, stores and tidies up.
    fn go(mut self, place: Place, interrupt: &Interrupt) -> std::result::Result<Exit, Stopped> {
        let mut bar = Bar::new(&self.plan, self.args.results.quiet);
        let outcome = supervise::run(&self.plan, &self.config, &mut |progress| {
            interrupt.pass_on();
            bar.show(progress);
        });
        bar.clear();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                place.discard();
                self.folder.iter().for_each(Folder::abandon);
                return Err(Error::failed(error.to_string()).into());
            }
        };
        let exit = self.fill(&outcome);
        let stored = match &self.folder {
            Some(folder) => folder.finish(&mut self.run, &outcome.records),
            None => Ok(()),
        };
        let format = self.args.results.format;
        let shown = match self.args.results.quiet && format == ResultFormat::Table {
            true => Ok(()),
            false => present::print(&self.run, format),
        };
        place.finish(self.args.results.quiet);
        stored.and(shown).map_err(Stopped::After)?;
        Ok(exit)
    }

    /// Turns what the ranks left into the run.
    fn fill(&mut self, outcome: &Outcome) -> Exit {
        results::fill(&mut self.run, collect(&outcome.records, &self.plan));
        header::complete(&mut self.run, outcome, &self.plan);
        let exit = verdict::judge(&mut self.run, outcome, self.args.results.strict);
        let missed: Vec<String> = only::missed(&self.args.execution.only, &self.run).collect();
        self.run.run.evidence.notes.extend(missed);
        if self.config.events.is_some() && self.folder.is_none() {
            console::note("events were kept but not stored: add --out DIR");
            self.run.run.events = None;
        }
        exit
    }
}
