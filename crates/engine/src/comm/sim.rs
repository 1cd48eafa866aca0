//! Simulated ranks in one thread: who may run, who waits for whom, in virtual time.
//!
//! The rank that is furthest behind in time runs next (ties: the lower rank), until it
//! waits or is ahead of the others by more than [`QUANTUM_NS`]. So the order is a
//! function of the program alone, and nearly that of a real machine.
//!
//! Signals of a counter count in the order of the virtual times at which they were given:
//!
//! ```text
//! given by    rank 0 at 90 µs     rank 2 at 40 µs         (ranks may run ahead of each other)
//! wait(x)     is over at 40 µs    wait(x, 2) at 90 µs
//! ```

use super::interface::{
    Activity, Check, Claim, Collective, CollectiveCall, Comm, End, Given, Members, NodePlace,
    Numbers, Poll, awaited_lock, awaited_signal, blame, release_reason, signal_key, values,
};
use crate::clock::Virtual;
use model::plan::{Function, MemberSet, Pc, SetId};
use model::{RankSet, Value};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

/// How far a rank may run ahead of the next one: bounds the work of changing ranks.
pub const QUANTUM_NS: u64 = 100_000;
/// Virtual time of a test for a signal: a rank that tests in a loop lets the others continue.
const ASKING_NS: u64 = 10_000;
/// Virtual time of a claim.
const CLAIMING_NS: u64 = 100;
/// Statements a rank may execute in one turn: lets the caller look for interrupts.
const FUEL: u32 = 1 << 20;

/// The ranks of a simulation.
pub struct World {
    clock: Virtual,
    /// The running rank gives control back when its time is past this.
    horizon_ns: Cell<u64>,
    fuel: Cell<u32>,
    interrupted: Cell<bool>,
    state: RefCell<State>,
}

struct State {
    ranks: Vec<Rank>,
    sets: Vec<Set>,
    /// Counters of signals and who waits for them.
    signals: HashMap<u64, Times>,
    none: Times,
    waiting: HashMap<u64, Vec<u32>>,
    /// Locks of files given back so far, and who waits for another one.
    locks_given_back: u64,
    at_locks: Vec<u32>,
    ready: BinaryHeap<Reverse<(u64, u32)>>,
}

#[derive(Default)]
struct Rank {
    status: Status,
    /// Its virtual time while it does not run.
    now_ns: u64,
    /// Its value for the collective function at which it waits.
    given: Given,
}

#[derive(Clone, Debug, Default)]
enum Status {
    #[default]
    Runs,
    AtBarrier(Pc, Option<Collective>),
    /// The barrier it waited at was met.
    Passed,
    AtWait(Box<Waiting>),
    /// For a lock of the file with this path.
    AtLock(Pc, Box<[u8]>),
    /// Its wait can never be met.
    Released,
    Ended(End),
}

#[derive(Clone, Debug)]
struct Waiting {
    keys: [u64; 2],
    target: u64,
    name: Vec<u8>,
    site: Pc,
}

struct Set {
    ranks: RankSet,
    waiting: Vec<u32>,
    broken: bool,
    /// Values of the members at their last barrier.
    given: Vec<Given>,
    /// The counter of a `share`: [`super::interface::Claim`].
    claims: AtomicU64,
}

impl World {
    /// All ranks at time 0, ready to run.
    pub fn new(ranks: u32, sets: &[MemberSet], clock: Virtual) -> World {
        let sets = sets.iter().map(|set| Set {
            ranks: set.members.clone(),
            waiting: Vec::new(),
            broken: false,
            given: Vec::new(),
            claims: AtomicU64::new(0),
        });
        let state = State {
            ranks: (0..ranks).map(|_| Rank::default()).collect(),
            sets: sets.collect(),
            signals: HashMap::new(),
            none: Times::default(),
            waiting: HashMap::new(),
            locks_given_back: 0,
            at_locks: Vec::new(),
            ready: (0..ranks).map(|rank| Reverse((0, rank))).collect(),
        };
        World {
            clock,
            horizon_ns: Cell::new(0),
            fuel: Cell::new(0),
            interrupted: Cell::new(false),
            state: RefCell::new(state),
        }
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.state.borrow().ranks.len() as u32
    }

