//! The factor between two sides: its estimate, its test, and its interval, which is the inversion
//! of that test: it holds exactly the factors that the test does not reject.
//!
//! ```text
//! figures of A, figures of B                 figures of A and B, block by block
//!   └ rank sum (Mann-Whitney)                  └ signed ranks of the differences (Wilcoxon)
//!        └────────── p of every factor ◀───────────┘
//!                      └ p at 1: the test · all factors with p >= level: the interval
//! ```
//!
//! | figure | source |
//! |---|---|
//! | logarithms | a factor between figures is a shift between their logarithms; these are whole numbers of 5e-13, so that ties, tests and ends of intervals are exact |
//! | two samples | Mann & Whitney 1947: rank sum over all choices, ties as midranks; exact up to [`EXACT_SAMPLE`] on either side |
//! | blocks | Wilcoxon 1945 with zeros by Pratt 1959: sum of positive ranks over all signs; exact up to [`EXACT_BLOCKS`] |
//! | beyond | normal, with the variance of the scores and continuity corrected |
//! | estimate | Hodges & Lehmann 1963: median of all differences, or of all means of two differences |
//! | interval | Bauer 1972: inversion of the test |
//! | effect size | Cliff's delta: P(b > a) - P(b < a) (Cliff 1993) |
//! | dependent repetitions | variance by (1 + r) / (1 - r), as that of a mean of AR(1) noise (Bayley & Hammersley 1946); r: lag 1, its bias of about -1/n removed (Marriott & Pope 1954), upper end of its interval |
//!
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

use super::design;
use super::design::{LEAST, same_signs, separated};
use crate::stats::{Counts, quantile_of_tail, scores, upper_tail};

/// Most repetitions of either side whose choices are counted.
pub const EXACT_SAMPLE: usize = 20;
/// Most blocks whose signs are counted.
pub const EXACT_BLOCKS: usize = 40;
/// Logarithms are counted in this unit, by twos: means of two are whole numbers too.
const UNIT: f64 = 5e-13;
/// Farther than any difference of figures, in the unit: a factor of 1.6.
const BEYOND: i64 = 1_000_000_000_000;
/// The upper end of the one-sided 95 % interval of r is this many standard errors above it.
const UPPER: f64 = 1.644_853_626_951_5;
/// Beyond this repetitions are one.
const LARGEST_LAG1: f64 = 0.99;
/// No dependence makes more than this of the repetitions worthless.
const LEAST_EFFECTIVE: f64 = LEAST as f64;

/// Positive figures of two sides, as logarithms.
#[derive(Clone, Debug)]
pub struct Contrast {
    figures: Figures,
    dependence: Option<Dependence>,
}

#[derive(Clone, Debug)]
enum Figures {
    /// Figures of A, figures of B.
    Samples(Vec<i64>, Vec<i64>),
    /// B - A, block by block.
    Blocks(Vec<i64>),
}

/// Neighbouring repetitions that resemble each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    /// Lag-1 autocorrelation inside of the samples.
    pub lag1: f64,
    /// Factor on variances.
    pub inflation: f64,
}

/// The counts that were needed last: most shifts, and most rows, have the same scores.
#[derive(Default)]
pub struct Memo(Option<(Drawn, Counts)>);

/// The sums that are counted: all sums of some of the scores, or of any.
#[derive(PartialEq)]
struct Drawn {
    /// In ascending order.
    scores: Vec<u32>,
    /// How many of them are drawn; `None`: each or not, by its sign.
    taken: Option<usize>,
}

impl Memo {
    fn counts(&mut self, mut scores: Vec<u32>, taken: Option<usize>) -> &Counts {
        scores.sort_unstable();
        let key = Drawn { scores, taken };
        if self.0.as_ref().is_none_or(|known| known.0 != key) {
            let counts = match taken {
                Some(taken) => Counts::of_choices(&key.scores, taken),
                None => Counts::of_signs(&key.scores),
            };
            self.0 = Some((key, counts));
        }
        &self.0.as_ref().expect("filled above").1
    }
}

