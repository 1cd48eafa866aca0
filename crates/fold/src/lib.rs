//! A run with events -> a short program that does the same.
//!
//! ```text
//! Log ──shape──▶ statements and numbers ──loops──▶ trees ──ranks──▶ one tree ──procs, write──▶ text
//!      └─order──▶ where ranks wait ─┘
//! ```
//!
//! Each stage is a function from data to data; `fold` calls them in order. The caller proves the text: it
//! executes the program on files in memory and compares.

#![warn(clippy::disallowed_methods)]

pub mod anonymise;
mod arguments;
mod barriers;
mod directory;
mod events;
mod expr;
pub mod facts;
mod fit;
mod fold;
mod irregular;
mod lists;
mod log;
mod logged;
mod long_pauses;
mod loops;
mod meetings;
mod names;
mod only;
mod open_files;
mod order;
mod params;
mod patterns;
pub mod processes;
mod procs;
mod rank_state;
mod ranks;
mod regular;
mod repeats;
mod shape;
mod starts;
mod statement;
mod subsequence;
mod tables;
mod think;
mod tree;
mod world;
mod write;

pub use events::Events;
pub use facts::flags_of_text;
pub use fold::{Folded, Options, fold};
pub use lists::DataFile;
pub use log::Log;
pub use logged::Logged;
pub use only::Only;
pub use order::History;
pub use think::Think;
pub use write::Uneven;
