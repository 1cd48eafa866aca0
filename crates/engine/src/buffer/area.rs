//! Memory of operations that are under way together, which outlives their statements: one slot each.

use super::mapping::Mapping;
use super::{Buffers, Content};
use crate::call::{Lent, Memory};
use std::io;

/// Slots of equal size.
#[derive(Debug, Default)]
pub struct Area {
    mapping: Mapping,
    slot_bytes: usize,
}

impl Area {
    /// Each slot has room for `len` bytes.
    pub fn has_room(&self, len: usize) -> bool {
        len <= self.slot_bytes
    }

    /// Makes room for `count` slots of `len` bytes; no slot is lent. Gives all the memory. An error is
    /// `ENOMEM`.
    pub fn make_room(&mut self, count: u32, len: usize) -> io::Result<&mut [u8]> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let slot_bytes = len.max(1).checked_next_power_of_two().ok_or_else(too_large)?;
        let slot_bytes = slot_bytes.max(super::ALIGNMENT_BYTES);
        let all = slot_bytes.checked_mul(count as usize).ok_or_else(too_large)?;
        self.mapping.grow(all, true)?;
        self.slot_bytes = slot_bytes;
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
