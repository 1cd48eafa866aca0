//! All ranks must know this before each can merge its record: the labels, and the largest number of entries
//! into each on one rank.

use crate::recorder::RankRecord;
use crate::recorder::layout::{MAX_LABELS, MORE_LABEL};
use model::merge::Merge;
use model::merged;
use model::plan::LabelKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The labels of some ranks by path; the path "" is that of operations in no label. Past 4,096 paths those
/// that sort first keep their names, the others are `(more)`: so the order of merging does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    labels: BTreeMap<Vec<u8>, Counts>,
    more: Counts,
}

merged! {
    /// Largest number of occurrences on one rank.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(super) struct Counts {
        /// Executions of `time`.
        wall: u64 => max,
        /// Executions of `ctime`.
        calls: u64 => max,
    }
}

/// Path of a rank's label; "" for none.
fn path(record: &RankRecord, id: u32) -> &[u8] {
    record.labels.get(id as usize).map_or(&[][..], |label| &label.path)
}

impl Outline {
    /// The labels of one rank.
    pub fn of_rank(record: &RankRecord) -> Outline {
        let mut outline = Outline::default();
        for stat in &record.stats {
            outline.add(path(record, stat.label), Counts::default());
        }
        for label in &record.labels {
            let counts = match label.kind {
                LabelKind::Wall => Counts { wall: label.count, calls: 0 },
                LabelKind::Calls => Counts { wall: 0, calls: label.count },
            };
            outline.add(&label.path, counts);
        }
        outline.cut();
        outline
    }

    /// The path under which a rank's label is merged.
    pub(super) fn path<'p>(&self, record: &'p RankRecord, label: u32) -> &'p [u8] {
        let path = path(record, label);
        if path.is_empty() || self.labels.contains_key(path) { path } else { MORE_LABEL }
    }

    /// The largest number of occurrences of a label on one rank.
    pub(super) fn max_count(&self, path: &[u8], kind: LabelKind) -> u64 {
        let counts = self.counts(path);
        if kind == LabelKind::Wall { counts.wall } else { counts.calls }
    }

    /// The same for both kinds together.
    pub(super) fn occurrences(&self, path: &[u8]) -> u64 {
        let counts = self.counts(path);
        counts.wall.saturating_add(counts.calls)
    }

    fn counts(&self, path: &[u8]) -> Counts {
        let own = if path == MORE_LABEL { Some(&self.more) } else { self.labels.get(path) };
        own.copied().unwrap_or_default()
    }

    fn add(&mut self, path: &[u8], counts: Counts) {
        if path == MORE_LABEL {
            self.more.merge_from(counts);
        } else {
            self.labels.entry(path.to_vec()).or_default().merge_from(counts);
        }
    }

    fn cut(&mut self) {
        let max = MAX_LABELS + usize::from(self.labels.contains_key(&[][..]));
        while self.labels.len() > max {
            let beyond = self.labels.pop_last();
            self.more.merge_from(beyond.map(|(_, counts)| counts).unwrap_or_default());
        }
    }
}

impl Merge for Outline {
    fn merge_from(&mut self, other: Outline) {
        self.labels.merge_from(other.labels);
        self.more.merge_from(other.more);
        self.cut();
    }
}
