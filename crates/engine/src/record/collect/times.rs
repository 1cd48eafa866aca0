//! Label occurrences over ranks: the rows of `times`.

use crate::record::layout::{KEPT_FIRST, KEPT_LAST};
use crate::record::{LabelRecord, Occurrence};
use model::Histogram;
use model::plan::LabelKind;
use model::run::{TimeRow, TimesMore};
use serde::{Deserialize, Serialize};

/// Occurrences of one label path and kind over some ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LabelTimes {
    /// The first occurrences, then the last ones; `None`: no rank kept this one.
    rows: Vec<Option<Over>>,
    more: Histogram,
    /// Largest sum over one rank of the occurrences that are not in `rows`.
    max_rank_sum_ns: u64,
}

/// One occurrence over the ranks that executed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Over {
    index: u64,
    ranks: u32,
    first_start_ns: u64,
    last_end_ns: u64,
    slowest_rank: u32,
    max_ns: u64,
}

/// What is to be told of a label.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) rows: Vec<TimeRow>,
    pub(super) more: Option<TimesMore>,
}

impl LabelTimes {
    /// Adds a rank. `max_count`: largest number of occurrences on one rank of the run.
    pub(super) fn add_rank(&mut self, rank: u32, label: &LabelRecord, max_count: u64) {
        let last_from = max_count.saturating_sub(KEPT_LAST).max(KEPT_FIRST);
        self.more.merge(&label.more);
        let mut given_up_ns = label.more.sum;
        for occurrence in &label.kept {
            let over = Over::one(rank, label.kind, occurrence);
            let Some(slot) = slot(occurrence.index, last_from) else {
                self.more.record(over.max_ns);
                given_up_ns = given_up_ns.saturating_add(over.max_ns);
                continue;
            };
            self.add(slot, over);
        }
        self.max_rank_sum_ns = self.max_rank_sum_ns.max(given_up_ns);
    }

    fn add(&mut self, slot: usize, over: Over) {
        if slot >= self.rows.len() {
            self.rows.resize(slot + 1, None);
        }
        match &mut self.rows[slot] {
            Some(row) => row.merge(&over),
            free => *free = Some(over),
        }
    }

    /// Adds other ranks, whose `max_count` must have been the same.
    pub(super) fn merge(&mut self, other: LabelTimes) {
        for (slot, row) in other.rows.into_iter().enumerate() {
            row.into_iter().for_each(|over| self.add(slot, over));
        }
        self.more.merge(&other.more);
        self.max_rank_sum_ns = self.max_rank_sum_ns.max(other.max_rank_sum_ns);
    }

    /// What is to be told when all ranks are in.
    pub(super) fn finish(self, path: &str) -> Merged {
        let rows: Vec<Over> = self.rows.into_iter().flatten().collect();
        let more = (self.more.count > 0).then(|| TimesMore {
            label: path.into(),
            count: self.more.count,
            max_rank_sum_ns: self.max_rank_sum_ns,
            histogram: self.more,
            ..TimesMore::default()
        });
        Merged { rows: rows.iter().map(|row| row.told(path)).collect(), more }
    }
}

impl Over {
    fn one(rank: u32, kind: LabelKind, occurrence: &Occurrence) -> Over {
        let Occurrence { index, start_ns, end_ns, own_ns } = *occurrence;
        let max_ns = match kind {
            LabelKind::Wall => end_ns.saturating_sub(start_ns),
            LabelKind::Calls => own_ns,
        };
        let (first_start_ns, last_end_ns) = (start_ns, end_ns);
        Over { index, ranks: 1, first_start_ns, last_end_ns, slowest_rank: rank, max_ns }
    }

    /// Of equally slow ranks the lowest is named.
    fn merge(&mut self, other: &Over) {
        let slowness = |over: &Over| (over.max_ns, std::cmp::Reverse(over.slowest_rank));
        if slowness(other) > slowness(self) {
            (self.max_ns, self.slowest_rank) = (other.max_ns, other.slowest_rank);
        }
        self.ranks += other.ranks;
        self.first_start_ns = self.first_start_ns.min(other.first_start_ns);
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
    }

    fn told(&self, path: &str) -> TimeRow {
        TimeRow {
            label: path.into(),
            index: self.index,
            ranks: self.ranks,
            first_start_ns: self.first_start_ns,
            last_end_ns: self.last_end_ns,
            slowest_rank: self.slowest_rank,
            max_ns: self.max_ns,
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
