//! The extents of patterns that belong to this rank, computed once.
//!
//! ```text
//! (pattern, member, members)  ->  runs of equal extents, bytes, or why there are none
//! ```
//!
//! In real time all are computed before the rank starts, outside of timed windows. Simulated ranks,
//! whose clock does not run meanwhile, compute them on first use.

use super::tally::{Fault, Flow};
use crate::call::ViewId;
use crate::recorder::Recorder;
use model::pattern::{Extent, Extents, MAX_STEPS, Run, Share, View};
use model::plan::Pattern;
use model::{Plan, RankSet};
use std::cell::{Cell, OnceCell};

/// Runs of a member that events refer to.
const MAX_RUNS: usize = 1 << 16;

/// The extents of a pattern for this rank among others.
#[derive(Debug)]
pub(super) struct Ready<'p> {
    pub(super) pattern: &'p Pattern,
    /// `None`: it calls with the others and has no bytes.
    share: Option<Share<'p>>,
    /// Bytes of all extents, and of the longest one.
    pub(super) bytes: u64,
    pub(super) longest_bytes: u64,
    /// The first byte that is accessed, and how long the file must be for all of them.
    pub(super) first_offset: u64,
    pub(super) end_bytes: u64,
    /// The number by which events refer to them, and how many they are, once an event does.
    recorded: Cell<Option<(u32, u32)>>,
    /// The view over them, once it is needed, and its number once the back-end has built it.
    view: OnceCell<Option<View>>,
    pub(super) view_id: Cell<Option<Result<ViewId, i32>>>,
}

impl<'p> Ready<'p> {
    fn new(pattern: &'p Pattern, share: Option<Share<'p>>) -> Ready<'p> {
        let runs = || share.iter().flat_map(Share::runs).filter(|run| run.count > 0);
        Ready {
            pattern,
            bytes: share.as_ref().map_or(0, Share::bytes),
            longest_bytes: runs().map(|run| run.length_bytes).max().unwrap_or(0),
            first_offset: runs().next().map_or(0, |run| run.offset_bytes),
            end_bytes: share.as_ref().map_or(0, Share::end_bytes),
            share,
            recorded: Cell::new(None),
            view: OnceCell::new(),
            view_id: Cell::new(None),
        }
    }

    /// For events: the number of all extents in the record, and how many they are.
    #[inline(never)]
    pub(super) fn recorded(&self, recorder: &mut Recorder) -> (u32, u32) {
        let known = self.recorded.get().unwrap_or_else(|| {
            let runs: Vec<Run> = self.runs().take(MAX_RUNS).collect();
            (recorder.extents(self.count(), &runs), counted(self.count()))
        });
        self.recorded.set(Some(known));
        known
    }

    /// The extents that hold a byte, as runs of equal ones, in the order of access.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let runs = self.share.iter().flat_map(Share::runs);
        runs.filter(|run| run.count > 0 && run.length_bytes > 0)
    }

    /// The same one by one.
    pub(super) fn extents(&self) -> Extents<impl Iterator<Item = Run> + '_> {
        Extents::new(self.runs())
    }

    /// Number of extents.
    pub(super) fn count(&self) -> u64 {
        self.share.as_ref().map_or(0, Share::count)
    }

    /// The `i`-th extent.
    pub(super) fn extent(&self, i: u64) -> Option<Extent> {
        self.share.as_ref()?.extent(i)
    }

    /// All members call each time.
    pub(super) fn is_collective(&self) -> bool {
        self.pattern.level & 1 != 0
    }

    /// All extents go in one call, through a view.
    pub(super) fn is_whole(&self) -> bool {
        self.pattern.level & 2 != 0
    }

    /// The view over them; `None`: this member sees nothing.
    pub(super) fn view(&self) -> Option<&View> {
        let share = self.share.as_ref().filter(|_| self.bytes > 0);
        self.view.get_or_init(|| share.map(Share::view)).as_ref()
    }

    /// The view that is built, if its memory is in another order than the file.
    pub(super) fn order(&self) -> Option<ViewId> {
        self.view()?.memory.as_ref()?;
        self.view_id.get()?.ok()
    }
}

/// A number of extents as events have it.
pub(super) fn counted(extents: u64) -> u32 {
    u32::try_from(extents).unwrap_or(u32::MAX)
}

/// The extents of `member` of `members`; `None` if the rank is not a member.
#[derive(Debug)]
struct Entry<'p> {
    pattern: usize,
    member: Option<u32>,
    members: u32,
    ready: Result<Ready<'p>, String>,
}

/// The extents of all patterns of this rank.
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
                self.entry(plan, pattern, (ranks.position(rank), ranks.len() as u32));
            }
        }
    }

    fn entry(
        &mut self,
        plan: &'p Plan,
        number: usize,
        (member, members): (Option<u32>, u32),
    ) -> &mut Entry<'p> {
        let known = |entry: &Entry<'_>| {
            (entry.pattern, entry.member, entry.members) == (number, member, members)
        };
        let at = self.entries.iter().position(known).unwrap_or_else(|| {
            let pattern = &plan.patterns[number];
            let share = member.map(|member| pattern.share(plan, member, members, MAX_STEPS));
            let ready = share.transpose().map(|share| Ready::new(pattern, share));
            self.entries.push(Entry { pattern: number, member, members, ready });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    /// The extents of a pattern for this rank; empty if it is not a member.
    pub(super) fn get(
        &mut self,
        plan: &'p Plan,
        number: usize,
        geometry: (Option<u32>, u32),
    ) -> Flow<&mut Ready<'p>> {
        let entry = self.entry(plan, number, geometry);
        entry.ready.as_mut().map_err(|said| {
            let (name, members) = (&plan.patterns[number].name, geometry.1);
            let message = format!(
                "there is no pattern \"{name}\" for {counted_members}: {said}",
                counted_members = model::words::count(members, "member")
            );
            Fault::message(message)
        })
    }
}
