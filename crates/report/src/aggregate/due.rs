//! How long operations took from when they were due (`with (rate=...)`), by the time at which they were.

use super::TimeBins;
use super::grid::add_all;
use super::scan::Row;
use model::Op;
use model::histogram::{BUCKETS, bucket, bucket_low};

/// Columns of time: each needs enough operations for percentiles.
const COLUMNS: usize = 80;
/// Buckets of histograms that are one here: 16 steps per power of two.
const STEP: usize = 4;
const STEPS: usize = BUCKETS.div_ceil(STEP);

/// Times from when operations were due, by column of that time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueGrid {
    /// Columns of when they were due.
    pub time: TimeBins,
    /// Operations of each kind.
    pub ops: Vec<u64>,
    /// Operations for which the program sets no time.
    pub others: u64,
    /// By column and step; empty before the first one.
    counts: Vec<u64>,
    longest_ns: Vec<u64>,
}

impl DueGrid {
    pub(super) fn new(time: &TimeBins) -> DueGrid {
        let end_ns = time.edge_ns(time.count).saturating_sub(1);
        let time = TimeBins::over(time.start_ns, end_ns, COLUMNS);
        DueGrid { time, ..DueGrid::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, row: &Row) {
        let Some(due_ns) = row.due_ns else {
            self.others += 1;
            return;
        };
        self.reserve();
        let (at, took_ns) = (self.time.of(due_ns), row.end_ns.saturating_sub(due_ns));
        self.ops[row.op as usize] += 1;
        self.counts[at * STEPS + bucket(took_ns) / STEP] += 1;
        self.longest_ns[at] = self.longest_ns[at].max(took_ns);
    }

    fn reserve(&mut self) {
        if self.counts.is_empty() {
            self.counts = vec![0; self.time.count * STEPS];
            self.longest_ns = vec![0; self.time.count];
            self.ops = vec![0; Op::COUNT];
        }
    }

    pub(super) fn merge(&mut self, other: &DueGrid) {
        self.others += other.others;
        if other.counts.is_empty() {
            return;
        }
        self.reserve();
        add_all(&mut self.counts, &other.counts);
        add_all(&mut self.ops, &other.ops);
        for (longest, other) in self.longest_ns.iter_mut().zip(&other.longest_ns) {
            *longest = (*longest).max(*other);
        }
    }

    /// Operations that were due.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// Those of a column.
    pub fn count_in(&self, column: usize) -> u64 {
        self.column(column).iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    fn column(&self, column: usize) -> &[u64] {
        self.counts.get(column * STEPS..(column + 1) * STEPS).unwrap_or_default()
    }

    /// The longest time in a column; `None`: nothing was due then.
    pub fn longest_ns(&self, column: usize) -> Option<u64> {
        (self.count_in(column) > 0).then(|| self.longest_ns[column])
    }

    /// The time within which a share of a column's operations was over, to a sixteenth; `None`: there are
    /// too few for it.
    pub fn quantile_ns(&self, column: usize, share: f64) -> Option<u64> {
        let longest = self.longest_ns(column)?;
        quantile(self.column(column), share).map(|ns| ns.min(longest))
    }

    /// The same of all columns.
    pub fn quantile_of_all_ns(&self, share: f64) -> Option<u64> {
        let mut all = vec![0; STEPS];
        self.counts.chunks(STEPS).for_each(|column| add_all(&mut all, column));
        let longest = self.longest_ns.iter().copied().max()?;
        quantile(&all, share).map(|ns| ns.min(longest))
    }
}

/// The end of the step in which the share is reached.
fn quantile(steps: &[u64], share: f64) -> Option<u64> {
    let count = steps.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    if count == 0 || (count as f64) * (1.0 - share) < 1.0 - 1e-9 {
        return None;
    }
    let wanted = (count as f64 * share).ceil() as u64;
    let mut seen = 0u64;
    let step = steps.iter().position(|count| {
        seen = seen.saturating_add(*count);
        seen >= wanted
    })?;
    let after = (step + 1) * STEP;
    Some(if after >= BUCKETS { u64::MAX } else { bucket_low(after) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_when_operations_were_due() {
        let mut grid = DueGrid::new(&TimeBins::over(0, 8_000, 240));
        let mut other = grid.clone();
        for at in 0..100u64 {
            let (due, took) = (80 * at, if at == 50 { 5_000 } else { 320 });
            let row =
                Row { start_ns: due + 10, end_ns: due + took, due_ns: Some(due), ..Row::EMPTY };
            if at % 2 == 0 { grid.add(&row) } else { other.add(&row) }
        }
        other.add(&Row::EMPTY);
        grid.merge(&other);
        assert_eq!((grid.count(), grid.others, grid.ops[Op::Fwrite as usize]), (100, 1, 100));
        let column = grid.time.of(4_000);
        assert_eq!(grid.longest_ns(column), Some(5_000));
        assert_eq!(grid.quantile_ns(column, 0.99), None);
        let median = grid.quantile_of_all_ns(0.5).expect("a median");
        assert!((320..=340).contains(&median), "{median}");
        assert!(
            grid.quantile_of_all_ns(0.99).is_some() && grid.quantile_of_all_ns(0.999).is_none()
        );
    }
}
