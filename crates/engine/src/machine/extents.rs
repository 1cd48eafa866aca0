//! The extents of patterns that belong to this rank, computed once.
//!
//! ```text
//! (pattern, ranks of the group)  ->  runs of equal pieces, bytes, or why there are none
//! ```
//!
//! Where time passes by itself, all are worked out before the rank starts, so that none of it
//! falls into a timed window; simulated ranks, whose clock stands still meanwhile, do it on
//! first use.

use super::tally::Fault;
use crate::recorder::Recorder;
use model::pattern::{Extent, MAX_STEPS, Run, Runs, Share};
use model::{Plan, RankSet};
use std::cell::Cell;

/// Runs of a member that events refer to.
const MAX_RUNS: usize = 1 << 16;

/// The pieces of a pattern for this rank in one group.
#[derive(Debug)]
pub(super) struct Ready<'p> {
    share: Share<'p>,
    /// Bytes of all pieces.
    pub(super) bytes: u64,
    /// The number by which events refer to them, and how many they are, once an event does.
    recorded: Cell<Option<(u32, u32)>>,
}

impl<'p> Ready<'p> {
    fn new(share: Share<'p>) -> Ready<'p> {
        let bytes = share.bytes();
        Ready { share, bytes, recorded: Cell::new(None) }
    }

    /// For events: the number of all pieces in the record, and how many they are.
    #[inline(never)]
    pub(super) fn recorded(&self, recorder: &mut Recorder) -> (u32, u32) {
        let known = self
            .recorded
            .get()
            .unwrap_or_else(|| record(recorder, self.share.runs().take(MAX_RUNS), self.count()));
        self.recorded.set(Some(known));
        known
    }

    /// The pieces that hold a byte, in the order of access.
    pub(super) fn extents(&self) -> Pieces<'_> {
        Pieces { runs: self.share.runs(), run: Run::single(0, 0), passed: 1 }
    }

    /// Number of pieces.
    pub(super) fn count(&self) -> u64 {
        self.share.count()
    }

    /// The `i`-th piece.
    pub(super) fn piece(&self, i: u64) -> Option<Extent> {
        self.share.extent(i)
    }
}

/// Records pieces for events: their number in the record, and how many they are. `least`:
/// their smallest number, if these are not all.
pub(super) fn record(
    recorder: &mut Recorder,
    runs: impl Iterator<Item = Run>,
    least: u64,
) -> (u32, u32) {
    let runs: Vec<Run> = runs.filter(|run| run.count > 0 && run.length_bytes > 0).collect();
    let pieces = runs.iter().map(|run| run.count).fold(0, u64::saturating_add).max(least);
    (recorder.extents(pieces, &runs), counted(pieces))
}

/// A number of pieces as events have it.
pub(super) fn counted(pieces: u64) -> u32 {
    u32::try_from(pieces).unwrap_or(u32::MAX)
}

/// Pieces one after the other.
pub(super) struct Pieces<'r> {
    runs: Runs<'r>,
    run: Run,
    /// Pieces of the run that were given.
    passed: u64,
}

impl Pieces<'_> {
    /// Equal pieces together, in place of one after the other.
    #[inline(always)]
    pub(super) fn next_run(&mut self) -> Option<Run> {
        self.runs.next()
    }
}

impl Iterator for Pieces<'_> {
    type Item = Extent;

    #[inline(always)]
    fn next(&mut self) -> Option<Extent> {
        while self.passed >= self.run.count || self.run.length_bytes == 0 {
            (self.run, self.passed) = (self.next_run()?, 0);
        }
        let offset_bytes = self.run.offset_bytes + self.passed * self.run.stride_bytes;
        self.passed += 1;
        Some(Extent { offset_bytes, length_bytes: self.run.length_bytes })
    }
}

impl std::fmt::Debug for Pieces<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pieces").field("run", &self.run).field("passed", &self.passed).finish()
    }
}

/// The extents for one group.
#[derive(Debug)]
struct Entry<'p> {
    pattern: usize,
    ranks: RankSet,
    ready: Result<Ready<'p>, String>,
}

/// The extents of all patterns in all groups of this rank.
#[derive(Debug, Default)]
pub(super) struct RankExtents<'p> {
    entries: Vec<Entry<'p>>,
}

impl<'p> RankExtents<'p> {
    /// Works out every pattern for every group that this rank can be active in.
    pub(super) fn work_out(&mut self, plan: &'p Plan, rank: u32) {
        let world = RankSet::from(0..plan.ranks);
        let sets = plan.sets.iter().map(|set| set.members.clone()).chain([world]);
        let groups = plan.groups.iter().map(|group| group.members.clone().into());
        for ranks in sets.chain(groups).filter(|ranks| ranks.contains(rank)) {
            for pattern in 0..plan.patterns.len() {
                self.entry(plan, pattern, &ranks, rank);
            }
        }
    }

    fn entry(
        &mut self,
        plan: &'p Plan,
        pattern: usize,
        ranks: &RankSet,
        rank: u32,
    ) -> &mut Entry<'p> {
        let known = |entry: &Entry<'_>| entry.pattern == pattern && entry.ranks == *ranks;
        let at = self.entries.iter().position(known).unwrap_or_else(|| {
            let members = ranks.len() as u32;
            let member = ranks.position(rank).unwrap_or(0);
            let share = plan.patterns[pattern].share(plan, member, members, MAX_STEPS);
            let ready = share.map(Ready::new);
            self.entries.push(Entry { pattern, ranks: ranks.clone(), ready });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    /// The pieces of a pattern for this rank in a group it is a member of.
    pub(super) fn get(
        &mut self,
        plan: &'p Plan,
        pattern: usize,
        ranks: &RankSet,
        rank: u32,
    ) -> Result<&mut Ready<'p>, Fault> {
        let name = &plan.patterns[pattern].name;
        let members = ranks.len();
        if !ranks.contains(rank) {
            let message = format!("rank {rank} is no member of the group of pattern \"{name}\"");
            return Err(Fault::message(message));
        }
        let entry = self.entry(plan, pattern, ranks, rank);
        entry.ready.as_mut().map_err(|said| {
            let message = format!("there is no pattern \"{name}\" for {members} members: {said}");
            Fault::message(message)
        })
    }
}
