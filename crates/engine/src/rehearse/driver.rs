//! Rehearses a plan within limits.
//!
//! First every step is executed. Where that takes more than the limits allow, the plan is rehearsed again
//! with few iterations of each loop, and with four times as many, until they would take too long: the
//! last rehearsal that came to the end of the program counts.
//!
//! Each rank is observed besides its calls (steps, iterations, the order between ranks); at the end the tallies of the
//! ranks become the figures of a [`model::rehearsal::Rehearsal`].

use super::backend::Rehearsed;
use super::doubts;
use super::sample::LongLoop;
use super::stage::{Budget, Stage, State, Tally};
use crate::backend::{MemFs, MpiFiles, Pointers};
use crate::buffer::Buffers;
use crate::clock::Virtual;
use crate::comm::{Comm, NodePlace, Numbers, Observer, Sample, Sim, World};
use crate::config::{BackendKind, Config};
use crate::recorder::RankRecord;
use crate::stop;
use crate::supervise::{Outcome, StartError, simulate};
use model::event::NO_ID;
use model::plan::{Function, Instr, Internal, NO_SLOT, Pc, Piece, SetId};
use model::rehearsal::{Expected, OpFigures, Peak, RankFigures, Rehearsal, SiteFigures};
use model::{Op, Plan};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// Most ranks: a simulated rank takes some microseconds and kilobytes even if it does nothing.
pub const RANKS_MAX: u32 = 1 << 14;

/// Iterations of a loop in the first rehearsal that leaves some out, and the factor to the next one.
const FEW: u64 = 4;
const MORE: u64 = 4;

/// Limits of a rehearsal. It takes up to twice as much if iterations are left out.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Statements and iterations of all ranks together.
    pub steps: u64,
    /// CPU time, after the first 2^18 steps. Figures depend on the machine where it ends a rehearsal.
    pub time: Option<Duration>,
    /// Each instruction has figures of its own ([`RankFigures::sites`]).
    pub by_site: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 1 << 22, time: Some(Duration::from_secs(1)), by_site: false }
    }
}

impl Limits {
    /// Limits under which files that must be there before are searched, in all iterations: some seconds.
    const SEARCH: Limits = Limits { steps: 1 << 26, time: None, by_site: false };

    fn divided_by(self, divisor: u32) -> Limits {
        Limits {
            steps: self.steps / u64::from(divisor),
            time: self.time.map(|time| time / divisor),
            ..self
        }
    }
}

/// Rehearses a plan. `finds_files`: files that it has not made may be there from before. Where the
/// ranks cannot be simulated (too many, interrupted, no memory) nothing is known.
pub fn rehearse(plan: &Plan, config: &Config, finds_files: bool) -> Rehearsal {
    rehearse_within(plan, config, finds_files, Limits::default())
}

/// The same within other limits.
pub fn rehearse_within(
    plan: &Plan,
    config: &Config,
    finds_files: bool,
    limits: Limits,
) -> Rehearsal {
    let unknown = || Rehearsal {
        ranks: vec![(0..plan.ranks, RankFigures::default())],
        about: true,
        ..Rehearsal::default()
    };
    if plan.ranks > RANKS_MAX {
        return unknown();
    }
    let Ok(whole) = perform(plan, config, finds_files, limits, u64::MAX) else { return unknown() };
    // A request to stop is forgotten by the next simulation: there is none.
    match whole.is_spent && !stop::requested() {
        true => leave_out(plan, config, finds_files, limits).unwrap_or(whole.rehearsal),
        false => whole.rehearsal,
    }
}

