//! Rows of the summary: from what single ranks did to figures over all of them. The one way for
//! recorded runs, event tables and logs that are imported.
//!
//! ```text
//! events ──▶ RankFigures (a rank, label and operation) ──▶ Figures (all ranks) ──▶ rows
//! ```

use crate::event::{FLAG_DUE, FLAG_EXPECTED, FLAG_FAILED, FLAG_SHORT, NO_ID};
use crate::merge::Merge;
use crate::merged;
use crate::run::{Balance, Row};
use crate::{Event, Histogram, Op, Part};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A label belongs to another: it is that label, or inside of it. Operations of both move the bytes of a phase.
pub fn belongs_to(label: &str, outer: &str) -> bool {
    let rest = label.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || (!outer.is_empty() && rest.starts_with('/')))
}

/// The rate of a phase: an amount over the duration of its label.
pub fn per_second(amount: f64, busy_ns: u64) -> f64 {
    amount / (busy_ns as f64 / 1e9)
}

/// The row of own times beside the one of times from when operations were due: `fread.service`.
pub const SERVICE: &str = "service";

const MIB: f64 = (1u64 << 20) as f64;
/// Rates are summed as integers with this number of binary places: a sum of floating-point numbers
/// depends on the order. Exact from 8 bytes per second on.
const RATE_SCALE: f64 = (1u128 << 80) as f64;

/// Figures of one label and operation on one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankFigures {
    /// Executions that failed unexpectedly.
    pub failed: u64,
    /// Executions that failed as expected.
    pub expected: u64,
    /// Executions that were short.
    pub short: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// The part of the sum of times that is no time of this rank in such operations: counted more than once
    /// because they were under way at the same time, or from when they were due to their start.
    pub overlap_ns: u64,
    /// Earliest start of those that did not fail; `u64::MAX` without any.
    pub first_ns: u64,
    /// Latest end of those that did not fail.
    pub last_ns: u64,
    /// Times of those that did not fail: own times, or from when they were due.
    pub done: Histogram,
    /// Own times of those that were due at a time and did not fail.
    pub service: Histogram,
    /// Own times of those that failed.
    pub failed_times: Histogram,
    /// Times of the parts of a compound operation, by [`Part`].
    pub parts: Option<Box<[Histogram; Part::COUNT]>>,
}

impl RankFigures {
    /// Executions, failed ones included.
    pub fn executions(&self) -> u64 {
        self.done.count + self.failed + self.expected
    }
}

merged! {
    /// Figures of one label and operation over some ranks.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Figures {
        whole: Timed => sum,
        failed: u64 => sum,
        expected: u64 => sum,
        short: u64 => sum,
        failed_times: Histogram => sum,
        service: Timed => sum,
        /// By [`Part`]; none for a simple operation.
        parts: Vec<Timed> => sum,
        first_ns: u64 => min,
        last_ns: u64 => max,
        ranks: u32 => sum,
        /// Sum over ranks of the time in which a rank had at least one under way that did not fail.
        busy_ns: u64 => sum,
        /// The longest of these times, and the lowest of the ranks that spent as much.
        slowest: (u64, Reverse<u32>) => max,
        /// The most bytes of a rank, and the lowest of the ranks that moved as many.
        largest: (u64, Reverse<u32>) => max,
    }
}

merged! {
    /// Times, and the rates of single ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Timed {
        times: Histogram => sum,
        bytes: u64 => sum,
        /// Sum over ranks of bytes / own time, bytes per nanosecond times [`RATE_SCALE`].
        rates: u128 => sum,
        /// The same sum of operations / own time.
        op_rates: u128 => sum,
        /// Ranks in these sums.
        ranks: u64 => sum,
    }
}

impl Figures {
    /// Turns what one rank did into figures that can be merged.
    pub fn of_rank(rank: u32, stat: &RankFigures) -> Figures {
        let busy_ns = stat.done.sum.saturating_sub(stat.overlap_ns);
        let parts = stat.parts.iter().flat_map(|parts| parts.iter()).zip(Part::ALL);
        let parts = parts.map(|(times, part)| {
            Timed::of_rank(times, times.sum, if part == Part::Data { stat.bytes } else { 0 })
        });
        Figures {
            whole: Timed::of_rank(&stat.done, busy_ns, stat.bytes),
            failed: stat.failed,
            expected: stat.expected,
            short: stat.short,
            failed_times: stat.failed_times.clone(),
            service: Timed::of_rank(&stat.service, stat.service.sum, 0),
            parts: parts.collect(),
            first_ns: stat.first_ns,
            last_ns: stat.last_ns,
            ranks: 1,
            busy_ns,
            slowest: (busy_ns, Reverse(rank)),
            largest: (stat.bytes, Reverse(rank)),
        }
    }

    /// Bytes moved.
    pub fn bytes(&self) -> u64 {
        self.whole.bytes
    }

