//! Logs of Darshan, with its extended tracing (DXT) and without.
//!
//! DXT holds the transfers of each rank and file, by POSIX and by MPI-IO, and no other calls. Of those, and of
//! all where there is no DXT, binary logs have sums, which become rows without events, and bytes over time. A
//! transfer of MPI-IO becomes transfers of POSIX, so of a file with both only the latter are taken, and the
//! others counted.

mod beside;
mod counters;
mod layers;
mod log;
mod modules;
mod segment;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;

pub use layers::Layers;
pub use log::{Binary, looks_like_log, looks_like_old_log};
pub use text::{Text, looks_like_counters, looks_like_text};
