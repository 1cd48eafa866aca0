//! A stored run -> a program, and the proof that it does the same.

mod proof;
mod read;
mod sites;

pub use proof::{Difference, Proof, prove, shown};
pub use read::read;
