//! Many tests, one promise: in at most 5 of 100 comparisons of the same thing any difference is claimed.
//!
//! ```text
//! label 1: time, typical calls ──differs──▶ operations of label 1
//! label 2: time, typical calls ──────────▶ (not tested: the label does not differ)
//! ```
//!
//! Every label starts with the same share of the 5 %, divided among the tests that open it. A test that
//! rejects hands its share on: to the operations below, and from a label without any left to its other
//! tests, then to the other labels. Without operations this is Holm 1979. Shares depend on the set of
//! rejected tests alone, only grow with it, and never sum to more than 1: a sequentially rejective
//! procedure after Goeman & Solari 2010, "The sequential rejection principle of familywise error control",
//! Annals of Statistics 38, and the graphs of Bretz, Maurer, Brannath & Posch 2009, Statistics in
//! Medicine 28.

/// Tests of one label, as places in the list of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    /// Tested first.
    pub opening: Vec<usize>,
    /// Tested if one of those rejects.
    pub below: Vec<usize>,
}

/// Outcome of one test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Share of the error probability that the test had when the procedure stopped, or when it rejected.
    pub share: f64,
    /// Smallest error probability of the whole procedure with which it would reject.
    pub adjusted_p: f64,
}

impl Family {
    fn is_done(&self, rejected: &[bool]) -> bool {
        self.opening.iter().chain(&self.below).all(|test| rejected[*test])
    }

    /// Divides the family's `mass` among the tests that have not rejected.
    fn divide(&self, mass: f64, rejected: &[bool], shares: &mut [f64]) {
        let own = mass / self.opening.len() as f64;
        let (open, below) = (left(&self.opening, rejected), left(&self.below, rejected));
        let released = own * (self.opening.len() - open.len()) as f64;
        open.iter().for_each(|test| shares[*test] = own);
        let heirs = if below.is_empty() { &open } else { &below };
        heirs.iter().for_each(|test| shares[*test] += released / heirs.len() as f64);
    }
}

fn left(tests: &[usize], rejected: &[bool]) -> Vec<usize> {
    tests.iter().copied().filter(|test| !rejected[*test]).collect()
}

/// The share of the error probability of each test that has not rejected.
fn shares(families: &[Family], rejected: &[bool]) -> Vec<f64> {
    let mut shares = vec![0.0; rejected.len()];
    let rest: Vec<&Family> = families.iter().filter(|family| !family.is_done(rejected)).collect();
    let mass = 1.0 / rest.len() as f64;
    rest.iter().for_each(|family| family.divide(mass, rejected, &mut shares));
    shares
}

/// Decides all tests with the error probability `alpha`; `None`: not tested, because its label does not
/// differ. Every family has a test that opens it.
pub fn decide(p: &[f64], families: &[Family], alpha: f64) -> Vec<Option<Decision>> {
    let mut rejected = vec![false; p.len()];
    let mut decisions = vec![None; p.len()];
    let (mut largest, mut stopped_at) = (0.0f64, None);
    loop {
        let shares = shares(families, &rejected);
        let needed = |test: usize| (p[test] / shares[test]).min(1.0);
        let testable = (0..p.len()).filter(|test| !rejected[*test] && shares[*test] > 0.0);
        let Some(next) = testable.min_by(|a, b| needed(*a).total_cmp(&needed(*b))) else { break };
        largest = largest.max(needed(next));
        // What follows only says how far from a rejection the rest is.
        if largest >= alpha && stopped_at.is_none() {
            stopped_at = Some(shares.clone());
        }
        let share = stopped_at.as_ref().map_or(shares[next], |stopped| stopped[next]);
        decisions[next] = (share > 0.0).then_some(Decision { share, adjusted_p: largest });
        rejected[next] = true;
    }
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn family(opening: &[usize], below: &[usize]) -> Family {
        Family { opening: opening.to_vec(), below: below.to_vec() }
    }

    fn adjusted(p: &[f64], families: &[Family]) -> Vec<Option<f64>> {
        let decisions = decide(p, families, 0.05);
        decisions.into_iter().map(|one| one.map(|one| one.adjusted_p)).collect()
    }

    /// Holm 1979: the k-th smallest p of m is multiplied by m - k + 1.
    fn holm(p: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
        let (mut corrected, mut largest) = (vec![1.0; p.len()], 0.0f64);
        for (rank, at) in order.iter().enumerate() {
            largest = largest.max((p[*at] * (p.len() - rank) as f64).min(1.0));
            corrected[*at] = largest;
        }
        corrected
    }

    #[test]
    fn operations_are_tested_below_a_label_that_differs_alone() {
        let families = [family(&[0, 1], &[2, 3]), family(&[4], &[5])];
        // Label 1 differs by its first test at 0.0125: its operations share 0.0125.
        let found = adjusted(&[0.001, 0.9, 0.004, 0.2, 0.6, 0.0001], &families);
        assert!(found[0].unwrap() < 0.05 && found[2].unwrap() < 0.05, "{found:?}");
        assert!(found[1].unwrap() > 0.05 && found[3].unwrap() > 0.05, "{found:?}");
        assert_eq!(found[5], None, "label 2 does not differ");
        let found = adjusted(&[0.02, 0.9, 0.0, 0.0, 0.03, 0.0], &families);
        assert_eq!((found[2], found[3], found[5]), (None, None, None));
    }

    #[test]
    fn a_label_that_is_done_gives_its_share_to_the_others() {
        let families = [family(&[0], &[1]), family(&[2], &[])];
        let found = decide(&[0.001, 0.001, 0.04], &families, 0.05);
        assert_eq!(found[2], Some(Decision { share: 1.0, adjusted_p: 0.04 }));
    }

    proptest! {
        #[test]
        fn without_operations_it_is_holm(p in prop::collection::vec(0.0f64..0.2, 1..9)) {
            let families: Vec<Family> = (0..p.len()).map(|test| family(&[test], &[])).collect();
            for (found, expected) in adjusted(&p, &families).into_iter().zip(holm(&p)) {
                prop_assert!((found.unwrap() - expected).abs() < 1e-12);
            }
        }

        /// What the proof of the promise needs.
        #[test]
        fn shares_sum_to_1_and_only_grow(rejections in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle()) {
            let families =
                [family(&[0, 1], &[2, 3, 4]), family(&[5], &[]), family(&[6, 7], &[8])];
            let mut rejected = [false; 9];
            let mut before = shares(&families, &rejected);
            for test in rejections {
                rejected[test] = true;
                let now = shares(&families, &rejected);
                prop_assert!(now.iter().sum::<f64>() < 1.0 + 1e-12);
                let grows = |at: &usize| rejected[*at] || now[*at] >= before[*at] - 1e-12;
                prop_assert!((0..9).all(|at| grows(&at)), "{before:?} {now:?}");
                before = now;
            }
        }
    }
}
