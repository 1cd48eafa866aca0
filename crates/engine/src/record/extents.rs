//! Pieces of files that events refer to.
//!
//! Block [`super::layout::Kind::Extents`]: number of pieces, then offset, length, stride and count of each
//! run of equal pieces. Blocks are numbered from 1 in order of appearance.

use model::pattern::Run;
use model::run::EventExtents;

/// Runs of one block; of more the first are kept.
pub(super) const MAX_RUNS: usize = 4096;
/// Words of a run.
pub(super) const RUN_WORDS: usize = 4;

pub(super) fn put(words: &mut [u64], pieces: u64, runs: &[Run]) {
    words[0] = pieces;
    for (words, run) in words[1..].chunks_exact_mut(RUN_WORDS).zip(runs) {
        let values = [run.offset_bytes, run.length_bytes, run.stride_bytes, run.count];
        words.copy_from_slice(&values);
    }
}

/// `None`: there is no such block.
pub(super) fn read(words: &[u64]) -> Option<EventExtents> {
    let (pieces, words) = words.split_first()?;
    let (runs, rest) = words.as_chunks::<RUN_WORDS>();
    let run = |&[offset_bytes, length_bytes, stride_bytes, count]: &[u64; RUN_WORDS]| Run {
        offset_bytes,
        length_bytes,
        stride_bytes,
        count,
    };
    let extents = EventExtents { pieces: *pieces, runs: runs.iter().map(run).collect() };
    rest.is_empty().then_some(extents)
}
