//! Maps that are asked once per event: their keys are small numbers of our own, so that a cheap hash will do.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by small numbers.
pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// Mixes numbers by multiplication. Not for texts of strangers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickHasher(u64);

/// An odd number without a pattern: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_i32(&mut self, value: i32) {
        self.write_u64(u64::from(value as u32));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(FACTOR);
    }

    fn finish(&self) -> u64 {
        // The map uses the low bits, multiplication mixes the high ones.
        self.0 ^ (self.0 >> 32)
    }
}
