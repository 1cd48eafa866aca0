//! The event table condensed to what fits pictures, in two passes over the columns that are needed.
//!
//! ```text
//! events.parquet ──scope──▶ ranges, the files with most bytes
//!                ──rows───▶ Aggregates: counters of a fixed size
//! ```
//!
//! A row group is in memory at a time, and a few bytes per path. Not here: pictures ([`crate::views`]). Files
//! from the leaf on: `axis`, `extents`, `scope`, `grid`, `files`, `condense`.

mod axis;
mod condense;
mod extents;
mod files;
mod grid;
mod scope;

pub use axis::{Bands, Busiest, Execution, TimeBins, union_of};
pub use condense::{Aggregates, aggregate};
pub use files::{FileMap, FileParts, Owner};
pub use grid::{Cell, DueGrid, Grid, LabelGrid, OffsetGrid, OpGrid};

#[cfg(test)]
mod tests;
