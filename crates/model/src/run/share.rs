//! Results of `share`: work that goes to the rank that claims it first.

use serde::{Deserialize, Serialize};

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
