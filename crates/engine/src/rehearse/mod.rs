//! What a plan will do, found by rehearsing it: all ranks are simulated in virtual time, on files
//! in memory of which only names and sizes are kept.
//!
//! ```text
//! plan ─▶ Simulation of Machine<Rehearsed> ─▶ Stage ─▶ Rehearsal
//!                                  │         └ steps, loops
//!                                  └ files, operations
//! ```
//!
//! | file | what |
//! |---|---|
//! | `backend` | calls, and what they change |
//! | `part` | a rank's steps |
//! | `loops` | which iterations are skipped |
//! | `names` | names that skipped iterations would have made |
//! | `together` | which of them ranks skip that meet in a loop |
//! | `stage` | what was done so far, by rank and in all |
//! | `sum` | bytes and names by directory |
//! | `doubts` | what cannot be meant |
//! | `expects` | what must be there before |
//! | `measured` | of what there will be figures |
//! | `waits` | waits that never end |
//!
//! A rehearsal takes at most [`STEPS`] steps (statements and iterations) and two more for each
//! instruction of the plan. Loops that would take a fair share of them are multiplied out; all
//! figures from there on are "about". Where the steps do not suffice the rehearsal does not come to
//! the end, and says so.

mod backend;
mod doubts;
mod expects;
mod loops;
mod measured;
mod names;
mod part;
mod stage;
mod sum;
mod together;
mod waits;

use crate::backend::MemFs;
use crate::buffer::Buffers;
use crate::clock::Virtual;
use crate::comm::{Comm, NodePlace, Sample, Sim, World};
use crate::config::{BackendKind, Config};
use crate::supervise::{StartError, simulate};
use backend::Rehearsed;
use model::plan::{Function, Instr, Internal, NO_SLOT, Piece};
use model::rehearsal::{Expected, OpFigures, RankFigures, Rehearsal};
use model::{Op, Plan};
use part::Part;
use stage::{Stage, Tally};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Statements and iterations of all ranks together, besides two for each instruction.
pub const STEPS: u64 = 1 << 19;

/// The same where no iteration is skipped: some seconds.
const STEPS_WHOLE: u64 = 1 << 26;

/// Most ranks: a simulated rank takes some microseconds and kilobytes even if it does nothing.
pub const RANKS_MAX: u32 = 1 << 14;

/// Rehearses a plan. `finds_files`: files that it has not made may be there from before. Where the
/// ranks cannot be simulated (too many, interrupted, no memory) nothing is known.
pub fn rehearse(plan: &Plan, config: &Config, finds_files: bool) -> Rehearsal {
    if plan.ranks > RANKS_MAX {
        return unknown(plan);
    }
    perform(plan, config, finds_files, Depth::Quick).unwrap_or_else(|_| unknown(plan))
}

/// What must be there before the plan starts, found by rehearsing every iteration.
///
/// # Errors
/// The program ends early, says why; `None`: the ranks cannot be simulated, or there are too many
/// steps.
pub fn expected(plan: &Plan, config: &Config) -> Result<Vec<Expected>, Option<String>> {
    if plan.ranks > RANKS_MAX {
        return Err(None);
    }
    let found = perform(plan, config, true, Depth::Whole).map_err(|_| None)?;
    if found.complete { Ok(found.expected) } else { Err(found.failure) }
}

/// How far a rehearsal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// Long loops are multiplied out.
    Quick,
    /// Every iteration is executed.
    Whole,
}

