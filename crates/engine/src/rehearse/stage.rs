//! What all ranks of a rehearsal share: files, what was done so far, what was skipped.

use super::doubts::Doubts;
use super::expects::Expects;
use super::names::{Lattice, Lattices, Names, What};
use super::sum::Sum;
use super::together::Together;
use crate::backend::{MemFs, Over};
use crate::clock::Virtual;
use model::Op;
use model::rehearsal::Exception;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Calls that a step makes on the average before the rehearsal gives up.
const CALLS_PER_STEP: u64 = 8;

/// What ranks share.
pub(super) struct Stage {
    pub(super) fs: Rc<RefCell<MemFs>>,
    pub(super) clock: Virtual,
    /// Steps and calls that may still be made.
    steps: Cell<u64>,
    calls: Cell<u64>,
    /// Loops that would take more steps than this are multiplied out.
    pub(super) long_loop_steps: u64,
    /// There may be files from before.
    pub(super) finds_files: bool,
    pub(super) state: RefCell<State>,
    pub(super) together: RefCell<Together>,
}

/// What was done so far.
#[derive(Default)]
pub(super) struct State {
    pub(super) ranks: Vec<Tally>,
    pub(super) names: Names,
    /// What skipped iterations have added to the files, besides what stands in them.
    extra: Sum,
    pub(super) peak: Sum,
    /// The same before loops with time limits were iterated.
    pub(super) sure_peak: Option<Sum>,
    /// Some file became smaller or was removed: with several ranks the peak depends on which of
    /// them is faster.
    pub(super) shrank: bool,
    /// Figures from here on are estimates.
    pub(super) about: bool,
    /// Names of skipped iterations are unknown: files that are missing may be theirs.
    pub(super) vague: bool,
    /// Shared pointers of MPI files: position and handles, by the file's number.
    pub(super) pointers: HashMap<u32, (u64, u32)>,
    pub(super) doubts: Doubts,
    pub(super) expects: Expects,
    /// The first statement that the lexical rule of confinement does not cover.
    pub(super) exception: Option<Exception>,
}

/// What one rank has done.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// Executions and bytes, by operation.
    pub(super) ops: [(u64, u64); Op::COUNT],
    /// Operations whose figures are estimates.
    pub(super) about: [bool; Op::COUNT],
    /// Labels and operations that came to an end in them.
    pub(super) measured: BTreeSet<(u32, u8)>,
    pub(super) files: u64,
    pub(super) directories: u64,
    /// What it has added to the files, and most of it at any time.
    pub(super) net: Sum,
    pub(super) peak: Sum,
    pub(super) buffer_bytes: u64,
    pub(super) open: i64,
    pub(super) handles: i64,
    /// What happened to files, in order.
    pub(super) log: Vec<Change>,
    /// Changes that belong to operations that are over.
    over: usize,
}

/// A change of files.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A name was made; the number of the file.
    Made(Box<[u8]>, u32),
    Gone(Box<[u8]>),
    /// Skipped iterations have made or removed names.
    Skipped(Lattice),
    /// A file has grown by so many bytes of size and of room.
    Grew(u32, i64, i64),
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            ops: [(0, 0); Op::COUNT],
            about: [false; Op::COUNT],
            measured: BTreeSet::new(),
            files: 0,
            directories: 0,
            net: Sum::default(),
            peak: Sum::default(),
            buffer_bytes: 0,
            open: 0,
            handles: 0,
            log: Vec::new(),
            over: 0,
        }
    }
}

impl Tally {
    /// A file has grown. The calls of one operation are one change: there can be millions.
    pub(super) fn grew(&mut self, number: u32, size_bytes: i64, room_bytes: i64) {
        match self.log[self.over..].last_mut() {
            Some(Change::Grew(last, size, room)) if *last == number => {
                *size = size.saturating_add(size_bytes);
                *room = room.saturating_add(room_bytes);
            }
            _ => self.log.push(Change::Grew(number, size_bytes, room_bytes)),
        }
    }
}

