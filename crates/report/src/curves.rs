//! Cumulated times of calls out of histograms, as series of a picture.

use crate::chart::{Axis, Chart, Join, Point, Series, Unit, View};
use crate::stats::Distance;
use model::histogram::{BUCKETS, Histogram, bucket_low};
use model::units::format_ns;

/// A distribution of fewer calls is a list, not a curve.
pub const LEAST_CALLS: u64 = 30;
/// Buckets of a histogram that are one step of a picture: 16 steps per power of two.
const STEP: usize = 4;

/// Shares of calls over their time.
pub fn chart(share: &str, series: Vec<Series>) -> Chart {
    let x = Axis { log: true, ..Axis::new("time of an operation", Unit::Nanoseconds) };
    Chart::Lines { x, y: Axis::new(share, Unit::Share), join: Join::Step, series }
}

/// The share of the calls that were over at the end of each step.
pub fn curve(name: String, color: usize, histogram: &Histogram) -> Series {
    let start = Point { x: histogram.min.max(1) as f64, y: 0.0, interval: None };
    let step = |bucket: u16| usize::from(bucket) / STEP;
    let steps = histogram.buckets.chunk_by(|a, b| step(a.0) == step(b.0));
    let mut seen = 0.0;
    let points = steps.map(|buckets| {
        seen += buckets.iter().map(|bucket| bucket.1 as f64).sum::<f64>();
        // All of a step is over at its end, and nothing comes after the maximum.
        let end = match (step(buckets[0].0) + 1) * STEP {
            bucket if bucket >= BUCKETS => u64::MAX,
            bucket => bucket_low(bucket),
        };
        let x = (end.min(histogram.max) as f64).max(start.x);
        Point { x, y: seen / histogram.count as f64, interval: None }
    });
    Series { name, color, points: std::iter::once(start).chain(points).collect() }
}

/// Cumulated latencies of an operation on both sides of a comparison.
pub fn latencies_of_sides(
    name: String,
    of: &str,
    sides: [(&str, &Histogram); 2],
    distance: Distance,
) -> View {
    let series = sides.into_iter().enumerate();
    // The first colours belong to reading and writing.
    let series = series.map(|(at, (name, times))| curve(name.into(), 2 + at, times)).collect();
    View {
        name,
        title: format!("Latency of {of}"),
        summary: format!(
            "The curves differ by at most {:.1} % (Kolmogorov-Smirnov), an operation by {} on average (Wasserstein).",
            distance.kolmogorov_smirnov * 100.0,
            format_ns(distance.wasserstein_ns)
        ),
        chart: chart("share of operations that took no longer", series),
    }
}
