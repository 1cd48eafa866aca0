//! Operations -> statements: what is the same every time is the shape, the rest are numbers.
//!
//! ```text
//! write "out/f-7", 4096 bytes at 0    shape: write(out/f-#, #)    numbers: 7, 4096
//! ```
//!
//! Variables of open files are chosen as the kernel chooses descriptors, the lowest that is free, so
//! that iterations of a loop use the same ones.

use super::barriers::Coming;
use super::events::Events;
use super::irregular::finish;
use super::log::Log;
use super::logged::Logged;
use super::long_pauses::{LongPauses, PauseStatistics, Place};
use super::loops::Folder;
use super::names::Names;
use super::open_files::{Instance, instances};
use super::order::{Action, History, Order};
use super::patterns::Patterns;
use super::pauses::{Recorder, Think};
use super::processes::{Lifetimes, find_turns};
use super::ranks::{Form, Item};
use super::statement::{Alike, Arg, Arguments, Interner, NumberKind, Shape, Statement, kinds};
use super::tree::{BARRIER, BARRIERS, Gap, Kind, LONG_PAUSE, Node, Number, PART, PAUSE};
use model::event::{FLAG_AT_POSITION, FLAG_FROM_POSITION, NO_ID};
use model::op::{Class, HandleEffect, ParamKind, Part as OpPart};
use model::open_flags::O_TRUNC;
use model::rehearsal::{Expected, Thing};
use model::{Op, errno};
use std::collections::{HashMap, HashSet};

/// Makes statements of the operations of all ranks.
#[derive(Debug)]
pub struct Shaper<'a> {
    log: &'a Log,
    history: &'a History,
    /// Names of files, then of labels.
    pub names: Names,
    /// All shapes.
    pub shapes: Interner<Shape>,
    /// Names by template and numbers.
    known: HashMap<(u32, Vec<i64>), u32>,
    /// Names of which a label consists, outermost first, by label.
    labels: Vec<Vec<u32>>,
    /// By rank with several processes: from which time on it does the work of which.
    turns: Vec<Vec<(u64, u32)>>,
    instances: HashMap<u32, Instance>,
    /// Files that held data before.
    filled: HashSet<&'a [u8]>,
    /// Templates of names with numbers: some file with such a name was read to its end.
    sized: HashSet<u32>,
    lifetimes: Lifetimes,
    /// How long statements are paused before.
    pub pauses: PauseStatistics,
    /// Pauses that are statements of their own.
    long_pauses: LongPauses,
    /// Patterns of the log.
    pub patterns: Patterns,
    /// Whether every pause is kept, or their sum alone.
    think: Think,
    /// By rank: places of operations that have no statement.
    pub left_out: Vec<Vec<usize>>,
    /// Operations whose modes or words the run does not tell.
    pub guessed: u64,
}

