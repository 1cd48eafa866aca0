//! An event as the counters need it, and the extents of a file that it moved.
//!
//! ```text
//! offset_bytes, done_bytes              one extent
//! the same with extents_id              run.events.extents, up to done_bytes
//! ```
//!
//! Runs of equal extents stay together: a pattern of a million extents is looked at once.

use model::Op;
use model::pattern::Run;
use model::run::EventExtents;

/// The part of an event that the counters need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub rank: u32,
    pub op: Op,
    /// Number of its label in [`super::rows::Labels`].
    pub label: u32,
    /// Place in the plan.
    pub site: u32,
    /// Number of the path; negative without one.
    pub path_id: i32,
    pub offset_bytes: u64,
    pub done_bytes: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub busy_ns: u64,
    /// The part of it that opened and closed the file.
    pub around_ns: u64,
    /// It failed, expectedly or not.
    pub failed: bool,
    /// Extents that were asked for; 0: one.
    pub pieces: u32,
    /// Their number in the table; negative without.
    pub extents_id: i64,
    /// Nobody knows which bytes it moved.
    pub unplaced: bool,
    /// When it was due, if the program sets a time for it.
    pub due_ns: Option<u64>,
}

#[cfg(test)]
impl Row {
    pub const EMPTY: Row = Row {
        rank: 0,
        op: Op::Fwrite,
        label: 0,
        site: 0,
        path_id: 0,
        offset_bytes: 0,
        done_bytes: 0,
        start_ns: 0,
        end_ns: 0,
        busy_ns: 0,
        around_ns: 0,
        failed: false,
        pieces: 0,
        extents_id: -1,
        unplaced: false,
        due_ns: None,
    };
}

/// `run.events.extents`, as far as all extents are there, and how far they reach: from the first byte of the
/// first extent to behind the last of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    entries: Vec<Option<(Vec<Run>, u64)>>,
}

impl Extents {
    pub fn of(entries: &[EventExtents]) -> Extents {
        let reach_bytes = |runs: &[Run]| {
            let first = runs.first().map_or(0, |run| run.offset_bytes);
            runs.iter().map(|run| end_bytes(run).saturating_sub(first)).max().unwrap_or(0)
        };
        let whole = |entry: &EventExtents| {
            entry.is_whole().then(|| (entry.runs.clone(), reach_bytes(&entry.runs)))
        };
        Extents { entries: entries.iter().map(whole).collect() }
    }

    fn get(&self, id: i64) -> Option<&(Vec<Run>, u64)> {
        self.entries.get(usize::try_from(id).ok()?)?.as_ref()
    }

    pub fn reach_bytes(&self, id: i64) -> u64 {
        self.get(id).map_or(0, |entry| entry.1)
    }

    /// Behind the last byte that the row may have moved; `None`: nobody knows.
    pub fn end_bytes(&self, row: &Row) -> Option<u64> {
        let is_known = !row.unplaced && (row.pieces == 0 || self.get(row.extents_id).is_some());
        let reach_bytes = row.done_bytes.max(self.reach_bytes(row.extents_id));
        is_known.then(|| row.offset_bytes.saturating_add(reach_bytes))
    }

    /// Gives the runs that hold a byte that was moved; false: nobody knows them.
    pub fn moved(&self, row: &Row, mut each: impl FnMut(Run)) -> bool {
        if row.pieces == 0 && !row.unplaced {
            each(Run::single(row.offset_bytes, row.done_bytes));
            return true;
        }
        match self.get(row.extents_id).filter(|_| !row.unplaced) {
            Some((runs, _)) => {
                cut(runs, row, each);
                true
            }
            None => false,
        }
    }
}

