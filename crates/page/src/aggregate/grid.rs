//! Counters by column of time, and by ranks, operations, positions or labels.

use super::axis::{Bands, TimeBins};
use super::extents::{Row, bytes_before, end_bytes};
use super::scope::Scope;
use model::op::Class;
use model::pattern::Run;
use model::{Histogram, Op};
use std::collections::BTreeMap;
use std::ops::Range;

/// Rows of positions in [`OffsetGrid`].
const OFFSET_ROWS: usize = 40;
/// Columns of time of [`OffsetGrid`]: with the rows a picture of a few thousand marks.
const OFFSET_COLUMNS: usize = 96;
/// Bands of ranks that have a colour of their own.
pub(crate) const MAX_COLOURS: usize = 8;
/// Bands of ranks of [`LabelGrid`].
const MAX_LABEL_BANDS: usize = 32;

/// Operations of a band of ranks in a column of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Bytes moved, evenly spread over the duration of each operation.
    pub bytes: u64,
    /// Operations of the busiest kind ([`super::Busiest`]) that began.
    pub count: u64,
    /// Sum of their own times.
    pub busy_ns: u64,
}

impl Cell {
    /// Adds the operations of another cell.
    pub(crate) fn add(&mut self, other: &Cell) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.count = self.count.saturating_add(other.count);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}

/// Cells by band of ranks and column of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    columns: usize,
    cells: Vec<Cell>,
}

impl Grid {
    pub(crate) fn new(bands: &Bands, time: &TimeBins) -> Grid {
        Grid { columns: time.count, cells: vec![Cell::default(); bands.count * time.count] }
    }

    /// The cells of a band, by column of time.
    pub fn band(&self, band: usize) -> &[Cell] {
        &self.cells[band * self.columns..][..self.columns]
    }

    pub(crate) fn add(&mut self, scope: &Scope, band: usize, at: usize, row: &Row) {
        let first = band * self.columns;
        let cells = &mut self.cells[first..first + self.columns];
        if scope
            .busiest
            .as_ref()
            .is_some_and(|(label, busiest)| (row.label, row.op) == (*label, busiest.op))
        {
            cells[at].count += 1;
            cells[at].busy_ns = cells[at].busy_ns.saturating_add(row.busy_ns);
        }
        if row.done_bytes > 0 {
            let add = |at: usize, share: u64| {
                cells[at].bytes = cells[at].bytes.saturating_add(share);
            };
            scope.time.spread(row.start_ns, row.end_ns, row.done_bytes, add);
        }
    }
}

/// Operations that began, and bytes read and written, by column of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpGrid {
    columns: usize,
    counts: Vec<u64>,
    bytes: [Vec<u64>; 2],
}

impl OpGrid {
    pub(crate) fn new(time: &TimeBins) -> OpGrid {
        let bytes = || vec![0; time.count];
        OpGrid {
            columns: time.count,
            counts: vec![0; Op::COUNT * time.count],
            bytes: [bytes(), bytes()],
        }
    }

    /// Executions of an operation, by column of time.
    pub fn counts(&self, op: Op) -> &[u64] {
        &self.counts[op as usize * self.columns..][..self.columns]
    }

    /// Bytes read or written, by column of time.
    pub fn bytes(&self, class: Class) -> &[u64] {
        &self.bytes[usize::from(class == Class::Write)]
    }

    pub(crate) fn add(&mut self, scope: &Scope, at: usize, row: &Row) {
        self.counts[row.op as usize * self.columns + at] += 1;
        if row.done_bytes > 0 {
            let bytes = &mut self.bytes[usize::from(row.op.row().class == Class::Write)];
            let add = |at: usize, share: u64| bytes[at] = bytes[at].saturating_add(share);
            scope.time.spread(row.start_ns, row.end_ns, row.done_bytes, add);
        }
    }
}

/// Bytes by column of time, position in the file and band of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetGrid {
    /// Columns of time.
    pub time: TimeBins,
    /// Bands of ranks with a colour each.
    pub bands: Bands,
    /// Height of a row, bytes; at least 1.
    pub row_bytes: u64,
    /// Rows of positions.
    pub rows: usize,
    /// Behind the last byte that was moved: the rows may reach beyond it.
    pub end_bytes: u64,
    bytes: Vec<u64>,
}

