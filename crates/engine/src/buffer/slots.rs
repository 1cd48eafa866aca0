//! Memory of transfers that are under way together.

use super::stamp::{BLOCK_BYTES, Position, Stamps};
use super::{Buffers, Content, fill_offset, fill_sample};
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
    fill: Fill<'b>,
}

/// The use of the slots.
enum Fill<'b> {
    /// Reads, each with a slot of its own.
    Reads(std::marker::PhantomData<&'b mut Buffers>),
    /// Writes of the same bytes: all slots are the first.
    Same,
    /// Writes of bytes that go by their offset, with this seed.
    ByOffset(u64),
    /// Writes of bytes of a sample.
    Sample(Arc<Vec<u8>>),
    /// Writes of bytes that somebody else fills.
    Marked,
    /// Writes of random bytes.
    Stamped(&'b mut Stamps),
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
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let slot_bytes =
            longest_bytes.checked_next_multiple_of(BLOCK_BYTES).ok_or_else(too_large)?;
        let all = slot_bytes.checked_mul(depth as usize).ok_or_else(too_large)?;
        let seed = self.seed;
        let (base, count, fill) = match content {
            None => (self.target(all)?.as_mut_ptr(), depth, Fill::Reads(Default::default())),
            Some(Content::Offset) if self.filled => {
                self.wrote.by_offset = true;
                (self.target(all)?.as_mut_ptr(), depth, Fill::ByOffset(seed))
            }
            Some(Content::Sample(number)) if self.filled => {
                self.wrote.by_offset = true;
                let sample = Arc::clone(&self.samples[number as usize]);
                (self.target(all)?.as_mut_ptr(), depth, Fill::Sample(sample))
            }
            Some(Content::Marked) if self.filled => {
                (self.target(all)?.as_mut_ptr(), depth, Fill::Marked)
            }
            Some(content @ (Content::Random | Content::Shaped(_))) if self.filled => {
                let (bytes, stamps) = self.pool_of(content).all(all)?;
                let count = (bytes.len() / slot_bytes.max(1)) as u32;
                (bytes.as_mut_ptr(), count, Fill::Stamped(stamps))
            }
            Some(_) => {
                let bytes = self.source(Content::Zero, slot_bytes, 0)?;
                (bytes.as_ptr().cast_mut(), depth, Fill::Same)
            }
        };
        Ok(Slots { base, slot_bytes, count, used: 0, free: VecDeque::new(), last: None, fill })
    }
}

impl Slots<'_> {
    /// Memory for a transfer, and the number of its slot; `None`: all slots are lent.
    pub fn lend(&mut self, piece: Extent) -> Option<(Tag, Lent)> {
        let slot = if self.used < self.count {
            self.used += 1;
            self.used - 1
        } else {
            self.free.pop_front()?
        };
        // Between two uses of one slot there is always such a step.
        let starts_over = self.last.is_some_and(|last| slot <= last);
        self.last = Some(slot);
        let len = (piece.length_bytes as usize).min(self.slot_bytes);
        Some((Tag(slot), self.lend_slot(slot, starts_over, len, piece.offset_bytes)))
    }

    /// Their transfers write.
    pub fn fills(&self) -> bool {
        !matches!(self.fill, Fill::Reads(_))
    }

    /// The transfer in a slot has ended.
    pub fn give_back(&mut self, slot: Tag) {
        self.free.push_back(slot.0);
    }

    fn lend_slot(&mut self, slot: u32, starts_over: bool, len: usize, offset_bytes: u64) -> Lent {
        let start = match self.fill {
            Fill::Same => 0,
            _ => slot as usize * self.slot_bytes,
        };
        // SAFETY: the buffers behind `base` hold `count` slots of `slot_bytes` (one where all are
        // the same), and stay borrowed as long as `self`, which its user keeps until every transfer
        // has ended. Nobody uses this slot now, or all of them only read it.
        unsafe {
            let address = self.base.add(start);
            match &mut self.fill {
                Fill::Reads(_) => {
                    return Lent::new(Memory::Read(std::slice::from_raw_parts_mut(address, len)));
                }
                Fill::Same | Fill::Marked => {}
                Fill::ByOffset(seed) => {
                    let bytes = std::slice::from_raw_parts_mut(address, len);
                    fill_offset(bytes, offset_bytes, *seed);
                }
                Fill::Sample(sample) => {
                    let bytes = std::slice::from_raw_parts_mut(address, len);
                    fill_sample(bytes, offset_bytes, sample);
                }
                Fill::Stamped(stamps) => {
                    if starts_over {
                        stamps.start_over();
                    }
                    let bytes = std::slice::from_raw_parts_mut(address, len);
                    stamps.put(bytes, Position { pool_bytes: start, offset_bytes });
                }
            }
            Lent::new(Memory::Write(std::slice::from_raw_parts(address, len)))
        }
    }
}
