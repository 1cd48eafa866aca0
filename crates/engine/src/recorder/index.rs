//! A hash index from keys that lie elsewhere to ids. Allocates only when it grows.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Ids with the hashes of their keys.
#[derive(Debug, Default)]
pub(super) struct Index(HashTable<(u64, u32)>);

impl Index {
    /// The id whose key has this hash and satisfies `same`.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        self.0.find(hash, |(found, id)| *found == hash && same(*id)).map(|(_, id)| *id)
    }

    /// Adds an id whose key is not there yet.
    pub(super) fn insert(&mut self, hash: u64, id: u32) {
        self.0.insert_unique(hash, (hash, id), |(hash, _)| *hash);
    }
}

/// Hash of nothing.
pub(super) const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues a hash, byte by byte: a text hashes like its parts one after the other (FNV-1a).
pub(super) fn hash_on(hash: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Hash of a whole text.
#[inline]
pub(super) fn hash_text(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// A number as a hash: all its bits count everywhere.
pub(super) fn spread(number: u64) -> u64 {
    crate::rng::mix(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found() {
        let keys: Vec<String> = (0..1000).map(|k| format!("dir/file-{k}")).collect();
        let mut index = Index::default();
        assert_eq!(index.find(1, |_| true), None);
        for (id, key) in keys.iter().enumerate() {
            let hash = hash_text(key.as_bytes());
            assert_eq!(index.find(hash, |id| keys[id as usize] == *key), None);
            index.insert(hash, id as u32);
        }
        for (id, key) in keys.iter().enumerate() {
            let found = index.find(hash_text(key.as_bytes()), |id| keys[id as usize] == *key);
            assert_eq!(found, Some(id as u32));
        }
    }

    #[test]
    fn parts_hash_like_the_whole() {
        assert_eq!(hash_on(hash_on(HASH_START, b"a/"), b"b"), hash_on(HASH_START, b"a/b"));
        assert_ne!(hash_text(b"a"), hash_text(b"a\0"));
    }
}
