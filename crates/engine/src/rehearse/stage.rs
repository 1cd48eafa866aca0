//! State that all ranks of a rehearsal share: files, and tallies as rows of numbers that can be added,
//! subtracted and multiplied.
//!
//! ```text
//! write: calls bytes | read: calls bytes | files directories handles | run directory: bytes names | all: bytes names
//! ```
//!
//! [`Expects`] are files that must exist before a program starts: it uses them, and no rank makes them.

use super::doubts::{Doubts, Made, skeleton};
use super::races::Races;
use crate::backend::mem::{Planted, Used};
use crate::backend::{InForce, MemFs, Over};
use crate::clock::{Virtual, thread_cpu_ns};
use model::op::ByteEffect;
use model::plan::Instr;
use model::rehearsal::{BufferBytes, Exception, Expected, Thing};
use model::{Op, Plan};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// Numbers in the order of a [`Layout`].
pub(crate) type Row = Vec<i64>;

/// The place of each number in a row.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Operations of the plan, in order of [`Op`].
    pub(crate) ops: Vec<Op>,
    /// By operation: its index in `ops`.
    places: Vec<usize>,
    /// The run directory and the further ones.
    pub(crate) directories: usize,
    /// Instructions of operations that have figures of their own, in order; empty unless they are asked for.
    sites: Vec<u32>,
}

/// Amounts of an instruction: executions, bytes, files made.
const OF_SITE: usize = 3;

impl Layout {
    /// `by_site`: each instruction has figures of its own.
    pub(crate) fn new(plan: &Plan, by_site: bool) -> Layout {
        let op = |instr: &Instr| if let Instr::Op { op, .. } = instr { Some(*op) } else { None };
        let mut ops: Vec<Op> = plan.code.iter().filter_map(op).collect();
        ops.sort_unstable();
        ops.dedup();
        let mut places = vec![0; Op::COUNT];
        ops.iter().zip(0..).for_each(|(op, place)| places[*op as usize] = place);
        let is_op = |instr: &Instr| by_site && matches!(instr, Instr::Op { .. });
        let sites = (0..).zip(&plan.code).filter(|(_, instr)| is_op(instr)).map(|(site, _)| site);
        Layout { ops, places, directories: 1 + plan.directories.len(), sites: sites.collect() }
    }

    /// Executions of an operation; its bytes come behind.
    pub(crate) fn op(&self, op: Op) -> usize {
        2 * self.places[op as usize]
    }

    /// Files made.
    pub(crate) fn files(&self) -> usize {
        2 * self.ops.len()
    }

    /// Directories made.
    pub(crate) fn folders(&self) -> usize {
        self.files() + 1
    }

    /// Handles that are open.
    pub(crate) fn handles(&self) -> usize {
        self.files() + 2
    }

    /// Bytes and names by directory, and last in all of them together.
    pub(crate) fn footprint(&self) -> Range<usize> {
        let start = self.files() + 3;
        start..start + 2 * (self.directories + 1)
    }

    /// Executions of an instruction; its bytes and the files that it makes come behind. `None`: it has no figures.
    fn site(&self, site: u32) -> Option<usize> {
        let number = self.sites.binary_search(&site).ok()?;
        Some(self.footprint().end + OF_SITE * number)
    }

    /// All instructions with figures of their own, each with the place of these.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let start = self.footprint().end;
        self.sites.iter().zip((start..).step_by(OF_SITE)).map(|(site, place)| (*site, place))
    }

    fn width(&self) -> usize {
        self.footprint().end + OF_SITE * self.sites.len()
    }
}

/// Adds a multiple of the differences between a row and an earlier one.
pub(crate) fn add_scaled(to: &mut [i64], difference: &[i64], factor: i64) {
    for (to, difference) in to.iter_mut().zip(difference) {
        *to = to.saturating_add(difference.saturating_mul(factor));
    }
}

fn subtract(now: &[i64], before: &[i64]) -> Row {
    now.iter().zip(before).map(|(now, before)| now.saturating_sub(*before)).collect()
}

/// Becomes the larger one at each place.
fn raise(peak: &mut [i64], now: impl Iterator<Item = i64>) {
    peak.iter_mut().zip(now).for_each(|(peak, now)| *peak = (*peak).max(now));
}

