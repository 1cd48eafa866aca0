//! How fast the run was over its time.

use super::source::{Source, axis, mib_s, nothing, rate_text, time_axis, total};
use crate::aggregate::TimeBins;
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use crate::svg::{SERIES, value_text};
use model::Op;
use model::op::{Class, OPS};
use model::units::{format_bytes, format_ns};
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
