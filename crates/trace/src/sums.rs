//! Sums over calls that a log tells without the calls -> rows of the run.
//!
//! A row of sums has a count, bytes and a mean time. It has no percentiles, and rates of single ranks only
//! where the log tells each rank's sums.

use crate::darshan::Layers;
use hashbrown::HashMap;
use model::Op;
use model::run::{Balance, Row, TraceLayout, TraceMoved, TraceTimes};
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;

const MIB: f64 = 1_048_576.0;

/// Sums of an operation of one rank and file, or of all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Executions.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// All times together, nanoseconds; `None`: the log does not tell.
    pub busy_ns: Option<u64>,
    /// The longest time; `None`: the log does not tell.
    pub max_ns: Option<u64>,
    /// From the first start to the last end, nanoseconds since the job began.
    pub span_ns: Option<(u64, u64)>,
}

#[derive(Clone, Debug, Default)]
struct Total {
    all: Sum,
    /// Some files have sums over all ranks.
    is_shared: bool,
    by_rank: HashMap<u32, Sum, FxBuildHasher>,
}

/// Sums by label and operation.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    totals: BTreeMap<(String, u8), Total>,
    /// How files lie on storage.
    pub layouts: Vec<TraceLayout>,
    times: BTreeMap<String, [u64; 3]>,
    /// Counters of layers and files.
    pub layers: Layers,
    /// Bytes over time.
    pub moved: Vec<TraceMoved>,
    /// Time that the recorder adds to a call, nanoseconds; 0: not known.
    pub call_ns: u32,
}

impl Sums {
    /// Adds what one rank did, or all together: `None`.
    pub fn add(&mut self, label: &str, op: Op, rank: Option<u32>, sum: &Sum) {
        if sum.count == 0 {
            return;
        }
        let total = self.totals.entry((label.into(), op as u8)).or_default();
        total.all.add(sum);
        match rank {
            Some(rank) => total.by_rank.entry(rank).or_default().add(sum),
            None => total.is_shared = true,
        }
    }

    /// Adds the time in reads, writes and metadata calls.
    pub fn add_times(&mut self, label: &str, ns: [u64; 3]) {
        let times = self.times.entry(label.into()).or_default();
        times.iter_mut().zip(ns).for_each(|(sum, ns)| *sum = sum.saturating_add(ns));
    }

    /// The times by kind, label by label.
    pub fn times(&self) -> Vec<TraceTimes> {
        let known = self.times.iter().filter(|(_, ns)| ns.iter().any(|ns| *ns > 0));
        let times = |(label, [read_ns, write_ns, meta_ns]): (&String, &[u64; 3])| TraceTimes {
            label: label.clone(),
            read_ns: *read_ns,
            write_ns: *write_ns,
            meta_ns: *meta_ns,
        };
        known.map(times).collect()
    }

    /// The rows, label by label.
    pub fn rows(&self) -> Vec<Row> {
        let rows = self.totals.iter();
        let row = |((label, op), total): (&(String, u8), &Total)| {
            Some(total.row(label.clone(), Op::from_u8(*op)?))
        };
        rows.filter_map(row).collect()
    }
}

impl Sum {
    /// Adds what else was done.
    pub fn add(&mut self, other: &Sum) {
        // A sum is known only if all of its parts are.
        self.busy_ns = match (self.count, self.busy_ns, other.busy_ns) {
            (0, _, busy_ns) => busy_ns,
            (_, Some(a), Some(b)) => Some(a.saturating_add(b)),
            _ => None,
        };
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.span_ns = match (self.span_ns, other.span_ns) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
}

impl Total {
    fn row(&self, label: String, op: Op) -> Row {
        let all = &self.all;
        let span_s = all.span_ns.map(|(start, end)| end.saturating_sub(start) as f64 / 1e9);
        let rate = |amount: f64| {
            let seconds = span_s.filter(|seconds| *seconds > 0.0 && amount > 0.0);
            seconds.map(|seconds| amount / seconds)
        };
        Row {
            label,
            op: op.name().into(),
            count: all.count,
            bytes: all.bytes,
            mean_ns: all.busy_ns.map(|ns| ns as f64 / all.count as f64),
            max_ns: all.max_ns,
            rank_mib_s: self.of_ranks(|sum| sum.bytes as f64 / MIB),
            mib_s: rate(all.bytes as f64 / MIB),
            rank_ops_s: self.of_ranks(|sum| sum.count as f64),
            ops_s: rate(all.count as f64),
            balance: self.balance(),
            ..Row::default()
        }
    }

    /// Mean over ranks of an amount per second of their own times.
    fn of_ranks(&self, amount: impl Fn(&Sum) -> f64) -> Option<f64> {
        if self.is_shared || self.by_rank.is_empty() {
            return None;
        }
        let rates: Option<Vec<f64>> = self
            .by_rank
            .values()
            .map(|sum| Some(amount(sum) / (sum.busy_ns.filter(|ns| *ns > 0)? as f64 / 1e9)))
            .collect();
        let rates = rates?;
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        (mean > 0.0).then_some(mean)
    }

    fn balance(&self) -> Option<Balance> {
        let busy_ns = self.all.busy_ns.filter(|_| !self.is_shared)?;
        let (slowest_rank, slowest) =
            self.by_rank.iter().max_by_key(|(rank, sum)| (sum.busy_ns, u32::MAX - **rank))?;
        let (largest_rank, largest) =
            self.by_rank.iter().max_by_key(|(rank, sum)| (sum.bytes, u32::MAX - **rank))?;
        Some(Balance {
            ranks: self.by_rank.len() as u32,
            busy_ns,
            slowest_rank: *slowest_rank,
            slowest_busy_ns: slowest.busy_ns.unwrap_or(0),
            largest_rank: *largest_rank,
            largest_bytes: largest.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(count: u64, bytes: u64, busy_ns: Option<u64>) -> Sum {
        Sum { count, bytes, busy_ns, max_ns: Some(count), span_ns: Some((count, 1_000_000_000)) }
    }

    #[test]
    fn ranks_are_told_apart_where_the_log_does() {
        let mut sums = Sums::default();
        sums.add("a", Op::Fread, Some(0), &sum(2, 1 << 20, Some(500_000_000)));
        sums.add("a", Op::Fread, Some(1), &sum(1, 3 << 20, Some(500_000_000)));
        sums.add("a", Op::Stat, Some(0), &sum(0, 0, None));
        let rows = sums.rows();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.count, row.bytes, row.max_ns), (3, 4 << 20, Some(2)));
        assert_eq!(row.rank_mib_s, Some(4.0));
        assert!(row.mib_s.is_some_and(|rate| (rate - 4.0).abs() < 1e-6), "{:?}", row.mib_s);
        let balance = row.balance.as_ref().unwrap();
        assert_eq!((balance.slowest_rank, balance.largest_rank), (0, 1));
        sums.add("a", Op::Fread, None, &sum(1, 1 << 20, None));
        let row = &sums.rows()[0];
        assert_eq!((row.count, row.mean_ns, row.rank_mib_s), (4, None, None));
        assert!(row.balance.is_none());
    }
}
