//! Events in any order -> rank by rank, in order of start. What does not fit in memory goes to disk.

use crate::resolve::Sink;
use bytemuck::{Pod, Zeroable};
use model::event::{Details, Event};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

/// Events that are sorted in memory: 50 MB.
const PART: usize = 1 << 18;
/// Parts that are merged at once.
const PARTS_MAX: usize = 64;

/// An event with its rank and what the log tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Traced {
    /// The event; its `seq` counts arrivals until the end of sorting.
    pub event: Event,
    /// What only the log tells.
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
#[derive(Debug)]
pub struct Sorter {
    events: Vec<Traced>,
    part: usize,
    parts: Vec<File>,
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
        if self.events.len() >= self.part {
            self.spill();
        }
    }
}

impl Sorter {
    fn with_part(part: usize) -> Sorter {
        Sorter { events: Vec::new(), part, parts: Vec::new(), count: 0, failed: None }
    }

    fn spill(&mut self) {
        self.events.sort_unstable_by_key(Traced::key);
        let events = self.events.drain(..);
        match written(events.map(Ok)) {
            Ok(part) => self.parts.push(part),
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
        if self.parts.len() == PARTS_MAX {
            self.join();
        }
    }

    /// Many parts become one: the number of open files stays small.
    fn join(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        match Merge::of(parts, Vec::new()).and_then(written) {
            Ok(part) => self.parts.push(part),
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }

    /// All events, rank by rank, numbered.
    ///
    /// # Errors
    /// Those of the files for what does not fit in memory.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.events.sort_unstable_by_key(Traced::key);
        let merge = Merge::of(self.parts, self.events)?;
        Ok(Sorted { merge, count: self.count, rank: u64::MAX, seq: 0 })
    }
}

/// Writes a part: a file without a name in the folder for temporary files.
fn written(events: impl Iterator<Item = io::Result<Traced>>) -> io::Result<File> {
    let mut out = BufWriter::new(tempfile::tempfile()?);
    for event in events {
        out.write_all(bytemuck::bytes_of(&event?))?;
    }
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Parts as one.
struct Merge {
    readers: Vec<BufReader<File>>,
    memory: std::vec::IntoIter<Traced>,
    /// Next event of each part by key; the last part is that in memory.
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    next: Vec<Traced>,
}

impl Merge {
    fn of(parts: Vec<File>, memory: Vec<Traced>) -> io::Result<Merge> {
        let next = vec![Traced::default(); parts.len() + 1];
        let readers: Vec<_> = parts.into_iter().map(BufReader::new).collect();
        let memory = memory.into_iter();
        let mut merge = Merge { readers, memory, heads: BinaryHeap::new(), next };
        for part in 0..merge.next.len() {
            merge.load(part)?;
        }
        Ok(merge)
    }

    fn load(&mut self, part: usize) -> io::Result<()> {
        let event = match self.readers.get_mut(part) {
            Some(reader) => read(reader)?,
            None => self.memory.next(),
        };
        if let Some(event) = event {
            self.next[part] = event;
            self.heads.push(Reverse((event.key(), part)));
        }
        Ok(())
    }
}

impl Iterator for Merge {
    type Item = io::Result<Traced>;

    fn next(&mut self) -> Option<io::Result<Traced>> {
        let Reverse((_, part)) = self.heads.pop()?;
        let event = self.next[part];
        Some(self.load(part).map(|()| event))
    }
}

fn read(reader: &mut BufReader<File>) -> io::Result<Option<Traced>> {
    let mut event = Traced::default();
    match reader.read_exact(bytemuck::bytes_of_mut(&mut event)) {
        Ok(()) => Ok(Some(event)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives events rank by rank, in order of start.
pub struct Sorted {
    merge: Merge,
    count: u64,
    rank: u64,
    seq: u64,
}

impl Sorted {
    /// Number of events.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl Iterator for Sorted {
    type Item = io::Result<Traced>;

    fn next(&mut self) -> Option<io::Result<Traced>> {
        let found = self.merge.next()?;
        Some(found.map(|mut traced| {
            self.seq = if traced.rank == self.rank { self.seq + 1 } else { 0 };
            self.rank = traced.rank;
            traced.event.seq = self.seq;
            traced
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_order_comes_out_sorted(keys in prop::collection::vec((0u32..4, 0u64..20), 0..400)) {
            let mut sorter = Sorter::with_part(3);
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
