//! Label occurrences over ranks: the rows of `times`.

use crate::recorder::layout::{KEPT_FIRST, KEPT_LAST};
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
