//! How far the ranks of a run are, for its progress line.

/// A report of the supervisor while ranks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The ranks are set up and wait for SIGUSR1; nothing is executed yet.
    Held,
    /// The run goes on.
    Alive,
    /// How far the ranks are.
    At(Sample),
}

/// How far some ranks are: of many ranks only the first are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds since the start.
    pub at_ns: u64,
    /// Number of ranks that were read.
    pub ranks: u32,
    /// Operations that they have done, failed ones included.
    pub operations: u64,
    /// Operations that they will have done at the end; `None` if unknown.
    pub expected: Option<u64>,
    /// Bytes that they have moved; `None` if unknown.
    pub bytes: Option<u64>,
    /// Label path of the first of them that runs.
    pub label: Option<String>,
}
