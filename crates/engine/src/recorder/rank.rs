//! The recorder of one rank: what the execute loop calls.
//!
//! Nothing here allocates process memory, formats or locks once a label, an
//! operation or a site has been seen; the area grows between operations.

use super::area::{Area, At, Medium};
use super::counters::{Arrived, ClaimedWork, Count, Keyed, Traffic, TrafficId, find};
use super::events::{Events, EventsConfig, Listener};
use super::failures::ZeroRanges;
use super::labels::Labels;
use super::layout::*;
use super::read::{RankRecord, read};
use super::stats::Stats;
use crate::clock::align::Alignment;
use crate::host::Usage;
use model::Event;
use model::event::NO_ID;
use model::pattern::Run;
use model::run::MpiFileFacts;
use std::collections::HashMap;
use std::io;

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
    pub(super) area: Area,
    pub(super) stats: Stats,
    pub(super) labels: Labels,
    /// The first counter of each run of sites; `None`: not there yet.
    pub(super) sites: Vec<Option<At<SiteCount>>>,
    /// Counts of failures by site.
    pub(super) failures: HashMap<u32, At<FailureCount>>,
    traffic: Keyed<Traffic>,
    claimed: Keyed<ClaimedWork>,
    arrivals: Keyed<Arrived>,
    pub(super) zeros: ZeroRanges,
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
    pub(super) fn used_area(&self) -> &[u8] {
        as_bytes(&self.area.read()[..self.area.used()])
    }
}
