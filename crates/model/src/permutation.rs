//! A seeded permutation of `0..n` in constant memory, and hashes.
//!
//! A Feistel network permutes the smallest even-width power of two that holds
//! `n`; what falls outside `0..n` is permuted again until it falls inside (cycle
//! walking: Black and Rogaway 2002). At most 4 rounds of walking on average.

use crate::value::{Eval, EvalError};

const ROUNDS: usize = 6;

/// A permutation of `0..n`: every index once, no tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..n` that a seed gives; different lengths give unrelated ones.
    pub fn new(n: u64, seed: u64) -> Permutation {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let key = mix(seed ^ mix(n));
        let keys = std::array::from_fn(|round| mix(key.wrapping_add(round as u64)));
        Permutation { n, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// Its length.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// It has no elements.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The `i`-th element; `None` outside `0..n`.
    #[inline]
    pub fn at(&self, i: u64) -> Option<u64> {
        if i >= self.n {
            return None;
        }
        let mut word = self.encrypt(i);
        while word >= self.n {
            word = self.encrypt(word);
        }
        Some(word)
    }

    #[inline(always)]
    fn encrypt(&self, word: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (word >> self.half_bits, word & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

/// `perm(i, n)`: the `i`-th element of the permutation of `0..n` that a seed gives.
pub fn perm(i: i64, n: i64, seed: u64) -> Eval<i64> {
    let inside = i >= 0 && i < n;
    let found = if inside { Permutation::new(n as u64, seed).at(i as u64) } else { None };
    found
        .map(|element| element as i64)
        .ok_or_else(|| EvalError::Range("perm(i, n) needs 0 <= i < n", format!("perm({i}, {n})")))
}

/// A bijection of 64-bit words that scatters all their bits: the finalizer of SplitMix64
/// (Steele, Lea and Flood 2014, variant 13 of Stafford).
#[inline(always)]
pub fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// FNV-1a, 64 bits: bytes that were changed by accident hardly keep it
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>).
pub fn fnv1a<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
