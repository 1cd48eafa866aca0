//! DIR/events.parquet: one row per operation, for DuckDB, pandas and friends, and back.
//!
//! ```sql
//! SELECT label, op, count(*), avg(busy_ns) FROM 'DIR/events.parquet' WHERE errno = 0 GROUP BY ALL;
//! ```
//!
//! Rows are sorted by rank and `seq`, in a sweep execution by execution; each has a clock of its own. Labels,
//! files and paths are text in the rows (Parquet stores each once per row group): no second table must be
//! joined, and the same file has the same name on all ranks. The columns are [`COLUMNS`].

/// Where events come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Rank.
    pub rank: u32,
    /// Machine of the rank.
    pub host: &'a str,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
}

mod columns;
mod contain;
mod extents;
mod fill;
mod names;
mod read;
mod rows;
mod table;
mod write;

pub(crate) use read::{Values, invalid, name_column};
pub(crate) use table::Table;

pub use columns::{COLUMNS, Column};
pub use read::{EventReader, EventRow};
pub use rows::rows;
pub use write::{EventWriter, Imported};

/// Name of the event table in the folder of a run.
pub const EVENTS_FILE: &str = "events.parquet";

/// Key in the file's metadata that tells the format version, [`model::run::VERSION`].
const VERSION_KEY: &str = "parabench.version";

/// Rows in a row group: what writer and reader hold in memory at a time. Parquet allows 2^15
/// groups, hence 2^32 rows.
const GROUP_ROWS: usize = 1 << 17;

#[cfg(test)]
mod tests;
