//! Ranks as processes of one machine over shared memory.
//!
//! A barrier counts arrivals; the last one moves the generation on, which all
//! others wait for: spinning for some microseconds where every rank has a
//! CPU of its own, sleeping on the generation (futex) otherwise.
//!
//! The [`Region`] of memory that the processes share is mapped before they are forked:
//!
//! ```text
//! header (gate, clock) | one RankWords per rank | one SetWords per set | signal counters
//! ```
//!
//! Every word is an atomic, so that shared references suffice and a process
//! killed at any instruction leaves nothing half-written. Who waits, where and
//! for what is published here: the supervisor finds deadlocks by reading it.

use super::interface::{
    Activity, Check, Claim, Collective, CollectiveCall, Comm, End, Given, Members, Poll,
    awaited_lock, awaited_signal, blame, release_reason, signal_key, values,
};
use crate::clock::Real;
use crate::memory::Mapping;
use bytemuck::CheckedBitPattern;
use model::function::FUNCTIONS;
use model::plan::{Function, MemberSet, Pc, SetId};
use model::{RankSet, Value};
use rustix::thread::futex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Turns of looking before sleeping where ranks do not share CPUs: about 20 us.
const SPINS: u32 = 2000;
/// Turns of giving the CPU away before sleeping where they do.
const YIELDS: u32 = 2;

/// One rank's end of the shared memory.
pub struct Local {
    region: Arc<Region>,
    rank: u32,
    crowded: bool,
    reason: String,
}

impl Local {
    /// The end of one rank. `cpus`: CPUs the run may use.
    pub fn new(region: Arc<Region>, rank: u32, cpus: u32) -> Local {
        let crowded = region.ranks() > cpus;
        Local { region, rank, crowded, reason: String::new() }
    }

    fn words(&self) -> &RankWords {
        self.region.rank(self.rank)
    }

    /// Waits until `done` or the word to sleep on says that it never will be.
    fn spin(&self, mut done: impl FnMut() -> bool) -> bool {
        if self.crowded {
            return (0..YIELDS).any(|_| {
                std::thread::yield_now();
                done()
            });
        }
        (0..SPINS).any(|_| {
            std::hint::spin_loop();
            done()
        })
    }

    fn wait_for_generation(&self, members: &Members, seen: u32) -> Poll {
        let set = self.region.set(members.set);
        self.spin(|| set.generation.load(Relaxed) != seen);
        loop {
            let now = set.generation.load(SeqCst);
            if now & !BROKEN != seen & !BROKEN {
                return Poll::Ready;
            }
            if now & BROKEN != 0 {
                return Poll::Released;
            }
            set.sleepers.fetch_add(1, SeqCst);
            sleep_on(&set.generation, now);
            set.sleepers.fetch_sub(1, SeqCst);
        }
    }

    fn wait_for_count(&self, count: impl Fn() -> u64, target: u64) -> Poll {
        self.spin(|| count() >= target);
        loop {
            let seen = self.words().wake.load(SeqCst);
            if count() >= target {
                return Poll::Ready;
            }
            if self.words().attention.load(SeqCst) & (INTERRUPT | RELEASE) != 0 {
                return Poll::Released;
            }
            sleep_on(&self.words().wake, seen);
        }
    }

    fn explain(&mut self, members: &Members, what: &str) {
        self.reason = release_reason(what, self.region.first_ended(&members.ranks));
    }

    /// The counters of a signal that this rank sees: that of the set, and its own.
    fn slots(&self, members: &Members, name: &[u8]) -> Result<[u32; 2], String> {
        let slot = |to| self.region.slot(signal_key(members.set, name, to));
        Ok([slot(None)?, slot(Some(self.rank))?])
    }
}

