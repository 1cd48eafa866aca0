//! Sorted events on disk: each as its difference from the one before.
//!
//! ```text
//! which of an event's words of 64 bits differ from the last event (4 bytes), then each difference:
//! small ones take a byte, in 7 bits per byte with the sign in the lowest
//! ```
//!
//! Neighbours in order of time are alike: an event takes a sixth of its bytes in memory.

use super::Traced;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Words of an event.
const WORDS: usize = size_of::<Traced>() / 8;
/// Longest packed event.
const PACKED_MAX: usize = 4 + WORDS * 10;
const BUFFER: usize = 1 << 16;

const _: () = assert!(WORDS <= 32 && size_of::<Traced>().is_multiple_of(8));

type Words = [u64; WORDS];

/// Writes events into a file without a name in the folder for temporary files.
pub struct Writer {
    file: File,
    last: Words,
    bytes: Box<[u8; BUFFER + PACKED_MAX]>,
    /// Bytes that wait to be written.
    held: usize,
}

impl Writer {
    /// An empty file.
    pub fn new() -> io::Result<Writer> {
        let bytes = Box::new([0; BUFFER + PACKED_MAX]);
        Ok(Writer { file: tempfile::tempfile()?, last: [0; WORDS], bytes, held: 0 })
    }

    /// Appends an event.
    pub fn add(&mut self, event: &Traced) -> io::Result<()> {
        if let Some(room) = self.bytes[self.held..].first_chunk_mut() {
            self.held += pack(event, &mut self.last, room);
        }
        if self.held >= BUFFER {
            self.file.write_all(&self.bytes[..self.held])?;
            self.held = 0;
        }
        Ok(())
    }

    /// The event that was appended last.
    pub fn last(&self) -> &Traced {
        bytemuck::cast_ref(&self.last)
    }

    /// The file with all events.
    pub fn finish(mut self) -> io::Result<File> {
        self.file.write_all(&self.bytes[..self.held])?;
        Ok(self.file)
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

/// Reads such a file.
pub struct Reader {
    file: File,
    bytes: Vec<u8>,
    at: usize,
    last: Words,
}

impl Reader {
    /// Reads events from the first one on.
    pub fn new(file: File) -> Reader {
        Reader { file, bytes: Vec::new(), at: 0, last: [0; WORDS] }
    }

    /// Goes back to the first event.
    pub fn begin(&mut self) -> io::Result<()> {
        self.bytes.clear();
        (self.at, self.last) = (0, [0; WORDS]);
        self.file.seek(SeekFrom::Start(0)).map(drop)
    }

    /// Goes on to the next event; false at the end.
    pub fn advance(&mut self) -> io::Result<bool> {
        if self.bytes.len() - self.at < PACKED_MAX {
            self.bytes.drain(..self.at);
            self.at = 0;
            let wanted = (BUFFER - self.bytes.len()) as u64;
            (&mut self.file).take(wanted).read_to_end(&mut self.bytes)?;
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
    pub fn current(&self) -> &Traced {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(events: &[Traced]) -> File {
        let mut writer = Writer::new().expect("a file");
        events.iter().for_each(|event| writer.add(event).expect("added"));
        writer.finish().expect("written")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn events_are_the_same_behind_the_disk(
            rows in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0), any::<u64>()], WORDS), 0..700)
        ) {
            let words = rows.iter().map(|row| -> Words { row[..].try_into().expect("so many") });
            let events: Vec<Traced> = words.map(bytemuck::cast).collect();
            let mut reader = Reader::new(written(&events));
            for _ in 0..2 {
                reader.begin().expect("the first one");
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
        let event = Traced { rank: u64::MAX, ..Traced::default() };
        let file = written(&[event]);
        file.set_len(5).expect("cut");
        let mut reader = Reader::new(file);
        reader.begin().expect("the first one");
        assert!(reader.advance().is_err());
    }
}
