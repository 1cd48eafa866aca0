//! Executes a plan as one rank.
//!
//! From top to bottom, each file uses only files below it:
//!
//! | files | what they hold |
//! |---|---|
//! | `look` | what a paused rank shows: place, variables, open files |
//! | `execute` | the loop over instructions |
//! | `perform` | which calls each operation is, one arm for each |
//! | `files`, `mpi_io` | operations that need more than a line |
//! | `control` | statements and functions that are no I/O, waiting |
//! | `step` | arguments of operations |
//! | `rank` | a rank from its start to its end: its state, and why it ended |
//! | `work_claims` | work that is shared |
//! | `transfer` | bytes of files: which call is next; several operations under way |
//! | `io` | makes the calls, one after the other; counts operations and makes their events |
//! | `traffic` | counts data on its way to storage |
//! | `options`, `eval` | options in force; values, groups, random numbers, templates |
//! | `labels`, `handles`, `extents`, `schedule`, `evidence` | what is remembered between operations |
//! | `tally`, `path`, `note`, `prepare` | words that all of them use |

mod control;
mod eval;
mod evidence;
mod execute;
mod extents;
mod files;
mod handles;
mod io;
mod labels;
mod look;
mod mpi_io;
pub mod note;
mod options;
mod path;
mod perform;
pub(crate) mod prepare;
mod rank;
mod schedule;
mod step;
mod tally;
mod traffic;
mod transfer;
mod work_claims;

pub use prepare::{Prepared, Settings};
pub use rank::{Machine, Stop};
