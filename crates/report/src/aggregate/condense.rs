//! The pass over the event table: threads with counters of their own, merged at the end.

use super::axis::{Bands, Busiest, Execution, TimeBins};
use super::files::{self, FileMap};
use super::grid::{DueGrid, Grid, LabelGrid, NodeGrid, OffsetGrid, OpGrid};
use super::scan;
use super::scope::Scope;
use crate::StoreError;
use crate::events::Table;
use model::Run;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::thread;

/// Threads that read: more were not faster than the memory on the machines measured.
const MAX_THREADS: usize = 2;

/// Events of one execution in counters of a fixed size.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregates {
    /// The execution they are from.
    pub execution: Execution,
    /// There are others in the table.
    pub one_of_many: bool,
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
    /// The same by machine, of a job on several.
    pub nodes: Option<NodeGrid>,
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
    let Some(scope) = table.guarded(|| Scope::of(&table, run))? else { return Ok(None) };
    let files = chosen_paths(&table, &scope)?;
    let scope = scope.with_files(files);
    let parts = on_threads(&table, |own, next| own.guarded(|| bins(own, &scope, next)))?;
    let mut parts = parts.into_iter();
    let Some(mut bins) = parts.next() else { return Ok(None) };
    parts.for_each(|other| bins.merge(other));
    let names = table.guarded(|| bins.files.names(&table))?;
    Ok((bins.events + bins.failed > 0).then(|| bins.finish(scope, names)))
}

/// Runs `work` on every thread; each takes row groups from the same counter, and has the table open
/// for itself: copies of one open file share their position.
fn on_threads<T: Send>(
    table: &Table,
    work: impl Fn(&Table, &AtomicUsize) -> Result<T, StoreError> + Sync,
) -> Result<Vec<T>, StoreError> {
    let next = AtomicUsize::new(0);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let threads = cpus.min(MAX_THREADS).min(table.groups()).max(1);
    let one = || work(&Table::open(&table.path)?, &next);
    thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        // `work` contains panics of the library; one of ours is passed on.
        let joined = started
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    })
}

/// The counters of one thread.
struct Bins {
    events: u64,
    failed: u64,
    bytes: u64,
    unplaced: u64,
    grid: Grid,
    nodes: Option<Grid>,
    ops: OpGrid,
    due: Option<DueGrid>,
    offsets: OffsetGrid,
    labels: LabelGrid,
    files: files::Files,
}

fn bins(table: &Table, scope: &Scope, next: &AtomicUsize) -> parquet::errors::Result<Bins> {
    let mut bins = Bins::new(scope);
    while let Some(group) = scan::take_group(table, scope.execution, next) {
        scan::events(table, group, scope, |row| bins.add(scope, group, row))?;
    }
    Ok(bins)
}

impl Bins {
    fn new(scope: &Scope) -> Bins {
        Bins {
            events: 0,
            failed: 0,
            bytes: 0,
            unplaced: 0,
            grid: Grid::new(&scope.bands, &scope.time),
            nodes: scope.nodes.as_ref().map(|nodes| Grid::new(&nodes.bands, &scope.time)),
            ops: OpGrid::new(&scope.time),
            due: scope.has_due.then(|| DueGrid::new(&scope.time)),
            offsets: OffsetGrid::new(scope),
            labels: LabelGrid::new(scope),
            files: files::Files::new(scope.paths.min(files::MAX_TRACKED)),
        }
    }

    #[inline]
    fn add(&mut self, scope: &Scope, group: usize, row: &scan::Row) {
        if row.failed {
            self.failed += 1;
            return;
        }
        self.events += 1;
        self.bytes = self.bytes.saturating_add(row.done_bytes);
        let at = scope.time.of(row.start_ns);
        self.grid.add(scope, scope.bands.of(row.rank), at, row);
        if let (Some(grid), Some(nodes)) = (&mut self.nodes, &scope.nodes) {
            grid.add(scope, nodes.of_rank(row.rank), at, row);
        }
        self.ops.add(scope, at, row);
        if let Some(due) = &mut self.due {
            due.add(row);
        }
        self.labels.add(scope, row);
        if row.done_bytes > 0 {
            self.place(scope, group, row);
        }
    }

    /// Where in the file the bytes were.
    #[inline]
    fn place(&mut self, scope: &Scope, group: usize, row: &scan::Row) {
        let has_file = scope.wants_file(row.path_id);
        if has_file {
            self.files.count(group, row);
        }
        let is_known = scope.extents.moved(row, |run| {
            self.offsets.add(row, &run);
            if has_file {
                self.files.add(group, row, &run);
            }
        });
        self.unplaced += u64::from(!is_known);
    }

    fn merge(&mut self, other: Bins) {
        self.events += other.events;
        self.failed += other.failed;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.unplaced += other.unplaced;
        self.grid.merge(&other.grid);
        if let (Some(own), Some(other)) = (&mut self.nodes, &other.nodes) {
            own.merge(other);
        }
        self.ops.merge(&other.ops);
        if let (Some(own), Some(other)) = (&mut self.due, &other.due) {
            own.merge(other);
        }
        self.offsets.merge(&other.offsets);
        self.labels.merge(&other.labels);
        self.files.merge(other.files);
    }

    fn finish(self, scope: Scope, names: Vec<(i32, String)>) -> Aggregates {
        let nodes = scope.nodes.clone().zip(self.nodes);
        Aggregates {
            nodes: nodes.map(|(nodes, grid)| NodeGrid { nodes, grid }),
            files: self.files.finish(names),
            execution: scope.execution,
            one_of_many: scope.one_of_many,
            busiest: scope.busiest.map(|busiest| busiest.1),
            events: self.events,
            failed: self.failed,
            bytes: self.bytes,
            unplaced: self.unplaced,
            time: scope.time,
            bands: scope.bands,
            grid: self.grid,
            ops: self.ops,
            due: self.due,
            offsets: self.offsets,
            labels: self.labels,
        }
    }
}

/// Where there are too many paths to keep parts of each: those with most bytes, found in a first
/// pass over two columns.
fn chosen_paths(table: &Table, scope: &Scope) -> Result<Option<Vec<i32>>, StoreError> {
    if scope.paths <= files::MAX_TRACKED {
        return Ok(None);
    }
    let totals = on_threads(table, |own, next| {
        own.guarded(|| {
            let mut totals = files::Totals::default();
            let columns = ["path_id", "done_bytes"];
            while let Some(group) = scan::take_group(own, scope.execution, next) {
                scan::integers(own, group, columns, Some(scope.execution), |[path, bytes]| {
                    totals.add(path as i32, bytes as u64);
                })?;
            }
            Ok(totals)
        })
    })?;
    Ok(totals.into_iter().reduce(files::Totals::merge).map(files::Totals::largest))
}
