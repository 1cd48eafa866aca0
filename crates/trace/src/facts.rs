//! The results of reading logs beside events.

use model::run::{
    Row, TraceBarrier, TraceFile, TraceFilesMore, TraceFound, TraceGap, TraceLayout, TraceModule,
    TraceMoved, TraceThread, TraceTimes,
};
use std::collections::BTreeMap;

/// Facts about a job that are not events.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Directory that paths are below.
    pub root: Vec<u8>,
    /// Paths by id.
    pub paths: Vec<Vec<u8>>,
    /// Labels by id.
    pub labels: Vec<Vec<u8>>,
    /// Labels are places in programs.
    pub has_sites: bool,
    /// Names of calls by id.
    pub calls: Vec<Vec<u8>>,
    /// Number of ranks.
    pub ranks: u32,
    /// Machines of ranks.
    pub hosts: BTreeMap<u32, String>,
    /// Threads with a rank, and those that started them.
    pub threads: Vec<TraceThread>,
    /// Gaps of the logs.
    pub gaps: Vec<TraceGap>,
    /// When the first call began: nanoseconds since 1970, if the logs tell dates.
    pub started_ns: Option<u64>,
    /// From there to the end of the last operation.
    pub duration_ns: u64,
    /// Rows of calls that the logs hold as sums only: they have no events.
    pub rows: Vec<Row>,
    /// Times of calls by kind.
    pub times: Vec<TraceTimes>,
    /// Counters of each layer.
    pub modules: Vec<TraceModule>,
    /// Counters of files, and sums of those that are not among them.
    pub files: Vec<TraceFile>,
    /// The sums.
    pub files_more: Vec<TraceFilesMore>,
    /// How files lie on storage.
    pub layouts: Vec<TraceLayout>,
    /// Sizes of files and targets of links that were there before.
    pub found: Vec<TraceFound>,
    /// Where all ranks of an MPI job waited for each other.
    pub barriers: Vec<TraceBarrier>,
    /// Bytes over time, without the calls that moved them.
    pub moved: Vec<TraceMoved>,
    /// Time that the recorder added to a call, nanoseconds; 0: not known.
    pub call_ns: u32,
}
