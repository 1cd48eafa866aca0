//! Figures over repetitions: location, spread, intervals, outliers, drift.
//!
//! The unit is the repetition (one execution of the program), never the event: events of one
//! execution depend on each other. Below [`LEAST_FOR_INTERVAL`] repetitions there is no interval.
//! Everything is deterministic: the bootstrap draws from a fixed seed.
//!
//! | figure | formula |
//! |---|---|
//! | standard deviation | sqrt(sum (x - mean)^2 / (n - 1)) |
//! | interval of the mean | mean ± t(0.975, n - 1) · sd / sqrt(n), Student 1908 |
//! | interval of the median | 2.5 % and 97.5 % of the medians of resamples: percentile bootstrap, Efron & Tibshirani 1993, chapter 13 |
//! | outliers | generalized extreme Studentized deviate test at 0.5 %, from 10 repetitions on: Rosner 1983 |
//! | autocorrelation | lag 1: sum (x_i - mean)(x_{i+1} - mean) / sum (x_i - mean)^2, Box & Jenkins 1976, section 2.1.5 |
//! | trend | Mann 1945, Kendall 1975, with the variance corrected for ties |

use model::histogram::{Histogram, bucket_mid};
use model::permutation::mix;
use serde::Serialize;

/// Distances of two distributions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Distance {
    /// Kolmogorov-Smirnov: the largest difference of the cumulated shares, 0 to 1.
    pub kolmogorov_smirnov: f64,
    /// Wasserstein-1 ("earth mover"): the mean shift of an operation's time, nanoseconds.
    pub wasserstein_ns: f64,
}

/// The distance between two histograms; `None` if one is empty.
pub fn distance_between(a: &Histogram, b: &Histogram) -> Option<Distance> {
    let (total_a, total_b) = (a.count as f64, b.count as f64);
    if a.count == 0 || b.count == 0 {
        return None;
    }
    let mut marks: Vec<(usize, f64)> = Vec::new();
    marks.extend(a.buckets.iter().map(|(at, count)| (*at as usize, *count as f64 / total_a)));
    marks.extend(b.buckets.iter().map(|(at, count)| (*at as usize, -(*count as f64) / total_b)));
    marks.sort_by_key(|mark| mark.0);
    let (mut difference, mut largest, mut area) = (0.0f64, 0.0f64, 0.0f64);
    let mut previous = None;
    for bucket in marks.chunk_by(|a, b| a.0 == b.0) {
        let ns = bucket_mid(bucket[0].0) as f64;
        area += difference.abs() * (ns - previous.unwrap_or(ns));
        difference += bucket.iter().map(|mark| mark.1).sum::<f64>();
        largest = largest.max(difference.abs());
        previous = Some(ns);
    }
    Some(Distance { kolmogorov_smirnov: largest.min(1.0), wasserstein_ns: area })
}

/// Probability that a standard normal figure lies above `z`: half the complementary error
/// function of z / sqrt(2), by its series (Abramowitz & Stegun 7.1.6) and for large arguments by
/// its continued fraction (7.1.14). Relative error below 1e-12.
pub fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 4.0 { 0.5 - density * normal_series(z) } else { density / normal_fraction(z) }
}

/// The z whose upper tail has this probability, at most 0.5.
pub fn quantile_of_tail(tail: f64) -> f64 {
    bisected(40.0, |z| upper_tail(z) > tail)
}