impl<'a> Shaper<'a> {
    /// Looks at all names and open files. `think`: whether every pause is kept. `long_pauses`: pauses that are statements.
    pub fn new(
        log: &'a Log,
        history: &'a History,
        think: Think,
        long_pauses: LongPauses,
    ) -> Shaper<'a> {
        let mut texts: Vec<&[u8]> = log.paths.iter().map(Vec::as_slice).collect();
        let mut known_parts: HashMap<&str, u32> = HashMap::new();
        let labels = log.labels.iter().map(|label| {
            let parts = label.split('/').map(|part| {
                *known_parts.entry(part).or_insert_with(|| {
                    texts.push(part.as_bytes());
                    texts.len() as u32 - 1
                })
            });
            parts.collect()
        });
        let labels = labels.collect();
        let names = Names::new(texts.iter().copied());
        let is_filled = |expected: &&Expected| matches!(expected.what, Thing::File { size_bytes, .. } if size_bytes > 0);
        let filled = history.before.iter().filter(is_filled);
        let filled = filled.map(|expected| &expected.path[..]).collect();
        let read_to_end = history.found.iter().filter(|(_, found)| found.to_end);
        let read_to_end = read_to_end.map(|(path, _)| &names.of[*path as usize]);
        let sized = read_to_end.filter(|name| !name.1.is_empty()).map(|name| name.0).collect();
        let mut shapes = Interner::default();
        let barriers: Vec<u32> = BARRIERS.map(|kind| shapes.number(Shape::Barrier(kind))).collect();
        let fixed = [Shape::Part, Shape::LongPause, Shape::Pause].map(|shape| shapes.number(shape));
        debug_assert!(BARRIERS.eq(barriers) && fixed == [PART, LONG_PAUSE, PAUSE]);
        let patterns = Patterns::find(log, &mut shapes);
        let known = (0..).zip(&names.of).take(log.paths.len());
        let known = known.map(|(id, name)| (name.clone(), id)).collect();
        let lifetimes = Lifetimes::find(log);
        let (left_out, guessed) = (vec![Vec::new(); log.ranks.len()], 0);
        Shaper {
            log,
            history,
            names,
            shapes,
            known,
            labels,
            turns: find_turns(log),
            instances: instances(log),
            filled,
            sized,
            lifetimes,
            pauses: PauseStatistics::default(),
            long_pauses,
            patterns,
            think,
            left_out,
            guessed,
        }
    }

    /// More ranks are at work at a time than the recorded machine had CPUs.
    pub fn is_crowded(&self) -> bool {
        let processors = self.log.processors.map_or(usize::MAX, |count| count as usize);
        self.lifetimes.most_at_once() > processors
    }

    /// The statements of a rank, folded into loops; and which of the operations that they are were
    /// not in the log: places in their order. `start_us`: when it begins, if not with all others.
    pub fn rank(
        &mut self,
        rank: u32,
        order: &Order,
        start_us: Option<i64>,
    ) -> (Vec<Node>, Vec<u64>) {
        let log = self.log;
        let mut state = RankState { rank, levels: vec![Level::default()], ..RankState::default() };
        state.last_uses = last_uses(&log.ranks[rank as usize]);
        let mut actions = order.actions(rank);
        if order.waits_first(rank) {
            // It waits for others before its first operation, and begins late by that.
            state.begins_late = start_us.is_some_and(|start_us| start_us > 0);
        } else {
            start_us.into_iter().for_each(|us| {
                let ns = us.unsigned_abs() * 1000;
                self.push_pause(&mut state, Gap::once(ns, true));
            });
            // How long a process took to start says nothing of what it does; in a run of our own all
            // ranks began at 0.
            let own_ns = if log.imported { 0 } else { self.lifetimes.begin_ns() };
            let first = log.ranks[rank as usize].first();
            state.last_ns = first.map_or(0, |entry| entry.event.start_ns.saturating_sub(own_ns));
        }
        let mut last = NO_ID;
        for (at, entry) in log.ranks[rank as usize].iter().enumerate() {
            state.process = self.process(rank, entry.event.start_ns);
            let here = actions.iter().take_while(|(place, _)| *place <= at).count();
            let (now, later) = actions.split_at(here);
            if !now.is_empty() && entry.event.label != last {
                // A signal belongs to the label of the operation that it reports.
                let signals = now.iter().filter(|(_, action)| action.is_signal());
                signals.for_each(|(_, action)| self.act(&mut state, *action));
                self.leave_for(&mut state, entry.event.label);
            }
            let told = entry.event.label != last;
            for (_, action) in now.iter().filter(|(_, action)| !(told && action.is_signal())) {
                let within = at == 0 && action.is_within_label();
                if within || told && self.waits_again(rank, at, *action, later) {
                    self.enter(&mut state, entry.event.label);
                }
                self.act(&mut state, *action);
            }
            actions = later;
            last = entry.event.label;
            state.waits_ahead(&entry, at, actions);
            self.add(&mut state, &entry, at);
            state.forget(at);
        }
        for (_, action) in actions {
            if !action.is_within_label() && !action.is_signal() {
                state.leave(0, &mut self.alike());
            }
            self.act(&mut state, *action);
        }
        state.leave(0, &mut self.alike());
        let folder = state.levels.pop().map(|level| level.folder).unwrap_or_default();
        let nodes = finish(folder, &mut self.alike());
        (nodes, state.adopted)
    }

    /// The process whose work a rank does at a time, if it has several.
    fn process(&self, rank: u32, ns: u64) -> Option<u32> {
        let turns = &self.turns[rank as usize];
        let begun = turns.partition_point(|(begin_ns, _)| *begin_ns <= ns);
        turns.get(begun.checked_sub(1)?).map(|(_, process)| *process)
    }

    /// The rank waits for the same one once more in the label that begins with the operation at a place: the
    /// first wait belongs to it, too.
    fn waits_again(&self, rank: u32, at: usize, action: Action, later: &[(usize, Action)]) -> bool {
        let Action::Wait { from, .. } = action else { return false };
        let label =
            |place: usize| self.log.ranks[rank as usize].get(place).map(|entry| entry.event.label);
        let again = later
            .iter()
            .find(|(_, it)| matches!(it, Action::Wait { from: other, .. } if *other == from));
        again.is_some_and(|(place, _)| label(*place) == label(at) && label(place - 1) == label(at))
    }

    /// Kinds of the numbers of a shape.
    pub fn kinds(&self, shape: u32) -> Vec<NumberKind> {
        kinds(&self.shapes.all[shape as usize], &self.names)
    }

    /// Tells which of its statements are alike.
    pub fn alike(&mut self) -> Alike<'_> {
        Alike { names: &self.names, shapes: &mut self.shapes, known: &self.known }
    }

    /// The operation that an element is.
    pub fn operation(&self, item: &Item) -> Option<&Statement> {
        match item.form {
            Form::Leaf(shape) => match &self.shapes.all[shape as usize] {
                Shape::Op(statement) => Some(statement),
                _ => None,
            },
            _ => None,
        }
    }

    /// The first operation that moves bytes, or the first one.
    pub fn main_operation(&self, body: &[Item]) -> Option<Op> {
        let mut all = Vec::new();
        body.iter().for_each(|item| {
            item.each(&mut |item| all.extend(self.operation(item).map(|statement| statement.op)));
        });
        let moves = |op: &&Op| matches!(op.row().class, Class::Read | Class::Write);
        all.iter().find(moves).or(all.first()).copied()
    }

    /// The name of a file of the log.
    pub fn path(&self, id: i64) -> &[u8] {
        u32::try_from(id).map_or(&[], |id| self.log.path(id))
    }

    /// The name of a further directory of the log.
    pub fn directory(&self, at: usize) -> &str {
        &self.log.directories[at]
    }

    fn act(&mut self, state: &mut RankState, action: Action) {
        let mut gap = Gap::default();
        let (shape, numbers) = match action {
            Action::Barrier { free_ns, apart, told } => {
                if apart {
                    state.leave(0, &mut self.alike());
                }
                gap = told.and_then(|coming| state.gap_to(coming)).unwrap_or_default();
                gap = self.pause(state, gap, None);
                state.last_ns = state.last_ns.max(free_ns);
                (Shape::Barrier(told.map_or(BARRIER, |coming| coming.kind)), vec![])
            }
            Action::Signal { to } => (Shape::Signal, vec![i64::from(to)]),
            Action::Wait { from, count, free_ns } => {
                state.last_ns = state.last_ns.max(free_ns);
                (Shape::Wait, vec![i64::from(from), i64::from(count)])
            }
        };
        let shape = self.shapes.number(shape);
        let mut node = Node::leaf(shape, &numbers, 0);
        node.gap = gap;
        state.push(node);
    }

    fn add(&mut self, state: &mut RankState, entry: &Logged, at: usize) {
        // That something failed nobody knows how cannot be expected, nor made to happen.
        let is_known = entry.is_ok() || errno::is_known(entry.event.errno);
        let Some(op) = entry.op().filter(|_| is_known) else {
            return self.leave_out(state, at);
        };
        if self.succeeds_here(op, entry) {
            return self.leave_out(state, at);
        }
        let meets_end = self.meets_end(entry);
        let entry = &self.at_known_offset(entry);
        for part in entry.parts().filter(|_| op.takes_handle()) {
            let instance = part.details.instance;
            if instance != NO_ID && !state.variables.contains_key(&instance) {
                self.adopt(state, &part);
            }
        }
        let Some((statement, numbers)) = self.statement(state, op, entry) else {
            return self.leave_out(state, at);
        };
        let (start_ns, last_ns) = (entry.event.start_ns, state.last_ns);
        let is_first = std::mem::take(&mut state.begins_late);
        let waits = is_first || self.lifetimes.fill(last_ns, start_ns);
        let mut gap = Gap::once(start_ns.saturating_sub(last_ns), waits);
        gap.waited_ns = gap.waited_ns.max(gap.sum_ns.min(entry.waited_ns()));
        let place = (entry.event.op, self.template(entry.event.path), entry.event.label);
        self.leave_for(state, entry.event.label);
        let outside = state.levels.len();
        let gap = self.pause(state, gap, Some(place));
        self.enter(state, entry.event.label);
        if self.think == Think::Exact && state.levels.len() > outside {
            // The pause is before the label; each operation in it has one all the same.
            self.push_pause(state, Gap::once(0, false));
        }
        let mut node = Node::leaf(self.shapes.number(Shape::Op(statement)), &numbers, 0);
        node.gap = Gap { meets_end, ..gap };
        state.last_ns = state.last_ns.max(entry.event.end_ns);
        state.push(node);
        state.operations += 1;
    }

    /// Makes a statement of a pause, or gives it back if it is part of the mean of its place.
    fn pause(&mut self, state: &mut RankState, gap: Gap, place: Option<Place>) -> Gap {
        if gap.count == 0 {
            return gap;
        }
        let is_long = place.is_some_and(|place| self.long_pauses.contain(place, gap.sum_ns));
        match (self.think, place) {
            (Think::None, _) => return Gap::default(),
            (Think::Exact, _) => {
                let sum_ns = Recorder::adding(self.log.recorder_ns).own_ns(gap.sum_ns);
                self.push_pause(state, Gap { sum_ns, ..gap });
            }
            (Think::Typical, _) if is_long => {
                state.push(Node::made(LONG_PAUSE, Vec::new(), gap, Kind::Leaf, Vec::new()));
            }
            (Think::Typical, place) => {
                let whole_ns = self.lifetimes.whole_ns();
                place.into_iter().for_each(|place| self.pauses.add(place, gap.sum_ns, whole_ns));
                return gap;
            }
        }
        Gap::once(0, false)
    }

    fn push_pause(&mut self, state: &mut RankState, gap: Gap) {
        let numbers = vec![Number::constant(gap.sum_ns as i64)];
        state.push(Node::made(PAUSE, numbers, gap, Kind::Leaf, Vec::new()));
    }

    fn leave_out(&mut self, state: &RankState, at: usize) {
        self.left_out[state.rank as usize].push(at);
    }

    /// It failed in the log and changed nothing, and its statement would change something: where lseek(2)
    /// was to go no log tells, and `delete` removes directories, too, which unlink(2) does not.
    fn succeeds_here(&self, op: Op, entry: &Logged) -> bool {
        let is_lseek = op == Op::Fseek && !entry.is_ok();
        let is_unlink = op == Op::Delete && errno::name(entry.event.errno) == "EISDIR";
        self.log.imported && (is_lseek || is_unlink)
    }

    /// It reads fewer bytes than it asks for, at an end that the program knows.
    fn meets_end(&self, entry: &Logged) -> bool {
        let ends = &self.history.ends;
        entry.parts().any(|part| part.is_short() && ends.contains(&part.event.path))
    }

    /// The size of a file before the run, if it was read to its end. A file with the same template gets what was read
    /// of it, so that the opens of both can be in one loop.
    fn found_bytes(&self, path: u32, flags: u32) -> Option<i64> {
        let found = self.history.found.get(&path).filter(|_| flags & O_TRUNC == 0)?;
        let has_size = found.to_end || self.sized.contains(&self.template(path));
        i64::try_from(found.bytes).ok().filter(|_| has_size)
    }

    /// The operation as it has to be written: at an offset where several ranks share a position.
    fn at_known_offset(&self, entry: &Logged) -> Logged {
        let mut entry = *entry;
        let (own, other) = (entry.details.instance, entry.details.instance2);
        for (instance, flag) in [(own, FLAG_AT_POSITION), (other, FLAG_FROM_POSITION)] {
            let instance = self.instances.get(&instance);
            if instance.is_some_and(|instance| instance.is_elsewhere(&entry)) {
                entry.event.flags &= !flag;
            }
        }
        entry
    }

    /// The rank opens a file that it has not opened in the log, outside of every label.
    fn adopt(&mut self, state: &mut RankState, entry: &Logged) {
        state.leave(0, &mut self.alike());
        let there = self.filled.contains(self.log.path(entry.event.path));
        let flags = self.instances.get(&entry.details.instance).map_or(0, |i| i.adopting(there));
        let Some((template, mut numbers)) = self.name(entry.event.path) else { return };
        let variable = state.take(entry.details.instance);
        // Nobody knows who else would open a file of MPI now.
        let alone = entry.op().is_some_and(Op::is_mpi_io);
        let op = if alone { Op::Pfopen } else { Op::Fopen };
        let mut args = vec![Arg::Path(template), Arg::Flags(flags)];
        let found = self.found_bytes(entry.event.path, flags).filter(|_| !alone);
        args.extend(found.map(|_| Arg::Found));
        numbers.extend(found);
        let statement =
            Statement { gives: Some(variable), adopts: true, alone, ..Statement::new(op, args) };
        let shape = self.shapes.number(Shape::Op(statement));
        state.push(Node::leaf(shape, &numbers, 0));
        state.adopted.push(state.operations);
        state.operations += 1;
    }

    fn name(&self, path: u32) -> Option<(u32, Vec<i64>)> {
        self.names.of.get(path as usize).filter(|_| path < self.log.paths.len() as u32).cloned()
    }

    /// The statement of an operation and its numbers; `None`: it has none.
    fn statement(
        &mut self,
        state: &mut RankState,
        op: Op,
        entry: &Logged,
    ) -> Option<(Statement, Vec<i64>)> {
        let told = self.log.facts(entry);
        let (numbers, args) = (Vec::new(), Vec::new());
        let is_directory = self.history.directories.contains(&entry.event.path);
        let mut arguments = Arguments { entry, op, told, is_directory, numbers, args };
        let mut paths = [entry.event.path, entry.event.path2].into_iter();
        let closes = op.row().handle == HandleEffect::Closes;
        let alone = op == Op::Syncfs && entry.details.instance == NO_ID;
        let parts = entry.parts().filter(|_| op.takes_handle() && !alone);
        let variables: Option<Vec<u32>> = parts.map(|part| state.variable(&part, closes)).collect();
        let mut variables = variables?.into_iter();
        let by_pattern = entry.event.pieces > 0;
        for param in op.row().params {
            match param.kind {
                ParamKind::Path | ParamKind::LinkTarget => {
                    let path = paths.next().unwrap_or(NO_ID);
                    if op == Op::Tmpfile {
                        continue;
                    }
                    let (template, numbers) = self.name(path)?;
                    arguments.args.push(Arg::Path(template));
                    arguments.numbers.extend(numbers);
                }
                ParamKind::Handle if alone => {}
                ParamKind::Handle | ParamKind::MpiHandle => {
                    arguments.args.push(Arg::Handle(variables.next()?));
                }
                ParamKind::Pattern if by_pattern => {
                    let (pattern, further) = self.patterns.used(self.log, state.rank, entry)?;
                    arguments.args.push(Arg::Pattern(pattern));
                    arguments.args.extend(further.map(|_| Arg::Further));
                    arguments.numbers.extend(further);
                }
                ParamKind::Offset | ParamKind::Collective if by_pattern => {}
                ParamKind::Pattern if matches!(op, Op::Pread | Op::Pwrite) => return None,
                _ => {
                    self.guessed += u64::from(arguments.other(param)?);
                }
            }
        }
        let (mut args, mut numbers) = (arguments.args, arguments.numbers);
        if op == Op::Fopen && entry.is_ok() {
            let found = self.found_bytes(entry.event.path, entry.open_flags());
            args.extend(found.map(|_| Arg::Found));
            numbers.extend(found);
        }
        let gives = op.row().gives_handle().then(|| state.opens(entry));
        let syncs = op.is_compound() && entry.event.parts_ns[OpPart::Sync as usize] > 0;
        let statement = Statement {
            gives,
            errno: entry.event.errno,
            syncs,
            alone: told.alone && matches!(op, Op::Pfopen | Op::Pread | Op::Pwrite | Op::Pdelete),
            directory: if op == Op::Sync || alone {
                self.log.directory_of(entry.event.path)
            } else {
                None
            },
            ..Statement::new(op, args)
        };
        Some((statement, numbers))
    }

    fn template(&self, path: u32) -> u32 {
        self.names.of.get(path as usize).map_or(NO_ID, |name| name.0)
    }

    /// Leaves the labels that do not go on, without entering others.
    fn leave_for(&mut self, state: &mut RankState, label: u32) {
        let common = state.common(&self.wanted(state, label));
        state.leave(common, &mut self.alike());
    }

    fn enter(&mut self, state: &mut RankState, label: u32) {
        let wanted = self.wanted(state, label);
        let common = state.common(&wanted);
        state.leave(common, &mut self.alike());
        for part in &wanted[common..] {
            let (shape, numbers) = match part {
                Within::Label(name) => {
                    let (template, numbers) = self.names.of[*name as usize].clone();
                    (self.shapes.number(Shape::Label(template)), numbers)
                }
                Within::Process(_) => (PART, Vec::new()),
            };
            state.levels.push(Level { label: Some((*part, shape, numbers)), ..Level::default() });
        }
    }

    /// The labels of an operation, and below the first one, the program's, its process.
    fn wanted(&self, state: &RankState, label: u32) -> Vec<Within> {
        let labels = self.labels.get(label as usize).map_or(&[][..], Vec::as_slice);
        let mut wanted: Vec<Within> = labels.iter().map(|name| Within::Label(*name)).collect();
        if let Some(process) = state.process {
            wanted.insert(wanted.len().min(1), Within::Process(process));
        }
        wanted
    }
}

