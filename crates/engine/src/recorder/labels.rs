//! Label paths and their occurrences: the first and the last are kept one by one, of the others their times
//! and when they were.

use super::Recorder;
use super::area::{Area, At};
use super::layout::*;
use super::times::{HistogramId, Histograms};
use bytemuck::Zeroable;
use model::plan::LabelKind;
use rustc_hash::FxHashMap;

/// Label 0: [`MORE_LABEL`].
const MORE: u32 = 0;

#[derive(Debug, Default)]
pub(super) struct Labels {
    hot: Vec<Hot>,
    /// By kind and path.
    ids: FxHashMap<Vec<u8>, u32>,
    /// Kind and path that are looked up.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Hot {
    at: At<Label>,
    kind: LabelKind,
    path_bytes: u32,
    /// Slots of the early occurrences from the first of these indices up to the second; the latest block.
    early: Option<(At<Slot>, u64, u64)>,
    /// The first slot of the ring, and the index of the first occurrence that it ever held.
    ring: Option<(At<Slot>, u64)>,
    /// Times of the occurrences that were given up.
    more: Option<HistogramId>,
    /// When those were executed.
    busy: Option<At<Busy>>,
}

impl Recorder {
    /// The id of the label `text` directly inside the label `parent` ([`model::event::NO_ID`]: inside none). Call it
    /// on every entry. Past 4,096 different paths all get the id of `(more)`.
    pub fn label(&mut self, parent: u32, text: &[u8], kind: LabelKind) -> u32 {
        if parent == MORE {
            return self.beyond();
        }
        let mut key = std::mem::take(&mut self.labels.key);
        key.clear();
        key.push(kind as u8);
        if let Some(outer) = self.labels.hot.get(parent as usize) {
            key.extend_from_slice(outer.path(&self.area));
            key.push(b'/');
        }
        key.extend_from_slice(text);
        let id = match self.labels.ids.get(&key) {
            Some(id) => *id,
            None => self.add_label(&key, kind),
        };
        self.labels.key = key;
        id
    }

    #[cold]
    fn add_label(&mut self, key: &[u8], kind: LabelKind) -> u32 {
        let has_room = self.labels.hot.len() <= MAX_LABELS;
        let added = if has_room { self.labels.add(&mut self.area, &key[1..], kind) } else { None };
        let Some(id) = added else { return self.beyond() };
        self.labels.ids.insert(key.to_vec(), id);
        id
    }

    /// Counts an execution of a label that has no path of its own.
    fn beyond(&mut self) -> u32 {
        self.area.header().labels_beyond_limit += 1;
        MORE
    }

    /// The innermost label that this rank is inside of ([`model::event::NO_ID`]: none), for readers of the area.
    pub fn inside(&mut self, label: u32) {
        self.area.header().inside = u64::from(label.wrapping_add(1));
    }

    /// A label was entered at `start_ns`.
    pub fn entered(&mut self, label: u32, start_ns: u64) {
        if let Some(hot) = self.labels.hot.get(label as usize) {
            self.area.get(hot.at).entered = start_ns.saturating_add(1);
        }
    }

    /// A label was executed from `start_ns` to `end_ns`; `own_ns`: sum of the operations' own times inside. Keeps
    /// the occurrence, and gives up the oldest that is not among the first.
    pub fn occurrence(&mut self, label: u32, start_ns: u64, end_ns: u64, own_ns: u64) {
        if end_ns < start_ns {
            self.clock_went_backward(1);
        }
        let times = Slot { start_ns, end_ns: end_ns.max(start_ns), own_ns };
        let Some(hot) = self.labels.hot.get_mut(label as usize) else { return };
        let area = &mut self.area;
        let index = area.get(hot.at).count;
        if let Some(slot) = hot.slot(area, label, index) {
            *area.get(slot) = times;
        }
        area.publish(hot.at.word() + std::mem::offset_of!(Label, count) / 8, index + 1);
        area.get(hot.at).entered = 0;
        if index >= KEPT_FIRST + KEPT_LAST {
            hot.give_up(area, &mut self.stats.histograms, label, index - KEPT_LAST);
        }
    }
}

impl Labels {
    /// Makes label [`MORE`]; `None` when there is no room.
    pub(super) fn create(area: &mut Area) -> Option<Labels> {
        let mut labels = Labels::default();
        labels.add(area, MORE_LABEL, LabelKind::Wall)?;
        Some(labels)
    }

    fn add(&mut self, area: &mut Area, path: &[u8], kind: LabelKind) -> Option<u32> {
        if path.len() > MAX_LABEL_BYTES {
            return None;
        }
        let path_bytes = path.len() as u32;
        let label = Label { kind: kind as u32, path_bytes, count: 0, entered: 0 };
        let at = area.append_text(Kind::Label, &label, path)?;
        let (early, ring, more, busy) = (None, None, None, None);
        self.hot.push(Hot { at, kind, path_bytes, early, ring, more, busy });
        Some((self.hot.len() - 1) as u32)
    }
}