/// The figure from 0 to `high` up to which `is_below` holds.
fn bisected(mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if is_below(middle) { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// z + z^3/3 + z^5/(3·5) + ...
fn normal_series(z: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term > sum * 1e-17 {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    sum
}

/// z + 1/(z + 2/(z + 3/(z + ...)))
fn normal_fraction(z: f64) -> f64 {
    (1..=100).rev().fold(z, |value, k| z + f64::from(k) / value)
}

/// The value below which a t-distributed figure lies with probability `p` (0.5 to 1), for
/// `freedom` degrees of freedom.
pub fn quantile_of_student(p: f64, freedom: usize) -> f64 {
    let mut high = 1.0;
    while student(high, freedom) < p && high < 1e12 {
        high *= 2.0;
    }
    bisected(high, |t| student(t, freedom) < p)
}

/// Probability that a t-distributed figure lies below `t` (Abramowitz & Stegun 26.7.3 and 26.7.4).
pub fn student(t: f64, freedom: usize) -> f64 {
    let (sin, cos) = (t / (freedom as f64).sqrt()).atan().sin_cos();
    let is_odd = freedom % 2 == 1;
    let (mut term, mut sum) = (if is_odd { cos } else { 1.0 }, 0.0);
    for k in (1 + freedom % 2..freedom).step_by(2) {
        sum += term;
        term *= cos * cos * k as f64 / (k + 1) as f64;
    }
    let central = match is_odd {
        true => (sin.atan2(cos) + sin * sum) * std::f64::consts::FRAC_2_PI,
        false => sin * sum,
    };
    (1.0 + central) / 2.0
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

    /// Two-sided probability of a sum at least as far out as `found`: twice its smaller tail, at most 1.
    pub fn two_sided(&self, found: u32) -> f64 {
        let all: f64 = self.0.iter().sum();
        let lower: f64 = self.0[..=found as usize].iter().sum();
        let upper: f64 = self.0[found as usize..].iter().sum();
        (2.0 * lower.min(upper) / all).min(1.0)
    }
}

/// Fewest repetitions that an interval is made from.
pub const LEAST_FOR_INTERVAL: usize = 5;

/// Level of the test for outliers. The share of clean samples with one is below twice this at every size.
const OUTLIER_LEVEL: f64 = 0.005;
/// Fewest repetitions that show what is usual.
const LEAST_FOR_OUTLIERS: usize = 10;
/// At most one of this number of values can be an outlier.
const MOST_OUTLIERS: usize = 5;

/// An interval that holds the true figure in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// How far the farther end is from `figure`, as a share of it; `None` for a figure of 0.
    pub fn relative_half_width(&self, figure: f64) -> Option<f64> {
        let far = (self.high - figure).abs().max((figure - self.low).abs());
        let share = far / figure.abs();
        share.is_finite().then_some(share)
    }
}

/// Summary of one figure over repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Number of repetitions.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median; the mean of the middle two of an even number.
    pub median: f64,
    /// Sample standard deviation; `None` below 2 repetitions.
    pub sd: Option<f64>,
    /// 95 % confidence interval of the mean; `None` below [`LEAST_FOR_INTERVAL`].
    pub mean_ci95: Option<Interval>,
    /// 95 % confidence interval of the median; `None` below [`LEAST_FOR_INTERVAL`].
    pub median_ci95: Option<Interval>,
    /// Places of the outliers in the sample, ascending.
    pub outliers: Vec<usize>,
}

/// Sums up a sample; `None` for an empty one. Values must be finite.
pub fn summarise(sample: &[f64]) -> Option<Summary> {
    let (mean, median) = (mean(sample)?, median(sample)?);
    let sd = standard_deviation(sample);
    Some(Summary {
        n: sample.len(),
        mean,
        median,
        sd,
        mean_ci95: interval_of_mean(sample.len(), mean, sd),
        median_ci95: interval_of_median(sample),
        outliers: outliers(sample),
    })
}

/// Arithmetic mean; `None` without values.
pub fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

/// Median; the mean of the middle two of an even number; `None` without values.
pub fn median(sample: &[f64]) -> Option<f64> {
    let sorted = sorted(sample);
    let middle = sorted.len().checked_sub(1)? / 2;
    Some(match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle] + sorted[middle + 1]) / 2.0,
    })
}

/// Sample standard deviation, with n - 1; `None` below two values.
pub fn standard_deviation(sample: &[f64]) -> Option<f64> {
    let mean = mean(sample).filter(|_| sample.len() > 1)?;
    let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (sample.len() - 1) as f64).sqrt())
}

/// Places of the outliers, ascending: the generalized extreme Studentized deviate test (Rosner 1983), which finds
/// several that would hide one another. None below ten values.
pub fn outliers(sample: &[f64]) -> Vec<usize> {
    outliers_above(sample, &critical_deviates(sample.len()))
}

/// Critical values of the largest deviate of a sample, of the sample without it, and so on.
fn critical_deviates(n: usize) -> Vec<f64> {
    if n < LEAST_FOR_OUTLIERS {
        return Vec::new();
    }
    let critical = |left: usize| {
        let n = left as f64;
        let t = quantile_of_student(1.0 - OUTLIER_LEVEL / (2.0 * n), left - 2);
        (n - 1.0) * t / ((n - 2.0 + t * t) * n).sqrt()
    };
    (0..n / MOST_OUTLIERS).map(|removed| critical(n - removed)).collect()
}

fn outliers_above(sample: &[f64], critical: &[f64]) -> Vec<usize> {
    let mut left: Vec<(usize, f64)> = sample.iter().copied().enumerate().collect();
    let (mut removed, mut found) = (Vec::new(), 0);
    for critical in critical {
        let values: Vec<f64> = left.iter().map(|(_, value)| *value).collect();
        let (Some(mean), Some(sd)) = (mean(&values), standard_deviation(&values)) else { break };
        // Rounding alone is no deviation.
        if sd <= mean.abs() * 1e-12 {
            break;
        }
        let distance = |one: &(usize, f64)| (one.1 - mean).abs();
        let far =
            (0..left.len()).max_by(|a, b| distance(&left[*a]).total_cmp(&distance(&left[*b])));
        let far = left.swap_remove(far.unwrap_or(0));
        removed.push(far.0);
        if distance(&far) / sd > *critical {
            found = removed.len();
        }
    }
    removed.truncate(found);
    removed.sort_unstable();
    removed
}

