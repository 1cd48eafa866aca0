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
//!
//! Memory of transfers that are under way together, one slot for each: borrowed for one statement, or one's own
//! for transfers that outlive their statements.

mod mapping;
mod pool;

use crate::call::{Lent, Memory, Tag};
use crate::rng::mix;
pub(crate) use mapping::Mapping;
use model::pattern::Extent;
use model::plan::Sample;
use model::rehearsal::BufferBytes;
use pool::{BLOCK_BYTES, Pool, Position, Stamps, fill_by_place};
pub use pool::{Content, Ratio, Shape, fill_offset};
use std::collections::VecDeque;
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

/// Memory borrowed from the buffers until all transfers have ended; each has a slot.
pub struct Slots<'b> {
    base: *mut u8,
    slot_bytes: usize,
    count: u32,
    /// Slots that were lent at least once; the ones after them are free.
    used: u32,
    /// Those that were given back, the longest ago first.
    free: VecDeque<u32>,
    /// The one that was lent last.
    last: Option<u32>,
    /// The content that slots are filled with for writes. Zeros need a single slot, the first.
    content: Option<Content>,
    seed: u64,
    samples: &'b [Arc<Vec<u8>>],
    /// Stamps that make blocks of random bytes differ.
    stamps: Option<&'b mut Stamps>,
}

impl Buffers {
    /// Memory for `depth` transfers of at most `longest_bytes` at a time; `content`: of writes.
    /// An error is `ENOMEM`.
    pub fn slots(
        &mut self,
        content: Option<Content>,
        longest_bytes: usize,
        depth: u32,
    ) -> io::Result<Slots<'_>> {
        let slot_bytes =
            longest_bytes.checked_next_multiple_of(BLOCK_BYTES).ok_or_else(too_large)?;
        let all = slot_bytes.checked_mul(depth as usize).ok_or_else(too_large)?;
        let content = content.map(|content| if self.filled { content } else { Content::Zero });
        let (seed, mut count, mut stamps) = (self.seed, depth, None);
        let mut samples: &[Arc<Vec<u8>>] = &[];
        let base = match content {
            Some(Content::Zero) => self.source(Content::Zero, slot_bytes, 0)?.as_ptr().cast_mut(),
            Some(content @ (Content::Random | Content::Shaped(_))) => {
                let (bytes, of_pool) = self.pool_of(content).all(all)?;
                count = (bytes.len() / slot_bytes.max(1)) as u32;
                stamps = Some(of_pool);
                bytes.as_mut_ptr()
            }
            None | Some(Content::Offset | Content::Sample(_) | Content::Marked) => {
                self.wrote.by_offset |= content.is_some_and(|content| content != Content::Marked);
                let base = self.target(all)?.as_mut_ptr();
                samples = &self.samples;
                base
            }
        };
        let (used, free, last) = (0, VecDeque::new(), None);
        Ok(Slots { base, slot_bytes, count, used, free, last, content, seed, samples, stamps })
    }
}

fn too_large() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOMEM)
}

