//! What some ranks measured, in a form that merges by addition.

use super::Collected;
use super::evidence::Sums;
use super::failed::Failed;
use super::outline::{Appearance, Outline, appearances, slot};
use super::places::{self, SiteSums};
use super::reduce::Merge;
use super::rows::Figures;
use super::times::{LabelTimes, Widen};
use crate::record::{RankRecord, StatRecord};
use model::{Op, Plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rank and position: what appeared first stands first.
type First = (u32, u32);

/// Figures of some ranks. Its size depends on the program (labels, operations, sites), not on
/// the number of ranks and events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    /// By number in the outline.
    labels: BTreeMap<u32, Label>,
    sites: SiteSums,
    failed: Failed,
    sums: Sums,
}

/// A label path; the path "" is what stands in no label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Label {
    first: First,
    /// Figures by number of the operation.
    ops: BTreeMap<u8, (First, Figures)>,
    /// Occurrences of its `time` and of its `ctime` statements.
    times: [Option<LabelTimes>; 2],
}

impl Label {
    fn new(first: First) -> Label {
        Label { first, ops: BTreeMap::new(), times: [None, None] }
    }
}

impl Partial {
    /// Adds what a rank measured. `outline`: that of all ranks of the run.
    pub fn add_rank(&mut self, record: &RankRecord, outline: &Outline) {
        self.add_labels(record, outline);
        places::add_sites(&mut self.sites, record);
        self.failed.add_rank(record);
        self.sums.add_rank(record);
    }

    fn add_labels(&mut self, record: &RankRecord, outline: &Outline) {
        let mut open: Vec<Widen> = vec![None; record.labels.len()];
        for (position, appearance) in appearances(record) {
            let first = (record.rank, position);
            match appearance {
                Appearance::Label(id) => {
                    self.label(outline.id_of(record, id), first);
                }
                Appearance::Stat(stat) => {
                    self.label(outline.id_of(record, stat.label), first).add_stat(first, stat);
                    if let Some(seen) = open.get_mut(stat.label as usize) {
                        super::times::widen(seen, stat.first_ns, stat.last_ns);
                    }
                }
            }
        }
        for (label, open) in record.labels.iter().zip(open) {
            if label.count == 0 && open.is_none() {
                continue;
            }
            let id = outline.id(&label.path);
            if outline.path(id) != label.path {
                self.sums.add_label_beyond(label.count);
            }
            let max_count = outline.max_count(id, label.kind);
            let times = &mut self.label(id, (record.rank, label.position)).times;
            let times = times[slot(label.kind)].get_or_insert_default();
            times.add_rank(record.rank, label, open, max_count);
        }
    }

    fn label(&mut self, id: u32, first: First) -> &mut Label {
        let label = self.labels.entry(id).or_insert_with(|| Label::new(first));
        label.first = label.first.min(first);
        label
    }

    /// The result, when all ranks are in it.
    pub fn finish(self, outline: &Outline, plan: &Plan) -> Collected {
        let places = places::Places::new(plan);
        let mut collected = Collected { sites: places.sites(&self.sites), ..Collected::default() };
        let mut labels: Vec<(u32, Label)> = self.labels.into_iter().collect();
        labels.sort_by_key(|(_, label)| label.first);
        for (id, label) in labels {
            let path = String::from_utf8_lossy(outline.path(id));
            label.finish(&path, &mut collected);
        }
        self.sums.finish(&mut collected);
        self.failed.finish(&places, &mut collected);
        collected
    }
}

impl Label {
    fn add_stat(&mut self, first: First, stat: &StatRecord) {
        let (seen, figures) =
            self.ops.entry(stat.op as u8).or_insert_with(|| (first, Figures::default()));
        *seen = (*seen).min(first);
        figures.add_rank(first.0, stat);
    }

    fn merge(&mut self, other: Label) {
        self.first = self.first.min(other.first);
        for (op, (first, figures)) in other.ops {
            let (seen, sum) = self.ops.entry(op).or_insert_with(|| (first, Figures::default()));
            *seen = (*seen).min(first);
            sum.merge(&figures);
        }
        for (mine, theirs) in self.times.iter_mut().zip(other.times) {
            match (mine, theirs) {
                (_, None) => {}
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (mine, theirs) => *mine = theirs,
            }
        }
    }

    fn finish(self, path: &str, collected: &mut Collected) {
        let mut interval_ns = 0u64;
        let mut timed = false;
        for times in self.times.into_iter().flatten() {
            let merged = times.finish(path);
            interval_ns = interval_ns.saturating_add(merged.interval_ns);
            // What stands in no label has no occurrences, even beside a label without text.
            timed = !path.is_empty();
            collected.times.extend(merged.rows);
            collected.times_more.extend(merged.more);
        }
        let mut ops: Vec<(u8, (First, Figures))> = self.ops.into_iter().collect();
        ops.sort_by_key(|(_, (first, _))| *first);
        for (op, (_, figures)) in ops {
            let interval_ns = if timed { interval_ns } else { figures.interval_ns() };
            if let Some(op) = Op::from_u8(op) {
                figures.rows(path, op, interval_ns, &mut collected.rows);
            }
        }
    }
}

impl Merge for Partial {
    fn merge(mut self, other: Partial) -> Partial {
        for (id, label) in other.labels {
            match self.labels.entry(id) {
                std::collections::btree_map::Entry::Occupied(mut mine) => {
                    mine.get_mut().merge(label)
                }
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(label);
                }
            }
        }
        places::merge_sites(&mut self.sites, other.sites);
        self.failed.merge(other.failed);
        self.sums.merge(other.sums);
        self
    }
}
