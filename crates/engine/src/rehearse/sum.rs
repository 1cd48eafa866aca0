//! Bytes and names in the directories of a program, as differences or totals: each is a file system of
//! its own with its own room.

use crate::backend::mem::Used;
use model::directory::DIRECTORIES_MAX;
use model::rehearsal::Peak;

/// The run directory and further ones.
const DIRECTORIES: usize = DIRECTORIES_MAX + 1;

/// By directory, and last in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum([One; DIRECTORIES + 1]);

/// In one directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct One {
    bytes: i64,
    names: i64,
}

impl Sum {
    pub(super) fn of(used: &[Used]) -> Sum {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut sum = Sum::default();
        let mut all = One::default();
        for (one, used) in sum.0[..DIRECTORIES].iter_mut().zip(used) {
            *one = One { bytes: signed(used.bytes), names: signed(used.nodes) };
            all.bytes = all.bytes.saturating_add(one.bytes);
            all.names = all.names.saturating_add(one.names);
        }
        sum.0[DIRECTORIES] = all;
        sum
    }

    fn each(self, change: impl Fn(One) -> One) -> Sum {
        Sum(self.0.map(change))
    }

    fn both(mut self, other: Sum, join: impl Fn(i64, i64) -> i64) -> Sum {
        for (one, other) in self.0.iter_mut().zip(&other.0) {
            let (bytes, names) = (join(one.bytes, other.bytes), join(one.names, other.names));
            *one = One { bytes, names };
        }
        self
    }

    pub(super) fn plus(self, other: Sum) -> Sum {
        self.both(other, i64::saturating_add)
    }

    pub(super) fn minus(self, other: Sum) -> Sum {
        self.plus(other.times(-1))
    }

    pub(super) fn max(self, other: Sum) -> Sum {
        self.both(other, i64::max)
    }

    pub(super) fn times(self, factor: i64) -> Sum {
        self.each(|one| One {
            bytes: one.bytes.saturating_mul(factor),
            names: one.names.saturating_mul(factor),
        })
    }

    /// Something became less in one of the directories.
    pub(super) fn is_less(self, before: Sum) -> bool {
        let mut pairs = self.0.iter().zip(&before.0);
        pairs.any(|(now, then)| now.bytes < then.bytes || now.names < then.names)
    }

    /// There are more names in one of the directories.
    pub(super) fn has_more_names(self, before: Sum) -> bool {
        self.0.iter().zip(&before.0).any(|(now, then)| now.names > then.names)
    }

    /// The largest sums as figures, by directory, the first so many.
    pub(super) fn peaks(self, directories: usize) -> Vec<Peak> {
        self.0[..DIRECTORIES].iter().take(directories).map(|one| one.peak()).collect()
    }

    /// The same in all directories together.
    pub(super) fn peak_of_all(self) -> Peak {
        self.0[DIRECTORIES].peak()
    }
}

impl One {
    fn peak(&self) -> Peak {
        let positive = |number: i64| number.max(0) as u64;
        Peak { bytes: positive(self.bytes), files: positive(self.names) }
    }
}
