//! Checks that stand alone: of the tree, of single values, of the finished code with what lowering noted
//! beside it ([`crate::lower::notes`]), of the plan. What needs names and types is checked while the code is
//! made ([`crate::lower`]).

pub(crate) mod access;
pub(crate) mod collectives;
mod dedup;
mod direct;
pub(crate) mod directories;
pub(crate) mod flags;
pub(crate) mod handles;
pub(crate) mod mpi;
pub(crate) mod options;
pub(crate) mod passed;
pub(crate) mod path;
pub(crate) mod precedence;
pub(crate) mod ranks;
pub(crate) mod recursion;
mod scopes;
pub(crate) mod signals;
pub(crate) mod unused;
