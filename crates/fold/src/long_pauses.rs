//! Pauses that a mean would falsify.
//!
//! Some of them are far longer than the others: at least `LONG_NS`, and `RATIO` times as long. These are statements of their own,
//!
//! - where few of them are before one kind of statement: the loop finder makes a nest of what would be one flat loop
//!   with a mean pause in each iteration,
//! - where some ranks have them and the others do not, if all else is the same.
//!
//! ```text
//! w w w pause w w w pause w w w    -> repeat 3 w  repeat 2 { compute(50ms); repeat 3 w }
//! ```
//!
//! Where ranks wait for each other in a loop over blocks, the order of their work depends on its pauses: uneven ones,
//! of which the longest is `LONG_NS` above the mean, are a list.

use super::tree::Gap;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Share of the ranks' time that pauses which are left out may take.
pub const DROPPED: f64 = 0.02;
/// Shorter pauses are never long, nanoseconds.
pub const LONG_NS: u64 = 1_000_000;
/// Pauses that are far longer take this many times as long as the others of their place.
const RATIO: u64 = 8;
/// A pause of this part of the median (by time) is long, too.
const BELOW: u64 = 4;
/// Fewest long pauses of a place, unless some are large.
const SEVERAL: usize = 3;
/// A pause of this share of the whole time is worth two more loops.
const LARGE: f64 = 0.1;
const LARGE_NS: u64 = 10 * LONG_NS;

/// Bytes of text that a nest at one place is worth.
const NEST: usize = 240;
/// Bytes of text that one large pause is worth.
const CUT: usize = 120;
/// Bytes of text that any other long pause is worth.
const FEW: usize = 50;

/// The shortest of those pauses before a statement that are far longer than the others, nanoseconds; `None`: all are
/// alike, or the longest is below `least_ns`.
pub fn far_longer(pauses_ns: impl Iterator<Item = u64> + Clone, least_ns: u64) -> Option<u64> {
    let longest_ns = pauses_ns.clone().max().filter(|ns| *ns >= least_ns)?;
    let is_long = |ns: &u64| *ns >= longest_ns / 2;
    let mut others = pauses_ns.filter(|ns| !is_long(ns)).peekable();
    let some = others.peek().is_some();
    (some && others.all(|ns| ns <= longest_ns / RATIO)).then_some(longest_ns / 2)
}

/// The longest pause is that far above the mean that nobody would wait for the same ranks.
pub fn is_uneven(longest_ns: u64, all: &Gap) -> bool {
    longest_ns >= all.mean_ns() + LONG_NS
}

/// A kind of statement: operation, template of the name, label.
pub type Place = (u8, u32, u32);

/// The pauses before each kind of statement.
#[derive(Debug, Default)]
pub struct PauseStatistics {
    places: HashMap<Place, Pauses>,
    large: usize,
}

/// The pauses of a place.
#[derive(Debug, Default)]
struct Pauses {
    /// Number and sum (nanoseconds) of those below `LONG_NS`.
    short: (usize, u64),
    /// The others, nanoseconds.
    long_ns: Vec<u64>,
}

/// Kinds of statements whose long pauses become statements.
#[derive(Clone, Debug, Default)]
pub struct LongPauses {
    /// Shortest long pause of each place, nanoseconds.
    shortest: HashMap<Place, u64>,
    count: usize,
    large: usize,
}

impl PauseStatistics {
    /// Adds a pause. `whole_ns`: duration of the log.
    pub fn add(&mut self, place: Place, ns: u64, whole_ns: u64) {
        let known = self.places.entry(place).or_default();
        match ns < LONG_NS {
            true => known.short = (known.short.0 + 1, known.short.1.saturating_add(ns)),
            false => known.long_ns.push(ns),
        }
        self.large += usize::from(ns >= LARGE_NS && ns as f64 >= LARGE * whole_ns as f64);
    }

    /// Places where few pauses are much longer than the others and matter for the whole.
    pub fn find_long_pauses(&self) -> LongPauses {
        let all_ns = self.places.values().map(Pauses::sum_ns).fold(0, u64::saturating_add);
        let mut long = LongPauses { large: self.large, ..LongPauses::default() };
        for (place, pauses) in &self.places {
            if let Some((from_ns, count, sum_ns)) = pauses.split_long()
                && (count >= SEVERAL || self.large > 0)
                && sum_ns as f64 >= DROPPED * all_ns as f64
            {
                long.shortest.insert(*place, from_ns);
                long.count += count;
            }
        }
        long
    }
}

