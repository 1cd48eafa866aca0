//! A stored run -> a program, and the proof that it does the same.

mod compare;
mod proof;
mod read;
mod sites;
mod stretch;
mod tally;
mod writes;

pub use compare::{Line, OF_LINE_MAX};
pub use proof::{Difference, Proof, prove, shown, try_out};
pub use read::read;
pub use stretch::{for_ranks, scaled};
