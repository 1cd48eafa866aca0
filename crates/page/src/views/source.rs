//! Shared by all pictures of a run: the source of events, axes, words.

use crate::aggregate::{Aggregates, Cell, Execution, TimeBins, TimeLine};
use crate::svg::SERIES;
use model::op::Class;
use model::units::Measure;
use model::{Op, Run, words};
use report::chart::{Axis, Chart, Join, Point, Series, Unit};
use report::text::{escape, fit};

/// Values that differ by more have a logarithmic axis.
const LOG_FROM: f64 = 20.0;

/// Why there is no picture of durations.
pub fn no_time(run: &Run) -> &'static str {
    let mut gaps = run.run.trace.iter().flat_map(|trace| &trace.gaps);
    match gaps.any(|gap| gap.code == "no-durations") {
        true => "the log has no durations of calls",
        false => "no operation took time",
    }
}

/// Why there is no picture of operations.
pub fn nothing(source: &Source<'_>) -> String {
    match source.line.failed {
        0 => "no operation was kept as an event".into(),
        _ => "all operations failed".into(),
    }
}

/// Fewer calls give no picture: each mark would be one of them.
pub const LEAST_CALLS: u64 = 10;
/// Calls for each column at least, on the average.
const CALLS_PER_COLUMN: u64 = 4;

/// The time line of an execution with facts that all its pictures share.
pub struct Source<'a> {
    pub line: &'a TimeLine,
    /// From the first begin to the last end of all executions that are shown.
    start_ns: u64,
    end_ns: u64,
    /// Operations per counted event: more than 1 in a sample.
    pub scale: f64,
    /// "block=4k, repetition 0"; empty where there is one execution.
    pub point: String,
    /// Reason for a missing picture of times.
    pub no_time: &'static str,
    /// Begins with a blank; "" if all operations are there.
    pub note: String,
}

