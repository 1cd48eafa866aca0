//! Labels over time: what the run did when, as a whole and on each rank.

use super::source::{
    Source, extremes, nothing, qualified, scope_name, shown_label, time_axis, total,
};
use crate::aggregate::{Execution, TimeBins};
use model::Run;
use model::run::{LabelRow, TimeRow};
use model::units::{format_ns, significant};
use model::words;
use report::chart::{Bar, Chart, View};
use report::rows::grouped;
use report::stats::union_of;
use std::cmp::Reverse;

pub(crate) const OVER_TIME: &str = "labels-over-time";
pub(crate) const BY_RANK: &str = "labels-by-rank-and-time";
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

/// On each rank the label with most time in operations at each time.
pub(crate) fn by_rank(source: &Source<'_>) -> Result<View, String> {
    let (time, grid) = (&source.events.time, &source.events.labels);
    let mut bars: Vec<Bar> = Vec::new();
    let mut totals_ns = vec![0u64; grid.labels.len()];
    let mut by_band_ns = vec![0u64; grid.bands.count];
    for (band, own_ns) in by_band_ns.iter_mut().enumerate() {
        for column in 0..time.count {
            let busy_ns = grid.cell(band, column);
            for (label, ns) in busy_ns.iter().enumerate() {
                totals_ns[label] = totals_ns[label].saturating_add(*ns);
                *own_ns = own_ns.saturating_add(*ns);
            }
            let most = busy_ns.iter().copied().max().unwrap_or(0);
            let Some(class) = busy_ns.iter().position(|ns| *ns == most && most > 0) else {
                continue;
            };
            let (start, end) = (time.edge_ns(column) as f64, time.edge_ns(column + 1) as f64);
            let (row, class) = (band as u32, class as u32);
            match bars.last_mut() {
                Some(last) if (last.row, last.class, last.end) == (row, class, start) => {
                    last.end = end;
                }
                _ => bars.push(Bar { row, class, start, end }),
            }
        }
    }
    let per_rank_ns =
        |band: usize| by_band_ns[band] as f64 * source.scale / f64::from(grid.bands.size(band));
    let name = |band| grid.bands.name(band);
    let per_rank = extremes(grid.bands.count, name, per_rank_ns, format_ns);
    let most = (0..totals_ns.len()).rev().max_by_key(|label| totals_ns[*label]).unwrap_or(0);
    let all_ns: u64 = totals_ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns));
    if source.events.events == 0 {
        return Err(nothing(source));
    }
    if all_ns == 0 {
        return Err(source.no_time.into());
    }
    let share = 100.0 * totals_ns[most] as f64 / all_ns as f64;
    let label = shown_label(&grid.labels[most]);
    let mut classes: Vec<String> = grid.labels.iter().map(|label| shown_label(label)).collect();
    // There may be no other labels.
    if totals_ns.last() == Some(&0) {
        classes.pop();
    }
    Ok(View {
        name: BY_RANK.into(),
        title: qualified("Phases by rank and time".into(), &[&source.point]),
        summary: format!(
            "{label} has {} % of the time in operations. Per rank: {per_rank}, overlapping operations added up. A column \
             has the colour of the label with most time.{}",
            significant(share),
            source.note
        ),
        chart: Chart::Spans {
            x: time_axis(),
            rows: (0..grid.bands.count).map(|band| grid.bands.name(band)).collect(),
            classes,
            bars,
        },
    })
}
