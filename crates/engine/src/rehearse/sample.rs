//! Loops with more iterations than are executed: some are chosen, evenly spread, and each counts for
//! its neighbours.
//!
//! ```text
//! iteration  0 1 2 3 | 4 . [6] . . | . [10] . . . | ... | the last one
//!            executed    for 5         for 5
//! ```
//!
//! The first half of the chosen iterations are those at the start, so that files which are written again
//! and again are all there. The others are one of each stratum of the rest, at a place that looks random
//! and depends on the length of the loop alone: loops of one length choose the same iterations, so
//! that a name of one is found by the other, and ranks that wait for each other in a loop go on doing so.
//!
//! Spread: three standard errors, by the differences between neighbouring strata (Cochran, Sampling
//! Techniques, 5A.12, collapsed strata), and three strata more of the largest amount seen, for iterations
//! unlike all that were executed. Of a loop inside another the spread is added for each iteration, since it
//! chooses alike in all of them.

use super::stage::{Mark, Row, Stage, add_scaled};
use crate::comm::Numbers;
use crate::rng::mix;

/// Standard errors, and strata of unseen iterations, in a spread.
const SPREAD: f64 = 3.0;

/// The iterations of a loop that are executed.
#[derive(Clone, Copy, Debug)]
struct Choice {
    iterations: u64,
    executed: u64,
}

impl Choice {
    /// Iterations at the start, all of which are executed.
    fn first(&self) -> u64 {
        self.executed / 2
    }

    /// Parts of the rest but the last iteration.
    fn strata(&self) -> u64 {
        self.executed - self.first() - 1
    }

    /// Where a stratum begins.
    fn start(&self, stratum: u64) -> u64 {
        let rest = self.iterations - self.first() - 1;
        let before = u128::from(stratum) * u128::from(rest) / u128::from(self.strata());
        self.first() + before as u64
    }

    /// The chosen iteration of a stratum, and its weight: the iterations of the stratum.
    fn chosen(&self, stratum: u64) -> (u64, u64) {
        let (start, end) = (self.start(stratum), self.start(stratum + 1));
        let random = mix(self.iterations ^ mix(stratum));
        (start + random % (end - start), end - start)
    }
}

/// A running loop of which iterations are left out.
#[derive(Debug)]
pub(crate) struct LongLoop {
    choice: Choice,
    /// Iterations left after the one that runs.
    left: u64,
    /// The stratum that comes next.
    stratum: u64,
    /// Weight of the running iteration, and the tally when it began.
    running: Option<(u64, Mark)>,
    /// The rank's numbers after the first iteration.
    start: Vec<i64>,
    /// How they changed from there to the end of the first ones.
    changes: Vec<i64>,
    estimate: Estimate,
}

impl LongLoop {
    /// The first iteration has ended, and `left` more come; `executed`: how many may be.
    pub(crate) fn new(left: u64, executed: u64, numbers: &dyn Numbers) -> LongLoop {
        LongLoop {
            choice: Choice { iterations: left + 1, executed },
            left: left - 1,
            stratum: 0,
            running: None,
            start: numbers.read(),
            changes: Vec::new(),
            estimate: Estimate::default(),
        }
    }

    /// It has come as far as here: another loop has other numbers of iterations.
    pub(crate) fn is_at(&self, left: u64) -> bool {
        self.left == left
    }

    /// An iteration has ended. Goes on to the next one that is executed; false: the loop has ended.
    pub(crate) fn iterated(&mut self, stage: &Stage, rank: u32, numbers: &mut dyn Numbers) -> bool {
        if let Some((weight, mark)) = self.running.take() {
            self.estimate.add(stage.multiply(rank, &mark, weight), weight);
        }
        let at = self.choice.iterations - 1 - self.left;
        let Some(left) = self.left.checked_sub(1) else {
            self.estimate.spread(stage, rank);
            return false;
        };
        self.left = left;
        if at + 1 < self.choice.first() {
            return true;
        }
        if self.changes.is_empty() {
            let now = numbers.read();
            self.changes =
                now.iter().zip(&self.start).map(|(now, start)| now.wrapping_sub(*start)).collect();
        }
        let (next, weight) = match self.stratum < self.choice.strata() {
            true => self.choice.chosen(self.stratum),
            false => (self.choice.iterations - 1, 1),
        };
        self.stratum += 1;
        self.skip(next - at - 1, numbers);
        self.running = (weight > 1).then(|| (weight, stage.mark(rank)));
        true
    }

    /// Leaves iterations out: numbers that grow evenly go on as if they had been executed, that of
    /// the iteration among them.
    fn skip(&mut self, iterations: u64, numbers: &mut dyn Numbers) {
        if iterations == 0 {
            return;
        }
        self.left -= iterations;
        let seen = i128::from(self.choice.first() - 1).max(1);
        let moved = |(at, now): (usize, i64)| {
            let change = i128::from(self.changes.get(at).copied().unwrap_or(0));
            now.wrapping_add((change * i128::from(iterations)).div_euclid(seen) as i64)
        };
        let moved: Vec<i64> = numbers.read().into_iter().enumerate().map(moved).collect();
        numbers.write(&moved);
    }
}

/// Amounts of a loop in the strata.
#[derive(Debug, Default)]
struct Estimate {
    strata: u64,
    last: Vec<f64>,
    /// Sums of squared differences between neighbours.
    squares: Vec<f64>,
    largest: Vec<f64>,
    /// Amounts added for iterations that were left out.
    added: Row,
}

impl Estimate {
    fn add(&mut self, done: Row, weight: u64) {
        if self.strata == 0 {
            self.squares = vec![0.0; done.len()];
            self.largest = vec![0.0; done.len()];
            self.added = vec![0; done.len()];
        }
        let all: Vec<f64> = done.iter().map(|amount| *amount as f64 * weight as f64).collect();
        for (at, amount) in all.iter().enumerate() {
            self.largest[at] = self.largest[at].max(amount.abs());
            if self.strata > 0 {
                self.squares[at] += (amount - self.last[at]).powi(2);
            }
        }
        add_scaled(&mut self.added, &done, i64::try_from(weight - 1).unwrap_or(i64::MAX));
        self.last = all;
        self.strata += 1;
    }

    /// Adds to the spread of the rank.
    fn spread(&self, stage: &Stage, rank: u32) {
        let state = &mut *stage.state.borrow_mut();
        let (made, footprint) = (state.layout.files(), state.layout.footprint());
        let tally = &mut state.ranks[rank as usize];
        // A statement has both made new names and found some that it had made before: how many it makes
        // in all cannot be known from some of its executions.
        let again = tally.sites.values().any(|(new, old)| *new && *old);
        for (at, spread) in tally.spread.iter_mut().enumerate().take(self.squares.len()) {
            *spread += SPREAD * ((self.squares[at] / 2.0).sqrt() + self.largest[at]);
            if again && (at == made || footprint.contains(&at)) {
                *spread += self.added[at].abs() as f64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_iterations_stand_for_all() {
        for (iterations, executed) in [(9, 8), (100, 8), (1000, 64), (u64::MAX, 1 << 20)] {
            let choice = Choice { iterations, executed };
            let (mut next, mut all) = (choice.first(), choice.first() + 1);
            for stratum in 0..choice.strata().min(10_000) {
                let (chosen, weight) = choice.chosen(stratum);
                assert!(chosen >= next && chosen < next + weight, "{choice:?}");
                (next, all) = (next + weight, all + weight);
            }
            assert!(choice.strata() > 10_000 || all == iterations, "{choice:?}: {all}");
        }
    }
}
