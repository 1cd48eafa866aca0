//! Rehearses a plan within limits.
//!
//! First every step is executed. Where that takes more than the limits allow, the plan is rehearsed again
//! with few iterations of each loop, and with four times as many, until they would take too long: the
//! last rehearsal that came to the end of the program counts.

use super::backend::Rehearsed;
use super::part::Part;
use super::stage::{Budget, Stage};
use super::{doubts, figures};
use crate::backend::{MemFs, MpiFiles, Pointers};
use crate::buffer::Buffers;
use crate::clock::Virtual;
use crate::comm::{Comm, NodePlace, Sample, Sim, World};
use crate::config::{BackendKind, Config};
use crate::supervise::{Outcome, StartError, simulate};
use model::Plan;
use model::plan::{Function, Instr, Internal, NO_SLOT, Piece};
use model::rehearsal::{Expected, RankFigures, Rehearsal};
use std::collections::HashMap;
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
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 1 << 22, time: Some(Duration::from_secs(1)) }
    }
}

impl Limits {
    /// Limits under which files that must be there before are searched, in all iterations: some seconds.
    const SEARCH: Limits = Limits { steps: 1 << 26, time: None };

    fn divided_by(self, divisor: u32) -> Limits {
        Limits {
            steps: self.steps / u64::from(divisor),
            time: self.time.map(|time| time / divisor),
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
    match whole.is_spent {
        true => leave_out(plan, config, finds_files, limits).unwrap_or(whole.rehearsal),
        false => whole.rehearsal,
    }
}

/// Rehearses with as many iterations of each loop as the limits allow.
fn leave_out(plan: &Plan, config: &Config, finds_files: bool, limits: Limits) -> Option<Rehearsal> {
    let (mut iterations, mut best) = (FEW, None);
    loop {
        // The first one has to end if any can.
        let limits = if best.is_none() { limits } else { limits.divided_by(2) };
        let next = perform(plan, config, finds_files, limits, iterations).ok()?;
        if !next.rehearsal.complete {
            return best;
        }
        best = Some(next.rehearsal);
        iterations = iterations.saturating_mul(MORE);
        if next.steps.saturating_mul(MORE) > limits.steps {
            return best;
        }
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
    let stage = Stage::new(plan, fs, clock.clone(), budget, iterations_max, finds_files);
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
    let by_time = reads_time(plan);
    let decided_outside =
        by_time || state.about || state.races.found || uses_results(plan, stage.finds_files);
    let about = decided_outside || !complete || state.sampled;
    let peaks = figures::peaks(state, &state.peak);
    let sure_peaks = figures::peaks(state, state.sure_peak.as_ref().unwrap_or(&state.peak));
    let all_about = about && !state.about && !state.sampled;
    Rehearsal {
        ranks: figures::by_rank(state, all_about),
        peak_bytes: peaks.1.bytes,
        peak_files: peaks.1.files,
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
        about,
        doubts: found,
        expected: state.expects.all(plan),
        exception: state.exception,
        measured: figures::measured(&outcome.records, &state.ranks),
    }
}

/// Results may decide what the program does: they depend on the order of ranks, on files from
/// before, or on the file system.
fn uses_results(plan: &Plan, finds_files: bool) -> bool {
    let others = plan.ranks > 1 || finds_files;
    let uses = |instr: &Instr| match instr {
        Instr::Op { op, dst, .. } => {
            let row = op.row();
            *dst != NO_SLOT && !row.gives_handle() && (others || row.lacked.is_some())
        }
        Instr::Function { function, .. } => {
            others && matches!(function, Function::Errno | Function::Tested)
        }
        Instr::Share { .. } => plan.ranks > 1,
        _ => false,
    };
    plan.code.iter().any(uses)
}

/// Time decides what the program does.
fn reads_time(plan: &Plan) -> bool {
    let is_time = |what: Internal| matches!(what, Internal::Time | Internal::Now);
    let time = |piece: &Piece| matches!(piece, Piece::Internal(what) if is_time(*what));
    let reads = |instr: &Instr| matches!(instr, Instr::Internal { what, .. } if is_time(*what));
    plan.code.iter().any(reads) || plan.pieces.iter().any(time)
}
