//! Checks that stand alone: of the tree, of single values, of the finished code with what lowering noted
//! beside it ([`crate::lower::notes`]), of the plan. Checks that need names and types happen while the code
//! is made ([`crate::lower`]).

pub(crate) mod access;
pub(crate) mod closed;
pub(crate) mod layouts;
pub(crate) mod notes;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod texts;
pub(crate) mod tree;
