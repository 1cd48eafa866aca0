//! The recorder of one rank: what the execute loop calls.
//!
//! Kept are label paths and their occurrences (the first and the last one by one, of the others their times and
//! when they were), figures per label and operation, executions by place in the program, failed operations, and
//! where verified reads found zeros. Times are exact figures and histograms that are sparse by octave, with the
//! bucket numbers of [`model::histogram`].
//!
//! Nothing here allocates process memory, formats or locks once a label, an
//! operation or a site has been seen; the area grows between operations.

use super::area::{Area, At, Medium};
use super::counters::{Arrived, ClaimedWork, Count, Keyed, Traffic, TrafficId, find};
use super::events::{Events, EventsConfig, Listener};
use super::layout::*;
use super::read::{RankRecord, read};
use crate::clock::Alignment;
use crate::host::Usage;
use bytemuck::Zeroable;
use model::event::NO_ID;
use model::histogram::{CHUNKS, SUB_BITS, SUB_BUCKETS, bucket};
use model::pattern::Run;
use model::plan::LabelKind;
use model::run::MpiFileFacts;
use model::{Event, Op, Part};
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::io;
use std::mem::offset_of;
use std::ops::Range;

/// Words that are ready before the start for statistics of the first labels and operations.
const READY_WORDS: usize = (256 << 10) / 8;

/// Longest text of an MPI file that is kept, bytes; a longer one loses its end.
const MAX_MPI_TEXT_BYTES: usize = 8192;

/// Facts a recorder needs at the start.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// World rank.
    pub rank: u32,
    /// Number of ranks in the world.
    pub ranks: u32,
    /// Length of the plan's code: sites are below it.
    pub sites: u32,
    /// Keep an event table.
    pub events: Option<EventsConfig>,
}

/// Records what one rank does.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) area: Area,
    stats: Stats,
    labels: Labels,
    /// The first counter of each run of sites; `None`: not there yet.
    pub(crate) sites: Vec<Option<At<SiteCount>>>,
    /// Counts of failures by site.
    pub(crate) failures: HashMap<u32, At<FailureCount>>,
    traffic: Keyed<Traffic>,
    claimed: Keyed<ClaimedWork>,
    arrivals: Keyed<Arrived>,
    zeros: ZeroRanges,
    events: Option<Events>,
}

impl Recorder {
    /// A recorder whose area says "running". An error is the file system's or the kernel's.
    pub fn create(medium: Medium, meta: &Meta) -> io::Result<Recorder> {
        let events_bytes = meta.events.map_or(0, |events| events.max_bytes);
        let mut area = Area::create(medium, events_bytes)?;
        let header = area.header();
        (header.magic, header.byte_order, header.version) = (MAGIC, BYTE_ORDER, VERSION);
        (header.rank, header.ranks) = (meta.rank, meta.ranks);
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let events = meta.events.map(|config| Events::create(&mut area, meta.rank, &config));
        if !area.is_heap() {
            area.make_room(READY_WORDS);
        }
        Ok(Recorder {
            stats: Stats::create(&mut area).ok_or_else(full)?,
            labels: Labels::create(&mut area).ok_or_else(full)?,
            sites: vec![None; (meta.sites as usize).div_ceil(SITES_PER_BLOCK)],
            failures: HashMap::new(),
            traffic: Keyed::default(),
            claimed: Keyed::default(),
            arrivals: Keyed::default(),
            zeros: ZeroRanges::default(),
            events,
            area,
        })
    }

    /// Gives events to a listener instead of keeping them.
    pub fn listen(&mut self, listener: Listener) {
        if let Some(events) = &mut self.events {
            events.listen(listener);
        }
    }

    /// This number of times the second of two clock readings was below the first.
    #[cold]
    pub fn clock_went_backward(&mut self, times: u64) {
        let count = &mut self.area.header().clock_backward;
        *count = count.saturating_add(times);
    }

    /// Where the traffic of a label ([`NO_ID`]: of none) in a directory is counted; 0 is the run
    /// directory. Stays valid; keep it.
    pub fn traffic(&mut self, label: u32, directory: u32) -> TrafficId {
        TrafficId(find(&mut self.traffic, &mut self.area, Kind::Traffic, (label, directory)))
    }

    /// Counts traffic, and gives the count so far.
    #[inline(always)]
    pub fn count(&mut self, block: TrafficId, count: Count, more: u64) -> u64 {
        let Some(word) = block.word(&mut self.area, count) else { return 0 };
        *word = word.saturating_add(more);
        *word
    }

