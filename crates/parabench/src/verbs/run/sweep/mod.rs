//! `run --sweep`, `--reps`: the program at every point of a grid, several times, as one run.
//!
//! ```text
//! dimensions -> cells, each with its plan and checks ─┐
//!   ┌──────────────────────────────────────────────────┘
//!   └▶ block 0, 1, ... of all cells in random order:  clear ▸ settle ▸ execute ▸ collect ▸ add
//! ```
//!
//! Where A and B are compared, they are neighbouring cells: A and B of every point follow one
//! another in every block, in random order.
//!
//! All cells are compiled and checked before the first execution, and the plans are kept: what
//! happens to the program's file meanwhile changes nothing.

mod args;
mod grid;
mod schedule;
mod values;
mod versus;

pub use args::Sweep;

use super::args::Run;
use super::interrupt::Interrupt;
use super::measure::not_started;
use super::place::Place;
use super::progress::{self, Bar};
use super::{Bound, Stopped};
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::present;
use crate::program::Text;
use crate::results::{EventSource, Folder, merge};
use engine::config::{BackendKind, Records};
use engine::record::collect;
use engine::supervise;
use model::errno;
use model::sweep::{Cell, DimensionKind};
use std::time::Duration;
use versus::Versus;

/// Repetitions of each cell at most if only `--until-ci` is given.
const REPS_UNTIL_CI: u32 = 100;
/// How soon a pause notices that it is to end.
const SLICE: Duration = Duration::from_millis(20);

/// A sweep that nothing stands against any more.
struct Ready<'a> {
    args: &'a Run,
    versus: Versus,
    bound: Vec<Bound>,
    folder: Option<Folder>,
    /// What is known of the whole.
    run: model::Run,
    exit: Exit,
    /// Executions so far, warm-up included.
    started: usize,
    /// A's and B's directory have been used.
    used: [bool; 2],
    interrupted: bool,
}

/// Executes the sweep, prints, stores and tidies up.
pub fn execute(
    run: &Run,
    text: &Text,
    place: Place,
    interrupt: &Interrupt,
) -> std::result::Result<Exit, Stopped> {
    let versus = match Versus::open(run, text, &place) {
        Ok(versus) => versus,
        Err(error) => {
            place.discard();
            return Err(error.into());
        }
    };
    match prepare(run, text, &place, &versus, interrupt) {
        Ok(prepared) => prepared.ready(run, versus).go(place, interrupt),
        Err(error) => {
            place.discard();
            versus.place.into_iter().for_each(Place::discard);
            Err(error.into())
        }
    }
}

/// What [`prepare`] comes to.
struct Prepared {
    bound: Vec<Bound>,
    folder: Option<Folder>,
    run: model::Run,
}

impl Prepared {
    fn ready(self, args: &Run, versus: Versus) -> Ready<'_> {
        let Prepared { bound, folder, run } = self;
        let exit = Exit::Success;
        let (started, used, interrupted) = (0, [false; 2], false);
        Ready { args, versus, bound, folder, run, exit, started, used, interrupted }
    }
}

/// Everything that can refuse a sweep: all cells are bound and checked.
fn prepare(
    run: &Run,
    text: &Text,
    place: &Place,
    versus: &Versus,
    interrupt: &Interrupt,
) -> Result<Prepared> {
    let sweep = described(run, versus)?;
    check_names(run, text, place, &sweep)?;
    let mut bound: Vec<Bound> = Vec::new();
    for cell in 0..sweep.cells.len() as u32 {
        if interrupt.requested() {
            return Err(Error { exit: Exit::Interrupted, ..Error::input("interrupted") });
        }
        let binding = grid::binding(run, &sweep.dimensions, &sweep.values_at(cell));
        // Warnings are mostly those of all cells.
        let warnings = cell == 0 || (cell == 1 && versus.text.is_some());
        let (text, place) = (versus.text(cell, text).clone(), versus.place(cell, place));
        let name = sweep.describe(cell);
        let one = run.bind(text, &binding, place, None, warnings);
        bound.push(one.map_err(|error| Error {
            message: format!("at {name}: {}", error.message),
            ..error
        })?);
    }
    confine_alike(&mut bound);
    let mut whole = whole(&bound, sweep);
    let mut folder = match &run.results.out {
        Some(out) => {
            versus.place.iter().try_for_each(|b| Folder::outside(out, b.path()))?;
            Some(Folder::open(out, place.path(), run.place.force)?)
        }
        None => None,
    };
    if run.results.events.is_some() && folder.is_none() {
        console::note("events are not kept: add --out DIR to store them");
        whole.run.events = None;
    }
    if let Some(folder) = &mut folder {
        let needs = bound.iter().map(|bound| run.needs(&bound.plan, place, 1));
        let most = needs.max_by_key(|needs| needs.bytes);
        most.map_or(Ok(()), |needs| folder.begin_sweep(&mut whole, &needs))?;
    }
    Ok(Prepared { bound, folder, run: whole })
}