/// The logarithm in the unit.
fn log(value: f64) -> i64 {
    2 * (value.ln() / (2.0 * UNIT)).round() as i64
}

/// The factor of a shift.
fn factor(shift: i64) -> f64 {
    (shift as f64 * UNIT).exp()
}

impl Contrast {
    /// Figures of both sides, as the design says.
    pub fn new(design: design::Design, base: &[f64], new: &[f64]) -> Contrast {
        match design {
            design::Design::Samples => Contrast::samples(base, new),
            design::Design::Blocks => Contrast::blocks(base, new),
        }
    }

    /// Two samples that were made one after the other, each in order of time.
    pub fn samples(base: &[f64], new: &[f64]) -> Contrast {
        let logs =
            |sample: &[f64]| -> Vec<i64> { sample.iter().map(|value| log(*value)).collect() };
        let (base, new) = (logs(base), logs(new));
        Contrast { dependence: dependence(&base, &new), figures: Figures::Samples(base, new) }
    }

    /// Figures of both sides from the same blocks.
    pub fn blocks(base: &[f64], new: &[f64]) -> Contrast {
        let differences = base.iter().zip(new).map(|(a, b)| log(*b) - log(*a));
        Contrast { figures: Figures::Blocks(differences.collect()), dependence: None }
    }

    /// How much neighbouring repetitions are correlated, if at all.
    pub fn dependence(&self) -> Option<Dependence> {
        self.dependence
    }

    /// Two-sided probability if B is exactly as fast as A.
    pub fn p(&self, memo: &mut Memo) -> f64 {
        self.p_at(0, memo)
    }

    /// Two-sided probability if B is as fast as A up to this factor and its inverse: 1 for an estimate between
    /// them.
    pub fn p_beyond(&self, largest: f64, memo: &mut Memo) -> f64 {
        let (shift, margin) = (self.shift(), log(largest).abs());
        match shift {
            shift if shift > margin => self.p_at(margin, memo),
            shift if shift < -margin => self.p_at(-margin, memo),
            _ => 1.0,
        }
    }

    /// Two-sided probability if B is `factor(shift)` times as fast.
    fn p_at(&self, shift: i64, memo: &mut Memo) -> f64 {
        let p = match &self.figures {
            Figures::Samples(base, new) => rank_sum(base, new, shift, memo),
            Figures::Blocks(differences) => signed_rank(differences, shift, memo),
        };
        self.dependence.map_or(p, |dependence| dependence.widen(p))
    }

    /// The p of a complete separation: the smallest that these numbers of figures can give.
    pub fn least_p(&self) -> f64 {
        let p = match &self.figures {
            Figures::Samples(base, new) => separated(base.len(), new.len()),
            Figures::Blocks(differences) => same_signs(differences.len()),
        };
        self.dependence.map_or(p, |dependence| dependence.widen(p))
    }

    /// The factor, B by A.
    pub fn ratio(&self) -> f64 {
        factor(self.shift())
    }

    fn shift(&self) -> i64 {
        match &self.figures {
            Figures::Samples(base, new) => median_of_differences(base, new),
            Figures::Blocks(differences) => median_of_means(differences),
        }
    }

    /// Cliff's delta; of blocks: the share that B won less the share that A won.
    pub fn delta(&self) -> f64 {
        let sum = |signs: &mut dyn Iterator<Item = i64>, count: usize| {
            signs.map(|difference| difference.signum() as f64).sum::<f64>() / count.max(1) as f64
        };
        match &self.figures {
            Figures::Samples(base, new) => {
                let pairs = new.iter().flat_map(|b| base.iter().map(move |a| b - a));
                sum(&mut pairs.into_iter(), base.len() * new.len())
            }
            Figures::Blocks(differences) => {
                sum(&mut differences.iter().copied(), differences.len())
            }
        }
    }

