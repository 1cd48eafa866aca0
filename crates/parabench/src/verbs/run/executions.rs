//! A run is a sweep: one cell once, or every cell of a grid several times.
//!
//! ```text
//! dimensions -> cells, each with its plan and checks ─┐
//!   ┌──────────────────────────────────────────────────┘
//!   └▶ block 0, 1, ... of all cells in random order:  clear ▸ settle ▸ execute ▸ collect ▸ add
//! ```
//!
//! Where A and B are compared, they are neighbouring cells: A and B of every point follow one
//! another in every block, in random order. Whatever happens after the ranks have started, what
//! they measured is printed and stored, and the directory is tidied up.

use super::args::Run;
use super::directory::Directory;
use super::header;
use super::interrupt::Interrupt;
use super::launch::{Job, Remains};
use super::nodes::Nodes;
use super::only;
use super::point::Point;
use super::points::Planned;
use super::progress::{self, Bar};
use super::sweep::grid::Sides;
use super::sweep::remarks;
use super::team::{Measured, Team};
use crate::args::ResultFormat;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::prepare;
use crate::present;
use crate::results::{EventSource, Folder};
use engine::clock::monotonic_raw_ns;
use engine::collect::collect;
use engine::comm::Progress;
use engine::config::Config;
use engine::supervise::{self, StartError};
use model::sweep::{SharedDevice, Sweep};
use model::units::format_ns;
use model::words;
use report::{merge, schedule};
use std::collections::HashMap;
use std::time::Duration;

/// How soon a pause notices that it is to end.
const SLICE: Duration = Duration::from_millis(20);

/// A waiting time that is worth a line.
const WORTH_SAYING: Duration = Duration::from_secs(2);

/// The executions of a run: all cells of a sweep in random order, or one.
pub struct Executions<'a> {
    args: &'a Run,
    team: Option<&'a Team>,
    sides: Sides,
    cells: Vec<Point>,
    /// The requested grid; otherwise one cell, once.
    grid: Sweep,
    folder: Option<Folder>,
    /// The run of all executions so far; without a sweep, of the only one.
    run: model::Run,
    /// Without a sweep, between its execution and the end: where its events are.
    events: Option<EventSource>,
    exit: Exit,
    /// Executions that a resumed sweep has already, by cell and repetition.
    earlier: HashMap<(u32, u32), model::Run>,
    /// Number of the first execution of this process.
    first: usize,
    /// Executions of this process, warm-up included.
    started: usize,
    /// Executions that are in `run`.
    recorded: usize,
    /// Directories that have been used, by number.
    used: Vec<bool>,
    interrupted: bool,
    /// By the time limit, and nobody before.
    timed_out: bool,
    /// When the command began, nanoseconds of the engine's monotonic clock.
    begun_ns: u64,
    /// When the time limit is over, nanoseconds of the engine's monotonic clock.
    deadline_ns: Option<u64>,
    /// An error ended it before its last execution.
    cut_off: bool,
}

