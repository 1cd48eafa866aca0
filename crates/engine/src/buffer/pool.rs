//! Kinds of written data, as `with (data=..., compress=..., dedup=...)` names them, and the pool: random bytes made
//! once, of which each call writes another part.
//!
//! ```text
//! |  call 1  |  call 2  | 3 |  call 4  | ...        |      one after the other, then from the start
//! s   s   s  s   s   s  s   s   s   s               ^ 16 MiB, or the largest call
//! ```
//!
//! A call's bytes cost nothing but their stamps (`s`): a few bytes in each block that no other block of the run has.
//! So memory and CPU are spent once.

use super::mapping::Mapping;
use crate::rng::mix;
use model::limits::POOL_BYTES;
use std::io;
use std::sync::Arc;

/// Size of the blocks that never repeat: what file systems compare and compress at least.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Bytes of a stamp.
const STAMP_BYTES: usize = 16;
/// An odd number from the fraction of the golden ratio: spreads one word to a second.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Random bytes of one rank.
#[derive(Debug)]
pub(crate) struct Pool {
    mapping: Mapping,
    shape: Shape,
    key: u64,
    /// Where the next call's bytes begin; a multiple of a page.
    next: usize,
    stamps: Stamps,
}

impl Pool {
    /// An empty pool that grows when it is used. `key`: seed of the rank.
    pub(crate) fn new(key: u64, shape: Shape) -> Pool {
        Pool { mapping: Mapping::default(), shape, key, next: 0, stamps: Stamps::new(key, shape) }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// The next bytes can be taken at once.
    #[inline(always)]
    pub(crate) fn is_ready(&self, len: usize) -> bool {
        len <= self.mapping.len() - self.next
    }

    /// The next `len` bytes take more memory.
    pub(crate) fn lacks(&self, len: usize) -> bool {
        !self.is_ready(len) && self.end_of_next(len) > self.mapping.len()
    }

    /// How long the pool has to be for the next `len` bytes.
    fn end_of_next(&self, len: usize) -> usize {
        let end = self.next.saturating_add(len);
        if end as u64 > POOL_BYTES { len } else { end }
    }

    /// Finds the next `len` bytes: new ones as long as the pool has not its size, then those
    /// taken longest ago.
    #[cold]
    pub(crate) fn make_ready(&mut self, len: usize) -> io::Result<()> {
        let end = self.end_of_next(len);
        if self.next.saturating_add(len) as u64 > POOL_BYTES {
            self.next = 0;
            self.stamps.start_over();
        }
        self.grow(end)
    }

    /// Makes it at least so long.
    pub(crate) fn grow(&mut self, len: usize) -> io::Result<()> {
        let old = self.mapping.len();
        self.mapping.grow(len, true)?;
        fill(&mut self.mapping.bytes_mut()[old..], old, self.key, self.shape);
        Ok(())
    }

    /// Takes bytes that [`Pool::is_ready`] says are there; where they begin.
    #[inline(always)]
    fn claim(&mut self, len: usize) -> usize {
        let start = self.next;
        self.next += len.next_multiple_of(BLOCK_BYTES);
        start
    }

    /// The next bytes, stamped for a place in a file. They must be ready.
    #[inline(always)]
    pub(crate) fn take(&mut self, len: usize, offset_bytes: u64) -> &[u8] {
        let start = self.claim(len);
        prefetch(self.mapping.bytes().as_ptr().wrapping_add(self.next));
        let bytes = &mut self.mapping.bytes_mut()[start..start + len];
        self.stamps.put(bytes, Position { pool_bytes: start, offset_bytes });
        bytes
    }

    /// The next bytes, stamped for several places one after the other (offset, length); where they
    /// begin. They must be ready.
    pub(crate) fn take_for(
        &mut self,
        len: usize,
        places: impl Iterator<Item = (u64, usize)>,
    ) -> usize {
        let start = self.claim(len);
        let mut at = start;
        for (offset_bytes, len) in places {
            let bytes = &mut self.mapping.bytes_mut()[at..at + len];
            self.stamps.put(bytes, Position { pool_bytes: at, offset_bytes });
            at += len;
        }
        start
    }

    /// All bytes, those taken before included.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }

    /// At least `len` bytes for transfers that are under way together, and their stamps.
    pub(crate) fn all(&mut self, len: usize) -> io::Result<(&mut [u8], &mut Stamps)> {
        self.grow(len.max(POOL_BYTES as usize))?;
        self.next = 0;
        self.stamps.start_over();
        Ok((self.mapping.bytes_mut(), &mut self.stamps))
    }
}

/// Has the beginning of the next call's bytes fetched meanwhile, as an application that has just
/// made them has them in its caches: without it a pwrite of 512 bytes takes a quarter longer
/// (EPYC 9004, tmpfs).
#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..16 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint that reads nothing; any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(64 * line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Fills a part of a pool that begins at `at`, a multiple of a page. With `dedup` neighbouring pages
/// are equal, with `compress` the end of each is zero, as it must be before.
fn fill(bytes: &mut [u8], at: usize, key: u64, shape: Shape) {
    if shape == Shape::PLAIN {
        return fill_offset(bytes, at as u64, key);
    }
    let random_bytes = shape.compress.divide(BLOCK_BYTES as u64) as usize;
    for (page, block) in ((at / BLOCK_BYTES) as u64..).zip(bytes.chunks_mut(BLOCK_BYTES)) {
        let end = random_bytes.min(block.len());
        fill_offset(&mut block[..end], shape.dedup.divide(page) * BLOCK_BYTES as u64, key);
    }
}

/// Where a call's bytes lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// In the pool.
    pub(crate) pool_bytes: usize,
    /// In the file.
    pub(crate) offset_bytes: u64,
}

