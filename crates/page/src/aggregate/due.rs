//! Latency since operations were due, by when that was: what shows a queue that grows.

use super::axis::TimeBins;
use super::extents::Row;
use model::Histogram;
use std::collections::BTreeMap;

/// Columns of time: each needs enough operations for percentiles.
const COLUMNS: usize = 80;

/// Times from when operations were due to their end, by column of when they were due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueGrid {
    /// Columns of when they were due.
    pub time: TimeBins,
    /// Operations of each kind.
    pub ops: BTreeMap<&'static str, u64>,
    /// Operations for which the program sets no time.
    pub others: u64,
    /// Times by column.
    pub columns: Vec<Histogram>,
}

impl DueGrid {
    pub(crate) fn new(start_ns: u64, end_ns: u64) -> DueGrid {
        let time = TimeBins::over(start_ns, end_ns, COLUMNS);
        DueGrid { time, columns: vec![Histogram::default(); time.count], ..DueGrid::default() }
    }

    pub(crate) fn add(&mut self, row: &Row) {
        match row.due_ns {
            None => self.others += 1,
            Some(due_ns) => {
                *self.ops.entry(row.op.name()).or_default() += 1;
                let column = &mut self.columns[self.time.of(due_ns)];
                column.record(row.end_ns.saturating_sub(due_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_when_operations_were_due() {
        let mut grid = DueGrid::new(0, 8_000);
        for at in 0..100u64 {
            let (due, took) = (80 * at, if at == 50 { 5_000 } else { 320 });
            let due_ns = Some(due);
            grid.add(&Row { start_ns: due + 10, end_ns: due + took, due_ns, ..Row::EMPTY });
        }
        grid.add(&Row::EMPTY);
        assert_eq!((grid.others, grid.ops["fwrite"]), (1, 100));
        let column = &grid.columns[grid.time.of(4_000)];
        assert_eq!((column.max, column.percentile(0.99)), (5_000, None));
        assert_eq!(grid.columns.iter().map(|times| times.count).sum::<u64>(), 100);
    }
}