impl<'a> Source<'a> {
    pub fn new(run: &Run, events: &Aggregates, line: &'a TimeLine) -> Source<'a> {
        let dropped = run.run.events.as_ref().map_or(0, |info| info.dropped);
        let mut note = String::new();
        if line.sample_every > 1 {
            note += &format!(" Estimated from one of {} operations.", line.sample_every);
        }
        if dropped > 0 {
            let dropped = words::count(dropped, "operation");
            note += &format!(" {dropped} are missing for lack of memory.");
        }
        if line.failed > 0 {
            let noun = "operation that failed or met an expected error";
            note += &format!(" Without {}.", words::count(line.failed, noun));
        }
        Source {
            line,
            start_ns: events.executions.iter().map(|one| one.start_ns).min().unwrap_or(0),
            end_ns: events.executions.iter().map(|one| one.end_ns).max().unwrap_or(0),
            scale: line.sample_every as f64,
            point: line.name.clone(),
            no_time: no_time(run),
            note,
        }
    }

    /// The source, if its operations lie at different times.
    pub fn timed(&self) -> Result<&Self, String> {
        match self.line.events > 0 && self.start_ns == self.end_ns {
            true => Err("all operations lie at one point in time".into()),
            false => Ok(self),
        }
    }

    /// At most `most` columns of time, so few that calls share them; an error where there are too few.
    pub fn columns(&self, calls: u64, most: u64) -> Result<TimeBins, String> {
        if calls < LEAST_CALLS {
            return Err(format!("too few: {}", words::count(calls, "operation")));
        }
        let columns = (calls / CALLS_PER_COLUMN).clamp(1, most) as usize;
        Ok(TimeBins::over(self.start_ns, self.end_ns, columns))
    }

    /// From when to when the calls of a cell were at work, as far as the cell tells.
    pub fn span_ns(&self, cell: &Cell) -> (u64, u64) {
        let start_ns = self.line.time.edge_ns(cell.column as usize);
        let length_ns = self.line.time.width_ns.max(cell.longest_ns);
        (start_ns, start_ns.saturating_add(length_ns).min(self.end_ns.max(start_ns)))
    }

    /// A sentence on operations without a position; "" if there are none.
    pub fn unplaced(&self) -> String {
        match self.line.offsets.unplaced {
            0 => String::new(),
            n => format!(" Without {} at unknown positions.", words::count(n, "operation")),
        }
    }

    /// A title with its point of a sweep.
    pub fn titled(&self, title: &str) -> String {
        qualified(title.into(), &[&self.point])
    }
}

/// An execution in words, if there are several: "block=4k, repetition 0".
pub fn scope_name(run: &Run, (cell, repetition): Execution) -> String {
    let Some(sweep) = &run.run.sweep else { return String::new() };
    let mut words = Vec::new();
    if !sweep.dimensions.is_empty() {
        words.push(fit(&escape(&sweep.describe(cell)), 80));
    }
    if sweep.order.iter().any(|other| other.repetition != repetition) {
        words.push(format!("repetition {repetition}"));
    }
    words.join(", ")
}

/// "title (one; another)" without the words that are empty.
pub fn qualified(title: String, words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    if words.is_empty() { title } else { format!("{title} ({})", words.join("; ")) }
}

/// The axis of `values`: logarithmic if the largest is far above the smallest one, zeros apart, which
/// have no place there.
pub fn axis_of(title: &str, unit: Unit, values: impl Iterator<Item = f64>) -> Axis {
    let (least, most) = values
        .filter(|value| value.is_finite() && *value != 0.0)
        .fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    Axis { log: least > 0.0 && most > LOG_FROM * least, ..Axis::new(title, unit) }
}

/// The axis of all views over time.
pub fn time_axis() -> Axis {
    Axis::new("time since start", Unit::Nanoseconds)
}

/// Series of [`steps`].
pub fn steps_over_time(y: &str, unit: Unit, series: Vec<Series>) -> Chart {
    Chart::Lines { x: time_axis(), y: Axis::new(y, unit), join: Join::Step, series }
}

/// Mebibytes per second.
pub fn mib_s(bytes: f64, ns: f64) -> f64 {
    if ns > 0.0 { bytes / 1_048_576.0 / (ns / 1e9) } else { 0.0 }
}

/// MiB/s in words, in the units of the tables and axes.
pub fn rate_text(mib_s: f64) -> String {
    Measure::ByteRate.format(mib_s, 3)
}

/// One value per column of time; the last one reaches to the end.
pub fn steps(
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

/// The sum of figures, which may come from a damaged run.
pub fn total(figures: impl Iterator<Item = u64>) -> u64 {
    figures.fold(0, u64::saturating_add)
}

/// A label as a reader sees it.
pub fn shown_label(label: &str) -> String {
    match label {
        "" => "(no label)".into(),
        label => fit(&escape(label), 40),
    }
}

/// Distinct colours of series by their operations, the same in all pictures: the first that reads and
/// the first that writes have the first two, others those that are left, and then grey.
pub fn colors(ops: &[&str]) -> Vec<usize> {
    let of_class = |op: &&str| match Op::find(op)?.row().class {
        Class::Read => Some(0),
        Class::Write => Some(1),
        _ => None,
    };
    let fixed: Vec<Option<usize>> = ops.iter().map(of_class).collect();
    let mut free = (2..SERIES).chain((0..2).filter(|color| !fixed.contains(&Some(*color))));
    let color = |at: usize| {
        let own = fixed[at].filter(|_| !fixed[..at].contains(&fixed[at]));
        own.or_else(|| free.next()).unwrap_or(SERIES)
    };
    (0..ops.len()).map(color).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_what_operations_do_and_differ() {
        assert_eq!(colors(&["fwrite", "stat", "fread", "open"]), [1, 2, 0, 3]);
        assert_eq!(colors(&["stat", "fread", "fread", "unlink"]), [2, 0, 3, 4]);
        let many = colors(&["fread"; 10]);
        assert_eq!(many[..SERIES], [0, 2, 3, 4, 5, 6, 7, 1]);
        assert_eq!(many[SERIES..], [SERIES; 2]);
    }
}