/// Rehearses with as many iterations of each loop as the limits allow.
fn leave_out(plan: &Plan, config: &Config, finds_files: bool, limits: Limits) -> Option<Rehearsal> {
    let (mut iterations, mut steps, mut best) = (FEW, 0, None);
    loop {
        // The first one has to end if any can.
        let limits = if best.is_none() { limits } else { limits.divided_by(2) };
        let next = perform(plan, config, finds_files, limits, iterations).ok()?;
        if !next.rehearsal.complete || stop::requested() {
            return best;
        }
        best = Some(next.rehearsal);
        // With more iterations no more was executed: processor time ended the first rehearsal, or a limit in the
        // program's own time ends its loops.
        if next.steps <= steps || next.steps.saturating_mul(MORE) > limits.steps {
            return best;
        }
        (iterations, steps) = (iterations.saturating_mul(MORE), next.steps);
    }
}

/// Finds the files that must exist before the plan starts, by rehearsing every iteration.
///
/// # Errors
/// The program ends early, says why; `None`: the ranks cannot be simulated, or there are too many
/// steps.
pub fn expected(plan: &Plan, config: &Config) -> Result<Vec<Expected>, Option<String>> {
    if plan.ranks > RANKS_MAX {
        return Err(None);
    }
    let found = perform(plan, config, true, Limits::SEARCH, u64::MAX).map_err(|_| None)?;
    let found = found.rehearsal;
    if found.complete { Ok(found.expected) } else { Err(found.failure) }
}

/// One rehearsal.
struct Performed {
    rehearsal: Rehearsal,
    /// It was ended by its limits.
    is_spent: bool,
    steps: u64,
}

fn perform(
    plan: &Plan,
    config: &Config,
    finds_files: bool,
    limits: Limits,
    iterations_max: u64,
) -> Result<Performed, StartError> {
    let mut config = Config { backend: BackendKind::Mem, events: None, ..config.clone() };
    config.settings.print_fd = None;
    config.settings.agile = false;
    let root = config.directory.to_string_lossy().into_owned();
    let fs = MemFs::shared(&root);
    fs.borrow_mut().add(&plan.directories);
    let root: Rc<[u8]> = root.into_bytes().into();
    let clock = Virtual::start();
    let time_ns = limits.time.map(|time| time.as_nanos().try_into().unwrap_or(u64::MAX));
    // A plan without loops is executed to its end, whatever its length.
    let budget = Budget::new(limits.steps + 2 * plan.code.len() as u64, time_ns);
    let clock_of_stage = clock.clone();
    let by_site = limits.by_site;
    let stage = Stage::new(plan, fs, clock_of_stage, budget, iterations_max, finds_files, by_site);
    let stage = Rc::new(stage);
    let pointers = Pointers::default();
    let backend =
        |rank, clock| MpiFiles::new(Rehearsed::new(&stage, rank, clock, &root), &pointers);
    let places = places(&config.machines);
    let part = |sim: Sim| {
        let part = Part::new(&stage, sim.rank(), plan.ranks);
        let place = places.get(sim.rank() as usize).copied().unwrap_or(sim.place());
        sim.observed(Box::new(part)).at(place)
    };
    let buffers = Buffers::unfilled();
    let mut on_turn = |world: &World, _: &dyn Fn() -> Sample| {
        if stage.budget.is_spent() && !world.is_interrupted() {
            world.interrupt();
        }
    };
    let make = (backend, part);
    let outcome = simulate(plan, &config, clock, buffers, make, &mut on_turn, None)?;
    let (is_spent, steps) = (stage.budget.is_spent(), stage.budget.taken());
    Ok(Performed { rehearsal: summarize(plan, &stage, &outcome), is_spent, steps })
}

/// Where each rank runs, if there are several machines.
fn places(machines: &[u32]) -> Vec<NodePlace> {
    let mut ranks: HashMap<u32, u32> = HashMap::new();
    let place = |node: &u32| {
        let next = ranks.entry(*node).or_default();
        *next += 1;
        NodePlace { node: *node, node_rank: *next - 1 }
    };
    machines.iter().map(place).collect()
}