impl Stage {
    pub(super) fn new(
        fs: Rc<RefCell<MemFs>>,
        clock: Virtual,
        ranks: u32,
        steps: u64,
        finds_files: bool,
    ) -> Stage {
        let state = State {
            ranks: vec![Tally::default(); ranks as usize],
            doubts: Doubts::of(ranks),
            ..State::default()
        };
        Stage {
            fs,
            clock,
            steps: Cell::new(steps),
            calls: Cell::new(steps.saturating_mul(CALLS_PER_STEP)),
            long_loop_steps: steps / 2 / u64::from(ranks.max(1)),
            finds_files,
            state: RefCell::new(state),
            together: RefCell::default(),
        }
    }

    /// A statement or iteration is executed; false: there were too many.
    #[inline(always)]
    pub(super) fn step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }

    /// A call is made; false: there were too many.
    pub(super) fn call(&self) -> bool {
        let left = self.calls.get();
        self.calls.set(left.saturating_sub(1));
        if left == 0 {
            self.steps.set(0);
        }
        left > 0
    }

    /// The steps did not suffice.
    pub(super) fn is_over(&self) -> bool {
        self.steps.get() == 0
    }

    /// From here on what is done depends on how fast it is.
    pub(super) fn goes_by_time(&self) {
        let state = &mut *self.state.borrow_mut();
        state.sure_peak.get_or_insert(state.peak);
    }

    /// What there is in the files now.
    pub(super) fn used(&self) -> Sum {
        Sum::of(self.fs.borrow().used())
    }

    /// A call of a rank has changed the files.
    pub(super) fn changed(&self, rank: u32, before: Sum) {
        let now = self.used();
        if now != before {
            self.state.borrow_mut().changed(rank, before, now);
        }
    }

    /// A rank goes on without executing iterations that would each have done the same; what they
    /// would have changed, for [`Stage::settle`].
    pub(super) fn skip(&self, rank: u32, done: &Delta, times: u64) -> Skipped {
        let factor = i64::try_from(times).unwrap_or(i64::MAX);
        self.clock.advance(done.ns.saturating_mul(times));
        let state = &mut *self.state.borrow_mut();
        let net = done.net.times(factor);
        state.about = true;
        let tally = &mut state.ranks[rank as usize];
        for (op, (count, bytes)) in done.ops.iter().enumerate().filter(|(_, op)| op.0 > 0) {
            tally.ops[op].0 = tally.ops[op].0.saturating_add(count.saturating_mul(times));
            tally.ops[op].1 = tally.ops[op].1.saturating_add(bytes.saturating_mul(times));
            tally.about[op] = true;
        }
        tally.files = tally.files.saturating_add(done.files.saturating_mul(times));
        tally.directories =
            tally.directories.saturating_add(done.directories.saturating_mul(times));
        tally.net = tally.net.plus(net);
        tally.open = tally.open.saturating_add(done.open.saturating_mul(factor));
        tally.peak = tally.peak.max(tally.net);
        match &done.names {
            Some(lattices) => {
                for (now, before) in lattices {
                    match now.continued(before, times) {
                        Some(lattice) => state.skipped(rank, lattice),
                        None => state.vague = true,
                    }
                }
            }
            None => state.vague = true,
        }
        let grew = |(_, size, room): &(u32, i64, i64)| {
            (size.saturating_mul(factor), room.saturating_mul(factor))
        };
        Skipped { net, grew: done.grew.iter().map(|file| (file.0, grew(file))).collect() }
    }

    /// The files change as skipped iterations, of all ranks that meet in them, would have changed
    /// them together.
    pub(super) fn settle(&self, skipped: &Skipped) {
        let before = self.used();
        for (number, (size_bytes, room_bytes)) in &skipped.grew {
            let grown = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
            self.fs.borrow_mut().grow(*number, grown(*size_bytes), grown(*room_bytes));
        }
        let used = self.used();
        let state = &mut *self.state.borrow_mut();
        state.extra = state.extra.plus(skipped.net).minus(used.minus(before));
        state.peak = state.peak.max(used.plus(state.extra));
    }
}

