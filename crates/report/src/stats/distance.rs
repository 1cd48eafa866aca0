//! How far two distributions of latencies are apart, from their histograms (1 % exact).

use model::histogram::{Histogram, bucket_mid};
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn known_distances() {
        // Below 64 ns each value has a bucket, so that these are exact.
        let cases: [(&[u64], &[u64], f64, f64); 4] = [
            (&[10, 20], &[10, 20, 10, 20], 0.0, 0.0),
            (&[10], &[30], 1.0, 20.0),
            (&[10, 20, 30, 40], &[20, 30, 40, 50], 0.25, 10.0),
            (&[0, 60], &[30, 30], 0.5, 30.0),
        ];
        for (a, b, ks, wasserstein) in cases {
            let found = distance_between(&of(a), &of(b)).unwrap();
            assert!((found.kolmogorov_smirnov - ks).abs() < 1e-12, "{a:?} {b:?} {found:?}");
            assert!((found.wasserstein_ns - wasserstein).abs() < 1e-9, "{a:?} {b:?} {found:?}");
        }
        assert_eq!(distance_between(&of(&[]), &of(&[1])), None);
    }
}
