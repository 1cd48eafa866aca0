//! A stored run -> a program, and the proof that it does the same.

mod apart;
mod asked;
mod compare;
mod proof;
mod read;
mod sites;
mod stretch;
mod tally;

pub use asked::{Asked, Line, Stands, stands};
pub use compare::OF_LINE_MAX;
pub use proof::{Difference, Proof, prove, shown};
pub use read::read;
pub use sites::untold_options;
pub use stretch::{for_ranks, scaled};
