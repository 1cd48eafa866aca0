//! Storage back-ends behind one interface ([`api`]). One behaviour suite tests them: `tests/backends.rs`.

pub mod api;
mod beneath;
mod bus;
mod caches;
pub mod direct;
pub(crate) mod lexical;
mod mapped;
pub mod mem;
mod mpi_files;
pub mod null;
pub mod posix;
pub(crate) mod refused;
pub mod resolve;
mod ring;
mod roots;

pub use crate::entries::MARKER;
pub use api::{Backend, Bulk, BulkFile, Capabilities, Extents, InForce, Look, Over};
pub use beneath::Beneath;
pub use mem::{Cost, Mem, MemFs};
pub(crate) use mpi_files::{MpiFiles, Pointers, Sizes};
pub use null::Null;
pub use posix::Posix;
pub use roots::Held;
