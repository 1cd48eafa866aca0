//! How long operations took from when they were due, over the time of the run: a queue that grows shows.

use super::{Source, axis_of, counted, qualified, time_axis};
use crate::aggregate::DueGrid;
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use model::op::OPS;
use model::units::format_ns;
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
        title: qualified(title(due), &[&source.point, "all operations with a time together"]),
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

/// "From when they were due half of 2000 operations took up to 20 us, those due from 1.2 s on up to 50 ms".
fn title(due: &DueGrid) -> String {
    let (column, longest) = worst(due);
    let longest = format_ns(longest as f64);
    match (due.count(), due.quantile_of_all_ns(0.5)) {
        (1, _) | (_, None) => {
            format!("The longest time from when an operation was due is {longest}")
        }
        (count, Some(median)) => format!(
            "From when they were due half of {count} operations took up to {}, the longest of those due \
             from {} on {longest}",
            format_ns(median as f64),
            format_ns(due.time.edge_ns(column) as f64),
        ),
    }
}

/// What is taken together, what is left out, and how the columns lie.
fn summary(source: &Source<'_>, due: &DueGrid) -> String {
    let mut ops: Vec<(u64, &str)> =
        OPS.iter().map(|row| (due.ops[row.op as usize], row.op.name())).collect();
    ops.retain(|op| op.0 > 0);
    ops.sort_by_key(|op| Reverse(op.0));
    let mut names: Vec<String> =
        ops.iter().take(NAMED).map(|(count, name)| format!("{count} {name}")).collect();
    if ops.len() > NAMED {
        names.push(format!("{} kinds more", ops.len() - NAMED));
    }
    let labels = if source.several_labels { " of all labels" } else { "" };
    let others = match due.others {
        0 => String::new(),
        count => format!(" Left out: {} for which no time was set.", counted(count, "operation")),
    };
    format!(
        "Of all ranks{labels} together: {}. Each stands where it was due, whenever it began; columns are {} \
         wide, and 99 % is told of those in which 100 or more were due.{others}",
        names.join(", "),
        format_ns(due.time.width_ns as f64)
    )
}
