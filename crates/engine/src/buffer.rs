//! What is written and where reads go: page-aligned memory, reused, grown and
//! filled outside the timed window.
//!
//! | content | bytes |
//! |---|---|
//! | random | pseudo-random by seed, rank and position in the buffer: nothing to compress, nothing that two ranks share |
//! | zero | zeros |
//! | offset | pseudo-random by seed and position in the file: any two writers of a range write the same |

mod mapping;
mod repeated;

use crate::rng::mix;
use mapping::Mapping;
use repeated::Repeated;
use std::io;
use std::ops::Range;

/// Alignment of every buffer in bytes: enough for `O_DIRECT` everywhere.
pub const ALIGNMENT_BYTES: usize = mapping::PAGE_BYTES;

/// The most one read or write moves on Linux (`MAX_RW_COUNT`); a larger request is made in
/// several calls and so needs no larger buffer.
pub const MAX_CALL_BYTES: usize = 0x7fff_f000;

/// Up to here a buffer of [`Buffers::wide_source`] is memory of its own throughout.
pub const WIDE_BYTES: usize = 256 << 20;

/// What a written buffer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// `data="random"`
    #[default]
    Random,
    /// `data="zero"`
    Zero,
    /// `data="offset"`
    Offset,
}

impl Content {
    /// The content with this name in `with (data=...)`.
    pub fn find(name: &str) -> Option<Content> {
        match name {
            "random" => Some(Content::Random),
            "zero" => Some(Content::Zero),
            "offset" => Some(Content::Offset),
            _ => None,
        }
    }
}

/// The buffers of one rank. Simulated ranks take turns and can share one.
#[derive(Debug)]
pub struct Buffers {
    seed: u64,
    rank_seed: u64,
    filled: bool,
    random: Mapping,
    zero: Mapping,
    offset: Mapping,
    wide: Repeated,
    wide_zero: Repeated,
    target: Mapping,
}

impl Buffers {
    /// Buffers that take no memory before they are used.
    pub fn new(seed: u64, rank: u32) -> Buffers {
        Buffers {
            seed,
            rank_seed: mix(seed ^ mix(u64::from(rank))),
            filled: true,
            random: Mapping::default(),
            zero: Mapping::default(),
            offset: Mapping::default(),
            wide: Repeated::default(),
            wide_zero: Repeated::default(),
            target: Mapping::default(),
        }
    }

    /// Buffers for back-ends that do not look at the bytes: only address space, no memory.
    pub fn unfilled() -> Buffers {
        Buffers { filled: false, ..Buffers::new(0, 0) }
    }

    /// `len` bytes to write at `offset_bytes` of a file. Call it outside the timed
    /// window: it may allocate and fill. Random and zero buffers cost nothing once
    /// they have been as long. An error is `ENOMEM`.
    #[inline(always)]
    pub fn source(&mut self, content: Content, len: usize, offset_bytes: u64) -> io::Result<&[u8]> {
        match content {
            Content::Random if len <= self.random.len() => Ok(&self.random.bytes()[..len]),
            Content::Zero if len <= self.zero.len() => Ok(&self.zero.bytes()[..len]),
            _ => self.source_slow(content, len, offset_bytes),
        }
    }

    #[cold]
    fn source_slow(
        &mut self,
        content: Content,
        len: usize,
        offset_bytes: u64,
    ) -> io::Result<&[u8]> {
        let buffer = match content {
            Content::Zero => &mut self.zero,
            Content::Offset if self.filled => &mut self.offset,
            _ => &mut self.random,
        };
        let old_len = buffer.len();
        buffer.grow(len, self.filled)?;
        let bytes = buffer.bytes_mut();
        match content {
            _ if !self.filled => {}
            Content::Zero => {}
            Content::Random => {
                fill_offset(&mut bytes[old_len..], old_len as u64, self.rank_seed);
            }
            Content::Offset => fill_offset(&mut bytes[..len], offset_bytes, self.seed),
        }
        Ok(&buffer.bytes()[..len])
    }

    /// [`Buffers::source`] for calls of any size: beyond [`WIDE_BYTES`] random and zero bytes
    /// repeat, so that they take no more memory than that.
    pub fn wide_source(
        &mut self,
        content: Content,
        len: usize,
        offset_bytes: u64,
    ) -> io::Result<&[u8]> {
        if len <= WIDE_BYTES || content == Content::Offset || !self.filled {
            return self.source(content, len, offset_bytes);
        }
        let rank_seed = self.rank_seed;
        let fill = |window: &mut [u8]| {
            if content == Content::Random {
                fill_offset(window, 0, rank_seed);
            }
        };
        let wide = if content == Content::Zero { &mut self.wide_zero } else { &mut self.wide };
        wide.grow(len, WIDE_BYTES, fill)?;
        Ok(&wide.bytes()[..len])
    }

