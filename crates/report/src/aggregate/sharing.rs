//! Whether ranks moved the same bytes of a file, or bytes side by side.
//!
//! Loops over positions become runs again, so that a few runs usually describe all operations:
//!
//! ```text
//! rank 0: 0+4k, 8k+4k, 16k+4k, ...      one run: 4k every 8k
//! ```

use model::pattern::Run;
use std::collections::HashSet;
use std::ops::Range;

/// Extents of a file that are compared.
const MAX_EXTENTS: u64 = 1 << 20;

/// The bytes of one file that each rank moved, while they are collected.
#[derive(Clone, Debug)]
pub(super) struct Touches {
    runs: HashSet<(u32, Run)>,
    /// A run that may continue with the next operation, and its row group.
    open: Option<(u32, usize, Run)>,
    max_runs: usize,
    /// There were more different runs.
    overflow: bool,
}

impl Touches {
    /// Limits the number of runs.
    pub fn new(max_runs: usize) -> Touches {
        Touches { runs: HashSet::new(), open: None, max_runs, overflow: false }
    }

    /// Adds a run. Runs of one row group only are put together, so that what comes out does not
    /// depend on which thread took which group.
    pub fn add(&mut self, rank: u32, group: usize, run: Run) {
        if self.overflow {
            return;
        }
        if let Some((last_rank, last_group, last)) = &mut self.open
            && (*last_rank, *last_group) == (rank, group)
            && let Some(joined) = joined(last, &run)
        {
            *last = joined;
            return;
        }
        self.close();
        self.open = Some((rank, group, run));
    }

    fn close(&mut self) {
        if let Some((rank, _, run)) = self.open.take() {
            self.runs.insert((rank, run));
            self.limit();
        }
    }

    fn limit(&mut self) {
        if self.runs.len() > self.max_runs {
            self.overflow = true;
            self.runs = HashSet::new();
        }
    }

    pub fn merge(&mut self, mut other: Touches) {
        self.close();
        other.close();
        self.overflow |= other.overflow;
        self.runs.extend(other.runs);
        self.limit();
    }

    /// The ranges that several ranks moved, in ascending order of their starts; `None`: there is too
    /// much to compare.
    pub fn shared(&self) -> Option<Vec<Range<u64>>> {
        let open = self.open.iter().map(|(rank, _, run)| (*rank, *run));
        let runs = || self.runs.iter().copied().chain(open.clone());
        let extents = runs().map(|(_, run)| run.count).fold(0, u64::saturating_add);
        if self.overflow || extents > MAX_EXTENTS {
            return None;
        }
        let mut extents: Vec<(u64, u64, u32)> = runs().flat_map(extents_of).collect();
        extents.sort_unstable();
        Some(overlaps(&extents))
    }
}

/// Start, end and rank of each extent.
fn extents_of((rank, run): (u32, Run)) -> impl Iterator<Item = (u64, u64, u32)> {
    (0..run.count).map(move |i| {
        let start = run.offset_bytes.saturating_add(i.saturating_mul(run.stride_bytes));
        (start, start.saturating_add(run.length_bytes), rank)
    })
}

/// Both as one run.
fn joined(a: &Run, b: &Run) -> Option<Run> {
    if b.count != 1 {
        return None;
    }
    let distance = b.offset_bytes.checked_sub(a.offset_bytes)?;
    if a.count == 1 && distance == a.length_bytes {
        return Some(Run::single(a.offset_bytes, a.length_bytes.saturating_add(b.length_bytes)));
    }
    let goes_on = match a.count {
        1 => distance > a.length_bytes,
        count => distance == a.stride_bytes.saturating_mul(count),
    };
    (goes_on && a.length_bytes == b.length_bytes).then(|| Run {
        stride_bytes: if a.count == 1 { distance } else { a.stride_bytes },
        count: a.count + 1,
        ..*a
    })
}

/// Where extents of different ranks overlap. The two farthest ends of different ranks tell it.
fn overlaps(extents: &[(u64, u64, u32)]) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let (mut farthest, mut second): ((u64, u32), (u64, u32)) = ((0, u32::MAX), (0, u32::MAX));
    for &(start, end, rank) in extents {
        let other_end = if farthest.1 == rank { second.0 } else { farthest.0 };
        if start < other_end.min(end) {
            found.push(start..other_end.min(end));
        }
        if rank == farthest.1 {
            farthest.0 = farthest.0.max(end);
        } else if end > farthest.0 {
            (farthest, second) = ((end, rank), farthest);
        } else if end > second.0 {
            second = (end, rank);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn touches(accesses: &[(u32, u64, u64)]) -> Touches {
        let mut touches = Touches::new(1000);
        for (rank, offset, len) in accesses {
            touches.add(*rank, 0, Run::single(*offset, *len));
        }
        touches
    }

    proptest! {
        #[test]
        fn shared_bytes_are_found_one_by_one(
            accesses in prop::collection::vec((0..3u32, 0..40u64, 1..6u64), 0..20),
        ) {
            let holders = |byte: u64| {
                let of = |a: &&(u32, u64, u64)| (a.1..a.1 + a.2).contains(&byte);
                accesses.iter().filter(of).map(|a| a.0).collect::<HashSet<u32>>().len()
            };
            let ranges = touches(&accesses).shared().unwrap();
            for byte in 0..50 {
                let is_shared = ranges.iter().any(|range| range.contains(&byte));
                prop_assert_eq!(is_shared, holders(byte) > 1, "byte {}", byte);
            }
        }
    }

    #[test]
    fn loops_become_runs() {
        let strided: Vec<_> = (0..5000).map(|i| (0, i * 8192, 4096)).collect();
        let contiguous: Vec<_> = (0..5000).map(|i| (1, 9 + i * 100, 100)).collect();
        let touches = touches(&[strided, contiguous].concat());
        let runs = touches.runs.len() + usize::from(touches.open.is_some());
        assert_eq!(runs, 2, "{touches:?}");
        assert!(!touches.shared().unwrap().is_empty());
    }

    #[test]
    fn too_much_is_not_compared_in_any_order() {
        let scattered =
            |rank: u32| -> Vec<_> { (0..1600).map(|i| (rank, i * i * 10, 5)).collect() };
        let mut both = touches(&scattered(0));
        both.merge(touches(&scattered(1)));
        assert_eq!(both.shared(), None);
        let mut many = Touches::new(10);
        let run = Run { offset_bytes: 0, length_bytes: 1, stride_bytes: 2, count: MAX_EXTENTS + 1 };
        many.add(0, 0, run);
        assert_eq!(many.shared(), None);
    }
}
