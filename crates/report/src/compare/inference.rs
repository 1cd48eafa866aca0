//! Statistics of two samples of repetitions.
//!
//! | figure | source |
//! |---|---|
//! | test | Mann & Whitney 1947; exact without ties up to 400 pairs, else normal with ties and continuity corrected |
//! | ratio and its interval | exp of the median of all log differences (Hodges & Lehmann 1963) and of the order statistics that the test does not reject (Moses 1965) |
//! | effect size | Cliff's delta: P(b > a) - P(b < a) (Cliff 1993) |
//! | several rows | Holm 1979 |
//! | dependent repetitions | variance of a rank sum inflated by (1 + r) / (1 - r), as that of a mean of AR(1) noise (Bayley & Hammersley 1946); r is the lag-1 autocorrelation inside the samples, its bias of about -1/n removed (Marriott & Pope 1954) |
//!
//! Where the variance had to be inflated, Student's t with the effective number of repetitions takes
//! the place of the normal distribution. Tests hold false alarms and power to what is promised.

use crate::stats::{median, normal, sorted, student};

/// Pairs up to which the distribution of U is counted.
const EXACT_PAIRS: usize = 400;
/// No sample of this kind is believed to be more dependent.
const STRONGEST: f64 = 0.8;
/// 97.5 % of a normal distribution lies below so many standard deviations.
const NORMAL_95: f64 = 1.959_963_984_540_054;
/// Squares of differences of logarithms below this are rounding.
const ROUNDING: f64 = 1e-18;

/// What two samples say about the factor between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// New by base.
    pub ratio: f64,
    /// Cliff's delta.
    pub delta: f64,
    /// Two-sided probability under "no difference".
    pub p: f64,
}

/// Two samples of positive figures in order of time, and all differences of their logarithms.
pub struct Contrast {
    base: Vec<f64>,
    new: Vec<f64>,
    differences: Vec<f64>,
    /// By how much dependence between repetitions inflates variances.
    inflation: f64,
}

impl Contrast {
    /// Takes in the figures.
    pub fn new(base: &[f64], new: &[f64]) -> Contrast {
        let logs = |sample: &[f64]| -> Vec<f64> { sample.iter().map(|value| value.ln()).collect() };
        let (base, new) = (logs(base), logs(new));
        let all: Vec<f64> = new.iter().flat_map(|b| base.iter().map(move |a| b - a)).collect();
        Contrast { differences: sorted(&all), inflation: inflation(&base, &new), base, new }
    }

    /// The factor, its effect size and its probability under "no difference".
    pub fn estimate(&self) -> Estimate {
        let count = |wanted: fn(f64) -> bool| {
            self.differences.iter().filter(|difference| wanted(**difference)).count() as f64
        };
        let wins = count(|difference| difference > 0.0) - count(|difference| difference < 0.0);
        Estimate {
            ratio: median(&self.differences).unwrap_or(0.0).exp(),
            delta: wins / self.differences.len().max(1) as f64,
            p: probability(&self.base, &self.new, self.inflation),
        }
    }

    /// 95 % confidence interval of the factor: the differences at which the test turns.
    pub fn interval(&self) -> (f64, f64) {
        let (n, m) = (self.base.len(), self.new.len());
        let Some(last) = self.differences.len().checked_sub(1) else { return (1.0, 1.0) };
        let pairs = (n * m) as f64;
        let sd = (self.inflation * pairs * (n + m + 1) as f64 / 12.0).sqrt();
        let width = match self.inflation > 1.0 {
            true => student::quantile(0.975, freedom(n, m, self.inflation)),
            false => NORMAL_95,
        };
        let outside = (pairs / 2.0 - width * sd).floor().max(0.0) as usize;
        let at = outside.min(last / 2);
        (self.differences[at].exp(), self.differences[last - at].exp())
    }
}