    /// Puts the bytes of places in a file together, as one call over all of them needs them:
    /// see [`Buffers::gathered`]. An error is `ENOMEM`.
    pub fn gather(
        &mut self,
        len: usize,
        places: impl Iterator<Item = (u64, usize)>,
    ) -> io::Result<()> {
        self.offset.grow(len, self.filled)?;
        if !self.filled {
            return Ok(());
        }
        let mut rest = &mut self.offset.bytes_mut()[..len];
        for (offset_bytes, piece_len) in places {
            let (piece, after) = rest.split_at_mut(piece_len.min(rest.len()));
            fill_offset(piece, offset_bytes, self.seed);
            rest = after;
        }
        Ok(())
    }

    /// A part of what was last gathered; empty if there is not as much.
    pub fn gathered(&self, range: Range<usize>) -> &[u8] {
        self.offset.bytes().get(range).unwrap_or_default()
    }

    /// The seed of bytes that go by their offset; `None`: nobody looks at the bytes.
    pub fn offset_seed(&self) -> Option<u64> {
        self.filled.then_some(self.seed)
    }

    /// Room for `len` bytes to read. Call it outside the timed window. An error is `ENOMEM`.
    #[inline(always)]
    pub fn target(&mut self, len: usize) -> io::Result<&mut [u8]> {
        if len > self.target.len() {
            self.target.grow(len, self.filled)?;
        }
        Ok(&mut self.target.bytes_mut()[..len])
    }
}

/// Bytes that one hash gives.
const STRIDE_BYTES: usize = 32;

/// Fills `buf` with the bytes that belong at `offset_bytes` of a file: piece `i` of 32
/// bytes is a hash of the seed and `i`. Several GB/s; cannot be compressed.
pub fn fill_offset(buf: &mut [u8], offset_bytes: u64, seed: u64) {
    let key = mix(seed);
    let (stride, skip) = (STRIDE_BYTES as u64, (offset_bytes % STRIDE_BYTES as u64) as usize);
    let first = offset_bytes / stride;
    let head_len = if skip == 0 { 0 } else { (STRIDE_BYTES - skip).min(buf.len()) };
    let (head, body) = buf.split_at_mut(head_len);
    if head_len > 0 {
        head.copy_from_slice(&piece(key, first)[skip..skip + head_len]);
    }
    let mut pieces = body.chunks_exact_mut(STRIDE_BYTES);
    let mut index = offset_bytes.div_ceil(stride);
    for target in &mut pieces {
        target.copy_from_slice(&piece(key, index));
        index = index.wrapping_add(1);
    }
    let tail = pieces.into_remainder();
    tail.copy_from_slice(&piece(key, index)[..tail.len()]);
}