    /// Takes back what was counted.
    #[inline(always)]
    pub fn uncount(&mut self, block: TrafficId, count: Count, less: u64) {
        if let Some(word) = block.word(&mut self.area, count) {
            *word = word.saturating_sub(less);
        }
    }

    /// Adds the rank's part in an execution of the `share` at `site` inside a label ([`NO_ID`]: of none).
    pub fn claimed(&mut self, label: u32, site: u32, figures: &ClaimedWork) {
        let key = (label, site);
        if let Some(at) = find(&mut self.claimed, &mut self.area, Kind::ClaimedWork, key) {
            self.area.get(at).add_later(figures);
        }
    }

    /// Adds an execution of the `with (rate=...)` at `site` inside a label ([`NO_ID`]: of none).
    pub fn arrived(&mut self, label: u32, site: u32, figures: &Arrived) {
        let key = (label, site);
        if let Some(at) = find(&mut self.arrivals, &mut self.area, Kind::Arrivals, key) {
            self.area.get(at).add_later(figures);
        }
    }

    /// Keeps the facts of an MPI file.
    pub fn mpi_file(&mut self, facts: &MpiFileFacts) {
        let mut facts = facts.clone();
        for text in [
            &mut facts.path,
            &mut facts.requested_hints,
            &mut facts.effective_hints,
            &mut facts.file_system,
            &mut facts.layout,
        ] {
            text.truncate(cut_at(text, MAX_MPI_TEXT_BYTES));
        }
        self.area.append_message(&Message::MpiFile(facts));
    }

    /// Keeps a figure that the program computed. Names and units that are too long lose their ends.
    pub fn score(&mut self, score: ScoreRecord) {
        let [name, unit] = [&score.name, &score.unit].map(|text| cut_text(text));
        self.area.append_message(&Message::Score(ScoreRecord { name, unit, ..score }));
    }

    /// The record of this rank so far, without paths and events.
    ///
    /// # Errors
    /// Why the record cannot be read, as a sentence.
    pub fn figures_so_far(&self) -> Result<RankRecord, String> {
        RankRecord::of_figures(&self.area.read()[..self.area.used()])
    }

    /// Events are kept, so that [`Recorder::path`] and [`Recorder::event`] are wanted.
    #[inline(always)]
    pub fn keeps_events(&self) -> bool {
        self.events.is_some()
    }

    /// The event with this number belongs into the table; one that does not is counted. Ask once
    /// per event, before its paths are looked up.
    #[inline]
    pub fn chooses_event(&mut self, seq: u64) -> bool {
        self.events.as_ref().is_some_and(|events| events.chooses(&mut self.area, seq))
    }

    /// The id of a path in the event table; [`NO_ID`] without one or without room.
    #[inline]
    pub fn path(&mut self, path: &[u8]) -> u32 {
        self.events.as_mut().map_or(NO_ID, |events| events.path(&mut self.area, path))
    }

    /// Keeps pieces of a file for events; what [`Event::extents`] then is.
    pub fn extents(&mut self, pieces: u64, runs: &[Run]) -> u32 {
        self.events.as_mut().map_or(0, |events| events.extents(&mut self.area, pieces, runs))
    }

    /// Adds an event to the table, or counts it as dropped when the table is full. Readers see it with
    /// [`Recorder::publish_event`]: its operation is counted in between, so that a kill at any moment leaves both or
    /// none.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        if let Some(events) = &mut self.events {
            events.add(&mut self.area, event);
        }
    }

    /// The operation of the last event has been counted.
    #[inline]
    pub fn publish_event(&mut self) {
        if let Some(events) = &self.events {
            events.publish(&mut self.area);
        }
    }

    /// How this rank's clock relates to rank 0's. Times are recorded as the rank's clock
    /// shows them; readers align them. The last one holds.
    pub fn clock(&mut self, clock: &Alignment) {
        self.area.append_message(&Message::Clock(*clock));
    }

    /// The rank has ended.
    pub fn finish(&mut self, state: State, usage: &Usage) {
        self.area.append_message(&Message::Usage(*usage));
        self.area.publish(std::mem::offset_of!(Header, state) / 8, state as u64);
    }

    /// Ends recording and reads the area.
    pub fn into_record(mut self) -> Result<RankRecord, String> {
        if let Some(events) = &mut self.events {
            events.hand_over(&mut self.area);
        }
        match self.area.take_words() {
            Some(words) => RankRecord::from_words(words),
            None => read(self.used_area()),
        }
    }

    /// The area as a reader would find it now.
    pub(crate) fn used_area(&self) -> &[u8] {
        as_bytes(&self.area.read()[..self.area.used()])
    }
}

