//! The counters of a Darshan log: of the job, of each layer (module), and of each file.
//!
//! A figure that the log does not have is absent, never 0. Sums stop at the largest number instead of wrapping.
//! Counters have the names in Darshan's headers `darshan-*-log-format.h`; [`docs/traces.md`] has the list.
//!
//! [`docs/traces.md`]: ../../../docs/traces.md

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Darshan's ten bins of access sizes, bytes.
pub const SIZE_BINS: [&str; 10] = [
    "0-100", "101-1K", "1K-10K", "10K-100K", "100K-1M", "1M-4M", "4M-10M", "10M-100M", "100M-1G",
    "1G+",
];

/// Bytes and times of calls; absent: the layer does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceAmounts {
    /// Bytes read: BYTES_READ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes written: BYTES_WRITTEN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Time in reads, nanoseconds: F_READ_TIME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ns: Option<u64>,
    /// Time in writes, nanoseconds: F_WRITE_TIME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ns: Option<u64>,
    /// Time in opens, closes, stats, seeks and syncs, nanoseconds: F_META_TIME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_ns: Option<u64>,
}

/// One layer of the application's I/O: a module of the logs, its kept files together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceModule {
    /// "POSIX", "MPI-IO", "STDIO", "H5F", "H5D", "PNETCDF_FILE" or "PNETCDF_VAR".
    pub name: String,
    /// Darshan had no room for all of its records: every figure is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// Different files (H5D, PNETCDF_VAR: datasets, variables).
    pub files: u64,
    /// Sizes of the files as far as the accesses tell, added up: behind the last byte that was read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// The largest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_file_bytes: Option<u64>,
    /// Files that were only read. These three leave out files without bytes; absent: bytes are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<u64>,
    /// Files that were only written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_only: Option<u64>,
    /// Files that were read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_write: Option<u64>,
    /// Sums of counters by name: "opens", "reads", "sequential_writes".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// Bytes and times, sums over ranks.
    #[serde(flatten)]
    pub amounts: TraceAmounts,
    /// Reads by size in the ten bins of Darshan: 0-100 bytes, 101-1K, 1K-10K, 10K-100K, 100K-1M, 1M-4M, 4M-10M,
    /// 10M-100M, 100M-1G, 1G+; empty: not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_sizes: Vec<u64>,
    /// Writes in the same bins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_sizes: Vec<u64>,
    /// At most four commonest access sizes, most frequent first: of the four that each record has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub common_sizes: Vec<TraceSize>,
    /// Records of one rank, rank by rank; at most 65,536 ranks, those with the smallest numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rank: Vec<TraceRank>,
    /// Records of all ranks together: files that every rank opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<TraceShared>,
}

/// An access size and how often it was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceSize {
    /// Bytes of an access.
    pub bytes: u64,
    /// How often.
    pub count: u64,
}

/// The files that one rank had for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceRank {
    /// The rank. Of several logs: ranks of the logs before are counted first.
    pub rank: u32,
    /// Its bytes and times.
    #[serde(flatten)]
    pub amounts: TraceAmounts,
}

/// Files that all ranks share; Darshan has added the ranks up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceShared {
    /// Number of records.
    pub files: u64,
    /// Bytes and times, sums over ranks.
    #[serde(flatten)]
    pub amounts: TraceAmounts,
    /// Time of the slowest rank, added up over files, nanoseconds: F_SLOWEST_RANK_TIME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_rank_ns: Option<u64>,
    /// The same of the fastest rank: F_FASTEST_RANK_TIME.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest_rank_ns: Option<u64>,
}

/// A file in one layer, its records added up over ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceFile {
    /// Its path in the log; `record-NUMBER` where the log does not tell it.
    pub path: String,
    /// Layer: `name` of its module.
    pub module: String,
    /// Ranks with a record of it; of a shared record all ranks of the job.
    pub ranks: u64,
    /// The rank, if one alone has a record of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Bytes and times, sums over ranks.
    #[serde(flatten)]
    pub amounts: TraceAmounts,
    /// Bytes up to the last one that was read or written: MAX_BYTE_READ, MAX_BYTE_WRITTEN; absent: not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Opens; absent: not counted, as below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<u64>,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Reads and writes that were collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<u64>,
    /// The commonest access sizes, most frequent first: of the four that each record has, reads and writes together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub common_sizes: Vec<TraceSize>,
    /// Reads and writes at a higher offset than the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<u64>,
    /// Reads and writes that begin where the one before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consecutive: Option<u64>,
    /// Start of the first open since the job began, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_open_ns: Option<u64>,
    /// End of the last close since the job began, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_close_ns: Option<u64>,
    /// Shared file: its slowest rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_rank: Option<u32>,
    /// Time of that rank in calls on the file, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_rank_ns: Option<u64>,
}

/// Files of a layer that are not listed one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceFilesMore {
    /// Layer: `name` of its module.
    pub module: String,
    /// Number of files.
    pub files: u64,
    /// Their bytes and times.
    #[serde(flatten)]
    pub amounts: TraceAmounts,
}

/// The job of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceJob {
    /// Number that the scheduler gave it, or of its process.
    pub job: i64,
    /// Number of the user.
    pub uid: i64,
    /// Processes.
    pub processes: u64,
    /// When it began: nanoseconds since 1970.
    pub start_ns: u64,
    /// When it ended: nanoseconds since 1970.
    pub end_ns: u64,
    /// Run time, nanoseconds; of a log in whole seconds one more than their difference, as Darshan counts.
    pub run_ns: u64,
    /// Executable and arguments; Darshan may cut them.
    pub command: String,
    /// Version of the log's format: "3.41".
    pub format: String,
    /// Version of the recording library; "" where the log does not tell.
    pub library: String,
    /// File systems.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<TraceMount>,
    /// Modules that are in the log; others are not: what they would count is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<TraceJobModule>,
}

/// A file system of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceMount {
    /// Mount point.
    pub path: String,
    /// Type: "lustre".
    pub kind: String,
}

/// A module of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceJobModule {
    /// Its name: "POSIX", "DXT_POSIX", "HEATMAP".
    pub name: String,
    /// Version of its records.
    pub version: u32,
    /// Darshan had no room for all of its records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl TraceAmounts {
    /// Adds what else was moved.
    pub fn add(&mut self, other: &TraceAmounts) {
        add_known(&mut self.read_bytes, other.read_bytes);
        add_known(&mut self.written_bytes, other.written_bytes);
        add_known(&mut self.read_ns, other.read_ns);
        add_known(&mut self.write_ns, other.write_ns);
        add_known(&mut self.meta_ns, other.meta_ns);
    }

    /// Bytes read and written, as far as they are known.
    pub fn bytes(&self) -> u64 {
        self.read_bytes.unwrap_or(0).saturating_add(self.written_bytes.unwrap_or(0))
    }

    /// Time in all calls, nanoseconds, as far as it is known.
    pub fn busy_ns(&self) -> u64 {
        let all = [self.read_ns, self.write_ns, self.meta_ns];
        all.into_iter().flatten().fold(0, u64::saturating_add)
    }
}

/// Adds a figure to a sum; what is not known adds nothing.
pub fn add_known(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

impl TraceModule {
    /// Sum of a counter: "opens"; `None`: the log does not have it.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.counts.get(name).copied()
    }
}