/// EBADF: an operation on a file that could not be opened.
const EBADF: u16 = 9;

/// Operations between getting a lock and the first for which others were waited for, at most.
const LOCKED: usize = 8;

/// A label around an operation, or the process that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// The label with this name.
    Label(u32),
    /// The work of a process.
    Process(u32),
}

/// A label or the work of a process that is open, or the program.
#[derive(Debug, Default)]
pub struct Level {
    /// The label or process, the shape of its node, and the numbers in its name.
    pub label: Option<(Within, u32, Vec<i64>)>,
    pub folder: Folder,
}

/// A rank's statements so far.
#[derive(Debug, Default)]
pub struct RankState {
    pub rank: u32,
    /// The process whose work it does, if it has several.
    pub process: Option<u32>,
    pub levels: Vec<Level>,
    /// Variables of open files.
    pub variables: HashMap<u32, u32>,
    pub taken: Vec<bool>,
    /// End of the last operation.
    pub last_ns: u64,
    /// It is a process that was started later, and has not begun yet.
    pub begins_late: bool,
    pub operations: u64,
    pub adopted: Vec<u64>,
    /// By open file the place of its last operation.
    pub last_uses: HashMap<u32, usize>,
    /// Open files by the place of their last operation.
    pub used_until: HashMap<usize, Vec<u32>>,
}