/// Label 0: [`MORE_LABEL`].
const MORE: u32 = 0;

#[derive(Debug, Default)]
struct Labels {
    hot: Vec<HotLabel>,
    /// By kind and path.
    ids: FxHashMap<Vec<u8>, u32>,
    /// Kind and path that are looked up.
    key: Vec<u8>,
}

#[derive(Debug)]
struct HotLabel {
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
    pub(crate) fn create(area: &mut Area) -> Option<Labels> {
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
        self.hot.push(HotLabel { at, kind, path_bytes, early, ring, more, busy });
        Some((self.hot.len() - 1) as u32)
    }
}

impl HotLabel {
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

/// A label and operation of one recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatId(u32);

/// The times of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Clock before the first back-end call.
    pub start_ns: u64,
    /// Clock after the last back-end call.
    pub end_ns: u64,
    /// Sum of the back-end calls' times.
    pub busy_ns: u64,
}

#[derive(Debug, Default)]
struct Stats {
    hot: Vec<HotStat>,
    /// By label and operation.
    ids: FxHashMap<(u32, u32), StatId>,
    histograms: Histograms,
    /// Histograms of own times, where operations were due at a time.
    services: HashMap<StatId, HistogramId>,
}

/// Where the figures of a stat are counted.
#[derive(Clone, Copy, Debug)]
struct HotStat {
    at: At<Stat>,
    done: HistogramId,
    failed: HistogramId,
    /// The first of [`Part::COUNT`] histograms; `None`: the operation is simple.
    parts: Option<HistogramId>,
}

impl Recorder {
    /// Where operations of one kind inside one label ([`NO_ID`]: inside none) are counted. Stays valid; keep
    /// it.
    #[inline]
    pub fn stat(&mut self, label: u32, op: Op) -> StatId {
        let key = (label, op as u32);
        if let Some(id) = self.stats.ids.get(&key) {
            return *id;
        }
        let added = self.stats.add(&mut self.area, label, op as u32, op.is_compound());
        let Some(id) = added else { return StatId(0) };
        self.stats.ids.insert(key, id);
        id
    }

    /// An operation was executed and did not fail. `short`: the file ended early.
    #[inline(always)]
    pub fn done(&mut self, stat: StatId, site: u32, time: Timing, bytes: u64, short: bool) {
        self.count_done(stat, time, bytes, short);
        self.executed(site, time.busy_ns);
    }

    /// The same of an operation that was due at a time, from which its time counts.
    #[cold]
    pub fn done_due(
        &mut self,
        stat: StatId,
        site: u32,
        (time, due_ns): (Timing, u64),
        bytes: u64,
        short: bool,
    ) {
        let since_due_ns = time.end_ns.saturating_sub(due_ns).max(time.busy_ns);
        self.count_done(stat, Timing { busy_ns: since_due_ns, ..time }, bytes, short);
        self.overlapped(stat, since_due_ns - time.busy_ns);
        let known = self.stats.services.get(&stat).copied();
        if let Some(own) = known.or_else(|| self.stats.add_service(&mut self.area, stat)) {
            self.stats.histograms.count(&mut self.area, own, time.busy_ns);
        }
        self.executed(site, time.busy_ns);
    }

    #[inline(always)]
    fn count_done(&mut self, stat: StatId, time: Timing, bytes: u64, short: bool) {
        let hot = self.stats.hot[stat.0 as usize];
        self.stats.histograms.count(&mut self.area, hot.done, time.busy_ns);
        let stat = self.area.get(hot.at);
        stat.short += u64::from(short);
        stat.bytes = stat.bytes.saturating_add(bytes);
        stat.first_ns = stat.first_ns.min(time.start_ns);
        stat.last_ns = stat.last_ns.max(time.end_ns);
    }

    /// A part of a compound operation was executed and did not fail.
    #[inline(always)]
    pub fn part(&mut self, stat: StatId, part: Part, ns: u64) {
        if let Some(first) = self.stats.hot[stat.0 as usize].parts {
            self.stats.histograms.count(&mut self.area, first + part as u32, ns);
        }
    }

    /// This part of the time of operations is counted twice, because they were under way at the same time.
    #[inline]
    pub fn overlapped(&mut self, stat: StatId, ns: u64) {
        let stat = self.area.get(self.stats.hot[stat.0 as usize].at);
        stat.overlap_ns = stat.overlap_ns.saturating_add(ns);
    }

