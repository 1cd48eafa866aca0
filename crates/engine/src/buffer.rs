//! Memory of writes and reads: page-aligned, reused, grown and
//! filled outside the timed window.
//!
//! | content | bytes |
//! |---|---|
//! | random | pseudo-random: each call takes another part of the rank's pool, and every 4 KiB of it get a stamp, so that no two blocks of a run are equal |
//! | shaped | the same, but blocks compress or repeat as often as was asked for |
//! | zero | zeros |
//! | marked | zeros, for which a back-end puts data that describes itself: `verify=true` |
//! | sample | what a file beside the program holds, at each place of a file the byte at that place |
//! | offset | pseudo-random by seed and position in the file: any two writers of a range write the same |

mod area;
mod content;
mod fill;
mod mapping;
mod pool;
mod repeated;
mod slots;
mod stamp;
mod wide;

pub use area::Area;
pub use content::{Content, Ratio, Shape};
pub use fill::{fill_offset, fill_sample};
pub(crate) use mapping::Mapping;
pub use slots::Slots;

use crate::rng::mix;
use model::plan::Sample;
use pool::Pool;
use repeated::Repeated;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use wide::Wide;

/// Alignment of every buffer in bytes: enough for `O_DIRECT` everywhere.
pub const ALIGNMENT_BYTES: usize = mapping::PAGE_BYTES;

/// The most one read or write moves on Linux (`MAX_RW_COUNT`); a larger request is made in
/// several calls and so needs no larger buffer.
pub const MAX_CALL_BYTES: usize = 0x7fff_f000;

/// Up to here a buffer of [`Buffers::wide_source`] is memory of its own throughout.
pub const WIDE_BYTES: usize = 256 << 20;

/// Kinds of data that were written besides random data that never repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrote {
    /// `data="zero"`
    pub zeros: bool,
    /// `data="offset"`, `data="file:NAME"`
    pub by_offset: bool,
    /// `compress=R` or `dedup=R`
    pub shaped: bool,
    /// Calls of more than [`WIDE_BYTES`], whose bytes repeat.
    pub wide: bool,
}

/// The buffers of one rank. Simulated ranks take turns and can share one.
#[derive(Debug)]
pub struct Buffers {
    seed: u64,
    rank_seed: u64,
    filled: bool,
    random: Pool,
    /// Random data of the shape asked for last.
    shaped: Pool,
    /// How many pools of some shape there were.
    shapes: u64,
    zero: Mapping,
    offset: Mapping,
    wide: Wide,
    wide_zero: Repeated,
    target: Mapping,
    gathered: Gathered,
    samples: Vec<Arc<Vec<u8>>>,
    wrote: Wrote,
}

/// Where [`Buffers::gather`] has put bytes together.
#[derive(Clone, Copy, Debug)]
enum Gathered {
    Offset,
    Random(usize),
    Shaped(usize),
}

impl Buffers {
    /// Buffers that take no memory before they are used.
    pub fn new(seed: u64, rank: u32) -> Buffers {
        Buffers::of_execution(seed, rank, 0)
    }

    /// The same for one of several executions in a run, which write different random data.
    pub fn of_execution(seed: u64, rank: u32, execution: u32) -> Buffers {
        let number = u64::from(execution) << 32 | u64::from(rank);
        let rank_seed = mix(seed ^ mix(number));
        Buffers {
            seed,
            rank_seed,
            filled: true,
            random: Pool::new(rank_seed, Shape::PLAIN),
            shaped: Pool::new(rank_seed, Shape::PLAIN),
            shapes: 0,
            zero: Mapping::default(),
            offset: Mapping::default(),
            wide: Wide::new(mix(rank_seed), Shape::PLAIN),
            wide_zero: Repeated::default(),
            target: Mapping::default(),
            gathered: Gathered::Offset,
            samples: Vec::new(),
            wrote: Wrote::default(),
        }
    }

    /// The same with the samples of a plan.
    pub fn with_samples(self, samples: &[Sample]) -> Buffers {
        let samples = samples.iter().map(|sample| Arc::clone(&sample.bytes)).collect();
        Buffers { samples, ..self }
    }

    /// Buffers for back-ends that do not look at the bytes: only address space, no memory.
    pub fn unfilled() -> Buffers {
        Buffers { filled: false, ..Buffers::new(0, 0) }
    }

    /// Makes memory for random data and for reads now instead of on first use. An error is
    /// `ENOMEM`.
    pub fn prepare(&mut self, random_bytes: usize, target_bytes: usize) -> io::Result<()> {
        self.random.grow(random_bytes)?;
        self.target(target_bytes).map(|target| target.fill(1))
    }

