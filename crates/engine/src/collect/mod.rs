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
//! Files from top to bottom, each uses those below it: `partial` (the driver); `labels`, `failed`,
//! `evidence`; `notes`, `times`, `busy`; `outline`, `reduce`, `result`.

mod busy;
mod evidence;
mod failed;
mod labels;
mod notes;
mod outline;
mod partial;
mod reduce;
mod result;
mod times;

pub use outline::Outline;
pub use partial::{Partial, collect, collect_over};
pub use reduce::{Link, reduce};
pub use result::Collected;

#[cfg(test)]
mod tests;
