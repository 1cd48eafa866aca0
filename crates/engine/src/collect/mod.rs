//! Merges the records of all ranks into what a [`model::Run`] holds. Definitions:
//! docs/run-format.md. Linear in what the ranks recorded.
//!
//! ```text
//! record ─▶ Outline ─┐ merge ─▶ Outline of all ─┐
//!                    └──────────────────────────┴▶ Partial ─┐ merge ─▶ Partial of all ─▶ Collected
//! ```
//!
//! Both are merged in any order and any tree with the same result ([`model::merge`]), so ranks without
//! common memory merge along a tree ([`collect_over`]); no message and no rank ever
//! holds more than one label table, one histogram per row and bounded lists.
//!
//! Files from top to bottom, each uses those below it: `partial` (the driver); `labels`; `result`.

mod labels;
mod partial;
mod result;

pub(crate) use labels::{LabelFigures, never_executed};
pub use partial::{Link, Outline, Partial, collect, collect_over, reduce};
pub use result::Collected;

#[cfg(test)]
mod tests;
