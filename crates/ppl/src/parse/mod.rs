//! Tokens -> syntax tree, by recursive descent and precedence climbing. Not here: what names, types and
//! numbers mean (`check`).
//!
//! `parser` has the state; `recover` reports and skips mistakes; `expr`, `stmt` and `define` read the
//! language.

mod define;
mod expr;
mod parser;
mod recover;
mod stmt;

pub use parser::{MAX_HEIGHT, MAX_NESTING, parse, parse_alone};
pub(crate) use parser::{add_kinds, parse_plain};
