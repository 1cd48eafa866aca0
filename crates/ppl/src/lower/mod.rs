//! Tree -> plan, and all checks that need names, types and values on the way.
//!
//! [`pass`] has the state and the order; the other files add to it what their part of the language needs:
//! [`values`] and [`template`] below [`expr`], that below [`operations`], [`options`], [`groups`],
//! [`patterns`], [`procs`] and [`stmt`]. [`params`] binds the command line, [`data`] reads files of data.

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
mod stmt;
mod template;
mod values;

pub(crate) use expr::PUSH;
pub(crate) use operations::required;
pub(crate) use pass::lower;
