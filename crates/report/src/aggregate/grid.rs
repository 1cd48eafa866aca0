//! Counters by column of time, and by ranks, operations, positions or labels.

use super::axis::{Bands, Nodes, TimeBins};
use super::extents::{bytes_before, end_bytes};
use super::scan::Row;
use super::scope::Scope;
use model::Op;
use model::histogram::{BUCKETS, bucket, bucket_low};
use model::op::Class;
use model::pattern::Run;
use std::ops::Range;

/// Rows of positions in [`OffsetGrid`].
pub(super) const OFFSET_ROWS: usize = 40;
/// Columns of time of [`OffsetGrid`]: with the rows a picture of a few thousand marks.
pub(super) const OFFSET_COLUMNS: usize = 96;
/// Bands of ranks that have a colour of their own.
pub(super) const MAX_COLOURS: usize = 8;
/// Bands of ranks of [`LabelGrid`].
pub(super) const MAX_LABEL_BANDS: usize = 32;

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

/// Cells by band of ranks and column of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    columns: usize,
    cells: Vec<Cell>,
}

impl Grid {
    pub(super) fn new(bands: &Bands, time: &TimeBins) -> Grid {
        Grid { columns: time.count, cells: vec![Cell::default(); bands.count * time.count] }
    }

    /// The cells of a band, by column of time.
    pub fn band(&self, band: usize) -> &[Cell] {
        &self.cells[band * self.columns..][..self.columns]
    }

    #[inline]
    pub(super) fn add(&mut self, scope: &Scope, band: usize, at: usize, row: &Row) {
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

    pub(super) fn merge(&mut self, other: &Grid) {
        for (cell, other) in self.cells.iter_mut().zip(&other.cells) {
            cell.bytes = cell.bytes.saturating_add(other.bytes);
            cell.count += other.count;
            cell.busy_ns = cell.busy_ns.saturating_add(other.busy_ns);
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
    pub(super) fn new(time: &TimeBins) -> OpGrid {
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

    #[inline]
    pub(super) fn add(&mut self, scope: &Scope, at: usize, row: &Row) {
        self.counts[row.op as usize * self.columns + at] += 1;
        if row.done_bytes > 0 {
            let bytes = &mut self.bytes[usize::from(row.op.row().class == Class::Write)];
            let add = |at: usize, share: u64| bytes[at] = bytes[at].saturating_add(share);
            scope.time.spread(row.start_ns, row.end_ns, row.done_bytes, add);
        }
    }

    pub(super) fn merge(&mut self, other: &OpGrid) {
        add_all(&mut self.counts, &other.counts);
        add_all(&mut self.bytes[0], &other.bytes[0]);
        add_all(&mut self.bytes[1], &other.bytes[1]);
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
    pub(super) fn new(scope: &Scope) -> OffsetGrid {
        let end_ns = scope.time.edge_ns(scope.time.count).saturating_sub(1);
        let time = TimeBins::over(scope.time.start_ns, end_ns, OFFSET_COLUMNS);
        let bands = Bands::over(scope.bands.ranks, MAX_COLOURS);
        let row_bytes = scope.offset_end_bytes.div_ceil(OFFSET_ROWS as u64).max(1);
        let rows = scope.offset_end_bytes.div_ceil(row_bytes).max(1) as usize;
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
    #[inline]
    pub(super) fn add(&mut self, row: &Row, run: &Run) {
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

    pub(super) fn merge(&mut self, other: &OffsetGrid) {
        self.end_bytes = self.end_bytes.max(other.end_bytes);
        add_all(&mut self.bytes, &other.bytes);
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
    pub(super) fn new(scope: &Scope) -> LabelGrid {
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

    #[inline]
    pub(super) fn add(&mut self, scope: &Scope, row: &Row) {
        let (labels, first) = (self.labels.len(), self.bands.of(row.rank) * self.columns);
        scope.time.spread(row.start_ns, row.end_ns, row.busy_ns, |at, share| {
            let cell = &mut self.busy_ns[(first + at) * labels + row.label];
            *cell = cell.saturating_add(share);
        });
    }

    pub(super) fn merge(&mut self, other: &LabelGrid) {
        add_all(&mut self.busy_ns, &other.busy_ns);
    }
}

pub(super) fn add_all(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = to.saturating_add(*from));
}

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

/// Operations of the ranks of each machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGrid {
    /// The machines.
    pub nodes: Nodes,
    /// By band of machines and column of time.
    pub grid: Grid,
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
