//! Label paths and their occurrences.
//!
//! Block [`Kind::Label`]: kind | path bytes << 32, number of occurrences, start of the one under way
//! plus 1 (0: none is), path.
//! Block [`Kind::Occurrences`]: label, index of the first, then start, end and own
//! time of each. Block [`Kind::Ring`]: label, index of the first that it ever held,
//! [`RING_SLOTS`] slots; occurrence `i` lies in slot `(i - KEPT_FIRST) % RING_SLOTS`.
//! Block [`Kind::More`]: label, then count, sum, minimum and maximum of the
//! occurrences that were given up; when they were executed is kept in [`super::busy`].

use super::area::Area;
use super::busy;
use super::histograms::{HistogramId, Histograms, Owner};
use super::index::{HASH_START, Index, hash_on, spread};
use super::layout::*;
use model::event::NO_ID;
use model::plan::LabelKind;

/// Kind | path bytes << 32.
pub(super) const L_KIND_BYTES: usize = 0;
/// Number of occurrences.
pub(super) const L_COUNT: usize = 1;
/// Start of the occurrence under way plus 1; 0: none is.
pub(super) const L_ENTERED: usize = 2;
/// The path's first word.
pub(super) const L_PATH: usize = 3;
/// Words before the first slot of occurrences.
pub(super) const SLOTS: usize = 2;
/// Label 0: [`MORE_LABEL`].
pub(super) const MORE: u32 = 0;

#[derive(Debug, Default)]
pub(super) struct Labels {
    hot: Vec<Hot>,
    index: Index,
}

#[derive(Debug)]
struct Hot {
    /// Place of the label's payload.
    at: u32,
    kind: LabelKind,
    path_bytes: u32,
    hash: u64,
    /// Early occurrences `early_first..early_end` lie from `early_at` on.
    early_at: u32,
    early_first: u64,
    early_end: u64,
    /// Place of the first slot; 0: not there yet.
    ring_at: u32,
    ring_first: u64,
    /// Place of the summary of those given up; 0: not there yet.
    more_at: u32,
    more: HistogramId,
    /// Place of their intervals.
    busy_at: u32,
}

impl Labels {
    /// Makes label [`MORE`]; `None` when there is no room.
    pub(super) fn create(area: &mut Area) -> Option<Labels> {
        let mut labels = Labels::default();
        labels.add(area, NO_ID, MORE_LABEL, HASH_START, LabelKind::Wall)?;
        Some(labels)
    }

    /// The label `text` inside `parent` ([`NO_ID`]: inside none).
    pub(super) fn label(
        &mut self,
        area: &mut Area,
        parent: u32,
        text: &[u8],
        kind: LabelKind,
    ) -> u32 {
        if parent == MORE {
            return beyond(area);
        }
        let outer = self.hot.get(parent as usize);
        let hash = match outer {
            Some(outer) => hash_on(hash_on(outer.hash, b"/"), text),
            None => hash_on(HASH_START, text),
        };
        let outer = outer.map(|outer| outer.path(area));
        let key = spread(hash ^ kind as u64);
        let found = self.index.find(key, |id| {
            let label = &self.hot[id as usize];
            label.kind == kind && is_joined(label.path(area), outer, text)
        });
        found.unwrap_or_else(|| self.add_indexed(area, parent, text, hash, kind))
    }

    #[cold]
    fn add_indexed(
        &mut self,
        area: &mut Area,
        parent: u32,
        text: &[u8],
        hash: u64,
        kind: LabelKind,
    ) -> u32 {
        let room = self.hot.len() <= MAX_LABELS;
        let added = if room { self.add(area, parent, text, hash, kind) } else { None };
        let Some(id) = added else { return beyond(area) };
        self.index.insert(spread(hash ^ kind as u64), id);
        id
    }

    fn add(
        &mut self,
        area: &mut Area,
        parent: u32,
        text: &[u8],
        hash: u64,
        kind: LabelKind,
    ) -> Option<u32> {
        let path = match self.hot.get(parent as usize) {
            Some(outer) => [outer.path(area), b"/", text].concat(),
            None => text.to_vec(),
        };
        if path.len() > MAX_LABEL_BYTES {
            return None;
        }
        let at = area.append(Kind::Label, L_PATH + words_for(path.len()), |words| {
            words[L_KIND_BYTES] = pair(kind as u32, path.len() as u32);
            put_bytes(&mut words[L_PATH..], &path);
        })?;
        self.hot.push(Hot::new(at, kind, path.len() as u32, hash));
        Some((self.hot.len() - 1) as u32)
    }

    /// An occurrence has begun.
    pub(super) fn entered(&self, area: &mut Area, label: u32, start_ns: u64) {
        if let Some(hot) = self.hot.get(label as usize) {
            area.words()[hot.at as usize + L_ENTERED] = start_ns.saturating_add(1);
        }
    }

