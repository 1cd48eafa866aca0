//! The event table, and the path names and extents of files that it refers to.

use super::area::{Area, At};
use super::layout::*;
use crate::clock::monotonic_raw_ns;
use crate::rng::mix;
use hashbrown::HashTable;
use model::Event;
use model::event::NO_ID;
use model::pattern::Run;
use rustc_hash::FxHasher;
use std::cell::RefCell;
use std::hash::Hasher;
use std::rc::Rc;

pub(crate) const EVENT_WORDS: usize = size_of::<Event>() / 8;
const _: () = assert!(size_of::<Event>().is_multiple_of(8) && align_of::<Event>() == 8);

/// Events of a block: doubles from the first to the second.
const BLOCK_EVENTS: (usize, usize) = (64, 8192);
/// Most events that memory is made ready for before the start (240 MB).
const MAX_READY_EVENTS: u64 = 2 << 20;
/// Runs of extents in one block; the rest are dropped.
const MAX_RUNS: usize = 4096;

/// How much of the event table is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EventsConfig {
    /// Bytes this rank may use for events and path names; what does not fit is counted.
    pub max_bytes: u64,
    /// Events that the rehearsal knows of, for which memory is made ready before the start:
    /// touching fresh memory takes longer than keeping the event. 0 if nothing is known.
    pub expected: u64,
    /// Keep one event of this number, chosen at random; 0 and 1 keep all.
    pub sample_every: u64,
}

impl EventsConfig {
    /// Bytes that the events which are expected need, a quarter of them for path names.
    pub fn expected_bytes(&self) -> u64 {
        let kept = self.expected / self.sample_every.max(1);
        (kept.saturating_mul(size_of::<Event>() as u64) / 3).saturating_mul(4).min(self.max_bytes)
    }
}

/// Takes the events of simulated ranks as they are made: they need no memory then.
pub trait Listen {
    /// A rank has executed an operation. Events come in order for each rank, not over ranks.
    fn event(&mut self, rank: u32, event: &Event, paths: &Paths<'_>);

    /// No more is needed: all ranks are interrupted.
    fn is_enough(&self) -> bool {
        false
    }
}

/// Takes the events of all ranks; they are not kept.
#[derive(Clone)]
pub struct Listener(pub Rc<RefCell<dyn Listen>>);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// Names that the events of a rank refer to.
pub struct Paths<'a> {
    area: &'a [u64],
    places: &'a [At<u64>],
}

impl Paths<'_> {
    /// The path that events refer to by this id.
    pub fn path(&self, id: u32) -> Option<&[u8]> {
        let (length, text) = self.area[self.places.get(id as usize)?.word()..].split_first()?;
        as_bytes(text).get(..*length as usize)
    }
}

#[derive(Debug)]
pub(crate) struct Events {
    left_bytes: u64,
    /// One event of this number is kept; at least 1.
    sample_every: u64,
    rank: u32,
    /// The block that is being filled: its count, and the number of events that it has room for.
    block: Option<(At<u64>, u32)>,
    filled: u32,
    /// Hashes and ids of paths; the paths are in the area.
    paths: HashTable<(u64, u32)>,
    path_places: Vec<At<u64>>,
    /// Blocks of extents so far.
    extents: u32,
    /// Takes events instead of a longer table.
    listener: Option<Listener>,
}

impl Events {
    /// An empty table with room for the events that are expected.
    pub(crate) fn create(area: &mut Area, rank: u32, config: &EventsConfig) -> Events {
        let mut events = Events {
            left_bytes: config.max_bytes,
            sample_every: config.sample_every.max(1),
            rank,
            block: None,
            filled: 0,
            paths: HashTable::new(),
            path_places: Vec::new(),
            extents: 0,
            listener: None,
        };
        // A quarter is left to path names.
        let affordable = config.max_bytes / 4 * 3 / size_of::<Event>() as u64;
        let expected =
            (config.expected / events.sample_every).min(MAX_READY_EVENTS).min(affordable) as usize;
        if expected > 0 && !area.is_heap() {
            events.add_block(area, expected);
            // The ranks have not started: nothing waits for this time.
            area.header().event_overhead_ns = 0;
        }
        events
    }

    /// Chosen by a hash of rank and number: every n-th event would always meet the same
    /// statement of a loop. The same program gets the same choice.
    #[inline]
    pub(crate) fn chooses(&self, area: &mut Area, seq: u64) -> bool {
        let number = u64::from(self.rank) << 40 ^ seq;
        let chosen = self.sample_every == 1 || mix(number).is_multiple_of(self.sample_every);
        if !chosen {
            area.header().left_out_events += 1;
        }
        chosen
    }

    #[inline]
    pub(crate) fn add(&mut self, area: &mut Area, event: &Event) {
        let block = self.block.filter(|(_, room)| self.filled < *room);
        let Some((count, _)) = block.or_else(|| self.next_block(area)) else {
            area.header().dropped_events += 1;
            return;
        };
        *area.get(count.behind::<Event>(8).nth(u64::from(self.filled))) = *event;
        self.filled += 1;
    }

