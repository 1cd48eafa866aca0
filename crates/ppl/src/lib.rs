//! Program -> Plan: the language PPL.
//!
//! ```text
//! text --lex--> tokens --parse--> Ast --check--> diagnostics, facts --lower--> Plan
//!                                  └─format─> text
//! ```
//!
//! Pure: no I/O (files come through a [`Loader`]), no unsafe, no panic on any
//! input. Parsing and checking never fail: they return what they could make of
//! the text together with every [`Diagnostic`]. Not here: execution (crate
//! `engine`) and drawing diagnostics (crate `parabench`).
#![warn(clippy::disallowed_methods)]

pub mod arguments;
pub mod ast;
mod check;
mod compile;
pub mod diag;
pub mod doubts;
pub mod facts;
mod foreign;
pub mod format;
pub mod kinds;
pub mod lex;
pub mod listing;
mod lower;
mod number;
pub mod parse;
mod resolve;
pub mod source;
mod statements;
pub mod text;
mod translate;
pub mod word;

pub use compile::{Compiled, compile};
pub use diag::{Diagnostic, Severity};
pub use facts::Facts;
pub use format::format;
pub use listing::listing;
pub use parse::parse;
pub use source::{Binding, Files, Loader, Sources};
pub use statements::statements;
pub use translate::{NoTranslation, Translation, translate};
