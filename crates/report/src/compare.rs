//! `parabench compare`: differences between two sides, with tests and intervals.
//!
//! ```text
//! runs of A, runs of B ──sides──▶ the same program? ──quantities──▶ inference ──▶ rows, sentences, gates
//! one run of A and B in blocks ──split──┘
//! ```
//!
//! The unit of inference is the repetition: an execution of the program. A difference needs at least
//! [`LEAST`] repetitions on either side, p < 0.05 after the correction for all tests, and a size above
//! `min_effect`. Labels are tested first, operations below a label that differs. docs/statistics.md has the
//! formulas. Files from the leaves on: `design`, `inference`, `quantities`, `sentences`,
//! `sides`, `comparison`, `gate`, `short`, `show`.

mod comparison;
mod design;
mod gate;
mod inference;
mod quantities;
mod sentences;
mod short;
pub mod show;
mod sides;

pub use comparison::{Amount, Comparison, Unmatched, compare, compare_blocks, test_count, within};
pub use design::{Calls, Claim, Design, LEAST, Options, Row, SIGNIFICANCE, Side, Tier};
pub use gate::{Gate, Unknown};
pub use short::{answer, gravest};
pub use sides::{Difference, SideMark, split};

#[cfg(test)]
mod tests;