fn summarize(plan: &Plan, stage: &Stage, outcome: &Outcome) -> Rehearsal {
    let state = &*stage.state.borrow();
    let mut found = state.doubts.list(plan, &stage.fs.borrow());
    // Iterations that were left out may have given what is waited for.
    if !state.sampled {
        found.extend(doubts::endless_waits(plan, outcome));
    }
    found.sort_by_key(|doubt| plan.spans.get(doubt.site as usize).copied());
    let is_spent = stage.budget.is_spent();
    let complete = outcome.finished() && !is_spent;
    let failed = !outcome.finished() && !is_spent && !outcome.interrupted && !state.sampled;
    let reached = reached(plan);
    let code: Vec<Instr> =
        plan.code.iter().zip(reached).filter(|one| one.1).map(|one| *one.0).collect();
    let by_time = reads_time(plan, &code);
    let results = uses_results(&code, plan.ranks, stage.finds_files);
    let decided_outside = by_time || state.about || state.races.found || results;
    let about = decided_outside || !complete || state.sampled;
    let peaks = find_peaks(state, &state.peak);
    let sure_peaks = find_peaks(state, state.sure_peak.as_ref().unwrap_or(&state.peak));
    let all_about = about && !state.about && !state.sampled;
    Rehearsal {
        ranks: by_rank(state, all_about),
        peak_bytes: peaks.1.bytes,
        peak_files: peaks.1.files,
        // The last figure is the number of files in all directories.
        leaves_files: state.used.last().is_some_and(|files| *files > 0),
        peaks: peaks.0,
        sure_peaks: sure_peaks.0,
        timed: state.sure_peak.is_some(),
        by_time,
        // Directories need not be at their fullest at one time.
        peak_about: about
            || stage.fs.borrow().is_rough()
            || state.shrank && (plan.ranks > 1 || !plan.directories.is_empty()),
        complete,
        failure: failed.then(|| outcome.ending(plan)),
        failed_at: outcome.ended_at().filter(|_| failed),
        about,
        doubts: found,
        expected: state.expects.all(plan),
        exception: state.exception,
        measured: measured(&outcome.records, &state.ranks),
    }
}

/// Results may decide what the program does: they depend on the order of ranks, on files from
/// before, or on the file system. `code`: what is reached.
fn uses_results(code: &[Instr], ranks: u32, finds_files: bool) -> bool {
    let others = ranks > 1 || finds_files;
    let uses = |instr: &Instr| match instr {
        Instr::Op { op, dst, .. } => {
            let row = op.row();
            *dst != NO_SLOT && !row.gives_handle() && (others || row.lacked.is_some())
        }
        Instr::Function { function, .. } => {
            others && matches!(function, Function::Errno | Function::Tested)
        }
        Instr::Share { .. } => ranks > 1,
        _ => false,
    };
    code.iter().any(uses)
}

/// Time decides what the program does. `code`: what is reached.
fn reads_time(plan: &Plan, code: &[Instr]) -> bool {
    let is_time = |what: Internal| matches!(what, Internal::Time | Internal::Now);
    let time = |piece: &Piece| matches!(piece, Piece::Internal(what) if is_time(*what));
    let reads = |instr: &Instr| matches!(instr, Instr::Internal { what, .. } if is_time(*what));
    code.iter().any(reads) || plan.pieces.iter().any(time)
}

/// Steps of an iteration of a loop with a time limit that suffice for most.
const STEPS_IN_TIME: u64 = 8;

/// One rank.
struct Part {
    stage: Rc<Stage>,
    rank: u32,
    /// Loops of which iterations are left out, by the place of their variables.
    loops: HashMap<u32, LongLoop>,
    steps: u64,
    /// Most steps of a rank in loops with a time limit.
    steps_max: u64,
    /// Iterations of loops with a time limit.
    in_time: u64,
}

impl Part {
    pub(crate) fn new(stage: &Rc<Stage>, rank: u32, ranks: u32) -> Part {
        let steps_max = stage.budget.steps / 16 / u64::from(ranks.max(1));
        let stage = Rc::clone(stage);
        Part { stage, rank, loops: HashMap::new(), steps: 0, steps_max, in_time: 0 }
    }

    fn end_loop(&mut self, place: u32) {
        self.loops.remove(&place);
        if self.loops.is_empty() {
            self.stage.state.borrow_mut().ranks[self.rank as usize].end_sampling();
        }
    }
}

