//! When a label was executed, of the occurrences that were not kept one by one.
//!
//! Block [`Kind::Busy`]: label, gap, sum of the occurrences' wall times, number of intervals,
//! then start and end of [`BUSY_INTERVALS`] intervals, ascending. Gaps between occurrences
//! that are shorter than the gap were closed, so the intervals may cover more than the
//! occurrences do, never less: also while a full block is being thinned out.

use super::area::Area;
use super::layout::*;

/// Label the intervals belong to.
pub(super) const B_LABEL: usize = 0;
/// Gaps shorter than this were closed, nanoseconds.
pub(super) const B_GAP_NS: usize = 1;
/// Sum of the wall times.
pub(super) const B_SUM_NS: usize = 2;
/// Number of intervals.
pub(super) const B_COUNT: usize = 3;
/// The first interval.
pub(super) const B_INTERVALS: usize = 4;
/// Words of a block.
pub(super) const BUSY_WORDS: usize = B_INTERVALS + 2 * BUSY_INTERVALS;

/// A block for a label; `None` when there is no room.
pub(super) fn append(area: &mut Area, label: u32) -> Option<u32> {
    area.append(Kind::Busy, BUSY_WORDS, |words| words[B_LABEL] = u64::from(label))
}

/// Adds an occurrence to the block at `at`. Occurrences come in order of their ends.
pub(super) fn add(area: &mut Area, at: u32, start_ns: u64, end_ns: u64) {
    let words: &mut [u64; BUSY_WORDS] = area.array(at);
    words[B_SUM_NS] = words[B_SUM_NS].saturating_add(end_ns.saturating_sub(start_ns));
    let gap_ns = words[B_GAP_NS];
    let (mut start_ns, mut at) = (start_ns, words[B_COUNT] as usize);
    // Occurrences of `(more)` can lie inside one another, so one may cover several.
    while at > 0 && reaches(interval(words, at - 1), start_ns, gap_ns) {
        start_ns = start_ns.min(interval(words, at - 1).0);
        at -= 1;
    }
    put(words, at, (start_ns, end_ns));
    words[B_COUNT] = at as u64 + 1;
    if at + 1 == BUSY_INTERVALS {
        thin_out(words);
    }
}

/// An interval reaches a later start, if need be over a gap that is closed.
fn reaches((_, end_ns): (u64, u64), start_ns: u64, gap_ns: u64) -> bool {
    start_ns <= end_ns || start_ns - end_ns < gap_ns
}

fn interval(words: &[u64; BUSY_WORDS], at: usize) -> (u64, u64) {
    (words[B_INTERVALS + 2 * at], words[B_INTERVALS + 2 * at + 1])
}

fn put(words: &mut [u64; BUSY_WORDS], at: usize, (start_ns, end_ns): (u64, u64)) {
    words[B_INTERVALS + 2 * at] = start_ns;
    words[B_INTERVALS + 2 * at + 1] = end_ns;
}

/// Closes the shorter half of the gaps.
#[cold]
fn thin_out(words: &mut [u64; BUSY_WORDS]) {
    let mut gaps = [0; BUSY_INTERVALS - 1];
    for (at, gap_ns) in gaps.iter_mut().enumerate() {
        *gap_ns = interval(words, at + 1).0.saturating_sub(interval(words, at).1);
    }
    let middle = *gaps.select_nth_unstable(BUSY_INTERVALS / 2).1;
    let gap_ns = middle.saturating_add(1);
    words[B_GAP_NS] = gap_ns;
    let (mut last, mut sum) = (0, interval(words, 0));
    for at in 1..BUSY_INTERVALS {
        let next = interval(words, at);
        if reaches(sum, next.0, gap_ns) {
            sum.1 = sum.1.max(next.1);
        } else {
            put(words, last, sum);
            (last, sum) = (last + 1, next);
        }
    }
    put(words, last, sum);
    words[B_COUNT] = last as u64 + 1;
}
