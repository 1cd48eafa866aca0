//! The state of all ranks before a statement, and which statement that is.
//!
//! A statement begins with the first of its instructions; a loop, label or group only has its head, and what is inside
//! of it are statements of their own. Positions count the beginnings of statements on all ranks.

use super::record::end_word;
use crate::backend::{Cost, Mem, MemFs, MpiFiles, Pointers};
use crate::clock::{Virtual, thread_cpu_ns};
use crate::comm::{Activity, Comm, Observer, Sim};
use crate::config::{BackendKind, Config};
use crate::supervise::{Simulation, StartError, simulate_in_steps};
use model::Plan;
use model::plan::{Pc, Span};
use model::watched::{Next, Place, RankState, Snapshot, Statement, Target, TreeEntry};
use rustix::fs::{MemfdFlags, memfd_create};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Most instructions that are executed to find a pause.
pub const INSTRUCTIONS_MAX: u64 = 1 << 22;
/// The same in CPU time, so that other load of the machine does not matter.
const TIME_MAX_NS: u64 = 1_000_000_000;
/// Instructions between two looks at the clock.
const LOOK: u64 = 1 << 12;
/// Most entries of the directory tree that are listed.
const ENTRIES_MAX: usize = 2000;
/// Ranks whose variables and files are shown, besides the one that runs next.
const RANKS_MAX: u32 = 256;
/// Bytes of what was printed that are shown.
const PRINTED_BYTES: u64 = 64 << 10;

/// Executes a plan up to the statement that is meant. `statements`: those of the program's text, in any order.
///
/// # Errors
/// The ranks cannot be simulated: there are too many for the memory.
pub fn step(
    plan: &Plan,
    config: &Config,
    statements: Vec<Statement>,
    target: &Target,
) -> Result<Snapshot, StartError> {
    let printed =
        File::from(memfd_create("parabench-printed", MemfdFlags::CLOEXEC).map_err(|error| {
            StartError::Io { what: "keep what is printed", error: error.into() }
        })?);
    let mut config = Config { backend: BackendKind::Mem, events: None, ..config.clone() };
    config.settings.print_fd = Some(printed.as_raw_fd());
    let search = Search::new(target, Statements::new(plan, statements), plan);
    let progress = Rc::new(Progress::new(search, plan.ranks));
    let fs = MemFs::shared(&config.directory.to_string_lossy());
    fs.borrow_mut().add(&plan.directories);
    let pointers = Pointers::default();
    let backend =
        |_, clock| MpiFiles::new(Mem::new(Rc::clone(&fs), clock, Cost::default()), &pointers);
    let part = |sim: Sim| {
        let stepper = Stepper { progress: Rc::clone(&progress), rank: sim.rank() };
        sim.observed(Box::new(stepper))
    };
    let clock = Virtual::start();
    let is_paused = || progress.paused.get().is_some() || progress.is_spent();
    let make = (backend, part);
    simulate_in_steps(plan, &config, clock, make, is_paused, |simulation| {
        let ranks = describe_ranks(plan, simulation, &progress);
        let (tree, more_entries) = list_tree(plan, &fs.borrow());
        Snapshot {
            position: progress.position.get(),
            next: progress.paused.get().and_then(|here| progress.next(plan, here)),
            finished: simulation.ranks.iter().all(Option::is_none),
            limit: progress.is_spent(),
            ranks,
            tree,
            more_entries,
            printed: read_end(&printed),
        }
    })
}

/// How far all ranks have come.
struct Progress {
    search: RefCell<Search>,
    /// Statements that have begun.
    position: Cell<u64>,
    /// The same by rank.
    begun: RefCell<Vec<u64>>,
    paused: Cell<Option<Here>>,
    /// Instructions that may still be executed.
    left: Cell<u64>,
    end_ns: u64,
}

impl Progress {
    fn new(search: Search, ranks: u32) -> Progress {
        Progress {
            search: RefCell::new(search),
            position: Cell::new(0),
            begun: RefCell::new(vec![0; ranks as usize]),
            paused: Cell::new(None),
            left: Cell::new(INSTRUCTIONS_MAX),
            end_ns: thread_cpu_ns().saturating_add(TIME_MAX_NS),
        }
    }

    fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// An instruction is executed next; false: pause before it.
    fn begins(&self, here: Here) -> bool {
        let left = self.left.get();
        let is_late = left.is_multiple_of(LOOK) && thread_cpu_ns() > self.end_ns;
        self.left.set(if is_late { 0 } else { left.saturating_sub(1) });
        if self.is_spent() {
            return false;
        }
        let search = &mut *self.search.borrow_mut();
        if !search.statements().begins(here.pc) {
            return true;
        }
        if search.is_found(self.position.get(), here) {
            self.paused.set(Some(here));
            return false;
        }
        self.position.set(self.position.get() + 1);
        self.begun.borrow_mut()[here.rank as usize] += 1;
        true
    }

    fn next(&self, plan: &Plan, here: Here) -> Option<Next> {
        Some(Next { rank: here.rank, place: self.place(plan, here.pc)? })
    }

    /// The head of the statement of an instruction.
    fn place(&self, plan: &Plan, pc: Pc) -> Option<Place> {
        let statement = self.search.borrow().statements().at(pc)?;
        Place::new(plan, statement.head)
    }
}

/// Follows one rank.
struct Stepper {
    progress: Rc<Progress>,
    rank: u32,
}

impl Observer for Stepper {
    fn begins(&mut self, pc: Pc, depth: usize) -> bool {
        self.progress.begins(Here { rank: self.rank, pc, depth })
    }
}

type Stepped<'s, 'p> = &'s mut Simulation<'p>;

fn describe_ranks(plan: &Plan, simulation: Stepped<'_, '_>, progress: &Progress) -> Vec<RankState> {
    let waiting = simulation.world.waiting();
    let next = progress.paused.get().map(|here| here.rank);
    let ranks = 0..plan.ranks;
    let describe = |rank| {
        let mut state = RankState {
            rank,
            now_ns: simulation.world.time_of(rank),
            statements: progress.begun.borrow()[rank as usize],
            ..RankState::default()
        };
        let is_shown = rank < RANKS_MAX || next == Some(rank);
        let waits = waiting.iter().find(|activity| activity.rank == rank);
        describe_rank(plan, simulation, progress, waits, &mut state, is_shown);
        state
    };
    ranks.map(describe).collect()
}

fn describe_rank(
    plan: &Plan,
    simulation: Stepped<'_, '_>,
    progress: &Progress,
    waits: Option<&Activity>,
    state: &mut RankState,
    is_shown: bool,
) {
    let at = state.rank as usize;
    let Some((machine, _)) = &mut simulation.ranks[at] else {
        state.state = end_word(&simulation.ends[at]);
        if let Some(record) = &simulation.records[at] {
            state.now_ns = record.end_ns();
            if let Some((site, message)) = record.errors.first() {
                state.place = site.and_then(|site| progress.place(plan, site));
                state.why.clone_from(message);
            }
        }
        return;
    };
    state.state = if waits.is_some() { "waiting" } else { "ready" };
    state.why = waits.map(|activity| activity.what.clone()).unwrap_or_default();
    state.place = progress.place(plan, machine.pc());
    state.group = machine.group();
    if is_shown {
        state.label = machine.label();
        let calls = machine.open_calls();
        state.calls = calls.into_iter().filter_map(|pc| progress.place(plan, pc)).collect();
        state.variables = machine.variables();
        state.files = machine.open_files();
    }
}

/// The first entries of the tree, and how many more there are.
fn list_tree(plan: &Plan, fs: &MemFs) -> (Vec<TreeEntry>, u64) {
    let names: u64 = fs.used().iter().map(|used| used.nodes).sum();
    let named = |(path, entry): (Vec<u8>, TreeEntry)| {
        let path = String::from_utf8_lossy(&plan.named(&path)).into_owned();
        TreeEntry { path, ..entry }
    };
    let tree: Vec<TreeEntry> = fs.list_tree(ENTRIES_MAX).into_iter().map(named).collect();
    let more = if tree.len() < ENTRIES_MAX { 0 } else { names.saturating_sub(tree.len() as u64) };
    (tree, more)
}

