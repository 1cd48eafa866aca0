//! Run -> pictures: what each view shows, in figures that fit a screen.
//!
//! ```text
//! Run         ──▶ latencies, calls by kind, labels over time, figures over a sweep
//! Aggregates  ──▶ rates over time, ranks over time, positions, files, labels by rank
//! ```
//!
//! The title of a view is a short noun, its summary has the numbers that matter. A view without data is
//! absent, with a reason. Names are stable: they are file names of `parabench report --data`. `run` puts
//! the views of the other files in order; `source` and `colors` are what they share, `data` writes CSV.

mod calls;
mod data;
mod files;
mod labels;
mod latency;
mod moved;
mod ranks;
mod rates;
mod run;
mod source;
mod sweep;

pub use data::csv;
pub(crate) use data::lines;
pub(crate) use latency::latencies_of_sides;
pub use run::{stored, views};
pub use source::{Absent, Views};

#[cfg(test)]
mod tests;
