//! The version of a shim is a hash of its source, so that the border between Rust and C
//! cannot change unnoticed. Used by build.rs too.

/// FNV-1a, 31 bits: http://www.isthe.com/chongo/tech/comp/fnv/
pub const fn of(source: &[u8]) -> i32 {
    let (mut hash, mut at) = (0x811c_9dc5u32, 0);
    while at < source.len() {
        hash = (hash ^ source[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash >> 1) as i32
}
