//! Exact distributions of rank statistics, by counting. Ties are counted as they are: the scores
//! are midranks, doubled so that they are whole numbers.
//!
//! ```text
//! 3.1 2.7 2.7 5.0  ──scores──▶  6 3 3 8      (ranks 3, 1.5, 1.5, 4)
//! ```

/// How probable a sum is that is at most, and at least, as large as the one found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tails {
    /// P(sum <= found).
    pub lower: f64,
    /// P(sum >= found).
    pub upper: f64,
}

impl Tails {
    /// Twice the smaller tail, at most 1.
    pub fn two_sided(self) -> f64 {
        (2.0 * self.lower.min(self.upper)).min(1.0)
    }
}

/// Doubled midranks of the values, in their order.
pub fn scores(values: &[i64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|at| values[*at]);
    let mut scores = vec![0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let last = first + group.len();
        group.iter().for_each(|at| scores[*at] = (first + 1 + last) as u32);
        first = last;
    }
    scores
}

/// Number of ways to each sum.
#[derive(Clone, Debug)]
pub struct Counts(Vec<f64>);

impl Counts {
    /// Sums of `taken` of the scores: what a rank sum is under "no difference". f64 counts exactly
    /// up to 2^53; 40 scores have at most 1.4e11 choices.
    pub fn of_choices(scores: &[u32], taken: usize) -> Counts {
        let most: usize = scores.iter().map(|score| *score as usize).sum();
        let mut ways = vec![vec![0.0f64; most + 1]; taken + 1];
        ways[0][0] = 1.0;
        let mut reached = 0;
        for score in scores.iter().map(|score| *score as usize) {
            reached += score;
            for number in (1..=taken).rev() {
                let (fewer, more) = ways.split_at_mut(number);
                let (without, with) = (&fewer[number - 1], &mut more[0]);
                for (sum, ways) in with[score..=reached].iter_mut().zip(without) {
                    *sum += ways;
                }
            }
        }
        Counts(ways.swap_remove(taken))
    }

    /// Sums of any of the scores: what a sum of positive ranks is if every sign is a coin's.
    pub fn of_signs(scores: &[u32]) -> Counts {
        let most: usize = scores.iter().map(|score| *score as usize).sum();
        let mut ways = vec![0.0f64; most + 1];
        ways[0] = 1.0;
        for score in scores.iter().map(|score| *score as usize) {
            for sum in (score..=most).rev() {
                ways[sum] += ways[sum - score];
            }
        }
        Counts(ways)
    }

    /// How probable the sum `found` is.
    pub fn tails(&self, found: u32) -> Tails {
        let all: f64 = self.0.iter().sum();
        let lower: f64 = self.0[..=found as usize].iter().sum();
        let upper: f64 = self.0[found as usize..].iter().sum();
        Tails { lower: lower / all, upper: upper / all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(scores(&[31, 27, 27, 50]), [6, 3, 3, 8]);
        assert_eq!(scores(&[1; 3]), [4, 4, 4]);
        assert!(scores(&[]).is_empty());
    }

    /// Against going through all choices and all signs one by one.
    #[test]
    fn counting_agrees_with_going_through_all() {
        for scores in [vec![2, 4, 6, 8, 10, 12, 14], vec![3, 3, 7, 7, 7, 12, 14, 16], vec![5; 6]] {
            let subsets = || 0u32..1 << scores.len();
            let sum = |subset: u32| -> u32 {
                scores.iter().zip(0..).filter(|(_, at)| subset >> at & 1 == 1).map(|s| s.0).sum()
            };
            let share = |of: &[u32], holds: &dyn Fn(u32) -> bool| {
                of.iter().filter(|sum| holds(**sum)).count() as f64 / of.len() as f64
            };
            let any: Vec<u32> = subsets().map(sum).collect();
            let three = subsets().filter(|subset| subset.count_ones() == 3).map(sum);
            let three: Vec<u32> = three.collect();
            for (counts, all) in
                [(Counts::of_signs(&scores), any), (Counts::of_choices(&scores, 3), three)]
            {
                for found in 0..=scores.iter().sum() {
                    let tails = counts.tails(found);
                    assert!((tails.lower - share(&all, &|sum| sum <= found)).abs() < 1e-14);
                    assert!((tails.upper - share(&all, &|sum| sum >= found)).abs() < 1e-14);
                }
            }
        }
    }
}