/// The end of a file as text.
fn read_end(file: &File) -> String {
    let length = file.metadata().map_or(0, |about| about.len());
    let start = length.saturating_sub(PRINTED_BYTES);
    let mut bytes = vec![0; (length - start) as usize];
    match file.read_exact_at(&mut bytes, start) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

/// The statements of a plan by instruction.
struct Statements {
    all: Vec<Statement>,
    /// By instruction: its statement; `None`: of no statement.
    of: Vec<Option<u32>>,
    /// By instruction: its statement begins with it.
    begins: Vec<bool>,
}

impl Statements {
    /// `all`: in any order, those inside of others included.
    fn new(plan: &Plan, mut all: Vec<Statement>) -> Statements {
        all.sort_by_key(|one| (one.span.start, std::cmp::Reverse(one.span.end)));
        let of: Vec<Option<u32>> = plan.spans.iter().map(|span| innermost(&all, *span)).collect();
        let mut begun = vec![false; all.len()];
        let begins = of.iter().map(|of| match of {
            Some(one) => !std::mem::replace(&mut begun[*one as usize], true),
            None => false,
        });
        let begins = begins.collect();
        Statements { all, of, begins }
    }

    fn begins(&self, pc: Pc) -> bool {
        self.begins.get(pc as usize).is_some_and(|begins| *begins)
    }

    /// The statement of an instruction.
    fn at(&self, pc: Pc) -> Option<Statement> {
        let of = *self.of.get(pc as usize)?;
        of.map(|one| self.all[one as usize])
    }
}

/// The innermost statement that holds a span; statements are sorted by their starts, outer ones first.
fn innermost(all: &[Statement], span: Span) -> Option<u32> {
    let after = all.partition_point(|one| one.span.start <= span.start);
    let found = all[..after].iter().rposition(|one| one.span.end >= span.end)?;
    Some(found as u32)
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Here {
    rank: u32,
    pc: Pc,
    /// Procs that are running.
    depth: usize,
}

/// Looks for the statement that is meant.
struct Search {
    target: Target,
    statements: Statements,
    /// By statement: it begins on the line that is meant.
    is_on_line: Vec<bool>,
    /// For a step over: the statement at which the rank is, and the number of procs that run there.
    left: Option<(Statement, usize)>,
}

impl Search {
    fn new(target: &Target, statements: Statements, plan: &Plan) -> Search {
        let on_line = |one: &Statement| match target {
            Target::Line { file, line, .. } => {
                let place = plan.locate(one.head);
                place.is_some_and(|(name, at, _)| name == file && at == *line)
            }
            _ => false,
        };
        let is_on_line = statements.all.iter().map(on_line).collect();
        Search { target: target.clone(), statements, is_on_line, left: None }
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    /// A statement begins, `position` others have begun before: pause here?
    fn is_found(&mut self, position: u64, here: Here) -> bool {
        match self.target {
            Target::Position { position: wanted } => position >= wanted,
            Target::Next { from } => position > from,
            Target::Rank { from, rank } => position > from && here.rank == rank,
            Target::Line { from, rank, .. } => {
                let is_meant = rank.is_none_or(|rank| rank == here.rank);
                position > from && is_meant && self.is_on_line(here.pc)
            }
            Target::Over { from, rank } => here.rank == rank && self.is_over(position, from, here),
        }
    }

    fn is_on_line(&self, pc: Pc) -> bool {
        let of = self.statements.of.get(pc as usize).copied().flatten();
        of.is_some_and(|one| self.is_on_line[one as usize])
    }

    /// The rank has left the statement at which it was at the position `from`.
    fn is_over(&mut self, position: u64, from: u64, here: Here) -> bool {
        let Some(statement) = self.statements.at(here.pc) else { return false };
        if position <= from {
            self.left = Some((statement, here.depth));
            return false;
        }
        let Some((left, depth)) = self.left else { return true };
        let (outer, inner) = (left.span, statement.span);
        let is_inside = outer.start < inner.start && inner.end <= outer.end;
        here.depth < depth || here.depth == depth && !is_inside
    }
}
