//! Finds results that depend on which of several ranks is faster: a rank reads, or looks for, what
//! another one changes, and nothing orders the two.
//!
//! ```text
//! rank 0   write f           barrier            ordered: exact
//! rank 1             barrier         read f
//!
//! rank 0   write f                              not ordered: about
//! rank 1   read f
//! ```
//!
//! Ordered are: what a rank did before a barrier or collective of a set and what the others of the
//! set do after it; what a rank did before a signal and what the waiting rank does after its wait, where
//! only that rank can have ended the wait. Chains of these are not followed, except over barriers and collectives of
//! all ranks, so that some ordered accesses count as a race.

use crate::supervise::sets;
use model::plan::{MemberSet, SetId};
use model::{Plan, RankSet};
use rustc_hash::FxHashMap;
use std::hash::{BuildHasher, Hasher};

/// Access of a rank to a name, or to the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It makes the name, or writes bytes up to this one.
    Adds(u64),
    /// It removes the name, or makes the file shorter.
    Takes,
    /// It needs the name, or the bytes up to this one.
    Needs(u64),
    /// It asks whether the name is there, or how large the file is.
    Asks,
}

/// Accesses of one kind by one rank, between two barriers or collectives.
#[derive(Clone, Copy, Debug)]
struct Touch {
    rank: u32,
    access: Access,
    /// When, in the order of the simulation.
    at: u64,
}

/// All accesses to one name or file that some rank may not know of.
#[derive(Debug, Default)]
struct History {
    /// Bytes that every rank knows to be there.
    settled_bytes: u64,
    touches: Vec<Touch>,
}

/// A set of ranks that meet.
#[derive(Debug)]
struct Set {
    ranks: RankSet,
    /// Members that have passed.
    passes: u64,
    /// When all of them had come, last.
    at: u64,
}

#[derive(Debug)]
pub(crate) struct Races {
    /// Some result depends on which rank was faster.
    pub(crate) found: bool,
    now: u64,
    sets: Vec<Set>,
    /// When all ranks met last.
    all_passed: u64,
    /// When any set met last.
    last_passed: u64,
    /// By signal: its givers, and when each gave it.
    signals: FxHashMap<u64, FxHashMap<u32, Vec<u64>>>,
    /// By rank: up to where it knows what another one did; empty without other ranks.
    known: Vec<FxHashMap<u32, u64>>,
    /// By hash of the name, since all ranks met last.
    names: FxHashMap<u64, History>,
    /// By number, while the file is there.
    files: FxHashMap<u32, History>,
}

/// A name or a file that a rank accesses.
enum Thing {
    /// Hash of the name.
    Name(u64),
    /// Number of the file.
    File(u32),
}

impl Races {
    pub(crate) fn new(plan: &Plan) -> Races {
        let set = |set: MemberSet| Set { ranks: set.members, passes: 0, at: 0 };
        let others = if plan.ranks > 1 { plan.ranks as usize } else { 0 };
        Races {
            found: false,
            now: 0,
            sets: sets(plan).into_iter().map(set).collect(),
            all_passed: 0,
            last_passed: 0,
            signals: FxHashMap::default(),
            known: vec![FxHashMap::default(); others],
            names: FxHashMap::default(),
            files: FxHashMap::default(),
        }
    }

    /// A member of a set has passed a barrier or collective of it. All pass one before the next.
    pub(crate) fn passed(&mut self, set: SetId) {
        let ranks = self.known.len();
        let Some(set) = self.sets.get_mut(set as usize) else { return };
        if set.passes.is_multiple_of(set.ranks.len() as u64) {
            self.now += 1;
            set.at = self.now;
            self.last_passed = self.now;
            if set.ranks.len() == ranks {
                self.all_passed = self.now;
                self.known.iter_mut().for_each(FxHashMap::clear);
                // Every rank knows all that was done to names. A new map: clearing takes time by the largest size
                // that it ever had.
                self.names = FxHashMap::default();
            }
        }
        set.passes += 1;
    }

    pub(crate) fn signalled(&mut self, rank: u32, key: u64) {
        self.now += 1;
        self.signals.entry(key).or_default().entry(rank).or_default().push(self.now);
    }

    /// A wait of a rank for the first `count` signals of two counters has ended.
    pub(crate) fn waited(&mut self, rank: u32, keys: [u64; 2], count: u64) {
        let Some(known) = self.known.get_mut(rank as usize) else { return };
        let givers: Vec<(&u32, &Vec<u64>)> =
            keys.iter().filter_map(|key| self.signals.get(key)).flatten().collect();
        match givers[..] {
            [(giver, times)] => {
                let at = times.get((count as usize).saturating_sub(1)).copied().unwrap_or(0);
                known.insert(*giver, at);
            }
            // If there are more signals, nobody knows which of them have ended the wait.
            _ if givers.iter().map(|giver| giver.1.len() as u64).sum::<u64>() == count => {
                for (giver, times) in givers {
                    let known = known.entry(*giver).or_default();
                    *known = times.last().copied().unwrap_or(0).max(*known);
                }
            }
            _ => {}
        }
    }

    /// A rank does something to a name.
    pub(crate) fn on_name(&mut self, rank: u32, name: &[u8], access: Access) {
        if !self.known.is_empty() {
            let mut hasher = self.names.hasher().build_hasher();
            hasher.write(name);
            self.touch(rank, Thing::Name(hasher.finish()), access);
        }
    }