impl Comm for Local {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn barrier(&mut self, members: &Members, site: Pc, call: Option<CollectiveCall>) -> Poll {
        let what = call.map(|call| call.what);
        let set = self.region.set(members.set);
        let seen = set.generation.load(SeqCst);
        let poll = if seen & BROKEN != 0 {
            Poll::Released
        } else if set.arrived.fetch_add(1, SeqCst) + 1 == members.ranks.len() as u32 {
            set.arrived.store(0, SeqCst);
            set.generation.fetch_add(2, SeqCst);
            if set.sleepers.load(SeqCst) > 0 {
                wake_all(&set.generation);
            }
            Poll::Ready
        } else {
            self.words().starts_barrier(members.set, seen, site, what);
            let poll = self.wait_for_generation(members, seen);
            self.words().ends_wait();
            poll
        };
        if poll == Poll::Released {
            self.explain(members, Collective::name(what));
        }
        poll
    }

    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        (function, given): (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String> {
        let call = Some(CollectiveCall::of_function(function));
        let number = self.region.collective_number(members.set);
        self.words().give(number, given);
        let poll = self.barrier(members, site, call);
        if poll != Poll::Ready {
            return Ok(poll);
        }
        let given = members.ranks.iter().map(|rank| self.region.rank(rank).given(number));
        values(function, members, given, all)?;
        Ok(self.barrier(members, site, call))
    }

    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String> {
        Ok(Some(claim.take(&self.region.set(members.set).claims)))
    }

    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String> {
        self.region.add_signal(self.region.slot(signal_key(members.set, name, to))?);
        let is_receiver = |rank: &u32| to.is_none_or(|to| to == *rank);
        for rank in members.ranks.iter().filter(is_receiver) {
            let words = self.region.rank(rank);
            if words.waits_for_signal() {
                words.wake.fetch_add(1, SeqCst);
                wake_all(&words.wake);
            }
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
        let slots = self.slots(members, name)?;
        if self.region.count(slots) >= target {
            return Ok(Poll::Ready);
        }
        self.words().starts_wait(slots, target, name, site);
        let poll = self.wait_for_count(|| self.region.count(slots), target);
        self.words().ends_wait();
        if poll == Poll::Released {
            let name = String::from_utf8_lossy(name);
            self.explain(members, &format!("the wait for the signal \"{name}\""));
        }
        Ok(poll)
    }

    fn locks_given_back(&self) -> u64 {
        self.region.locks_given_back()
    }

    fn gave_lock_back(&mut self) {
        self.region.gave_lock_back();
    }

    fn wait_for_lock(&mut self, path: &[u8], seen: u64, site: Pc) -> Poll {
        let target = seen + 1;
        self.words().starts_lock(path, target, site);
        let poll = self.wait_for_count(|| self.region.locks_given_back(), target);
        self.words().ends_wait();
        if poll == Poll::Released {
            let what = awaited_lock(&String::from_utf8_lossy(path));
            self.reason = release_reason(&format!("the wait for {what}"), None);
        }
        poll
    }

    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String> {
        Ok(self.region.count(self.slots(members, name)?) >= target)
    }

    fn release_reason(&self) -> String {
        self.reason.clone()
    }

    fn check(&mut self) -> Check {
        if self.words().attention.load(Relaxed) & INTERRUPT == 0 {
            Check::GoOn
        } else {
            Check::Interrupted
        }
    }

    fn leave(&mut self, end: End) {
        self.region.end(self.rank, &end);
    }
}

/// Bit of [`RankWords::attention`]: somebody asked the run to stop.
const INTERRUPT: u32 = 1;
/// Bit of [`RankWords::attention`]: what this rank waits for can never come.
const RELEASE: u32 = 2;
/// Bit of [`SetWords::generation`]: no barrier of this set can be met any more.
const BROKEN: u32 = 1;
/// Longest text of a rank: a signal's name or why it could not start.
const TEXT_BYTES: usize = 512;

const GATE_OPEN: u32 = 1;
const GATE_ABANDONED: u32 = 2;

/// The published state of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
enum Phase {
    #[allow(dead_code)] // Words are 0 at first.
    Starting = 0,
    Running,
    AtBarrier,
    AtWait,
    AtLock,
    Ended,
}

impl Phase {
    fn from_word(word: u32) -> Phase {
        bytemuck::checked::try_cast(word).unwrap_or(Phase::Ended)
    }

    /// It does nothing until another rank acts.
    fn waits(self) -> bool {
        matches!(self, Phase::AtBarrier | Phase::AtWait | Phase::AtLock)
    }
}

/// Ends of ranks by number; larger numbers are signals that killed one.
const ENDS: [End; 5] = [End::Lost, End::Finished, End::Failed, End::Interrupted, End::Released];

#[repr(C)]
struct Header {
    gate: AtomicU32,
    ready: AtomicU32,
    /// Locks of files given back so far, by any rank.
    locks_given_back: AtomicU64,
    /// Written by the supervisor before it opens the gate, read by ranks after.
    clock: [AtomicU64; 3],
}

/// The state that one rank publishes, and the words that others write for it.
#[repr(C, align(128))]
struct RankWords {
    phase: AtomicU32,
    /// Where it waits.
    site: AtomicU32,
    /// Number of waits it has ended.
    epoch: AtomicU32,
    /// The set whose barrier it waits at, and that barrier's generation.
    set: AtomicU32,
    generation: AtomicU32,
    /// The collective function at which it waits, and one; 0: a barrier.
    function: AtomicU32,
    /// Its value for a collective function, and the number of that barrier.
    given: [AtomicU64; 2],
    collective: AtomicU64,
    /// The counters it waits for; their sum must reach `target`. At a lock: that of all locks must.
    slots: [AtomicU32; 2],
    target: AtomicU64,
    /// Changes when a counter of this rank may have changed while it waits.
    pub(crate) wake: AtomicU32,
    attention: AtomicU32,
    notes: AtomicU32,
    text_len: AtomicU32,
    text: [AtomicU8; TEXT_BYTES],
}

/// The barrier of one set, and what its members share.
#[repr(C, align(64))]
struct SetWords {
    arrived: AtomicU32,
    /// Barriers passed times 2, plus [`BROKEN`].
    generation: AtomicU32,
    sleepers: AtomicU32,
    /// The counter of a `share`: [`super::interface::Claim`].
    pub(crate) claims: AtomicU64,
}

/// Counters of signals that a run can have.
const SLOTS: usize = 1 << 16;
/// Probes before the table counts as full.
const PROBES: usize = 1 << 12;

/// A counter of a signal. It is known by a 64-bit hash of its set, name and (for `to=`) member: two of 10^4
/// names share a hash with a probability of 3 in 10^12.
#[repr(C)]
struct Slot {
    /// 0: free.
    key: AtomicU64,
    count: AtomicU64,
}

/// The slot of a key, taken if it has none; `None` when the table is full.
fn find_slot(slots: &[Slot], key: u64) -> Option<usize> {
    let first = key as usize % slots.len();
    (0..PROBES.min(slots.len())).map(|probe| (first + probe) % slots.len()).find(|at| {
        match slots[*at].key.compare_exchange(0, key, SeqCst, SeqCst) {
            Ok(_) => true,
            Err(holder) => holder == key,
        }
    })
}

/// Shared memory of the ranks of one run.
pub struct Region {
    memory: Mapping,
    ranks: u32,
    sets: Vec<RankSet>,
}

impl Region {
    /// Maps the memory for the sets of a plan; all words are 0.
    pub fn create(ranks: u32, sets: &[MemberSet]) -> io::Result<Region> {
        let bytes = 4096
            + size_of::<RankWords>() * ranks as usize
            + size_of::<SetWords>() * sets.len()
            + size_of::<Slot>() * SLOTS;
        let memory = Mapping::anonymous(bytes)?;
        let sets = sets.iter().map(|set| set.members.clone()).collect();
        Ok(Region { memory, ranks, sets })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    fn header(&self) -> &Header {
        const { assert!(size_of::<Header>() <= 4096) };
        // SAFETY: the first page holds the header; all its fields are atomics.
        unsafe { self.memory.base().cast().as_ref() }
    }

    /// `count` values of type T from byte `offset`.
    ///
    /// # Safety
    /// They lie inside the mapping, aligned, and zeroes are valid values.
    unsafe fn array<T>(&self, offset: usize, count: usize) -> &[T] {
        debug_assert!(offset + count * size_of::<T>() <= self.memory.bytes());
        // SAFETY: by the caller.
        unsafe { std::slice::from_raw_parts(self.memory.base().add(offset).cast().as_ptr(), count) }
    }

    fn all_ranks(&self) -> &[RankWords] {
        // SAFETY: laid out so in `create`; all fields are atomics.
        unsafe { self.array(4096, self.ranks as usize) }
    }

    fn rank(&self, rank: u32) -> &RankWords {
        &self.all_ranks()[rank as usize]
    }

    fn sets_offset(&self) -> usize {
        4096 + size_of::<RankWords>() * self.ranks as usize
    }

    fn set(&self, set: SetId) -> &SetWords {
        // SAFETY: laid out so in `create`; all fields are atomics.
        let all: &[SetWords] = unsafe { self.array(self.sets_offset(), self.sets.len()) };
        &all[set as usize]
    }

    /// A number for the next collective of a set, the same on all members that have not passed it, and unlike that
    /// of every other collective.
    fn collective_number(&self, set: SetId) -> u64 {
        let generation = self.set(set).generation.load(SeqCst) | BROKEN;
        u64::from(set) << 32 | u64::from(generation)
    }

    fn slots(&self) -> &[Slot] {
        let offset = self.sets_offset() + size_of::<SetWords>() * self.sets.len();
        // SAFETY: laid out so in `create`; all fields are atomics.
        unsafe { self.array(offset, SLOTS) }
    }

    /// Called by a rank that is set up: waits until the run starts and gives its
    /// clock; `None` when the run is abandoned.
    pub fn wait_for_start(&self, rank: u32) -> Option<Real> {
        let gate = &self.header().gate;
        self.header().ready.fetch_add(1, SeqCst);
        while gate.load(SeqCst) == 0 {
            sleep_on(gate, 0);
        }
        if gate.load(SeqCst) != GATE_OPEN {
            return None;
        }
        self.rank(rank).phase.store(Phase::Running as u32, SeqCst);
        Some(Real::from_words(self.header().clock.each_ref().map(|word| word.load(SeqCst))))
    }

    /// Ranks that are set up.
    pub fn ready(&self) -> u32 {
        self.header().ready.load(SeqCst)
    }

    /// Starts the run: all ranks use this clock.
    pub fn start(&self, clock: Real) {
        for (place, word) in self.header().clock.iter().zip(clock.to_words()) {
            place.store(word, SeqCst);
        }
        self.move_gate(GATE_OPEN);
    }

    /// Tells ranks that wait for the start to end.
    pub fn abandon(&self) {
        self.move_gate(GATE_ABANDONED);
    }

    fn move_gate(&self, to: u32) {
        self.header().gate.store(to, SeqCst);
        wake_all(&self.header().gate);
    }

    /// Asks every rank to stop at its next statement.
    pub fn interrupt(&self) {
        self.attention_all(INTERRUPT);
    }

    /// Releases every rank that waits.
    pub fn release(&self) {
        self.attention_all(RELEASE);
    }

    fn attention_all(&self, bit: u32) {
        for words in self.all_ranks() {
            words.attention.fetch_or(bit, SeqCst);
        }
        for set in 0..self.sets.len() {
            self.break_set(set as SetId);
        }
        for words in self.all_ranks() {
            words.wake.fetch_add(1, SeqCst);
            wake_all(&words.wake);
        }
    }

    fn break_set(&self, set: SetId) {
        let generation = &self.set(set).generation;
        generation.fetch_or(BROKEN, SeqCst);
        wake_all(generation);
    }

    /// A rank has ended: barriers that need it can never be met any more.
    pub fn end(&self, rank: u32, end: &End) {
        let number = match end {
            End::Killed(signal) => ENDS.len() + *signal as usize,
            end => ENDS.iter().position(|known| known == end).unwrap_or(0),
        };
        let words = self.rank(rank);
        words.target.store(number as u64, SeqCst);
        // The kernel has taken back what it held. Done before others can take it for ended.
        self.gave_lock_back();
        words.phase.store(Phase::Ended as u32, SeqCst);
        for (set, ranks) in self.sets.iter().enumerate() {
            if ranks.len() > 1 && ranks.contains(rank) {
                self.break_set(set as SetId);
            }
        }
    }

    /// How a rank has ended by its own word.
    pub fn ended(&self, rank: u32) -> Option<End> {
        let words = self.rank(rank);
        (words.phase() == Phase::Ended).then(|| {
            let number = words.target.load(SeqCst) as usize;
            let killed = || End::Killed((number - ENDS.len()) as i32);
            ENDS.get(number).cloned().unwrap_or_else(killed)
        })
    }

    /// The one of some ranks whose end explains best why others need not wait for it.
    pub fn first_ended(&self, ranks: &RankSet) -> Option<(u32, End)> {
        blame(ranks.iter().filter_map(|rank| Some((rank, self.ended(rank)?))))
    }

    /// Keeps a text of a rank for the supervisor.
    pub fn set_text(&self, rank: u32, text: &[u8]) {
        self.rank(rank).set_text(text);
    }

    /// The text a rank left.
    pub fn text(&self, rank: u32) -> String {
        self.rank(rank).text()
    }

    /// Remarks of a rank, one bit each.
    pub fn set_notes(&self, rank: u32, bits: u32) {
        self.rank(rank).notes.fetch_or(bits, SeqCst);
    }

    /// Remarks of all ranks.
    pub fn notes(&self) -> u32 {
        self.all_ranks().iter().fold(0, |all, words| all | words.notes.load(SeqCst))
    }

    /// The waits of all ranks, if all that have not ended wait and no wait is over:
    /// then nobody will ever go on.
    pub fn deadlock(&self) -> Option<Vec<Activity>> {
        let before = self.epochs();
        let first = self.all_stuck()?;
        // From here on all of them wait, if no epoch changes: nobody acts any more, and
        // a second look sees what was done for a rank after the first look at it.
        let second = self.all_stuck()?;
        (first == second && before == self.epochs()).then_some(second)
    }

    fn all_stuck(&self) -> Option<Vec<Activity>> {
        let mut stuck = Vec::new();
        for rank in 0..self.ranks {
            match self.rank(rank).phase() {
                Phase::Ended => {}
                phase if phase.waits() => stuck.push(self.stuck(rank)?),
                _ => return None,
            }
        }
        (!stuck.is_empty()).then_some(stuck)
    }

    fn epochs(&self) -> Vec<u32> {
        self.all_ranks().iter().map(|words| words.epoch.load(SeqCst)).collect()
    }

    /// The wait of a rank; `None` if it is over.
    fn stuck(&self, rank: u32) -> Option<Activity> {
        let words = self.rank(rank);
        let site = words.site.load(SeqCst);
        let (target, name) = (words.target.load(SeqCst), words.text());
        let what = match words.phase() {
            Phase::AtBarrier => {
                let set = self.set(words.set.load(SeqCst));
                let same = set.generation.load(SeqCst) == words.generation.load(SeqCst);
                let function = words.function.load(SeqCst).checked_sub(1);
                let row = function.and_then(|at| FUNCTIONS.get(at as usize));
                same.then(|| {
                    Collective::awaited(row.map(|row| Collective::Function(row.function)))
                })?
            }
            Phase::AtLock => (self.locks_given_back() < target).then(|| awaited_lock(&name))?,
            _ => {
                let count = self.count(words.slots.each_ref().map(|slot| slot.load(SeqCst)));
                (count < target).then(|| awaited_signal(&name, count, target))?
            }
        };
        Some(Activity { rank, site, what })
    }

    /// Locks of files given back so far.
    pub(crate) fn locks_given_back(&self) -> u64 {
        self.header().locks_given_back.load(SeqCst)
    }

    /// A lock was given back: ranks that wait for one try again.
    pub(crate) fn gave_lock_back(&self) {
        self.header().locks_given_back.fetch_add(1, SeqCst);
        let waiting = self.all_ranks().iter().filter(|words| words.phase() == Phase::AtLock);
        for words in waiting {
            words.wake.fetch_add(1, SeqCst);
            wake_all(&words.wake);
        }
    }

    /// The place of a counter.
    ///
    /// # Errors
    /// The table is full.
    fn slot(&self, key: u64) -> Result<u32, String> {
        let found = find_slot(self.slots(), key).map(|at| at as u32);
        found.ok_or_else(|| {
            format!(
                "too many different signals in one run: at most about {SLOTS} names are possible"
            )
        })
    }

    /// Adds 1 to a counter.
    fn add_signal(&self, slot: u32) {
        self.slots()[slot as usize].count.fetch_add(1, SeqCst);
    }

    /// The sum of two counters.
    pub(crate) fn count(&self, slots: [u32; 2]) -> u64 {
        slots.iter().map(|at| self.slots()[*at as usize].count.load(SeqCst)).sum()
    }
}

impl RankWords {
    fn phase(&self) -> Phase {
        Phase::from_word(self.phase.load(SeqCst))
    }

    fn waits_for_signal(&self) -> bool {
        self.phase.load(SeqCst) == Phase::AtWait as u32
    }

    /// Gives a value to a collective ([`Region::collective_number`]).
    fn give(&self, number: u64, given: Given) {
        self.given.iter().zip(given.0).for_each(|(word, part)| word.store(part as u64, Relaxed));
        self.collective.store(number, SeqCst);
    }

    /// Its value at a barrier with this number.
    pub(crate) fn given(&self, number: u64) -> Given {
        if self.collective.load(SeqCst) != number {
            return Given::default();
        }
        Given(self.given.each_ref().map(|word| word.load(Relaxed) as i64))
    }

    fn starts_barrier(&self, set: SetId, generation: u32, site: Pc, what: Option<Collective>) {
        let function = match what {
            Some(Collective::Function(function)) => function as u32 + 1,
            _ => 0,
        };
        self.function.store(function, Relaxed);
        self.set.store(set, Relaxed);
        self.generation.store(generation, Relaxed);
        self.site.store(site, Relaxed);
        self.phase.store(Phase::AtBarrier as u32, SeqCst);
    }

    fn starts_wait(&self, slots: [u32; 2], target: u64, name: &[u8], site: Pc) {
        self.slots.iter().zip(slots).for_each(|(word, slot)| word.store(slot, Relaxed));
        self.target.store(target, Relaxed);
        self.site.store(site, Relaxed);
        self.set_text(name);
        self.phase.store(Phase::AtWait as u32, SeqCst);
    }

    fn starts_lock(&self, path: &[u8], target: u64, site: Pc) {
        self.target.store(target, Relaxed);
        self.site.store(site, Relaxed);
        self.set_text(path);
        self.phase.store(Phase::AtLock as u32, SeqCst);
    }

    fn ends_wait(&self) {
        self.epoch.fetch_add(1, SeqCst);
        self.phase.store(Phase::Running as u32, SeqCst);
    }

    fn set_text(&self, text: &[u8]) {
        let len = text.len().min(TEXT_BYTES);
        self.text.iter().zip(&text[..len]).for_each(|(word, byte)| word.store(*byte, Relaxed));
        self.text_len.store(len as u32, SeqCst);
    }

    fn text(&self) -> String {
        let len = (self.text_len.load(SeqCst) as usize).min(TEXT_BYTES);
        let bytes: Vec<u8> = self.text[..len].iter().map(|word| word.load(Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Sleeps until the word is woken, if it still is `seen`; returns early when a signal handler has run.
fn sleep_on(word: &AtomicU32, seen: u32) {
    let _ = futex::wait(word, futex::Flags::empty(), seen, None);
}

/// Wakes all that sleep on the word.
fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_is_an_answer() {
        let slots: Vec<Slot> =
            (0..8).map(|_| Slot { key: AtomicU64::new(0), count: AtomicU64::new(0) }).collect();
        let mut taken: Vec<usize> = (1..=8).map(|key| find_slot(&slots, key).unwrap()).collect();
        assert_eq!(find_slot(&slots, 3), Some(taken[2]));
        assert_eq!(find_slot(&slots, 9), None);
        taken.sort_unstable();
        assert_eq!(taken, (0..8).collect::<Vec<_>>());
    }
}