    /// Keeps an occurrence, or gives up the oldest that is not among the first.
    pub(super) fn occurrence(
        &mut self,
        area: &mut Area,
        histograms: &mut Histograms,
        label: u32,
        times: [u64; OCCURRENCE_WORDS],
    ) {
        let Some(hot) = self.hot.get_mut(label as usize) else { return };
        let count_at = hot.at as usize + L_COUNT;
        let index = area.words()[count_at];
        if let Some(slot) = hot.slot(area, label, index) {
            *area.array(slot) = times;
        }
        area.publish_word(count_at, index + 1);
        area.words()[hot.at as usize + L_ENTERED] = 0;
        if index >= KEPT_FIRST + KEPT_LAST {
            hot.give_up(area, histograms, label, index - KEPT_LAST);
        }
    }
}

/// Counts an execution of a label that has no path of its own.
fn beyond(area: &mut Area) -> u32 {
    area.words()[H_LABELS_BEYOND] += 1;
    MORE
}

fn is_joined(path: &[u8], outer: Option<&[u8]>, text: &[u8]) -> bool {
    match outer {
        None => path == text,
        Some(outer) => path
            .strip_prefix(outer)
            .and_then(|rest| rest.strip_prefix(b"/"))
            .is_some_and(|rest| rest == text),
    }
}

impl Hot {
    fn new(at: u32, kind: LabelKind, path_bytes: u32, hash: u64) -> Hot {
        let (early_at, early_first, early_end) = (0, 0, 0);
        let (ring_at, ring_first, more_at, more, busy_at) = (0, 0, 0, 0, 0);
        Hot {
            at,
            kind,
            path_bytes,
            hash,
            early_at,
            early_first,
            early_end,
            ring_at,
            ring_first,
            more_at,
            more,
            busy_at,
        }
    }

    fn path<'a>(&self, area: &'a Area) -> &'a [u8] {
        let words = &area.read()[self.at as usize + L_PATH..];
        &as_bytes(words)[..self.path_bytes as usize]
    }

    /// Where occurrence `index` goes; `None` when there is no room.
    fn slot(&mut self, area: &mut Area, label: u32, index: u64) -> Option<u32> {
        if index < KEPT_FIRST {
            if index >= self.early_end {
                self.add_early(area, label, index)?;
            }
            return Some(self.early_at + slot_offset(index - self.early_first));
        }
        if self.ring_at == 0 {
            let words = SLOTS + RING_SLOTS as usize * OCCURRENCE_WORDS;
            self.ring_at = SLOTS as u32
                + area.append(Kind::Ring, words, |words| {
                    words[..SLOTS].copy_from_slice(&[u64::from(label), index]);
                })?;
            self.ring_first = index;
        }
        Some(self.ring_slot(index))
    }

    fn ring_slot(&self, index: u64) -> u32 {
        self.ring_at + slot_offset((index - KEPT_FIRST) % RING_SLOTS)
    }

    /// Room for as many early occurrences again as there are.
    #[cold]
    fn add_early(&mut self, area: &mut Area, label: u32, index: u64) -> Option<()> {
        let room = index.max(4).min(KEPT_FIRST - index);
        let words = SLOTS + room as usize * OCCURRENCE_WORDS;
        let at = area.append(Kind::Occurrences, words, |words| {
            words[..SLOTS].copy_from_slice(&[u64::from(label), index]);
        })?;
        self.early_at = at + SLOTS as u32;
        (self.early_first, self.early_end) = (index, index + room);
        Some(())
    }

    /// Moves an occurrence of the ring to the summary.
    fn give_up(&mut self, area: &mut Area, histograms: &mut Histograms, label: u32, index: u64) {
        if self.ring_at == 0 || index < self.ring_first {
            return;
        }
        let [start_ns, end_ns, own_ns] = *area.array(self.ring_slot(index));
        let ns = match self.kind {
            LabelKind::Wall => end_ns.saturating_sub(start_ns),
            LabelKind::Calls => own_ns,
        };
        if self.more_at == 0 && !self.add_more(area, histograms, label) {
            return;
        }
        let [count, sum, min, max] = area.array(self.more_at);
        *sum = sum.saturating_add(ns);
        *min = ns.min(*min);
        *max = ns.max(*max);
        *count += 1;
        histograms.count(area, self.more, ns);
        if self.busy_at != 0 {
            busy::add(area, self.busy_at, start_ns, end_ns);
        }
    }

    #[cold]
    fn add_more(&mut self, area: &mut Area, histograms: &mut Histograms, label: u32) -> bool {
        let at = area.append(Kind::More, 5, |words| {
            words[0] = u64::from(label);
            words[3] = u64::MAX;
        });
        self.more_at = at.map_or(0, |at| at + 1);
        self.busy_at = busy::append(area, label).unwrap_or(0);
        self.more = histograms.add(Owner { id: label, which: Owner::MORE });
        at.is_some()
    }
}

/// Words before slot `slot`.
fn slot_offset(slot: u64) -> u32 {
    (slot as usize * OCCURRENCE_WORDS) as u32
}