impl Hot {
    fn path<'a>(&self, area: &'a Area) -> &'a [u8] {
        let path = &area.read()[self.at.word() + words_of::<Label>()..];
        &as_bytes(path)[..self.path_bytes as usize]
    }

    /// Where occurrence `index` goes; `None` when there is no room.
    fn slot(&mut self, area: &mut Area, label: u32, index: u64) -> Option<At<Slot>> {
        if index < KEPT_FIRST {
            let (at, first, _) = match self.early {
                Some(early) if index < early.2 => early,
                _ => self.add_early(area, label, index)?,
            };
            return Some(at.nth(index - first));
        }
        if self.ring.is_none() {
            let at = add_slots(area, label, index, RING_SLOTS)?;
            self.ring = Some((at, index));
        }
        self.ring_slot(index)
    }

    /// The slot of an occurrence that the ring has held; `None`: it never did.
    fn ring_slot(&self, index: u64) -> Option<At<Slot>> {
        let (at, _) = self.ring.filter(|(_, first)| index >= *first)?;
        Some(at.nth((index - KEPT_FIRST) % RING_SLOTS))
    }

    /// Room for as many early occurrences again as there are.
    #[cold]
    fn add_early(
        &mut self,
        area: &mut Area,
        label: u32,
        index: u64,
    ) -> Option<(At<Slot>, u64, u64)> {
        let room = index.max(4).min(KEPT_FIRST - index);
        self.early = Some((add_slots(area, label, index, room)?, index, index + room));
        self.early
    }

    /// Moves an occurrence of the ring to the summary.
    fn give_up(&mut self, area: &mut Area, histograms: &mut Histograms, label: u32, index: u64) {
        let Some(slot) = self.ring_slot(index) else { return };
        let Slot { start_ns, end_ns, own_ns } = *area.get(slot);
        let ns = match self.kind {
            LabelKind::Wall => end_ns.saturating_sub(start_ns),
            LabelKind::Calls => own_ns,
        };
        let Some(more) = self.more.or_else(|| self.add_more(area, histograms, label)) else {
            return;
        };
        histograms.count(area, more, ns);
        if let Some(busy) = self.busy {
            area.get(busy).add(start_ns, end_ns);
        }
    }

    #[cold]
    fn add_more(
        &mut self,
        area: &mut Area,
        histograms: &mut Histograms,
        label: u32,
    ) -> Option<HistogramId> {
        self.more = histograms.append(area, Owner { id: label, which: Owner::MORE });
        self.more?;
        let busy = Busy { label: u64::from(label), ..Busy::zeroed() };
        self.busy = area.append(Kind::Busy, &busy);
        self.more
    }
}

fn add_slots(area: &mut Area, label: u32, first: u64, slots: u64) -> Option<At<Slot>> {
    let own = Occurrences { label: u64::from(label), first };
    let words = slots as usize * words_of::<Slot>();
    let at = area.append_with(Kind::Occurrences, &own, words, |_| ())?;
    Some(at.behind(size_of::<Occurrences>()))
}

impl Busy {
    /// Adds an occurrence. They come in order of their ends.
    fn add(&mut self, start_ns: u64, end_ns: u64) {
        self.sum_ns = self.sum_ns.saturating_add(end_ns.saturating_sub(start_ns));
        let (mut start_ns, mut at) = (start_ns, self.count as usize);
        // Occurrences of `(more)` can lie inside one another, so one may cover several.
        while at > 0 && reaches(self.intervals[at - 1], start_ns, self.gap_ns) {
            start_ns = start_ns.min(self.intervals[at - 1][0]);
            at -= 1;
        }
        self.intervals[at] = [start_ns, end_ns];
        self.count = at as u64 + 1;
        if at + 1 == BUSY_INTERVALS {
            self.thin_out();
        }
    }

    /// Closes the shorter half of the gaps.
    #[cold]
    fn thin_out(&mut self) {
        let mut gaps = [0; BUSY_INTERVALS - 1];
        self.gap_ns = nth_gap(&self.intervals, BUSY_INTERVALS / 2, &mut gaps).saturating_add(1);
        self.count = join_intervals(&mut self.intervals, self.gap_ns) as u64;
    }
}

/// Start and end, nanoseconds.
pub(crate) type Interval = [u64; 2];

/// An interval reaches a later start, if need be over a gap that is closed.
fn reaches([_, end_ns]: Interval, start_ns: u64, gap_ns: u64) -> bool {
    start_ns <= end_ns || start_ns - end_ns < gap_ns
}

/// Joins sorted intervals that touch or overlap, or leave a gap shorter than `gap_ns`; their new number.
pub(crate) fn join_intervals(intervals: &mut [Interval], gap_ns: u64) -> usize {
    let mut last = 0;
    for at in 1..intervals.len() {
        let next = intervals[at];
        let joined = &mut intervals[last];
        if reaches(*joined, next[0], gap_ns) {
            joined[1] = joined[1].max(next[1]);
        } else {
            last += 1;
            intervals[last] = next;
        }
    }
    intervals.len().min(last + 1)
}

/// The `n`-th shortest gap between intervals, from 0. `gaps`: room for all gaps.
pub(crate) fn nth_gap(intervals: &[Interval], n: usize, gaps: &mut [u64]) -> u64 {
    for (gap_ns, pair) in gaps.iter_mut().zip(intervals.windows(2)) {
        *gap_ns = pair[1][0].saturating_sub(pair[0][1]);
    }
    *gaps.select_nth_unstable(n).1
}
