//! What verified data came to.

use serde::{Deserialize, Serialize};

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

/// What `with (verify=true)` filled, checked and found in a label, over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedData {
    /// Bytes filled to be verified later.
    pub filled_bytes: u64,
    /// The time that took, in no operation's time.
    pub fill_ns: u64,
    /// Bytes that were read and checked.
    pub checked_bytes: u64,
    /// The time that took, in no operation's time.
    pub check_ns: u64,
    /// Of the checked bytes, zeros where the reading rank knows of no write: holes, or data of
    /// others that was lost.
    pub zero_bytes: u64,
    /// Places of those, each time they were read.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub zero_places: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zeros: Vec<ZeroPlace>,
    /// Wrong places with zeros, or behind the end of the file, where the reading rank wrote.
    pub wrong_zeros: u64,
    /// Wrong places with older data.
    pub wrong_older: u64,
    /// Wrong places with any other data.
    pub wrong_other: u64,
}
