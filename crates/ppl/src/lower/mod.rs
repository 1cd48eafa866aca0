//! Tree -> plan, and all checks that need names, types and values on the way.
//!
//! [`state`] is below all others, which add to it what their part of the language needs: [`values`] and
//! [`template`], [`expr`] above them, [`operations`], [`options`], [`groups`], [`patterns`], [`procs`] and
//! [`stmt`] above that. [`params`] binds the command line, [`data`] reads files of data. [`pass`] has the order.

mod data;
mod expr;
mod groups;
pub(crate) mod notes;
mod operations;
mod options;
mod params;
mod pass;
mod patterns;
mod procs;
mod state;
mod stmt;
mod template;
mod values;

pub(crate) use expr::PUSH;
pub(crate) use pass::lower;
