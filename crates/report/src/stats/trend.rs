//! Mann-Kendall: does a series rise or fall?

use super::distributions::upper_tail;
use super::sample::sorted;

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