impl OffsetGrid {
    pub(crate) fn new(scope: &Scope) -> OffsetGrid {
        let end_ns = scope.time.edge_ns(scope.time.count).saturating_sub(1);
        let time = TimeBins::over(scope.time.start_ns, end_ns, OFFSET_COLUMNS);
        let bands = Bands::over(scope.bands.ranks, MAX_COLOURS);
        let row_bytes = scope.end_bytes.div_ceil(OFFSET_ROWS as u64).max(1);
        let rows = scope.end_bytes.div_ceil(row_bytes).max(1) as usize;
        let bytes = vec![0; time.count * rows * bands.count];
        OffsetGrid { time, bands, row_bytes, rows, end_bytes: 0, bytes }
    }

    /// Positions of a row, as far as bytes were moved.
    pub fn span_bytes(&self, row: usize) -> Range<u64> {
        let edge = |row: usize| self.row_bytes.saturating_mul(row as u64).min(self.end_bytes);
        edge(row)..edge(row + 1)
    }

    /// Bytes by band of ranks in a cell.
    pub fn cell(&self, column: usize, row: usize) -> &[u64] {
        &self.bytes[(column * self.rows + row) * self.bands.count..][..self.bands.count]
    }

    /// Adds the bytes of a run of extents that the row moved.
    pub(crate) fn add(&mut self, row: &Row, run: &Run) {
        let column = self.time.of(row.start_ns);
        let band = self.bands.of(row.rank);
        let end = end_bytes(run);
        self.end_bytes = self.end_bytes.max(end);
        let mut at = ((run.offset_bytes / self.row_bytes) as usize).min(self.rows - 1);
        let mut counted_bytes = 0;
        loop {
            let until_bytes = match at + 1 == self.rows {
                true => end,
                false => end.min((at as u64 + 1).saturating_mul(self.row_bytes)),
            };
            let before = bytes_before(run, until_bytes);
            let cell = &mut self.bytes[(column * self.rows + at) * self.bands.count + band];
            *cell = cell.saturating_add(before.saturating_sub(counted_bytes));
            if until_bytes >= end {
                return;
            }
            (counted_bytes, at) = (before, at + 1);
        }
    }
}

/// Own time of operations by band of ranks, column of time and label: spread evenly from start to
/// end, because waits between the calls of one operation are not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelGrid {
    /// Bands of ranks.
    pub bands: Bands,
    /// Labels with most time; the last entry is the sum of all others and may be empty.
    pub labels: Vec<String>,
    columns: usize,
    busy_ns: Vec<u64>,
}

impl LabelGrid {
    pub(crate) fn new(scope: &Scope) -> LabelGrid {
        let bands = Bands::over(scope.bands.ranks, MAX_LABEL_BANDS);
        let mut labels = scope.labels.clone();
        labels.push("other labels".into());
        let size = bands.count * scope.time.count * labels.len();
        LabelGrid { bands, labels, columns: scope.time.count, busy_ns: vec![0; size] }
    }

    /// Time in operations by label in a cell.
    pub fn cell(&self, band: usize, column: usize) -> &[u64] {
        let labels = self.labels.len();
        &self.busy_ns[(band * self.columns + column) * labels..][..labels]
    }

    pub(crate) fn add(&mut self, scope: &Scope, row: &Row) {
        let (labels, first) = (self.labels.len(), self.bands.of(row.rank) * self.columns);
        scope.time.spread(row.start_ns, row.end_ns, row.busy_ns, |at, share| {
            let cell = &mut self.busy_ns[(first + at) * labels + row.label];
            *cell = cell.saturating_add(share);
        });
    }
}

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
    pub(crate) fn new(time: &TimeBins) -> DueGrid {
        let end_ns = time.edge_ns(time.count).saturating_sub(1);
        let time = TimeBins::over(time.start_ns, end_ns, COLUMNS);
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
        let mut grid = DueGrid::new(&TimeBins::over(0, 8_000, 240));
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