/// Units of the budget that a step takes; a call takes one.
const STEP: u64 = 8;
/// Units of the budget between two looks at the clock.
const LOOK: u64 = 1 << 12;
/// Steps that are taken however long they last: figures of programs with fewer never depend on the machine.
const STEPS_MIN: u64 = 1 << 18;

/// Steps and time that a rehearsal may take.
pub(crate) struct Budget {
    left: Cell<u64>,
    pub(crate) steps: u64,
    /// When this thread has used its time, on its own clock.
    end_ns: Option<u64>,
}

impl Budget {
    /// `time_ns`: CPU time, nanoseconds, so that other load of the machine does not matter.
    pub(crate) fn new(steps: u64, time_ns: Option<u64>) -> Budget {
        let end_ns = time_ns.map(|time_ns| thread_cpu_ns().saturating_add(time_ns));
        Budget { left: Cell::new(steps.saturating_mul(STEP)), steps, end_ns }
    }

    fn spend(&self, units: u64) -> bool {
        let before = self.left.get();
        let mut left = before.saturating_sub(units);
        if before / LOOK != left / LOOK && self.is_late() {
            left = 0;
        }
        self.left.set(left);
        before > 0
    }

    fn is_late(&self) -> bool {
        self.taken() > STEPS_MIN && self.end_ns.is_some_and(|end_ns| thread_cpu_ns() >= end_ns)
    }

    /// A statement or iteration begins; false: there were too many.
    #[inline(always)]
    pub(crate) fn step(&self) -> bool {
        self.spend(STEP)
    }

    /// A call is made; false: there were too many.
    pub(crate) fn call(&self) -> bool {
        self.spend(1)
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Steps taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.steps - self.left.get() / STEP
    }
}

/// State that ranks share.
pub(crate) struct Stage {
    pub(crate) fs: Rc<RefCell<MemFs>>,
    pub(crate) clock: Virtual,
    pub(crate) budget: Budget,
    /// Iterations of a loop that are executed; of longer loops as many are chosen.
    pub(crate) iterations_max: u64,
    /// There may be files from before.
    pub(crate) finds_files: bool,
    pub(crate) state: RefCell<State>,
}

/// Tallies and the state of files.
pub(crate) struct State {
    pub(crate) layout: Layout,
    pub(crate) ranks: Vec<Tally>,
    /// Footprint of the files now, and what it was made from.
    pub(crate) used: Row,
    seen: Vec<Used>,
    /// Footprint added for iterations that were left out.
    extra: Row,
    pub(crate) peak: Row,
    /// The peak before loops with time limits were iterated.
    pub(crate) sure_peak: Option<Row>,
    /// A file became smaller or was removed: with several ranks the peak depends on which of them is
    /// faster.
    pub(crate) shrank: bool,
    /// Figures from here on are estimates.
    pub(crate) about: bool,
    /// Iterations were left out.
    pub(crate) sampled: bool,
    /// By a name without its numbers: the file that got such a name last. Kept where iterations may be
    /// left out, because a name that is missing may be theirs.
    pub(crate) kinds: HashMap<Box<[u8]>, u32>,
    /// Names that the program has removed: no files from before have them.
    pub(crate) removed: HashSet<Box<[u8]>>,
    pub(crate) doubts: Doubts,
    pub(crate) expects: Expects,
    pub(crate) races: Races,
    /// The first statement that the lexical rule of confinement does not cover.
    pub(crate) exception: Option<Exception>,
}

/// Tally of one rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) amounts: Row,
    /// How far each amount may be off.
    pub(crate) spread: Vec<f64>,
    /// The largest footprint at any time.
    pub(crate) peak: Row,
    /// By operation of the layout: its figures are estimates.
    pub(crate) about: Vec<bool>,
    /// Labels and operations that succeeded in them.
    pub(crate) measured: BTreeSet<(u32, u8)>,
    pub(crate) buffer_bytes: u64,
    pub(crate) memory: BufferBytes,
    /// Most handles that were open between operations.
    pub(crate) handles: i64,
    /// Names that the running operation has made.
    made: Vec<Made>,
    /// The running iteration has a weight above 1.
    pub(crate) stands_for_several: bool,
    /// Since then: files that were made, bytes appended to files, and statements that have made new
    /// names or found old ones.
    born: Vec<u32>,
    pub(crate) appended: Vec<(u32, u64)>,
    pub(crate) found_old: bool,
    pub(crate) sites: HashMap<u32, (bool, bool)>,
}

