//! Run -> views: what people and programs read after a run.
//!
//! ```text
//!            ┌─ table   blocks (document) for the terminal, Markdown and pages
//!            ├─ json    --format json, one object
//! Run ───────┼─ csv     --format csv, rows or statistics
//!            └─ store   DIR/run.json ── and back
//! Event ────── events   DIR/events.parquet ── and back
//! Figures ──── chart    the data of a picture, and as CSV; the crate `page` draws it
//! Runs of a sweep ── merge      executions put together to one run
//! Runs with events ── fidelity   how faithful a replay is
//!            schedule   which cell is executed when, and whether its figures are sure enough
//! OPS ──────── ops      `parabench ops`, the manual of operations
//! ```
//!
//! Every view is a function of the [`model::Run`] alone: nothing is measured or
//! corrected here, and a stored run prints the same tables as a fresh one.
#![warn(clippy::disallowed_methods)]

pub mod chart;
pub mod compare;
pub mod csv;
pub mod curves;
pub mod document;
pub mod events;
pub mod fidelity;
pub mod file;
pub mod gate;
pub mod grid;
pub mod json;
pub mod limited;
pub mod machines;
pub mod markup;
pub mod merge;
pub mod ops;
pub mod rows;
pub mod rules;
pub mod schedule;
pub mod statistics;
pub mod stats;
pub mod store;
pub mod table;
pub mod text;

#[cfg(test)]
mod tests;

pub use file::StoreError;
pub use text::flow;
