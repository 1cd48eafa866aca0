//! A hash index from keys that lie elsewhere to ids. Allocates only when it grows.

/// Open addressing with linear probing.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// (hash, id + 1); 0 is free. The length is 0 or a power of two.
    slots: Vec<(u32, u32)>,
    len: usize,
}

impl Index {
    /// The id whose key has this hash and satisfies `same`.
    #[inline]
    pub(super) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                (_, 0) => return None,
                (found, id) if found == hash && same(id - 1) => return Some(id - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Adds an id whose key is not there yet.
    pub(super) fn insert(&mut self, hash: u32, id: u32) {
        if 4 * (self.len + 1) > 3 * self.slots.len() {
            let larger = vec![(0, 0); (2 * self.slots.len()).max(8)];
            let old = std::mem::replace(&mut self.slots, larger);
            old.into_iter().filter(|slot| slot.1 != 0).for_each(|slot| self.put(slot));
        }
        self.put((hash, id + 1));
        self.len += 1;
    }

    fn put(&mut self, slot: (u32, u32)) {
        let mask = self.slots.len() - 1;
        let mut at = slot.0 as usize & mask;
        while self.slots[at].1 != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

/// Hash of nothing.
pub(super) const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Goes on with a hash, byte by byte, so that the hash of a text is that of its
/// pieces in turn (FNV-1a).
pub(super) fn hash_on(hash: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Hash of a whole text, eight bytes at a time; the last eight may overlap.
#[inline]
pub(super) fn hash_text(bytes: &[u8]) -> u32 {
    let step =
        |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let start = bytes.len() as u64;
    let Some(last) = bytes.last_chunk() else {
        let word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        return fold(step(start, word));
    };
    let hash = bytes.chunks_exact(8).fold(start, |hash, word| {
        step(hash, u64::from_le_bytes(word.try_into().expect("chunks of 8")))
    });
    fold(step(hash, u64::from_le_bytes(*last)))
}

/// A hash as the index takes it.
pub(super) fn fold(hash: u64) -> u32 {
    (crate::rng::mix(hash) >> 32) as u32
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
    fn pieces_hash_like_the_whole() {
        assert_eq!(hash_on(hash_on(HASH_START, b"a/"), b"b"), hash_on(HASH_START, b"a/b"));
        assert_ne!(hash_text(b"a"), hash_text(b"a\0"));
    }
}
