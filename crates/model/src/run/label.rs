//! Evidence of a label besides its rows: sources and targets of its bytes, and the results of
//! `share`, `with (rate=...)` and `with (verify=true)` in it.

use crate::merged;
use serde::{Deserialize, Serialize};

/// Where the bytes of a label came from and went to, over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelEvidence {
    /// Label path; "" for operations in no label.
    pub label: String,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes of those that went through the page cache and were not fsynced before the end of the
    /// occurrence of the label in which they were written.
    pub unstable_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes of those read with O_DIRECT.
    pub direct_read_bytes: u64,
    /// Bytes that the ranks fetched from storage while the label read, at most: labels shorter
    /// than a millisecond share what was fetched. Null where it is unknown.
    pub fetched_bytes: Option<u64>,
    /// Sizes of the files that were looked at (a sample) when they were opened to be read through
    /// the page cache.
    pub looked_bytes: u64,
    /// Bytes of those files in the page cache.
    pub cached_bytes: u64,
    /// Sizes of the files whose extents were looked at (a sample).
    pub mapped_bytes: u64,
    /// Bytes of those files in holes, or in extents that were never written.
    pub hole_bytes: u64,
    /// Bytes of those files stored in another form: compressed, encrypted.
    pub encoded_bytes: u64,
    /// Names looked up by stat, lookup and readlink that were looked for in the name cache of the
    /// machine before (a sample).
    pub looked_names: u64,
    /// Names found there.
    pub cached_names: u64,
    /// Calls that were handed over to io_uring where several may be under way (`depth` above 1).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queued_calls: u64,
    /// Calls that had ended when the system call returned that handed them over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queued_at_once: u64,
    /// How often calls were handed over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handed_over: u64,
    /// Reads and writes of `engine="null"`, which moved nothing: their bytes are in no other number here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub null_operations: u64,
    /// About the time it took to fill the written bytes that were not verified, in no operation's time, from a
    /// sample, nanoseconds. Absent: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_ns: Option<u64>,
    /// Time it took to make memory and random data that were not made before the start, in no operation's time,
    /// nanoseconds. Absent: none were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_ns: u64,
    /// Results of emptying the page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
    /// Data that `verify=true` filled and checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifiedData>,
    /// The time limit of a loop (`until`) ended that loop in it, or it is in a loop that has one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed: bool,
    /// The same by directory, where the run has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<DirectoryEvidence>,
}

/// The part of a label's evidence that belongs to one of several directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectoryEvidence {
    /// Its name; "" is the run directory.
    pub directory: String,
    /// As in [`LabelEvidence`].
    pub written_bytes: u64,
    /// As in [`LabelEvidence`].
    pub unstable_bytes: u64,
    /// As in [`LabelEvidence`].
    pub read_bytes: u64,
    /// As in [`LabelEvidence`].
    pub direct_read_bytes: u64,
    /// As in [`LabelEvidence`].
    pub looked_bytes: u64,
    /// As in [`LabelEvidence`].
    pub cached_bytes: u64,
    /// As in [`LabelEvidence`].
    pub mapped_bytes: u64,
    /// As in [`LabelEvidence`].
    pub hole_bytes: u64,
    /// As in [`LabelEvidence`].
    pub encoded_bytes: u64,
    /// As in [`LabelEvidence`].
    pub looked_names: u64,
    /// As in [`LabelEvidence`].
    pub cached_names: u64,
}

merged! {
    /// Results of `dropcaches` and `fadvise(..., "dontneed")` in a label, over all ranks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct CacheControl {
        /// How often the page cache was dropped.
        pub drops: u64 => sum,
        /// How often that was refused: it kept what it held.
        pub drops_refused: u64 => sum,
        /// Sizes of the ranks' open files (at most 16 each time) when it had been dropped, bytes.
        pub drop_looked_bytes: u64 => sum,
        /// Bytes of those files that stayed in it.
        pub drop_kept_bytes: u64 => sum,
        /// Number of `fadvise` "dontneed" calls.
        pub advised: u64 => sum,
        /// Sizes of the files of those calls (a sample), bytes.
        pub advice_looked_bytes: u64 => sum,
        /// Bytes of those files that stayed in the page cache.
        pub advice_kept_bytes: u64 => sum,
    }
}

/// Zeros in a file that was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroPlace {
    /// The rank that read them.
    pub rank: u32,
    /// The file; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Where they begin, bytes.
    pub offset_bytes: u64,
    /// How many there are.
    pub bytes: u64,
}

