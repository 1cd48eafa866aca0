//! What all ranks must know before each can turn its record into a [`super::Partial`]:
//! which labels there are, and how often one rank entered each at most.

use super::reduce::Merge;
use crate::record::layout::{MAX_LABELS, MORE_LABEL};
use crate::record::{RankRecord, StatRecord};
use model::plan::LabelKind;
use serde::{Deserialize, Serialize};

/// Number of the path "", which is what stands in no label.
const NONE: u32 = 0;
/// Number of [`MORE_LABEL`].
const MORE: u32 = 1;
/// Numbers that are always there.
const UNNUMBERED: u32 = 2;

/// Largest number of occurrences on one rank: `time`, `ctime`.
pub(super) type Counts = [u64; 2];

/// The labels of some ranks. Past 4,096 paths those that sort first keep their names, the others
/// are `(more)`: so it does not depend on the order in which ranks are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    unnumbered: [Counts; UNNUMBERED as usize],
    /// In ascending order of paths.
    labels: Vec<(Vec<u8>, Counts)>,
}

/// Where the counts of a kind of label stand.
pub(super) fn slot(kind: LabelKind) -> usize {
    usize::from(kind == LabelKind::Calls)
}

/// Something of a rank that brings a label into order.
pub(super) enum Appearance<'a> {
    Label(u32),
    Stat(&'a StatRecord),
}

/// Labels and stats of a rank with the position at which they appeared.
pub(super) fn appearances(record: &RankRecord) -> impl Iterator<Item = (u32, Appearance<'_>)> {
    let labels = record.labels.iter().enumerate();
    // `(more)` exists from the start; it appears when something is counted under it.
    let labels = labels.filter(|(id, label)| *id > 0 || label.count > 0);
    let labels = labels.map(|(id, label)| (label.position, Appearance::Label(id as u32)));
    let stats = record.stats.iter().map(|stat| (stat.position, Appearance::Stat(stat)));
    labels.chain(stats)
}

/// Path of a rank's label; "" for none.
fn path(record: &RankRecord, id: u32) -> &[u8] {
    record.labels.get(id as usize).map_or(&[][..], |label| &label.path)
}

impl Outline {
    /// Of one rank.
    pub fn of(record: &RankRecord) -> Outline {
        let mut outline = Outline::default();
        for (_, appearance) in appearances(record) {
            let id = match appearance {
                Appearance::Label(id) => id,
                Appearance::Stat(stat) => stat.label,
            };
            let mut counts = Counts::default();
            if let Some(label) = record.labels.get(id as usize) {
                counts[slot(label.kind)] = label.count;
            }
            outline.labels.push((path(record, id).to_vec(), counts));
        }
        outline.settled()
    }

    /// Number of a path.
    pub(super) fn id(&self, path: &[u8]) -> u32 {
        if path.is_empty() {
            return NONE;
        }
        match self.labels.binary_search_by(|label| label.0[..].cmp(path)) {
            Ok(at) => UNNUMBERED + at as u32,
            Err(_) => MORE,
        }
    }

    /// Number of a rank's label.
    pub(super) fn id_of(&self, record: &RankRecord, label: u32) -> u32 {
        self.id(path(record, label))
    }

    pub(super) fn path(&self, id: u32) -> &[u8] {
        match id {
            NONE => &[],
            MORE => MORE_LABEL,
            id => self.labels.get((id - UNNUMBERED) as usize).map_or(&[], |label| &label.0),
        }
    }

    pub(super) fn max_count(&self, id: u32, kind: LabelKind) -> u64 {
        let counts = match id.checked_sub(UNNUMBERED) {
            None => Some(&self.unnumbered[id as usize]),
            Some(at) => self.labels.get(at as usize).map(|label| &label.1),
        };
        counts.map_or(0, |counts| counts[slot(kind)])
    }

    /// Each path once, in order, and not too many.
    fn settled(mut self) -> Outline {
        let unnumbered = &mut self.unnumbered;
        self.labels.retain(|(path, counts)| {
            let known = [&[][..], MORE_LABEL].iter().position(|known| known == path);
            known.map(|known| raise(&mut unnumbered[known], counts)).is_none()
        });
        // Stable: two runs that are in order already are merged in one pass.
        self.labels.sort();
        self.labels.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                raise(&mut kept.1, &later.1);
            }
            same
        });
        for (_, counts) in self.labels.drain(MAX_LABELS.min(self.labels.len())..) {
            raise(&mut self.unnumbered[MORE as usize], &counts);
        }
        self
    }
}

impl Merge for Outline {
    fn merge(mut self, mut other: Outline) -> Outline {
        for (mine, theirs) in self.unnumbered.iter_mut().zip(&other.unnumbered) {
            raise(mine, theirs);
        }
        if self.labels == other.labels {
            return self;
        }
        self.labels.append(&mut other.labels);
        self.settled()
    }
}

fn raise(counts: &mut Counts, other: &Counts) {
    for (count, other) in counts.iter_mut().zip(other) {
        *count = (*count).max(*other);
    }
}
