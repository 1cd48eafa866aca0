//! One request to a storage back-end: what lies between two clock readings.
//!
//! PPL operations are made of these (`write` = Open, Pwrite, Close). Names and numbers are as in
//! POSIX and Linux.

mod file;
mod queue;
mod table;

pub use file::{At, FileCall, Memory, MpiFile, MpiMode, ViewId};
pub use queue::{Lent, QueueSettings, Queued, Submitted, Tag, Target};
pub(crate) use table::OPEN_FLAGS;
pub use table::{Call, Fd, Names, Reply, Work};