    /// `len` bytes to write at `offset_bytes` of a file (0 where that is not known). Call it once
    /// for each write, outside the timed window: it may allocate and fill. Random data costs its
    /// stamps, zeros cost nothing once they have been as long. An error is `ENOMEM`.
    #[inline(always)]
    pub fn source(&mut self, content: Content, len: usize, offset_bytes: u64) -> io::Result<&[u8]> {
        match content {
            Content::Random if self.filled && self.random.is_ready(len) => {
                Ok(self.random.take(len, offset_bytes))
            }
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
        match content {
            Content::Offset if self.filled => {
                self.wrote.by_offset = true;
                self.offset.grow(len, true)?;
                let bytes = &mut self.offset.bytes_mut()[..len];
                fill_offset(bytes, offset_bytes, self.seed);
                Ok(bytes)
            }
            Content::Sample(number) if self.filled => {
                self.wrote.by_offset = true;
                self.offset.grow(len, true)?;
                let bytes = &mut self.offset.bytes_mut()[..len];
                fill_sample(bytes, offset_bytes, &self.samples[number as usize]);
                Ok(bytes)
            }
            Content::Random | Content::Shaped(_) if self.filled => {
                Ok(self.pool(content, len)?.take(len, offset_bytes))
            }
            _ => {
                self.wrote.zeros |= self.filled && content == Content::Zero;
                self.zero.grow(len, self.filled)?;
                Ok(&self.zero.bytes()[..len])
            }
        }
    }

    /// The pool of random content, whose next bytes are ready.
    fn pool(&mut self, content: Content, len: usize) -> io::Result<&mut Pool> {
        let pool = self.pool_of(content);
        if !pool.is_ready(len) {
            pool.make_ready(len)?;
        }
        Ok(pool)
    }

    fn pool_of(&mut self, content: Content) -> &mut Pool {
        let Content::Shaped(shape) = content else { return &mut self.random };
        self.wrote.shaped = true;
        if self.shaped.shape() != shape {
            // Another key: what an earlier pool of this shape held must not come again.
            self.shapes += 1;
            self.shaped = Pool::new(mix(self.rank_seed ^ mix(self.shapes)), shape);
        }
        &mut self.shaped
    }

    /// [`Buffers::source`] for calls of any size: beyond [`WIDE_BYTES`] random and zero bytes
    /// repeat, so that they take no more memory than that.
    #[inline(always)]
    pub fn wide_source(
        &mut self,
        content: Content,
        len: usize,
        offset_bytes: u64,
    ) -> io::Result<&[u8]> {
        match len <= WIDE_BYTES {
            true => self.source(content, len, offset_bytes),
            false => self.repeated_source(content, len, offset_bytes),
        }
    }

    #[cold]
    fn repeated_source(
        &mut self,
        content: Content,
        len: usize,
        offset_bytes: u64,
    ) -> io::Result<&[u8]> {
        let by_place = matches!(content, Content::Offset | Content::Sample(_) | Content::Marked);
        if by_place || !self.filled {
            return self.source(content, len, offset_bytes);
        }
        if content == Content::Zero {
            self.wrote.zeros = true;
            self.wide_zero.grow(len, WIDE_BYTES, |_| ())?;
            return Ok(&self.wide_zero.bytes()[..len]);
        }
        self.wrote.wide = true;
        let shape = match content {
            Content::Shaped(shape) => shape,
            _ => Shape::PLAIN,
        };
        self.wrote.shaped |= shape != Shape::PLAIN;
        if self.wide.shape() != shape {
            self.wide = self.wide.reshaped(shape);
        }
        self.wide.take(len, offset_bytes)
    }

    /// Puts the bytes of places in a file together, as one call over all of them needs them:
    /// see [`Buffers::gathered`]. An error is `ENOMEM`.
    pub fn gather(
        &mut self,
        content: Content,
        len: usize,
        places: impl Iterator<Item = (u64, usize)>,
    ) -> io::Result<()> {
        self.gathered = Gathered::Offset;
        match content {
            Content::Random | Content::Shaped(_) if self.filled => {
                let start = self.pool(content, len)?.take_for(len, places);
                self.gathered = match content {
                    Content::Random => Gathered::Random(start),
                    _ => Gathered::Shaped(start),
                };
                return Ok(());
            }
            _ => self.offset.grow(len, self.filled)?,
        }
        if self.filled && content != Content::Marked {
            self.wrote.by_offset |= matches!(content, Content::Offset | Content::Sample(_));
            let mut rest = &mut self.offset.bytes_mut()[..len];
            for (offset_bytes, piece_len) in places {
                let (piece, after) = rest.split_at_mut(piece_len.min(rest.len()));
                match content {
                    Content::Sample(number) => {
                        fill_sample(piece, offset_bytes, &self.samples[number as usize]);
                    }
                    _ => fill_offset(piece, offset_bytes, self.seed),
                }
                rest = after;
            }
        }
        Ok(())
    }

    /// A part of what was last gathered; empty if there is not as much.
    pub fn gathered(&self, range: Range<usize>) -> &[u8] {
        let (bytes, start) = match self.gathered {
            Gathered::Offset => (self.offset.bytes(), 0),
            Gathered::Random(start) => (self.random.bytes(), start),
            Gathered::Shaped(start) => (self.shaped.bytes(), start),
        };
        bytes.get(start..).and_then(|bytes| bytes.get(range)).unwrap_or_default()
    }

    /// Room for `len` bytes to read. Call it outside the timed window. An error is `ENOMEM`.
    #[inline(always)]
    pub fn target(&mut self, len: usize) -> io::Result<&mut [u8]> {
        if len > self.target.len() {
            self.target.grow(len, self.filled)?;
        }
        Ok(&mut self.target.bytes_mut()[..len])
    }

    /// The kinds of data written since the last call of this.
    pub fn take_wrote(&mut self) -> Wrote {
        std::mem::take(&mut self.wrote)
    }
}

#[cfg(test)]
mod tests;