    /// A rank does something to the bytes of a file.
    pub(crate) fn on_file(&mut self, rank: u32, number: u32, access: Access) {
        if !self.known.is_empty() {
            self.touch(rank, Thing::File(number), access);
        }
    }

    /// A file is gone. The next one with its number has nothing to do with it.
    pub(crate) fn file_is_gone(&mut self, number: u32) {
        self.files.remove(&number);
    }

    fn touch(&mut self, rank: u32, thing: Thing, access: Access) {
        self.now += 1;
        let (known, sets) = (&self.known[rank as usize], &self.sets);
        // An access of another rank comes before everything that this one does from now on.
        let knows = |touch: &Touch| {
            let is_ordered = |set: &Set| {
                set.at > touch.at && set.ranks.contains(rank) && set.ranks.contains(touch.rank)
            };
            touch.rank == rank
                || known.get(&touch.rank).is_some_and(|at| *at > touch.at)
                || sets.iter().any(is_ordered)
        };
        // Found once: with millions of names each search is a cache miss.
        let history = match thing {
            Thing::Name(hash) => self.names.entry(hash).or_default(),
            Thing::File(number) => self.files.entry(number).or_default(),
        };
        history.settle(self.all_passed);
        let access = history.classify(access, knows);
        let clash = |old: &Touch| clashes(old.access, access) && !knows(old);
        self.found |= history.touches.iter().any(clash);
        history.push(Touch { rank, access, at: self.now }, self.last_passed);
    }
}

/// The result of one of two accesses depends on which comes first.
fn clashes(one: Access, other: Access) -> bool {
    use Access::{Adds, Asks, Needs, Takes};
    matches!(
        (one, other),
        (Adds(_) | Takes, Asks) | (Asks, Adds(_) | Takes) | (Takes, Needs(_)) | (Needs(_), Takes)
    )
}

impl History {
    /// Forgets what every rank knows.
    fn settle(&mut self, all_passed: u64) {
        let bytes = &mut self.settled_bytes;
        self.touches.retain(|touch| {
            let settled = touch.at < all_passed;
            match touch.access {
                Access::Adds(end) if settled => *bytes = (*bytes).max(end),
                Access::Takes if settled => *bytes = 0,
                _ => {}
            }
            !settled
        });
    }

    /// A rank that needs more bytes than it knows to exist asks for the size.
    fn classify(&self, access: Access, knows: impl Fn(&Touch) -> bool) -> Access {
        let Access::Needs(bytes) = access else { return access };
        let added = |touch: &Touch| match touch.access {
            Access::Adds(end) if knows(touch) => end,
            _ => 0,
        };
        let known = self.touches.iter().map(added).max().unwrap_or(0).max(self.settled_bytes);
        if known < bytes { Access::Asks } else { access }
    }

    /// Accesses of one kind by one rank between two barriers or collectives are one.
    fn push(&mut self, touch: Touch, last_passed: u64) {
        let same = |old: &&mut Touch| {
            let kind = std::mem::discriminant(&old.access) == std::mem::discriminant(&touch.access);
            kind && old.rank == touch.rank && old.at > last_passed
        };
        match self.touches.iter_mut().rev().find(same) {
            Some(old) => {
                old.at = touch.at;
                if let (Access::Adds(end), Access::Adds(new)) = (&mut old.access, touch.access) {
                    *end = (*end).max(new);
                }
            }
            None => self.touches.push(touch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks and one set.
    fn two() -> Races {
        Races::new(&Plan { ranks: 2, ..Plan::default() })
    }

    #[test]
    fn only_accesses_without_order_are_races() {
        let mut races = two();
        races.on_file(0, 1, Access::Adds(10));
        races.passed(0);
        races.passed(0);
        races.on_file(1, 1, Access::Needs(10));
        races.on_file(0, 1, Access::Adds(20));
        races.on_file(0, 1, Access::Needs(20));
        assert!(!races.found);
        races.on_file(1, 1, Access::Needs(11));
        assert!(races.found);
    }

    #[test]
    fn a_new_file_has_no_history() {
        let mut races = two();
        races.on_file(0, 1, Access::Adds(10));
        races.file_is_gone(1);
        races.on_file(1, 1, Access::Asks);
        assert!(!races.found);
        races.on_file(0, 1, Access::Adds(10));
        assert!(races.found);
    }

    #[test]
    fn names_are_ordered_by_a_barrier_of_all() {
        for (met, found) in [(false, true), (true, false)] {
            let mut races = two();
            races.on_name(0, b"a", Access::Takes);
            if met {
                races.passed(0);
                races.passed(0);
            }
            races.on_name(1, b"a", Access::Asks);
            assert_eq!(races.found, found);
        }
    }

    #[test]
    fn a_signal_orders_what_came_before_it() {
        for (second, found) in [(false, false), (true, true)] {
            let mut races = two();
            races.on_name(0, b"a", Access::Adds(0));
            races.signalled(0, 7);
            if second {
                races.on_name(0, b"a", Access::Takes);
                races.signalled(0, 7);
            }
            races.waited(1, [7, 8], 1);
            races.on_name(1, b"a", Access::Asks);
            assert_eq!(races.found, found);
        }
    }
}
