//! Storage back-ends behind one interface ([`api`]). One behaviour suite tests them: `tests/backends.rs`.

pub mod api;
mod beneath;
mod bus;
mod cachestat;
pub mod direct;
mod extents;
mod joint;
pub(crate) mod lexical;
mod mapped;
pub mod mem;
mod names;
pub mod null;
pub mod posix;
pub(crate) mod refused;
pub mod resolve;
mod ring;
mod roots;

pub use crate::entries::MARKER;
pub use api::{Backend, Bulk, BulkFile, Capabilities, Extents, InForce, Look, Over};
pub use beneath::Beneath;
pub(crate) use joint::{Joint, Shared};
pub use mem::{Corruption, Corruptions, Cost, Faults, Injected, InjectedError, Mem, MemFs};
pub use null::Null;
pub use posix::Posix;
pub use roots::Held;
