//! Bootstrap: the interval of a median without a model of the distribution.

use super::{Interval, LEAST_FOR_INTERVAL, sorted};

/// Resamples of an interval. More would move its ends by less than they mean.
const RESAMPLES: usize = 2000;
/// Where the random numbers begin: the same sample has the same interval everywhere.
const SEED: u64 = 0x7061_7261_6265_6e63;

/// 95 % confidence interval of a median: percentile bootstrap. `None` below
/// [`LEAST_FOR_INTERVAL`] values. Does not depend on the order of the sample.
pub fn interval_of_median(sample: &[f64]) -> Option<Interval> {
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