    /// Asks every rank to stop at its next statement; those that wait are released.
    pub fn interrupt(&self) {
        self.interrupted.set(true);
        self.release_all();
    }

    /// It was asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }

    /// The rank that runs next; the clock shows its time. `None`: nobody can run.
    pub fn next(&self) -> Option<u32> {
        let mut state = self.state.borrow_mut();
        let Reverse((now_ns, rank)) = state.ready.pop()?;
        let next_ns = state.ready.peek().map_or(u64::MAX, |next| next.0.0);
        self.clock.set(now_ns);
        self.horizon_ns.set(next_ns.saturating_add(QUANTUM_NS));
        self.fuel.set(if self.interrupted.get() { 0 } else { FUEL });
        Some(rank)
    }

    /// The running rank gave control back; it runs again when its time comes or its wait is over.
    pub fn give_back(&self, rank: u32) {
        let mut state = self.state.borrow_mut();
        let now_ns = self.clock.now();
        if matches!(state.ranks[rank as usize].status, Status::Runs) {
            state.ready.push(Reverse((now_ns, rank)));
        }
    }

    /// Every rank that waits for others, and where.
    pub fn waiting(&self) -> Vec<Activity> {
        let state = self.state.borrow();
        let all = state.ranks.iter().zip(0..);
        all.filter_map(|(rank, number)| state.activity(rank, number)).collect()
    }

    /// The virtual time of a rank that does not run.
    pub fn time_of(&self, rank: u32) -> u64 {
        let state = self.state.borrow();
        let ready = state.ready.iter().find(|ready| ready.0.1 == rank);
        ready.map_or(state.ranks[rank as usize].now_ns, |ready| ready.0.0)
    }

    /// Releases everybody who waits.
    pub fn release_all(&self) {
        let mut state = self.state.borrow_mut();
        let waiting: Vec<u32> = (0..state.ranks.len() as u32)
            .filter(|rank| state.ranks[*rank as usize].status.waits())
            .collect();
        state.sets.iter_mut().for_each(|set| set.waiting.clear());
        state.waiting.clear();
        state.at_locks.clear();
        for rank in waiting {
            let now_ns = state.ranks[rank as usize].now_ns;
            state.wake(rank, Status::Released, now_ns);
        }
    }

    /// Waits until all members have come to the same, each with a value if it is a collective function.
    fn barrier(
        &self,
        rank: u32,
        members: &Members,
        site: Pc,
        (what, given): (Option<Collective>, Given),
    ) -> Poll {
        let mut state = self.state.borrow_mut();
        match state.ranks[rank as usize].status {
            Status::Passed => return state.answer(rank, Poll::Ready),
            Status::Released => return state.answer(rank, Poll::Released),
            Status::AtBarrier(..) => return Poll::Pending,
            _ => state.ranks[rank as usize].given = given,
        }
        if members.ranks.len() <= 1 {
            return Poll::Ready;
        }
        let now_ns = self.clock.now();
        let set = &mut state.sets[members.set as usize];
        if set.broken {
            return Poll::Released;
        }
        let is_complete = set.waiting.len() + 1 == set.ranks.len();
        if !is_complete || !state.have_come_to(members.set, what) {
            state.sets[members.set as usize].waiting.push(rank);
            state.park(rank, Status::AtBarrier(site, what), now_ns);
            return Poll::Pending;
        }
        let others = std::mem::take(&mut state.sets[members.set as usize].waiting);
        state.collect_given(members.set);
        let time_of = |other: &u32| state.ranks[*other as usize].now_ns;
        let passed_ns = others.iter().map(time_of).fold(now_ns, u64::max);
        for other in &others {
            state.wake(*other, Status::Passed, passed_ns);
        }
        // Gives the storage back: a barrier in a loop allocates once.
        state.sets[members.set as usize].waiting = {
            let mut list = others;
            list.clear();
            list
        };
        self.clock.set(passed_ns);
        Poll::Ready
    }

