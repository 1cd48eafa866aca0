//! DIR/events.parquet: one row per operation, for DuckDB, pandas and friends, and back.
//!
//! ```sql
//! SELECT label, op, count(*), avg(busy_ns) FROM 'DIR/events.parquet' WHERE errno = 0 GROUP BY ALL;
//! ```
//!
//! Rows are sorted by rank and `seq`, in a sweep execution by execution; each has a clock of its own. Labels,
//! files and paths are text in the rows (Parquet stores each once per row group): no second table must be
//! joined, and the same file has the same name on all ranks. The columns are
//! [`COLUMNS`]. Files from the leaf on: `columns` (layout), `read`, `write`.

mod columns;
mod read;
mod write;

pub use columns::{COLUMNS, Column, EVENTS_FILE, EventRow, Origin, encode};
pub use read::{EventReader, Table, find_op, invalid, meanings};
pub use write::{EventWriter, Imported};

#[cfg(test)]
mod tests;