    /// The factors whose p is at least `level`; an end that nothing rejects is 0 or infinite. `largest`: as in
    /// [`Contrast::p_beyond`], with which the interval agrees.
    pub fn interval(&self, level: f64, largest: f64, memo: &mut Memo) -> (f64, f64) {
        let (first, last) = self.reach();
        let mut accepts = |shift: i64| self.p_at(shift, memo) >= level;
        let (centre, margin) = (self.shift(), log(largest).abs());
        let low = end(centre, first, &[margin, 0, -margin], &mut accepts);
        let high = end(centre, last, &[-margin, 0, margin], &mut accepts);
        (low.map_or(0.0, factor), high.map_or(f64::INFINITY, factor))
    }

    /// Shifts at which one side is wholly above the other.
    fn reach(&self) -> (i64, i64) {
        let (low, high) = match &self.figures {
            Figures::Samples(base, new) => {
                let (a, b) = (ends(base), ends(new));
                (b.0 - a.1, b.1 - a.0)
            }
            Figures::Blocks(differences) => ends(differences),
        };
        (low - BEYOND, high + BEYOND)
    }
}

/// The smallest and the largest value.
fn ends(values: &[i64]) -> (i64, i64) {
    let (low, high) = (values.iter().copied().min(), values.iter().copied().max());
    (low.unwrap_or(0), high.unwrap_or(0))
}

/// The last shift on the way from `inside` to `outside` that is accepted; `None`: all are. The shifts that are tested
/// come first, in the order of the way: where ties make p fall and rise again, interval and test agree about them.
fn end(
    inside: i64,
    outside: i64,
    tested: &[i64],
    accepts: &mut impl FnMut(i64) -> bool,
) -> Option<i64> {
    let (mut inside, mut outside) = (inside, outside);
    let (low, high) = (inside.min(outside), inside.max(outside));
    let on_the_way = tested.iter().filter(|shift| (low + 1..high).contains(shift));
    let mut is_rejected = false;
    for shift in on_the_way {
        is_rejected = !accepts(*shift);
        if is_rejected {
            outside = *shift;
            break;
        }
        inside = *shift;
    }
    if !is_rejected && accepts(outside) {
        return None;
    }
    while inside.abs_diff(outside) > 1 {
        let at = inside.midpoint(outside);
        if accepts(at) { inside = at } else { outside = at }
    }
    Some(inside)
}

/// Mann-Whitney test of samples of which the second is shifted back.
fn rank_sum(base: &[i64], new: &[i64], shift: i64, memo: &mut Memo) -> f64 {
    let (few, many): (Vec<i64>, Vec<i64>) = {
        let moved: Vec<i64> = new.iter().map(|value| value - shift).collect();
        if base.len() <= moved.len() { (base.to_vec(), moved) } else { (moved, base.to_vec()) }
    };
    let taken = few.len();
    if taken == 0 {
        return 1.0;
    }
    let all = scores(&[few, many.clone()].concat());
    let found: u32 = all[..taken].iter().sum();
    if many.len() > EXACT_SAMPLE {
        return rank_sum_normal(&all, taken, found);
    }
    memo.counts(all, Some(taken)).two_sided(found)
}

/// A sum of `taken` of the scores drawn without putting back.
fn rank_sum_normal(scores: &[u32], taken: usize, found: u32) -> f64 {
    let (n, taken) = (scores.len() as f64, taken as f64);
    let mean = scores.iter().map(|s| f64::from(*s)).sum::<f64>() / n;
    let square: f64 = scores.iter().map(|s| (f64::from(*s) - mean).powi(2)).sum();
    let variance = taken * (n - taken) / n * square / (n - 1.0);
    two_sided_normal(f64::from(found) - taken * mean, variance)
}

/// Wilcoxon's test of differences that are shifted back.
fn signed_rank(differences: &[i64], shift: i64, memo: &mut Memo) -> f64 {
    let moved: Vec<i64> = differences.iter().map(|value| value - shift).collect();
    let sizes: Vec<i64> = moved.iter().map(|value| value.abs()).collect();
    // A zero has its rank and no sign.
    let ranked = scores(&sizes).into_iter().zip(&moved).filter(|(_, value)| **value != 0);
    let ranked: Vec<(u32, &i64)> = ranked.collect();
    let found: u32 = ranked.iter().filter(|(_, value)| **value > 0).map(|(score, _)| score).sum();
    let scores: Vec<u32> = ranked.into_iter().map(|(score, _)| score).collect();
    if differences.len() > EXACT_BLOCKS {
        let mean = scores.iter().map(|s| f64::from(*s)).sum::<f64>() / 2.0;
        let variance = scores.iter().map(|s| f64::from(*s).powi(2)).sum::<f64>() / 4.0;
        return two_sided_normal(f64::from(found) - mean, variance);
    }
    memo.counts(scores, None).two_sided(found)
}

