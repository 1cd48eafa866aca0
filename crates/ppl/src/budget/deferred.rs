//! What the other turns of a loop do to files, put off to its end.

use super::place::Writer;
use rustc_hash::{FxHashMap, FxHashSet};

/// Something that the other turns of a loop do too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deferred {
    pub(super) hash: u64,
    pub(super) serial: u32,
    pub(super) epoch: u32,
    pub(super) what: Change,
    /// Loops in which the name is another in every turn.
    pub(super) turns: u64,
    /// Loops from this one on add it in every turn to the same file.
    pub(super) additive_from: u32,
    pub(super) shared: bool,
}

impl Deferred {
    /// The name is another in every turn of this loop.
    pub(super) fn differs_at(&self, level: u32) -> bool {
        level < u64::BITS && self.turns >> level & 1 != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// And who wrote them.
    Bytes(u64, Writer),
    /// Files were made, of which so many are there; or directories.
    Made { count: u64, there: u64, directory: bool },
    /// The file begins anew.
    Reset,
    /// The file is cut somewhere.
    Cut,
    /// The name is removed.
    Removed,
    /// Files of this skeleton may begin anew.
    Doubt(u32),
    /// All files may.
    Forget,
}

/// What begins anew in every turn of a loop.
#[derive(Default)]
pub(super) struct Resets {
    /// The loop, and how often it turns.
    pub(super) level: u32,
    pub(super) turns: u64,
    /// The file of the turn.
    pub(super) names: FxHashSet<u64>,
    /// The files of all turns.
    pub(super) families: FxHashSet<u64>,
    pub(super) skeletons: FxHashSet<u32>,
    /// Those of `names` where it matters at which position a handle writes on: they are cut
    /// and keep what stands before, or are written in other ways too.
    pub(super) mixed: FxHashSet<u64>,
    /// Those of `names` that are removed, and the loops in which the name is another.
    pub(super) removed: FxHashSet<(u64, u64)>,
    pub(super) all: bool,
}

impl Resets {
    /// `level`: the loop that ends.
    pub(super) fn of(changes: &[Deferred], level: u32, turns: u64) -> Resets {
        let mut resets = Resets { level, turns, ..Resets::default() };
        let mut writers = FxHashMap::default();
        for change in changes {
            match change.what {
                // Where several write, it is not clear what the next turn adds.
                Change::Bytes(_, writer) => {
                    let first = *writers.entry(change.hash).or_insert(writer);
                    if first != writer {
                        resets.names.insert(change.hash);
                        resets.mixed.insert(change.hash);
                    }
                }
                Change::Reset | Change::Cut | Change::Removed => {
                    resets.names.insert(change.hash);
                    resets.mixed.extend((change.what == Change::Cut).then_some(change.hash));
                    let removed = change.what == Change::Removed;
                    resets.removed.extend(removed.then_some((change.hash, change.turns)));
                    if !change.differs_at(level) {
                        resets.families.insert(change.hash);
                    }
                }
                Change::Doubt(skeleton) => drop(resets.skeletons.insert(skeleton)),
                Change::Forget => resets.all = true,
                _ => {}
            }
        }
        resets
    }

    /// Whether a file may be hit in another turn than its own.
    pub(super) fn may_hit(&self, hash: u64, skeleton: Option<u32>) -> bool {
        self.all
            || self.families.contains(&hash)
            || skeleton.is_some_and(|skeleton| self.skeletons.contains(&skeleton))
    }
}
