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
const WINDOW: usize = 1 << 17;

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
pub(crate) fn compare(
    original: &mut Ahead,
    replay: &mut Ahead,
    names: &mut Renaming,
    tally: &mut Tally,
) -> Result<(), StoreError> {
    while let Some(rank) = first(original.rank()?, replay.rank()?) {
        Walk { sides: [&mut *original, &mut *replay], names, tally, rank }.go()?;
        tally.rank_over();
    }
    Ok(())
}

fn first(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    a.into_iter().chain(b).min()
}

/// The operations of one rank.
struct Walk<'w> {
    /// Original and replay.
    sides: [&'w mut Ahead; 2],
    names: &'w mut Renaming,
    tally: &'w mut Tally,
    rank: u32,
}

impl Walk<'_> {
    fn go(&mut self) -> Result<(), StoreError> {
        loop {
            let [original, replay] = &mut self.sides;
            match (original.front(self.rank)?, replay.front(self.rank)?) {
                (None, None) => return Ok(()),
                (Some(ours), Some(theirs)) if self.is_equal(&ours, &theirs) => self.both(),
                (Some(_), Some(_)) => self.window()?,
                (Some(_), None) => self.alone(0),
                (None, Some(_)) => self.alone(1),
            }
        }
    }

    fn is_equal(&self, ours: &Step, theirs: &Step) -> bool {
        ours.op == theirs.op
            && self.names.fit(ours, theirs)
            && differing(ours, theirs).iter().all(|(_, differs)| !differs)
    }

    fn both(&mut self) {
        let Walk { sides, names, tally, rank } = self;
        let [ours, theirs] = sides.each_mut().map(|side| side.pass());
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let same_names = names.pair(&ours, &theirs);
            tally
                .both(&ours, &theirs, same_names, || sides.each_ref().map(|side| side.near(*rank)));
        }
    }

    /// The next operation of the original (side 0) or of the replay (side 1) has no partner.
    fn alone(&mut self, side: usize) {
        let Walk { sides, names, tally, rank } = self;
        if let Some(step) = sides[side].pass() {
            tally.alone(side, &step, names, || sides.each_ref().map(|side| side.near(*rank)));
        }
    }

    /// Aligns what comes next. Where more follows, what stands behind the last operation that is
    /// on both sides is left for the next window.
    fn window(&mut self) -> Result<(), StoreError> {
        let [original, replay] = &mut self.sides;
        let (ours, whole) = original.window(self.rank, WINDOW)?;
        let (theirs, also_whole) = replay.window(self.rank, WINDOW)?;
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
                Pair::Missing => self.alone(0),
                Pair::Extra => self.alone(1),
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
    let named = |step: &Step, side: usize| {
        key(step, [step.name, step.name2].map(|name| names.key_of(side, name)))
    };
    input.update_before(ours.iter().map(|step| named(step, 0)));
    input.update_after(theirs.iter().map(|step| named(step, 1)));
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
