//! How fast the run was over its time.

use super::source::{
    Source, axis, axis_of, mib_s, nothing, qualified, rate_text, time_axis, total,
};
use crate::aggregate::{DueGrid, TimeBins};
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use crate::svg::{SERIES, value_text};
use model::op::{Class, OPS};
use model::units::{format_bytes, format_ns};
use model::{Op, words};
use std::cmp::Reverse;

pub(super) const OVER_TIME: &str = "bandwidth-over-time";
pub(super) const CALLS: &str = "calls-over-time";

/// Bytes read and written per second.
pub(super) fn over_time(source: &Source<'_>) -> Result<View, String> {
    let (time, ops) = (&source.events.time, &source.events.ops);
    let all = [("reading", Class::Read), ("writing", Class::Write)];
    let moved = all.into_iter().filter(|(_, class)| ops.bytes(*class).iter().any(|b| *b > 0));
    let (mut series, mut sums) = (Vec::new(), Vec::new());
    let width = format_ns(time.width_ns as f64);
    for (name, class) in moved {
        let bytes = ops.bytes(class);
        let rate = |bytes: u64| mib_s(bytes as f64 * source.scale, time.width_ns as f64);
        sums.push(sum(name, bytes, time, source.scale));
        let color = source.colors.class(class);
        series.push(steps(name, color, time, bytes.iter().map(|bytes| rate(*bytes))));
    }
    if series.is_empty() {
        return Err("no operation moved bytes".into());
    }
    Ok(View {
        name: OVER_TIME.into(),
        title: source.titled("Bandwidth over time".into()),
        summary: format!(
            "{}. Columns are {width} wide; the bytes of an operation are spread over its time, columns without bytes are not averaged.{}",
            capital(&sums.join("; ")),
            source.note
        ),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("bandwidth of all ranks", Unit::MibPerSecond),
            join: Join::Step,
            series,
        },
    })
}

/// "writing 200 MiB/s on average (40 MiB from 1 ms to 3 ms)": over the columns in which bytes moved.
fn sum(name: &str, bytes: &[u64], time: &TimeBins, scale: f64) -> String {
    let moved = total(bytes.iter().copied()) as f64 * scale;
    let first = bytes.iter().position(|bytes| *bytes > 0).unwrap_or(0);
    let last = bytes.iter().rposition(|bytes| *bytes > 0).unwrap_or(0);
    let active = bytes.iter().filter(|bytes| **bytes > 0).count();
    format!(
        "{name} {} on average ({} from {} to {})",
        rate_text(mib_s(moved, active as f64 * time.width_ns as f64)),
        format_bytes(moved as u64),
        format_ns(time.edge_ns(first) as f64),
        format_ns(time.edge_ns(last + 1) as f64)
    )
}

/// Operations begun per second.
pub(super) fn calls(source: &Source<'_>) -> Result<View, String> {
    let (time, ops) = (&source.events.time, &source.events.ops);
    let executions = |op: Op| total(ops.counts(op).iter().copied());
    let mut used: Vec<(Op, u64)> = OPS.iter().map(|row| (row.op, executions(row.op))).collect();
    used.retain(|entry| entry.1 > 0);
    used.sort_by_key(|entry| Reverse(entry.1));
    let all = total(used.iter().map(|entry| entry.1));
    let Some((busiest, most)) = used.first().copied() else {
        return Err(nothing(source));
    };
    // Operations without a colour of their own are one line.
    let (used, rest): (Vec<_>, Vec<_>) =
        used.into_iter().partition(|(op, _)| source.colors.op(op.name()) < SERIES);
    let per_second = |count: u64| count as f64 * source.scale / (time.width_ns as f64 / 1e9);
    let line = |(op, _): &(Op, u64)| {
        let color = source.colors.op(op.name());
        steps(op.name(), color, time, ops.counts(*op).iter().map(|count| per_second(*count)))
    };
    let mut series: Vec<Series> = used.iter().map(line).collect();
    if !rest.is_empty() {
        let sum = |at: usize| total(rest.iter().map(|(op, _)| ops.counts(*op)[at]));
        series.push(steps("others", SERIES, time, (0..time.count).map(|at| per_second(sum(at)))));
    }
    let calls = |count: u64| value_text(count as f64 * source.scale, Unit::Count);
    let width = format_ns(time.width_ns as f64);
    Ok(View {
        name: CALLS.into(),
        title: source.titled("Operations per second over time".into()),
        summary: format!(
            "{} {} in {}, {} of them {busiest}. Columns are {width} wide.{}",
            calls(all),
            if all == 1 { "operation" } else { "operations" },
            format_ns((time.edge_ns(time.count) - time.start_ns) as f64),
            calls(most),
            source.note
        ),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("operations begun, all ranks", Unit::PerSecond),
            join: Join::Step,
            series,
        },
    })
}

/// One value per column of time; the last one reaches to the end.
pub(super) fn steps(
    name: &str,
    color: usize,
    time: &TimeBins,
    values: impl Iterator<Item = f64>,
) -> Series {
    let point = |(at, y)| Point { x: time.edge_ns(at) as f64, y, interval: None };
    let mut points: Vec<Point> = values.enumerate().map(point).collect();
    if let Some(last) = points.last().copied() {
        points.push(Point { x: time.edge_ns(points.len()) as f64, ..last });
    }
    Series { name: name.into(), color, points }
}

/// With a capital letter at the beginning.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

pub(super) const DUE: &str = "latency-since-due-over-time";
/// Operations that are named.
const NAMED: usize = 4;

/// A figure of a column; `None`: it has too few operations.
type Figure = fn(&DueGrid, usize) -> Option<u64>;

/// Median, 99 % and the longest time of those that were due in each column.
pub(super) fn latency_since_due(source: &Source<'_>) -> Result<View, String> {
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
        name: DUE.into(),
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