impl<'a> Executions<'a> {
    /// Nothing is executed yet.
    pub fn new(
        args: &'a Run,
        team: Option<&'a Team>,
        planned: Planned,
        sides: Sides,
        begun_ns: u64,
    ) -> Executions<'a> {
        let Planned { cells, grid, folder, run, earlier, whole: _ } = planned;
        let first = earlier.next;
        let directories = sides.directories.len();
        Executions {
            earlier: earlier.executions,
            first,
            args,
            team,
            sides,
            cells,
            grid,
            folder,
            run,
            events: None,
            exit: Exit::Success,
            started: 0,
            recorded: 0,
            // What was there before may have been left by a killed execution.
            used: vec![first > 0; directories],
            interrupted: false,
            timed_out: false,
            begun_ns,
            deadline_ns: None,
            cut_off: false,
        }
    }

    /// Nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.recorded == 0
    }

    /// Nothing was measured: nothing stays.
    pub fn abandon(self) {
        self.folder.iter().for_each(|folder| folder.abandon());
    }

    /// Remarks on the whole, and DIR/run.json. `is_cut_off`: an error ended the executions.
    pub fn store(&mut self, is_cut_off: bool, interrupt: &Interrupt) -> Result<()> {
        self.cut_off = is_cut_off;
        if !self.cut_off && !self.interrupted {
            self.run.run.sweep.iter_mut().for_each(|sweep| sweep.rest = None);
        }
        let advice = self.folder.as_ref().map_or(String::new(), Folder::advice);
        progress::during(self.args.results.quiet, "storing the results", || {
            interrupt.storing(advice, || self.finish())
        })
    }

    /// Prints what was measured.
    pub fn print(&self) -> Result<()> {
        let format = self.args.results.format;
        if self.args.results.quiet && format == ResultFormat::Table {
            present::failures(&self.run);
            return Ok(());
        }
        present::print(&self.run, format, self.args.results.verbose.detail())
    }

    /// Gives the directories back; the exit code of the run.
    pub fn tidy_up(self) -> Exit {
        let quiet = self.args.results.quiet;
        let left = self.sides.directories.iter().filter(|directory| !directory.finish(quiet));
        match left.count() {
            0 => self.exit,
            _ => self.exit.and(Exit::Failed),
        }
    }

    /// The rules of a sweep hold: executions are put together, also a single one.
    fn is_sweep(&self) -> bool {
        self.args.sweep.is_asked_for()
    }

    /// Warm-up, then one block of cells after the other.
    pub fn run_all(&mut self, interrupt: &Interrupt) -> Result<()> {
        let limit_ns = self.args.execution.time_limit;
        self.deadline_ns = limit_ns.map(|limit_ns| monotonic_raw_ns().saturating_add(limit_ns));
        let blocks = self.grid.warm_up + self.grid.reps;
        let executions = self.cells.len() as u64 * u64::from(blocks);
        self.announce(executions);
        self.say_what_stays();
        let mut bar = Bar::new(self.is_sweep().then_some(executions), &self.args.results);
        let mut active: Vec<bool> = vec![true; self.cells.len()];
        let mut done = Ok(());
        for block in 0..blocks {
            done = self.block(block, &mut active, interrupt, &mut bar);
            if done.is_err() || self.interrupted {
                break;
            }
        }
        bar.clear();
        self.take_what_is_there();
        done
    }

    /// Whoever compares waits for many executions: how many, before the first.
    fn announce(&self, executions: u64) {
        if self.grid.versus && self.args.says_of_blocks() {
            let blocks = words::count(self.grid.reps, "block");
            console::note(&format!(
                "{executions} executions: {blocks} of A and B{}",
                self.warm_up()
            ));
        }
    }

    /// Repetitions find the files of the one before, unless the directory is emptied or the program removes them.
    fn say_what_stays(&self) {
        let repeats = self.grid.reps + self.grid.warm_up > 1;
        if repeats && self.keeps_files() && self.args.says_of_blocks() {
            console::note(remarks::FILES_STAY);
        }
    }

    /// Files of an execution are still there in the next one.
    fn keeps_files(&self) -> bool {
        let directory = &self.args.directory;
        directory.dir.is_some()
            && !directory.clean
            && self.cells.iter().any(|point| point.rehearsal.leaves_files)
    }

    fn warm_up(&self) -> String {
        match self.grid.warm_up {
            0 => String::new(),
            warm_up => format!(", after {} to warm up", words::count(warm_up, "block")),
        }
    }

    /// How long the others take, from the first of this process.
    fn estimate(&self, block: u32, first: Duration) {
        let blocks = self.grid.warm_up + self.grid.reps - block;
        let left = (self.cells.len() as u32 * blocks).saturating_sub(1) * first;
        if self.grid.versus && self.args.says_of_blocks() && left >= WORTH_SAYING {
            console::note(&format!("about {} left", format_ns(left.as_nanos() as f64)));
        }
    }

    fn block(
        &mut self,
        block: u32,
        active: &mut [bool],
        interrupt: &Interrupt,
        bar: &mut Bar,
    ) -> Result<()> {
        let repetition = block.checked_sub(self.grid.warm_up);
        for cell in self.order(u64::from(block)) {
            // Also of a cell that may rest: what is there stays.
            if self.is_there(cell, repetition) {
                bar.count_earlier();
                continue;
            }
            if !active[cell as usize] {
                bar.skip();
                continue;
            }
            let place = self.place(cell, block);
            if self.is_sweep() {
                self.between(place, interrupt);
            }
            if self.interrupted {
                return Ok(());
            }
            bar.begin(&self.grid.describe(cell));
            let begun_ns = monotonic_raw_ns();
            self.execution(cell, (place, repetition), interrupt, bar)?;
            if self.started == 1 {
                self.estimate(block, Duration::from_nanos(monotonic_raw_ns() - begun_ns));
            }
        }
        if let Some(repetition) = repetition {
            self.stop_narrow(repetition + 1, active);
        }
        Ok(())
    }

    /// An execution before this process: its figures are taken over in the order of all. Nobody warms
    /// up for executions that are all there.
    fn is_there(&mut self, cell: u32, repetition: Option<u32>) -> bool {
        let Some(repetition) = repetition else {
            return (0..self.grid.reps).all(|one| self.earlier.contains_key(&(cell, one)));
        };
        let Some(run) = self.earlier.remove(&(cell, repetition)) else { return false };
        self.exit = self.exit.and(Exit::from_code(run.run.exit_code));
        self.recorded += 1;
        merge::add(&mut self.run, run);
        true
    }

    /// Executions before this process that come after one at which it was stopped.
    fn take_what_is_there(&mut self) {
        for repetition in 0..self.grid.reps {
            if self.earlier.is_empty() {
                return;
            }
            for cell in self.order(u64::from(self.grid.warm_up + repetition)) {
                self.is_there(cell, Some(repetition));
            }
        }
    }

    /// The cells in the order of a block.
    fn order(&self, block: u64) -> Vec<u32> {
        let order = if self.grid.versus { schedule::pairs } else { schedule::block };
        order(self.cells.len() as u32, self.run.run.seed, block)
    }

    /// The number of the directory in which a cell is executed in a block.
    fn place(&self, cell: u32, block: u32) -> usize {
        let swaps = self.grid.shared_device == Some(SharedDevice::Swapped);
        let side = if swaps { cell + block % 2 } else { cell };
        side as usize % self.sides.directories.len()
    }

    /// Before an execution: the directory as at first, and rest.
    fn between(&mut self, place: usize, interrupt: &Interrupt) {
        let again = std::mem::replace(&mut self.used[place], true);
        // A and B share the further ones.
        let used = [again, self.first + self.started > 0];
        let directory = &self.sides.directories[place];
        if !directory.clear(self.args.directory.clean, used) {
            self.exit = self.exit.and(Exit::Failed);
        }
        // Virtual time does not settle.
        let simulated = self.args.execution.backend.is_simulated();
        let settle_ns = if simulated { 0 } else { self.grid.settle_ns };
        let mut left = Duration::from_nanos(settle_ns);
        while !left.is_zero() && !interrupt.requested() && !self.is_time_up() {
            let slice = left.min(SLICE);
            std::thread::sleep(slice);
            left -= slice;
        }
        if interrupt.requested() {
            self.interrupted = true;
            self.exit = self.exit.and(Exit::Interrupted);
        } else if self.is_time_up() {
            (self.interrupted, self.timed_out) = (true, true);
        }
    }

    /// Executes a cell once; `None`: to warm up, without a trace.
    fn execution(
        &mut self,
        cell: u32,
        (place, repetition): (usize, Option<u32>),
        interrupt: &Interrupt,
        bar: &mut Bar,
    ) -> Result<()> {
        let (mut run, own) = self.begin(cell, repetition)?;
        let folder = if self.is_sweep() { own.as_ref() } else { self.folder.as_ref() };
        let config = self.config((cell, place), repetition, folder);
        self.prepare_files(cell, place)?;
        let measured = self.measure((cell, place), &config, folder, &mut |progress| {
            interrupt.pass_on();
            bar.show(progress);
        });
        let Measured { outcome, collected, nodes, events } = measured?;
        (run.run.node_rows, run.run.node_use) = (nodes.rows, nodes.uses);
        self.started += 1;
        if outcome.hangs {
            self.sides.directories.iter().for_each(Directory::leave);
        }
        let (plan, strict) = (&self.cells[cell as usize].plan, self.args.results.strict);
        let exit = header::complete(&mut run, &outcome, collected, plan, strict);
        // Without all processes nothing more can be done together.
        let is_last = self.team.is_some_and(|team| !team.is_complete());
        self.interrupted |= outcome.interrupted || is_last;
        self.timed_out |= outcome.timed_out;
        if repetition.is_some() || outcome.interrupted {
            self.exit = self.exit.and(exit);
        }
        let Some(repetition) = repetition else { return Ok(()) };
        self.recorded += 1;
        if !self.is_sweep() {
            (self.run, self.events) = (run, Some(events));
            return Ok(());
        }
        if outcome.timed_out {
            // Of a sweep, the time limit ends the whole.
            run.run.outcome = "interrupted".into();
        }
        merge::stamp(&mut run, cell, repetition);
        let stored = own
            .map_or(Ok(()), |own| interrupt.storing(own.advice(), || own.finish(&mut run, events)));
        merge::add(&mut self.run, run);
        stored
    }

    /// Makes the files that the program expects to find.
    fn prepare_files(&self, cell: u32, place: usize) -> Result<()> {
        let expected = &self.cells[cell as usize].expected;
        // A simulation begins with them.
        if expected.is_empty() || self.args.is_simulated() {
            return Ok(());
        }
        let directory = &self.sides.directories[place];
        let parts = prepare::missing(&directory.named(), expected)?;
        prepare::make(&parts, self.run.run.seed)
    }

    /// Lets the ranks run to their end, and merges what they measured: ranks of an MPI job, or those that this process
    /// forks or simulates.
    fn measure(
        &self,
        (cell, place): (u32, usize),
        config: &Config,
        folder: Option<&Folder>,
        on_progress: &mut dyn FnMut(&Progress),
    ) -> Result<Measured> {
        let Point { plan, members, expected, .. } = &self.cells[cell as usize];
        if let Some(team) = self.team {
            // Whoever started the job has to put this in order, should all ranks be killed.
            if let (Some(remains), Some(whole)) = (Remains::wanted(), &self.folder) {
                let directory = &self.sides.directories[place];
                let directories = directory.removed(self.args);
                remains.leave(&Job { results: whole.path().into(), directories });
            }
            return team.lead(*members, plan, config, folder.map(Folder::path), on_progress);
        }
        let mut outcome =
            supervise::run(plan, config, expected, on_progress).map_err(not_started)?;
        let quiet = self.args.results.quiet;
        let collected = progress::during(quiet, "adding up what the ranks recorded", || {
            collect(&outcome.records, plan)
        });
        let events = EventSource::Records(std::mem::take(&mut outcome.records));
        Ok(Measured { outcome, collected, nodes: Nodes::default(), events })
    }

    /// The run of an execution as far as it is known, and the folder that it has in a sweep: they
    /// are stored, should this process be killed.
    fn begin(
        &mut self,
        cell: u32,
        repetition: Option<u32>,
    ) -> Result<(model::Run, Option<Folder>)> {
        let is_sweep = self.is_sweep();
        let bound = &mut self.cells[cell as usize];
        // Programs are large: what is needed once is not copied.
        let mut run = if is_sweep { bound.run.clone() } else { std::mem::take(&mut bound.run) };
        let needs = self.args.needs(
            &bound.rehearsal,
            self.sides.directory(0),
            self.team.map_or(1, Team::nodes),
        );
        let own = match (&mut self.folder, repetition) {
            (Some(whole), Some(repetition)) if is_sweep => {
                let mut own = whole.execution(self.first + self.started)?;
                merge::stamp(&mut run, cell, repetition);
                own.begin(&mut run, &bound.plan, &needs)?;
                Some(own)
            }
            (Some(folder), _) if !is_sweep => {
                folder.begin(&mut run, &bound.plan, &needs)?;
                None
            }
            _ => None,
        };
        Ok((run, own))
    }

    fn config(
        &self,
        (cell, place): (u32, usize),
        repetition: Option<u32>,
        folder: Option<&Folder>,
    ) -> Config {
        let bound = &self.cells[cell as usize];
        let directory = &self.sides.directories[place];
        let nodes = self.team.map_or(1, Team::nodes);
        let config = self.args.config(&bound.rehearsal, directory, &bound.confined, folder, nodes);
        Config {
            wait_for_signal: config.wait_for_signal && self.started == 0,
            execution: (self.first + self.started) as u32,
            deadline_ns: self.deadline_ns,
            events: config.events.filter(|_| repetition.is_some()),
            ..config
        }
    }

    /// Cells whose figures are sure enough rest from now on.
    fn stop_narrow(&self, repetitions: u32, active: &mut [bool]) {
        let Some(share) = self.grid.until_ci else { return };
        if repetitions < schedule::LEAST_UNTIL_CI {
            return;
        }
        for (cell, active) in (0..).zip(active) {
            *active &= !schedule::is_narrow(&self.run, cell, share);
        }
    }

    fn finish(&mut self) -> Result<()> {
        let missed: Vec<String> = only::missed(&self.args.execution.only, &self.run).collect();
        missed.iter().for_each(|missed| console::warning(missed));
        self.run.run.evidence.notes.extend(missed);
        // In virtual time a run takes the same every time.
        let is_alone = self.first == 0 && !self.args.execution.backend.is_simulated();
        self.run.run.command_ns =
            is_alone.then(|| monotonic_raw_ns().saturating_sub(self.begun_ns));
        match self.is_sweep() {
            true => self.conclude(),
            false => self.note_events(),
        }
        match (&self.folder, self.events.take()) {
            (Some(folder), Some(events)) => folder.finish(&mut self.run, events),
            (Some(folder), None) => folder.finish_sweep(&mut self.run),
            (None, _) => Ok(()),
        }
    }

    fn is_time_up(&self) -> bool {
        self.deadline_ns.is_some_and(|deadline_ns| monotonic_raw_ns() >= deadline_ns)
    }

    fn note_events(&mut self) {
        let stay = self.folder.as_ref().is_some_and(Folder::stays);
        if self.args.results.events.is_some() && !stay {
            console::note("events were kept but not stored: add --out DIR");
            self.run.run.events = None;
        }
    }

    /// How the sweep ended, and what there is to say of it.
    fn conclude(&mut self) {
        let header = &mut self.run.run;
        let outcome = header.sweep.as_ref().map_or("finished", merge::outcome);
        header.outcome = match (self.interrupted, self.cut_off) {
            (true, _) if self.timed_out => "time limit".into(),
            (true, _) => "interrupted".into(),
            (false, true) => "cut off".into(),
            (false, false) => outcome.into(),
        };
        let failed = if self.cut_off { Exit::Failed } else { Exit::Success };
        header.exit_code = self.exit.and(failed).code();
        let notes = remarks::collect_notes(self.args, &self.run);
        self.run.run.evidence.notes.extend(notes);
        self.run.run.evidence.marks.extend(report::rules::sweep_marks(&self.run));
    }
}

/// Nothing was measured: a limit of this machine stands against it, or something failed.
fn not_started(error: StartError) -> Error {
    let exit = match error {
        StartError::Config(_) => Exit::Input,
        StartError::Interrupted => Exit::Interrupted,
        StartError::Io { .. } | StartError::Rank { .. } => Exit::Failed,
    };
    Error { exit, ..Error::failed(error.to_string()) }
}