/// By how much dependence between neighbours inflates the variance of a mean.
fn inflation(base: &[f64], new: &[f64]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for sample in [base, new].into_iter().filter(|sample| sample.len() > 1) {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let lagged: f64 = sample.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
        products += lagged * n / (n - 1.0);
        squares += sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    }
    let n = (base.len() + new.len()) as f64 / 2.0;
    // Equal figures depend on nothing.
    let r = if squares > ROUNDING { products / squares + 1.0 / n } else { 0.0 };
    let r = r.clamp(0.0, STRONGEST);
    (1.0 + r) / (1.0 - r)
}

/// Two-sided p of the Mann-Whitney test, corrected for dependence.
fn probability(base: &[f64], new: &[f64], inflation: f64) -> f64 {
    let p = mann_whitney(base, new);
    if inflation <= 1.0 || p >= 1.0 {
        return p;
    }
    let z = normal_quantile_of_tail(p / 2.0) / inflation.sqrt();
    2.0 * (1.0 - student::distribution(z, freedom(base.len(), new.len(), inflation)))
}

/// Degrees of freedom of that many dependent repetitions.
fn freedom(base: usize, new: usize, inflation: f64) -> f64 {
    ((base + new) as f64 / inflation - 2.0).max(2.0)
}

/// Two-sided p of the Mann-Whitney test for independent figures; 1 for empty samples.
pub fn mann_whitney(base: &[f64], new: &[f64]) -> f64 {
    let (n, m) = (base.len(), new.len());
    if n == 0 || m == 0 {
        return 1.0;
    }
    let mut wins = 0.0;
    for b in new {
        for a in base {
            wins += if b > a {
                1.0
            } else if b == a {
                0.5
            } else {
                0.0
            };
        }
    }
    let least = f64::min(wins, (n * m) as f64 - wins);
    let ties = tie_sum(base, new);
    if ties == 0.0 && n * m <= EXACT_PAIRS {
        return exact(n, m, least as usize);
    }
    let (pairs, all) = ((n * m) as f64, (n + m) as f64);
    let variance = pairs / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let away = (pairs / 2.0 - least - 0.5).max(0.0);
    if variance <= 0.0 { 1.0 } else { (2.0 * normal::upper_tail(away / variance.sqrt())).min(1.0) }
}

/// Sum of t^3 - t over the groups of t equal figures.
fn tie_sum(base: &[f64], new: &[f64]) -> f64 {
    let all: Vec<f64> = sorted(&base.iter().chain(new).copied().collect::<Vec<_>>());
    let groups = all.chunk_by(|a, b| a == b).map(|group| group.len() as f64);
    groups.map(|t| t * t * t - t).sum()
}

/// P(U <= u or U >= nm - u), by counting the orders of n + m different figures.
fn exact(n: usize, m: usize, u: usize) -> f64 {
    // ways[j][k]: orders of the base figures so far and j new ones in which k pairs are won.
    let mut ways = vec![vec![0.0f64; n * m + 1]; m + 1];
    ways.iter_mut().for_each(|ways| ways[0] = 1.0);
    for _ in 0..n {
        for j in 1..=m {
            for k in (0..=n * m).rev() {
                // The largest is a base figure, before which j new ones stand, or a new one.
                let base_last = if k >= j { ways[j][k - j] } else { 0.0 };
                ways[j][k] = base_last + ways[j - 1][k];
            }
        }
    }
    let all: f64 = ways[m].iter().sum();
    let tail: f64 = ways[m][..=u].iter().sum();
    (2.0 * tail / all).min(1.0)
}

/// The z whose upper tail has this probability, by bisection.
fn normal_quantile_of_tail(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 40.0f64);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if normal::upper_tail(middle) > tail { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Holm's correction: the p of each hypothesis when all of them are tested together.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![1.0; p.len()];
    let mut largest = 0.0f64;
    for (rank, at) in order.iter().enumerate() {
        largest = largest.max((p[*at] * (p.len() - rank) as f64).min(1.0));
        corrected[*at] = largest;
    }
    corrected
}
