//! How long operations took from when they were due, over the time of the run: a queue that grows shows.

use super::source::{Source, axis_of, qualified, time_axis};
use crate::aggregate::DueGrid;
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use model::op::OPS;
use model::units::format_ns;
use model::words;
use std::cmp::Reverse;

pub(super) const NAME: &str = "latency-since-due-over-time";
/// Operations that are named.
const NAMED: usize = 4;

/// A figure of a column; `None`: it has too few operations.
type Figure = fn(&DueGrid, usize) -> Option<u64>;

/// Median, 99 % and the longest time of those that were due in each column.
pub(super) fn over_time(source: &Source<'_>) -> Result<View, String> {
    let due = source.events.due.as_ref().filter(|due| due.count() > 0);
    let due = due.ok_or("no operation that was due at a time was kept as an event")?;
    let lines: [(&str, Figure); 3] = [
        ("median", |due, at| due.quantile_ns(at, 0.5).or_else(|| due.longest_ns(at))),
        ("99 %", |due, at| due.quantile_ns(at, 0.99)),
        ("longest", DueGrid::longest_ns),
    ];
    let lines = lines.iter().enumerate().map(|(color, (name, value))| {
        let points = (0..due.time.count).filter_map(|at| Some(point(due, at, value(due, at)?)));
        Series { name: name.to_string(), color, points: points.collect() }
    });
    let series: Vec<Series> = lines.filter(|line| !line.points.is_empty()).collect();
    let values = series.iter().flat_map(|line| &line.points).map(|point| point.y);
    let y = axis_of("time from when an operation was due to its end", Unit::Nanoseconds, values);
    let summary = format!("{}{}", summary(source, due), source.note);
    Ok(View {
        name: NAME.into(),
        title: qualified("Latency since due over time".into(), &[&source.point]),
        summary,
        chart: Chart::Lines { x: time_axis(), y, join: Join::Line, series },
    })
}

/// In the middle of its column; times of less than a nanosecond have a place on logarithmic axes, too.
fn point(due: &DueGrid, at: usize, ns: u64) -> Point {
    let middle = (due.time.edge_ns(at) as f64 + due.time.edge_ns(at + 1) as f64) / 2.0;
    Point { x: middle, y: ns.max(1) as f64, interval: None }
}

/// The column in which the longest time lies, and that time.
fn worst(due: &DueGrid) -> (usize, u64) {
    let columns = (0..due.time.count).filter_map(|at| Some((at, due.longest_ns(at)?)));
    columns.max_by_key(|column| column.1).unwrap_or_default()
}

/// Operations, median and longest time, left-out operations, and width of columns.
fn summary(source: &Source<'_>, due: &DueGrid) -> String {
    let mut ops: Vec<(u64, &str)> =
        OPS.iter().map(|row| (due.ops[row.op as usize], row.op.name())).collect();
    ops.retain(|op| op.0 > 0);
    ops.sort_by_key(|op| Reverse(op.0));
    let names: Vec<String> = ops.iter().map(|(count, name)| format!("{count} {name}")).collect();
    let (column, longest) = worst(due);
    let median = due
        .quantile_of_all_ns(0.5)
        .map_or(String::new(), |ns| format!("median {}, ", format_ns(ns as f64)));
    let labels = if source.several_labels { " of all labels" } else { "" };
    let others = match due.others {
        0 => String::new(),
        count => {
            format!(" Left out: {} for which no time was set.", words::count(count, "operation"))
        }
    };
    format!(
        "{}{labels}: {median}longest {} (due from {} on). Operations are drawn when they were due; columns are \
         {} wide, p99 needs 100 operations in a column.{others}",
        words::list_some(&names, NAMED),
        format_ns(longest as f64),
        format_ns(due.time.edge_ns(column) as f64),
        format_ns(due.time.width_ns as f64)
    )
}
