//! How long a call takes in virtual time.
//!
//! A call costs the fixed time of its class, and one that moves bytes their number
//! divided by the bandwidth (rounded up) in addition. Failed calls cost the same.
//! With jitter, a uniform number of nanoseconds from 0 to `jitter_ns` comes on top,
//! drawn from a SplitMix64 stream (Steele, Lea, Flood 2014), so that equal seeds give
//! equal times.

use crate::call::{Call, Reply, Work};

/// Virtual time of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// `open`.
    pub open_ns: u64,
    /// `close`.
    pub close_ns: u64,
    /// A transfer, besides its bytes.
    pub data_ns: u64,
    /// Calls on names and attributes, `lseek` included.
    pub metadata_ns: u64,
    /// `fsync`, `fdatasync`, `syncfs`, and dropping the caches.
    pub sync_ns: u64,
    /// Bytes moved per microsecond (the same number as MB/s); 0: moving costs nothing.
    pub bytes_per_us: u64,
    /// Largest random addition.
    pub jitter_ns: u64,
    /// Seed of the random additions; give every rank its own.
    pub seed: u64,
}

impl Default for Cost {
    /// A middling local disk behind a page cache: 2 us to open, 1 us for a name,
    /// 1 us and 2,000 MB/s for a transfer, 1 ms to sync; no jitter.
    fn default() -> Cost {
        Cost {
            open_ns: 2_000,
            close_ns: 500,
            data_ns: 1_000,
            metadata_ns: 1_000,
            sync_ns: 1_000_000,
            bytes_per_us: 2_000,
            jitter_ns: 0,
            seed: 0,
        }
    }
}

impl Cost {
    /// The fixed part.
    pub(super) fn of(&self, call: &Call<'_>) -> u64 {
        match call.work() {
            Work::Open => self.open_ns,
            Work::Close => self.close_ns,
            Work::Data => self.data_ns,
            Work::Metadata => self.metadata_ns,
            Work::Sync => self.sync_ns,
            Work::Nothing => 0,
        }
    }

    /// The part for the bytes that were moved.
    pub(super) fn of_bytes(&self, moved: Reply) -> u64 {
        let bytes = u128::try_from(moved).unwrap_or(0);
        match self.bytes_per_us {
            0 => 0,
            rate => (bytes * 1_000).div_ceil(u128::from(rate)) as u64,
        }
    }

    /// The random part; moves the stream on.
    pub(super) fn jitter(&mut self) -> u64 {
        if self.jitter_ns == 0 {
            return 0;
        }
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * (u128::from(self.jitter_ns) + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_cost_their_share_of_the_bandwidth() {
        let cost = Cost { bytes_per_us: 1_000, ..Cost::default() };
        assert_eq!(cost.of_bytes(4_096), 4_096);
        assert_eq!(cost.of_bytes(0), 0);
        assert_eq!(cost.of_bytes(-5), 0);
        assert_eq!(Cost { bytes_per_us: 3_000, ..cost }.of_bytes(1), 1);
        assert_eq!(Cost { bytes_per_us: 0, ..cost }.of_bytes(1 << 40), 0);
    }

    #[test]
    fn jitter_is_bounded_and_repeats_with_the_seed() {
        let mut a = Cost { jitter_ns: 9, seed: 7, ..Cost::default() };
        let mut b = a;
        let drawn: Vec<u64> = (0..1000).map(|_| a.jitter()).collect();
        assert!(drawn.iter().all(|ns| *ns <= 9) && drawn.contains(&0) && drawn.contains(&9));
        assert!(drawn.iter().all(|ns| *ns == b.jitter()));
    }
}
