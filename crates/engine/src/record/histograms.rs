//! Hot counters: histograms that are sparse by octave.
//!
//! Block [`Kind::Chunk`]: owner id | which << 32 | chunk << 40, then one counter for
//! each of the chunk's buckets. Bucket numbers are those of [`model::histogram`].

use super::area::Area;
use super::layout::Kind;
use model::histogram::{CHUNKS, SUB_BITS, SUB_BUCKETS, bucket};

/// What a histogram counts, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// Id of a stat, or of a label for [`Owner::MORE`].
    pub(super) id: u32,
    /// One of the constants below.
    pub(super) which: u8,
}

impl Owner {
    /// Operations of a stat that did not fail.
    pub(super) const DONE: u8 = 0;
    /// Operations of a stat that failed, expected or not.
    pub(super) const FAILED: u8 = 1;
    /// First of the parts of a stat, in order of [`model::Part`].
    pub(super) const PARTS: u8 = 2;
    /// Occurrences of a label that were not kept.
    pub(super) const MORE: u8 = 7;
    /// Own times of operations of a stat that were due at a time.
    pub(super) const SERVICE: u8 = 8;

    pub(super) fn word(self, chunk: usize) -> u64 {
        u64::from(self.id) | u64::from(self.which) << 32 | (chunk as u64) << 40
    }

    pub(super) fn from_word(word: u64) -> (Owner, usize) {
        let owner = Owner { id: word as u32, which: (word >> 32) as u8 };
        (owner, (word >> 40) as usize)
    }
}

/// All histograms of a rank.
#[derive(Debug, Default)]
pub(super) struct Histograms {
    directories: Vec<Directory>,
}

#[derive(Debug)]
struct Directory {
    owner: Owner,
    /// Place of the first counter of every chunk; 0: not there yet.
    chunks: [u32; CHUNKS],
}

/// Number of a histogram in this process.
pub(super) type HistogramId = u32;

impl Histograms {
    /// A histogram without counters.
    pub(super) fn add(&mut self, owner: Owner) -> HistogramId {
        self.directories.push(Directory { owner, chunks: [0; CHUNKS] });
        (self.directories.len() - 1) as HistogramId
    }

    /// Number of histograms: the id of the next one.
    pub(super) fn len(&self) -> HistogramId {
        self.directories.len() as HistogramId
    }

    /// Counts one value.
    #[inline(always)]
    pub(super) fn count(&mut self, area: &mut Area, id: HistogramId, value: u64) {
        let bucket = bucket(value);
        let chunk = bucket >> SUB_BITS;
        let mut at = self.directories[id as usize].chunks[chunk];
        if at == 0 {
            let Some(new) = self.add_chunk(area, id, chunk) else { return };
            at = new;
        }
        area.words()[at as usize + (bucket & (SUB_BUCKETS - 1))] += 1;
    }

    #[cold]
    fn add_chunk(&mut self, area: &mut Area, id: HistogramId, chunk: usize) -> Option<u32> {
        let directory = &mut self.directories[id as usize];
        let word = directory.owner.word(chunk);
        let at = 1 + area.append(Kind::Chunk, 1 + SUB_BUCKETS, |payload| payload[0] = word)?;
        directory.chunks[chunk] = at;
        Some(at)
    }
}
