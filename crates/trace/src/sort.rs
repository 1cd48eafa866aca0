//! Events in any order -> rank by rank, in order of start. They are sorted in parts, and these merged from disk.
//!
//! ```text
//! on disk each event is its difference from the one before: which of its words of 64 bits differ (4 bytes),
//! then each difference: small ones take a byte, in 7 bits per byte with the sign in the lowest
//! ```
//!
//! Neighbours in order of time are alike: an event takes a sixth of its bytes in memory.

use bytemuck::{Pod, Zeroable};
use model::event::{Details, Event};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, Write};
use std::iter::Peekable;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Events that are sorted in memory: 25 MB, twice that while they are sorted.
const PART: usize = 1 << 17;
/// The share of them that is written at once where they come in order: the CPU's caches still
/// hold them.
const IN_ORDER: usize = 64;
/// Words of an event.
const WORDS: usize = size_of::<Traced>() / 8;
/// Longest packed event.
const PACKED_MAX: usize = 4 + WORDS * 10;
const WRITE_BUFFER: usize = 1 << 16;
/// Smaller, as every run has one.
const READ_BUFFER: usize = 1 << 14;

const _: () = assert!(WORDS <= 32 && size_of::<Traced>().is_multiple_of(8));

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

type Words = [u64; WORDS];

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
    /// Those in memory are in order, and behind those that are written.
    in_order: bool,
    runs: Runs,
    count: u64,
    failed: Option<io::Error>,
}

impl Default for Sorter {
    fn default() -> Sorter {
        Sorter::with_part(PART)
    }
}

