//! Time labels over ranks: one line per label, many occurrences summarised.

use crate::document::Sheet;
use crate::grid::{Cell, Grid, Kind, field, optional};
use crate::rows::grouped;
use crate::text::fit;
use model::run::{LabelRow, Run, TimeRow, TimesMore};
use model::units::Measure;
use std::cmp::Reverse;

const TIME: Kind = Kind::Quantity(Measure::Time);

const LEGEND: &str =
    "start, end: first rank in, last rank out. busy: from start to end. longest: the slowest rank.";
const LEGEND_MANY: &str = "start, end: first rank in, last rank out. busy: at least one rank was inside. min, median, \
                           longest: over the occurrences, each that of its slowest rank.";

/// The occurrences of one label.
#[derive(Debug)]
struct Group<'a> {
    name: String,
    kept: Vec<&'a TimeRow>,
    more: Option<&'a TimesMore>,
    label: Option<&'a LabelRow>,
}

/// The table; none if no label was entered.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let groups = groups(run);
    let grid = Grid::of(
        vec![
            field("label", "", Kind::Label, 0, |group: &Group<'_>| Cell::Text(group.name.clone())),
            optional("times", "", Kind::Count, 0, |group| Cell::times(group.occurrences())),
            field("ranks", "", Kind::Count, 1, |group| {
                Cell::Count(group.most(|time| time.ranks.into()))
            }),
            field("start", "", TIME, 3, |group| {
                Cell::whole(group.kept.iter().map(|time| time.first_start_ns).min().unwrap_or(0))
            }),
            field("end", "", TIME, 4, |group| Cell::whole(group.most(|time| time.last_end_ns))),
            field("busy", "", TIME, 0, |group| match group.label {
                None => Cell::None,
                Some(label) if label.busy_is_bound => Cell::AtMost(label.busy_ns as f64),
                Some(label) => Cell::whole(label.busy_ns),
            }),
            optional("min", "", TIME, 2, |group| group.time_at(0.0)),
            optional("median", "", TIME, 5, |group| group.time_at(0.5)),
            field("longest", "", TIME, 0, |group| {
                Cell::whole(group.most(|time| time.max_ns).max(group.beyond_ns()))
            }),
            field("slowest", "rank", Kind::Count, 0, |group| {
                group.slowest(|time| time.slowest_rank.into())
            }),
            optional("slowest", "time #", Kind::Count, 6, |group| match group.is_repeated() {
                true => group.slowest(|time| time.index),
                false => Cell::Text(String::new()),
            }),
        ],
        &groups,
        |_| false,
    );
    let many = groups.iter().any(Group::is_repeated);
    let legend = if many { LEGEND_MANY } else { LEGEND }.to_string();
    let notes = std::iter::once(legend).chain(groups.iter().filter_map(not_kept));
    Sheet::of("labels over ranks", "", grid, notes)
}

/// Occurrences by label, in order of first appearance.
fn groups(run: &Run) -> Vec<Group<'_>> {
    let by_label = grouped(run.times.iter().map(|time| (&*time.label, time)));
    let group = |(label, kept): (&'_ str, Vec<_>)| Group {
        name: label.to_string(),
        kept,
        more: run.run.times_more.iter().find(|more| more.label == label),
        label: run.labels.iter().find(|row| row.label == label),
    };
    by_label.into_iter().map(group).collect()
}

impl Group<'_> {
    /// It has several occurrences.
    fn is_repeated(&self) -> bool {
        self.kept.len() > 1 || self.more.is_some()
    }

    /// Occurrences on each rank, those included that were not kept one by one.
    fn occurrences(&self) -> u64 {
        self.most(|time| time.index).saturating_add(1).max(self.kept.len() as u64)
    }

    /// The largest figure of the kept occurrences.
    fn most(&self, figure: fn(&TimeRow) -> u64) -> u64 {
        self.kept.iter().map(|time| figure(time)).max().unwrap_or(0)
    }

    /// The longest of those that are not kept.
    fn beyond_ns(&self) -> u64 {
        self.more.map_or(0, |more| more.histogram.max)
    }

    /// A time of the kept occurrences, the shortest (0) or their median (0.5); nothing for one alone.
    fn time_at(&self, share: f64) -> Cell {
        let mut times: Vec<u64> = self.kept.iter().map(|time| time.max_ns).collect();
        times.sort_unstable();
        let at = (share * (times.len() - 1) as f64) as usize;
        if self.is_repeated() { Cell::whole(times[at]) } else { Cell::Text(String::new()) }
    }

    /// A figure of the occurrence that took longest, of equals the first, if it is a kept one.
    fn slowest(&self, figure: fn(&TimeRow) -> u64) -> Cell {
        let slowest = self.kept.iter().min_by_key(|time| (Reverse(time.max_ns), time.index));
        let slowest = slowest.filter(|time| time.max_ns >= self.beyond_ns());
        slowest.map_or(Cell::None, |time| Cell::Count(figure(time)))
    }
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
