//! Executes a plan as one rank.
//!
//! From top to bottom, each file uses only files below it:
//!
//! | files | what they hold |
//! |---|---|
//! | `run` | a rank from its start to its end, and why it ended, in words |
//! | `look` | what a paused rank shows: place, variables, open files |
//! | `execute` | the loop over instructions |
//! | `perform` | which calls each operation is, one arm for each |
//! | `files`, `copy`, `mpi_io` | operations that need more than a line |
//! | `control`, `functions` | statements and functions that are no I/O, waiting |
//! | `step` | arguments of operations |
//! | `rank` | the state of a rank |
//! | `work_claims` | work that is shared |
//! | `queue`, `transfer` | bytes of files: which call is next; several operations under way |
//! | `driver` | makes the calls, one after the other |
//! | `traffic`, `io` | counting: data on its way to storage, operations and their events |
//! | `options`, `eval` | options in force; values, groups, random numbers, templates |
//! | `labels`, `handles`, `extents`, `schedule`, `evidence` | what is remembered between operations |
//! | `tally`, `path`, `scope`, `note`, `prepare` | words that all of them use |

mod control;
mod copy;
mod driver;
mod eval;
mod evidence;
mod execute;
mod extents;
mod figures;
mod files;
mod functions;
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
mod queue;
mod rank;
mod run;
mod schedule;
mod scope;
mod step;
mod tally;
mod traffic;
mod transfer;
mod work_claims;

pub use prepare::{Prepared, Settings};
pub use rank::{Machine, Stop};
