//! The subcommands, one file each: its options and what it does.

pub mod completions;
pub mod fmt;
pub mod man;
pub mod ops;
pub mod programs;
pub mod report;
