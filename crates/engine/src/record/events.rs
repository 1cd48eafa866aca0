//! The event table and the path names it refers to.
//!
//! Block [`Kind::Path`]: number of bytes, bytes. Block [`Kind::Events`]: number of
//! events in it, then room for [`model::Event`] records as they lie in memory.

use super::EventsConfig;
use super::area::Area;
use super::extents;
use super::heard::{Listener, Paths};
use super::index::{Index, hash_text};
use super::layout::*;
use crate::clock::monotonic_raw_ns;
use model::Event;
use model::event::NO_ID;
use model::pattern::Run;

/// Words of an event.
pub(super) const EVENT_WORDS: usize = size_of::<Event>() / 8;
const _: () = assert!(size_of::<Event>().is_multiple_of(8) && align_of::<Event>() == 8);

/// Events of a block: doubles from the first to the second.
const BLOCK_EVENTS: (usize, usize) = (64, 8192);
/// Most events that memory is made ready for before the start (240 MB).
const MAX_READY_EVENTS: u64 = 2 << 20;

#[derive(Debug)]
pub(super) struct Events {
    left_bytes: u64,
    /// One of so many events is kept, at least 1.
    sample_every: u64,
    rank: u32,
    /// Payload of the block that is being filled; meaningless while `room` is 0.
    block: u32,
    filled: u32,
    room: u32,
    paths: Index,
    path_places: Vec<u32>,
    /// The path asked for last.
    latest_path: u32,
    /// Blocks of extents so far.
    extents: u32,
    /// Who takes events instead of a longer table.
    listener: Option<Listener>,
}

impl Events {
    /// An empty table with room for the events that are expected.
    pub(super) fn create(area: &mut Area, rank: u32, config: &EventsConfig) -> Events {
        let mut events = Events {
            left_bytes: config.max_bytes,
            sample_every: config.sample_every.max(1),
            rank,
            block: 0,
            filled: 0,
            room: 0,
            paths: Index::default(),
            path_places: Vec::new(),
            latest_path: 0,
            extents: 0,
            listener: None,
        };
        // A quarter is left to path names.
        let affordable = config.max_bytes / 4 * 3 / size_of::<Event>() as u64;
        let expected =
            (config.expected / events.sample_every).min(MAX_READY_EVENTS).min(affordable) as usize;
        if expected > 0 && !area.is_heap() {
            events.add_block(area, expected);
            // Nobody waits for this time.
            area.words()[H_EVENT_OVERHEAD_NS] = 0;
        }
        events
    }

    /// Chosen by a hash of rank and number: every n-th event would always meet the same
    /// statement of a loop. The same program gets the same choice.
    #[inline]
    pub(super) fn chooses(&self, area: &mut Area, seq: u64) -> bool {
        let number = u64::from(self.rank) << 40 ^ seq;
        let chosen = self.sample_every == 1 || mix(number).is_multiple_of(self.sample_every);
        if !chosen {
            area.words()[H_LEFT_OUT_EVENTS] += 1;
        }
        chosen
    }

    #[inline]
    pub(super) fn add(&mut self, area: &mut Area, event: &Event) {
        if self.filled == self.room && !self.add_next_block(area) {
            area.words()[H_DROPPED_EVENTS] += 1;
            return;
        }
        let at = self.block as usize + 1 + self.filled as usize * EVENT_WORDS;
        let target = &mut area.words()[at..at + EVENT_WORDS];
        target.copy_from_slice(bytemuck::cast_ref::<Event, [u64; EVENT_WORDS]>(event));
        self.filled += 1;
        area.publish_word(self.block as usize, u64::from(self.filled));
    }

    /// Somebody takes the events from now on.
    pub(super) fn listen(&mut self, listener: Listener) {
        self.listener = Some(listener);
    }

    /// Gives what was not given yet to who listens.
    pub(super) fn hand_over(&mut self, area: &mut Area) {
        let Some(listener) = self.listener.as_ref().filter(|_| self.filled > 0) else { return };
        let words = area.read();
        let from = self.block as usize + 1;
        let events = &words[from..from + self.filled as usize * EVENT_WORDS];
        listener.hear(self.rank, events, &Paths { words, places: &self.path_places });
        area.publish_word(self.block as usize, 0);
        self.filled = 0;
    }

