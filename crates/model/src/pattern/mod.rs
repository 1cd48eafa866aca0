//! Patterns: which bytes of a shared file each member of a group accesses.
//!
//! A pattern gives, for member g of G members, a list of [`Extent`]s as [`Run`]s: equal extents at equal
//! distances. A program uses it through its [`Share`]. All positions and lengths are bytes.
//!
//! Reads from top to bottom: `extent` knows nothing of the others and describes extents also as MPI
//! does, `builtin` has the patterns with formulas in Rust, `share` serves them and those that the language
//! computes. Not here: how programs write patterns down, and the definitions of
//! kinds such as `tiled` (crate `ppl`), and the execution of accesses (crate `engine`).

pub(crate) mod builtin;
mod extent;
mod share;

pub use builtin::{Geometry, Random, Strided, Subarray, balanced_grid};
pub use extent::{Datatype, View};
pub use extent::{Extent, Extents, MAX_OFFSET_BYTES, Run, Runs};
pub use share::Share;
pub use share::{GenerateError, MAX_STEPS, generate};
