//! Samples of files, names and fillings, as evidence for the figures of a label ([`super::traffic`]), and the
//! state that they need between operations.

use crate::backend::Backend;
use crate::recorder::TrafficId;

/// Levels of labels that a handle distinguishes; deeper ones share the last.
const LEVELS: usize = 16;
/// Labels that may have read since it was asked for last.
pub(super) const READERS: usize = 8;
/// The first files and names of a label are looked at, ...
const LOOKED_AT: u64 = 16;
/// ... later one of this number, ...
const LOOK_EVERY: u64 = 1024;
/// ... and of all on this rank no more than the first, ...
const FREE_LOOKS: u64 = 64;
/// ... and one of this number, so that it costs nothing.
const LOOK_SHARE: u64 = 64;

/// Bytes that went through a handle and are not stable yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dirty {
    /// Occurrence of a label, and bytes written in it.
    pub(super) levels: [(u64, u64); LEVELS],
}

impl Dirty {
    #[inline(always)]
    pub(super) fn add(&mut self, depth: usize, occurrence: u64, bytes: u64) {
        let level = &mut self.levels[depth.min(LEVELS - 1)];
        if level.0 != occurrence {
            *level = (occurrence, 0);
        }
        level.1 += bytes;
    }
}

/// Bytes fetched from storage, by label.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// When and what was asked last; `None`: nobody counts it.
    pub(super) last: Option<(u64, u64)>,
    /// Operations until then: without further ones nothing has been fetched.
    pub(super) operations: u64,
    /// Labels that have read since.
    pub(super) readers: [TrafficId; READERS],
    pub(super) count: usize,
}

/// How many of something were met and looked at on this rank.
#[derive(Debug, Default)]
pub(super) struct Looks {
    pub(super) met: u64,
    pub(super) looked: u64,
}

impl Looks {
    /// One more was met, the so-manyth of its label: whether it is to be looked at.
    #[inline(always)]
    pub(super) fn choose(&mut self, of_label: u64) -> bool {
        self.met += 1;
        let is_due = of_label <= LOOKED_AT || of_label.is_multiple_of(LOOK_EVERY);
        let chosen = is_due && self.looked < FREE_LOOKS + self.met / LOOK_SHARE;
        self.looked += u64::from(chosen);
        chosen
    }
}

/// State of the evidence of a rank between operations.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) fetched: Fetched,
    pub(super) files: Looks,
    pub(super) names: Looks,
    pub(super) advised: Looks,
}

impl Traffic {
    /// One more file is needed no more: whether it is to be looked at.
    pub(super) fn chooses_advised(&mut self) -> bool {
        let count = self.advised.met + 1;
        self.advised.choose(count)
    }

    pub(super) fn start(backend: &mut dyn Backend) -> Traffic {
        let last = backend.fetched_bytes().map(|bytes| (0, bytes));
        Traffic { fetched: Fetched { last, ..Fetched::default() }, ..Traffic::default() }
    }
}

/// The first of a label are all measured, ...
const FIRST: u64 = 16;
/// ... later one of this number, ...
const EVERY: u64 = 64;
/// ... unless they fill at least as many bytes.
const LARGE_BYTES: u64 = 64 << 10;

/// Chooses the fillings that are measured.
#[derive(Debug)]
pub(super) struct Fillings {
    /// Time passes while the program works.
    pub(super) on: bool,
    /// Fillings of the label that wrote last.
    pub(super) count: u64,
    pub(super) block: TrafficId,
}

impl Fillings {
    pub(super) fn new(on: bool) -> Fillings {
        Fillings { on, count: 0, block: TrafficId::default() }
    }

    /// For how many the next filling stands; 0: it is not measured.
    #[inline(always)]
    pub(super) fn weight(&mut self, block: TrafficId, bytes: u64) -> u64 {
        if self.block != block {
            (self.block, self.count) = (block, 0);
        }
        self.count += 1;
        match self.count {
            _ if bytes >= LARGE_BYTES => 1,
            ..=FIRST => 1,
            count if count.is_multiple_of(EVERY) => EVERY,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_label_are_looked_at_and_few_of_all() {
        let mut looks = Looks::default();
        let chosen = (1..=3000).filter(|of_label| looks.choose(*of_label)).count();
        assert_eq!(chosen as u64, LOOKED_AT + 2);
        // Thousands of labels with a file each.
        let mut looks = Looks::default();
        let chosen = (0..6400).filter(|_| looks.choose(1)).count();
        assert_eq!(chosen as u64, FREE_LOOKS + 100);
    }

    #[test]
    fn a_level_forgets_what_was_written_in_an_earlier_occurrence() {
        let mut dirty = Dirty::default();
        dirty.add(1, 7, 10);
        dirty.add(1, 7, 10);
        dirty.add(2, 8, 5);
        assert_eq!(dirty.levels[1..3], [(7, 20), (8, 5)]);
        dirty.add(1, 9, 1);
        assert_eq!(dirty.levels[1], (9, 1));
        dirty.add(99, 10, 3);
        assert_eq!(dirty.levels[LEVELS - 1], (10, 3));
    }

    /// Sum of the weights of these fillings, and the number of them that are measured.
    fn weights(of: impl Iterator<Item = (TrafficId, u64)>) -> (u64, u64) {
        let mut fillings = Fillings::new(true);
        let weights = of.map(|(block, bytes)| fillings.weight(block, bytes));
        weights.fold((0, 0), |(sum, measured), weight| {
            (sum + weight, measured + u64::from(weight > 0))
        })
    }

    #[test]
    fn few_of_the_small_ones_stand_for_all_and_large_ones_for_themselves() {
        let label = TrafficId::default();
        assert_eq!(weights((0..16).map(|_| (label, 4096))), (16, 16));
        let (sum, measured) = weights((0..64_000).map(|_| (label, 4096)));
        assert_eq!((sum, measured), (64_000 + FIRST, 1_000 + FIRST));
        assert_eq!(weights((0..1_000).map(|_| (label, LARGE_BYTES))), (1_000, 1_000));
    }
}
