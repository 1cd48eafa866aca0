//! What the ranks measured: from the execute loop into one memory area per rank,
//! and from all areas into the rows of a [`model::Run`].
//!
//! ```text
//! machine ──▶ Recorder ──▶ area (file, memfd or heap) ──▶ RankRecord ──collect──▶ rows, times, ...
//! ```
//!
//! An area is a header and self-describing blocks of 64-bit words (layout.rs).
//! A block becomes visible when it is complete, counters are single words: a
//! rank that is killed at any instruction leaves an area that can be read and
//! lacks at most the operation in flight.

mod area;
mod arrivals;
mod blocks;
mod busy;
mod collect;
mod events;
mod extents;
mod failures;
mod files;
mod heard;
mod histograms;
mod index;
mod labels;
mod layout;
mod live;
mod read;
mod recorder;
mod shares;
mod sites;
mod source;
mod stats;
mod traffic;
mod zeros;

pub use area::memory_file;
pub use arrivals::{Arrived, Process};
pub use collect::{Collected, Link, Merge, Outline, Partial, collect, collect_over, reduce};
pub use heard::{Listen, Listener, Paths};
pub use live::{Live, Seen};
pub use read::{
    ArrivalRecord, BusyRecord, FailureRecord, LabelRecord, Occurrence, RankRecord, ShareRecord,
    SiteRecord, StatRecord, TrafficRecord, ZerosRecord, read, read_file, read_path,
};
pub use recorder::{Recorder, Spot};
pub use shares::Shared;
pub use stats::{StatId, Timing};
pub use traffic::{Count, TrafficId};

use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Where a rank's area lies.
#[derive(Debug)]
pub enum Medium {
    /// A file in memory (tmpfs) that outlives the rank; it must not be there yet.
    File(PathBuf),
    /// Memory behind a descriptor ([`memory_file`]) that the parent made before it forked.
    Memory(OwnedFd),
    /// Private memory of this process: simulated ranks and tests.
    Heap,
}

/// What a recorder must know beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// World rank.
    pub rank: u32,
    /// Number of ranks in the world.
    pub ranks: u32,
    /// Length of the plan's code: sites are below it.
    pub sites: u32,
    /// Keep an event table.
    pub events: Option<EventsConfig>,
}

/// How much of the event table is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EventsConfig {
    /// Bytes this rank may use for events and path names; what does not fit is counted.
    pub max_bytes: u64,
    /// Events that the rehearsal knows of, for which memory is made ready before the start:
    /// touching fresh memory takes longer than keeping the event. 0 if nothing is known.
    pub expected: u64,
    /// Keep one of so many events, chosen at random; 0 and 1 keep all.
    pub sample_every: u64,
}

impl EventsConfig {
    /// Bytes that the events which are expected need, a quarter of them for path names.
    pub fn expected_bytes(&self) -> u64 {
        let kept = self.expected / self.sample_every.max(1);
        (kept.saturating_mul(size_of::<model::Event>() as u64) / 3)
            .saturating_mul(4)
            .min(self.max_bytes)
    }
}

/// How a rank ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It has not ended, or was killed.
    #[default]
    Running = 0,
    /// It reached the end of the program.
    Finished = 1,
    /// A failed evaluation or `--on-error stop` ended it.
    Failed = 2,
    /// It was asked to stop, or released because of another rank.
    Interrupted = 3,
}

impl State {
    fn from_word(word: u64) -> Option<State> {
        [State::Running, State::Finished, State::Failed, State::Interrupted]
            .into_iter()
            .find(|state| *state as u64 == word)
    }
}

/// What a rank used, measured by itself at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Clock at the start of the program.
    pub start_ns: u64,
    /// Clock at its end.
    pub end_ns: u64,
    /// Processor time, user and system.
    pub cpu_ns: u64,
    /// Bytes fetched from storage (`read_bytes` of /proc/self/io); `None` where it cannot be told.
    pub read_bytes: Option<u64>,
    /// Bytes sent towards storage (`write_bytes`).
    pub write_bytes: Option<u64>,
    /// Bytes read by system calls (`rchar`).
    pub rchar_bytes: Option<u64>,
    /// Bytes written by system calls (`wchar`).
    pub wchar_bytes: Option<u64>,
    /// Time in which the rank could have run, but had no processor; `None` where it cannot be told.
    pub waited_ns: Option<u64>,
    /// How often it lost its processor although it could have run on.
    pub preemptions: u64,
    /// Page faults that needed no storage, and those that did.
    pub faults: [u64; 2],
}

#[cfg(test)]
mod tests;