merged! {
    /// Bytes that `with (verify=true)` filled and checked in a label, and its findings, over all
    /// ranks.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct VerifiedData {
        /// Bytes filled to be verified later.
        pub filled_bytes: u64 => sum,
        /// The time that took, in no operation's time.
        pub fill_ns: u64 => sum,
        /// Bytes that were read and checked.
        pub checked_bytes: u64 => sum,
        /// The time that took, in no operation's time.
        pub check_ns: u64 => sum,
        /// Checked bytes that are zeros where the reading rank knows of no write: holes, or data of
        /// others that was lost.
        pub zero_bytes: u64 => sum,
        /// Number of places of these zeros, counted at each read.
        #[serde(default, skip_serializing_if = "is_zero")]
        pub zero_places: u64 => sum,
        /// The first of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub zeros: Vec<ZeroPlace> => append,
        /// Wrong places with zeros, or behind the end of the file, where the reading rank wrote.
        pub wrong_zeros: u64 => sum,
        /// Wrong places with older data.
        pub wrong_older: u64 => sum,
        /// Wrong places with any other data.
        pub wrong_other: u64 => sum,
    }
}

/// One `share` inside one label, over all its executions and ranks. The time *until the first rank
/// has nothing left* is the one in which all of them work; rates of it are the steady ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareRow {
    /// Label path it is in; "" for none.
    pub label: String,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// `file:line:column`, or "" if the place is not known.
    pub place: String,
    /// Ranks that took part.
    pub ranks: u32,
    /// Largest number of executions of one rank that ended.
    pub executions: u64,
    /// Indices executed.
    pub indices: u64,
    /// Claims that gave indices.
    pub claims: u64,
    /// Operations executed inside.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// From the first start to the end of all, summed over executions.
    pub whole_ns: u64,
    /// From the first start until the first rank had nothing left, summed over executions. The rest of
    /// `whole_ns` is the tail.
    pub steady_ns: u64,
    /// Indices executed until then. Inside the extents of indices that were not finished then, work is
    /// taken to advance evenly.
    pub steady_indices: f64,
    /// The same of operations.
    pub steady_operations: f64,
    /// The same of bytes.
    pub steady_bytes: u64,
    /// Time at the end of executions in which ranks waited for the others, summed over ranks.
    pub idle_ns: u64,
    /// The rank with the fewest indices.
    pub fewest: Sharer,
    /// The rank with the most.
    pub most: Sharer,
    /// The part of each rank, in order of ranks; of the first 64.
    pub sharers: Vec<Sharer>,
}

/// A rank's part of work that is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sharer {
    /// The rank.
    pub rank: u32,
    /// Indices that it executed.
    pub indices: u64,
    /// How long it waited for the others at the end of executions.
    pub idle_ns: u64,
}

/// A rate below this part of the one that was due has not been reached.
const REACHED: f64 = 0.99;

/// One `with (rate=...)` inside one label, over all its executions and ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArrivalRow {
    /// Label path it is in; "" for none.
    pub label: String,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// `file:line:column`, or "" if the place is not known.
    pub place: String,
    /// How times are drawn: "fixed", "poisson", "times".
    pub process: String,
    /// Ranks that took part.
    pub ranks: u32,
    /// Largest number of executions of one rank.
    pub executions: u64,
    /// Operations that were started.
    pub operations: u64,
    /// The rate that was asked for, sum over ranks, 1/s.
    pub asked_ops_s: f64,
    /// The rate at which the started operations were due: operations / time from the first to the last,
    /// sum over ranks; null where no rank started two.
    pub due_ops_s: Option<f64>,
    /// The rate at which they started.
    pub achieved_ops_s: Option<f64>,
    /// How late operations started, sum.
    pub late_ns: u64,
    /// How late the latest one did.
    pub latest_ns: u64,
    /// The largest number of operations of one rank that were due at one time and had not started.
    pub backlog_max: u64,
    /// Operations that were due at the end of the `with` and had not started, sum over ranks, each rank at
    /// its worst execution.
    pub backlog_end: u64,
}

impl ArrivalRow {
    /// The rate was not reached: operations started more and more late, up to the end.
    pub fn is_behind(&self) -> bool {
        let (due, achieved) = (self.due_ops_s.unwrap_or(0.0), self.achieved_ops_s.unwrap_or(0.0));
        self.backlog_end > 0 && achieved < REACHED * due
    }
}

/// A pattern that a statement of MPI-IO writes: what marks of MPI libraries go by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatternWrites {
    /// Its name in the program.
    pub pattern: String,
    /// Level of parallelism, 0 to 3.
    pub level: u8,
    /// "multipartition", "tiled", ...
    pub kind: String,
    /// Between its first and its last byte there are bytes that no member writes.
    pub holes: bool,
}

pub(crate) fn is_zero(figure: &u64) -> bool {
    *figure == 0
}
