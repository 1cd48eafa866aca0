//! `run --sweep`, `--reps`, `--against`: which cells there are and when each is executed; `--resume`:
//! whether a sweep goes on as it began. The executing is that of any run.

mod args;
pub mod grid;
pub mod remarks;
pub mod resume;
mod values;

pub use args::Sweep;
