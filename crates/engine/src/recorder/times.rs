//! Times of operations and of labels: exact figures, and histograms that are sparse by octave. Bucket
//! numbers are those of [`model::histogram`].

use super::area::{Area, At};
use super::layout::{Chunk, Kind, Owner, Summary, Times};
use model::histogram::{CHUNKS, SUB_BITS, SUB_BUCKETS, bucket};
use std::mem::offset_of;

/// All histograms of a rank.
#[derive(Debug, Default)]
pub(super) struct Histograms(Vec<Histogram>);

#[derive(Debug)]
struct Histogram {
    owner: Owner,
    summary: At<Summary>,
    /// The counters of each octave; `None`: not there yet.
    chunks: [Option<At<Chunk>>; CHUNKS],
}

/// Number of a histogram in this process.
pub(super) type HistogramId = u32;

impl Histograms {
    /// A histogram without counters, whose summary is somewhere already.
    pub(super) fn add(&mut self, owner: Owner, summary: At<Summary>) -> HistogramId {
        self.0.push(Histogram { owner, summary, chunks: [None; CHUNKS] });
        (self.0.len() - 1) as HistogramId
    }

    /// A histogram with a block of its own; `None` when there is no room.
    pub(super) fn append(&mut self, area: &mut Area, owner: Owner) -> Option<HistogramId> {
        let at = area.append(Kind::Times, &Times { owner, summary: Summary::EMPTY })?;
        Some(self.add(owner, at.behind(offset_of!(Times, summary))))
    }

    /// Counts a time. Not inlined: system calls drive code out of the CPU's caches, and a compound
    /// operation comes here several times.
    #[inline(never)]
    pub(super) fn count(&mut self, area: &mut Area, id: HistogramId, ns: u64) {
        let histogram = &mut self.0[id as usize];
        let summary = area.get(histogram.summary);
        summary.count += 1;
        summary.sum_ns = summary.sum_ns.saturating_add(ns);
        summary.min_ns = summary.min_ns.min(ns);
        summary.max_ns = summary.max_ns.max(ns);
        let bucket = bucket(ns);
        let number = bucket >> SUB_BITS;
        let Some(chunk) = histogram.chunks[number].or_else(|| histogram.append_chunk(area, number))
        else {
            return;
        };
        area.get(chunk).counts[bucket & (SUB_BUCKETS - 1)] += 1;
    }
}

impl Histogram {
    #[cold]
    fn append_chunk(&mut self, area: &mut Area, number: usize) -> Option<At<Chunk>> {
        let chunk = Chunk { owner: self.owner, number: number as u64, counts: [0; SUB_BUCKETS] };
        self.chunks[number] = area.append(Kind::Chunk, &chunk);
        self.chunks[number]
    }
}
