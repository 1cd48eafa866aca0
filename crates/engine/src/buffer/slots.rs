//! Memory of transfers that are under way together.

use super::stamp::{BLOCK_BYTES, Place, Stamps};
use super::{Buffers, Content, fill_offset};
use crate::call::{Lent, Memory};
use model::pattern::Extent;
use std::io;

/// Memory borrowed from the buffers until all transfers have ended; each has a slot.
pub struct Slots<'b> {
    base: *mut u8,
    slot_bytes: usize,
    count: u64,
    fill: Fill<'b>,
}

/// What the slots are for.
enum Fill<'b> {
    /// Reads, each with a slot of its own.
    Reads(std::marker::PhantomData<&'b mut Buffers>),
    /// Writes of the same bytes, which share one.
    Same,
    /// Writes of bytes that go by their offset, with this seed.
    ByOffset(u64),
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
        let count = u64::from(depth);
        let seed = self.seed;
        let (base, count, fill) = match content {
            None => (self.target(all)?.as_mut_ptr(), count, Fill::Reads(Default::default())),
            Some(Content::Offset) if self.filled => {
                self.wrote.by_offset = true;
                (self.target(all)?.as_mut_ptr(), count, Fill::ByOffset(seed))
            }
            Some(content @ (Content::Random | Content::Shaped(_))) if self.filled => {
                let (bytes, stamps) = self.pool_of(content).all(all)?;
                let count = (bytes.len() / slot_bytes.max(1)) as u64;
                (bytes.as_mut_ptr(), count, Fill::Stamped(stamps))
            }
            Some(_) => {
                let bytes = self.source(Content::Zero, slot_bytes, 0)?;
                (bytes.as_ptr().cast_mut(), 1, Fill::Same)
            }
        };
        Ok(Slots { base, slot_bytes, count, fill })
    }
}

impl Slots<'_> {
    /// Memory for call number `round`; that of the call `count` rounds ago, which has ended.
    pub fn lend(&mut self, round: u64, piece: Extent) -> Lent {
        let len = (piece.length_bytes as usize).min(self.slot_bytes);
        let start = (round % self.count) as usize * self.slot_bytes;
        // SAFETY: the buffers behind `base` hold `count` slots of `slot_bytes`, and stay
        // borrowed as long as `self`, which its user keeps until every request is waited
        // for. At most `count` transfers are under way, so that nobody uses this slot now, or all
        // of them only read the one slot.
        unsafe {
            let address = self.base.add(start);
            match &mut self.fill {
                Fill::Reads(_) => {
                    return Lent::new(Memory::Read(std::slice::from_raw_parts_mut(address, len)));
                }
                Fill::Same => {}
                Fill::ByOffset(seed) => {
                    let bytes = std::slice::from_raw_parts_mut(address, len);
                    fill_offset(bytes, piece.offset_bytes, *seed);
                }
                Fill::Stamped(stamps) => {
                    if start == 0 && round > 0 {
                        stamps.start_over();
                    }
                    let bytes = std::slice::from_raw_parts_mut(address, len);
                    let offset_bytes = piece.offset_bytes;
                    stamps.put(bytes, Place { pool_bytes: start, offset_bytes });
                }
            }
            Lent::new(Memory::Write(std::slice::from_raw_parts(address, len)))
        }
    }
}
