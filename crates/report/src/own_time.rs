//! How long operations took by themselves: without the wait from when they were due to their start.
//!
//! Rows of operations that are due at times (`with (rate=...)`) count from when they were due; rows
//! `OP.service` beside them have the time of their calls alone. Sums and shares go by the latter: waits
//! of operations that queue up overlap, and their sum is longer than the run.

use model::run::{Row, Run};
use model::summary::SERVICE;
use std::collections::HashMap;

/// Label, operation, cell and repetition.
type Key<'r> = (&'r str, &'r str, u32, u32);

/// The rows of own times of a run.
#[derive(Debug, Default)]
pub(crate) struct OwnTimes<'r> {
    services: HashMap<Key<'r>, &'r Row>,
}

impl<'r> OwnTimes<'r> {
    pub fn of(run: &'r Run) -> OwnTimes<'r> {
        let services = run.rows.iter().filter(|row| is_service(row));
        let entry = |row: &'r Row| Some((key(row, row.part_of.as_deref()?), row));
        OwnTimes { services: services.filter_map(entry).collect() }
    }

    /// The row of own times beside one that counts from when operations were due.
    pub fn service(&self, row: &Row) -> Option<&'r Row> {
        self.services.get(&key(row, &row.op)).copied()
    }

    /// The row whose times are those of the calls alone.
    pub fn row(&self, row: &'r Row) -> &'r Row {
        self.service(row).unwrap_or(row)
    }

    /// Sum of the own times of operations that did not fail, nanoseconds.
    pub fn sum_ns(&self, row: &Row) -> f64 {
        let sum = |row: &Row, count: u64| row.mean_ns.unwrap_or(0.0) * count as f64;
        let succeeded = row.count.saturating_sub(row.failed).saturating_sub(row.expected);
        match (self.service(row), &row.balance) {
            (None, _) => sum(row, succeeded),
            // The own times of those that were due at no time stand in no row.
            (Some(service), Some(balance)) if service.count < succeeded => balance.busy_ns as f64,
            (Some(service), _) => sum(service, service.count),
        }
    }
}

/// The row has own times of operations that were due at times.
pub(crate) fn is_service(row: &Row) -> bool {
    let Some(whole) = row.part_of.as_deref() else { return false };
    row.op.strip_prefix(whole).and_then(|rest| rest.strip_prefix('.')) == Some(SERVICE)
}

fn key<'a>(row: &'a Row, op: &'a str) -> Key<'a> {
    (&row.label, op, row.cell, row.repetition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use model::run::Balance;

    #[test]
    fn sums_are_those_of_the_calls_alone() {
        let run = sample::open_loop();
        let own = OwnTimes::of(&run);
        let sums = [&run.rows[0], &run.rows[2]].map(|row| own.sum_ns(row));
        assert_eq!(sums, [3_000.0 * 2_500.0, 100.0 * 3_000.0]);
        assert_eq!(own.row(&run.rows[0]).op, "fread.service");
        assert_eq!(own.row(&run.rows[2]).op, "stat");
    }

    #[test]
    fn where_some_were_due_at_no_time_the_ranks_time_counts() {
        let mut run = sample::open_loop();
        run.rows[0].count += 10;
        run.rows[0].balance = Some(Balance { busy_ns: 7_777_000, ..Balance::default() });
        assert_eq!(OwnTimes::of(&run).sum_ns(&run.rows[0]), 7_777_000.0);
    }
}