/// Points share the directory: if one may leave links there, all are confined.
fn confine_alike(bound: &mut [Bound]) {
    let is_confined = |one: &&Bound| one.confinement.confined.is_some();
    let Some(first) = bound.iter().find(is_confined) else { return };
    let confinement = first.confinement.clone();
    for one in bound.iter_mut().filter(|one| one.confinement.confined.is_none()) {
        one.confinement.confined = confinement.confined;
        one.run.run.evidence.confinement = confinement.name.into();
        one.run.run.evidence.notes.extend(confinement.notes.iter().cloned());
    }
}

/// The grid as it was asked for.
fn described(run: &Run, versus: &Versus) -> Result<model::sweep::Sweep> {
    let given = &run.sweep;
    let least = schedule::LEAST_UNTIL_CI;
    if given.until_ci.is_some() && given.reps.is_some_and(|reps| reps < least) {
        let message = format!("--until-ci needs at least {least} repetitions");
        return Err(Error::input(message).help("--reps is the largest number with --until-ci"));
    }
    let dimensions = grid::dimensions(run, versus.pair.as_ref())?;
    let count = dimensions.iter().map(|dimension| dimension.values.len()).product::<usize>();
    let default_reps = match (given.until_ci, &versus.pair) {
        (Some(_), _) => REPS_UNTIL_CI,
        (None, Some(_)) => versus::BLOCKS,
        (None, None) => 1,
    };
    Ok(model::sweep::Sweep {
        dimensions,
        cells: (0..count as u32).map(|cell| Cell { cell, ..Cell::default() }).collect(),
        order: Vec::new(),
        reps: given.reps.unwrap_or(default_reps),
        warm_up: given.warm_up,
        settle_ns: given.settle.unwrap_or(0),
        until_ci: given.until_ci,
        versus: versus.pair.is_some(),
    })
}

/// Refuses parameters that the program does not have, in the words of the option.
fn check_names(run: &Run, text: &Text, place: &Place, sweep: &model::sweep::Sweep) -> Result<()> {
    let Some(known) = run.parameter_names(text.clone(), place) else { return Ok(()) };
    let params = sweep.dimensions.iter().filter(|dimension| dimension.kind == DimensionKind::Param);
    let mut unknown = params.filter(|dimension| !known.contains(&dimension.name));
    let Some(model::sweep::Dimension { name: unknown, values, .. }) = unknown.next() else {
        return Ok(());
    };
    let option = match (&run.sweep.versus, values.first()) {
        (Some((name, value)), _) if name == unknown => format!("--versus {name}={value}"),
        (_, first) => format!("--sweep {unknown}={},..", first.map_or("", String::as_str)),
    };
    let message = format!("{option}: the program has no parameter {unknown}");
    Err(Error::input(message).help(
        match ppl::suggest::nearest(unknown.as_str(), known.iter().map(String::as_str)) {
            Some(name) => format!("the nearest is {name}"),
            None if known.is_empty() => "it has none: param $name = default;".into(),
            None => format!("it has {}", known.join(" ")),
        },
    ))
}

/// The header of the whole sweep: what all cells share, and what tells them apart.
fn whole(bound: &[Bound], mut sweep: model::sweep::Sweep) -> model::Run {
    let Some(first) = bound.first() else { return model::Run::default() };
    let mut run = first.run.clone();
    let shared = |param: &model::run::Param| bound.iter().all(|b| b.run.run.params.contains(param));
    run.run.params.retain(shared);
    for (cell, bound) in sweep.cells.iter_mut().zip(bound) {
        cell.ranks = bound.plan.ranks;
        cell.params = bound.run.run.params.clone();
        cell.params.retain(|param| !run.run.params.contains(param));
        cell.host = Some(bound.run.run.host.clone()).filter(|host| *host != run.run.host);
    }
    for file in bound.iter().flat_map(|bound| &bound.run.run.program.files) {
        if run.run.program.files.iter().all(|known| known.name != file.name) {
            run.run.program.files.push(file.clone());
        }
    }
    run.run.ranks = sweep.cells.iter().map(|cell| cell.ranks).max().unwrap_or(0);
    run.run.sweep = Some(sweep);
    run
}

