//! The record of one rank: from the execute loop into a memory area, and read back.
//!
//! ```text
//! machine ──▶ Recorder ──▶ area (file, memfd or heap) ──▶ RankRecord ──▶ crate::collect
//! ```
//!
//! An area is a header and blocks (layout.rs). A block becomes visible when it is complete, and counters
//! are single words: a rank that is killed at any instruction leaves an area that can be read and lacks at
//! most the operation in flight.
//!
//! Files from top to bottom, each uses those below it: `rank` (what the execute loop calls) and `live`
//! (looks at an area while its rank runs); `read`; `labels`, `stats`, `counters`, `events`, `failures`
//! (one kind of figures each); `times`; `area`; `layout`.

mod area;
mod counters;
mod events;
mod failures;
pub(crate) mod labels;
pub(crate) mod layout;
mod live;
mod read;

mod rank;
mod stats;
mod times;

pub use crate::host::Usage;
pub use area::{Medium, memory_file};
pub use counters::{Arrived, ClaimedWork, Count, Process, TrafficId};
pub use events::{EventsConfig, Listen, Listener, Paths};
pub use layout::{FailureRecord, Header, State};
pub use live::{Live, Seen};
pub use rank::{Meta, Recorder};
pub use read::{
    BusyRecord, LabelRecord, Occurrence, Placed, RankRecord, SiteRecord, StatRecord, ZerosRecord,
    read, read_file, read_path,
};
pub use stats::{StatId, Timing};

#[cfg(test)]
pub(crate) mod tests;