/// The stamps of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Stamps {
    key: u64,
    /// Stamps given so far; shaped data: how often the pool was gone through.
    count: u64,
    /// `None`: every stamp is another.
    shape: Option<Shape>,
    /// A part of a page was written, whose end is zero elsewhere than that of the page: every page is made
    /// anew before it is written.
    in_parts: bool,
}

impl Stamps {
    /// `key`: seed of the rank.
    pub(crate) fn new(key: u64, shape: Shape) -> Stamps {
        let shape = (shape != Shape::PLAIN).then_some(shape);
        Stamps { key, count: 0, shape, in_parts: false }
    }

    /// Stamps the first byte of a call and every block of the file that begins in it, so that
    /// whatever blocks of the file it touches get a stamp, wherever the call begins. Where blocks
    /// are to compress or to repeat, each page of the pool has one stamp, at its beginning.
    #[inline(always)]
    pub(crate) fn put(&mut self, bytes: &mut [u8], at: Position) {
        if let Some(shape) = self.shape {
            return self.put_shaped(bytes, at.pool_bytes, shape);
        }
        let skip = at.offset_bytes as usize % BLOCK_BYTES;
        let head = (BLOCK_BYTES - skip).min(bytes.len());
        let (head, blocks) = bytes.split_at_mut(head);
        self.count += 1;
        write(head, self.key, self.count);
        for block in blocks.chunks_mut(BLOCK_BYTES) {
            self.count += 1;
            write(block, self.key, self.count);
        }
    }

    #[inline(never)]
    fn put_shaped(&mut self, bytes: &mut [u8], pool_bytes: usize, shape: Shape) {
        let (first, within) = (pool_bytes / BLOCK_BYTES, pool_bytes % BLOCK_BYTES);
        self.in_parts |= !bytes.len().is_multiple_of(BLOCK_BYTES) || within != 0;
        for (page, block) in (first as u64..).zip(bytes.chunks_mut(BLOCK_BYTES)) {
            let number = shape.dedup.divide(page);
            if self.in_parts && shape.compress != Ratio::ONE {
                let random_bytes = shape.compress.divide(block.len() as u64) as usize;
                let (random, rest) = block.split_at_mut(random_bytes);
                fill_offset(random, number * BLOCK_BYTES as u64 + within as u64, self.key);
                rest.fill(0);
            }
            write(block, self.key, self.count << 20 | number);
        }
    }

