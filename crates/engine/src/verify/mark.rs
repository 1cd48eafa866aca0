//! The bytes of verified data: each place of a file tells who wrote it, and when.
//!
//! ```text
//! file     | unit of 512 bytes | unit | unit | ...
//! unit     A B A B ...  64 words, each mixed with a word of its place in the unit
//! A        scrambled: number of the unit, generation
//! B        scrambled with A: file, writer, run
//! ```
//!
//! A and B can be scrambled back, so that any 16 bytes that begin at a multiple of 16 tell where they
//! belong, and with them all bytes of their unit are known. A checksum would say that a block is wrong;
//! this says which bytes of it are, also where another write has replaced a part of it, and needs no
//! room in the file: transfers can begin and end anywhere. Blocks neither repeat nor compress.

use crate::rng::mix;

/// Bytes that share A and B.
pub const UNIT_BYTES: usize = 512;
const WORDS: usize = UNIT_BYTES / 8;
const GENERATION_BITS: u32 = 24;
const WRITER_BITS: u32 = 20;
const RUN_BITS: u32 = 12;
/// Writers and runs are numbered modulo one more than these.
pub(crate) const WRITER_MASK: u32 = (1 << WRITER_BITS) - 1;
pub(crate) const RUN_MASK: u16 = (1 << RUN_BITS) - 1;
/// The highest generation.
pub const GENERATION_MAX: u32 = (1 << GENERATION_BITS) - 1;
const UNIT_MAX: u64 = (1 << (64 - GENERATION_BITS)) - 1;
/// Tells A from scrambled numbers elsewhere.
const SALT: u64 = 0x5ca1_ab1e_0ddb_a11d;

/// The writer of a part of a file, and its generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The file, as [`file_number`].
    pub file: u32,
    /// The rank, modulo 2^20.
    pub writer: u32,
    /// Tells runs and executions apart, modulo 2^12.
    pub run: u16,
    /// 1 for the first write of a place; at most [`GENERATION_MAX`].
    pub generation: u32,
}

/// A and B of a unit.
pub(crate) type Keys = [u64; 2];

/// Constants that the words of a unit are mixed with.
static PLACES: [u64; WORDS] = {
    let mut places = [0; WORDS];
    let mut at = 0;
    while at < WORDS {
        places[at] = splitmix(at as u64 + 1);
        at += 1;
    }
    places
};

const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// The last steps of splitmix64: every number becomes another, and back.
const fn splitmix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(FACTORS[0]);
    word = (word ^ (word >> 27)).wrapping_mul(FACTORS[1]);
    word ^ (word >> 31)
}

/// The number that [`splitmix`] makes to this one.
fn unmix(mut word: u64) -> u64 {
    word ^= word >> 31 ^ word >> 62;
    word = word.wrapping_mul(inverse(FACTORS[1]));
    word ^= word >> 27 ^ word >> 54;
    word = word.wrapping_mul(inverse(FACTORS[0]));
    word ^ word >> 30 ^ word >> 60
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    let mut found = odd;
    let mut bits = 3;
    while bits < 64 {
        found = found.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(found)));
        bits *= 2;
    }
    found
}

/// The number of a file by its path; empty parts and "." do not count. See [`Mark::file`].
pub fn file_number(path: &[u8]) -> u64 {
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    parts.fold(mix(u64::from(path.first() == Some(&b'/'))), |number, part| {
        let words = part.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        let number = words.fold(number, |number, word| mix(number ^ word));
        mix(number ^ part.len() as u64)
    })
}

impl Mark {
    /// A and B of a unit.
    #[inline(always)]
    pub(crate) fn keys(self, unit: u64) -> Keys {
        let place = unit & UNIT_MAX;
        let a = splitmix((place << GENERATION_BITS | u64::from(self.generation)) ^ SALT);
        let writer = self.writer & WRITER_MASK;
        let run = self.run & RUN_MASK;
        let who = u64::from(self.file) << 32 | u64::from(writer) << RUN_BITS | u64::from(run);
        [a, splitmix(who ^ a)]
    }

    /// Decodes A and B, whatever they are, into a mark and the unit that they belong to.
    pub(crate) fn of_keys([a, b]: Keys) -> (Mark, u64) {
        let (place, who) = (unmix(a) ^ SALT, unmix(b) ^ a);
        let mark = Mark {
            file: (who >> 32) as u32,
            writer: (who >> RUN_BITS) as u32 & WRITER_MASK,
            run: who as u16 & RUN_MASK,
            generation: place as u32 & GENERATION_MAX,
        };
        (mark, place >> GENERATION_BITS)
    }