/// The first `done_bytes` of the extents, which begin where the row says.
fn cut(runs: &[Run], row: &Row, mut each: impl FnMut(Run)) {
    let shift = row.offset_bytes.wrapping_sub(runs.first().map_or(0, |run| run.offset_bytes));
    let mut left_bytes = row.done_bytes;
    for run in runs.iter().filter(|run| run.length_bytes > 0) {
        if left_bytes == 0 {
            return;
        }
        let run = Run { offset_bytes: run.offset_bytes.wrapping_add(shift), ..*run };
        let count = run.count.min(left_bytes / run.length_bytes);
        if count > 0 {
            each(Run { count, ..run });
        }
        left_bytes -= count * run.length_bytes;
        if count < run.count {
            let skipped = count.saturating_mul(run.stride_bytes);
            each(Run::single(run.offset_bytes.saturating_add(skipped), left_bytes));
            return;
        }
    }
}

/// Behind the last byte of a run.
pub(crate) fn end_bytes(run: &Run) -> u64 {
    let last = run.count.saturating_sub(1).saturating_mul(run.stride_bytes);
    run.offset_bytes.saturating_add(last).saturating_add(run.length_bytes)
}

/// Bytes of a run before a position. Of extents that overlap, as if they were spread evenly.
pub(crate) fn bytes_before(run: &Run, position: u64) -> u64 {
    let Some(distance) = position.checked_sub(run.offset_bytes) else { return 0 };
    let all_bytes = run.length_bytes.saturating_mul(run.count);
    let span = end_bytes(run) - run.offset_bytes;
    if distance >= span {
        return all_bytes;
    }
    if run.stride_bytes < run.length_bytes {
        return (u128::from(all_bytes) * u128::from(distance) / u128::from(span)) as u64;
    }
    let (whole, rest) = (distance / run.stride_bytes, distance % run.stride_bytes);
    whole.saturating_mul(run.length_bytes).saturating_add(rest.min(run.length_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(run: &Run) -> Vec<u64> {
        let piece = |i: u64| {
            let start = run.offset_bytes + i * run.stride_bytes;
            start..start + run.length_bytes
        };
        (0..run.count).flat_map(piece).collect()
    }

    proptest! {
        #[test]
        fn bytes_are_counted_one_by_one(
            offset_bytes in 0..30u64, length_bytes in 1..6u64, gap in 0..9u64, count in 1..7u64,
            position in 0..120u64,
        ) {
            let stride_bytes = length_bytes + gap;
            let run = Run { offset_bytes, length_bytes, stride_bytes, count };
            let all = bytes(&run);
            let before = all.iter().filter(|byte| **byte < position).count() as u64;
            prop_assert_eq!(bytes_before(&run, position), before);
            prop_assert_eq!(end_bytes(&run), all.last().unwrap() + 1);
        }

        #[test]
        fn what_was_moved_are_the_first_bytes(done in 0..60u64, shift in 0..50u64) {
            let run = |offset_bytes, length_bytes, stride_bytes, count| {
                Run { offset_bytes, length_bytes, stride_bytes, count }
            };
            let runs = vec![run(10, 4, 9, 5), run(100, 3, 3, 2), run(70, 30, 0, 1)];
            let all: Vec<u64> = runs.iter().flat_map(bytes).map(|byte| byte + shift).collect();
            let entry = EventExtents { pieces: 8, runs };
            let extents = Extents::of(&[entry]);
            let row = Row {
                pieces: 8, extents_id: 0, offset_bytes: 10 + shift, done_bytes: done,
                ..Row::EMPTY
            };
            let mut moved = Vec::new();
            let known = extents.moved(&row, |run| moved.extend(bytes(&run)));
            prop_assert!(known);
            prop_assert_eq!(moved, all[..all.len().min(done as usize)].to_vec());
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let cut = EventExtents { pieces: 2, runs: vec![Run::single(0, 4)] };
        let extents = Extents::of(&[cut]);
        let row = |pieces, extents_id, unplaced| Row { pieces, extents_id, unplaced, ..Row::EMPTY };
        for unknown in [row(2, 0, false), row(2, 1, false), row(2, -1, false), row(0, -1, true)] {
            assert!(!extents.moved(&unknown, |_| ()), "{unknown:?}");
        }
        assert!(extents.moved(&row(0, -1, false), |_| ()));
    }
}
