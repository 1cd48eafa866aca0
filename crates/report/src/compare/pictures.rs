//! A comparison as pictures: both sides over each other.

use super::quantities::Quantity;
use super::{Comparison, Row, Samples, Side, histogram};
use crate::chart::{Axis, Chart, Join, Point, Range, Series, Unit, View};
use crate::html::{figure, page};
use crate::markup::{Markup, element};
use crate::statistics::Metric;
use crate::table::Terminal;
use model::histogram::{Histogram, bucket_mid};

/// Rows that get pictures of their own; the table has them all.
const ROWS: usize = 12;
/// Rows of the forest plot.
const FOREST: usize = 48;
/// Marks of a curve.
const POINTS: usize = 200;

fn axis(title: &str, unit: Unit, log: bool) -> Axis {
    Axis { title: title.into(), unit, log }
}

fn name(row: &Row) -> String {
    let point = if row.point.is_empty() { String::new() } else { format!(", {}", row.point) };
    match (row.label.as_str(), row.op.as_str()) {
        (label, "") => format!("{label}{point}"),
        ("", op) => format!("{op}{point}"),
        (label, op) => format!("{label}: {op}{point}"),
    }
}

/// The intervals of all rows, then each row's repetitions and latencies.
pub fn views(base: &Side, new: &Side, comparison: &Comparison) -> Vec<View> {
    let (a, b) = (Samples::of(&base.runs), Samples::of(&new.runs));
    let mut views: Vec<View> = intervals(comparison).into_iter().collect();
    for (number, row) in comparison.rows.iter().take(ROWS).enumerate() {
        views.extend(repetitions(number, row, &a, &b));
        views.extend(latencies(number, row, base, new));
    }
    views
}

/// How many times faster B is, row by row: a forest plot.
fn intervals(comparison: &Comparison) -> Option<View> {
    let known = comparison.rows.iter().filter(|row| row.ci95_low.is_some());
    let rows: Vec<&Row> = known.take(FOREST).collect();
    let range = |row: &&Row| {
        Some(Range { name: name(row), low: row.ci95_low?, at: row.ratio?, high: row.ci95_high? })
    };
    let chart = Chart::Forest {
        x: axis("B is faster, times", Unit::None, true),
        line: 1.0,
        ranges: rows.iter().filter_map(range).collect(),
    };
    let mut sentences: Vec<&str> = rows.iter().take(4).map(|row| row.sentence.as_str()).collect();
    let left_out = comparison.rows.len() - rows.len();
    let more = format!("{left_out} more rows stand in the table");
    sentences.extend((left_out > 0).then_some(more.as_str()));
    (!rows.is_empty()).then(|| View {
        name: "ratios".into(),
        title: "How much faster B is".into(),
        summary: sentences.join("; "),
        chart,
    })
}

/// Every repetition of both sides.
fn repetitions(number: usize, row: &Row, a: &Samples, b: &Samples) -> Option<View> {
    let key = (row.label.clone(), row.op.clone(), row.cell);
    let quantity = Quantity { key, metric: row.metric };
    let series = |color: usize, name: &str, samples: &Samples| -> Option<Series> {
        let figures = samples.figures(&quantity).into_iter().zip(0u32..);
        let points = figures.map(|(y, x)| Point { x: f64::from(x), y, interval: None });
        Some(Series { name: name.into(), color, points: points.collect() })
    };
    let (title, unit) = match row.metric {
        Metric::MibS => ("rate of all ranks", Unit::MibPerSecond),
        Metric::RankMibS => ("rate of a rank in the operation", Unit::MibPerSecond),
        Metric::OpsS => ("operations of all ranks", Unit::PerSecond),
        Metric::MeanNs => ("mean time", Unit::Nanoseconds),
        Metric::TimeNs => ("time of the label", Unit::Nanoseconds),
    };
    let chart = Chart::Lines {
        x: axis("repetition", Unit::Count, false),
        y: axis(title, unit, false),
        join: Join::Dots,
        series: vec![series(0, "A", a)?, series(1, "B", b)?],
    };
    let title = format!("{}, repetition by repetition", name(row));
    Some(View {
        name: format!("repetitions-{number}"),
        title,
        summary: row.sentence.clone(),
        chart,
    })
}

/// Cumulated latencies of both sides.
fn latencies(number: usize, row: &Row, base: &Side, new: &Side) -> Option<View> {
    let distance = row.latency?;
    let key = (row.label.clone(), row.op.clone(), row.cell);
    let series = |color: usize, name: &str, side: &Side| Series {
        name: name.into(),
        color,
        points: cumulated(&histogram(side, &key)),
    };
    let chart = Chart::Lines {
        x: axis("time of an operation", Unit::Nanoseconds, true),
        y: axis("operations that took at most so long", Unit::Share, false),
        join: Join::Step,
        series: vec![series(0, "A", base), series(1, "B", new)],
    };
    let summary = format!(
        "The curves are at most {:.1} % apart (Kolmogorov-Smirnov), and an operation differs by {} on the average (Wasserstein).",
        distance.kolmogorov_smirnov * 100.0,
        model::units::format_ns(distance.wasserstein_ns)
    );
    let title = format!("{}: how long single operations take", name(row));
    Some(View { name: format!("latencies-{number}"), title, summary, chart })
}

/// Share of operations up to each time, in at most [`POINTS`] steps.
pub(crate) fn cumulated(histogram: &Histogram) -> Vec<Point> {
    let every = histogram.buckets.len().div_ceil(POINTS).max(1);
    let last = histogram.buckets.len().saturating_sub(1);
    let mut sum = 0u64;
    let mut points = Vec::new();
    for (at, (bucket, count)) in histogram.buckets.iter().enumerate() {
        sum += count;
        if at % every == 0 || at == last {
            let x = (bucket_mid(*bucket as usize) as f64).max(1.0);
            points.push(Point { x, y: sum as f64 / histogram.count as f64, interval: None });
        }
    }
    points
}

/// All comparisons as one self-contained page.
pub fn html(compared: &[(&Side, &Side, &Comparison)]) -> String {
    let mut body = Markup::from(element("h1").text("Comparison"));
    for (base, new, comparison) in compared {
        let text = super::show::table(comparison, Terminal::default());
        let title = format!("{} against {}", comparison.new, comparison.base);
        let section = element("section")
            .with(element("h2").text(title))
            .with(element("pre").preformatted(text.trim_end()))
            .all(views(base, new, comparison).iter().map(figure));
        body.push(section);
    }
    page("Comparison – Parabench", body)
}
