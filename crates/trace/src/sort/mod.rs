//! Events in any order -> rank by rank, in order of start. What does not fit in memory goes to disk.

mod pack;

use crate::facts::Sink;
use bytemuck::{Pod, Zeroable};
use model::event::{Details, Event};
use pack::{Reader, Writer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io;
use std::iter::Peekable;

/// Events that are sorted in memory: 25 MB, twice that while they are sorted.
const PART: usize = 1 << 17;
/// The share of them that is written at once where they come in order: the processor's caches still
/// hold them.
const IN_ORDER: usize = 64;
/// Parts of one size that become one of the next size.
const PARTS_MAX: usize = 64;

/// An event with its rank and details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Traced {
    /// The event; its `seq` counts arrivals until the end of sorting.
    pub event: Event,
    /// Details that are in the log only.
    pub details: Details,
    /// Rank.
    pub rank: u64,
}

/// Rank, start, arrival.
type Key = (u64, u64, u64);

impl Traced {
    fn key(&self) -> Key {
        (self.rank, self.event.start_ns, self.event.seq)
    }
}

/// Takes events in the order of the log.
pub struct Sorter {
    events: Vec<Traced>,
    part: usize,
    /// Key of the last event.
    last: Key,
    /// Those in memory are in order, and behind those of the part that is written.
    in_order: bool,
    /// What is written goes on as long as events come in order.
    open: Option<Writer>,
    /// Files by size: those in a place are made of `PARTS_MAX` of the place before.
    parts: Vec<Vec<File>>,
    count: u64,
    failed: Option<io::Error>,
}

impl Default for Sorter {
    fn default() -> Sorter {
        Sorter::with_part(PART)
    }
}

impl Sink for Sorter {
    fn event(&mut self, rank: u32, event: &Event, details: &Details) {
        let event = Event { seq: self.count, ..*event };
        self.events.push(Traced { event, details: *details, rank: rank.into() });
        self.count += 1;
        let key = (rank.into(), event.start_ns, event.seq);
        self.in_order &= key >= self.last;
        self.last = key;
        let held = self.events.len();
        if held >= self.part || (self.in_order && held * IN_ORDER >= self.part) {
            let spilled = self.spill();
            self.failed = self.failed.take().or(spilled.err());
        }
    }
}

impl Sorter {
    fn with_part(part: usize) -> Sorter {
        Sorter {
            events: Vec::new(),
            part,
            last: Key::default(),
            in_order: true,
            open: None,
            parts: Vec::new(),
            count: 0,
            failed: None,
        }
    }

    /// Puts what is in memory into files.
    fn spill(&mut self) -> io::Result<()> {
        self.order();
        let mut open = self.open.take();
        let goes_on = |open: &Writer| {
            self.events.first().is_none_or(|first| first.key() >= open.last().key())
        };
        if !open.as_ref().is_some_and(goes_on) {
            if let Some(whole) = open {
                self.put(whole.finish()?, 0)?;
            }
            open = Some(Writer::new()?);
        }
        if let Some(open) = &mut open {
            self.events.iter().try_for_each(|event| open.add(event))?;
            self.last = open.last().key();
        }
        (self.open, self.in_order) = (open, true);
        self.events.clear();
        Ok(())
    }

    fn order(&mut self) {
        if !self.in_order {
            sort(&mut self.events);
        }
    }

    /// Many parts become one: the number of open files stays small, and an event is copied once per size.
    fn put(&mut self, part: File, size: usize) -> io::Result<()> {
        if self.parts.len() == size {
            self.parts.push(Vec::new());
        }
        self.parts[size].push(part);
        if self.parts[size].len() < PARTS_MAX {
            return Ok(());
        }
        let parts = std::mem::take(&mut self.parts[size]);
        let (mut whole, mut event) = (Writer::new()?, Traced::default());
        let mut merge = Merge::of(parts, Vec::new())?;
        while merge.advance(&mut event)? {
            whole.add(&event)?;
        }
        self.put(whole.finish()?, size + 1)
    }

    /// All events, rank by rank, numbered.
    ///
    /// # Errors
    /// Those of the files for what does not fit in memory.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.order();
        if let Some(open) = self.open.take() {
            self.put(open.finish()?, 0)?;
        }
        let parts = self.parts.into_iter().flatten().collect();
        let merge = Merge::of(parts, self.events)?;
        let mut sorted = Sorted {
            merge,
            count: self.count,
            current: Traced::default(),
            rank: u64::MAX,
            seq: 0,
            cuts: Vec::new().into_iter().peekable(),
            label: None,
        };
        sorted.again(Vec::new())?;
        Ok(sorted)
    }
}

/// Sorts by the keys alone: events are moved once.
fn sort(events: &mut Vec<Traced>) {
    let keys = events.iter().enumerate().map(|(at, event)| (event.key(), at as u32));
    let mut keys: Vec<(Key, u32)> = keys.collect();
    keys.sort_unstable();
    *events = keys.iter().map(|(_, at)| events[*at as usize]).collect();
}

/// Parts as one.
struct Merge {
    readers: Vec<Reader>,
    memory: Vec<Traced>,
    /// Events of those in memory that were loaded.
    at: usize,
    /// Next event of each part by key; the last part is that in memory.
    heads: BinaryHeap<Reverse<(Key, usize)>>,
}

impl Merge {
    fn of(parts: Vec<File>, memory: Vec<Traced>) -> io::Result<Merge> {
        let readers: Vec<_> = parts.into_iter().map(Reader::new).collect();
        let mut merge = Merge { readers, memory, at: 0, heads: BinaryHeap::new() };
        merge.begin()?;
        Ok(merge)
    }

