//! Writes that go wrong without an error, by seed: what storage does to data when it fails silently.

use engine::backend::{Backend, Capabilities};
use engine::call::{Call, Fd, Reply};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const BLOCK_BYTES: usize = 4096;

/// How a write goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// One bit of it is stored inverted.
    FlippedBit,
    /// Nothing of it is stored.
    LostWrite,
    /// One of its blocks of 4 KiB is not stored.
    StaleBlock,
    /// Only its beginning is stored, which ends inside a block.
    TornWrite,
    /// It is stored somewhere else in the file.
    MisdirectedWrite,
}

impl Corruption {
    /// All of them.
    pub const ALL: [Corruption; 5] = [
        Corruption::FlippedBit,
        Corruption::LostWrite,
        Corruption::StaleBlock,
        Corruption::TornWrite,
        Corruption::MisdirectedWrite,
    ];
}

/// One write goes wrong.
#[derive(Debug)]
pub struct Corruptions {
    random: ChaCha8Rng,
    corruption: Corruption,
    /// Writes until then.
    left: u64,
    /// By how much a misdirected write misses its place, bytes.
    distance_bytes: u64,
}

impl Corruptions {
    /// Number of writes after which one goes wrong.
    pub fn new(seed: u64, corruption: Corruption, after: u64, distance_bytes: u64) -> Corruptions {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Corruptions { random, corruption, left: after + 1, distance_bytes }
    }

    /// Bytes of a call that are really written, with their offsets.
    fn apply(&mut self, buf: &[u8], offset: u64) -> Vec<(Vec<u8>, u64)> {
        self.left = self.left.saturating_sub(u64::from(self.left > 0));
        let mut bytes = buf.to_vec();
        if self.left > 0 || buf.len() < 2 * BLOCK_BYTES || self.distance_bytes == u64::MAX {
            return vec![(bytes, offset)];
        }
        let distance_bytes = std::mem::replace(&mut self.distance_bytes, u64::MAX);
        match self.corruption {
            Corruption::FlippedBit => {
                let at = self.random.random_range(0..bytes.len());
                bytes[at] ^= 1 << self.random.random_range(0..8);
                vec![(bytes, offset)]
            }
            Corruption::LostWrite => Vec::new(),
            Corruption::StaleBlock => {
                let first = (BLOCK_BYTES - offset as usize % BLOCK_BYTES) % BLOCK_BYTES;
                let blocks = (bytes.len() - first) / BLOCK_BYTES;
                let at = first + self.random.random_range(0..blocks) * BLOCK_BYTES;
                let rest = bytes.split_off(at + BLOCK_BYTES);
                bytes.truncate(at);
                vec![(bytes, offset), (rest, offset + (at + BLOCK_BYTES) as u64)]
            }
            Corruption::TornWrite => {
                // In the middle of a block, at a sector.
                let sectors = bytes.len() / 512;
                let sector = self.random.random_range(1..sectors);
                let sector = if sector.is_multiple_of(8) { sector + 1 } else { sector };
                bytes.truncate((sector * 512).min(bytes.len() - 512));
                vec![(bytes, offset)]
            }
            Corruption::MisdirectedWrite => vec![(bytes, offset + distance_bytes)],
        }
    }
}

/// A back-end of which one write goes wrong.
pub struct Corrupting<B> {
    pub inner: B,
    pub corruptions: Corruptions,
}

impl<B: Backend> Backend for Corrupting<B> {
    fn capabilities(&mut self) -> Capabilities {
        self.inner.capabilities()
    }

    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.inner.prepare(call)
    }

    fn position(&mut self, fd: Fd) -> Option<u64> {
        self.inner.position(fd)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        let Call::Pwrite { fd, buf, offset } = call else { return self.inner.issue(call) };
        for (buf, offset) in self.corruptions.apply(buf, offset) {
            assert_eq!(
                self.inner.issue(Call::Pwrite { fd, buf: &buf, offset }),
                buf.len() as Reply
            );
        }
        buf.len() as Reply
    }
}
