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
//! | outliers | 0.6745 · abs(x - median) / MAD > 3.5: modified z-score, Iglewicz & Hoaglin 1993, pages 11-12 |
//! | autocorrelation | lag 1: sum (x_i - mean)(x_{i+1} - mean) / sum (x_i - mean)^2, Box & Jenkins 1976, section 2.1.5 |
//! | trend | Mann 1945, Kendall 1975, with the variance corrected for ties |

pub mod bootstrap;
pub mod normal;
pub mod permutation;
pub mod student;
pub mod trend;

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

/// What is to be said of one figure over repetitions.
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
        mean_ci95: student::interval_of_mean(sample.len(), mean, sd),
        median_ci95: bootstrap::interval_of_median(sample),
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

/// Places of the values that stand apart, ascending: modified z-score above 3.5. Where more than
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
pub(crate) fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests;