/// By open file the place of its last operation.
fn last_uses(events: &Events) -> HashMap<u32, usize> {
    let parts = events.iter().enumerate().flat_map(|(at, entry)| {
        entry.parts().map(|part| (part.details.instance, at)).collect::<Vec<_>>()
    });
    parts.collect()
}

impl RankState {
    /// Behind their last operations the variables of files are free, closed or not.
    pub fn forget(&mut self, at: usize) {
        for instance in self.used_until.remove(&at).unwrap_or_default() {
            if let Some(variable) = self.variables.remove(&instance) {
                self.taken[variable as usize] = false;
            }
        }
    }

    /// A wait for a lock comes before the operations whose signals are waited for: only the part of the pause
    /// behind the last of these signals belongs to the operation.
    pub fn waits_ahead(&mut self, entry: &Logged, at: usize, actions: &[(usize, Action)]) {
        let (start_ns, waited_ns) = (entry.event.start_ns, entry.waited_ns());
        if waited_ns == 0 || waited_ns < start_ns.saturating_sub(self.last_ns) / 2 {
            return;
        }
        let near = actions.iter().take_while(|(place, _)| *place <= at + LOCKED);
        let free = near.filter_map(|(_, action)| action.free_ns()).filter(|ns| *ns <= start_ns);
        self.last_ns = free.fold(self.last_ns, u64::max);
    }

