//! Where the bytes of each label come from and go to: what was made stable, what was fetched from
//! storage, what the caches held. Counted outside of every clock reading.
//!
//! Data is stable for a label if it was made so before the same occurrence of the label ended:
//! a later `sync` is none of the label's time. Parts of a loop with a limit (`until`, `wear-out`)
//! belong to the label around them. Handles know what was written through them, at
//! which level of labels; `fsync` takes that back, `sync` everything that the rank has written.

use super::evidence::READERS;
use super::handles::Mode;
use super::io::Io;
use super::labels::Labels;
use super::path::{Place, RUN};
use crate::buffer::{Buffers, Content};
use crate::call::Fd;
use crate::recorder::{Count, Recorder, TrafficId};
use model::plan::Pc;
use std::io;

/// Shortest time between two readings of the counter of fetched bytes.
const FETCH_PERIOD_NS: u64 = 1_000_000;
impl Labels {
    /// Bytes were written in the innermost label that the program names; gives its level and occurrence.
    #[inline(always)]
    fn wrote(&mut self, recorder: &mut Recorder, place: Place, bytes: u64) -> (usize, u64) {
        let (depth, there) = self.there(recorder, place);
        recorder.count(there.traffic, Count::Unstable, bytes);
        there.unstable_bytes += bytes;
        (depth, there.occurrence)
    }

    /// Bytes of an occurrence became stable, if it goes on.
    fn made_stable(
        &mut self,
        recorder: &mut Recorder,
        place: Place,
        (occurrence, bytes): (u64, u64),
    ) {
        let mut open = self.open().map(|frame| &mut frame.places[place]);
        if let Some(there) = open.find(|there| there.occurrence == occurrence) {
            let bytes = bytes.min(there.unstable_bytes);
            there.unstable_bytes -= bytes;
            recorder.uncount(there.traffic, Count::Unstable, bytes);
        }
    }

    /// All bytes in a directory became stable; what handles know of them holds no longer.
    fn made_all_stable(&mut self, recorder: &mut Recorder, place: Place) {
        let mut occurrence = self.occurrences;
        for there in self.open().map(|frame| &mut frame.places[place]) {
            occurrence += 1;
            there.occurrence = occurrence;
            let bytes = std::mem::take(&mut there.unstable_bytes);
            recorder.uncount(there.traffic, Count::Unstable, bytes);
        }
        self.occurrences = occurrence;
    }
}

