//! The vocabulary of Parabench: the operation table, the [`Plan`], the
//! [`Event`], the [`Histogram`], the [`Run`], values and units.
//!
//! Pure data and pure functions. Nothing here does I/O, and nothing here
//! depends on another crate of the workspace: every other crate speaks in
//! these words.
#![warn(clippy::disallowed_methods)]

pub mod contain;
pub mod directory;
pub mod errno;
pub mod escape;
pub mod evaluate;
pub mod event;
pub mod format;
pub mod function;
pub mod group;
pub mod hints;
pub mod histogram;
pub mod internal;
pub mod limits;
pub mod merge;
pub mod op;
pub mod open_flags;
pub mod operand;
pub mod pattern;
pub mod permutation;
pub mod plan;
pub mod rank_set;
pub mod rehearsal;
pub mod run;
pub mod summary;
pub mod sweep;
pub mod table_layout;
pub mod types;
pub mod units;
pub mod value;
pub mod watched;
pub mod with;
pub mod words;

pub use event::Event;
pub use histogram::Histogram;
pub use op::{Op, OpRow, Part};
pub use plan::Plan;
pub use rank_set::RankSet;
pub use run::Run;
pub use value::{EvalError, Value};
