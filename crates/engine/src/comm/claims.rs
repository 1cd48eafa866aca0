//! The counter that a `share` hands indices out of: one 64-bit word for each set of ranks.
//!
//! ```text
//! execution of shares by the set, mod 2^16 | next number, 48 bits
//! ```
//!
//! A member claims by adding 1. Nobody resets the word between two executions: who finds that of an
//! earlier one begins the next with a compare-and-swap. That is safe because a `share` ends with a
//! barrier: when a member is in one execution, no other is in the next.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Bits of the next number.
const NUMBER_BITS: u32 = 48;
/// Numbers that one execution can hand out. Members go on adding after the last one, once each.
pub const MAX_NUMBERS: u64 = 1 << (NUMBER_BITS - 1);

/// The counter of one execution of a `share`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Number of the execution of a `share` by the members, from 1.
    pub execution: u64,
    /// Numbers it hands out, at most [`MAX_NUMBERS`]; claims that give this or more get nothing.
    pub numbers: u64,
}

impl Claim {
    /// The word before the first claim.
    pub fn start(self) -> u64 {
        self.execution << NUMBER_BITS
    }

    /// The next execution by the same members.
    pub fn following(self) -> Claim {
        Claim { execution: self.execution + 1, ..self }
    }

    /// The next number, if the word is of this execution.
    pub fn number(self, word: u64) -> Option<u64> {
        let is_of_this = word >> NUMBER_BITS == self.execution & (u64::MAX >> NUMBER_BITS);
        is_of_this.then_some(word & (u64::MAX >> (64 - NUMBER_BITS)))
    }

    /// Claims from a word that all members see.
    pub(super) fn take(self, word: &AtomicU64) -> u64 {
        let mut seen = word.load(SeqCst);
        while self.number(seen).is_none() {
            match word.compare_exchange_weak(seen, self.start() + 1, SeqCst, SeqCst) {
                Ok(_) => return 0,
                Err(found) => seen = found,
            }
        }
        self.number(word.fetch_add(1, SeqCst)).unwrap_or(self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(word: &AtomicU64, execution: u64, count: usize) -> Vec<u64> {
        let claim = Claim { execution, numbers: 3 };
        (0..count).map(|_| claim.take(word)).collect()
    }

    #[test]
    fn each_execution_begins_at_zero_whatever_was_left() {
        let word = AtomicU64::new(0);
        assert_eq!(claims(&word, 1, 5), [0, 1, 2, 3, 4]);
        assert_eq!(claims(&word, 2, 2), [0, 1]);
        // The number of executions wraps.
        for execution in [0xffff, 0x1_0000, 0x1_0001, 0x2_0000] {
            assert_eq!(claims(&word, execution, 2), [0, 1], "{execution:#x}");
        }
    }

    #[test]
    fn every_number_is_handed_out_once() {
        let word = AtomicU64::new(0);
        for execution in 1..20 {
            let claim = Claim { execution, numbers: 1000 };
            let claimed = || {
                let numbers = std::iter::repeat_with(|| claim.take(&word));
                numbers.take_while(|number| *number < claim.numbers).collect::<Vec<u64>>()
            };
            let mut all: Vec<u64> = std::thread::scope(|scope| {
                let members: Vec<_> = (0..4).map(|_| scope.spawn(claimed)).collect();
                members.into_iter().flat_map(|member| member.join().unwrap()).collect()
            });
            all.sort_unstable();
            assert_eq!(all, (0..1000).collect::<Vec<_>>());
        }
    }
}
