//! A bijection of 64-bit words that scatters all their bits.

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014, variant 13 of Stafford).
#[inline(always)]
pub(crate) fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
