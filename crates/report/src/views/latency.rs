//! How long operations took: from the histograms of the rows, no events needed.

use super::{axis, log_axis};
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use model::Run;
use model::histogram::{BUCKETS, Histogram, bucket_low};
use model::units::format_ns;
use std::cmp::Reverse;

pub(super) const HISTOGRAM: &str = "latency-histogram";
pub(super) const CDF: &str = "latency-cdf";
pub(super) const PERCENTILES: &str = "latency-percentiles";
/// Operations in a picture: those with most time.
const MAX_OPS: usize = 8;
/// Buckets of the rows' histograms that are one step of a picture: 16 steps per power of two.
const STEP: usize = 4;

/// Operations with the times of all their executions that did not fail, most time first.
fn by_op(run: &Run) -> Result<Vec<(String, Histogram)>, String> {
    let mut ops: Vec<(String, Histogram)> = Vec::new();
    let rows = run.rows.iter().filter(|row| row.part_of.is_none());
    for (row, histogram) in rows.filter_map(|row| Some((row, row.histogram.as_ref()?))) {
        match ops.iter_mut().find(|entry| entry.0 == row.op) {
            Some(entry) => entry.1.merge(histogram),
            None => ops.push((row.op.clone(), histogram.clone())),
        }
    }
    ops.retain(|entry| entry.1.count > 0);
    if ops.is_empty() {
        return Err(match run.rows.is_empty() {
            true => "nothing was executed".into(),
            false => "no operation succeeded, or the run holds no histograms".into(),
        });
    }
    ops.sort_by_key(|entry| Reverse(entry.1.sum));
    ops.truncate(MAX_OPS);
    Ok(ops)
}

/// One figure of a histogram.
type Figure = fn(&Histogram) -> f64;

fn percentile(histogram: &Histogram, q: f64) -> f64 {
    histogram.quantile(q).unwrap_or(0) as f64
}

/// "half of the writes took up to 10 us, ...": of the operation with most time.
fn headline((op, histogram): &(String, Histogram)) -> String {
    format!(
        "Half of all {op} calls took up to {}, one in a hundred more than {}",
        format_ns(percentile(histogram, 0.5)),
        format_ns(percentile(histogram, 0.99))
    )
}

/// "write: median 10 us, 99 % within 20 us, longest 1 ms".
fn sentences(ops: &[(String, Histogram)]) -> String {
    let one = |(op, histogram): &(String, Histogram)| {
        format!(
            "{op}: median {}, 99 % within {}, longest {}",
            format_ns(percentile(histogram, 0.5)),
            format_ns(percentile(histogram, 0.99)),
            format_ns(histogram.max as f64)
        )
    };
    let all: Vec<String> = ops.iter().map(one).collect();
    format!("{}.", all.join("; "))
}

/// Counts by steps of equal width on a logarithmic axis: number of the step and count.
fn coarse(histogram: &Histogram) -> Vec<(usize, u64)> {
    let mut steps: Vec<(usize, u64)> = Vec::new();
    for (bucket, count) in &histogram.buckets {
        let step = usize::from(*bucket) / STEP;
        match steps.last_mut() {
            Some(last) if last.0 == step => last.1 = last.1.saturating_add(*count),
            _ => steps.push((step, *count)),
        }
    }
    steps
}

/// Begin of a step, above 0 for logarithmic axes.
fn step_low(step: usize) -> f64 {
    match step * STEP {
        bucket if bucket >= BUCKETS => u64::MAX as f64,
        bucket => bucket_low(bucket).max(1) as f64,
    }
}

fn time_axis() -> crate::chart::Axis {
    log_axis("time of an operation", Unit::Nanoseconds)
}

/// How often each time was met.
pub(super) fn histogram(run: &Run) -> Result<View, String> {
    let ops = by_op(run)?;
    let series = |(op, histogram): &(String, Histogram)| {
        let mut points: Vec<Point> = Vec::new();
        let mut next = None;
        for (step, count) in coarse(histogram) {
            if let Some(gap) = next.filter(|next| *next < step) {
                points.push(Point { x: step_low(gap), y: 0.0, interval: None });
            }
            let y = count as f64 / histogram.count as f64;
            points.push(Point { x: step_low(step), y, interval: None });
            next = Some(step + 1);
        }
        points.extend(next.map(|next| Point { x: step_low(next), y: 0.0, interval: None }));
        Series { name: op.clone(), points }
    };
    Ok(View {
        name: HISTOGRAM.into(),
        title: headline(&ops[0]),
        summary: sentences(&ops),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("share of the calls", Unit::Share),
            join: Join::Step,
            series: ops.iter().map(series).collect(),
        },
    })
}

/// Which share of the calls was over by each time.
pub(super) fn cdf(run: &Run) -> Result<View, String> {
    let ops = by_op(run)?;
    let series = |(op, histogram): &(String, Histogram)| {
        let start = Point { x: histogram.min.max(1) as f64, y: 0.0, interval: None };
        let mut seen = 0;
        let points = coarse(histogram).into_iter().map(|(step, count)| {
            seen = count.saturating_add(seen);
            // All of a step is over at its end, and nothing comes after the maximum.
            let x = step_low(step + 1).min(histogram.max as f64).max(start.x);
            Point { x, y: seen as f64 / histogram.count as f64, interval: None }
        });
        Series { name: op.clone(), points: std::iter::once(start).chain(points).collect() }
    };
    let (op, slow) = (&ops[0].0, percentile(&ops[0].1, 0.9));
    Ok(View {
        name: CDF.into(),
        title: format!("Nine of ten {op} calls were over after {}", format_ns(slow)),
        summary: sentences(&ops),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("share of the calls that took no longer", Unit::Share),
            join: Join::Line,
            series: ops.iter().map(series).collect(),
        },
    })
}

/// The usual percentiles side by side.
pub(super) fn percentiles(run: &Run) -> Result<View, String> {
    let ops = by_op(run)?;
    let figures: [(&str, Figure); 5] = [
        ("median", |histogram| percentile(histogram, 0.5)),
        ("90 %", |histogram| percentile(histogram, 0.9)),
        ("99 %", |histogram| percentile(histogram, 0.99)),
        ("99.9 %", |histogram| percentile(histogram, 0.999)),
        ("longest", |histogram| histogram.max as f64),
    ];
    let series = figures.iter().map(|(name, figure)| {
        (name.to_string(), ops.iter().map(|(_, histogram)| figure(histogram)).collect())
    });
    let tail = |(_, histogram): &&(String, Histogram)| {
        histogram.max as f64 / percentile(histogram, 0.5).max(1.0)
    };
    let longest = ops.iter().max_by(|a, b| tail(a).total_cmp(&tail(b))).unwrap_or(&ops[0]);
    Ok(View {
        name: PERCENTILES.into(),
        title: format!(
            "The longest {} took {} times the median",
            longest.0,
            model::units::significant(tail(&longest))
        ),
        summary: sentences(&ops),
        chart: Chart::Bars {
            value: axis("time of an operation", Unit::Nanoseconds),
            names: ops.iter().map(|entry| entry.0.clone()).collect(),
            series: series.collect(),
        },
    })
}
