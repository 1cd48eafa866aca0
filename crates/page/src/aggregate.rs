//! The event table condensed to what fits pictures, in two passes over the columns that are needed.
//!
//! ```text
//! events.parquet ──scope──▶ ranges, the files with most bytes
//!                ──rows───▶ Aggregates: counters of a fixed size
//! ```
//!
//! A row group is in memory at a time, and a few bytes per path. Not here: pictures ([`crate::views`]). Files
//! from the leaf on: `axis`, `extents`, `scope`, `grid`, `files`.

mod axis;
mod extents;
mod files;
mod grid;
mod scope;

pub use axis::{Bands, Busiest, Execution, TimeBins};
pub use files::{FileMap, FileParts, Owner};
pub use grid::{Cell, DueGrid, Grid, LabelGrid, OffsetGrid, OpGrid};

use extents::Row;
use files::Files;
use model::Run;
use report::StoreError;
use report::events::Table;
use scope::Scope;
use std::path::Path;

/// Events of one execution in counters of a fixed size.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregates {
    /// The execution they are from.
    pub execution: Execution,
    /// Events counted here; those that failed are not.
    pub events: u64,
    /// Events of operations that failed, also as the program expects.
    pub failed: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Operations that moved bytes nobody knows the place of: they are in neither `offsets` nor the
    /// parts of `files`.
    pub unplaced: u64,
    /// Columns of time.
    pub time: TimeBins,
    /// Ranks, neighbours together where there are more than fit.
    pub bands: Bands,
    /// Whose times `grid` holds; `None`: the run has no rows that tell.
    pub busiest: Option<Busiest>,
    /// By band of ranks and column of time.
    pub grid: Grid,
    /// Operations by column of time.
    pub ops: OpGrid,
    /// Times from when operations were due; `None`: the run sets no times.
    pub due: Option<DueGrid>,
    /// Positions in files by column of time.
    pub offsets: OffsetGrid,
    /// Labels by band of ranks and column of time.
    pub labels: LabelGrid,
    /// Parts of files by rank.
    pub files: FileMap,
}

/// Condenses the events of `run`'s first execution; `path` is the folder of the run, or the table
/// itself. `None`: the table is empty.
///
/// # Errors
/// A missing, truncated, damaged, newer or foreign table, each told apart.
pub fn aggregate(path: &Path, run: &Run) -> Result<Option<Aggregates>, StoreError> {
    let table = Table::open(path)?;
    table.guarded(|| {
        let Some(scope) = Scope::of(&table, run)? else { return Ok(None) };
        let mut found = Aggregates::new(&scope, !run.run.arrivals.is_empty());
        let mut files = Files::new(&scope);
        for group in 0..scope.groups.len() {
            scope::rows(&table, group, &scope, |row| found.add(&scope, &mut files, row))?;
        }
        found.files = files.finish(&table)?;
        Ok(Some(found))
    })
}

impl Aggregates {
    fn new(scope: &Scope, has_due: bool) -> Aggregates {
        Aggregates {
            execution: scope.execution,
            events: 0,
            failed: 0,
            bytes: 0,
            unplaced: 0,
            time: scope.time,
            bands: scope.bands,
            busiest: scope.busiest.as_ref().map(|(_, busiest)| busiest.clone()),
            grid: Grid::new(&scope.bands, &scope.time),
            ops: OpGrid::new(&scope.time),
            due: has_due.then(|| DueGrid::new(&scope.time)),
            offsets: OffsetGrid::new(scope),
            labels: LabelGrid::new(scope),
            files: FileMap::default(),
        }
    }

    fn add(&mut self, scope: &Scope, files: &mut Files, row: &Row) {
        if row.failed {
            self.failed += 1;
            return;
        }
        self.events += 1;
        self.bytes = self.bytes.saturating_add(row.done_bytes);
        let at = scope.time.of(row.start_ns);
        self.grid.add(scope, scope.bands.of(row.rank), at, row);
        self.ops.add(scope, at, row);
        if let Some(due) = &mut self.due {
            due.add(row);
        }
        self.labels.add(scope, row);
        if row.done_bytes > 0 {
            let mut file = files.parts(row.path_id);
            let is_known = scope.extents.moved(row, |run| {
                self.offsets.add(row, &run);
                if let Some(parts) = &mut file {
                    parts.add(row.rank, &run);
                }
            });
            self.unplaced += u64::from(!is_known);
        }
    }
}

#[cfg(test)]
mod tests;