impl Observer for Part {
    #[inline(always)]
    fn step(&mut self) -> bool {
        self.steps += 1;
        self.stage.budget.step()
    }

    fn passed(&mut self, set: SetId) {
        self.stage.state.borrow_mut().races.passed(set);
    }

    fn signalled(&mut self, key: u64) {
        self.stage.state.borrow_mut().races.signalled(self.rank, key);
    }

    fn waited(&mut self, keys: [u64; 2], count: u64) {
        self.stage.state.borrow_mut().races.waited(self.rank, keys, count);
    }

    fn iterated(&mut self, place: u32, left: u64, numbers: &mut dyn Numbers) {
        if left < self.stage.iterations_max && self.loops.is_empty() {
            return;
        }
        let running = self.loops.get_mut(&place).filter(|running| running.is_at(left));
        if let Some(running) = running {
            let goes_on = running.iterated(&self.stage, self.rank, numbers);
            if !goes_on {
                self.end_loop(place);
            }
        } else if left >= self.stage.iterations_max {
            let running = LongLoop::new(left, self.stage.iterations_max, numbers);
            self.loops.insert(place, running);
        }
    }

    /// Every rank goes as far, so that ranks with the same work have the same figures.
    fn iterated_in_time(&mut self) -> bool {
        self.stage.goes_by_time();
        self.in_time += 1;
        // Steps also depend on how often ranks took turns.
        self.in_time < self.steps_max / STEPS_IN_TIME && self.steps < self.steps_max
    }
}

/// The largest footprint by directory, and that of all of them.
fn find_peaks(state: &State, footprint: &[i64]) -> (Vec<Peak>, Peak) {
    let places = state.layout.footprint();
    let sum = |at: usize| state.ranks.iter().map(|tally| tally.spread[at]).sum();
    let spread: Vec<f64> = places.map(sum).collect();
    let mut peaks = peaks_of(footprint, &spread);
    let all = peaks.pop().unwrap_or_default();
    (peaks, all)
}

/// A footprint and its spread as figures, one for each directory and one for all of them.
fn peaks_of(footprint: &[i64], spread: &[f64]) -> Vec<Peak> {
    let positive = |number: i64| number.max(0) as u64;
    let spread = |at: usize| spread.get(at).map_or(0, |spread| spread.ceil() as u64);
    let peak = |at: usize| Peak {
        bytes: positive(footprint[at]),
        files: positive(footprint[at + 1]),
        spread_bytes: spread(at),
        spread_files: spread(at + 1),
    };
    (0..footprint.len()).step_by(2).map(peak).collect()
}

/// Ranks side by side with the same figures are one entry. `all_about`: no figure is exact.
fn by_rank(state: &State, all_about: bool) -> Vec<(Range<u32>, RankFigures)> {
    let mut ranks: Vec<(Range<u32>, RankFigures)> = Vec::new();
    for (rank, tally) in (0..).zip(&state.ranks) {
        let figures = of_rank(state, tally, all_about);
        match ranks.last_mut() {
            Some((last, known)) if *known == figures => last.end = rank + 1,
            _ => ranks.push((rank..rank + 1, figures)),
        }
    }
    ranks
}

