//! How fast the run was over its time.

use super::source::{
    Source, axis_of, capital, colors, mib_s, nothing, qualified, rate_text, steps, steps_over_time,
    time_axis, total,
};
use crate::aggregate::{DueGrid, TimeBins};
use crate::svg::SERIES;
use model::op::{Class, OPS};
use model::units::{format_bytes, format_ns};
use model::{Histogram, Op, words};
use report::chart::{Chart, Join, Point, Series, Unit, View};
use report::text::grouped;
use std::cmp::Reverse;

pub(crate) const OVER_TIME: &str = "bandwidth-over-time";
pub(crate) const CALLS: &str = "calls-over-time";

/// Bytes read and written per second.
pub(crate) fn over_time(source: &Source<'_>) -> Result<View, String> {
    let (time, ops) = (&source.events.time, &source.events.ops);
    let all = [("reading", Class::Read), ("writing", Class::Write)];
    let moved = all.into_iter().filter(|(_, class)| ops.bytes(*class).iter().any(|b| *b > 0));
    let (mut series, mut sums) = (Vec::new(), Vec::new());
    for (name, class) in moved {
        let bytes = ops.bytes(class);
        let rate = |bytes: u64| mib_s(bytes as f64 * source.scale, time.width_ns as f64);
        sums.push(sum(name, bytes, time, source.scale));
        let color = usize::from(class == Class::Write);
        series.push(steps(name, color, time, bytes.iter().map(|bytes| rate(*bytes))));
    }
    if series.is_empty() {
        return Err("no operation moved bytes".into());
    }
    Ok(View {
        name: OVER_TIME.into(),
        title: source.titled("Bandwidth over time".into()),
        summary: format!(
            "{}, where bytes moved. The bytes of an operation are spread over its time.{}",
            capital(&sums.join("; ")),
            source.note
        ),
        chart: steps_over_time("bandwidth of all ranks", Unit::MibPerSecond, series),
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
pub(crate) fn calls(source: &Source<'_>) -> Result<View, String> {
    let (time, ops) = (&source.events.time, &source.events.ops);
    let executions = |op: Op| total(ops.counts(op).iter().copied());
    let mut used: Vec<(Op, u64)> = OPS.iter().map(|row| (row.op, executions(row.op))).collect();
    used.retain(|entry| entry.1 > 0);
    used.sort_by_key(|entry| Reverse(entry.1));
    let all = total(used.iter().map(|entry| entry.1));
    let Some((busiest, most)) = used.first().copied() else {
        return Err(nothing(source));
    };
    // Those without a colour of their own are one line.
    let rest = used.split_off(used.len().min(SERIES));
    let names: Vec<&str> = used.iter().map(|(op, _)| op.name()).collect();
    let per_second = |count: u64| count as f64 * source.scale / (time.width_ns as f64 / 1e9);
    let line = |((op, _), color): (&(Op, u64), usize)| {
        steps(op.name(), color, time, ops.counts(*op).iter().map(|count| per_second(*count)))
    };
    let mut series: Vec<Series> = used.iter().zip(colors(&names)).map(line).collect();
    if !rest.is_empty() {
        let sum = |at: usize| total(rest.iter().map(|(op, _)| ops.counts(*op)[at]));
        series.push(steps("others", SERIES, time, (0..time.count).map(|at| per_second(sum(at)))));
    }
    let calls = |count: u64| grouped((count as f64 * source.scale) as u64);
    Ok(View {
        name: CALLS.into(),
        title: source.titled("Operations per second over time".into()),
        summary: format!(
            "{} {} in {}, {} of them {busiest}.{}",
            calls(all),
            words::plural(all, "operation"),
            format_ns((time.edge_ns(time.count) - time.start_ns) as f64),
            calls(most),
            source.note
        ),
        chart: steps_over_time("operations begun, all ranks", Unit::PerSecond, series),
    })
}

pub(crate) const DUE: &str = "latency-since-due-over-time";
/// Operations that are named.
const NAMED: usize = 4;

/// Median, 99 % and the longest time of those that were due in each column.
pub(crate) fn latency_since_due(source: &Source<'_>) -> Result<View, String> {
    let due = source.events.due.as_ref().filter(|due| !due.ops.is_empty());
    let due = due.ok_or("no operation that was due at a time was kept as an event")?;
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
        name: DUE.into(),
        title: qualified("Latency since due over time".into(), &[&source.point]),
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
    let labels = if source.several_labels { " of all labels" } else { "" };
    let others = match due.others {
        0 => String::new(),
        count => {
            format!(" Left out: {} for which no time was set.", words::count(count, "operation"))
        }
    };
    format!("{names}{labels}: median {median}, longest {longest} (due from {worst} on).{others}")
}
