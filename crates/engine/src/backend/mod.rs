//! Storage back-ends behind one interface ([`api`]). One behaviour suite tests them: `tests/backends.rs`.

pub mod api;
mod beneath;
mod caches;
pub(crate) mod lexical;
mod mapped;
pub mod mem;
mod mpi_files;
pub mod posix;
pub mod resolve;
mod ring;

pub use crate::entries::MARKER;
pub use api::{Backend, Bulk, BulkFile, Capabilities, Extents, InForce, Look, Null, Over};
pub use beneath::Beneath;
pub use mem::{Cost, Mem, MemFs};
pub(crate) use mpi_files::{MpiFiles, Pointers, Sizes};
pub use posix::Posix;
pub use resolve::Held;
