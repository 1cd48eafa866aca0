//! Memory of transfers that are under way together, one slot for each: borrowed for one statement, or one's own
//! for transfers that outlive their statements.

use super::content::fill_by_place;
use super::mapping::Mapping;
use super::pool::{BLOCK_BYTES, Position, Stamps};
use super::{Buffers, Content};
use crate::call::{Lent, Memory, Tag};
use model::pattern::Extent;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

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
        let slot_bytes = len.max(1).checked_next_power_of_two()?.max(super::ALIGNMENT_BYTES);
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