    /// Shows the events that were added to readers.
    #[inline]
    pub(crate) fn publish(&self, area: &mut Area) {
        if let Some((count, _)) = self.block {
            area.publish(count.word(), u64::from(self.filled));
        }
    }

    /// The listener takes the events from now on.
    pub(crate) fn listen(&mut self, listener: Listener) {
        self.listener = Some(listener);
    }

    /// Gives the events that were not given yet to the listener.
    pub(crate) fn hand_over(&mut self, area: &mut Area) {
        let Some((count, _)) = self.block.filter(|_| self.filled > 0) else { return };
        let Some(listener) = &self.listener else { return };
        let words = area.read();
        let events = &words[count.word() + 1..][..self.filled as usize * EVENT_WORDS];
        let paths = Paths { area: words, places: &self.path_places };
        let mut listener = listener.0.borrow_mut();
        for event in bytemuck::cast_slice::<u64, Event>(events) {
            listener.event(self.rank, event, &paths);
        }
        area.publish(count.word(), 0);
        self.filled = 0;
    }

    /// A block with room for an event.
    #[cold]
    fn next_block(&mut self, area: &mut Area) -> Option<(At<u64>, u32)> {
        if self.listener.is_some() && self.block.is_some() {
            self.hand_over(area);
            return self.block;
        }
        let room = self.block.map_or(0, |(_, room)| room as usize);
        self.add_block(area, (2 * room).clamp(BLOCK_EVENTS.0, BLOCK_EVENTS.1))
    }

    fn add_block(&mut self, area: &mut Area, wanted: usize) -> Option<(At<u64>, u32)> {
        let affordable = self.left_bytes.saturating_sub(16) as usize / size_of::<Event>();
        let room = wanted.min(affordable);
        if room == 0 {
            return None;
        }
        let count = self.append(area, Kind::Events, 0, room * EVENT_WORDS, |_| ())?;
        (self.block, self.filled) = (Some((count, room as u32)), 0);
        self.block
    }

    /// Appends a block on the events' account, never out of the statistics' reserve.
    fn append(
        &mut self,
        area: &mut Area,
        kind: Kind,
        first_word: u64,
        tail_words: usize,
        fill: impl FnOnce(&mut [u64]),
    ) -> Option<At<u64>> {
        let words = 2 + tail_words;
        if 8 * words as u64 > self.left_bytes {
            return None;
        }
        if !self.make_room(area, words) {
            self.left_bytes = 0;
            return None;
        }
        self.left_bytes -= 8 * words as u64;
        area.append_with(kind, &first_word, tail_words, fill)
    }

    /// Growing takes time between operations, which the evidence states.
    fn make_room(&mut self, area: &mut Area, words: usize) -> bool {
        if area.has_room(words) {
            return true;
        }
        if area.is_heap() {
            // Simulated time must not contain real time.
            return area.make_room(words);
        }
        let start_ns = monotonic_raw_ns();
        let made = area.make_room(words);
        area.header().event_overhead_ns += monotonic_raw_ns() - start_ns;
        made
    }

    /// The id of a path; [`NO_ID`] when there is no room left.
    #[inline]
    pub(crate) fn path(&mut self, area: &mut Area, path: &[u8]) -> u32 {
        let mut hasher = FxHasher::default();
        hasher.write(path);
        let hash = hasher.finish();
        let is_same = |(known, id): &(u64, u32)| {
            let text =
                || Paths { area: area.read(), places: &self.path_places }.path(*id) == Some(path);
            *known == hash && text()
        };
        let found = self.paths.find(hash, is_same).map(|(_, id)| *id);
        found.unwrap_or_else(|| self.add_path(area, hash, path))
    }

    /// Keeps extents of a file: the number by which events refer to them, 0 when there is no room left.
    #[cold]
    pub(crate) fn extents(&mut self, area: &mut Area, count: u64, runs: &[Run]) -> u32 {
        let runs: &[u64] = bytemuck::cast_slice(&runs[..runs.len().min(MAX_RUNS)]);
        let put = |tail: &mut [u64]| tail.copy_from_slice(runs);
        if runs.is_empty() || self.append(area, Kind::Extents, count, runs.len(), put).is_none() {
            return 0;
        }
        self.extents += 1;
        self.extents
    }

    #[cold]
    fn add_path(&mut self, area: &mut Area, hash: u64, path: &[u8]) -> u32 {
        let put = |tail: &mut [u64]| put_text(tail, path);
        let length = path.len() as u64;
        let Some(at) = self.append(area, Kind::Path, length, words_for(path.len()), put) else {
            return NO_ID;
        };
        let id = self.path_places.len() as u32;
        self.path_places.push(at);
        self.paths.insert_unique(hash, (hash, id), |(hash, _)| *hash);
        id
    }
}
