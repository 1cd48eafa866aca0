//! The subcommands with their options and actions: a file each; `manual` has several.

pub mod check;
pub mod compare;
mod counters;
pub mod fidelity;
pub mod fmt;
pub mod fold;
pub mod import;
pub mod job;
pub mod lsp;
pub mod manual;
pub mod mpi;
pub mod params;
pub mod pattern;
pub mod plan;
pub mod prepare;
pub mod record;
pub mod replay;
pub mod report;
pub mod run;
pub mod studio;
mod temporary;
pub mod translate;
