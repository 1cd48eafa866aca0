//! `parabench compare`: differences between two sides, with tests and intervals.
//!
//! ```text
//! runs of A, runs of B ──sides──▶ the same program? ──quantities──▶ inference ──▶ rows, sentences, gates
//! one run of A and B in blocks ──split──┘
//! ```
//!
//! The unit of inference is the repetition: an execution of the program. A claim needs at least
//! [`LEAST`] repetitions on either side, p < 0.05 after Holm's correction over all rows compared, and
//! a difference above `min_effect`. docs/statistics.md has the formulas. Files from the leaves on:
//! `design`, `inference`, `quantities`, `sides`, `comparison`, `gate`, `show`.

mod comparison;
mod design;
mod gate;
mod inference;
mod quantities;
pub mod show;
mod sides;

pub use comparison::{Comparison, Unmatched, compare, compare_blocks, row_count, within};
pub use design::{Claim, Design, LEAST, MIN_EFFECT, Options, Row, SIGNIFICANCE, Side};
pub use gate::Gate;
pub use sides::{Difference, SideMark, split};

#[cfg(test)]
mod tests;
