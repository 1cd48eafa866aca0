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
//! Files from top to bottom, each uses those below it: `rank` (what the execute loop calls); `read`; `counters`
//! and `events` (one kind of figures each); `area`; `layout`.

mod area;
mod counters;
mod events;
pub(crate) mod layout;
pub(crate) mod rank;
mod read;

pub use crate::host::Usage;
pub use area::{Medium, memory_file};
pub use counters::{Arrived, ClaimedWork, Count, Process, TrafficId};
pub use events::{EventsConfig, Listen, Listener, Paths};
pub use layout::{FailureRecord, Header, ScoreRecord, State};
pub use rank::{Meta, Recorder, StatId, Timing};
pub use read::{
    BusyRecord, LabelRecord, Live, Occurrence, Placed, RankRecord, Seen, SiteRecord, StatRecord,
    ZerosRecord, read, read_file, read_path,
};

#[cfg(test)]
pub(crate) mod tests;