/// Autocorrelation of neighbours in order of time, -1 to 1; `None` for fewer than three values
/// and for equal ones.
pub fn lag1_autocorrelation(series: &[f64]) -> Option<f64> {
    let mean = mean(series).filter(|_| series.len() > 2)?;
    let square: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let product: f64 = series.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    let share = product / square;
    share.is_finite().then_some(share)
}

/// The values in ascending order.
pub fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// 95 % confidence interval of a mean; `None` below [`LEAST_FOR_INTERVAL`] values.
fn interval_of_mean(n: usize, mean: f64, sd: Option<f64>) -> Option<Interval> {
    let sd = sd.filter(|_| n >= LEAST_FOR_INTERVAL)?;
    let half = quantile_of_student(0.975, n - 1) * sd / (n as f64).sqrt();
    Some(Interval { low: mean - half, high: mean + half })
}

/// Resamples of an interval. More would move its ends by less than they mean.
const RESAMPLES: usize = 2000;
/// Where the random numbers begin: the same sample has the same interval everywhere.
const SEED: u64 = 0x7061_7261_6265_6e63;

/// 95 % confidence interval of a median: percentile bootstrap. `None` below
/// [`LEAST_FOR_INTERVAL`] values. Does not depend on the order of the sample.
fn interval_of_median(sample: &[f64]) -> Option<Interval> {
    if sample.len() < LEAST_FOR_INTERVAL {
        return None;
    }
    let values = sorted(sample);
    let mut random = SplitMix64(SEED);
    let mut counts = vec![0u32; values.len()];
    let medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            counts.fill(0);
            (0..values.len()).for_each(|_| counts[random.below(values.len())] += 1);
            median_of_counts(&values, &counts)
        })
        .collect();
    let medians = sorted(&medians);
    let outside = RESAMPLES / 40;
    Some(Interval { low: medians[outside], high: medians[RESAMPLES - 1 - outside] })
}

/// Median of a resample that holds `values[i]` `counts[i]` times; as many as there are values.
fn median_of_counts(values: &[f64], counts: &[u32]) -> f64 {
    let n = values.len();
    let (lower, upper) = ((n - 1) / 2, n / 2);
    let at = |place: usize| {
        let mut seen = 0;
        let found = counts.iter().position(|count| {
            seen += *count as usize;
            seen > place
        });
        values[found.unwrap_or(n - 1)]
    };
    if lower == upper { at(lower) } else { (at(lower) + at(upper)) / 2.0 }
}

/// Random numbers after Steele, Lea & Flood 2014 (the generator of Java's SplittableRandom).
#[derive(Clone, Debug)]
pub struct SplitMix64(
    /// The state.
    pub u64,
);

impl SplitMix64 {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits
    }

    /// A number below `limit`, every one equally likely up to 2^-64 (Lemire 2019).
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }
}

/// How probable a series with at least this much trend is by chance, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Kendall's tau, -1 (falls all the time) to 1 (rises all the time).
    pub tau: f64,
    /// Two-sided probability under independence, by the normal approximation with continuity
    /// correction; good from 10 values on (Gilbert 1987, section 16.4).
    pub p: f64,
}

/// The trend of a series in order of time; `None` below 10 values and for equal ones.
pub fn mann_kendall(series: &[f64]) -> Option<Trend> {
    let n = series.len();
    if n < 10 {
        return None;
    }
    let sign = |a: f64, b: f64| f64::from(i8::from(b > a) - i8::from(b < a));
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let s: f64 = pairs.map(|(i, j)| sign(series[i], series[j])).sum();
    let all = (n * (n - 1) * (2 * n + 5)) as f64;
    let ties: f64 = ties(series).map(|t| (t * (t - 1) * (2 * t + 5)) as f64).sum();
    let variance = (all - ties) / 18.0;
    if variance <= 0.0 {
        return None;
    }
    let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
    let tau = s / (n * (n - 1) / 2) as f64;
    Some(Trend { tau, p: (2.0 * upper_tail(z)).min(1.0) })
}

/// Sizes of the groups of equal values.
fn ties(series: &[f64]) -> impl Iterator<Item = usize> {
    let sorted = sorted(series);
    let sizes: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
    sizes.into_iter()
}

/// Intervals in order, those at most `close` apart as one.
pub fn union_of(mut all: Vec<(u64, u64)>, close: u64) -> Vec<(u64, u64)> {
    all.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (start, end) in all {
        match out.last_mut() {
            Some(last) if start <= last.1.saturating_add(close) => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests;