    /// From the first event on, also once more.
    fn begin(&mut self) -> io::Result<()> {
        self.at = 0;
        self.heads.clear();
        for reader in &mut self.readers {
            reader.begin()?;
        }
        for part in 0..=self.readers.len() {
            if self.load(part)? {
                self.heads.push(Reverse((self.current(part).key(), part)));
            }
        }
        Ok(())
    }

    /// Reads the next event of a part; false at its end.
    fn load(&mut self, part: usize) -> io::Result<bool> {
        match self.readers.get_mut(part) {
            Some(reader) => reader.advance(),
            None => {
                let has_more = self.at < self.memory.len();
                self.at += usize::from(has_more);
                Ok(has_more)
            }
        }
    }

    /// The event of a part that was loaded last.
    fn current(&self, part: usize) -> &Traced {
        match self.readers.get(part) {
            Some(reader) => reader.current(),
            None => &self.memory[self.at - 1],
        }
    }

    /// A part goes on to its next event.
    fn step(&mut self, part: usize) -> io::Result<()> {
        let has_more = self.load(part)?;
        let key = if has_more { self.current(part).key() } else { Key::default() };
        if let Some(mut head) = self.heads.peek_mut() {
            match has_more {
                true => head.0.0 = key,
                false => drop(PeekMut::pop(head)),
            }
        }
        Ok(())
    }
}

impl Merge {
    /// Writes the next event to `event`; false at the end.
    fn advance(&mut self, event: &mut Traced) -> io::Result<bool> {
        let Some(Reverse((_, part))) = self.heads.peek() else { return Ok(false) };
        let part = *part;
        *event = *self.current(part);
        let stepped = self.step(part);
        stepped.inspect_err(|_| self.heads.clear())?;
        Ok(true)
    }
}

/// From an event of a rank on, its events have this label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The rank.
    pub rank: u64,
    /// Number of the event on its rank.
    pub seq: u64,
    /// The label.
    pub label: u32,
}

/// Gives events rank by rank, in order of start.
pub struct Sorted {
    merge: Merge,
    count: u64,
    current: Traced,
    rank: u64,
    seq: u64,
    /// Where labels begin.
    cuts: Peekable<std::vec::IntoIter<Cut>>,
    /// That of the current event, where it is not its own.
    label: Option<u32>,
}

impl Sorted {
    /// Number of events.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Goes back to the first event, and gives all with the labels of `cuts`, which are in the same order.
    ///
    /// # Errors
    /// The files for what does not fit in memory cannot be read.
    pub fn again(&mut self, cuts: Vec<Cut>) -> io::Result<()> {
        (self.rank, self.seq, self.label) = (u64::MAX, 0, None);
        self.cuts = cuts.into_iter().peekable();
        self.merge.begin()
    }

    /// Goes on to the next event; false at the end.
    ///
    /// # Errors
    /// As for [`Sorted::again`].
    pub fn advance(&mut self) -> io::Result<bool> {
        if !self.merge.advance(&mut self.current)? {
            return Ok(false);
        }
        let rank = self.current.rank;
        self.seq = if rank == self.rank { self.seq + 1 } else { 0 };
        self.rank = rank;
        self.current.event.seq = self.seq;
        self.relabel();
        Ok(true)
    }

    /// The event to which [`Sorted::advance`] went.
    pub fn current(&self) -> &Traced {
        &self.current
    }

    fn relabel(&mut self) {
        let place = (self.rank, self.seq);
        if let Some(cut) = self.cuts.next_if(|cut| (cut.rank, cut.seq) == place) {
            self.label = Some(cut.label);
        }
        let event = &mut self.current.event;
        event.label = self.label.unwrap_or(event.label);
    }
}

impl Iterator for Sorted {
    type Item = io::Result<Traced>;

    fn next(&mut self) -> Option<io::Result<Traced>> {
        match self.advance() {
            Ok(true) => Some(Ok(self.current)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_order_comes_out_sorted(
            runs in prop::collection::vec((0u32..4, 0u64..20, 1u64..40), 0..60),
            part in prop::sample::select(vec![3, 300]),
        ) {
            // Stretches in order, as logs of one thread have them.
            let mut keys: Vec<(u32, u64)> = Vec::new();
            for (rank, start_ns, count) in runs {
                keys.extend((0..count).map(|at| (rank, start_ns + at / 2)));
            }
            let mut sorter = Sorter::with_part(part);
            for (number, (rank, start_ns)) in keys.iter().enumerate() {
                let event = Event { start_ns: *start_ns, offset_bytes: number as u64, ..Event::default() };
                sorter.event(*rank, &event, &Details::default());
            }
            let mut expected: Vec<_> =
                keys.iter().enumerate().map(|(number, key)| (key.0, key.1, number as u64)).collect();
            expected.sort();
            let sorted: Vec<Traced> = sorter.finish().unwrap().map(Result::unwrap).collect();
            let found: Vec<_> = sorted
                .iter()
                .map(|t| (t.rank as u32, t.event.start_ns, t.event.offset_bytes))
                .collect();
            prop_assert_eq!(found, expected);
            for pair in sorted.windows(2) {
                let same = pair[0].rank == pair[1].rank;
                prop_assert_eq!(pair[1].event.seq, if same { pair[0].event.seq + 1 } else { 0 });
            }
        }
    }
}
