//! Time labels over ranks: one line per label, many occurrences summarised.

use crate::document::Sheet;
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::rows::execution;
use crate::text::fit;
use model::run::{LabelRow, Run, TimeRow, TimesMore};
use model::units::Measure;
use std::collections::HashMap;

const TIME: Kind = Kind::Quantity(Measure::Time);

const COLUMNS: [Column; 11] = [
    Column::new("label", "", Kind::Label, 0),
    Column::new("times", "", Kind::Count, 0),
    Column::new("ranks", "", Kind::Count, 1),
    Column::new("start", "", TIME, 3),
    Column::new("end", "", TIME, 4),
    Column::new("busy", "", TIME, 0),
    Column::new("min", "", TIME, 2),
    Column::new("median", "", TIME, 5),
    Column::new("longest", "", TIME, 0),
    Column::new("slowest", "rank", Kind::Count, 0),
    Column::new("slowest", "time #", Kind::Count, 6),
];

/// Columns that only labels with several occurrences need.
const OF_MANY: [usize; 4] = [1, 6, 7, 10];

const LEGEND: &str =
    "start, end: first rank in, last rank out. busy: from start to end. longest: the slowest rank.";
const LEGEND_MANY: &str = "start, end: first rank in, last rank out. busy: at least one rank was inside. min, median, \
                           longest: over the occurrences, each that of its slowest rank.";

/// The occurrences of one label at one point of a sweep.
#[derive(Debug, Default)]
struct Group<'a> {
    kept: Vec<&'a TimeRow>,
    more: Option<&'a TimesMore>,
    label: Option<&'a LabelRow>,
}

/// The table; none if no label was entered.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let groups = groups(run);
    if groups.is_empty() {
        return None;
    }
    let lines = groups.iter().map(|group| Line::plain(cells(run, group)));
    let mut grid = Grid::new(&COLUMNS, lines.collect());
    let many = groups.iter().any(|group| group.kept.len() > 1 || group.more.is_some());
    grid.retain(|at| many || !OF_MANY.contains(&at));
    let mut notes = vec![if many { LEGEND_MANY } else { LEGEND }.to_string()];
    notes.extend(groups.iter().filter_map(not_kept));
    Some(Sheet { name: "labels over ranks", title: String::new(), grid, notes })
}

/// Occurrences by label and point of a sweep, in order of first appearance.
fn groups(run: &Run) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = HashMap::new();
    for time in &run.times {
        let key = (time.label.as_str(), time.cell, time.repetition);
        let at = *places.entry(key).or_insert_with(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        groups[at].kept.push(time);
    }
    for more in &run.run.times_more {
        if let Some(at) = places.get(&(more.label.as_str(), more.cell, more.repetition)) {
            groups[*at].more = Some(more);
        }
    }
    for label in &run.labels {
        if let Some(at) = places.get(&(label.label.as_str(), label.cell, label.repetition)) {
            groups[*at].label = Some(label);
        }
    }
    groups
}

impl Group<'_> {
    /// Occurrences on each rank, those included that were not kept one by one.
    fn occurrences(&self) -> u64 {
        let last = self.kept.iter().map(|time| time.index).max().unwrap_or(0);
        last.saturating_add(1).max(self.kept.len() as u64)
    }

    /// The kept occurrence that took longest; the first of equals.
    fn slowest(&self) -> Option<&TimeRow> {
        let later_or_equal =
            |a: &&&TimeRow, b: &&&TimeRow| a.max_ns.cmp(&b.max_ns).then(b.index.cmp(&a.index));
        self.kept.iter().max_by(later_or_equal).copied()
    }

    /// Shortest, median and longest. The first two over the kept occurrences; the longest over
    /// all, with false if it is not a kept one.
    fn times_ns(&self) -> (u64, u64, u64, bool) {
        let mut times: Vec<u64> = self.kept.iter().map(|time| time.max_ns).collect();
        times.sort_unstable();
        let median = times[(times.len() - 1) / 2];
        let longest = times[times.len() - 1];
        let beyond = self.more.map_or(0, |more| more.histogram.max);
        (times[0], median, longest.max(beyond), beyond <= longest)
    }
}

fn cells(run: &Run, group: &Group<'_>) -> Vec<Cell> {
    let first = group.kept[0];
    let (min, median, longest, is_kept) = group.times_ns();
    let time = |ns: u64| Cell::Number(ns as f64);
    let instant = |ns: Option<u64>| Cell::number(ns.map(|ns| ns as f64));
    let busy = match group.label {
        None => Cell::None,
        Some(label) if label.busy_is_bound => Cell::AtMost(label.busy_ns as f64),
        Some(label) => time(label.busy_ns),
    };
    let slowest = |figure: fn(&TimeRow) -> u64| match group.slowest() {
        Some(time) if is_kept => Cell::Count(figure(time)),
        _ => Cell::None,
    };
    let name = match execution(run, first.cell, first.repetition) {
        one if one.is_empty() => first.label.clone(),
        one => format!("{} ({one})", first.label),
    };
    vec![
        Cell::Text(name),
        Cell::Count(group.occurrences()),
        Cell::Count(group.kept.iter().map(|time| u64::from(time.ranks)).max().unwrap_or(0)),
        instant(group.kept.iter().map(|time| time.first_start_ns).min()),
        instant(group.kept.iter().map(|time| time.last_end_ns).max()),
        busy,
        time(min),
        time(median),
        time(longest),
        slowest(|time| u64::from(time.slowest_rank)),
        slowest(|time| time.index),
    ]
}

/// Says which of a label's figures rest on a part of its occurrences.
fn not_kept(group: &Group<'_>) -> Option<String> {
    group.more?;
    Some(format!(
        "{}: {} of {} times are kept one by one, the others in a histogram; min and median are \
         over the kept ones, longest is over all.",
        fit(&group.kept[0].label, 40),
        group.kept.len(),
        group.occurrences()
    ))
}