/// What skipped iterations would have changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Skipped {
    net: Sum,
    /// By file: size and room, bytes.
    grew: HashMap<u32, (i64, i64)>,
}

impl Skipped {
    /// The same with those of another rank.
    pub(super) fn add(&mut self, other: &Skipped) {
        self.net = self.net.plus(other.net);
        for (number, (size_bytes, room_bytes)) in &other.grew {
            let file = self.grew.entry(*number).or_default();
            let sum = (file.0.saturating_add(*size_bytes), file.1.saturating_add(*room_bytes));
            *file = sum;
        }
    }
}

/// What one iteration, or some together, have done.
#[derive(Clone, Debug, Default)]
pub(super) struct Delta {
    pub(super) ops: Vec<(u64, u64)>,
    pub(super) files: u64,
    pub(super) directories: u64,
    pub(super) net: Sum,
    pub(super) open: i64,
    pub(super) ns: u64,
    /// Names that it made or removed, each beside that of the iteration before; `None`: that one
    /// made others.
    pub(super) names: Option<Vec<(Lattice, Lattice)>>,
    /// Files from before that became longer, as much as in the iteration before.
    pub(super) grew: Vec<(u32, i64, i64)>,
}

impl Delta {
    /// They did the same, but for the names.
    pub(super) fn is_like(&self, other: &Delta) -> bool {
        let same = |one: &Delta| (one.files, one.directories, one.net, one.open);
        same(self) == same(other) && self.ops == other.ops
    }
}

impl State {
    fn changed(&mut self, rank: u32, before: Sum, now: Sum) {
        let tally = &mut self.ranks[rank as usize];
        tally.net = tally.net.plus(now.minus(before));
        tally.peak = tally.peak.max(tally.net);
        self.peak = self.peak.max(now.plus(self.extra));
        self.shrank |= now.is_less(before);
    }

    /// Names of skipped iterations are made or gone.
    fn skipped(&mut self, rank: u32, lattice: Lattice) {
        if lattice.what != What::Gone {
            self.doubts.makes(rank, &lattice.skeleton);
        }
        self.ranks[rank as usize].log.push(Change::Skipped(lattice.clone()));
        self.names.add(lattice);
    }

    /// A file of skipped iterations is put in its place, where it counts itself.
    pub(super) fn placed(&mut self, before: Sum, now: Sum) {
        self.extra = self.extra.minus(now.minus(before));
    }

    /// A rank has made a name; the number of what it stands for.
    pub(super) fn made(&mut self, rank: u32, name: &[u8], number: u32, directory: bool, new: bool) {
        let tally = &mut self.ranks[rank as usize];
        tally.files += u64::from(new && !directory);
        tally.directories += u64::from(new && directory);
        tally.log.push(Change::Made(name.into(), number));
    }

    /// A rank has removed a name.
    pub(super) fn gone(&mut self, rank: u32, name: &[u8]) {
        self.names.removed(name);
        self.ranks[rank as usize].log.push(Change::Gone(name.into()));
    }

    /// An operation of a rank is over.
    pub(super) fn over(&mut self, rank: u32, name: &[u8], over: &Over<'_>) {
        let about = self.about;
        let tally = &mut self.ranks[rank as usize];
        let at = over.op as usize;
        tally.ops[at].0 += 1;
        tally.ops[at].1 = tally.ops[at].1.saturating_add(over.done_bytes);
        tally.about[at] |= about;
        if over.errno == 0 {
            tally.measured.insert((over.label, over.op as u8));
        }
        tally.handles = tally.handles.max(tally.open);
        let new = tally.over..tally.log.len();
        tally.over = tally.log.len();
        let found = self.expects.has(name);
        self.doubts.over(rank, name, over, &tally.log[new], found);
    }

