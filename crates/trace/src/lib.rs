//! Logs of other tools -> a [`model::Run`]: what an application did, as if Parabench had executed it.
//!
//! ```text
//! bytes ──input──▶ lines ──scanner──▶ Record ──resolve──▶ events ──sort──▶ by thread ──turns──▶ by rank ──phases──▶ labels
//! ```
//!
//! A scanner per format gives the same records; the resolver tracks descriptors, positions,
//! directories and names; what a log does not tell is counted ([`gaps`]). Memory depends on
//! files, processes and open instances, not on lines. Nothing here stores a run or knows the engine.

pub mod blktrace;
pub mod clib;
pub mod darshan;
pub mod dftracer;
pub mod elbencho;
pub mod error;
pub mod explain;
pub mod facts;
pub mod fio;
pub mod format;
pub mod functions;
pub mod gaps;
pub mod import;
pub mod input;
pub mod names;
pub mod phases;
pub mod record;
pub mod recorder;
pub mod recording;
pub mod resolve;
pub mod rules;
pub mod scanner;
pub mod selection;
pub mod sort;
pub mod strace;
pub mod sums;
pub mod table;
pub mod turns;

pub use error::Error;
pub use explain::explain;
pub use facts::Facts;
pub use format::Format;
pub use import::{Imported, Options, import};
pub use rules::Rules;
pub use selection::Selection;