impl Tally {
    fn new(layout: &Layout) -> Tally {
        Tally {
            amounts: vec![0; layout.width()],
            spread: vec![0.0; layout.width()],
            peak: vec![0; layout.footprint().len()],
            about: vec![false; layout.ops.len()],
            ..Tally::default()
        }
    }

    /// The rank is in no loop of which iterations are left out.
    pub(crate) fn end_sampling(&mut self) {
        self.stands_for_several = false;
        self.born.clear();
        self.appended.clear();
        self.sites.clear();
    }
}

/// Tally of a rank at the start of an iteration with a weight above 1.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    amounts: Row,
    spread: Vec<f64>,
    ns: u64,
    born: usize,
    appended: usize,
}

impl Stage {
    pub(crate) fn new(
        plan: &Plan,
        fs: Rc<RefCell<MemFs>>,
        clock: Virtual,
        budget: Budget,
        iterations_max: u64,
        finds_files: bool,
        by_site: bool,
    ) -> Stage {
        let layout = Layout::new(plan, by_site);
        let footprint = vec![0; layout.footprint().len()];
        let state = State {
            ranks: vec![Tally::new(&layout); plan.ranks as usize],
            layout,
            used: footprint.clone(),
            seen: Vec::new(),
            extra: footprint.clone(),
            peak: footprint,
            sure_peak: None,
            shrank: false,
            about: false,
            sampled: false,
            kinds: HashMap::new(),
            removed: HashSet::new(),
            doubts: Doubts::new(plan),
            expects: Expects::default(),
            races: Races::new(plan),
            exception: None,
        };
        let state = RefCell::new(state);
        Stage { fs, clock, budget, iterations_max, finds_files, state }
    }

    /// From here on what is done depends on how fast it is.
    pub(crate) fn goes_by_time(&self) {
        let state = &mut *self.state.borrow_mut();
        state.sure_peak.get_or_insert_with(|| state.peak.clone());
    }

    /// A call of a rank may have changed the files.
    pub(crate) fn changed(&self, rank: u32) {
        self.state.borrow_mut().changed(rank, self.fs.borrow().used());
    }

    /// Names that there are now.
    pub(crate) fn names(&self) -> u64 {
        self.fs.borrow().used().iter().map(|used| used.nodes).sum()
    }

    /// Begins an iteration with a weight above 1.
    pub(crate) fn mark(&self, rank: u32) -> Mark {
        let state = &mut *self.state.borrow_mut();
        state.sampled = true;
        let tally = &mut state.ranks[rank as usize];
        tally.stands_for_several = true;
        Mark {
            amounts: tally.amounts.clone(),
            spread: tally.spread.clone(),
            ns: self.clock.now(),
            born: tally.born.len(),
            appended: tally.appended.len(),
        }
    }

    /// Ends an iteration: its amounts count `weight` times. Returns them.
    pub(crate) fn multiply(&self, rank: u32, mark: &Mark, weight: u64) -> Row {
        let more = i64::try_from(weight - 1).unwrap_or(i64::MAX);
        self.clock.advance(self.clock.now().saturating_sub(mark.ns).saturating_mul(weight - 1));
        let state = &mut *self.state.borrow_mut();
        let footprint = state.layout.footprint();
        let tally = &mut state.ranks[rank as usize];
        let done = subtract(&tally.amounts, &mark.amounts);
        add_scaled(&mut tally.amounts, &done, more);
        for (now, before) in tally.spread.iter_mut().zip(&mark.spread) {
            *now += (*now - before) * more as f64;
        }
        raise(&mut tally.peak, tally.amounts[footprint.clone()].iter().copied());
        tally.handles = tally.handles.max(tally.amounts[state.layout.handles()]);
        add_scaled(&mut state.extra, &done[footprint], more);
        for (number, bytes) in tally.grow_appended(mark, weight) {
            self.fs.borrow_mut().grow(number, bytes, bytes);
        }
        state.placed(self.fs.borrow().used());
        state.raise_peak();
        done
    }
}