/// Doubled ranks move in steps of 2: half a step is the correction for continuity.
fn two_sided_normal(away: f64, variance: f64) -> f64 {
    let away = (away.abs() - 1.0).max(0.0);
    if variance <= 0.0 { 1.0 } else { (2.0 * upper_tail(away / variance.sqrt())).min(1.0) }
}

/// Median of all differences b - a.
fn median_of_differences(base: &[i64], new: &[i64]) -> i64 {
    let (base, new) = (sorted(base), sorted(new));
    let at_most = |limit: i64| -> usize {
        new.iter().map(|b| base.len() - base.partition_point(|a| b - a > limit)).sum()
    };
    let (a, b) = (ends(&base), ends(&new));
    middle(base.len() * new.len(), (b.0 - a.1, b.1 - a.0), at_most)
}

/// Median of the means of every two differences, and of each with itself.
fn median_of_means(differences: &[i64]) -> i64 {
    let of = sorted(differences);
    let at_most = |limit: i64| -> usize {
        let partners = |at: usize| of[at..].partition_point(|d| (of[at] + d) / 2 <= limit);
        (0..of.len()).map(partners).sum()
    };
    middle(of.len() * (of.len() + 1) / 2, ends(&of), at_most)
}

fn sorted(values: &[i64]) -> Vec<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The median of `count` numbers between two ends; `at_most` counts the numbers up to a limit. A sample
/// of thousands has too many pairs to keep.
fn middle(count: usize, (first, last): (i64, i64), at_most: impl Fn(i64) -> usize) -> i64 {
    let number = |place: usize| {
        let (mut below, mut at) = (first - 1, last);
        while at - below > 1 {
            let half = below.midpoint(at);
            if at_most(half) > place { at = half } else { below = half }
        }
        at
    };
    match count {
        0 => 0,
        count => number((count - 1) / 2).midpoint(number(count / 2)),
    }
}

impl Dependence {
    /// p for the smaller effective sample.
    fn widen(self, p: f64) -> f64 {
        if p >= 1.0 {
            return p;
        }
        let z = quantile_of_tail(p / 2.0) / self.inflation.sqrt();
        (2.0 * upper_tail(z)).min(1.0)
    }
}

/// How much neighbours may resemble each other: few repetitions cannot show that they do not, so the upper end
/// of the interval of r counts.
fn dependence(base: &[i64], new: &[i64]) -> Option<Dependence> {
    let (mut products, mut squares) = (0.0, 0.0);
    for sample in [base, new].into_iter().filter(|sample| sample.len() > 2) {
        let n = sample.len() as f64;
        let mean = sample.iter().map(|value| *value as f64).sum::<f64>() / n;
        let away: Vec<f64> = sample.iter().map(|value| *value as f64 - mean).collect();
        products += away.windows(2).map(|two| two[0] * two[1]).sum::<f64>() * n / (n - 1.0);
        squares += away.iter().map(|away| away * away).sum::<f64>();
    }
    let all = (base.len() + new.len()) as f64;
    // Equal figures depend on nothing.
    let known = (squares > 0.0).then_some(products / squares + 2.0 / all)?;
    let lag1 = known.min(LARGEST_LAG1);
    let upper = (lag1 + UPPER / all.sqrt()).min(LARGEST_LAG1);
    let most = base.len().min(new.len()) as f64 / LEAST_EFFECTIVE;
    let inflation = ((1.0 + upper) / (1.0 - upper)).min(most);
    (inflation > 1.0).then_some(Dependence { lag1, inflation })
}

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
mod hierarchy_tests {
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

        /// The proof of the promise needs it.
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
