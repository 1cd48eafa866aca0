//! When the signals of a counter were given, in virtual time.
//!
//! ```text
//! given by    rank 0 at 90 µs     rank 2 at 40 µs         (ranks may run ahead of each other)
//! wait(x)     is over at 40 µs    wait(x, 2) at 90 µs
//! ```

use std::collections::VecDeque;

/// Times that are kept; signals before them count as given at the first of these. Ranks are ahead of
/// each other by less.
const KEPT: usize = 4096;

/// The signals of one counter, earliest first.
#[derive(Default)]
pub(super) struct Times {
    forgotten: u64,
    kept: VecDeque<u64>,
}

impl Times {
    /// One more was given.
    pub(super) fn add(&mut self, now_ns: u64) {
        let at = self.kept.partition_point(|known| *known <= now_ns);
        self.kept.insert(at, now_ns);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
            self.forgotten += 1;
        }
    }

    /// Signals so far.
    pub(super) fn count(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }

    /// When the signal with this number was given, from 1; 0 for number 0.
    fn at(&self, number: u64) -> u64 {
        match number {
            0 => 0,
            _ => self.kept[number.saturating_sub(self.forgotten + 1) as usize],
        }
    }
}

/// When the signal with this number, from 1, of both counters together was given; `None`: there are
/// fewer.
pub(super) fn given_ns(one: &Times, other: &Times, number: u64) -> Option<u64> {
    if one.count() + other.count() < number {
        return None;
    }
    // So many are those of `one`: the fewest after which none of `other` is later.
    let (mut low, mut high) = (number.saturating_sub(other.count()), number.min(one.count()));
    while low < high {
        let middle = low.midpoint(high);
        match one.at(middle + 1) < other.at(number - middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Some(one.at(low).max(other.at(number - low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[u64]) -> Times {
        let mut times = Times::default();
        all.iter().for_each(|time| times.add(*time));
        times
    }

    #[test]
    fn the_signal_with_a_number_is_the_one_by_time() {
        for (one, other) in [
            (&[90, 40, 60][..], &[][..]),
            (&[], &[5]),
            (&[10, 30, 50], &[20, 20, 60, 61]),
            (&[7, 7], &[7, 1]),
            (&[], &[]),
        ] {
            let mut all = [one, other].concat();
            all.sort_unstable();
            let (one, other) = (times(one), times(other));
            assert_eq!(given_ns(&one, &other, 0), Some(0));
            for (number, expected) in (1..).zip(&all) {
                assert_eq!(given_ns(&one, &other, number), Some(*expected));
                assert_eq!(given_ns(&other, &one, number), Some(*expected));
            }
            assert_eq!(given_ns(&one, &other, all.len() as u64 + 1), None);
        }
    }

    #[test]
    fn old_ones_are_forgotten_but_counted() {
        let many: Vec<u64> = (0..3 * KEPT as u64).collect();
        let (many, none) = (times(&many), Times::default());
        assert_eq!(many.count(), 3 * KEPT as u64);
        assert_eq!(given_ns(&many, &none, 1), Some(2 * KEPT as u64));
        assert_eq!(given_ns(&none, &many, 3 * KEPT as u64), Some(3 * KEPT as u64 - 1));
    }
}
