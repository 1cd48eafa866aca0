//! The event table in one pass, condensed to what fits pictures.
//!
//! ```text
//! events.parquet ──scope───▶ ranges (from Parquet's directory, without reading rows)
//!                ──scan────▶ columns that are needed, row group by row group on two threads
//!                ──Bins────▶ Aggregates: counters of a fixed size
//! ```
//!
//! All counters are integers, so that the result does not depend on which thread saw which
//! event. Memory does not grow with the number of events, except for eight bytes per path where
//! there are more than a few thousand paths. Not here: pictures ([`crate::views`]). Files: `axis`,
//! `scan` and `scope`, `extents`, `grid` and `files`, `condense` (the driver).

mod axis;
mod condense;
mod extents;
mod files;
mod grid;
mod scan;
mod scope;

pub use axis::{Bands, Busiest, Execution, Nodes, TimeBins};
pub use condense::{Aggregates, aggregate};
pub use files::{FileMap, FileParts, Owner};
pub use grid::{Cell, DueGrid, Grid, LabelGrid, NodeGrid, OffsetGrid, OpGrid};

#[cfg(test)]
mod tests;