    #[cold]
    fn add_next_block(&mut self, area: &mut Area) -> bool {
        if self.listener.is_some() && self.room > 0 {
            self.hand_over(area);
            return true;
        }
        let wanted = (2 * self.room as usize).clamp(BLOCK_EVENTS.0, BLOCK_EVENTS.1);
        self.add_block(area, wanted)
    }

    fn add_block(&mut self, area: &mut Area, wanted: usize) -> bool {
        let affordable = self.left_bytes.saturating_sub(16) as usize / size_of::<Event>();
        let events = wanted.min(affordable);
        let Some(at) =
            self.append(area, Kind::Events, 1 + events * EVENT_WORDS, events > 0, |_| ())
        else {
            return false;
        };
        (self.block, self.filled, self.room) = (at, 0, events as u32);
        true
    }

    /// Appends a block on the events' account, never out of the statistics' reserve.
    fn append(
        &mut self,
        area: &mut Area,
        kind: Kind,
        words: usize,
        wanted: bool,
        fill: impl FnOnce(&mut [u64]),
    ) -> Option<u32> {
        let bytes = 8 * (1 + words as u64);
        if !wanted || bytes > self.left_bytes {
            return None;
        }
        if !self.make_room(area, 1 + words) {
            self.left_bytes = 0;
            return None;
        }
        self.left_bytes -= bytes;
        area.append(kind, words, fill)
    }

    /// Growing takes time between operations: it is told in the evidence.
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
        area.words()[H_EVENT_OVERHEAD_NS] += monotonic_raw_ns() - start_ns;
        made
    }

    /// The id of a path; [`NO_ID`] when there is no room left. Mostly it is the latest one again,
    /// or programs go through their files in the same order as before.
    #[inline]
    pub(super) fn path(&mut self, area: &mut Area, path: &[u8]) -> u32 {
        let latest = self.latest_path;
        let likely = [latest, latest.wrapping_add(1)];
        if let Some(id) = likely.into_iter().find(|id| self.is_path(area, *id, path)) {
            self.latest_path = id;
            return id;
        }
        self.find_path(area, path)
    }

    #[inline(always)]
    fn is_path(&self, area: &Area, id: u32, path: &[u8]) -> bool {
        let Some(place) = self.path_places.get(id as usize) else { return false };
        let words = &area.read()[*place as usize..];
        words[0] == path.len() as u64 && starts_with(&words[1..], path)
    }

    #[inline(never)]
    fn find_path(&mut self, area: &mut Area, path: &[u8]) -> u32 {
        let hash = hash_text(path);
        let found = self.paths.find(hash, |id| self.is_path(area, id, path));
        let id = found.unwrap_or_else(|| self.add_path(area, hash, path));
        if id != NO_ID {
            self.latest_path = id;
        }
        id
    }

    /// Keeps pieces of a file; the number that events have for them, 0 when there is no room left.
    #[cold]
    pub(super) fn extents(&mut self, area: &mut Area, pieces: u64, runs: &[Run]) -> u32 {
        let runs = &runs[..runs.len().min(extents::MAX_RUNS)];
        let words = 1 + extents::RUN_WORDS * runs.len();
        let put = |words: &mut [u64]| extents::put(words, pieces, runs);
        if self.append(area, Kind::Extents, words, !runs.is_empty(), put).is_none() {
            return 0;
        }
        self.extents += 1;
        self.extents
    }

    #[cold]
    fn add_path(&mut self, area: &mut Area, hash: u64, path: &[u8]) -> u32 {
        let words = 1 + words_for(path.len());
        let at = self.append(area, Kind::Path, words, true, |words| {
            words[0] = path.len() as u64;
            put_bytes(&mut words[1..], path);
        });
        let Some(at) = at else { return NO_ID };
        let id = self.path_places.len() as u32;
        self.path_places.push(at);
        self.paths.insert(hash, id);
        id
    }
}

/// The words begin with these bytes; zeros fill the last word. Paths are too short for a
/// call of memcmp to pay.
#[inline(always)]
fn starts_with(words: &[u64], bytes: &[u8]) -> bool {
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder();
    let whole = bytes.len() / 8;
    let Some(words) = words.get(..whole + 1) else { return as_bytes(words).starts_with(bytes) };
    let same = chunks
        .zip(words)
        .all(|(chunk, word)| u64::from_ne_bytes(chunk.try_into().unwrap_or_default()) == *word);
    same && rest.iter().zip(words[whole].to_ne_bytes()).all(|(byte, stored)| *byte == stored)
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, OOPSLA 2014), after one step of its sequence.
#[inline]
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