/// A power of two, or one and a half times one: pauses of nearly one length are long or short together.
fn rounded_down(ns: u64) -> u64 {
    let octave = 1 << ns.max(1).ilog2();
    if ns >= octave + octave / 2 { octave + octave / 2 } else { octave }
}

fn sum(all_ns: &[u64]) -> u64 {
    all_ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
}

impl Pauses {
    fn sum_ns(&self) -> u64 {
        self.short.1.saturating_add(sum(&self.long_ns))
    }

    /// Shortest long pause, number and sum of long pauses; `None` if they are not few or not far longer than the
    /// others.
    fn split_long(&self) -> Option<(u64, usize, u64)> {
        let mut all_ns = self.long_ns.clone();
        all_ns.sort_unstable_by_key(|ns| Reverse(*ns));
        let (half_ns, mut taken_ns) = (self.sum_ns() / 2, 0u64);
        let median_ns = all_ns.iter().find(|ns| {
            taken_ns = taken_ns.saturating_add(**ns);
            taken_ns >= half_ns
        })?;
        let from_ns = rounded_down(*median_ns) / BELOW;
        let (long, rest) = all_ns.split_at(all_ns.partition_point(|ns| *ns >= from_ns));
        let (count, sum_ns) = (long.len(), sum(long));
        let others = self.short.0 + rest.len();
        let usual_ns = self.short.1.saturating_add(sum(rest)) / others.max(1) as u64;
        let is_far = others >= count && sum_ns / count as u64 >= RATIO.saturating_mul(usual_ns);
        is_far.then_some((from_ns.max(LONG_NS), count, sum_ns))
    }
}

impl LongPauses {
    /// No place has long pauses.
    pub fn is_empty(&self) -> bool {
        self.shortest.is_empty()
    }

    /// The pause is a statement.
    pub fn contain(&self, place: Place, ns: u64) -> bool {
        self.shortest.get(&place).is_some_and(|from_ns| ns >= *from_ns)
    }

    /// Bytes of text that these statements are worth.
    pub fn worth(&self, ranks: usize) -> usize {
        let few = self.count.saturating_mul(FEW).min(self.shortest.len() * NEST);
        few.max(self.large.div_ceil(ranks.max(1)) * CUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PLACE: Place = (7, 0, 0);

    fn found(pauses: &[u64]) -> Option<u64> {
        let mut all = PauseStatistics::default();
        pauses.iter().for_each(|ns| all.add(PLACE, *ns, 1000 * MS));
        all.find_long_pauses().shortest.get(&PLACE).copied()
    }

    #[test]
    fn few_pauses_far_longer_than_others_are_long() {
        let every = |width: usize, long: u64, short: u64| -> Vec<u64> {
            (0..96).map(|at| if at % width == 0 { long } else { short }).collect()
        };
        for (pauses, expected) in [
            (every(8, 50 * MS, 2_000), true),
            (every(2, 50 * MS, 2_000), true),
            (every(8, 50 * MS, 3 * MS), true),
            // All are alike, or most are long.
            (every(1, 50 * MS, 0), false),
            (every(8, 9 * MS, 3 * MS), false),
            (every(8, 2_000, 50 * MS), false),
            // Too short to be seen.
            (every(8, 900_000, 200), false),
            (vec![], false),
        ] {
            assert_eq!(found(&pauses).is_some(), expected, "{pauses:?}");
        }
        // One that is far longer does not hide the others.
        let mut pauses = every(8, 50 * MS, 2_000);
        pauses[8] = 300 * MS;
        let from = found(&pauses).expect("long pauses");
        assert!((MS + 1..=50 * MS).contains(&from), "{from}");
        // Below 2 % of all pauses.
        let mut all = PauseStatistics::default();
        pauses.iter().for_each(|ns| all.add(PLACE, *ns, MS));
        all.add((8, 0, 0), 100_000 * MS, MS);
        assert!(all.find_long_pauses().is_empty());
    }

    #[test]
    fn text_may_grow_with_the_pauses_that_it_keeps() {
        for (count, large, places, ranks, expected) in [
            (1, 0, 1, 1, FEW),
            (100, 0, 1, 1, NEST),
            (100, 0, 3, 1, 3 * NEST),
            (1, 1, 1, 1, CUT),
            (8, 8, 1, 4, 2 * CUT),
        ] {
            let shortest = (0..places).map(|at| ((at, 0, 0), MS)).collect();
            assert_eq!(LongPauses { shortest, count, large }.worth(ranks), expected);
        }
    }
}
