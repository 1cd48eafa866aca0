//! Who waits for whom: waits and signals of simulated ranks, and when they were.

use crate::clock::{Virtual, thread_cpu_ns};
use crate::comm::{Collective, Members, Observer, Poll, WaitsFor};
use model::plan::{Pc, SetId};
use model::watched::{Awaited, Given, Wait};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Waits and signals that are kept.
const KEPT: usize = 1 << 18;
/// Statements between two looks at the clock of the thread.
const LOOK: u64 = 1 << 10;

/// Events of all ranks so far.
pub(super) struct Log {
    clock: Virtual,
    waits: RefCell<Vec<Wait>>,
    signals: RefCell<Vec<Given>>,
    /// Statements and iterations that may still begin.
    left: Cell<u64>,
    /// When this thread has used its time, on its own clock.
    end_ns: u64,
}

impl Log {
    pub(super) fn new(clock: Virtual, steps: u64, time_ns: u64) -> Log {
        let end_ns = thread_cpu_ns().saturating_add(time_ns);
        let (waits, signals) = (RefCell::default(), RefCell::default());
        Log { clock, waits, signals, left: Cell::new(steps), end_ns }
    }

    /// The limits have ended the execution.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Ends the execution.
    pub(super) fn spend_all(&self) {
        self.left.set(0);
    }

    fn step(&self) -> bool {
        let left = self.left.get();
        let is_late = left.is_multiple_of(LOOK) && thread_cpu_ns() > self.end_ns;
        self.left.set(if is_late { 0 } else { left.saturating_sub(1) });
        !self.is_spent()
    }

    /// Waits with the rank that each was for, and signals in the order of time.
    pub(super) fn take(&self) -> (Vec<Wait>, Vec<Given>) {
        let (mut waits, mut signals) = (self.waits.take(), self.signals.take());
        signals.sort_by_key(|given| given.ns);
        if self.is_spent() {
            // Those who still waited were released because nobody could come any more.
            waits.iter_mut().for_each(|wait| wait.never = false);
        }
        name_late_members(&mut waits);
        name_givers(&mut waits, &signals);
        (waits, signals)
    }
}

/// The member that came last to a barrier or collective: the others waited for it.
fn name_late_members(waits: &mut [Wait]) {
    let mut late: BTreeMap<(SetId, u64), (u64, u32)> = BTreeMap::new();
    let is_met = |wait: &&mut Wait| matches!(wait.what, Awaited::Meeting(_)) && !wait.never;
    for wait in waits.iter_mut().filter(is_met) {
        let last = late.entry((wait.set, wait.meeting)).or_insert((wait.from_ns, wait.rank));
        // Of those who came at one time the one that completed it stands first.
        if wait.from_ns > last.0 {
            *last = (wait.from_ns, wait.rank);
        }
    }
    for wait in waits.iter_mut().filter(is_met) {
        if let Some((came_ns, last)) = late.get(&(wait.set, wait.meeting)) {
            (wait.for_ns, wait.for_rank) = (*came_ns, Some(*last));
        }
    }
}

/// Signals with one name in a set, in the order of time.
#[derive(Default)]
struct Signals<'a> {
    /// For all members.
    for_all: Vec<&'a Given>,
    /// Those that one member got, if some were for it alone: the others are among them.
    for_one: HashMap<u32, Vec<&'a Given>>,
}

impl<'a> Signals<'a> {
    /// The signal with this number, from 1, that a member got.
    fn get(&self, rank: u32, number: u64) -> Option<&'a Given> {
        let got = self.for_one.get(&rank).unwrap_or(&self.for_all);
        got.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
    }

    fn merge(&mut self) {
        for own in self.for_one.values_mut().filter(|_| !self.for_all.is_empty()) {
            own.extend(&self.for_all);
            own.sort_by_key(|given| given.ns);
        }
    }
}

/// The rank that gave the signal with the number that was waited for, in the order of time.
fn name_givers(waits: &mut [Wait], signals: &[Given]) {
    let mut by_name: HashMap<(SetId, &[u8]), Signals<'_>> = HashMap::new();
    for given in signals {
        let named = by_name.entry((given.set, &given.name)).or_default();
        match given.to {
            None => named.for_all.push(given),
            Some(to) => named.for_one.entry(to).or_default().push(given),
        }
    }
    by_name.values_mut().for_each(Signals::merge);
    for wait in waits {
        let Awaited::Signal(name, target) = &wait.what else { continue };
        let named = by_name.get(&(wait.set, &**name));
        if let Some(given) = named.and_then(|named| named.get(wait.rank, *target)) {
            (wait.for_ns, wait.for_rank) = (given.ns, Some(given.rank));
        }
    }
}

/// Writes down what one rank does.
pub(super) struct Follower {
    log: Rc<Log>,
    rank: u32,
    /// Since when it waits.
    since_ns: Option<u64>,
    /// Meetings that it has passed, by set.
    passed: HashMap<SetId, u64>,
}

impl Follower {
    pub(super) fn new(log: &Rc<Log>, rank: u32) -> Follower {
        Follower { log: Rc::clone(log), rank, since_ns: None, passed: HashMap::new() }
    }

    /// Its clock was `asked.1` when it asked at the statement `asked.0`: others may have run ahead, and it follows them.
    fn add(&mut self, members: &Members, asked: (Pc, u64), what: WaitsFor<'_>, never: bool) {
        let (site, to_ns) = (asked.0, self.log.clock.now());
        let (rank, set) = (self.rank, members.set);
        let from_ns = self.since_ns.take().unwrap_or(asked.1);
        let mut meeting = 0;
        let what = match what {
            WaitsFor::Meeting(what) => {
                let passed = self.passed.entry(set).or_default();
                meeting = *passed;
                *passed += 1;
                Awaited::Meeting(what.map(|what| Collective::name(Some(what))))
            }
            WaitsFor::Signal(name, target) => Awaited::Signal(name.into(), target),
            WaitsFor::Lock(path) => Awaited::Lock(path.into()),
        };
        let mut waits = self.log.waits.borrow_mut();
        if waits.len() < KEPT {
            let (for_rank, for_ns) = (None, 0);
            let wait =
                Wait { rank, set, site, from_ns, to_ns, what, never, for_rank, for_ns, meeting };
            waits.push(wait);
        }
    }
}

impl Observer for Follower {
    fn step(&mut self) -> bool {
        self.log.step()
    }

    fn polled(&mut self, members: &Members, asked: (Pc, u64), what: WaitsFor<'_>, poll: Poll) {
        // A rank alone waits for nobody.
        let is_alone = matches!(what, WaitsFor::Meeting(_)) && members.ranks.len() <= 1;
        match poll {
            _ if is_alone => {}
            Poll::Pending => {
                self.since_ns.get_or_insert(asked.1);
            }
            Poll::Ready => self.add(members, asked, what, false),
            Poll::Released => self.add(members, asked, what, true),
        }
    }

    fn gives(&mut self, members: &Members, name: &[u8], to: Option<u32>) {
        let mut signals = self.log.signals.borrow_mut();
        if signals.len() < KEPT {
            let (rank, ns, set) = (self.rank, self.log.clock.now(), members.set);
            signals.push(Given { rank, ns, set, name: name.into(), to });
        }
    }
}
