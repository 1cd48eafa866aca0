//! `parabench fidelity`: whether a replay does what an original did, and how its times differ.
//!
//! ```text
//! events of the original ─┐ names ▸ align ─▶ differences, each with its first place
//! events of the replay  ──┘                 └ profile (in all, by phase) ▸ figures ─▶ errors in %
//! ```
//!
//! Differences are counted exactly, operation by operation; ranks are matched by their number, names as
//! `names` says. Times are never exact: each has its error, and beside it how much the original varies,
//! where several were recorded. docs/fidelity.md has the rules. Not here: whether one program is faster
//! than another ([`crate::compare`]). Files from the leaves on: `stream`, `names`, `profile`,
//! `align`, `figures`, `report`, `show`.

mod align;
mod figures;
mod names;
mod profile;
mod report;
pub mod show;
mod stream;

pub use align::Kind;
pub use figures::{Figure, Latency, Scope};
pub use report::{
    Differences, Execution, Fidelity, First, Gate, OpCounts, Recorded, Refused, ShownStep, check,
    compare,
};

#[cfg(test)]
mod tests;
