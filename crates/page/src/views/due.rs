//! Latency since operations were due, over time: what shows a queue that grows.

use super::source::{LEAST_CALLS, Source, axis_of, time_axis, total};
use crate::aggregate::DueGrid;
use model::units::format_ns;
use model::{Histogram, words};
use report::chart::{Chart, Join, Point, Series, Unit, View};
use std::cmp::Reverse;

pub(crate) const NAME: &str = "latency-since-due-over-time";
/// Operations that are named.
const NAMED: usize = 4;

/// Median, 99 % and the longest time of those that were due in each column.
pub(crate) fn latency_since_due(source: &Source<'_>) -> Result<View, String> {
    let due = source.line.due.as_ref().filter(|due| !due.ops.is_empty());
    let due = due.ok_or("no operation that was due at a time was kept as an event")?;
    let calls = total(due.ops.values().copied());
    if calls < LEAST_CALLS {
        return Err(format!("too few: {}", words::count(calls, "operation")));
    }
    type Figure = fn(&Histogram) -> Option<u64>;
    let lines: [(&str, Figure); 3] = [
        ("median", |times| times.quantile(0.5)),
        ("99 %", |times| times.percentile(0.99)),
        ("longest", |times| (times.count > 0).then_some(times.max)),
    ];
    let lines = lines.iter().enumerate().map(|(color, (name, figure))| {
        let points = due.columns.iter().enumerate().filter_map(|(at, times)| {
            let middle = (due.time.edge_ns(at) as f64 + due.time.edge_ns(at + 1) as f64) / 2.0;
            // Times of less than a nanosecond have a place on logarithmic axes, too.
            Some(Point { x: middle, y: figure(times)?.max(1) as f64, interval: None })
        });
        Series { name: name.to_string(), color, points: points.collect() }
    });
    let series: Vec<Series> = lines.filter(|line| !line.points.is_empty()).collect();
    let values = series.iter().flat_map(|line| &line.points).map(|point| point.y);
    let y = axis_of("time from when an operation was due to its end", Unit::Nanoseconds, values);
    Ok(View {
        name: NAME.into(),
        title: source.titled("Latency since due over time"),
        summary: format!("{}{}", describe_due(source, due), source.note),
        chart: Chart::Lines { x: time_axis(), y, join: Join::Line, series },
    })
}

/// Operations, median and longest time, and left-out operations.
fn describe_due(source: &Source<'_>, due: &DueGrid) -> String {
    let mut ops: Vec<(&str, u64)> = due.ops.iter().map(|(name, count)| (*name, *count)).collect();
    ops.sort_by_key(|op| Reverse(op.1));
    let names = ops.iter().map(|(name, count)| format!("{count} {name}"));
    let names = words::list_some(names, NAMED);
    let all = due.columns.iter().fold(Histogram::default(), |mut sum, times| {
        sum.merge(times);
        sum
    });
    let median = format_ns(all.quantile(0.5).unwrap_or(0) as f64);
    let longest = format_ns(all.max as f64);
    let worst = due.columns.iter().position(|times| times.max == all.max).unwrap_or(0);
    let worst = format_ns(due.time.edge_ns(worst) as f64);
    let labels = if source.line.labels.len() > 1 { " of all labels" } else { "" };
    let others = match due.others {
        0 => String::new(),
        count => {
            format!(" Left out: {} for which no time was set.", words::count(count, "operation"))
        }
    };
    format!("{names}{labels}: median {median}, longest {longest} (due from {worst} on).{others}")
}
