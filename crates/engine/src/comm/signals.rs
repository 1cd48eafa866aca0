//! Counters of `signal` and `wait` in a table of fixed size.
//!
//! A counter is known by a 64-bit hash of its set, name and (for `to=`) member.
//! Two of 10^4 names share a hash with a probability of 3 in 10^12.

use model::plan::SetId;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Counters a run can have.
pub(super) const SLOTS: usize = 1 << 16;
/// Probes before the table counts as full.
const PROBES: usize = 1 << 12;

/// One counter; key 0: free.
#[repr(C)]
pub(super) struct Slot {
    key: AtomicU64,
    pub(super) count: AtomicU64,
}

/// The key of a counter, the same in all processes. `to`: world rank of the only receiver.
pub fn key(set: SetId, name: &[u8], to: Option<u32>) -> u64 {
    let start =
        crate::rng::mix(u64::from(set) << 33 | to.map_or(0, |rank| u64::from(rank) << 1 | 1));
    let hash = name.iter().fold(start, |hash, byte| {
        // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    crate::rng::mix(hash).max(1)
}

/// The slot of a key, taken if it has none; `None` when the table is full.
pub(super) fn find(slots: &[Slot], key: u64) -> Option<usize> {
    let first = key as usize % slots.len();
    (0..PROBES.min(slots.len())).map(|probe| (first + probe) % slots.len()).find(|at| {
        match slots[*at].key.compare_exchange(0, key, SeqCst, SeqCst) {
            Ok(_) => true,
            Err(holder) => holder == key,
        }
    })
}

/// The error of a full table.
pub(super) fn full() -> String {
    format!("too many different signals in one run: at most about {SLOTS} names are possible")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_sets_names_and_members_apart() {
        let keys = [
            key(0, b"a", None),
            key(1, b"a", None),
            key(0, b"b", None),
            key(0, b"", None),
            key(0, b"a", Some(0)),
            key(0, b"a", Some(1)),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(keys[index + 1..].iter().all(|other| other != one));
            assert_ne!(*one, 0);
        }
    }

    #[test]
    fn a_full_table_is_an_answer() {
        let slots: Vec<Slot> =
            (0..8).map(|_| Slot { key: AtomicU64::new(0), count: AtomicU64::new(0) }).collect();
        let mut taken: Vec<usize> = (1..=8).map(|key| find(&slots, key).unwrap()).collect();
        assert_eq!(find(&slots, 3), Some(taken[2]));
        assert_eq!(find(&slots, 9), None);
        taken.sort_unstable();
        assert_eq!(taken, (0..8).collect::<Vec<_>>());
    }
}
