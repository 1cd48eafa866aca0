//! Shared by all pictures of a run: the source of events, axes, words.

use crate::aggregate::{Aggregates, Execution, TimeBins};
use crate::svg::SERIES;
use model::op::Class;
use model::run::Row;
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
    match source.events.failed {
        0 => "no operation was kept as an event".into(),
        _ => "all operations failed".into(),
    }
}

/// Events with facts that all pictures of them share.
pub struct Source<'a> {
    pub events: &'a Aggregates,
    /// Operations per counted event: more than 1 in a sample.
    pub scale: f64,
    /// "block=4k, repetition 0"; empty where there is one execution.
    pub point: String,
    /// Reason for a missing picture of times.
    pub no_time: &'static str,
    /// The execution has operations in several labels.
    pub several_labels: bool,
    /// Operations are missing: a sample was kept, or memory ran out.
    pub is_partial: bool,
    /// Files got other names: one of them may be several of the pictures.
    pub is_renamed: bool,
    /// Begins with a blank; "" if all operations are there.
    pub note: String,
}

impl<'a> Source<'a> {
    pub fn new(run: &Run, events: &'a Aggregates) -> Source<'a> {
        let info = run.run.events.as_ref();
        let every = info.map_or(1, |info| info.sample_every.max(1));
        let dropped = info.map_or(0, |info| info.dropped);
        let mut note = String::new();
        if every > 1 {
            note += &format!(" Estimated from one of {every} operations.");
        }
        if dropped > 0 {
            note += &format!(
                " {dropped_operations} are missing for lack of memory.",
                dropped_operations = words::count(dropped, "operation")
            );
        }
        if events.failed > 0 {
            note += &format!(
                " Without {}.",
                words::count(events.failed, "operation that failed or met an expected error")
            );
        }
        let of = |row: &&Row| (row.cell, row.repetition) == events.execution;
        let mut labels = run.rows.iter().filter(of).map(|row| &row.label);
        let first = labels.next();
        Source {
            events,
            scale: every as f64,
            point: scope_name(run, events.execution),
            no_time: no_time(run),
            several_labels: labels.any(|label| Some(label) != first),
            is_partial: every > 1 || dropped > 0,
            is_renamed: run.rows.iter().filter(of).any(|row| gives_names(&row.op)),
            note,
        }
    }

    /// The source, if its operations lie at different times.
    pub fn timed(&self) -> Result<&Self, String> {
        let time = &self.events.time;
        match (self.events.events, time.count, time.width_ns) {
            (1.., 1, 1) => Err("all operations lie at one point in time".into()),
            _ => Ok(self),
        }
    }

    /// A sentence on operations without a position; "" if there are none.
    pub fn unplaced(&self) -> String {
        match self.events.unplaced {
            0 => String::new(),
            n => format!(" Without {} at unknown positions.", words::count(n, "operation")),
        }
    }

    /// A title with its scope: the point of a sweep, and that labels are taken together.
    pub fn titled(&self, title: String) -> String {
        let together = if self.several_labels { "all labels together" } else { "" };
        qualified(title, &[&self.point, together])
    }
}

/// The operation gives a file that is there another name.
pub fn gives_names(op: &str) -> bool {
    matches!(Op::find(op), Some(Op::Rename | Op::Link | Op::Symlink))
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

/// With a capital letter at the beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// "most rank 3 (4 MiB), least rank 0 (1 MiB)"; of equal figures "4 MiB each".
pub fn extremes(
    count: usize,
    name: impl Fn(usize) -> String,
    figure: impl Fn(usize) -> f64,
    text: impl Fn(f64) -> String,
) -> String {
    let order = |a: &usize, b: &usize| figure(*a).total_cmp(&figure(*b));
    let least = (0..count).min_by(order).unwrap_or(0);
    let most = (0..count).rev().max_by(order).unwrap_or(0);
    let [high, low] = [most, least].map(|at| text(figure(at)));
    match high == low {
        true => format!("{high} each"),
        false => format!("most {} ({high}), least {} ({low})", name(most), name(least)),
    }
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