impl Tally {
    /// Bytes by which files grow that were there before the iteration began, for the iterations that
    /// are left out.
    fn grow_appended(&mut self, mark: &Mark, weight: u64) -> Vec<(u32, u64)> {
        let born: HashSet<u32> = self.born[mark.born..].iter().copied().collect();
        let mut files: Vec<(u32, u64)> = Vec::new();
        for (number, bytes) in self.appended.drain(mark.appended..) {
            match files.iter_mut().find(|file| file.0 == number) {
                Some(file) => file.1 = file.1.saturating_add(bytes),
                None if !born.contains(&number) => files.push((number, bytes)),
                None => {}
            }
        }
        let times =
            |factor: u64| files.iter().map(move |file| (file.0, file.1.saturating_mul(factor)));
        self.appended.extend(times(weight));
        times(weight - 1).collect()
    }
}

impl State {
    /// How the footprint has changed since the last look; `None`: not at all.
    fn take_difference(&mut self, used: &[Used]) -> Option<Row> {
        if self.seen == used {
            return None;
        }
        self.seen = used.to_vec();
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let each = used.iter().map(|used| [signed(used.bytes), signed(used.nodes)]);
        let all = each.clone().fold([0i64; 2], |all, one| {
            [all[0].saturating_add(one[0]), all[1].saturating_add(one[1])]
        });
        let now: Row = each.chain([all]).flatten().collect();
        let difference = subtract(&now, &self.used);
        self.used = now;
        Some(difference)
    }

    fn changed(&mut self, rank: u32, used: &[Used]) {
        let Some(difference) = self.take_difference(used) else { return };
        let tally = &mut self.ranks[rank as usize];
        let own = &mut tally.amounts[self.layout.footprint()];
        add_scaled(own, &difference, 1);
        raise(&mut tally.peak, own.iter().copied());
        self.shrank |= difference.iter().any(|more| *more < 0);
        self.raise_peak();
    }

    /// A file was put in its place that counts already, or was there before.
    pub(crate) fn placed(&mut self, used: &[Used]) {
        if let Some(difference) = self.take_difference(used) {
            add_scaled(&mut self.extra, &difference, -1);
        }
    }

    fn raise_peak(&mut self) {
        let now =
            self.used.iter().zip(&self.extra).map(|(used, extra)| used.saturating_add(*extra));
        raise(&mut self.peak, now);
    }

    /// A rank has made a name; `number`: the file behind it; `new`: it is a new one.
    pub(crate) fn record_made(
        &mut self,
        rank: u32,
        name: &[u8],
        number: u32,
        directory: bool,
        new: bool,
    ) {
        let place = if directory { self.layout.folders() } else { self.layout.files() };
        let tally = &mut self.ranks[rank as usize];
        tally.amounts[place] += i64::from(new);
        tally.made.push(Made { name: name.into(), number, new });
        if tally.stands_for_several && new {
            tally.born.push(number);
        }
    }

    /// File or directory that iterations which were left out would have made at a name; `None`: they make
    /// no such names, or have removed them.
    pub(crate) fn left_out(&self, name: &[u8], fs: &MemFs) -> Option<Planted> {
        let number = *self.kinds.get(&skeleton(name)).filter(|_| self.sampled)?;
        match fs.is_directory(number) {
            true => Some(Planted::Directory),
            false => fs.is_there(number).then(|| Planted::File(fs.extent(number).1)),
        }
    }

    /// An operation of a rank has ended.
    pub(crate) fn end_operation(
        &mut self,
        rank: u32,
        name: &[u8],
        over: &Over<'_>,
        options: &InForce,
    ) {
        // Some file systems cannot share blocks.
        self.about |= (over.op.row().bytes == ByteEffect::Shares) || self.races.found;
        let tally = &mut self.ranks[rank as usize];
        let at = self.layout.op(over.op);
        let bytes = i64::try_from(over.done_bytes).unwrap_or(i64::MAX);
        tally.amounts[at] += 1;
        tally.amounts[at + 1] = tally.amounts[at + 1].saturating_add(bytes);
        tally.about[at / 2] |= self.about;
        if let Some(at) = self.layout.site(over.site) {
            let made = tally.made.iter().filter(|made| made.new).count() as i64;
            for (amount, more) in tally.amounts[at..].iter_mut().zip([1, bytes, made]) {
                *amount = amount.saturating_add(more);
            }
        }
        if over.errno == 0 {
            tally.measured.insert((over.label, over.op as u8));
        }
        tally.handles = tally.handles.max(tally.amounts[self.layout.handles()]);
        if tally.stands_for_several {
            let site = tally.sites.entry(over.site).or_default();
            *site = (site.0 || !tally.made.is_empty(), site.1 || tally.found_old);
        }
        tally.found_old = false;
        let found = self.expects.has(name);
        self.doubts.end_operation(rank, name, over, &tally.made, (found, options));
        tally.made.clear();
    }
}