    /// Fills what is written at `offset_bytes`.
    pub fn fill(self, bytes: &mut [u8], offset_bytes: u64) {
        let (mut at, mut rest) = (offset_bytes, bytes);
        while !rest.is_empty() {
            let keys = self.keys(at / UNIT_BYTES as u64);
            let skip = (at % UNIT_BYTES as u64) as usize;
            let (piece, after) = rest.split_at_mut((UNIT_BYTES - skip).min(rest.len()));
            match <&mut [u8; UNIT_BYTES]>::try_from(&mut *piece) {
                // Nearly all units are whole. A copy on the stack would be written and read once more.
                Ok(unit) => fill_unit(unit, keys),
                Err(_) => piece.copy_from_slice(&unit_bytes(keys)[skip..][..piece.len()]),
            }
            at = at.wrapping_add(piece.len() as u64);
            rest = after;
        }
    }
}

#[inline(always)]
fn fill_unit(unit: &mut [u8; UNIT_BYTES], keys: Keys) {
    for (pair, places) in unit.chunks_exact_mut(16).zip(PLACES.chunks_exact(2)) {
        pair[..8].copy_from_slice(&(places[0] ^ keys[0]).to_le_bytes());
        pair[8..].copy_from_slice(&(places[1] ^ keys[1]).to_le_bytes());
    }
}

/// The bytes of a unit.
pub(crate) fn unit_bytes(keys: Keys) -> [u8; UNIT_BYTES] {
    let mut unit = [0; UNIT_BYTES];
    fill_unit(&mut unit, keys);
    unit
}

/// Whether the bytes of a unit from place `skip` on belong to these keys.
#[inline(always)]
pub(crate) fn is_of(bytes: &[u8], skip: usize, keys: Keys) -> bool {
    if bytes.len() < UNIT_BYTES {
        return bytes == &unit_bytes(keys)[skip..skip + bytes.len()];
    }
    let mut differs = 0;
    for (pair, places) in bytes.chunks_exact(16).zip(PLACES.chunks_exact(2)) {
        differs |= word(pair, 0) ^ places[0] ^ keys[0];
        differs |= word(pair, 8) ^ places[1] ^ keys[1];
    }
    differs == 0
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

/// A and B as each 16 bytes of a part of a unit have them, with their place in the unit.
pub(crate) fn pairs(bytes: &[u8], skip: usize) -> impl Iterator<Item = (usize, Keys)> + '_ {
    let first = skip.next_multiple_of(16);
    (first..UNIT_BYTES).step_by(16).map_while(move |place| {
        let pair = bytes.get(place - skip..place - skip + 16)?;
        let at = place / 8;
        Some((place, [word(pair, 0) ^ PLACES[at], word(pair, 8) ^ PLACES[at + 1]]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark { file: 77, writer: 3, run: 9, generation: 12 };

    #[test]
    fn a_unit_tells_where_it_belongs_and_who_wrote_it() {
        for unit in [0, 1, 12_345, UNIT_MAX] {
            let bytes = unit_bytes(MARK.keys(unit));
            for (_, keys) in pairs(&bytes, 0) {
                assert_eq!(Mark::of_keys(keys), (MARK, unit));
            }
            assert_eq!(pairs(&bytes[7..], 7).count(), 31);
        }
    }

    #[test]
    fn whoever_cuts_a_write_fills_the_same() {
        let mut whole = vec![0; 5_000];
        MARK.fill(&mut whole, 777);
        for cut in [1, 7, 511, 512, 1_000, 4_999] {
            let mut parts = vec![0; 5_000];
            let (first, second) = parts.split_at_mut(cut);
            MARK.fill(first, 777);
            MARK.fill(second, 777 + cut as u64);
            assert_eq!(parts, whole, "{cut}");
        }
    }

    #[test]
    fn no_eight_bytes_come_twice() {
        let mut seen = std::collections::HashSet::new();
        for generation in 1..4 {
            let mut bytes = vec![0; 64 << 10];
            Mark { generation, ..MARK }.fill(&mut bytes, 4096);
            let words = bytes.chunks_exact(8).map(<[u8]>::to_vec);
            assert!(words.into_iter().all(|word| seen.insert(word)), "{generation}");
        }
    }

    #[test]
    fn names_of_a_file_have_one_number() {
        let same = [&b"a/b"[..], b"./a/b", b"a//b", b"a/./b"];
        assert!(same.iter().all(|path| file_number(path) == file_number(same[0])));
        let other = [&b"/a/b"[..], b"ab", b"a/b/c", b"b/a", b"a/b\0"];
        assert!(other.iter().all(|path| file_number(path) != file_number(same[0])));
    }
}
