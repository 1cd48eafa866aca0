//! The recorder of one rank: what the execute loop calls.
//!
//! Nothing here allocates process memory, formats or locks once a label, an
//! operation or a site has been seen; the area grows between operations.

use super::area::{Area, Medium};
use super::counters::{Arrived, ClaimedWork, Count, Keyed, Traffic, TrafficId, find};
use super::events::{Events, EventsConfig, Listener};
use super::failures::{Failed, Failures, ZeroRanges, rank_error};
use super::labels::Labels;
use super::layout::*;
use super::read::{RankRecord, read};
use super::stats::{Places, StatId, Stats, Timing};
use crate::clock::align::Alignment;
use crate::host::Usage;
use model::event::NO_ID;
use model::pattern::Run;
use model::plan::LabelKind;
use model::run::MpiFileFacts;
use model::{Event, Op, Part};
use std::io;
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
    area: Area,
    stats: Stats,
    labels: Labels,
    places: Places,
    failures: Failures,
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
            places: Places::new(meta.sites),
            failures: Failures::default(),
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

    /// The id of the label `text` directly inside the label `parent` ([`NO_ID`]: inside
    /// none). Call it on every entry. Past 4,096 different paths all get the id of `(more)`.
    pub fn label(&mut self, parent: u32, text: &[u8], kind: LabelKind) -> u32 {
        self.labels.label(&mut self.area, parent, text, kind)
    }

    /// The innermost label that this rank is inside of ([`NO_ID`]: none), for readers of the area.
    pub fn inside(&mut self, label: u32) {
        self.area.header().inside = u64::from(label.wrapping_add(1));
    }

    /// A label was entered at `start_ns`.
    pub fn entered(&mut self, label: u32, start_ns: u64) {
        self.labels.entered(&mut self.area, label, start_ns);
    }

    /// A label was executed from `start_ns` to `end_ns`; `own_ns`: sum of the operations'
    /// own times inside.
    pub fn occurrence(&mut self, label: u32, start_ns: u64, end_ns: u64, own_ns: u64) {
        if end_ns < start_ns {
            self.clock_went_backward(1);
        }
        let times = Slot { start_ns, end_ns: end_ns.max(start_ns), own_ns };
        self.labels.occurrence(&mut self.area, &mut self.stats.histograms, label, times);
    }

    /// This number of times the second of two clock readings was below the first.
    #[cold]
    pub fn clock_went_backward(&mut self, times: u64) {
        let count = &mut self.area.header().clock_backward;
        *count = count.saturating_add(times);
    }

    /// Where operations of one kind inside one label ([`NO_ID`]: inside none) are
    /// counted. Stays valid; keep it.
    #[inline]
    pub fn stat(&mut self, label: u32, op: Op) -> StatId {
        self.stats.stat(&mut self.area, label, op)
    }

    /// An operation was executed and did not fail. `short`: the file ended early.
    #[inline(always)]
    pub fn done(&mut self, stat: StatId, site: u32, time: Timing, bytes: u64, short: bool) {
        let hot = self.stats.hot(stat);
        self.stats.done(&mut self.area, hot, time, bytes, short);
        self.places.count(&mut self.area, site, time.busy_ns);
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
        let (hot, whole) = (self.stats.hot(stat), Timing { busy_ns: since_due_ns, ..time });
        self.stats.done(&mut self.area, hot, whole, bytes, short);
        self.stats.overlapped(&mut self.area, stat, since_due_ns - time.busy_ns);
        self.stats.service(&mut self.area, stat, time.busy_ns);
        self.places.count(&mut self.area, site, time.busy_ns);
    }

    /// A part of a compound operation was executed and did not fail.
    #[inline(always)]
    pub fn part(&mut self, stat: StatId, part: Part, ns: u64) {
        let hot = self.stats.hot(stat);
        self.stats.part(&mut self.area, hot, part, ns);
    }

    /// This part of the time of operations is counted twice, because they were under way at the same time.
    #[inline]
    pub fn overlapped(&mut self, stat: StatId, ns: u64) {
        self.stats.overlapped(&mut self.area, stat, ns);
    }

    /// The time limit at `site` ended its loop.
    pub fn limit_reached(&mut self, site: u32) {
        self.places.count(&mut self.area, site, 0);
    }

    /// An operation failed. `expected`: with an errno that the program names.
    #[inline]
    pub fn failed(&mut self, stat: StatId, site: u32, busy_ns: u64, expected: bool) {
        self.stats.failed(&mut self.area, stat, busy_ns, expected);
        self.places.count(&mut self.area, site, busy_ns);
    }

    /// Particulars of an operation that failed unexpectedly; the first 10 per site are
    /// kept, all are counted.
    pub fn failure(&mut self, site: u32, op: Op, path: &[u8], offset_bytes: u64, errno: u16) {
        self.failure_explained(site, op, path, (offset_bytes, errno), "");
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

    /// Verified reads found zeros in a file, inside a label ([`NO_ID`]: in none); false: they go on from where
    /// others ended.
    #[cold]
    pub fn zeros(&mut self, label: u32, file: (u64, &[u8]), range: Range<u64>) -> bool {
        self.zeros.add(&mut self.area, label, file, range)
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

    /// The same with what the back-end says besides the errno: class and text of an MPI error.
    pub fn failure_explained(
        &mut self,
        site: u32,
        op: Op,
        path: &[u8],
        (offset_bytes, errno): (u64, u16),
        detail: &str,
    ) {
        let failed = Failed { site, op, path, offset_bytes, errno, detail };
        self.failures.add(&mut self.area, &failed);
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

    /// Adds an event to the table, or counts it as dropped when the table is full.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        if let Some(events) = &mut self.events {
            events.add(&mut self.area, event);
        }
    }

    /// Why the rank does not finish.
    pub fn rank_error(&mut self, site: Option<u32>, message: &str) {
        rank_error(&mut self.area, site, message);
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

    /// Bytes of the area in use.
    pub fn used_bytes(&self) -> usize {
        8 * self.area.used()
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
    pub(super) fn used_area(&self) -> &[u8] {
        as_bytes(&self.area.read()[..self.area.used()])
    }
}
