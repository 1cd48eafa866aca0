//! Rows that sums are made of: every byte and every second once, and the calls' own times.
//!
//! Rows of parts are below the row of their operation. A recording from inside a program has rows of
//! the MPI-IO that the program called, above the events of POSIX that this became: the same bytes and
//! the same seconds again.
//!
//! Rows of operations that are due at times (`with (rate=...)`) count from when they were due; rows
//! `OP.service` beside them have the time of their calls alone. Sums and shares go by the latter: waits
//! of operations that queue up overlap, and their sum is longer than the run.

use model::Op;
use model::op::Class;
use model::run::{LabelRow, Row, Run};
use model::summary::SERVICE;
use model::units::Measure;
use std::collections::HashMap;

/// Format of recordings that hold calls of POSIX and, above them, of MPI-IO.
const RECORDING: &str = "preload";

/// Whole operations that no other rows hold once more.
pub fn once(run: &Run) -> impl Iterator<Item = &Row> {
    let format = format(run);
    run.rows.iter().filter(move |row| row.part_of.is_none() && !is_above(format, row))
}

/// Rows of calls whose bytes and times other rows hold, too.
pub fn repeated(run: &Run) -> impl Iterator<Item = &Row> {
    let format = format(run);
    run.rows.iter().filter(move |row| is_above(format, row))
}

/// The row is one of calls whose bytes and times other rows of an import of this format hold, too.
pub fn is_above(format: &str, row: &Row) -> bool {
    format == RECORDING && Op::find(&row.op).is_some_and(Op::is_mpi_io)
}

fn format(run: &Run) -> &str {
    run.run.trace.as_ref().map_or("", |trace| &trace.format)
}

/// Label, operation, cell and repetition.
type Key<'r> = (&'r str, &'r str, u32, u32);

/// The rows of own times of a run.
#[derive(Debug, Default)]
pub struct OwnTimes<'r> {
    services: HashMap<Key<'r>, &'r Row>,
}

impl<'r> OwnTimes<'r> {
    /// Indexes the rows of a run.
    pub fn new(run: &'r Run) -> OwnTimes<'r> {
        let services = run.rows.iter().filter(|row| is_service(row));
        let entry = |row: &'r Row| Some((key(row, row.part_of.as_deref()?), row));
        OwnTimes { services: services.filter_map(entry).collect() }
    }

    /// The row of own times beside one that counts from when operations were due.
    pub fn service(&self, row: &Row) -> Option<&'r Row> {
        self.services.get(&key(row, &row.op)).copied()
    }

