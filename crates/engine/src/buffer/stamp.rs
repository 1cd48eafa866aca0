//! Stamps: a few bytes in each block that no other block of the run has.

use super::content::{Ratio, Shape};
use super::fill::fill_offset;
use crate::rng::mix;

/// Size of the blocks that never repeat: what file systems compare and compress at least.
pub(super) const BLOCK_BYTES: usize = 4096;
/// Bytes of a stamp.
const STAMP_BYTES: usize = 16;
/// An odd number from the fraction of the golden ratio: spreads one word to a second.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where a call's bytes lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// In the pool.
    pub(super) pool_bytes: usize,
    /// In the file.
    pub(super) offset_bytes: u64,
}

/// The stamps of one rank.
#[derive(Clone, Debug)]
pub(super) struct Stamps {
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
    pub(super) fn new(key: u64, shape: Shape) -> Stamps {
        let shape = (shape != Shape::PLAIN).then_some(shape);
        Stamps { key, count: 0, shape, in_parts: false }
    }

    /// Stamps the first byte of a call and every block of the file that begins in it, so that
    /// whatever blocks of the file it touches get a stamp, wherever the call begins. Where blocks
    /// are to compress or to repeat, each page of the pool has one stamp, at its beginning.
    #[inline(always)]
    pub(super) fn put(&mut self, bytes: &mut [u8], at: Position) {
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
    pub(super) fn start_over(&mut self) {
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
