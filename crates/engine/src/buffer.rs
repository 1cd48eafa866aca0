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

mod content;
mod mapping;
mod pool;
mod slots;

pub use content::{Content, Ratio, Shape, fill_offset};
pub(crate) use mapping::Mapping;
pub use slots::{Area, Slots};

use crate::rng::mix;
use content::fill_by_place;
use model::plan::Sample;
use model::rehearsal::BufferBytes;
use pool::Pool;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Alignment of every buffer in bytes: enough for `O_DIRECT` everywhere.
pub const ALIGNMENT_BYTES: usize = mapping::PAGE_BYTES;

/// The most one read or write moves on Linux (`MAX_RW_COUNT`); a larger request is made in
/// several calls and so needs no larger buffer.
pub const MAX_CALL_BYTES: usize = 0x7fff_f000;

/// Kinds of data that were written besides random data that never repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wrote {
    /// `data="zero"`
    pub zeros: bool,
    /// `data="offset"`, `data="file:NAME"`
    pub by_offset: bool,
    /// `compress=R` or `dedup=R`
    pub shaped: bool,
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
    target: Mapping,
    /// The kind of memory in which [`Buffers::gather`] has put bytes together, and where.
    gathered: (Content, usize),
    samples: Vec<Arc<Vec<u8>>>,
    wrote: Wrote,
    /// Memory of a queue, until the rank takes it.
    area: Option<Area>,
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
            target: Mapping::default(),
            gathered: (Content::Offset, 0),
            samples: Vec::new(),
            wrote: Wrote::default(),
            area: None,
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

    /// Makes memory and random data now instead of on first use. An error is `ENOMEM`.
    pub fn prepare(&mut self, memory: &BufferBytes) -> io::Result<()> {
        self.random.grow(memory.pool_bytes as usize)?;
        self.zero.grow(memory.zero_bytes as usize, self.filled)?;
        self.offset.grow(memory.placed_bytes as usize, self.filled)?;
        if memory.queue_bytes > 0 {
            self.area = Some(Area::with_memory(memory.queue_bytes as usize)?);
        }
        self.target(memory.read_bytes as usize).map(|target| target.fill(1))
    }

    /// Memory for a queue, if it was made beforehand.
    pub(crate) fn take_area(&mut self) -> Option<Area> {
        self.area.take()
    }

    /// A read of `len` bytes needs no new memory.
    #[inline(always)]
    pub(crate) fn has_target(&self, len: usize) -> bool {
        len <= self.target.len()
    }

    /// A write of `len` bytes can surely be made at once.
    #[inline(always)]
    pub(crate) fn is_ready(&self, content: Content, len: usize) -> bool {
        match content {
            Content::Random => self.random.is_ready(len),
            _ => false,
        }
    }

    /// A write of `len` bytes needs new memory or new random data.
    #[cold]
    pub(crate) fn lacks(&self, content: Content, len: usize) -> bool {
        match content {
            Content::Random if self.filled => self.random.lacks(len),
            Content::Shaped(shape) if self.filled => {
                self.shaped.shape() != shape || self.shaped.lacks(len)
            }
            Content::Offset | Content::Sample(_) if self.filled => len > self.offset.len(),
            _ => len > self.zero.len(),
        }
    }

    /// Makes what [`Buffers::lacks`] says is missing. Without memory for it the write reports that.
    pub(crate) fn make_room(&mut self, content: Content, len: usize) {
        let _ = match content {
            Content::Random | Content::Shaped(_) if self.filled => {
                self.pool(content, len).map(|_| ())
            }
            Content::Offset | Content::Sample(_) if self.filled => self.offset.grow(len, true),
            _ => self.zero.grow(len, self.filled),
        };
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
            Content::Zero if len <= self.zero.len() => {
                self.wrote.zeros |= self.filled;
                Ok(&self.zero.bytes()[..len])
            }
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
            Content::Offset | Content::Sample(_) if self.filled => {
                self.wrote.by_offset = true;
                self.offset.grow(len, true)?;
                let bytes = &mut self.offset.bytes_mut()[..len];
                fill_by_place(content, bytes, offset_bytes, (self.seed, &self.samples));
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

    /// Puts the bytes of places in a file together, as one call over all of them needs them:
    /// see [`Buffers::gathered`]. An error is `ENOMEM`.
    pub fn gather(
        &mut self,
        content: Content,
        len: usize,
        places: impl Iterator<Item = (u64, usize)>,
    ) -> io::Result<()> {
        if self.filled && matches!(content, Content::Random | Content::Shaped(_)) {
            let start = self.pool(content, len)?.take_for(len, places);
            self.gathered = (content, start);
            return Ok(());
        }
        self.gathered = (Content::Offset, 0);
        self.offset.grow(len, self.filled)?;
        if self.filled && content != Content::Marked {
            self.wrote.by_offset = true;
            let mut rest = &mut self.offset.bytes_mut()[..len];
            for (offset_bytes, piece_len) in places {
                let (piece, after) = rest.split_at_mut(piece_len.min(rest.len()));
                fill_by_place(content, piece, offset_bytes, (self.seed, &self.samples));
                rest = after;
            }
        }
        Ok(())
    }

    /// A part of what was last gathered; empty if there is not as much.
    pub fn gathered(&self, range: Range<usize>) -> &[u8] {
        let (content, start) = self.gathered;
        let bytes = match content {
            Content::Random => self.random.bytes(),
            Content::Shaped(_) => self.shaped.bytes(),
            _ => self.offset.bytes(),
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
