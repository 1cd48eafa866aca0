//! Ranks as processes of one machine over shared memory.
//!
//! A barrier counts arrivals; the last one moves the generation on, which all
//! others wait for: spinning for some microseconds where every rank has a
//! processor of its own, sleeping on the generation (futex) otherwise.

use super::interface::Comm;
use super::region::{BROKEN, INTERRUPT, RELEASE, RankWords, Region, sleep_on, wake_all};
use super::types::{
    Check, Claim, Collective, CollectiveCall, End, Given, Members, Poll, awaited_lock,
    release_reason, signal_key, values,
};
use model::Value;
use model::plan::{Function, Pc};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Turns of looking before sleeping where ranks do not share processors: about 20 us.
const SPINS: u32 = 2000;
/// Turns of giving the processor away before sleeping where they do.
const YIELDS: u32 = 2;

/// One rank's end of the shared memory.
pub struct Local {
    region: Arc<Region>,
    rank: u32,
    crowded: bool,
    reason: String,
}

impl Local {
    /// The end of one rank. `cpus`: processors the run may use.
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
        let meeting = self.region.meeting(members.set);
        self.words().give(meeting, given);
        let poll = self.barrier(members, site, call);
        if poll != Poll::Ready {
            return Ok(poll);
        }
        let given = members.ranks.iter().map(|rank| self.region.rank(rank).given(meeting));
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
