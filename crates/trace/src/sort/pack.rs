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
pub fn written(events: impl Iterator<Item = io::Result<Traced>>) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let (mut last, mut bytes) = ([0; WORDS], Vec::with_capacity(BUFFER + PACKED_MAX));
    for event in events {
        pack(&event?, &mut last, &mut bytes);
        if bytes.len() >= BUFFER {
            file.write_all(&bytes)?;
            bytes.clear();
        }
    }
    file.write_all(&bytes)?;
    Ok(file)
}

fn pack(event: &Traced, last: &mut Words, bytes: &mut Vec<u8>) {
    let words: &Words = bytemuck::cast_ref(event);
    let (head, mut differ) = (bytes.len(), 0u32);
    bytes.extend([0; 4]);
    for (at, (word, last)) in words.iter().zip(last.iter()).enumerate() {
        if word != last {
            differ |= 1 << at;
            let difference = word.wrapping_sub(*last) as i64;
            put(((difference << 1) ^ (difference >> 63)) as u64, bytes);
        }
    }
    bytes[head..head + 4].copy_from_slice(&differ.to_le_bytes());
    *last = *words;
}

fn put(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
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

    /// The next event; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<Traced>> {
        if self.bytes.len() - self.at < PACKED_MAX {
            self.bytes.drain(..self.at);
            self.at = 0;
            let wanted = (BUFFER - self.bytes.len()) as u64;
            (&mut self.file).take(wanted).read_to_end(&mut self.bytes)?;
        }
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let cut =
            || io::Error::new(io::ErrorKind::UnexpectedEof, "a file of sorted events was cut");
        self.unpack().ok_or_else(cut)?;
        Ok(Some(bytemuck::cast(self.last)))
    }

    fn unpack(&mut self) -> Option<()> {
        let head = self.bytes.get(self.at..self.at + 4)?;
        let mut differ = u32::from_le_bytes(head.try_into().ok()?);
        self.at += 4;
        while differ != 0 {
            let number = self.number()?;
            let difference = (number >> 1) as i64 ^ -((number & 1) as i64);
            let word = self.last.get_mut(differ.trailing_zeros() as usize)?;
            *word = word.wrapping_add(difference as u64);
            differ &= differ - 1;
        }
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0u64, 0u32);
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
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
        fn events_are_the_same_behind_the_disk(
            rows in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0), any::<u64>()], WORDS), 0..700)
        ) {
            let words = rows.iter().map(|row| -> Words { row[..].try_into().expect("so many") });
            let events: Vec<Traced> = words.map(bytemuck::cast).collect();
            let mut reader = Reader::new(written(events.iter().copied().map(Ok)).expect("a file"));
            for _ in 0..2 {
                reader.begin().expect("the first one");
                let mut found = Vec::new();
                while let Some(event) = reader.next().expect("an event") {
                    found.push(event);
                }
                prop_assert_eq!(&found, &events);
            }
        }
    }

    #[test]
    fn a_file_that_was_cut_is_an_error() {
        let event = Traced { rank: u64::MAX, ..Traced::default() };
        let file = written(std::iter::once(Ok(event))).expect("a file");
        file.set_len(5).expect("cut");
        let mut reader = Reader::new(file);
        reader.begin().expect("the first one");
        assert!(reader.next().is_err());
    }
}
