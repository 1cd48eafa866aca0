//! Results of `with (rate=...)`: operations that are due at times of a schedule.

use serde::{Deserialize, Serialize};

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
