//! The recorder of one rank: what the execute loop calls.
//!
//! Nothing here allocates process memory, formats or locks once a label, an
//! operation or a site has been seen; the area grows between operations.
//! Block [`Kind::Usage`]: the words of [`super::Usage`] in order, `u64::MAX` for `None`.
//! Block [`Kind::Clock`]: the words of both offsets of an [`Alignment`] in order, `u64::MAX`
//! for an end that is not known.

use super::area::Area;
use super::arrivals::{Arrivals, Arrived};
use super::events::Events;
use super::failures::{Failed, Failures, rank_error};
use super::heard::Listener;
use super::labels::Labels;
use super::layout::*;
use super::shares::{Shared, Shares};
use super::sites::{self, Sites};
use super::stats::{Hot, Stats};
use super::traffic::{self, Count, Traffic, TrafficId};
use super::zeros::Zeros;
use super::{Medium, Meta, RankRecord, StatId, State, Timing, Usage, read};
use crate::clock::align::{Alignment, Offset};
use model::event::NO_ID;
use model::pattern::Run;
use model::plan::LabelKind;
use model::run::MpiFileFacts;
use model::{Event, Op, Part};
use std::io;
use std::ops::Range;

/// Words that are ready before the start for statistics of the first labels and operations.
const READY_WORDS: usize = (256 << 10) / 8;

/// Records what one rank does.
#[derive(Debug)]
pub struct Recorder {
    area: Area,
    stats: Stats,
    labels: Labels,
    sites: Sites,
    failures: Failures,
    traffic: Traffic,
    shares: Shares,
    arrivals: Arrivals,
    zeros: Zeros,
    events: Option<Events>,
}

/// Where a statement inside a label is counted. Stays valid.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    hot: Hot,
    site_at: Option<u32>,
}

impl Recorder {
    /// A recorder whose area says "running". An error is the file system's or the kernel's.
    pub fn create(medium: Medium, meta: &Meta) -> io::Result<Recorder> {
        let events_bytes = meta.events.map_or(0, |events| events.max_bytes);
        let mut area = Area::create(medium, events_bytes)?;
        let header = area.words();
        header[H_MAGIC] = MAGIC;
        header[H_BYTE_ORDER] = BYTE_ORDER;
        header[H_VERSION] = VERSION;
        header[H_RANK] = pair(meta.rank, meta.ranks);
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let events = meta.events.map(|config| Events::create(&mut area, meta.rank, &config));
        if !area.is_heap() {
            area.make_room(READY_WORDS);
        }
        Ok(Recorder {
            stats: Stats::create(&mut area).ok_or_else(full)?,
            labels: Labels::create(&mut area).ok_or_else(full)?,
            sites: Sites::new(meta.sites),
            failures: Failures::default(),
            traffic: Traffic::default(),
            shares: Shares::default(),
            arrivals: Arrivals::default(),
            zeros: Zeros::default(),
            events,
            area,
        })
    }

    /// Gives events to somebody instead of keeping them.
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

    /// The innermost label that this rank is inside of ([`NO_ID`]: none), for those who look at it.
    pub fn inside(&mut self, label: u32) {
        self.area.words()[H_INSIDE] = u64::from(label.wrapping_add(1));
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
        let times = [start_ns, end_ns.max(start_ns), own_ns];
        self.labels.occurrence(&mut self.area, &mut self.stats.histograms, label, times);
    }

    /// Between two readings of the clock time went backward, so many times.
    #[cold]
    pub fn clock_went_backward(&mut self, times: u64) {
        let count = &mut self.area.words()[H_CLOCK_BACKWARD];
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
        self.sites.count(&mut self.area, site, time.busy_ns);
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
        self.sites.count(&mut self.area, site, time.busy_ns);
    }

    /// A part of a compound operation was executed and did not fail.
    #[inline(always)]
    pub fn part(&mut self, stat: StatId, part: Part, ns: u64) {
        let hot = self.stats.hot(stat);
        self.stats.part(&mut self.area, hot, part, ns);
    }

    /// Where a statement inside a label is counted, for many executions.
    #[inline(always)]
    pub fn spot(&mut self, stat: StatId, site: u32) -> Spot {
        Spot { hot: self.stats.hot(stat), site_at: self.sites.find(&mut self.area, site) }
    }

    /// A compound operation was executed once; its parts did not fail either. `None`: a part
    /// that was not executed.
    #[inline(always)]
    pub fn done_in_parts(
        &mut self,
        spot: &Spot,
        time: Timing,
        bytes: u64,
        parts: [(Part, Option<u64>); 3],
    ) {
        for (part, ns) in parts {
            if let Some(ns) = ns {
                self.stats.part(&mut self.area, spot.hot, part, ns);
            }
        }
        self.stats.done(&mut self.area, spot.hot, time, bytes, false);
        if let Some(at) = spot.site_at {
            sites::count(&mut self.area, at, time.busy_ns);
        }
    }