/// Use that the program makes of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// Only its text was read.
    Link,
}

/// Names and how much of them is read.
#[derive(Debug, Default)]
pub(crate) struct Expects {
    /// By name: its kind, and the number of the planted file, if there is one.
    names: BTreeMap<Vec<u8>, (Kind, Option<u32>)>,
    /// By number: bytes up to the end of what is read, and whether all of it is.
    reads: HashMap<u32, (u64, bool)>,
    /// Numbers of files with `filesize`.
    sized: HashSet<u32>,
    /// Directories that the program makes if they are not there.
    optional: HashSet<Vec<u8>>,
}

/// Text of a symbolic link of which nothing more is known.
const TARGET: &[u8] = b"target";

impl Expects {
    /// A name is used that nobody made. `number`: that of the file that was put there.
    pub(crate) fn name(&mut self, name: &[u8], kind: Kind, number: Option<u32>) {
        if let Some(number) = number.filter(|_| kind != Kind::Directory) {
            self.reads.entry(number).or_default();
        }
        // What is in a directory that the program makes if it is not there: then it is there.
        let above = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for above in above.map(|(end, _)| &name[..end]).filter(|it| self.optional.contains(*it)) {
            self.names.insert(above.into(), (Kind::Directory, None));
        }
        let known = self.names.entry(name.into()).or_insert((kind, number));
        if kind == Kind::Directory {
            known.0 = kind;
        }
    }

    /// A name is used by a call that follows symbolic links.
    pub(crate) fn is_followed(&mut self, name: &[u8]) {
        if let Some((kind @ Kind::Link, _)) = self.names.get_mut(name) {
            *kind = Kind::File;
        }
    }

    /// The program makes a directory, and takes it that it is there already.
    pub(crate) fn may_be_there(&mut self, name: &[u8]) {
        self.optional.insert(name.into());
    }

    /// A name that was only asked for is used as a directory: it is one.
    pub(crate) fn is_directory(&mut self, name: &[u8]) {
        if let Some(known) = self.names.get_mut(name) {
            *known = (Kind::Directory, None);
        }
    }

    /// Bytes of the file at this name are read.
    pub(crate) fn is_read(&self, name: &[u8]) -> bool {
        let number = self.names.get(name).and_then(|(_, number)| *number);
        number.and_then(|number| self.reads.get(&number)).is_some_and(|read| *read != (0, false))
    }

    /// The name has to be there.
    fn has(&self, name: &[u8]) -> bool {
        self.names.contains_key(name)
    }

    /// The file needs this size (`filesize`), however much of it is read.
    pub(crate) fn set_size(&mut self, number: u32, size_bytes: u64) {
        self.read(Some(number), size_bytes, false);
        self.sized.insert(number);
    }

    /// Bytes of a file are read up to `end`, `whole`: to its end.
    pub(crate) fn read(&mut self, number: Option<u32>, end: u64, whole: bool) {
        let number = number.filter(|number| !self.sized.contains(number));
        if let Some(file) = number.and_then(|number| self.reads.get_mut(&number)) {
            *file = (file.0.max(end), file.1 || whole);
        }
    }

    /// All of it, directories before what is in them.
    pub(crate) fn all(&self, plan: &Plan) -> Vec<Expected> {
        let entry = |(path, (kind, number)): (&Vec<u8>, &(Kind, Option<u32>))| {
            let read = number.and_then(|number| self.reads.get(&number));
            let (size_bytes, whole) = read.copied().unwrap_or_default();
            let what = match kind {
                Kind::File => Thing::File { size_bytes, whole },
                Kind::Directory => Thing::Directory,
                Kind::Link => Thing::Link(TARGET.to_vec()),
            };
            Expected { path: plan.named(path).into_owned(), what }
        };
        self.names.iter().map(entry).collect()
    }
}