    /// From the first start to the last end over ranks.
    pub fn interval_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// The row of the operation, then rows of its service times and of each part that was executed. None if its
    /// ranks were killed in the first execution. `busy_ns`: how long the label was executed.
    pub fn rows(self, label: &str, op: Op, busy_ns: u64, rows: &mut Vec<Row>) {
        if self.whole.times.count + self.failed + self.expected == 0 {
            return;
        }
        let balance = self.balance();
        let row = self.whole.row(label, op.name().into(), busy_ns);
        let failed_times = Some(self.failed_times).filter(|times| times.count > 0);
        rows.push(Row {
            count: row.count + self.failed + self.expected,
            failed: self.failed,
            expected: self.expected,
            short: self.short,
            failed_histogram: failed_times,
            balance: Some(balance),
            ..row
        });
        let parts = self.parts.into_iter().zip(Part::ALL.map(Part::name));
        for (times, part) in [(self.service, SERVICE)].into_iter().chain(parts) {
            if times.times.count > 0 {
                let name = format!("{op}.{part}");
                let part_of = Some(op.name().into());
                let row = times.row(label, name, busy_ns);
                // As often as its operation, whose rate they would repeat.
                rows.push(Row { part_of, rank_ops_s: None, ops_s: None, ..row });
            }
        }
    }

    fn balance(&self) -> Balance {
        let (slowest_busy_ns, Reverse(slowest_rank)) = self.slowest;
        let (largest_bytes, Reverse(largest_rank)) = self.largest;
        let (ranks, busy_ns) = (self.ranks, self.busy_ns);
        Balance { ranks, busy_ns, slowest_rank, slowest_busy_ns, largest_rank, largest_bytes }
    }
}

impl Timed {
    /// `busy_ns`: time in which at least one was under way.
    fn of_rank(times: &Histogram, busy_ns: u64, bytes: u64) -> Timed {
        let counts = u64::from(busy_ns > 0);
        // A cast to an integer saturates.
        let rate = |amount: u64| (amount as f64 / busy_ns.max(1) as f64 * RATE_SCALE) as u128;
        let [rates, op_rates] = [bytes, times.count].map(|amount| counts as u128 * rate(amount));
        Timed { times: times.clone(), bytes, rates, op_rates, ranks: counts }
    }

    fn row(self, label: &str, op: String, busy_ns: u64) -> Row {
        let times = &self.times;
        let some = |figure: u64| (times.count > 0).then_some(figure);
        let rate = |amount: u64, per_ns: f64, unit: f64| {
            (amount > 0 && per_ns.is_finite()).then_some(per_ns * 1e9 / unit)
        };
        let mean = |rates: u128| rates as f64 / RATE_SCALE / self.ranks as f64;
        let in_label = |amount: u64| amount as f64 / busy_ns as f64;
        Row {
            label: label.into(),
            op,
            count: times.count,
            bytes: self.bytes,
            min_ns: some(times.min),
            mean_ns: times.mean(),
            p50_ns: times.quantile(0.5),
            p90_ns: times.percentile(0.9),
            p99_ns: times.percentile(0.99),
            p999_ns: times.percentile(0.999),
            max_ns: some(times.max),
            rank_mib_s: rate(self.bytes, mean(self.rates), MIB),
            mib_s: rate(self.bytes, in_label(self.bytes), MIB),
            rank_ops_s: rate(times.count, mean(self.op_rates), 1.0),
            ops_s: rate(times.count, in_label(times.count), 1.0),
            histogram: (times.count > 0).then_some(self.times),
            ..Row::default()
        }
    }
}

/// Label and operation: numbers of the table's labels and of operations.
type Key = (u32, u8);

/// Rank and number of an event: rows are in the order of first appearance.
type First = (u32, u64);

/// Figures of the events seen so far.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    by_key: BTreeMap<Key, (First, BTreeMap<u32, RankFigures>)>,
}

impl Summary {
    /// Adds an event of a rank. One of an operation that is not known is left out.
    pub fn add(&mut self, rank: u32, event: &Event) {
        let Some(op) = Op::from_u8(event.op) else { return };
        let first = (rank, event.seq);
        let (seen, ranks) =
            self.by_key.entry((event.label, event.op)).or_insert_with(|| (first, BTreeMap::new()));
        *seen = (*seen).min(first);
        ranks.entry(rank).or_insert_with(|| RankFigures::new(op)).add(event);
    }

