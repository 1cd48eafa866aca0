//! A run with events -> a short program that does the same.
//!
//! ```text
//! Log ──shape──▶ statements and numbers ──loops──▶ trees ──ranks──▶ one tree ──procs, write──▶ text
//!      └─order──▶ where ranks wait ─┘
//! ```
//!
//! Each stage is a function from data to data; `fold` calls them in order. The caller proves the text: it
//! executes the program on files in memory and compares. `approximate` takes the place of all stages if a run has
//! counters alone.

#![warn(clippy::disallowed_methods)]

pub mod anonymise;
mod approximate;
mod barriers;
mod events;
mod expr;
mod fold;
mod further;
mod irregular;
mod lists;
mod log;
mod logged;
mod long_pauses;
mod loops;
mod names;
mod only;
mod open_files;
mod order;
mod params;
mod patterns;
mod pauses;
pub mod processes;
mod procs;
mod ranks;
mod regular;
mod repeats;
mod shape;
mod statement;
mod tree;
mod world;
mod write;
mod written;

pub use approximate::{Approximate, approximate};
pub use events::Events;
pub use fold::{Folded, Options, fold};
pub use lists::DataFile;
pub use log::{Facts, Log, WAYS, flags_of_mpi_mode};
pub use logged::Logged;
pub use only::Only;
pub use order::History;
pub use pauses::Think;
pub use write::Uneven;
