//! One request to a storage back-end: what lies between two clock readings.
//!
//! PPL operations are made of these (`write` = Open, Pwrite, Close). Names and numbers are as in
//! POSIX and Linux.

mod file;
mod queue;
mod show;
mod table;
mod words;

pub use file::{At, FileCall, Memory, MpiFile, MpiMode, ViewId};
pub use queue::{Lent, QueueSettings, Queued, Submitted, Tag, Target};
pub use table::Call;
pub(crate) use words::OPEN_FLAGS;
pub use words::{Fd, Names, Reply, Work};
