//! The subcommands, one file each: its options and what it does.

pub mod check;
pub mod compare;
pub mod completions;
pub mod fidelity;
pub mod fmt;
pub mod fold;
pub mod import;
pub mod job;
pub mod man;
pub mod mpi;
pub mod ops;
pub mod pattern;
pub mod plan;
pub mod prepare;
pub mod programs;
pub mod record;
pub mod replay;
pub mod report;
pub mod run;
mod temporary;
