//! Label occurrences over ranks: the rows of `times`, and the interval that `mib_s`
//! divides by.

use crate::record::layout::{KEPT_FIRST, KEPT_LAST};
use crate::record::{LabelRecord, Occurrence};
use model::Histogram;
use model::plan::LabelKind;
use model::run::{TimeRow, TimesMore};
use std::collections::BTreeMap;

/// Occurrences of one label path and kind. Ranks are added in ascending order.
#[derive(Debug, Default)]
pub(super) struct LabelTimes<'a> {
    /// What single ranks kept; merged when the largest number of occurrences is known.
    kept: Vec<(u32, &'a LabelRecord)>,
    /// Largest number of occurrences on one rank.
    max_count: u64,
    more: Histogram,
    /// Largest sum over one rank of the occurrences it did not keep.
    max_rank_sum_ns: u64,
    /// What ranks did after their last complete occurrence, by the index of the one that
    /// was cut off: first start, last end.
    open: BTreeMap<u64, Option<(u64, u64)>>,
}

/// What is to be told of a label.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) rows: Vec<TimeRow>,
    pub(super) more: Option<TimesMore>,
    /// Sum over occurrences of (last end - first start over ranks); those not kept
    /// add the largest sum over one rank.
    pub(super) interval_ns: u64,
}

/// Widens an interval.
pub(super) fn widen(interval: &mut Option<(u64, u64)>, first_ns: u64, last_ns: u64) {
    if first_ns > last_ns {
        return;
    }
    let (first, last) = interval.unwrap_or((first_ns, last_ns));
    *interval = Some((first.min(first_ns), last.max(last_ns)));
}

impl<'a> LabelTimes<'a> {
    /// Adds a rank. `operations`: first start and last end of its operations inside; what
    /// lies behind its last occurrence belongs to one that was cut off.
    pub(super) fn add_rank(
        &mut self,
        rank: u32,
        label: &'a LabelRecord,
        operations: Option<(u64, u64)>,
    ) {
        self.max_count = self.max_count.max(label.count);
        self.more.merge(&label.more);
        let end_ns = label.kept.last().map_or(0, |last| last.end_ns);
        if let Some((first_ns, last_ns)) = operations.filter(|span| span.1 > end_ns) {
            widen(self.open.entry(label.count).or_default(), first_ns.max(end_ns), last_ns);
        }
        self.kept.push((rank, label));
    }

    /// Merges by index over ranks.
    pub(super) fn finish(mut self, path: &str) -> Merged {
        let last_from = self.max_count.saturating_sub(KEPT_LAST).max(KEPT_FIRST);
        let mut rows: Vec<Option<TimeRow>> = Vec::new();
        for (rank, label) in std::mem::take(&mut self.kept) {
            let mut given_up_ns = label.more.sum;
            for occurrence in &label.kept {
                let ns = time_ns(label.kind, occurrence);
                let Some(slot) = slot(occurrence.index, last_from) else {
                    self.more.record(ns);
                    given_up_ns = given_up_ns.saturating_add(ns);
                    continue;
                };
                if slot >= rows.len() {
                    rows.resize(slot + 1, None);
                }
                let row = rows[slot].get_or_insert_with(|| empty(path, occurrence));
                add(row, rank, ns, occurrence);
            }
            self.max_rank_sum_ns = self.max_rank_sum_ns.max(given_up_ns);
        }
        self.told(path, rows.into_iter().flatten().collect())
    }

    fn told(self, path: &str, rows: Vec<TimeRow>) -> Merged {
        let open_ns = self.open.iter().map(|(index, span)| beyond_ns(&rows, *index, *span));
        let kept_ns = rows.iter().map(|row| row.last_end_ns.saturating_sub(row.first_start_ns));
        let interval_ns = kept_ns.chain(open_ns).fold(self.max_rank_sum_ns, u64::saturating_add);
        let more = (self.more.count > 0).then(|| TimesMore {
            label: path.into(),
            count: self.more.count,
            max_rank_sum_ns: self.max_rank_sum_ns,
            histogram: self.more,
        });
        Merged { rows, more, interval_ns }
    }
}

/// What an occurrence that was cut off on some ranks adds to the interval of the same
/// occurrence on the others.
fn beyond_ns(rows: &[TimeRow], index: u64, span: Option<(u64, u64)>) -> u64 {
    let Some((first_ns, last_ns)) = span else { return 0 };
    let Ok(at) = rows.binary_search_by_key(&index, |row| row.index) else {
        return last_ns - first_ns;
    };
    let (start_ns, end_ns) = (rows[at].first_start_ns, rows[at].last_end_ns);
    start_ns.saturating_sub(first_ns).saturating_add(last_ns.saturating_sub(end_ns))
}

/// Where an occurrence goes among the first and the last ones; `None`: between them.
fn slot(index: u64, last_from: u64) -> Option<usize> {
    match index {
        index if index < KEPT_FIRST => Some(index as usize),
        index if index >= last_from => Some((KEPT_FIRST + index - last_from) as usize),
        _ => None,
    }
}

fn time_ns(kind: LabelKind, occurrence: &Occurrence) -> u64 {
    match kind {
        LabelKind::Wall => occurrence.end_ns.saturating_sub(occurrence.start_ns),
        LabelKind::Calls => occurrence.own_ns,
    }
}

fn empty(path: &str, occurrence: &Occurrence) -> TimeRow {
    TimeRow {
        label: path.into(),
        index: occurrence.index,
        first_start_ns: occurrence.start_ns,
        last_end_ns: occurrence.end_ns,
        ..TimeRow::default()
    }
}

fn add(row: &mut TimeRow, rank: u32, ns: u64, occurrence: &Occurrence) {
    if row.ranks == 0 || ns > row.max_ns {
        (row.max_ns, row.slowest_rank) = (ns, rank);
    }
    row.ranks += 1;
    row.first_start_ns = row.first_start_ns.min(occurrence.start_ns);
    row.last_end_ns = row.last_end_ns.max(occurrence.end_ns);
}
