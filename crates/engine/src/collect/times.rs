//! Label occurrences over ranks: the rows of `times`, and the busy time of a label, in which at least one rank was
//! inside it: the union of all occurrences on aligned clocks. Of more than [`MAX_INTERVALS`] intervals the
//! shorter gaps are closed: then the time is an upper bound, and says so.

use crate::recorder::labels::{Interval, join_intervals, nth_gap};
use crate::recorder::layout::{KEPT_FIRST, KEPT_LAST, MORE_LABEL};
use crate::recorder::{LabelRecord, Occurrence};
use model::Histogram;
use model::merge::Merge;
use model::merged;
use model::plan::LabelKind;
use model::run::{TimeRow, TimesMore};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

merged! {
    /// Occurrences of one label path and kind over some ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct LabelTimes {
        /// The first occurrences, then the last ones; `None`: no rank kept this one.
        rows: Vec<Option<Over>> => sum,
        more: Histogram => sum,
        /// Largest sum over one rank of the occurrences that are not in `rows`.
        max_rank_sum_ns: u64 => max,
    }
}

merged! {
    /// One occurrence over the ranks that executed it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Over {
        index: u64 => max,
        ranks: u32 => sum,
        first_start_ns: u64 => min,
        last_end_ns: u64 => max,
        /// Time of the slowest rank, and the lowest of the ranks that were as slow.
        slowest: (u64, Reverse<u32>) => max,
    }
}

impl LabelTimes {
    /// The occurrences of one rank. `max_count`: largest number of occurrences on one rank of the run.
    pub(super) fn of_rank(rank: u32, label: &LabelRecord, max_count: u64) -> LabelTimes {
        let last_from = max_count.saturating_sub(KEPT_LAST).max(KEPT_FIRST);
        let (mut rows, mut more) = (Vec::new(), label.more.clone());
        for occurrence in &label.kept {
            let over = Over::one(rank, label.kind, occurrence);
            let Some(slot) = slot(occurrence.index, last_from) else {
                more.record(over.slowest.0);
                continue;
            };
            if slot >= rows.len() {
                rows.resize(slot + 1, None);
            }
            rows[slot].merge_from(Some(over));
        }
        LabelTimes { rows, max_rank_sum_ns: more.sum, more }
    }

    /// The rows when all ranks are in, and what they leave out.
    pub(super) fn finish(self, path: &str) -> (Vec<TimeRow>, Option<TimesMore>) {
        let rows = self.rows.into_iter().flatten().map(|row| row.row(path)).collect();
        let more = (self.more.count > 0).then(|| TimesMore {
            label: path.into(),
            count: self.more.count,
            max_rank_sum_ns: self.max_rank_sum_ns,
            histogram: self.more,
            ..TimesMore::default()
        });
        (rows, more)
    }
}

impl Over {
    fn one(rank: u32, kind: LabelKind, occurrence: &Occurrence) -> Over {
        let Occurrence { index, start_ns, end_ns, own_ns } = *occurrence;
        let max_ns = match kind {
            LabelKind::Wall => end_ns.saturating_sub(start_ns),
            LabelKind::Calls => own_ns,
        };
        let (first_start_ns, last_end_ns, slowest) = (start_ns, end_ns, (max_ns, Reverse(rank)));
        Over { index, ranks: 1, first_start_ns, last_end_ns, slowest }
    }

    fn row(&self, path: &str) -> TimeRow {
        let (max_ns, Reverse(slowest_rank)) = self.slowest;
        TimeRow {
            label: path.into(),
            index: self.index,
            ranks: self.ranks,
            first_start_ns: self.first_start_ns,
            last_end_ns: self.last_end_ns,
            slowest_rank,
            max_ns,
            ..TimeRow::default()
        }
    }
}

/// Where an occurrence goes among the first and the last ones; `None`: between them.
fn slot(index: u64, last_from: u64) -> Option<usize> {
    match index {
        index if index < KEPT_FIRST => Some(index as usize),
        index if index >= last_from => Some((KEPT_FIRST + index - last_from) as usize),
        _ => None,
    }
}

/// Intervals of a label in one result.
const MAX_INTERVALS: usize = 1 << 14;

/// When a rank executed a label.
fn intervals(label: &LabelRecord) -> impl Iterator<Item = Interval> + '_ {
    let kept = label.kept.iter().map(|kept| [kept.start_ns, kept.end_ns]);
    let unknown = is_unknown(label).then(|| hull_of_kept(label)).flatten();
    let all = kept.chain(label.busy.intervals.iter().copied()).chain(unknown);
    all.filter(|[start, end]| start <= end)
}