impl Ready<'_> {
    fn go(mut self, place: Place, interrupt: &Interrupt) -> std::result::Result<Exit, Stopped> {
        let done = self.all_blocks(&place, interrupt);
        let quiet = self.args.results.quiet;
        let finished = progress::during(quiet, "storing the results", || {
            interrupt.undisturbed(|| self.finish())
        });
        let shown = match quiet && self.args.results.format == crate::args::ResultFormat::Table {
            true => Ok(()),
            false => interrupt.last_words(self.interrupted, || {
                present::print(&self.run, self.args.results.format)
            }),
        };
        let others = self.versus.place.take();
        for place in std::iter::once(place).chain(others) {
            if !place.finish(quiet) {
                self.exit = self.exit.and(Exit::Failed);
            }
        }
        done.and(finished).and(shown).map_err(Stopped::After)?;
        Ok(self.exit)
    }

    fn sweep(&self) -> &model::sweep::Sweep {
        self.run.run.sweep.as_ref().expect("made with one")
    }

    /// Warm-up, then one block of cells after the other.
    fn all_blocks(&mut self, place: &Place, interrupt: &Interrupt) -> Result<()> {
        let (warm_up, reps) = (self.sweep().warm_up, self.sweep().reps);
        let count = self.bound.len() as u32;
        let all = u64::from(count) * u64::from(warm_up + reps);
        let mut bar = Bar::sweep(all, self.args.results.quiet);
        let mut active: Vec<bool> = vec![true; self.bound.len()];
        for block in 0..warm_up + reps {
            let repetition = block.checked_sub(warm_up);
            for cell in self.order(count, u64::from(block)) {
                if !active[cell as usize] {
                    bar.skip();
                    continue;
                }
                self.between(cell, place, interrupt);
                if self.interrupted {
                    bar.clear();
                    return Ok(());
                }
                bar.begin(&self.bound[cell as usize].plan, &self.sweep().describe(cell));
                self.execution(cell, repetition, place, interrupt, &mut bar)?;
            }
            if let Some(repetition) = repetition {
                self.stop_narrow(repetition + 1, &mut active);
            }
        }
        bar.clear();
        Ok(())
    }

    /// The cells in the order of a block.
    fn order(&self, count: u32, block: u64) -> Vec<u32> {
        let order = if self.sweep().versus { schedule::pairs } else { schedule::block };
        order(count, self.run.run.seed, block)
    }

    /// Before an execution: the directory as at first, and rest.
    fn between(&mut self, cell: u32, place: &Place, interrupt: &Interrupt) {
        let has_own = self.versus.place.is_some() && cell % 2 == 1;
        let used = &mut self.used[usize::from(has_own)];
        let again = std::mem::replace(used, true);
        if again && !self.versus.place(cell, place).clear(self.args.place.clean) {
            self.exit = self.exit.and(Exit::Failed);
        }
        // Virtual time does not settle.
        let simulated = self.args.backend() == BackendKind::Mem;
        let settle_ns = if simulated { 0 } else { self.sweep().settle_ns };
        let mut left = Duration::from_nanos(settle_ns);
        while !left.is_zero() && !interrupt.requested() {
            let slice = left.min(SLICE);
            std::thread::sleep(slice);
            left -= slice;
        }
        if interrupt.requested() {
            self.interrupted = true;
            self.exit = self.exit.and(Exit::Interrupted);
        }
    }

    /// Executes a cell once; `None`: to warm up, without a trace.
    fn execution(
        &mut self,
        cell: u32,
        repetition: Option<u32>,
        place: &Place,
        interrupt: &Interrupt,
        bar: &mut Bar,
    ) -> Result<()> {
        let bound = &self.bound[cell as usize];
        let mut run = bound.run.clone();
        let mut folder = None;
        if let (Some(repetition), Some(whole)) = (repetition, &self.folder) {
            let mut own = whole.execution(self.started)?;
            merge::stamp(&mut run, cell, repetition);
            own.begin(&mut run, &bound.plan, &self.args.needs(&bound.plan, place, 1))?;
            folder = Some(own);
        }
        let place = self.versus.place(cell, place);
        let mut config =
            self.args.config(&bound.plan, place, &bound.confinement, folder.as_ref(), 1);
        config.wait_for_signal &= self.started == 0;
        config.execution = self.started as u32;
        if folder.is_none() {
            (config.records, config.events) = (Records::Memory, None);
            run.run.events = None;
        }
        self.started += 1;
        let outcome = supervise::run(&bound.plan, &config, &mut |progress| {
            interrupt.pass_on();
            bar.show(progress);
        });
        let mut outcome = outcome.map_err(not_started)?;
        let collected = collect(&outcome.records, &bound.plan);
        let exit = self.args.assess(&mut run, &outcome, collected, &bound.plan);
        self.interrupted |= outcome.interrupted;
        let Some(repetition) = repetition else {
            if outcome.interrupted {
                self.exit = self.exit.and(exit);
            }
            return Ok(());
        };
        self.exit = self.exit.and(exit);
        merge::stamp(&mut run, cell, repetition);
        let events = EventSource::Records(std::mem::take(&mut outcome.records));
        let stored = folder
            .map_or(Ok(()), |folder| interrupt.undisturbed(|| folder.finish(&mut run, events)));
        merge::add(&mut self.run, run);
        stored
    }

    /// Cells whose figures are sure enough rest from now on.
    fn stop_narrow(&self, repetitions: u32, active: &mut [bool]) {
        let Some(share) = self.sweep().until_ci else { return };
        if repetitions < schedule::LEAST_UNTIL_CI {
            return;
        }
        for (cell, active) in (0..).zip(active) {
            *active &= !schedule::is_narrow(&self.run, cell, share);
        }
    }

    /// Remarks on the whole, and DIR/run.json.
    fn finish(&mut self) -> Result<()> {
        let missed = super::only::missed(&self.args.execution.only, &self.run);
        let mut notes: Vec<String> = missed.collect();
        notes.extend(report::statistics::drift(&self.run));
        notes.extend(self.stopped_optionally());
        notes.extend(self.leftovers());
        if self.interrupted {
            let (done, all) = (self.sweep().order.len(), self.bound.len() as u64);
            let all = all * u64::from(self.sweep().reps);
            notes.push(format!("interrupted after {done} of at most {all} executions"));
        }
        let outcome = merge::outcome(self.sweep());
        let header = &mut self.run.run;
        header.evidence.notes.extend(notes);
        header.outcome = if self.interrupted { "interrupted".into() } else { outcome.into() };
        header.exit_code = self.exit.code();
        match &self.folder {
            Some(folder) => folder.finish_sweep(&mut self.run),
            None => Ok(()),
        }
    }

    /// What `--until-ci` came to.
    fn stopped_optionally(&self) -> Option<String> {
        let share = self.sweep().until_ci?;
        let count = |cell: u32| self.sweep().order.iter().filter(|e| e.cell == cell).count();
        let counts: Vec<usize> = (0..self.bound.len() as u32).map(count).collect();
        let (least, most) = (counts.iter().min()?, counts.iter().max()?);
        let enough = *least >= schedule::LEAST_UNTIL_CI as usize;
        let is_narrow = |cell: &u32| enough && schedule::is_narrow(&self.run, *cell, share);
        let narrow = (0..self.bound.len() as u32).filter(is_narrow).count();
        Some(format!(
            "--until-ci {}%: {narrow} of {} points reached it, after {least} to {most} repetitions; \
             their number depends on the results (optional stopping), so the intervals promise a \
             little too much",
            share * 100.0,
            counts.len()
        ))
    }

    /// Files of one execution that stood in the way of the next.
    fn leftovers(&self) -> Option<String> {
        let failures = &self.run.run.failures;
        let first = self.sweep().order.first().map(|e| (e.cell, e.repetition))?;
        let later = |wanted: &[&str]| {
            let of = |f: &&model::run::Failure| wanted.contains(&errno::name(f.errno));
            let found = failures.iter().filter(of).map(|f| (f.cell, f.repetition));
            let found: Vec<_> = found.collect();
            !found.is_empty() && (self.sweep().warm_up > 0 || !found.contains(&first))
        };
        let dir = self.args.place.dir.is_some();
        if dir && !self.args.place.clean && later(&["EEXIST", "ENOTEMPTY"]) {
            return Some(
                "an execution found files of the one before, because --dir keeps them: add --clean, \
                 or let the program remove what it makes"
                    .into(),
            );
        }
        ((!dir || self.args.place.clean) && self.started > 1 && later(&["ENOENT"])).then(|| {
            "an execution missed files that the first one found: the directory is emptied between \
             executions; --dir without --clean keeps what is in it"
                .into()
        })
    }
}