impl Slots<'_> {
    /// Memory for a transfer, and the number of its slot; `None`: all slots are lent.
    pub fn lend(&mut self, extent: Extent) -> Option<(Tag, Lent)> {
        let slot = if self.used < self.count {
            self.used += 1;
            self.used - 1
        } else {
            self.free.pop_front()?
        };
        // Between two uses of one slot there is always such a step.
        if self.last.is_some_and(|last| slot <= last) {
            self.stamps.iter_mut().for_each(|stamps| stamps.start_over());
        }
        self.last = Some(slot);
        let len = (extent.length_bytes as usize).min(self.slot_bytes);
        Some((Tag(slot), self.lend_slot(slot, len, extent.offset_bytes)))
    }

    /// The transfer in a slot has ended.
    pub fn give_back(&mut self, slot: Tag) {
        self.free.push_back(slot.0);
    }

    fn lend_slot(&mut self, slot: u32, len: usize, offset_bytes: u64) -> Lent {
        let is_same = self.content == Some(Content::Zero);
        let start = if is_same { 0 } else { slot as usize * self.slot_bytes };
        // SAFETY: the buffers behind `base` hold `count` slots of `slot_bytes` (one where all are
        // the same), and stay borrowed as long as `self`, which its user keeps until every transfer
        // has ended. Nobody uses this slot now, or all of them only read it.
        unsafe {
            let address = self.base.add(start);
            if is_same {
                return Lent::new(Memory::Write(std::slice::from_raw_parts(address, len)));
            }
            let bytes = std::slice::from_raw_parts_mut(address, len);
            let Some(content) = self.content else { return Lent::new(Memory::Read(bytes)) };
            match &mut self.stamps {
                Some(stamps) => stamps.put(bytes, Position { pool_bytes: start, offset_bytes }),
                None => fill_by_place(content, bytes, offset_bytes, (self.seed, self.samples)),
            }
            Lent::new(Memory::Write(bytes))
        }
    }
}

/// Slots of equal size.
#[derive(Debug, Default)]
pub struct Area {
    mapping: Mapping,
    slot_bytes: usize,
}

impl Area {
    /// Memory for slots that get their size later. An error is `ENOMEM`.
    pub(super) fn with_memory(bytes: usize) -> io::Result<Area> {
        let mut area = Area::default();
        area.mapping.grow(bytes, true)?;
        Ok(area)
    }

    /// It takes more memory to make room for `count` slots of `len` bytes.
    pub(crate) fn lacks(&self, count: u32, len: usize) -> bool {
        Area::bytes_for(count, len).is_none_or(|bytes| bytes > self.mapping.len())
    }

    /// Bytes of `count` slots of `len` bytes; `None`: there is no number for it.
    pub fn bytes_for(count: u32, len: usize) -> Option<usize> {
        let slot_bytes = len.max(1).checked_next_power_of_two()?.max(ALIGNMENT_BYTES);
        slot_bytes.checked_mul(count as usize)
    }

    /// No slot has room; the memory stays.
    pub(crate) fn forget_slots(&mut self) {
        self.slot_bytes = 0;
    }

    /// Each slot has room for `len` bytes.
    pub fn has_room(&self, len: usize) -> bool {
        len <= self.slot_bytes
    }

    /// Makes room for `count` slots of `len` bytes; no slot is lent. Gives all the memory. An error is
    /// `ENOMEM`.
    pub fn make_room(&mut self, count: u32, len: usize) -> io::Result<&mut [u8]> {
        let all = Area::bytes_for(count, len).ok_or_else(too_large)?;
        self.mapping.grow(all, true)?;
        self.slot_bytes = all / (count as usize).max(1);
        Ok(&mut self.mapping.bytes_mut()[..all])
    }

    /// Fills a slot with what is written. An error is `ENOMEM`.
    pub fn fill(
        &mut self,
        slot: u32,
        buffers: &mut Buffers,
        content: Content,
        (len, offset_bytes): (usize, u64),
    ) -> io::Result<()> {
        let start = slot as usize * self.slot_bytes;
        let source = buffers.source(content, len, offset_bytes)?;
        self.mapping.bytes_mut()[start..start + len].copy_from_slice(source);
        Ok(())
    }

    /// Lends bytes of a slot, from `from` on.
    ///
    /// # Safety
    /// Until the call has ended, the slot must not be filled or lent again, and the area must live
    /// without getting room.
    pub unsafe fn lend(&mut self, slot: u32, from: usize, len: usize, write: bool) -> Lent {
        let start = slot as usize * self.slot_bytes + from;
        let bytes = &mut self.mapping.bytes_mut()[start..start + len];
        // SAFETY: the caller's word.
        unsafe { Lent::new(if write { Memory::Write(bytes) } else { Memory::Read(bytes) }) }
    }
}

#[cfg(test)]
mod tests;
