//! Where the bytes of a label came from and went to, in all and by directory.

use super::{CacheControl, VerifiedData, is_zero};
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