    fn wait(&self, rank: u32, members: &Members, name: &[u8], target: u64, site: Pc) -> Poll {
        let mut state = self.state.borrow_mut();
        match state.ranks[rank as usize].status {
            Status::Released => return state.answer(rank, Poll::Released),
            Status::AtWait(_) => return Poll::Pending,
            _ => {}
        }
        let keys = keys(rank, members, name);
        if let Some(given_ns) = state.given_ns(keys, target) {
            // Whoever gave it may have run ahead.
            self.clock.set(self.clock.now().max(given_ns));
            return Poll::Ready;
        }
        keys.iter().for_each(|key| state.waiting.entry(*key).or_default().push(rank));
        let waiting = Waiting { keys, target, name: name.to_vec(), site };
        state.park(rank, Status::AtWait(Box::new(waiting)), self.clock.now());
        Poll::Pending
    }

    fn wait_for_lock(&self, rank: u32, path: &[u8], seen: u64, site: Pc) -> Poll {
        let mut state = self.state.borrow_mut();
        match state.ranks[rank as usize].status {
            Status::Released => return state.answer(rank, Poll::Released),
            Status::AtLock(..) => return Poll::Pending,
            _ if state.locks_given_back > seen => return Poll::Ready,
            _ => {}
        }
        state.at_locks.push(rank);
        state.park(rank, Status::AtLock(site, path.into()), self.clock.now());
        Poll::Pending
    }
}

/// The counters that a rank sees: the set's and its own.
fn keys(rank: u32, members: &Members, name: &[u8]) -> [u64; 2] {
    [None, Some(rank)].map(|to| signal_key(members.set, name, to))
}

/// Ranks at two different calls inside MPI, or at one and at a barrier, never match.
fn can_match(one: Option<Collective>, other: Option<Collective>) -> bool {
    let is_call = |what| matches!(what, Some(Collective::Op(_)));
    one == other || !is_call(one) && !is_call(other)
}

impl Status {
    fn waits(&self) -> bool {
        matches!(self, Status::AtBarrier(..) | Status::AtWait(_) | Status::AtLock(..))
    }
}

impl State {
    fn park(&mut self, rank: u32, status: Status, now_ns: u64) {
        let rank = &mut self.ranks[rank as usize];
        (rank.status, rank.now_ns) = (status, now_ns);
    }

    fn wake(&mut self, rank: u32, status: Status, now_ns: u64) {
        self.park(rank, status, now_ns);
        self.ready.push(Reverse((now_ns, rank)));
    }

    /// Those that wait in a set have come to what another one comes to.
    fn have_come_to(&self, set: SetId, what: Option<Collective>) -> bool {
        let mut waiting = self.sets[set as usize].waiting.iter();
        waiting.all(|rank| match &self.ranks[*rank as usize].status {
            Status::AtBarrier(_, other) => can_match(*other, what),
            _ => true,
        })
    }

    /// All members have come: what they brought is theirs.
    fn collect_given(&mut self, set: SetId) {
        let set = &mut self.sets[set as usize];
        set.given.clear();
        for rank in set.ranks.iter() {
            set.given.push(std::mem::take(&mut self.ranks[rank as usize].given));
        }
    }

    fn answer(&mut self, rank: u32, poll: Poll) -> Poll {
        self.ranks[rank as usize].status = Status::Runs;
        poll
    }

    fn signals(&self, keys: [u64; 2]) -> [&Times; 2] {
        keys.map(|key| self.signals.get(&key).unwrap_or(&self.none))
    }

    /// When the target number of signals was reached; `None` if it is not reached yet.
    fn given_ns(&self, keys: [u64; 2], target: u64) -> Option<u64> {
        let [all, own] = self.signals(keys);
        given_ns(all, own, target)
    }

    /// The same for what a rank waits for.
    fn wake_ns(&self, rank: u32) -> Option<u64> {
        match &self.ranks[rank as usize].status {
            Status::AtWait(waiting) => self.given_ns(waiting.keys, waiting.target),
            _ => None,
        }
    }

    fn forget_wait(&mut self, rank: u32) {
        let Status::AtWait(waiting) = &self.ranks[rank as usize].status else { return };
        for key in waiting.keys {
            if let Some(list) = self.waiting.get_mut(&key) {
                list.retain(|other| *other != rank);
            }
        }
    }

