//! Alignment: pairs operations of the replay and the original, rank by rank.
//!
//! ```text
//! original  open a   write 4k   write 4k   close
//! replay    open a   write 8k              close
//!           same     bytes      missing    same
//! ```
//!
//! While both go on alike they are compared one by one. At a difference the next [`WINDOW`] of
//! either side are aligned like the lines of two texts, at first by everything that they are; what
//! is left between by operation and name, then by the operation alone. Memory is that of two
//! windows, whatever the length.

use super::names::Renaming;
use super::stream::{Ahead, Step, hash};
use super::tally::{Tally, differing};
use crate::StoreError;
use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// Operations of a side that are aligned at a time.
pub(super) const WINDOW: usize = 1 << 17;

/// Keys of the alignment, from exact to rough.
const LEVELS: [fn(&Step, [u32; 2]) -> u64; 3] = [
    |step, names| {
        let offset = (!step.unplaced).then_some(step.offset);
        hash(&(step.op, names, offset, step.asked, step.done, step.errno, step.extents))
    },
    |step, names| hash(&(step.op, names)),
    |step, _| hash(&step.op),
];

/// Compares two executions.
pub(super) fn compare(
    original: &mut Ahead,
    replay: &mut Ahead,
    names: &mut Renaming,
    tally: &mut Tally,
) -> Result<(), StoreError> {
    while let Some(rank) = first(original.rank()?, replay.rank()?) {
        Walk { original: &mut *original, replay: &mut *replay, names, tally, rank }.go()?;
        tally.rank_over();
    }
    Ok(())
}

fn first(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    a.into_iter().chain(b).min()
}

/// The operations of one rank.
struct Walk<'w> {
    original: &'w mut Ahead,
    replay: &'w mut Ahead,
    names: &'w mut Renaming,
    tally: &'w mut Tally,
    rank: u32,
}

impl Walk<'_> {
    fn go(&mut self) -> Result<(), StoreError> {
        loop {
            match (self.original.front(self.rank)?, self.replay.front(self.rank)?) {
                (None, None) => return Ok(()),
                (Some(ours), Some(theirs)) if self.is_equal(&ours, &theirs) => self.both(),
                (Some(_), Some(_)) => self.window()?,
                (Some(_), None) => self.missing(),
                (None, Some(_)) => self.extra(),
            }
        }
    }

    fn is_equal(&self, ours: &Step, theirs: &Step) -> bool {
        ours.op == theirs.op
            && self.names.fit(ours, theirs)
            && differing(ours, theirs).iter().all(|(_, differs)| !differs)
    }

    fn both(&mut self) {
        if let (Some(ours), Some(theirs)) = (self.original.pass(), self.replay.pass()) {
            let same_names = self.names.pair(&ours, &theirs);
            let near = || [self.original.near(self.rank), self.replay.near(self.rank)];
            self.tally.both(&ours, &theirs, same_names, near);
        }
    }

    fn missing(&mut self) {
        if let Some(ours) = self.original.pass() {
            let near = || [self.original.near(self.rank), self.replay.near(self.rank)];
            self.tally.missing(&ours, self.names, near);
        }
    }

    fn extra(&mut self) {
        if let Some(theirs) = self.replay.pass() {
            let near = || [self.original.near(self.rank), self.replay.near(self.rank)];
            self.tally.extra(&theirs, self.names, near);
        }
    }

    /// Aligns what comes next. Where more follows, what stands behind the last operation that is
    /// on both sides is left for the next window.
    fn window(&mut self) -> Result<(), StoreError> {
        let (ours, whole) = self.original.window(self.rank, WINDOW)?;
        let (theirs, also_whole) = self.replay.window(self.rank, WINDOW)?;
        let mut script = aligned(ours, theirs, self.names);
        if !(whole && also_whole) {
            let last = script.iter().rposition(|pair| matches!(pair, Pair::Both));
            let kept = last.map_or(0, |last| last + 1);
            // Without a good part in common the rest is no better with more to look at.
            let least = script.len() / 2;
            script.truncate(kept.max(least).max(1));
        }
        for pair in script {
            match pair {
                Pair::Both => self.both(),
                Pair::Missing => self.missing(),
                Pair::Extra => self.extra(),
            }
        }
        Ok(())
    }
}

/// The next step of the alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pair {
    Both,
    Missing,
    Extra,
}

fn aligned(original: &[Step], replay: &[Step], names: &Renaming) -> Vec<Pair> {
    let mut script = Vec::with_capacity(original.len().max(replay.len()));
    align(original, replay, names, 0, &mut script);
    script
}

fn align(ours: &[Step], theirs: &[Step], names: &Renaming, level: usize, script: &mut Vec<Pair>) {
    let Some(key) = LEVELS.get(level).filter(|_| !ours.is_empty() && !theirs.is_empty()) else {
        script.extend(ours.iter().map(|_| Pair::Missing));
        script.extend(theirs.iter().map(|_| Pair::Extra));
        return;
    };
    let mut input = InternedInput::default();
    let named = |step: &Step, of: fn(&Renaming, u32) -> u32| {
        key(step, [of(names, step.name), of(names, step.name2)])
    };
    input.update_before(ours.iter().map(|step| named(step, Renaming::of_original)));
    input.update_after(theirs.iter().map(|step| named(step, Renaming::of_replay)));
    let mut at = 0;
    for hunk in Diff::compute(Algorithm::Histogram, &input).hunks() {
        let range = |range: Range<u32>| range.start as usize..range.end as usize;
        let (before, after) = (range(hunk.before), range(hunk.after));
        script.extend((at..before.start).map(|_| Pair::Both));
        at = before.end;
        align(&ours[before], &theirs[after], names, level + 1, script);
    }
    script.extend((at..ours.len()).map(|_| Pair::Both));
}