    /// The pause before a barrier of the log.
    pub fn gap_to(&mut self, coming: Coming) -> Option<Gap> {
        // What comes before the first operation is the start of the process.
        let is_start = coming.place == 0 && self.last_ns == 0;
        let ns = coming.came_ns.filter(|_| !is_start)?.saturating_sub(self.last_ns);
        let waits = std::mem::take(&mut self.begins_late);
        Some(Gap { waited_ns: coming.waited_ns.min(ns), ..Gap::once(ns, waits) })
    }

    pub fn push(&mut self, node: Node) {
        if let Some(level) = self.levels.last_mut() {
            level.folder.push(node);
        }
    }

    /// Labels that are open and wanted.
    pub fn common(&self, wanted: &[Within]) -> usize {
        let open = self.levels[1..].iter().filter_map(|level| level.label.as_ref());
        open.zip(wanted).take_while(|(label, wanted)| label.0 == **wanted).count()
    }

    /// Closes labels until `keep` are open.
    pub fn leave(&mut self, keep: usize, alike: &mut Alike<'_>) {
        while self.levels.len() > keep + 1 {
            let Some(Level { label: Some((_, shape, numbers)), folder }) = self.levels.pop() else {
                return;
            };
            self.push(Node::block(shape, &numbers, finish(folder, alike)));
        }
    }

