//! A stored run -> a program, and the proof that the program does the same.
//!
//! `read` makes a log of the run, with what `sites` finds in its program. `proof` executes the folded
//! program and compares each operation as `difference` says.

mod difference;
mod proof;
mod read;
mod sites;

pub use proof::{Difference, Proof, prove};
pub use read::read;
pub use sites::unknown_options;