    /// The pool starts anew: its pages get other stamps than before.
    pub(crate) fn start_over(&mut self) {
        self.count += 1;
    }
}

/// Different numbers give different stamps.
#[inline(always)]
fn write(block: &mut [u8], key: u64, number: u64) {
    let hash = mix(key ^ number);
    let second = (hash ^ hash >> 32).wrapping_mul(SPREAD);
    match block.first_chunk_mut::<STAMP_BYTES>() {
        // Word by word: put together in memory first they would be read back before they are there.
        Some(target) => {
            let (first, last) = target.split_at_mut(STAMP_BYTES / 2);
            first.copy_from_slice(&hash.to_le_bytes());
            last.copy_from_slice(&second.to_le_bytes());
        }
        None => write_part(block, hash, second),
    }
}

/// A block that is shorter than its stamp. Kept apart: beside the other one both become a call of memcpy.
#[cold]
#[inline(never)]
fn write_part(block: &mut [u8], hash: u64, second: u64) {
    let stamp = (u128::from(second) << 64 | u128::from(hash)).to_le_bytes();
    block.copy_from_slice(&stamp[..block.len()]);
}

/// Bytes that one hash gives.
const STRIDE_BYTES: usize = 32;

/// The content of a written buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// `data="random"`: no two blocks are equal, and none compresses.
    #[default]
    Random,
    /// The same with `compress=R` or `dedup=R`.
    Shaped(Shape),
    /// `data="zero"`
    Zero,
    /// `data="offset"`
    Offset,
    /// `data="file:NAME"`: what the sample with this number has at that place.
    Sample(u32),
    /// `verify=true`: [`crate::verify::Verified`] fills it.
    Marked,
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

    /// Random content of this shape.
    pub fn random(shape: Shape) -> Content {
        if shape == Shape::PLAIN { Content::Random } else { Content::Shaped(shape) }
    }
}

/// How far random data compresses and repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Size of a block divided by its compressed size.
    pub compress: Ratio,
    /// Number of blocks divided by the number of different ones.
    pub dedup: Ratio,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape::PLAIN
    }
}

impl Shape {
    /// Nothing compresses, nothing repeats.
    pub const PLAIN: Shape = Shape { compress: Ratio::ONE, dedup: Ratio::ONE };
}

/// A ratio from 1 to 100, in steps of a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    thousandths: u32,
}

impl Ratio {
    /// 1
    pub const ONE: Ratio = Ratio { thousandths: 1000 };

    /// `None`: it is not between 1 and 100.
    pub fn new(ratio: f64) -> Option<Ratio> {
        let allowed = (1.0..=100.0).contains(&ratio);
        allowed.then(|| Ratio { thousandths: (ratio * 1000.0).round() as u32 })
    }

    /// `number` divided by the ratio, rounded down.
    pub(crate) fn divide(self, number: u64) -> u64 {
        number * 1000 / u64::from(self.thousandths)
    }
}

/// Fills `bytes` with what the content has at a place of a file; other content is left as it is.
pub(crate) fn fill_by_place(
    content: Content,
    bytes: &mut [u8],
    offset_bytes: u64,
    (seed, samples): (u64, &[Arc<Vec<u8>>]),
) {
    match content {
        Content::Offset => fill_offset(bytes, offset_bytes, seed),
        Content::Sample(number) => fill_sample(bytes, offset_bytes, &samples[number as usize]),
        Content::Random | Content::Shaped(_) | Content::Zero | Content::Marked => {}
    }
}

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

/// Fills `buf` with the bytes that a sample has at `offset_bytes`; it begins anew at its end.
fn fill_sample(buf: &mut [u8], offset_bytes: u64, sample: &[u8]) {
    let start = (offset_bytes % sample.len() as u64) as usize;
    let (head, rest) = buf.split_at_mut(buf.len().min(sample.len() - start));
    head.copy_from_slice(&sample[start..start + head.len()]);
    for part in rest.chunks_mut(sample.len()) {
        part.copy_from_slice(&sample[..part.len()]);
    }
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
