//! `run --sweep`, `--reps`, `--against`: which cells there are and when each is executed. The
//! executing is that of any run.

mod args;
pub mod grid;
pub mod remarks;
mod values;
pub mod versus;

pub use args::Sweep;