    /// An operation failed. `expected`: with an errno that the program names.
    #[inline]
    pub fn failed(&mut self, stat: StatId, site: u32, busy_ns: u64, expected: bool) {
        let hot = self.stats.hot[stat.0 as usize];
        let stat = self.area.get(hot.at);
        *(if expected { &mut stat.expected } else { &mut stat.failed }) += 1;
        self.stats.histograms.count(&mut self.area, hot.failed, busy_ns);
        self.executed(site, busy_ns);
    }

    /// The time limit at `site` ended its loop.
    pub fn limit_reached(&mut self, site: u32) {
        self.executed(site, 0);
    }

    /// Counts an execution of a place in the program, unless there is no room for it.
    #[inline(always)]
    fn executed(&mut self, site: u32, busy_ns: u64) {
        let (block, within) = (site as usize / SITES_PER_BLOCK, site as usize % SITES_PER_BLOCK);
        let Some(known) = self.sites.get(block) else { return };
        let Some(first) = known.or_else(|| self.add_sites(block)) else { return };
        let site = self.area.get(first.nth(within as u64));
        site.count += 1;
        site.busy_ns = site.busy_ns.saturating_add(busy_ns);
    }

    #[cold]
    fn add_sites(&mut self, block: usize) -> Option<At<SiteCount>> {
        let sites = Sites { first: (block * SITES_PER_BLOCK) as u64, ..Sites::zeroed() };
        let at = self.area.append(Kind::Sites, &sites)?;
        self.sites[block] = Some(at.behind(offset_of!(Sites, sites)));
        self.sites[block]
    }
}

impl Stats {
    /// Makes stat 0, which takes what finds no room of its own; `None` when there is no room.
    pub(crate) fn create(area: &mut Area) -> Option<Stats> {
        let mut stats = Stats::default();
        stats.add(area, NO_ID, 0, false)?;
        Some(stats)
    }

    #[cold]
    fn add(&mut self, area: &mut Area, label: u32, op: u32, compound: bool) -> Option<StatId> {
        let id = self.hot.len() as u32;
        let (done, failed_times) = (Summary::EMPTY, Summary::EMPTY);
        let stat = Stat { label, op, done, failed_times, first_ns: u64::MAX, ..Stat::zeroed() };
        let at = area.append(Kind::Stat, &stat)?;
        let mut add = |which, offset| self.histograms.add(Owner { id, which }, at.behind(offset));
        let done = add(Owner::DONE, offset_of!(Stat, done));
        let failed = add(Owner::FAILED, offset_of!(Stat, failed_times));
        let parts = if compound { self.add_parts(area, id) } else { None };
        self.hot.push(HotStat { at, done, failed, parts });
        Some(StatId(id))
    }

    fn add_parts(&mut self, area: &mut Area, id: u32) -> Option<HistogramId> {
        let mut first = None;
        for part in 0..Part::COUNT as u32 {
            let owner = Owner { id, which: Owner::PARTS + part };
            let added = self.histograms.append(area, owner)?;
            first = first.or(Some(added));
        }
        first
    }

    fn add_service(&mut self, area: &mut Area, stat: StatId) -> Option<HistogramId> {
        let owner = Owner { id: stat.0, which: Owner::SERVICE };
        let histogram = self.histograms.append(area, owner)?;
        self.services.insert(stat, histogram);
        Some(histogram)
    }
}

/// Longest path or message that is kept, bytes.
const MAX_TEXT_BYTES: usize = 4096;
/// Ranges of zeros that are kept of a rank; all are counted.
const MAX_ZEROS: u32 = 10;

/// Where verified reads found zeros.
#[derive(Debug, Default)]
struct ZeroRanges {
    kept: u32,
    last: Option<Last>,
}

/// The range that was found last.
#[derive(Debug)]
struct Last {
    label: u32,
    file: u64,
    end: u64,
    /// `None`: it is not kept.
    at: Option<At<Zeros>>,
}

impl Recorder {
    /// Particulars of an operation that failed unexpectedly; the first 10 per site are kept, all are counted.
    /// `detail`: what the back-end says besides the errno, class and text of an MPI error.
    #[cold]
    pub fn failure(
        &mut self,
        site: u32,
        op: Op,
        path: &[u8],
        (offset_bytes, errno, at_ns): (u64, u16, u64),
        detail: &str,
    ) {
        let known = self.failures.get(&site).copied();
        let Some(at) = known.or_else(|| self.add_failing(site)) else { return };
        let count = &mut self.area.get(at).count;
        *count += 1;
        if *count <= MAX_FAILURES_PER_SITE {
            let (path, detail) = (cut(path).to_vec(), cut_text(detail));
            let failure = FailureRecord { site, op, path, offset_bytes, errno, at_ns, detail };
            self.area.append_message(&Message::Failure(failure));
        }
    }