impl Sorter {
    /// Adds an event of a rank.
    pub fn event(&mut self, rank: u32, event: &Event, details: &Details) {
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

    fn with_part(part: usize) -> Sorter {
        let (events, runs) = (Vec::new(), Runs::default());
        Sorter { events, part, last: Key::default(), in_order: true, runs, count: 0, failed: None }
    }

    /// Writes what is in memory; a run goes on as long as events come in order.
    fn spill(&mut self) -> io::Result<()> {
        if !self.in_order {
            sort(&mut self.events);
        }
        let Some(first) = self.events.first() else { return Ok(()) };
        if self.runs.last().is_none_or(|last| first.key() < last.key()) {
            self.runs.begin()?;
        }
        self.events.iter().try_for_each(|event| self.runs.add(event))?;
        self.last = self.runs.last().map_or(self.last, Traced::key);
        self.in_order = true;
        self.events.clear();
        Ok(())
    }

    /// All events, rank by rank, numbered.
    ///
    /// # Errors
    /// Those of the file for parts.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.spill()?;
        let mut sorted = Sorted {
            readers: self.runs.finish()?,
            heads: BinaryHeap::new(),
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

/// Sorted runs of events one after the other in a file without a name in the folder for temporary files.
#[derive(Default)]
struct Runs {
    file: Option<File>,
    runs: Vec<Range<u64>>,
    /// The event that was added last.
    last: Words,
    /// Bytes that wait to be written, at first as many as `held`.
    bytes: Vec<u8>,
    held: usize,
}

impl Runs {
    /// The next event begins a run.
    fn begin(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
            self.bytes = vec![0; WRITE_BUFFER + PACKED_MAX];
        }
        let end = self.runs.last().map_or(0, |run| run.end);
        self.runs.push(end..end);
        self.last = [0; WORDS];
        Ok(())
    }

    /// Appends an event to the run.
    fn add(&mut self, event: &Traced) -> io::Result<()> {
        if let (Some(room), Some(run)) =
            (self.bytes[self.held..].first_chunk_mut(), self.runs.last_mut())
        {
            let length = pack(event, &mut self.last, room);
            self.held += length;
            run.end += length as u64;
        }
        if self.held >= WRITE_BUFFER { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.file.iter_mut().try_for_each(|file| file.write_all(&self.bytes[..held]))
    }

    /// The event that was added last.
    fn last(&self) -> Option<&Traced> {
        self.runs.last().map(|_| bytemuck::cast_ref(&self.last))
    }

    fn finish(mut self) -> io::Result<Vec<Reader>> {
        self.write()?;
        let Some(file) = self.file.map(Rc::new) else { return Ok(Vec::new()) };
        Ok(self.runs.into_iter().map(|run| Reader::new(file.clone(), run)).collect())
    }
}

/// Writes what differs from the last event, which this one then is; gives how many bytes it took.
fn pack(event: &Traced, last: &mut Words, packed: &mut [u8; PACKED_MAX]) -> usize {
    let words: &Words = bytemuck::cast_ref(event);
    // Without branches: most words are as before, but which ones differs from event to event.
    let differ = (0..WORDS).fold(0u32, |all, at| all | u32::from(words[at] != last[at]) << at);
    packed[..4].copy_from_slice(&differ.to_le_bytes());
    let (mut rest, mut end) = (differ, 4);
    while rest != 0 {
        let at = rest.trailing_zeros() as usize;
        let difference = words[at].wrapping_sub(last[at]) as i64;
        put(((difference << 1) ^ (difference >> 63)) as u64, packed, &mut end);
        last[at] = words[at];
        rest &= rest - 1;
    }
    end
}

fn put(mut number: u64, packed: &mut [u8; PACKED_MAX], end: &mut usize) {
    while number >= 0x80 {
        packed[*end] = number as u8 | 0x80;
        *end += 1;
        number >>= 7;
    }
    packed[*end] = number as u8;
    *end += 1;
}

/// Reads a run.
struct Reader {
    file: Rc<File>,
    run: Range<u64>,
    /// Place of the bytes that are read next.
    next: u64,
    bytes: Vec<u8>,
    at: usize,
    last: Words,
}

impl Reader {
    fn new(file: Rc<File>, run: Range<u64>) -> Reader {
        let next = run.start;
        Reader { file, run, next, bytes: Vec::new(), at: 0, last: [0; WORDS] }
    }

    /// Goes back to the first event.
    fn begin(&mut self) {
        self.bytes.clear();
        (self.next, self.at, self.last) = (self.run.start, 0, [0; WORDS]);
    }

    /// Goes on to the next event; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.bytes.len() - self.at < PACKED_MAX {
            self.bytes.drain(..self.at);
            self.at = 0;
            let held = self.bytes.len();
            let wanted = (self.run.end - self.next).min((READ_BUFFER - held) as u64);
            self.bytes.resize(held + wanted as usize, 0);
            self.file.read_exact_at(&mut self.bytes[held..], self.next)?;
            self.next += wanted;
        }
        if self.at == self.bytes.len() {
            return Ok(false);
        }
        let cut =
            || io::Error::new(io::ErrorKind::UnexpectedEof, "a file of sorted events was cut");
        self.at += unpack(&self.bytes[self.at..], &mut self.last).ok_or_else(cut)?;
        Ok(true)
    }

    /// The event to which [`Reader::advance`] went.
    fn current(&self) -> &Traced {
        bytemuck::cast_ref(&self.last)
    }
}

/// Makes the next event of the last one; gives how many bytes it took.
fn unpack(bytes: &[u8], last: &mut Words) -> Option<usize> {
    let (head, mut rest) = bytes.split_first_chunk::<4>()?;
    let mut differ = u32::from_le_bytes(*head);
    while differ != 0 {
        let number = number(&mut rest)?;
        let difference = (number >> 1) as i64 ^ -((number & 1) as i64);
        let word = last.get_mut(differ.trailing_zeros() as usize)?;
        *word = word.wrapping_add(difference as u64);
        differ &= differ - 1;
    }
    Some(bytes.len() - rest.len())
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0u64, 0u32);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            return Some(number);
        }
        shift += 7;
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
    readers: Vec<Reader>,
    /// Next event of each run by key.
    heads: BinaryHeap<Reverse<(Key, usize)>>,
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
    /// The file for parts cannot be read.
    pub fn again(&mut self, cuts: Vec<Cut>) -> io::Result<()> {
        (self.rank, self.seq, self.label) = (u64::MAX, 0, None);
        self.cuts = cuts.into_iter().peekable();
        self.heads.clear();
        for (run, reader) in self.readers.iter_mut().enumerate() {
            reader.begin();
            if reader.advance()? {
                self.heads.push(Reverse((reader.current().key(), run)));
            }
        }
        Ok(())
    }

    /// Goes on to the next event; false at the end.
    ///
    /// # Errors
    /// As for [`Sorted::again`].
    pub fn advance(&mut self) -> io::Result<bool> {
        if !self.step()? {
            return Ok(false);
        }
        let rank = self.current.rank;
        self.seq = if rank == self.rank { self.seq + 1 } else { 0 };
        self.rank = rank;
        self.current.event.seq = self.seq;
        self.relabel();
        Ok(true)
    }

    /// Takes the next event of all runs; false at the end.
    fn step(&mut self) -> io::Result<bool> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(false) };
        let reader = &mut self.readers[head.0.1];
        self.current = *reader.current();
        match reader.advance() {
            Ok(true) => head.0.0 = reader.current().key(),
            Ok(false) => drop(PeekMut::pop(head)),
            Err(error) => {
                drop(head);
                self.heads.clear();
                return Err(error);
            }
        }
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

    fn read(events: &[Traced]) -> Vec<Reader> {
        let mut runs = Runs::default();
        runs.begin().expect("a file");
        events.iter().for_each(|event| runs.add(event).expect("added"));
        runs.finish().expect("written")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn events_are_the_same_behind_the_disk(
            rows in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0), any::<u64>()], WORDS), 0..700)
        ) {
            let words = rows.iter().map(|row| -> Words { row[..].try_into().expect("so many") });
            let events: Vec<Traced> = words.map(bytemuck::cast).collect();
            let mut reader = read(&events).pop().expect("a run");
            for _ in 0..2 {
                reader.begin();
                let mut found = Vec::new();
                while reader.advance().expect("an event") {
                    found.push(*reader.current());
                }
                prop_assert_eq!(&found, &events);
            }
        }
    }

    #[test]
    fn a_file_that_was_cut_is_an_error() {
        let mut reader =
            read(&[Traced { rank: u64::MAX, ..Traced::default() }]).pop().expect("a run");
        reader.file.set_len(5).expect("cut");
        assert!(reader.advance().is_err());
    }
}
