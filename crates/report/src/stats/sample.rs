//! One figure over repetitions: location, spread, intervals, outliers.

use super::distributions::{quantile_of_student, upper_tail};

/// Fewest repetitions that an interval is made from.
pub const LEAST_FOR_INTERVAL: usize = 5;

/// Modified z-scores above this are outliers (Iglewicz & Hoaglin 1993).
const OUTLIER_SCORE: f64 = 3.5;

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

/// Places of the outliers, ascending: modified z-score above 3.5. Where more than
/// half of the values are equal the median absolute deviation is 0, and 1.2533 times the mean one
/// takes its place, as the authors say. None below [`LEAST_FOR_INTERVAL`] values.
pub fn outliers(sample: &[f64]) -> Vec<usize> {
    let Some(centre) = median(sample).filter(|_| sample.len() >= LEAST_FOR_INTERVAL) else {
        return Vec::new();
    };
    let deviations: Vec<f64> = sample.iter().map(|value| (value - centre).abs()).collect();
    let unit = match median(&deviations) {
        Some(mad) if mad > 0.0 => mad / 0.6745,
        _ => 1.253314 * mean(&deviations).unwrap_or(0.0),
    };
    // Rounding alone is no deviation.
    let unit = unit.max(centre.abs() * 1e-9);
    let apart = deviations.iter().enumerate().filter(|(_, d)| **d > OUTLIER_SCORE * unit);
    apart.map(|(at, _)| at).collect()
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
    let half = quantile_of_student(0.975, (n - 1) as f64) * sd / (n as f64).sqrt();
    Some(Interval { low: mean - half, high: mean + half })
}

/// Resamples of an interval. More would move its ends by less than they mean.
const RESAMPLES: usize = 2000;
/// Where the random numbers begin: the same sample has the same interval everywhere.
const SEED: u64 = 0x7061_7261_6265_6e63;

/// 95 % confidence interval of a median: percentile bootstrap. `None` below
/// [`LEAST_FOR_INTERVAL`] values. Does not depend on the order of the sample.
pub(super) fn interval_of_median(sample: &[f64]) -> Option<Interval> {
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
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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
