//! Checks that stand alone: of the tree, of single values, of the finished plan.
//! What needs names and types is checked while the plan is made ([`crate::lower`]).

pub(crate) mod flags;
pub(crate) mod path;
pub(crate) mod precedence;
pub(crate) mod proof;
pub(crate) mod ranks;
pub(crate) mod recursion;
pub(crate) mod shape;