    /// The rows, label by label. `label`: the path of a label by its number. `busy_ns`: how long
    /// a label was executed; of one for which that is unknown each operation counts from its first
    /// start to its last end.
    pub fn rows<'l>(
        self,
        label: impl Fn(u32) -> &'l str,
        busy_ns: impl Fn(&str) -> Option<u64>,
    ) -> Vec<Row> {
        let mut labels: BTreeMap<u32, First> = BTreeMap::new();
        for ((label, _), (seen, _)) in &self.by_key {
            let first = labels.entry(*label).or_insert(*seen);
            *first = (*first).min(*seen);
        }
        let mut all: Vec<_> = self.by_key.into_iter().collect();
        all.sort_by_key(|((label, _), (seen, _))| (labels[label], *seen));
        let mut rows = Vec::new();
        for ((number, op), (_, ranks)) in all {
            let figures = ranks.iter().map(|(rank, stat)| Figures::of_rank(*rank, stat));
            let figures = figures.reduce(|mut sum, more| {
                sum.merge_from(more);
                sum
            });
            let (Some(figures), Some(op)) = (figures, Op::from_u8(op)) else { continue };
            let path = if number == NO_ID { "" } else { label(number) };
            let busy_ns = busy_ns(path).unwrap_or_else(|| figures.interval_ns());
            figures.rows(path, op, busy_ns, &mut rows);
        }
        rows
    }
}

impl RankFigures {
    /// Nothing yet.
    fn new(op: Op) -> RankFigures {
        let parts = op.is_compound().then(Box::default);
        RankFigures { first_ns: u64::MAX, parts, ..RankFigures::default() }
    }

    /// Adds an execution. A part that took no time counts as not executed.
    fn add(&mut self, event: &Event) {
        for (part, ns) in Part::ALL.iter().zip(event.parts_ns).filter(|(_, ns)| *ns > 0) {
            if let Some(parts) = &mut self.parts {
                parts[*part as usize].record(ns);
            }
        }
        let is = |flag: u8| u64::from(event.flags & flag != 0);
        self.failed += is(FLAG_FAILED);
        self.expected += is(FLAG_EXPECTED);
        if event.flags & (FLAG_FAILED | FLAG_EXPECTED) != 0 {
            return self.failed_times.record(event.busy_ns);
        }
        self.short += is(FLAG_SHORT);
        self.bytes = self.bytes.saturating_add(event.done_bytes);
        self.first_ns = self.first_ns.min(event.start_ns);
        self.last_ns = self.last_ns.max(event.end_ns);
        if event.flags & FLAG_DUE == 0 {
            return self.done.record(event.busy_ns);
        }
        let since_due_ns = event.end_ns.saturating_sub(event.intended_start_ns).max(event.busy_ns);
        self.done.record(since_due_ns);
        self.service.record(event.busy_ns);
        self.overlap_ns = self.overlap_ns.saturating_add(since_due_ns - event.busy_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(label: u32, op: Op, seq: u64, busy_ns: u64) -> Event {
        let (start_ns, end_ns) = (seq * 1000, seq * 1000 + busy_ns);
        Event { label, op: op as u8, seq, start_ns, end_ns, busy_ns, ..Event::default() }
    }

    #[test]
    fn events_become_rows_in_their_order() {
        let mut summary = Summary::default();
        summary.add(1, &Event { done_bytes: 4 << 20, ..event(7, Op::Fread, 0, 500) });
        summary.add(0, &event(NO_ID, Op::Stat, 0, 100));
        summary.add(0, &Event { done_bytes: 4 << 20, ..event(7, Op::Fread, 1, 500) });
        summary.add(0, &Event { flags: FLAG_FAILED, ..event(7, Op::Fread, 2, 900) });
        let busy_ns = |label: &str| (label == "io").then_some(1_000_000_000);
        let rows = summary.rows(|_| "io", busy_ns);
        let names: Vec<_> = rows.iter().map(|row| (row.label.as_str(), row.op.as_str())).collect();
        assert_eq!(names, [("", "stat"), ("io", "fread")]);
        let read = &rows[1];
        assert_eq!((read.count, read.failed, read.bytes, read.max_ns), (3, 1, 8 << 20, Some(500)));
        assert_eq!((read.mib_s, read.ops_s), (Some(8.0), Some(2.0)));
        assert_eq!(rows[0].ops_s, Some(1e9 / 100.0));
        let balance = read.balance.as_ref().unwrap();
        assert_eq!((balance.ranks, balance.slowest_rank), (2, 0));
    }

    #[test]
    fn parts_have_rows_of_their_own() {
        let mut summary = Summary::default();
        let mut write = event(NO_ID, Op::Write, 0, 30);
        write.parts_ns[Part::Open as usize] = 10;
        write.parts_ns[Part::Data as usize] = 20;
        summary.add(0, &write);
        let rows = summary.rows(|_| "", |_| None);
        let names: Vec<_> = rows.iter().map(|row| (row.op.as_str(), row.max_ns)).collect();
        let expected = [("write", 30), ("write.open", 10), ("write.data", 20)];
        assert_eq!(names, expected.map(|(name, ns)| (name, Some(ns))));
    }
}
