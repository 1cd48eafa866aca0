//! Labels over time: what the run did when.

use super::source::{qualified, scope_name, shown_label, time_axis, total};
use crate::aggregate::{Execution, TimeBins};
use model::Run;
use model::run::{LabelRow, TimeRow};
use model::units::format_ns;
use model::words;
use report::chart::{Bar, Chart, View};
use report::rows::grouped;
use report::stats::union_of;
use std::cmp::Reverse;

pub(crate) const OVER_TIME: &str = "labels-over-time";
/// Labels with a row of their own.
const MAX_ROWS: usize = 24;
/// Occurrences that are nearer than this part of the whole are drawn as one.
const RESOLUTION: usize = 240;

/// The occurrences of one label.
struct Label<'a> {
    path: &'a str,
    rows: Vec<&'a TimeRow>,
    /// Nanoseconds, and whether it may be less.
    busy: (u64, bool),
}

/// From the first rank that entered a label to the last one that left it, in the execution of the
/// other pictures over time.
pub(crate) fn over_time(run: &Run, execution: Option<Execution>) -> Result<View, String> {
    let first = run.times.iter().map(|time| (time.cell, time.repetition)).min();
    let Some(first) = first else { return Err("the program has no labels".into()) };
    let execution = execution.unwrap_or(first);
    let own = run.times.iter().filter(|time| (time.cell, time.repetition) == execution);
    let by_label = grouped(own.map(|time| (&*time.label, time))).into_iter();
    let label = |(path, rows)| Label { path, rows, busy: busy(run, path, execution) };
    let mut labels: Vec<Label<'_>> = by_label.map(label).collect();
    if labels.is_empty() {
        return Err("the execution shown ran no label to its end".into());
    }
    let all = labels.len();
    labels.sort_by_key(|label| Reverse(label.busy.0));
    labels.truncate(MAX_ROWS);
    let longest = (labels[0].path.to_string(), labels[0].busy, labels[0].rows.len());
    labels.sort_by_key(|label| label.rows.iter().map(|time| time.first_start_ns).min());
    let rows: Vec<&&TimeRow> = labels.iter().flat_map(|label| &label.rows).collect();
    let start_ns = rows.iter().map(|time| time.first_start_ns).min().unwrap_or(0);
    let end_ns = rows.iter().map(|time| time.last_end_ns).max().unwrap_or(0);
    let time = TimeBins::over(start_ns, end_ns, RESOLUTION);
    let bars: Vec<Bar> =
        labels.iter().enumerate().flat_map(|(row, label)| bars(row, label, &time)).collect();
    let own = run.run.times_more.iter().filter(|more| (more.cell, more.repetition) == execution);
    let more = total(own.map(|more| more.count));
    let mut summary = format!(
        "Longest: {} ({}{}, {}).",
        shown_label(&longest.0),
        if longest.1.1 { "at most " } else { "" },
        format_ns(longest.1.0 as f64),
        words::count(longest.2 as u64, "occurrence")
    );
    if all > MAX_ROWS {
        summary += &format!(" {} shorter labels are not shown.", all - MAX_ROWS);
    }
    if bars.len() < rows.len() {
        let near = format_ns(time.width_ns as f64);
        summary += &format!(" Occurrences at most {near} apart are one bar.");
    }
    if more > 0 {
        summary +=
            &format!(" {more} occurrences in the middle were only counted: they have no bar.");
    }
    Ok(View {
        name: OVER_TIME.into(),
        title: qualified("Phases over time".into(), &[&scope_name(run, execution)]),
        summary,
        chart: Chart::Spans {
            x: time_axis(),
            classes: vec!["first start to last end over ranks".into()],
            bars,
            rows: labels.iter().map(|label| shown_label(label.path)).collect(),
        },
    })
}

/// How long at least one rank was inside a label in an execution, and whether that is a bound.
fn busy(run: &Run, path: &str, execution: (u32, u32)) -> (u64, bool) {
    let own =
        |label: &&LabelRow| label.label == path && (label.cell, label.repetition) == execution;
    run.labels.iter().find(own).map_or((0, false), |label| (label.busy_ns, label.busy_is_bound))
}

/// The occurrences of a label; those that lie closer than a picture can show are one bar.
fn bars(row: usize, label: &Label<'_>, time: &TimeBins) -> Vec<Bar> {
    let spans = label.rows.iter().map(|time| (time.first_start_ns, time.last_end_ns));
    let bar = |(start_ns, end_ns): (u64, u64)| Bar {
        row: row as u32,
        class: 0,
        start: start_ns as f64,
        end: end_ns.max(start_ns) as f64,
    };
    union_of(spans.collect(), time.width_ns).into_iter().map(bar).collect()
}
