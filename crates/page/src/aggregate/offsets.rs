//! Where in files bytes were moved, by column of time.

use super::axis::TimeBins;
use super::extents::{Extents, Row, bytes_before, end_bytes};
use super::sparse::Sparse;
use model::pattern::Run;

/// Rows of positions.
pub const ROWS: usize = 128;
/// Columns of time at most.
pub(crate) const COLUMNS: usize = 256;

/// Bytes by file, class, column of when the call began, and row of the position.
#[derive(Clone, Debug, PartialEq)]
pub struct Offsets {
    /// Height of a row, at least 1.
    pub row_bytes: u64,
    pub(crate) sums: Sparse,
    /// Operations that moved bytes nobody knows the place of: they are not here.
    pub unplaced: u64,
}

/// Bytes in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetCell {
    /// Number of the file; that behind the last one: other files.
    pub file: usize,
    /// The bytes were written, not read.
    pub is_write: bool,
    /// Column.
    pub column: usize,
    /// Row, from position 0 on.
    pub row: usize,
    /// Bytes.
    pub bytes: u64,
}

impl Offsets {
    /// Up to a position; at most `most` cells.
    pub(crate) fn new(time: &TimeBins, end: u64, most: usize) -> Offsets {
        let sums = Sparse::new(time.count, COLUMNS, most);
        Offsets { row_bytes: end.div_ceil(ROWS as u64).max(1), sums, unplaced: 0 }
    }

    /// Columns of time: a power of two.
    pub fn columns(&self) -> usize {
        self.sums.columns()
    }

    /// Behind the last row.
    pub fn end_bytes(&self) -> u64 {
        self.row_bytes.saturating_mul(ROWS as u64)
    }

    /// Adds the bytes that a row moved.
    pub(crate) fn add(
        &mut self,
        extents: &Extents,
        column: usize,
        file: usize,
        is_write: bool,
        row: &Row,
    ) {
        let entry = (file * 2 + usize::from(is_write)) as u64 * ROWS as u64;
        let (row_bytes, sums) = (self.row_bytes, &mut self.sums);
        let is_known = extents.moved(row, |run| {
            each_row(&run, row_bytes, |at, bytes| sums.add(column, entry + at, bytes));
        });
        self.unplaced += u64::from(!is_known);
    }

    /// All cells, by file, class, column and row.
    pub fn cells(&self) -> Vec<OffsetCell> {
        let rows = ROWS as u64;
        let cell = |(place, column, bytes): (u64, usize, u64)| OffsetCell {
            file: (place / rows / 2) as usize,
            is_write: place / rows % 2 == 1,
            column,
            row: (place % rows) as usize,
            bytes,
        };
        let mut cells: Vec<OffsetCell> = self.sums.sorted().into_iter().map(cell).collect();
        cells.sort_unstable_by_key(|cell| (cell.file, cell.is_write, cell.column, cell.row));
        cells
    }
}

/// Gives each row with bytes of a run, and their number.
fn each_row(run: &Run, row_bytes: u64, mut each: impl FnMut(u64, u64)) {
    let (last, end) = (ROWS as u64 - 1, end_bytes(run));
    let mut at = (run.offset_bytes / row_bytes).min(last);
    let mut counted_bytes = 0;
    loop {
        let until = match at == last {
            true => end,
            false => end.min((at + 1).saturating_mul(row_bytes)),
        };
        let before = bytes_before(run, until);
        if before > counted_bytes {
            each(at, before - counted_bytes);
        }
        if until >= end {
            return;
        }
        (counted_bytes, at) = (before, at + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_in_the_rows_of_their_positions() {
        let rows = |run: Run, row_bytes| {
            let mut rows = Vec::new();
            each_row(&run, row_bytes, |at, bytes| rows.push((at, bytes)));
            rows
        };
        assert_eq!(rows(Run::single(50, 100), 100), [(0, 50), (1, 50)]);
        let sparse = Run { offset_bytes: 0, length_bytes: 10, stride_bytes: 200, count: 3 };
        assert_eq!(rows(sparse, 100), [(0, 10), (2, 10), (4, 10)]);
        assert_eq!(rows(Run::single(u64::MAX - 5, 100), u64::MAX / 128 + 1).len(), 1);
    }
}
