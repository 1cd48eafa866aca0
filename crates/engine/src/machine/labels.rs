//! The labels a rank is inside of, and where its operations are counted.

use super::path::{PLACES, Place};
use crate::recorder::{Recorder, StatId, TrafficId};
use model::Op;
use model::event::NO_ID;
use model::plan::Label;

/// One level of nesting. Kept after the label is left: a label entered again and
/// again finds its counters in place.
#[derive(Debug)]
pub(super) struct Frame {
    id: u32,
    start_ns: u64,
    /// [`Labels::own_ns`] while a label inside is executed.
    own_ns: u64,
    /// I/O directly inside is executed.
    selected: bool,
    /// A barrier follows.
    sync: bool,
    /// Level of the label that the program names: a part of a loop belongs to the one around it.
    home: usize,
    stats: [Option<StatId>; Op::COUNT],
    /// By directory.
    pub(super) places: [AtPlace; PLACES],
    /// It has read since what is fetched was asked for last.
    pub(super) has_read: bool,
}

/// State of the bytes of a label in a directory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AtPlace {
    /// Where its traffic is counted.
    pub(super) traffic: TrafficId,
    /// Number of this occurrence, unique over all labels; a new number once all bytes are synced.
    pub(super) occurrence: u64,
    /// Bytes written in this occurrence that are not stable.
    pub(super) unstable_bytes: u64,
}

impl Frame {
    fn new(id: u32, selected: bool, sync: bool, home: usize) -> Frame {
        Frame {
            id,
            start_ns: 0,
            own_ns: 0,
            selected,
            sync,
            home,
            stats: [None; Op::COUNT],
            places: [AtPlace::default(); PLACES],
            has_read: false,
        }
    }
}

/// The stack of labels; level 0 is outside every label.
#[derive(Debug)]
pub(super) struct Labels {
    frames: Vec<Frame>,
    depth: usize,
    /// [`Frame::home`] of the innermost label.
    home: usize,
    /// Sum of the operations' own times inside the innermost label.
    pub(super) own_ns: u64,
    /// Labels of `--only`; empty: everything is executed.
    only: Vec<Vec<u8>>,
    path: Vec<u8>,
    /// Lengths of the enclosing paths.
    cuts: Vec<usize>,
    /// Occurrences so far.
    pub(super) occurrences: u64,
}

impl Labels {
    pub(super) fn new(only: &[String]) -> Labels {
        Labels {
            frames: vec![Frame::new(NO_ID, true, false, 0)],
            depth: 0,
            home: 0,
            own_ns: 0,
            only: only.iter().map(|label| label.as_bytes().to_vec()).collect(),
            path: Vec::new(),
            cuts: Vec::new(),
            occurrences: 0,
        }
    }

    /// Id of the innermost label.
    #[inline(always)]
    pub(super) fn id(&self) -> u32 {
        self.frames[self.depth].id
    }

    /// I/O is executed here (`--only`).
    #[inline(always)]
    pub(super) fn is_selected(&self) -> bool {
        self.frames[self.depth].selected
    }

    /// `--only` leaves out what is outside of its labels.
    pub(super) fn leaves_out(&self) -> bool {
        !self.only.is_empty()
    }

    /// Enters a label; call [`Labels::start`] last.
    pub(super) fn enter(&mut self, recorder: &mut Recorder, text: &[u8], label: &Label) {
        // A row without a name would be that of no label.
        let text = if text.is_empty() { b"(empty)" } else { text };
        let selected = self.selects(text);
        let id = recorder.label(self.id(), text, label.kind);
        let outer = self.frames[self.depth].home;
        self.frames[self.depth].own_ns = std::mem::take(&mut self.own_ns);
        self.depth += 1;
        let (sync, home) = (label.sync, if label.part { outer } else { self.depth });
        match self.frames.get_mut(self.depth) {
            None => self.frames.push(Frame::new(id, selected, sync, home)),
            Some(frame) if frame.id != id => *frame = Frame::new(id, selected, sync, home),
            Some(frame) => (frame.selected, frame.sync, frame.home) = (selected, sync, home),
        }
        self.home = home;
        self.occurrences += 1;
        let occurrence = self.occurrences;
        for there in &mut self.frames[self.depth].places {
            (there.occurrence, there.unstable_bytes) = (occurrence, 0);
        }
    }

    /// The clock shows the start of the innermost label.
    pub(super) fn start(&mut self, recorder: &mut Recorder, start_ns: u64) {
        let frame = &mut self.frames[self.depth];
        frame.start_ns = start_ns;
        if frame.selected {
            recorder.entered(frame.id, start_ns);
        }
    }

    /// Leaves the innermost label; true: a barrier follows.
    pub(super) fn leave(&mut self, recorder: &mut Recorder, end_ns: u64) -> bool {
        if self.depth == 0 {
            return false;
        }
        let frame = &self.frames[self.depth];
        let (id, start_ns, sync) = (frame.id, frame.start_ns, frame.sync);
        if frame.selected {
            recorder.occurrence(id, start_ns, end_ns, self.own_ns);
        }
        self.depth -= 1;
        self.home = self.frames[self.depth].home;
        self.own_ns += self.frames[self.depth].own_ns;
        if !self.only.is_empty() {
            self.path.truncate(self.cuts.pop().unwrap_or(0));
        }
        sync
    }

    /// Where an operation is counted.
    #[inline(always)]
    pub(super) fn stat(&mut self, recorder: &mut Recorder, op: Op) -> StatId {
        let frame = &mut self.frames[self.depth];
        match frame.stats[op as usize] {
            Some(stat) => stat,
            None => *frame.stats[op as usize].insert(recorder.stat(frame.id, op)),
        }
    }

    /// Where the traffic of the innermost label that the program names is counted, in a directory.
    #[inline(always)]
    pub(super) fn traffic(&mut self, recorder: &mut Recorder, place: Place) -> TrafficId {
        self.there(recorder, place).1.traffic
    }

    /// The level of that label, and what became of its bytes in a directory.
    #[inline(always)]
    pub(super) fn there(&mut self, recorder: &mut Recorder, place: Place) -> (usize, &mut AtPlace) {
        let (level, frame) = self.home();
        let there = &mut frame.places[place];
        if there.traffic.is_nowhere() {
            there.traffic = recorder.traffic(frame.id, place as u32);
        }
        (level, there)
    }

    /// The innermost label that the program names, and its level: what is judged is judged at its end,
    /// not at that of a part of a loop, where the program cannot put an fsync.
    #[inline(always)]
    pub(super) fn home(&mut self) -> (usize, &mut Frame) {
        (self.home, &mut self.frames[self.home])
    }

    /// The labels that this rank is inside of.
    pub(super) fn open(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.frames[..=self.depth].iter_mut()
    }

    /// A label is selected by its own text, its path, or because an outer one is.
    fn selects(&mut self, text: &[u8]) -> bool {
        if self.only.is_empty() {
            return true;
        }
        self.cuts.push(self.path.len());
        if self.depth > 0 {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(text);
        let named = self.only.iter().any(|label| *label == text || *label == self.path);
        named || self.depth > 0 && self.is_selected()
    }
}
