//! Log-linear histograms of times in nanoseconds: mergeable by addition,
//! relative error of a bucket's midpoint at most 1/128 (0.79 %).
//!
//! Layout after the HdrHistogram idea: values below 64 have a bucket each;
//! above, every power of two is cut into 64 equal buckets. What is not here:
//! the hot counters, which the engine keeps in the ranks' files with the same
//! bucket numbers.

use serde::{Deserialize, Serialize};

/// log2 of the buckets per power of two.
pub const SUB_BITS: u32 = 6;
/// Buckets per power of two; also the length of one chunk of hot counters.
pub const SUB_BUCKETS: usize = 1 << SUB_BITS;
/// Chunks of [`SUB_BUCKETS`] buckets that cover every `u64`.
pub const CHUNKS: usize = 64 - SUB_BITS as usize + 1;
/// Number of buckets in all.
pub const BUCKETS: usize = CHUNKS * SUB_BUCKETS;

/// Index of the bucket that counts this value.
#[inline(always)]
pub fn bucket(value: u64) -> usize {
    if value < SUB_BUCKETS as u64 {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

/// Smallest value of a bucket.
pub fn bucket_low(bucket: usize) -> u64 {
    if bucket < 2 * SUB_BUCKETS {
        return bucket as u64;
    }
    let shift = (bucket >> SUB_BITS) - 1;
    ((bucket & (SUB_BUCKETS - 1)) as u64 + SUB_BUCKETS as u64) << shift
}

/// The value that represents a bucket: its midpoint, rounded down.
pub fn bucket_mid(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_BITS).saturating_sub(1);
    bucket_low(bucket) + ((1u64 << shift) - 1) / 2
}

/// Counts per bucket, with exact count, sum, minimum and maximum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Histogram {
    /// `(bucket, count)` in ascending order, no zero counts.
    pub buckets: Vec<(u16, u64)>,
    /// Number of values.
    pub count: u64,
    /// Sum of values.
    pub sum: u64,
    /// Smallest value; 0 when empty.
    pub min: u64,
    /// Largest value; 0 when empty.
    pub max: u64,
}

impl Histogram {
    /// Adds one value.
    pub fn record(&mut self, value: u64) {
        self.add_bucket(bucket(value), 1);
        self.add_summary(1, value, value, value);
    }

    /// Adds `count` values to a bucket without touching count, sum, minimum and maximum.
    pub fn add_bucket(&mut self, bucket: usize, count: u64) {
        let bucket = bucket as u16;
        match self.buckets.binary_search_by_key(&bucket, |entry| entry.0) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(count),
            Err(at) => self.buckets.insert(at, (bucket, count)),
        }
    }

    /// Adds exact figures of `count` values whose buckets are added apart.
    pub fn add_summary(&mut self, count: u64, sum: u64, min: u64, max: u64) {
        if count == 0 {
            return;
        }
        self.min = if self.count == 0 { min } else { self.min.min(min) };
        self.max = self.max.max(max);
        self.count = self.count.saturating_add(count);
        self.sum = self.sum.saturating_add(sum);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for &(bucket, count) in &other.buckets {
            self.add_bucket(usize::from(bucket), count);
        }
        self.add_summary(other.count, other.sum, other.min, other.max);
    }

    /// Arithmetic mean; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest value such that at least `q` (0 to 1) of all values are not
    /// larger, exact to a bucket and cut to [min, max]; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let hit = self.buckets.iter().find(|entry| {
            seen = entry.1.saturating_add(seen);
            seen >= rank
        })?;
        Some(bucket_mid(usize::from(hit.0)).clamp(self.min, self.max))
    }

    /// The same, if at least one value is expected beyond it; `None` with fewer than 1 / (1 - `q`)
    /// values, of which none tells it from the maximum.
    pub fn percentile(&self, q: f64) -> Option<u64> {
        // 0.999 of 1,000 leaves a little less than 1.
        let beyond = self.count as f64 * (1.0 - q);
        if beyond < 1.0 - 1e-9 { None } else { self.quantile(q) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_within_one_percent(value in any::<u64>()) {
            let at = bucket(value);
            prop_assert!(at < BUCKETS);
            prop_assert!(bucket_low(at) <= value);
            prop_assert!(at + 1 == BUCKETS || value < bucket_low(at + 1));
            let error = bucket_mid(at).abs_diff(value) as f64;
            prop_assert!(error <= 0.01 * value as f64);
        }

        #[test]
        fn merging_is_adding(a in prop::collection::vec(any::<u32>(), 0..200),
                             b in prop::collection::vec(any::<u32>(), 0..200)) {
            let fill = |values: &[u32]| {
                let mut h = Histogram::default();
                values.iter().for_each(|v| h.record(u64::from(*v)));
                h
            };
            let mut merged = fill(&a);
            merged.merge(&fill(&b));
            prop_assert_eq!(merged, fill(&[a, b].concat()));
        }

        #[test]
        fn quantiles_are_within_one_percent(mut values in prop::collection::vec(1u64..1 << 40, 1..300),
                                            q in 0.0f64..1.0) {
            let mut h = Histogram::default();
            values.iter().for_each(|v| h.record(*v));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let found = h.quantile(q).unwrap() as f64;
            prop_assert!((found - exact).abs() <= 0.01 * exact, "{} against {}", found, exact);
        }
    }

    #[test]
    fn a_percentile_needs_as_many_values_as_it_speaks_of() {
        for (q, needed) in [(0.9, 10), (0.99, 100), (0.999, 1000)] {
            let mut times = Histogram::default();
            (1..needed).for_each(|value| times.record(value));
            assert_eq!(times.percentile(q), None, "{q}");
            times.record(needed);
            assert!(times.percentile(q).is_some(), "{q}");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_figures() {
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert_eq!(Histogram::default().mean(), None);
    }
}