    /// The row with the times of the calls alone.
    pub fn row(&self, row: &'r Row) -> &'r Row {
        self.service(row).unwrap_or(row)
    }

    /// Sum of the own times of operations, also of those that failed or were expected to, nanoseconds.
    pub fn sum_ns(&self, row: &Row) -> f64 {
        let sum = |row: &Row, count: u64| row.mean_ns.unwrap_or(0.0) * count as f64;
        let succeeded = row.count.saturating_sub(row.failed).saturating_sub(row.expected);
        let done_ns = match (self.service(row), &row.balance) {
            (None, _) => sum(row, succeeded),
            // Operations that were due at no time have no row of own times.
            (Some(service), Some(balance)) if service.count < succeeded => balance.busy_ns as f64,
            (Some(service), _) => sum(service, service.count),
        };
        done_ns + failed_ns(row)
    }

    /// Time in which a rank had at least one of the operations under way, over ranks, and the sum of their times,
    /// which is larger where they overlap. Nanoseconds.
    pub fn busy_ns(&self, row: &Row) -> [f64; 2] {
        let sum_ns = self.sum_ns(row);
        let busy_ns = row.balance.as_ref().map(|balance| balance.busy_ns as f64 + failed_ns(row));
        [busy_ns.filter(|busy_ns| *busy_ns < sum_ns).unwrap_or(sum_ns), sum_ns]
    }
}

/// Time of the operations that failed or were expected to.
fn failed_ns(row: &Row) -> f64 {
    row.failed_histogram.as_ref().map_or(0.0, |times| times.sum as f64)
}

/// The row has own times of operations that were due at times.
pub fn is_service(row: &Row) -> bool {
    let Some(whole) = row.part_of.as_deref() else { return false };
    row.op.strip_prefix(whole).and_then(|rest| rest.strip_prefix('.')) == Some(SERVICE)
}

fn key<'a>(row: &'a Row, op: &'a str) -> Key<'a> {
    (&row.label, op, row.cell, row.repetition)
}

/// Executions and bytes of rows together.
pub fn sum<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Row {
    rows.into_iter().fold(Row::default(), |sum, row| Row {
        count: sum.count.saturating_add(row.count),
        failed: sum.failed.saturating_add(row.failed),
        short: sum.short.saturating_add(row.short),
        expected: sum.expected.saturating_add(row.expected),
        bytes: sum.bytes.saturating_add(row.bytes),
        ..sum
    })
}

/// The class of an operation; of one that this version does not know: not I/O on files.
pub fn class(op: &str) -> Class {
    Op::find(op).map_or(Class::Control, |op| op.row().class)
}

/// The operation can move bytes.
pub fn moves_bytes(op: &str) -> bool {
    matches!(class(op), Class::Read | Class::Write)
}

/// The busy time of the row's label is an upper bound: its rates over the label are lower ones.
pub fn is_bound(run: &Run, row: &Row) -> bool {
    let same = |label: &LabelRow| {
        (&label.label, label.cell, label.repetition) == (&row.label, row.cell, row.repetition)
    };
    run.labels.iter().any(|label| label.busy_is_bound && same(label))
}

/// Members by what they have in common, in order of appearance.
pub fn grouped<K: PartialEq, M>(all: impl IntoIterator<Item = (K, M)>) -> Vec<(K, Vec<M>)> {
    let mut groups: Vec<(K, Vec<M>)> = Vec::new();
    for (key, member) in all {
        match groups.iter_mut().find(|group| group.0 == key) {
            Some((_, members)) => members.push(member),
            None => groups.push((key, vec![member])),
        }
    }
    groups
}

/// Bytes per second, or operations per second of what moves none.
pub fn rate_text(mib_s: Option<f64>, ops_s: Option<f64>) -> Option<String> {
    match (mib_s, ops_s) {
        (Some(mib_s), _) => Some(Measure::ByteRate.format(mib_s, 3)),
        (None, ops_s) => Some(Measure::OpRate.format(ops_s?, 3)),
    }
}

/// An execution in words: `block=4k, repetition 3`; "" for a run that was executed once.
pub fn execution(run: &Run, cell: u32, repetition: u32) -> String {
    let sweep = run.run.sweep.as_ref();
    sweep.map_or(String::new(), |sweep| sweep.describe_execution(cell, repetition))
}

/// A point of a sweep in words: `block=4k`; "" if nothing varies.
pub fn point(run: &Run, cell: u32) -> String {
    let varies = run.run.sweep.as_ref().filter(|sweep| !sweep.dimensions.is_empty());
    varies.map_or(String::new(), |sweep| sweep.describe(cell))
}

/// A label as a headline.
pub fn label_name(label: &str) -> &str {
    if label.is_empty() { "(in no label)" } else { label }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use model::run::Balance;

    #[test]
    fn bytes_of_mpi_io_and_of_the_calls_below_it_are_the_same() {
        let run = sample::recorded_mpi();
        let counted: Vec<&str> = once(&run).map(|row| &*row.op).collect();
        assert_eq!(counted, ["fwrite", "fread"]);
        let again: Vec<&str> = repeated(&run).map(|row| &*row.op).collect();
        assert_eq!(again, ["pfopen", "pfwrite"]);
        // A log of Darshan leaves out duplicates: it has rows of MPI-IO only.
        let mut darshan = run.clone();
        darshan.run.trace.as_mut().unwrap().format = "darshan".into();
        assert_eq!((once(&darshan).count(), repeated(&darshan).count()), (4, 0));
    }

    #[test]
    fn sums_are_those_of_the_calls_alone() {
        let run = sample::open_loop();
        let own = OwnTimes::new(&run);
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
        assert_eq!(OwnTimes::new(&run).sum_ns(&run.rows[0]), 7_777_000.0);
    }

    #[test]
    fn failed_operations_took_their_time() {
        let run = sample::aborted();
        let row = run.rows.iter().find(|row| row.op == "mkdir").unwrap();
        assert_eq!((row.failed, row.expected, row.mean_ns), (1, 1, None));
        assert_eq!(OwnTimes::new(&run).sum_ns(row), 3_000.0);
    }

    #[test]
    fn operations_that_overlap_are_busy_once() {
        let mut run = sample::listing1();
        let sum_ns = OwnTimes::new(&run).sum_ns(&run.rows[0]);
        run.rows[0].balance = Some(Balance { busy_ns: 1_000, ..Balance::default() });
        assert_eq!(OwnTimes::new(&run).busy_ns(&run.rows[0]), [1_000.0, sum_ns]);
        run.rows[0].balance = None;
        assert_eq!(OwnTimes::new(&run).busy_ns(&run.rows[0]), [sum_ns; 2]);
    }
}