/// One hash, spread to four words by multiplications (odd numbers out of the fractions
/// of the golden ratio and of the roots of 2, 3 and 5).
#[inline(always)]
fn piece(key: u64, index: u64) -> [u8; STRIDE_BYTES] {
    const SPREAD: [u64; 4] = [
        0x9e37_79b9_7f4a_7c15,
        0x6a09_e667_f3bc_c909,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
    ];
    let hash = mix(key.wrapping_add(index));
    let mut bytes = [0; STRIDE_BYTES];
    for (target, factor) in bytes.chunks_exact_mut(8).zip(SPREAD) {
        let word = (hash ^ (hash >> 32)).wrapping_mul(factor) ^ (hash >> 29);
        target.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(offset_bytes: u64, len: usize, seed: u64) -> Vec<u8> {
        let mut buf = vec![0; len];
        fill_offset(&mut buf, offset_bytes, seed);
        buf
    }

    proptest! {
        /// Trap 12: any two writers of a range write the same bytes.
        #[test]
        fn content_does_not_depend_on_request_sizes(start in 0u64..1 << 60,
                                                    sizes in prop::collection::vec(0usize..90, 0..20),
                                                    seed in any::<u64>()) {
            let whole = filled(start, sizes.iter().sum(), seed);
            let mut at = start;
            let mut pieces = Vec::new();
            for size in sizes {
                pieces.extend(filled(at, size, seed));
                at += size as u64;
            }
            prop_assert_eq!(whole, pieces);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        assert_eq!(filled(0, 8, 42), GOLDEN);
        assert_ne!(filled(0, 8, 42), filled(8, 8, 42));
        assert_ne!(filled(0, 8, 42), filled(0, 8, 43));
    }

    const GOLDEN: [u8; 8] = [69, 234, 247, 75, 234, 237, 19, 35];

    /// Trap 28. Entropy of bytes in bits: 8 cannot be compressed.
    #[test]
    fn content_cannot_be_compressed() {
        let mut buffers = Buffers::new(42, 0);
        let bytes = buffers.source(Content::Random, 1 << 20, 0).unwrap();
        let mut counts = [0u32; 256];
        bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        let share = |count: u32| f64::from(count) / bytes.len() as f64;
        let entropy: f64 = counts.iter().map(|count| -share(*count) * share(*count).log2()).sum();
        assert!(entropy > 7.999, "{entropy}");
        let mut blocks: Vec<&[u8]> = bytes.chunks(64).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), (1 << 20) / 64);
    }

    #[test]
    fn buffers_are_aligned_and_keep_their_content_when_they_grow() {
        let mut buffers = Buffers::new(1, 2);
        let small = buffers.source(Content::Random, 100, 0).unwrap().to_vec();
        for len in [5000, 1 << 20, 3 << 20] {
            let larger = buffers.source(Content::Random, len, 0).unwrap();
            assert_eq!((larger.len(), larger.as_ptr() as usize % ALIGNMENT_BYTES), (len, 0));
            assert_eq!(larger[..100], small);
            assert_ne!(larger[len - 8..], [0; 8]);
            let target = buffers.target(len).unwrap();
            target.fill(7);
            assert_eq!((target.len(), target.as_ptr() as usize % ALIGNMENT_BYTES), (len, 0));
            assert!(buffers.source(Content::Zero, len, 0).unwrap().iter().all(|byte| *byte == 0));
        }
        assert_eq!(buffers.source(Content::Random, 0, 0).unwrap(), [0u8; 0]);
    }

    #[test]
    fn ranks_write_different_bytes_unless_content_goes_by_offset() {
        let (mut a, mut b) = (Buffers::new(1, 0), Buffers::new(1, 1));
        let of =
            |buffers: &mut Buffers, content| buffers.source(content, 64, 4096).unwrap().to_vec();
        assert_ne!(of(&mut a, Content::Random), of(&mut b, Content::Random));
        assert_eq!(of(&mut a, Content::Offset), of(&mut b, Content::Offset));
        assert_eq!(of(&mut a, Content::Offset), filled(4096, 64, 1));
    }

    #[test]
    fn wide_buffers_repeat_and_take_little_memory() {
        let mut buffers = Buffers::new(1, 0);
        let len = 5 * WIDE_BYTES + 100;
        let bytes = buffers.wide_source(Content::Random, len, 0).unwrap();
        assert_eq!(bytes.len(), len);
        assert_ne!(bytes[..100], [0; 100]);
        assert_eq!(bytes[..100], bytes[5 * WIDE_BYTES..]);
        let small = buffers.wide_source(Content::Random, 100, 0).unwrap().to_vec();
        assert_eq!(buffers.source(Content::Random, 100, 0).unwrap(), small);
    }

    #[test]
    fn gathered_bytes_are_those_of_their_places() {
        let mut buffers = Buffers::new(1, 0);
        buffers.gather(30, [(100, 10), (7, 20)].into_iter()).unwrap();
        assert_eq!(buffers.gathered(0..10), filled(100, 10, 1));
        assert_eq!(buffers.gathered(10..30), filled(7, 20, 1));
        assert_eq!(buffers.gathered(20..1 << 40), [0u8; 0]);
    }

    #[test]
    fn what_memory_cannot_hold_is_an_error() {
        let mut buffers = Buffers::new(1, 0);
        for len in [1 << 46, usize::MAX - 1] {
            let error = buffers.source(Content::Random, len, 0).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
            assert!(buffers.target(len).is_err());
        }
        assert!(buffers.source(Content::Random, 10, 0).is_ok());
    }

    #[test]
    fn simulated_buffers_need_address_space_only() {
        let mut buffers = Buffers::unfilled();
        let len = MAX_CALL_BYTES;
        assert_eq!(buffers.source(Content::Random, len, 0).unwrap().len(), len);
        assert_eq!(buffers.source(Content::Offset, len, 77).unwrap()[len - 1], 0);
        assert_eq!(buffers.target(len).unwrap().len(), len);
    }
}