    /// The lowest variable that is free.
    pub fn free(&self) -> u32 {
        self.taken.iter().position(|taken| !taken).unwrap_or(self.taken.len()) as u32
    }

    pub fn take(&mut self, instance: u32) -> u32 {
        let variable = self.free();
        if variable as usize == self.taken.len() {
            self.taken.push(false);
        }
        self.taken[variable as usize] = true;
        self.variables.insert(instance, variable);
        if let Some(at) = self.last_uses.get(&instance) {
            self.used_until.entry(*at).or_default().push(instance);
        }
        variable
    }

    /// The variable that an operation that opens gives its file to.
    pub fn opens(&mut self, entry: &Logged) -> u32 {
        match entry.details.instance {
            instance if instance != NO_ID && entry.is_ok() => self.take(instance),
            _ => self.free(),
        }
    }

    /// The variable of an operation's file; that of an open that failed is still free.
    pub fn variable(&mut self, entry: &Logged, closes: bool) -> Option<u32> {
        let instance = entry.details.instance;
        match self.variables.get(&instance).copied() {
            Some(variable) => {
                if closes {
                    self.variables.remove(&instance);
                    self.taken[variable as usize] = false;
                }
                Some(variable)
            }
            None if entry.event.errno == EBADF => Some(self.free()),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_lock_waits_before_what_others_are_waited_for() {
        let wait = |free_ns| Action::Wait { from: 1, count: 1, free_ns };
        for (waited_us, place, free_ns, expected_ns) in [
            (900, 13, 800_000, 800_000),
            // It computed, the wait is far away, or was over later.
            (100, 13, 800_000, 100_000),
            (900, 40, 800_000, 100_000),
            (900, 13, 2_000_000, 100_000),
        ] {
            let mut entry = Logged::default();
            (entry.event.start_ns, entry.details.waited_us) = (1_000_000, waited_us);
            let mut state = RankState { last_ns: 100_000, ..RankState::default() };
            state.waits_ahead(
                &entry,
                12,
                &[(12, Action::Signal { to: 2 }), (place, wait(free_ns))],
            );
            assert_eq!(state.last_ns, expected_ns, "{waited_us} {place} {free_ns}");
        }
    }
}