fn of_rank(state: &State, tally: &Tally, all_about: bool) -> RankFigures {
    let layout = &state.layout;
    let amount = |at: usize| tally.amounts[at].max(0) as u64;
    let spread = |at: usize| tally.spread[at].ceil() as u64;
    let op = |op: &Op| {
        let at = layout.op(*op);
        let figures = OpFigures {
            count: amount(at),
            bytes: amount(at + 1),
            about: all_about || tally.about[at / 2] || spread(at) > 0,
            spread_count: spread(at),
            spread_bytes: spread(at + 1),
        };
        (*op, figures)
    };
    let mut peaks = peaks_of(&tally.peak, &tally.spread[layout.footprint()]);
    peaks.truncate(layout.directories);
    let site = |(site, at): (u32, usize)| SiteFigures {
        site,
        count: amount(at),
        bytes: amount(at + 1),
        files: amount(at + 2),
        about: all_about || spread(at) > 0 || spread(at + 1) > 0,
    };
    RankFigures {
        sites: layout.sites().map(site).filter(|figures| figures.count > 0).collect(),
        ops: layout.ops.iter().map(op).filter(|(_, figures)| figures.count > 0).collect(),
        files: amount(layout.files()),
        directories: amount(layout.folders()),
        spread_files: spread(layout.files()),
        spread_directories: spread(layout.folders()),
        peaks,
        buffer_bytes: tally.buffer_bytes,
        memory: tally.memory,
        handles: tally.handles.max(0) as u64,
    }
}

/// Labels, and operations in them, of which a run has figures: a comparison of two runs has a row for
/// each.
pub(crate) fn measured(records: &[RankRecord], tallies: &[Tally]) -> BTreeSet<(String, String)> {
    records.iter().zip(tallies).flat_map(|(record, tally)| keys(record, tally)).collect()
}

fn keys(record: &RankRecord, tally: &Tally) -> impl Iterator<Item = (String, String)> {
    let lossy = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let entered = record.labels.iter().filter(|label| label.count > 0);
    let entered = entered.map(move |label| (lossy(&label.path), String::new()));
    let done = tally.measured.iter().filter_map(move |(label, op)| {
        let path = record.labels.get(*label as usize);
        let label = if *label == NO_ID { String::new() } else { lossy(&path?.path) };
        Some((label, Op::from_u8(*op)?.row().name.to_string()))
    });
    entered.chain(done)
}

/// For each instruction whether a rank can reach it: a jump whose condition is a constant leaves one side out.
fn reached(plan: &Plan) -> Vec<bool> {
    let mut reached = vec![false; plan.code.len()];
    let mut waiting: Vec<Pc> = vec![0];
    while let Some(pc) = waiting.pop() {
        let at = pc as usize;
        if reached.get(at).is_none_or(|known| *known) {
            continue;
        }
        reached[at] = true;
        let (next, jump) = successors(plan, pc, &plan.code[at]);
        waiting.extend(next.into_iter().chain(jump));
    }
    reached
}

/// The next instruction, and another one that may come instead or besides.
fn successors(plan: &Plan, pc: Pc, instr: &Instr) -> (Option<Pc>, Option<Pc>) {
    match *instr {
        Instr::Halt | Instr::Return => (None, None),
        Instr::Jump { to } => (None, Some(to)),
        Instr::JumpIf { to, .. } => (Some(pc + 1), Some(to)),
        Instr::Loop { code } => (Some(pc + 1), Some(plan.loops[code as usize].exit)),
        Instr::Next { code } => (Some(pc + 1), Some(plan.loops[code as usize].body)),
        Instr::Claim { exit, .. } | Instr::Limit { exit, .. } => (Some(pc + 1), Some(exit)),
        Instr::GroupEnter { skip, .. } | Instr::Master { skip } => (Some(pc + 1), Some(skip)),
        Instr::SplitEnter { end, .. } => (Some(pc + 1), Some(end)),
        Instr::CallProc { proc, .. } => (Some(pc + 1), Some(plan.procs[proc as usize].entry)),
        _ => (Some(pc + 1), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Proc;

    #[test]
    fn code_behind_a_jump_and_procs_that_nobody_calls_are_not_reached() {
        let proc = |entry| Proc { name: String::new(), entry, params: 0, locals: 0 };
        let call = Instr::CallProc { proc: 1, args: Default::default() };
        let code = vec![
            Instr::Jump { to: 2 },
            Instr::ShareEnd,
            call,
            Instr::Halt,
            Instr::Return,
            Instr::Return,
        ];
        let plan = Plan { code, procs: vec![proc(4), proc(5)], ..Plan::default() };
        assert_eq!(reached(&plan), [true, false, true, true, false, true]);
    }
}