/// Nothing says when the occurrences were executed that are not kept: the record was full. One that
/// was killed may lack the last that it gave up.
fn is_unknown(label: &LabelRecord) -> bool {
    label.busy.intervals.is_empty() && label.count > label.kept.len() as u64 + 1
}

fn hull_of_kept(label: &LabelRecord) -> Option<Interval> {
    Some([label.kept.first()?.start_ns, label.kept.last()?.end_ns])
}

/// The union over some ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Busy {
    /// Disjoint, ascending.
    union: Vec<Interval>,
    /// Gaps may have been closed.
    closed: bool,
    /// A rank did not leave its last occurrence.
    cut_off: bool,
    /// Sum over ranks of what each was inside the label: not less than the union.
    sum_ns: u64,
    /// The largest of them: not more than the union.
    max_rank_ns: u64,
}

/// How long a label was executed, and from when to when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BusyTime {
    pub(super) busy_ns: u64,
    /// It may be less.
    pub(super) is_bound: bool,
    pub(super) hull: Interval,
}

impl Busy {
    /// The union of one rank. `cut_off`: an occurrence that did not end.
    pub(super) fn of(label: &LabelRecord, cut_off: Option<Interval>) -> Busy {
        let mut union: Vec<Interval> = intervals(label).chain(cut_off).collect();
        union.sort_unstable();
        let kept = label.kept.iter().map(|kept| [kept.start_ns, kept.end_ns]);
        let done_ns = kept.map(length).fold(label.busy.sum_ns, u64::saturating_add);
        let inside_ns = done_ns.saturating_add(cut_off.map_or(0, length));
        let unknown = is_unknown(label);
        // Occurrences of one path on one rank follow each other; occurrences of `(more)` may not.
        let is_exact = label.path != MORE_LABEL;
        Busy {
            union: joined(union, 0),
            cut_off: cut_off.is_some(),
            closed: unknown || label.busy.gap_ns > 0,
            sum_ns: if unknown { u64::MAX } else { inside_ns },
            max_rank_ns: if is_exact { inside_ns } else { 0 },
        }
    }

    /// When all ranks are in. `complete`: the largest number of occurrences of one rank that it left.
    /// Where no rank executed the label more than once, its time is that from the first start to
    /// the last end. `None`: nobody executed it.
    pub(super) fn finish(&self, complete: u64) -> Option<BusyTime> {
        let hull = [self.union.first()?[0], self.union.last()?[1]];
        if complete + u64::from(self.cut_off) <= 1 {
            return Some(BusyTime { busy_ns: length(hull), is_bound: false, hull });
        }
        let union_ns: u64 = self.union.iter().map(|interval| length(*interval)).sum();
        let busy_ns = if self.closed { union_ns.min(self.sum_ns) } else { union_ns };
        Some(BusyTime { busy_ns, is_bound: self.closed && busy_ns > self.max_rank_ns, hull })
    }
}

impl Merge for Busy {
    fn merge_from(&mut self, mut other: Busy) {
        let mut union = std::mem::take(&mut self.union);
        union.append(&mut other.union);
        // Stable: both are in order already and are merged in one pass.
        union.sort();
        let union = joined(union, 0);
        self.closed |= other.closed || union.len() > MAX_INTERVALS;
        self.union = thinned_out(union);
        self.cut_off |= other.cut_off;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_rank_ns = self.max_rank_ns.max(other.max_rank_ns);
    }
}

fn length([start_ns, end_ns]: Interval) -> u64 {
    end_ns.saturating_sub(start_ns)
}

fn joined(mut sorted: Vec<Interval>, gap_ns: u64) -> Vec<Interval> {
    let joined = join_intervals(&mut sorted, gap_ns);
    sorted.truncate(joined);
    sorted
}

/// Closes the shorter gaps of too many intervals.
fn thinned_out(union: Vec<Interval>) -> Vec<Interval> {
    if union.len() <= MAX_INTERVALS {
        return union;
    }
    let (surplus, mut gaps) = (union.len() - MAX_INTERVALS, vec![0; union.len() - 1]);
    let longest_closed = nth_gap(&union, surplus - 1, &mut gaps);
    joined(union, longest_closed.saturating_add(1))
}

#[cfg(test)]
mod tests;
