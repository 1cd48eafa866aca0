//! Random data of calls so large that their bytes repeat.

use super::content::Shape;
use super::pool::fill;
use super::repeated::Repeated;
use super::stamp::{Position, Stamps};
use super::{WIDE_BYTES, mix};
use std::io;

/// One window of random data again and again, stamped anew for each call.
#[derive(Debug)]
pub(super) struct Wide {
    memory: Repeated,
    shape: Shape,
    key: u64,
    stamps: Stamps,
}

impl Wide {
    pub(super) fn new(key: u64, shape: Shape) -> Wide {
        Wide { memory: Repeated::default(), shape, key, stamps: Stamps::new(key, shape) }
    }

    /// A new one of another shape; it repeats no bytes of this one.
    pub(super) fn reshaped(&self, shape: Shape) -> Wide {
        Wide::new(mix(self.key), shape)
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// `len` bytes, of which no block of the first window was written before.
    pub(super) fn take(&mut self, len: usize, offset_bytes: u64) -> io::Result<&[u8]> {
        let (key, shape) = (self.key, self.shape);
        self.memory.grow(len, WIDE_BYTES, |window| fill(window, 0, key, shape))?;
        self.stamps.start_over();
        let at = Position { pool_bytes: 0, offset_bytes };
        self.stamps.put(self.memory.window_mut(WIDE_BYTES), at);
        Ok(&self.memory.bytes()[..len])
    }
}