    fn activity(&self, rank: &Rank, number: u32) -> Option<Activity> {
        let (site, what) = match &rank.status {
            Status::AtBarrier(site, what) => (*site, Collective::awaited(*what)),
            Status::AtWait(waiting) => {
                let name = String::from_utf8_lossy(&waiting.name);
                let count: u64 = self.signals(waiting.keys).map(Times::count).iter().sum();
                (waiting.site, awaited_signal(&name, count, waiting.target))
            }
            Status::AtLock(site, path) => (*site, awaited_lock(&String::from_utf8_lossy(path))),
            _ => return None,
        };
        Some(Activity { rank: number, site, what })
    }
}

/// Follows what a simulated rank does: a rehearsal counts steps, leaves iterations out, and finds the
/// order between ranks.
pub trait Observer {
    /// A statement or an iteration begins; false: the rank has to stop.
    fn step(&mut self) -> bool {
        true
    }
    /// It has passed a barrier or collective of a set.
    fn passed(&mut self, _set: SetId) {}
    /// It has given the signal with this counter.
    fn signalled(&mut self, _key: u64) {}
    /// It has got the first `count` signals of these counters.
    fn waited(&mut self, _keys: [u64; 2], _count: u64) {}
    /// See [`Comm::iterated`].
    fn iterated(&mut self, _place: u32, _left: u64, _numbers: &mut dyn Numbers) {}
    /// See [`Comm::iterated_in_time`].
    fn iterated_in_time(&mut self) -> bool {
        true
    }
    /// It has asked whether a wait for others is over, when its clock was `asked.1`, at the statement `asked.0`; the answer
    /// is `poll`.
    fn polled(&mut self, _members: &Members, _asked: (Pc, u64), _what: WaitsFor<'_>, _poll: Poll) {}
    /// It gives a signal to the members of a set, or to one of them.
    fn gives(&mut self, _members: &Members, _name: &[u8], _to: Option<u32>) {}
    /// See [`Comm::begins`].
    fn begins(&mut self, _pc: Pc, _depth: usize) -> bool {
        true
    }
}

/// The thing that a rank waits for.
#[derive(Clone, Copy, Debug)]
pub enum WaitsFor<'a> {
    /// The other members, at a barrier or a collective.
    Meeting(Option<Collective>),
    /// This number of signals with this name.
    Signal(&'a [u8], u64),
    /// A lock of the file at this path.
    Lock(&'a [u8]),
}

/// One simulated rank.
pub struct Sim {
    world: Rc<World>,
    rank: u32,
    reason: String,
    observer: Option<Box<dyn Observer>>,
    place: NodePlace,
}

impl Sim {
    /// The end of one rank.
    pub fn new(world: Rc<World>, rank: u32) -> Sim {
        let place = NodePlace { node: 0, node_rank: rank };
        Sim { world, rank, reason: String::new(), observer: None, place }
    }

    /// The same rank on another machine.
    pub fn at(self, place: NodePlace) -> Sim {
        Sim { place, ..self }
    }

    /// The same rank under the eyes of `observer`.
    pub fn observed(self, observer: Box<dyn Observer>) -> Sim {
        Sim { observer: Some(observer), ..self }
    }

    /// Tells the observer that a barrier was passed, or finds out why it never will be.
    fn passed(
        &mut self,
        poll: Poll,
        members: &Members,
        (asked, what): ((Pc, u64), Option<Collective>),
    ) -> Poll {
        if let Some(observer) = &mut self.observer {
            observer.polled(members, asked, WaitsFor::Meeting(what), poll);
            if poll == Poll::Ready {
                observer.passed(members.set);
            }
        }
        self.explain(poll, members, || Collective::name(what).into());
        poll
    }

    /// Says why a wait that was released never ends. `what`: the wait in words.
    fn explain(&mut self, poll: Poll, members: &Members, what: impl Fn() -> String) {
        if poll != Poll::Released {
            return;
        }
        let state = self.world.state.borrow();
        let ended =
            members.ranks.iter().filter_map(|rank| match &state.ranks[rank as usize].status {
                Status::Ended(end) => Some((rank, end.clone())),
                _ => None,
            });
        self.reason = release_reason(&what(), blame(ended));
    }
}

impl Comm for Sim {
    fn place(&self) -> NodePlace {
        self.place
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn barrier(&mut self, members: &Members, site: Pc, call: Option<CollectiveCall>) -> Poll {
        let what = call.map(|call| call.what);
        let asked = (site, self.world.clock.now());
        let poll = self.world.barrier(self.rank, members, site, (what, Given::default()));
        self.passed(poll, members, (asked, what))
    }

    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        (function, given): (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String> {
        if members.ranks.len() <= 1 {
            values(function, members, [given], all)?;
            return Ok(Poll::Ready);
        }
        let what = Some(Collective::Function(function));
        let asked = (site, self.world.clock.now());
        let poll = self.world.barrier(self.rank, members, site, (what, given));
        if poll == Poll::Ready {
            // A member that has passed the barrier reads this before it can come again, so before they all meet again.
            let state = self.world.state.borrow();
            values(function, members, state.sets[members.set as usize].given.iter().copied(), all)?;
        }
        Ok(self.passed(poll, members, (asked, what)))
    }

    /// In order of time: a rank that is ahead of another that runs asks again.
    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String> {
        let World { clock, state, .. } = &*self.world;
        let state = state.borrow();
        let next_ns = state.ready.peek().map_or(u64::MAX, |next| next.0.0);
        if clock.now() > next_ns {
            return Ok(None);
        }
        clock.advance(CLAIMING_NS);
        Ok(Some(claim.take(&state.sets[members.set as usize].claims)))
    }

    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String> {
        let key = signal_key(members.set, name, to);
        let mut state = self.world.state.borrow_mut();
        state.signals.entry(key).or_default().add(self.world.clock.now());
        let waiting = state.waiting.get(&key).into_iter().flatten();
        let ended = waiting.filter_map(|rank| Some((*rank, state.wake_ns(*rank)?)));
        for (rank, wake_ns) in ended.collect::<Vec<_>>() {
            state.forget_wait(rank);
            let now_ns = state.ranks[rank as usize].now_ns.max(wake_ns);
            state.wake(rank, Status::Runs, now_ns);
        }
        if let Some(observer) = &mut self.observer {
            observer.signalled(key);
            observer.gives(members, name, to);
        }
        Ok(())
    }

    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        site: Pc,
    ) -> Result<Poll, String> {
        let asked = (site, self.world.clock.now());
        let poll = self.world.wait(self.rank, members, name, target, site);
        if let Some(observer) = &mut self.observer {
            observer.polled(members, asked, WaitsFor::Signal(name, target), poll);
            if poll == Poll::Ready {
                observer.waited(keys(self.rank, members, name), target);
            }
        }
        self.explain(poll, members, || {
            format!("the wait for the signal \"{}\"", String::from_utf8_lossy(name))
        });
        Ok(poll)
    }

    fn locks_given_back(&self) -> u64 {
        self.world.state.borrow().locks_given_back
    }

    fn gave_lock_back(&mut self) {
        let mut state = self.world.state.borrow_mut();
        state.locks_given_back += 1;
        for rank in std::mem::take(&mut state.at_locks) {
            let now_ns = state.ranks[rank as usize].now_ns.max(self.world.clock.now());
            state.wake(rank, Status::Runs, now_ns);
        }
    }

    fn wait_for_lock(&mut self, path: &[u8], seen: u64, site: Pc) -> Poll {
        let asked = (site, self.world.clock.now());
        let poll = self.world.wait_for_lock(self.rank, path, seen, site);
        if let Some(observer) = &mut self.observer {
            observer.polled(&Members::alone(self.rank), asked, WaitsFor::Lock(path), poll);
        }
        if poll == Poll::Released {
            let what = awaited_lock(&String::from_utf8_lossy(path));
            self.reason = release_reason(&format!("the wait for {what}"), None);
        }
        poll
    }

    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String> {
        self.world.clock.advance(ASKING_NS);
        let given_ns = self.world.state.borrow().given_ns(keys(self.rank, members, name), target);
        Ok(given_ns.is_some_and(|given_ns| given_ns <= self.world.clock.now()))
    }

    fn release_reason(&self) -> String {
        self.reason.clone()
    }

    fn check(&mut self) -> Check {
        if let Some(observer) = &mut self.observer
            && !observer.step()
        {
            return Check::Interrupted;
        }
        let fuel = self.world.fuel.get();
        if fuel > 0 && self.world.clock.now() <= self.world.horizon_ns.get() {
            self.world.fuel.set(fuel - 1);
            Check::GoOn
        } else if self.world.is_interrupted() {
            Check::Interrupted
        } else {
            Check::Yield
        }
    }

    fn leave(&mut self, end: End) {
        let mut state = self.world.state.borrow_mut();
        state.ranks[self.rank as usize].status = Status::Ended(end);
        let now_ns = self.world.clock.now();
        let mut released = Vec::new();
        for set in &mut state.sets {
            if set.ranks.len() > 1 && set.ranks.contains(self.rank) {
                set.broken = true;
                released.append(&mut set.waiting);
            }
        }
        for other in released {
            let now_ns = state.ranks[other as usize].now_ns.max(now_ns);
            state.wake(other, Status::Released, now_ns);
        }
    }

    fn begins(&mut self, pc: Pc, depth: usize) -> bool {
        self.observer.as_mut().is_none_or(|observer| observer.begins(pc, depth))
    }

    fn iterated(&mut self, place: u32, left: u64, numbers: &mut dyn Numbers) {
        if let Some(observer) = &mut self.observer {
            observer.iterated(place, left, numbers);
        }
    }

    fn iterated_in_time(&mut self) -> bool {
        self.observer.as_mut().is_none_or(|observer| observer.iterated_in_time())
    }
}

/// Times that are kept; signals before them count as given at the first of these. Ranks are ahead of
/// each other by less.
const KEPT: usize = 4096;

/// The signals of one counter, earliest first.
#[derive(Default)]
struct Times {
    forgotten: u64,
    kept: VecDeque<u64>,
}

impl Times {
    /// One more was given.
    pub(crate) fn add(&mut self, now_ns: u64) {
        let at = self.kept.partition_point(|known| *known <= now_ns);
        self.kept.insert(at, now_ns);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
            self.forgotten += 1;
        }
    }

    /// Signals so far.
    pub(crate) fn count(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }

    /// When the signal with this number was given, from 1; 0 for number 0.
    fn at(&self, number: u64) -> u64 {
        match number {
            0 => 0,
            _ => self.kept[number.saturating_sub(self.forgotten + 1) as usize],
        }
    }
}

/// When the signal with this number, from 1, of both counters together was given; `None`: there are
/// fewer.
fn given_ns(one: &Times, other: &Times, number: u64) -> Option<u64> {
    if one.count() + other.count() < number {
        return None;
    }
    // Number of signals taken from `one`: the fewest after which no signal of `other` is later.
    let (mut low, mut high) = (number.saturating_sub(other.count()), number.min(one.count()));
    while low < high {
        let middle = low.midpoint(high);
        match one.at(middle + 1) < other.at(number - middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Some(one.at(low).max(other.at(number - low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[u64]) -> Times {
        let mut times = Times::default();
        all.iter().for_each(|time| times.add(*time));
        times
    }

    #[test]
    fn the_signal_with_a_number_is_the_one_by_time() {
        for (one, other) in [
            (&[90, 40, 60][..], &[][..]),
            (&[], &[5]),
            (&[10, 30, 50], &[20, 20, 60, 61]),
            (&[7, 7], &[7, 1]),
            (&[], &[]),
        ] {
            let mut all = [one, other].concat();
            all.sort_unstable();
            let (one, other) = (times(one), times(other));
            assert_eq!(given_ns(&one, &other, 0), Some(0));
            for (number, expected) in (1..).zip(&all) {
                assert_eq!(given_ns(&one, &other, number), Some(*expected));
                assert_eq!(given_ns(&other, &one, number), Some(*expected));
            }
            assert_eq!(given_ns(&one, &other, all.len() as u64 + 1), None);
        }
    }

    #[test]
    fn old_ones_are_forgotten_but_counted() {
        let many: Vec<u64> = (0..3 * KEPT as u64).collect();
        let (many, none) = (times(&many), Times::default());
        assert_eq!(many.count(), 3 * KEPT as u64);
        assert_eq!(given_ns(&many, &none, 1), Some(2 * KEPT as u64));
        assert_eq!(given_ns(&none, &many, 3 * KEPT as u64), Some(3 * KEPT as u64 - 1));
    }
}