    /// What a rank has done since a place of its log, beside what it had done before that.
    pub(super) fn compare(&self, rank: u32, before: usize, at: usize, fs: &MemFs) -> Compared {
        let log = &self.ranks[rank as usize].log;
        let (then, now) = (&log[before..at], &log[at..]);
        let (old, new) = (net_names(then, fs), net_names(now, fs));
        let names = (old.len() == new.len()).then(|| new.into_iter().zip(old).collect());
        let (old, grown) = (growth(then), growth(now));
        let grew = grown.into_iter().filter(|file| old.contains(file)).collect();
        Compared { names, grew }
    }
}

/// See [`Delta`].
pub(super) struct Compared {
    pub(super) names: Option<Vec<(Lattice, Lattice)>>,
    pub(super) grew: Vec<(u32, i64, i64)>,
}

/// Names that some changes have made or removed on the whole, in order.
fn net_names(log: &[Change], fs: &MemFs) -> Vec<Lattice> {
    let mut ends: HashMap<&[u8], (bool, bool)> = HashMap::new();
    for change in log {
        let (name, made) = match change {
            Change::Made(name, _) => (name, true),
            Change::Gone(name) => (name, false),
            _ => continue,
        };
        ends.entry(name).or_insert((made, made)).1 = made;
    }
    let mut lattices = Lattices::default();
    for change in log {
        match change {
            Change::Skipped(lattice) => lattices.push(lattice.clone()),
            Change::Made(name, _) | Change::Gone(name) => {
                // Made and removed, or removed and made again: nothing on the whole.
                let what = match ends.remove(&**name) {
                    Some((true, true)) => fs.what(name),
                    Some((false, false)) => What::Gone,
                    _ => continue,
                };
                lattices.push(Lattice::single(name, what));
            }
            Change::Grew(..) => {}
        }
    }
    lattices.all
}

/// How much files that were there before have grown, in order of their numbers.
fn growth(log: &[Change]) -> Vec<(u32, i64, i64)> {
    let mut files: HashMap<u32, (i64, i64)> = HashMap::new();
    let mut made = HashSet::new();
    for change in log {
        match change {
            Change::Made(_, number) => drop(made.insert(*number)),
            Change::Grew(number, size_bytes, room_bytes) => {
                let file = files.entry(*number).or_default();
                *file = (file.0 + size_bytes, file.1 + room_bytes);
            }
            _ => {}
        }
    }
    let old = files.into_iter().filter(|(number, _)| !made.contains(number));
    let mut grown: Vec<_> = old.map(|(number, file)| (number, file.0, file.1)).collect();
    grown.sort_unstable();
    grown
}

/// What stands at a name now.
trait Standing {
    fn what(&self, name: &[u8]) -> What;
}

impl Standing for MemFs {
    fn what(&self, name: &[u8]) -> What {
        match self.number(name) {
            Ok(number) if self.is_directory(number) => What::Directory,
            Ok(number) => What::File(self.extent(number).1),
            Err(_) => What::Gone,
        }
    }
}

impl Stage {
    /// What a rank has done so far.
    pub(super) fn mark(&self, rank: u32) -> Mark {
        let state = self.state.borrow();
        let tally = &state.ranks[rank as usize];
        Mark {
            ops: tally.ops.to_vec(),
            files: tally.files,
            directories: tally.directories,
            net: tally.net,
            open: tally.open,
            ns: self.clock.now(),
            log: tally.log.len(),
        }
    }
}

/// What a rank had done at one time.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    ops: Vec<(u64, u64)>,
    files: u64,
    directories: u64,
    net: Sum,
    open: i64,
    ns: u64,
    pub(super) log: usize,
}

impl Mark {
    /// What was done since an earlier time.
    pub(super) fn since(&self, before: &Mark, compared: Compared) -> Delta {
        let ops = self.ops.iter().zip(&before.ops).map(|(now, old)| (now.0 - old.0, now.1 - old.1));
        Delta {
            ops: ops.collect(),
            files: self.files - before.files,
            directories: self.directories - before.directories,
            net: self.net.minus(before.net),
            open: self.open - before.open,
            ns: self.ns.saturating_sub(before.ns),
            names: compared.names,
            grew: compared.grew,
        }
    }
}