impl Io<'_> {
    /// An operation of its own has written to a path, through the page cache and nothing made it stable
    /// if `unstable`.
    #[inline(always)]
    pub(super) fn wrote(&mut self, place: Place, bytes: u64, unstable: bool) {
        self.moved(place, Count::Written, bytes);
        if unstable {
            self.labels.wrote(&mut self.recorder, place, bytes);
        }
    }

    /// Bytes were moved in a directory, which the rows do not tell if there are several.
    #[inline(always)]
    fn moved(&mut self, place: Place, count: Count, bytes: u64) {
        if self.several {
            let block = self.labels.traffic(&mut self.recorder, place);
            self.recorder.count(block, count, bytes);
        }
    }

    /// A handle was written to by an operation that does not sync. Direct writes have bypassed the page
    /// cache, so nothing of them is unsynced.
    #[inline(always)]
    pub(super) fn wrote_to(&mut self, at: usize, mode: Mode, bytes: u64) {
        self.moved(mode.place, Count::Written, bytes);
        if !mode.stable && mode.direct.is_none() {
            let (depth, occurrence) = self.labels.wrote(&mut self.recorder, mode.place, bytes);
            self.handles.get(at).dirty.add(depth, occurrence, bytes);
        }
    }

    /// A handle's file was made stable.
    pub(super) fn made_stable(&mut self, at: usize) {
        let handle = self.handles.get(at);
        let (dirty, place) = (std::mem::take(&mut handle.dirty), handle.mode.place);
        for level in dirty.levels.into_iter().filter(|level| level.1 > 0) {
            self.labels.made_stable(&mut self.recorder, place, level);
        }
    }

    /// All files of a directory were made stable.
    pub(super) fn made_all_stable(&mut self, place: Place) {
        self.labels.made_all_stable(&mut self.recorder, place);
    }

    /// Bytes were read.
    #[inline(always)]
    pub(super) fn was_read(&mut self, place: Place, is_direct: bool, bytes: u64) {
        self.moved(place, Count::Read, bytes);
        self.labels.home().1.has_read = true;
        if is_direct {
            let block = self.labels.traffic(&mut self.recorder, place);
            self.recorder.count(block, Count::DirectRead, bytes);
        }
    }

    /// Bytes of `engine="null"` count as moved: they are none of what is known of a label's bytes.
    #[inline(always)]
    pub(super) fn moved_nothing(&mut self, writes: bool, bytes: u64) {
        let block = self.labels.traffic(&mut self.recorder, RUN);
        let count = if writes { Count::NullWritten } else { Count::NullRead };
        self.recorder.count(block, Count::Nulled, 1);
        self.recorder.count(block, count, bytes);
    }

    /// A file was opened for reading: some are looked at.
    #[inline(always)]
    pub(super) fn opened_for_reading(&mut self, fd: Fd, is_direct: bool) {
        let block = self.labels.traffic(&mut self.recorder, self.paths[0].place);
        let of_label = self.recorder.count(block, Count::Opened, 1);
        if self.traffic.files.choose(of_label) {
            self.look_at(block, fd, is_direct);
        }
    }

    #[cold]
    fn look_at(&mut self, block: TrafficId, fd: Fd, is_direct: bool) {
        let Some(found) = self.backend.look(fd) else { return };
        let recorder = &mut self.recorder;
        if let Some(cached_bytes) = found.cached_bytes.filter(|_| !is_direct) {
            recorder.count(block, Count::Looked, found.size_bytes);
            recorder.count(block, Count::Cached, cached_bytes);
        }
        if let Some(extents) = found.extents {
            recorder.count(block, Count::Mapped, extents.mapped_bytes);
            recorder.count(block, Count::Holes, extents.hole_bytes);
            recorder.count(block, Count::Encoded, extents.encoded_bytes);
        }
    }

    /// The first path is about to be looked up: of some it is asked whether the name cache has it.
    #[inline(always)]
    pub(super) fn looks_up_name(&mut self) {
        let block = self.labels.traffic(&mut self.recorder, self.paths[0].place);
        let of_label = self.recorder.count(block, Count::Names, 1);
        if self.traffic.names.choose(of_label) {
            self.look_for_name(block);
        }
    }

    #[cold]
    fn look_for_name(&mut self, block: TrafficId) {
        if let Some(is_known) = self.backend.knows_name(self.paths[0].as_c_str()) {
            self.recorder.count(block, Count::LookedNames, 1);
            self.recorder.count(block, Count::CachedNames, u64::from(is_known));
        }
    }

    /// The loop of the limit at `site` was ended by it.
    #[cold]
    pub(super) fn limit_reached(&mut self, site: Pc) {
        self.recorder.limit_reached(site);
        self.label_timed();
    }

    /// Time decides how often operations of the innermost label are executed.
    pub(super) fn label_timed(&mut self) {
        let block = self.labels.traffic(&mut self.recorder, RUN);
        self.recorder.count(block, Count::Timed, 1);
    }

    /// A label is about to begin or has just ended: what was fetched belongs to those that have
    /// read since it was asked for last.
    #[inline(always)]
    pub(super) fn label_changes(&mut self) {
        if let Some((asked_ns, bytes)) = self.traffic.fetched.last
            && self.traffic.fetched.operations != self.operations
        {
            let now_ns = self.clock.now();
            self.note_reader();
            let is_due = now_ns.saturating_sub(asked_ns) >= FETCH_PERIOD_NS;
            if is_due || self.traffic.fetched.count == READERS {
                self.ask_fetched(now_ns, bytes);
            }
        }
    }

    /// The program has ended.
    pub(super) fn last_label_ended(&mut self) {
        if let Some((_, bytes)) = self.traffic.fetched.last {
            self.note_reader();
            self.ask_fetched(u64::MAX, bytes);
        }
    }

    #[inline(always)]
    fn note_reader(&mut self) {
        // Nobody tells in which directory: it is counted once.
        if std::mem::take(&mut self.labels.home().1.has_read) {
            let block = self.labels.traffic(&mut self.recorder, RUN);
            let fetched = &mut self.traffic.fetched;
            if !fetched.readers[..fetched.count].contains(&block) {
                fetched.readers[fetched.count] = block;
                fetched.count += 1;
            }
        }
    }

    #[cold]
    fn ask_fetched(&mut self, now_ns: u64, before_bytes: u64) {
        let bytes = self.backend.fetched_bytes().unwrap_or(before_bytes);
        let fetched = &mut self.traffic.fetched;
        for reader in &fetched.readers[..std::mem::take(&mut fetched.count)] {
            let more_bytes = bytes.saturating_sub(before_bytes);
            self.recorder.count(*reader, Count::Fetched, more_bytes);
        }
        (fetched.last, fetched.operations) = (Some((now_ns, bytes)), self.operations);
    }

    /// Fills `bytes` bytes; measures the time of some of the fillings.
    #[inline(always)]
    pub(super) fn fill<T>(&mut self, bytes: u64, fill: impl FnOnce(&mut Self) -> T) -> T {
        if !self.fillings.on {
            return fill(self);
        }
        let block = self.labels.traffic(&mut self.recorder, RUN);
        let weight = self.fillings.weight(block, bytes);
        if weight == 0 || self.options.active().data == Content::Marked {
            return fill(self);
        }
        let start_ns = self.clock.now();
        let filled = fill(self);
        self.count_filling((start_ns, weight), bytes);
        filled
    }

    #[cold]
    fn count_filling(&mut self, (start_ns, weight): (u64, u64), bytes: u64) {
        let ns = self.clock.now().saturating_sub(start_ns);
        let block = self.labels.traffic(&mut self.recorder, RUN);
        for (count, more) in [(Count::MadeSample, bytes), (Count::MadeSampleNs, ns)] {
            self.recorder.count(block, count, more.saturating_mul(weight));
        }
    }

    /// Makes memory that was not made before the program started, and counts the time that takes.
    #[cold]
    pub(super) fn make_memory<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let start_ns = self.clock.now();
        let made = make(self);
        let ns = self.clock.now().saturating_sub(start_ns);
        if self.fillings.on {
            let block = self.labels.traffic(&mut self.recorder, RUN);
            self.recorder.count(block, Count::MemoryNs, ns);
        }
        made
    }

    /// Makes what a write of `len` bytes needs and is not there yet.
    #[inline(always)]
    pub(super) fn make_room(&mut self, buffers: &mut Buffers, len: usize) {
        let content = self.options.active().data;
        if !buffers.is_ready(content, len) && buffers.lacks(content, len) {
            self.make_memory(|_| buffers.make_room(content, len));
        }
    }

    /// Room for `len` bytes that are read.
    #[inline(always)]
    pub(super) fn target<'b>(
        &mut self,
        buffers: &'b mut Buffers,
        len: usize,
    ) -> io::Result<&'b mut [u8]> {
        match buffers.has_target(len) {
            true => buffers.target(len),
            false => self.make_memory(|_| buffers.target(len)),
        }
    }

    /// The data to write at a place of a file.
    #[inline(always)]
    pub(super) fn source<'b>(
        &mut self,
        buffers: &'b mut Buffers,
        len: usize,
        offset_bytes: u64,
    ) -> io::Result<&'b [u8]> {
        self.make_room(buffers, len);
        let content = self.options.active().data;
        self.fill(len as u64, |_| buffers.source(content, len, offset_bytes))
    }
}