    fn add_failing(&mut self, site: u32) -> Option<At<FailureCount>> {
        if self.failures.len() == MAX_FAILING_SITES {
            return None;
        }
        let none = FailureCount { site: u64::from(site), count: 0 };
        let at = self.area.append(Kind::FailureCount, &none)?;
        self.failures.insert(site, at);
        Some(at)
    }

    /// Why the rank does not finish.
    pub fn rank_error(&mut self, site: Option<u32>, message: &str) {
        self.area.append_message(&Message::RankError(site, cut_text(message)));
    }

    /// Verified reads found zeros in a file, inside a label ([`model::event::NO_ID`]: in none); false: they go on
    /// from where others ended. `file` is a number of the file.
    #[cold]
    pub fn zeros(&mut self, label: u32, (file, path): (u64, &[u8]), range: Range<u64>) -> bool {
        let continues =
            |last: &&mut Last| (last.label, last.file, last.end) == (label, file, range.start);
        if let Some(last) = self.zeros.last.as_mut().filter(continues) {
            last.end = range.end;
            if let Some(at) = last.at {
                self.area.get(at).end = range.end;
            }
            return false;
        }
        let path = cut(path);
        let (path_bytes, start, end) = (path.len() as u32, range.start, range.end);
        let zeros = Zeros { label, path_bytes, start, end };
        let is_kept = self.zeros.kept < MAX_ZEROS;
        let at = if is_kept { self.area.append_text(Kind::Zeros, &zeros, path) } else { None };
        self.zeros.kept += u32::from(at.is_some());
        self.zeros.last = Some(Last { label, file, end, at });
        true
    }
}

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MAX_TEXT_BYTES)]
}

fn cut_text(text: &str) -> String {
    text[..cut_at(text, MAX_TEXT_BYTES)].into()
}

/// All histograms of a rank.
#[derive(Debug, Default)]
struct Histograms(Vec<Histogram>);

#[derive(Debug)]
struct Histogram {
    owner: Owner,
    summary: At<Summary>,
    /// The counters of each octave; `None`: not there yet.
    chunks: [Option<At<Chunk>>; CHUNKS],
}

/// Number of a histogram in this process.
type HistogramId = u32;

impl Histograms {
    /// A histogram without counters, whose summary is somewhere already.
    pub(crate) fn add(&mut self, owner: Owner, summary: At<Summary>) -> HistogramId {
        self.0.push(Histogram { owner, summary, chunks: [None; CHUNKS] });
        (self.0.len() - 1) as HistogramId
    }

    /// A histogram with a block of its own; `None` when there is no room.
    pub(crate) fn append(&mut self, area: &mut Area, owner: Owner) -> Option<HistogramId> {
        let at = area.append(Kind::Times, &Times { owner, summary: Summary::EMPTY })?;
        Some(self.add(owner, at.behind(offset_of!(Times, summary))))
    }

    /// Counts a time. Not inlined: system calls drive code out of the CPU's caches, and a compound
    /// operation comes here several times.
    #[inline(never)]
    pub(crate) fn count(&mut self, area: &mut Area, id: HistogramId, ns: u64) {
        let histogram = &mut self.0[id as usize];
        let summary = area.get(histogram.summary);
        summary.count += 1;
        summary.sum_ns = summary.sum_ns.saturating_add(ns);
        summary.min_ns = summary.min_ns.min(ns);
        summary.max_ns = summary.max_ns.max(ns);
        let bucket = bucket(ns);
        let number = bucket >> SUB_BITS;
        let Some(chunk) = histogram.chunks[number].or_else(|| histogram.append_chunk(area, number))
        else {
            return;
        };
        area.get(chunk).counts[bucket & (SUB_BUCKETS - 1)] += 1;
    }
}

impl Histogram {
    #[cold]
    fn append_chunk(&mut self, area: &mut Area, number: usize) -> Option<At<Chunk>> {
        let chunk = Chunk { owner: self.owner, number: number as u64, counts: [0; SUB_BUCKETS] };
        self.chunks[number] = area.append(Kind::Chunk, &chunk);
        self.chunks[number]
    }
}
