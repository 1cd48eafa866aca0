//! What the other turns of a loop do to files, put off to its end.

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

#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// And who wrote them: see [`writer`].
    Bytes(u64, u32),
    /// So many files were made; `true`: directories.
    Made(u64, bool),
    /// The file begins anew.
    Reset,
    /// Files of this skeleton may begin anew.
    Doubt(u32),
    /// All files may.
    Forget,
}

/// What begins anew in every turn of a loop.
#[derive(Default)]
pub(super) struct Resets {
    /// The file of the turn.
    pub(super) names: FxHashSet<u64>,
    /// The files of all turns.
    pub(super) families: FxHashSet<u64>,
    pub(super) skeletons: FxHashSet<u32>,
    pub(super) all: bool,
}

impl Resets {
    /// `level`: the loop that ends.
    pub(super) fn of(changes: &[Deferred], level: u32) -> Resets {
        let mut resets = Resets::default();
        let mut writers = FxHashMap::default();
        for change in changes {
            match change.what {
                // Where several write, it is not clear what the next turn adds.
                Change::Bytes(_, writer) => {
                    let first = *writers.entry(change.hash).or_insert(writer);
                    resets.names.extend((first != writer).then_some(change.hash));
                }
                Change::Reset => {
                    resets.names.insert(change.hash);
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
