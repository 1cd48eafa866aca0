//! Patterns that a program writes by MPI-IO.

use serde::{Deserialize, Serialize};

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