fn perform(
    plan: &Plan,
    config: &Config,
    finds_files: bool,
    depth: Depth,
) -> Result<Rehearsal, StartError> {
    let mut config = Config { backend: BackendKind::Mem, events: None, ..config.clone() };
    config.settings.print_fd = None;
    config.settings.agile = false;
    let root = config.directory.to_string_lossy().into_owned();
    let fs = MemFs::shared(&root, false);
    fs.borrow_mut().add(&plan.directories);
    let root: Rc<[u8]> = root.into_bytes().into();
    let clock = Virtual::start();
    let most = if depth == Depth::Quick { STEPS } else { STEPS_WHOLE };
    let steps = most + 2 * plan.code.len() as u64;
    let mut stage = Stage::new(Rc::clone(&fs), clock.clone(), plan.ranks, steps, finds_files);
    if depth == Depth::Whole {
        stage.long_loop_steps = u64::MAX;
    }
    let stage = Rc::new(stage);
    let backend = |rank, clock| Rehearsed::new(&stage, rank, clock, &root);
    let places = places(&config.machines);
    let part = |sim: Sim| {
        let part = Part::new(&stage, sim.rank());
        let place = places.get(sim.rank() as usize).copied().unwrap_or(sim.place());
        sim.observed(Box::new(part)).at(place)
    };
    let buffers = Buffers::unfilled();
    let mut on_turn = |world: &World, _: &dyn Fn() -> Sample| {
        if stage.is_over() && !world.is_interrupted() {
            world.interrupt();
        }
    };
    let make = (backend, part);
    let outcome = simulate(plan, &config, clock, buffers, make, &mut on_turn, None)?;
    let state = stage.state.borrow();
    let mut doubts = state.doubts.tell(plan, &fs.borrow());
    // Skipped iterations may have given what is waited for.
    if !state.about {
        doubts.extend(waits::doubts(plan, &outcome));
    }
    doubts.sort_by_key(|doubt| plan.spans.get(doubt.site as usize).copied());
    let complete = outcome.finished() && !stage.is_over();
    let failed = !outcome.finished() && !stage.is_over() && !outcome.interrupted;
    let by_time = reads_time(plan);
    let about = state.about || !complete || by_time || asks_who_was_first(plan);
    let directories = 1 + plan.directories.len();
    let peaks = state.peak.peaks(directories);
    let of_rank = |tally: &Tally| figures(tally, about && !state.about, directories);
    let peak = state.peak.peak_of_all();
    let sure = state.sure_peak.unwrap_or(state.peak);
    Ok(Rehearsal {
        ranks: by_rank(state.ranks.iter().map(of_rank)),
        peak_bytes: peak.bytes,
        peak_files: peak.files,
        peaks,
        sure_peaks: sure.peaks(directories),
        timed: state.sure_peak.is_some(),
        by_time,
        // Directories need not be at their fullest at one time.
        peak_about: about || state.shrank && (plan.ranks > 1 || !plan.directories.is_empty()),
        complete,
        failure: failed.then(|| outcome.ending(plan)),
        about,
        doubts,
        expected: state.expects.all(plan),
        exception: state.exception,
        measured: measured::of(&outcome.records, &state.ranks),
    })
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

/// Nothing is known of so many ranks.
fn unknown(plan: &Plan) -> Rehearsal {
    let ranks = vec![(0..plan.ranks, RankFigures::default())];
    Rehearsal { ranks, about: true, ..Rehearsal::default() }
}

/// What a rank does. `all_about`: none of its figures is exact; `directories`: number of all.
fn figures(tally: &Tally, all_about: bool, directories: usize) -> RankFigures {
    let ops = (0..Op::COUNT).filter(|op| tally.ops[*op].0 > 0);
    let ops = ops.filter_map(|at| {
        let ((count, bytes), about) = (tally.ops[at], tally.about[at] || all_about);
        Some((Op::from_u8(at as u8)?, OpFigures { count, bytes, about }))
    });
    RankFigures {
        ops: ops.collect(),
        files: tally.files,
        directories: tally.directories,
        peaks: tally.peak.peaks(directories),
        buffer_bytes: tally.buffer_bytes,
        handles: tally.handles.max(0) as u64,
    }
}

/// Ranks side by side with the same figures are one entry.
fn by_rank(all: impl Iterator<Item = RankFigures>) -> Vec<(Range<u32>, RankFigures)> {
    let mut ranks: Vec<(Range<u32>, RankFigures)> = Vec::new();
    for (rank, figures) in (0..).zip(all) {
        match ranks.last_mut() {
            Some((last, known)) if *known == figures => last.end = rank + 1,
            _ => ranks.push((rank..rank + 1, figures)),
        }
    }
    ranks
}

/// What the program does may depend on which of several ranks came first.
fn asks_who_was_first(plan: &Plan) -> bool {
    let takes_result = |instr: &Instr| match instr {
        Instr::Op { op, dst, .. } => *dst != NO_SLOT && !op.row().gives_handle,
        Instr::Function { function, .. } => matches!(function, Function::Errno | Function::Tested),
        _ => false,
    };
    plan.ranks > 1 && plan.code.iter().any(takes_result)
}

/// What the program does hangs on how long it takes.
fn reads_time(plan: &Plan) -> bool {
    let is_time = |what: Internal| matches!(what, Internal::Time | Internal::Now);
    let time = |piece: &Piece| matches!(piece, Piece::Internal(what) if is_time(*what));
    let reads = |instr: &Instr| matches!(instr, Instr::Internal { what, .. } if is_time(*what));
    plan.code.iter().any(reads) || plan.pieces.iter().any(time)
}