    /// So much of the time of operations that were counted is counted twice, because they were under way
    /// together.
    #[inline]
    pub fn overlapped(&mut self, stat: StatId, ns: u64) {
        self.stats.overlapped(&mut self.area, stat, ns);
    }

    /// The time limit at `site` ended its loop.
    pub fn limit_reached(&mut self, site: u32) {
        self.sites.count(&mut self.area, site, 0);
    }

    /// An operation failed. `expected`: with an errno that the program names.
    #[inline]
    pub fn failed(&mut self, stat: StatId, site: u32, busy_ns: u64, expected: bool) {
        self.stats.failed(&mut self.area, stat, busy_ns, expected);
        self.sites.count(&mut self.area, site, busy_ns);
    }

    /// Particulars of an operation that failed unexpectedly; the first 10 per site are
    /// kept, all are counted.
    pub fn failure(&mut self, site: u32, op: Op, path: &[u8], offset_bytes: u64, errno: u16) {
        self.failure_explained(site, op, path, (offset_bytes, errno), "");
    }

    /// Where the traffic of a label ([`NO_ID`]: of none) in a directory is counted; 0 is the run
    /// directory. Stays valid; keep it.
    pub fn traffic(&mut self, label: u32, directory: u32) -> TrafficId {
        self.traffic.of(&mut self.area, label, directory)
    }

    /// Counts traffic, and gives the count so far.
    #[inline(always)]
    pub fn count(&mut self, block: TrafficId, count: Count, more: u64) -> u64 {
        let Some(word) = traffic::word(&mut self.area, block, count) else { return 0 };
        *word = word.saturating_add(more);
        *word
    }

    /// Takes back what was counted.
    #[inline(always)]
    pub fn uncount(&mut self, block: TrafficId, count: Count, less: u64) {
        if let Some(word) = traffic::word(&mut self.area, block, count) {
            *word = word.saturating_sub(less);
        }
    }

    /// What the rank had of an execution of the `share` at `site` inside a label ([`NO_ID`]: of none).
    pub fn shared(&mut self, label: u32, site: u32, figures: &Shared) {
        self.shares.add(&mut self.area, label, site, figures);
    }

    /// What became of an execution of the `with (rate=...)` at `site` inside a label ([`NO_ID`]: of none).
    pub fn arrived(&mut self, label: u32, site: u32, figures: &Arrived) {
        self.arrivals.add(&mut self.area, label, site, figures);
    }

    /// Verified reads found zeros in a file, inside a label ([`NO_ID`]: in none); false: they go on from where
    /// others ended.
    #[cold]
    pub fn zeros(&mut self, label: u32, file: (u64, &[u8]), range: Range<u64>) -> bool {
        self.zeros.add(&mut self.area, label, file, range)
    }

    /// Keeps what is to be told of an MPI file.
    pub fn mpi_file(&mut self, facts: &MpiFileFacts) {
        super::files::add(&mut self.area, facts);
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
    /// shows them; readers align them. The last word holds.
    pub fn clock(&mut self, clock: &Alignment) {
        let words = |offset: Offset| [offset.at_ns, offset.ahead_ns as u64, offset.round_trip_ns];
        let end = clock.end.map_or([u64::MAX; 3], words);
        self.area.append(Kind::Clock, 6, |payload| {
            payload[..3].copy_from_slice(&words(clock.start));
            payload[3..].copy_from_slice(&end);
        });
    }

    /// The rank has ended.
    pub fn finish(&mut self, state: State, usage: &Usage) {
        let or_none = |figure: Option<u64>| figure.unwrap_or(u64::MAX);
        let words = [
            usage.start_ns,
            usage.end_ns,
            usage.cpu_ns,
            or_none(usage.read_bytes),
            or_none(usage.write_bytes),
            or_none(usage.rchar_bytes),
            or_none(usage.wchar_bytes),
            or_none(usage.waited_ns),
            usage.preemptions,
            usage.faults[0],
            usage.faults[1],
        ];
        self.area.append(Kind::Usage, words.len(), |payload| payload.copy_from_slice(&words));
        self.area.publish_word(H_STATE, state as u64);
    }

    /// Bytes of the area in use.
    pub fn used_bytes(&self) -> usize {
        8 * self.area.used()
    }

    /// What was recorded.
    pub fn into_record(mut self) -> Result<RankRecord, String> {
        if let Some(events) = &mut self.events {
            events.hand_over(&mut self.area);
        }
        if self.area.is_heap() {
            let words = self.area.into_words().unwrap_or_default();
            return RankRecord::from_words(words);
        }
        read(self.used_area())
    }

    /// The area as a reader would find it now.
    pub(super) fn used_area(&self) -> &[u8] {
        as_bytes(&self.area.read()[..self.area.used()])
    }
}
