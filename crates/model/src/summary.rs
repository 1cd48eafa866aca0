//! Rows of the summary: from what single ranks did to figures over all of them. The one way for
//! recorded runs, event tables and logs that are imported.
//!
//! ```text
//! events ──▶ RankFigures (a rank, label and operation) ──▶ Figures (all ranks) ──▶ rows
//! ```

mod events;

use crate::run::{Balance, Row};
use crate::{Histogram, Op, Part};
use serde::{Deserialize, Serialize};

pub use events::Summary;

/// The row of own times beside the one of times from when operations were due: `fread.service`.
pub const SERVICE: &str = "service";

const MIB: f64 = (1u64 << 20) as f64;
/// Rates are summed as integers with so many binary places: a sum of floating-point numbers
/// depends on the order. Exact from 8 bytes per second on.
const RATE_SCALE: f64 = (1u128 << 80) as f64;

/// Figures of one label and operation on one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankFigures {
    /// Executions that failed unexpectedly.
    pub failed: u64,
    /// Executions that failed as expected.
    pub expected: u64,
    /// Executions that were short.
    pub short: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Of the sum of times, what is not time of this rank in such operations: counted more than once,
    /// because they were under way together, or from when they were due to their start.
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

/// Figures of one label and operation over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    whole: Timed,
    failed: u64,
    expected: u64,
    short: u64,
    failed_times: Histogram,
    service: Timed,
    parts: Vec<Timed>,
    first_ns: u64,
    last_ns: u64,
    balance: Balance,
}

/// Times, and the rates of single ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Timed {
    times: Histogram,
    bytes: u64,
    /// Sum over ranks of bytes / own time, bytes per nanosecond times [`RATE_SCALE`].
    rates: u128,
    /// The same of operations.
    op_rates: u128,
    /// Ranks in that sum.
    ranks: u64,
}

impl Default for Figures {
    fn default() -> Figures {
        Figures {
            whole: Timed::default(),
            failed: 0,
            expected: 0,
            short: 0,
            failed_times: Histogram::default(),
            service: Timed::default(),
            parts: vec![Timed::default(); Part::COUNT],
            first_ns: u64::MAX,
            last_ns: 0,
            balance: Balance::default(),
        }
    }
}

impl Figures {
    /// Adds what one rank measured.
    pub fn add_rank(&mut self, rank: u32, stat: &RankFigures) {
        let busy_ns = stat.done.sum.saturating_sub(stat.overlap_ns);
        let balance = Balance {
            ranks: 1,
            busy_ns,
            slowest_rank: rank,
            slowest_busy_ns: busy_ns,
            largest_rank: rank,
            largest_bytes: stat.bytes,
        };
        merge_balance(&mut self.balance, &balance);
        self.whole.add_rank(&stat.done, busy_ns, stat.bytes);
        self.failed += stat.failed;
        self.expected += stat.expected;
        self.short += stat.short;
        self.failed_times.merge(&stat.failed_times);
        self.service.add_rank(&stat.service, stat.service.sum, 0);
        let parts = stat.parts.iter().flat_map(|parts| parts.iter());
        for ((sum, times), part) in self.parts.iter_mut().zip(parts).zip(Part::ALL) {
            sum.add_rank(times, times.sum, if part == Part::Data { stat.bytes } else { 0 });
        }
        self.first_ns = self.first_ns.min(stat.first_ns);
        self.last_ns = self.last_ns.max(stat.last_ns);
    }

    /// Bytes moved.
    pub fn bytes(&self) -> u64 {
        self.whole.bytes
    }

    /// Adds what other ranks measured.
    pub fn merge(&mut self, other: &Figures) {
        self.whole.merge(&other.whole);
        self.failed += other.failed;
        self.expected += other.expected;
        self.short += other.short;
        self.failed_times.merge(&other.failed_times);
        self.service.merge(&other.service);
        for (sum, part) in self.parts.iter_mut().zip(&other.parts) {
            sum.merge(part);
        }
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        merge_balance(&mut self.balance, &other.balance);
    }

    /// From the first start to the last end over ranks.
    pub fn interval_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// The row of the operation, then those of its service times and of each part that was executed. None if its
    /// ranks were killed in the first execution. `busy_ns`: how long the label was executed.
    pub fn rows(self, label: &str, op: Op, busy_ns: u64, rows: &mut Vec<Row>) {
        if self.whole.times.count + self.failed + self.expected == 0 {
            return;
        }
        let row = self.whole.row(label, op.name().into(), busy_ns);
        let failed_times = Some(self.failed_times).filter(|times| times.count > 0);
        rows.push(Row {
            count: row.count + self.failed + self.expected,
            failed: self.failed,
            expected: self.expected,
            short: self.short,
            failed_histogram: failed_times,
            balance: Some(self.balance),
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
}

/// Of equal ranks the first is named, whatever the order of merging.
fn merge_balance(sum: &mut Balance, other: &Balance) {
    if other.ranks == 0 {
        return;
    }
    let first = sum.ranks == 0;
    let wins = |ours: (u64, u32), theirs: (u64, u32)| {
        first || theirs.0 > ours.0 || theirs.0 == ours.0 && theirs.1 < ours.1
    };
    let slowest = (other.slowest_busy_ns, other.slowest_rank);
    if wins((sum.slowest_busy_ns, sum.slowest_rank), slowest) {
        (sum.slowest_busy_ns, sum.slowest_rank) = slowest;
    }
    let largest = (other.largest_bytes, other.largest_rank);
    if wins((sum.largest_bytes, sum.largest_rank), largest) {
        (sum.largest_bytes, sum.largest_rank) = largest;
    }
    sum.ranks += other.ranks;
    sum.busy_ns = sum.busy_ns.saturating_add(other.busy_ns);
}

impl Timed {
    /// `busy_ns`: time in which at least one was under way.
    fn add_rank(&mut self, times: &Histogram, busy_ns: u64, bytes: u64) {
        self.times.merge(times);
        self.bytes = self.bytes.saturating_add(bytes);
        if busy_ns > 0 {
            // A cast to an integer saturates.
            let rate = |amount: u64| (amount as f64 / busy_ns as f64 * RATE_SCALE) as u128;
            self.rates = self.rates.saturating_add(rate(bytes));
            self.op_rates = self.op_rates.saturating_add(rate(times.count));
            self.ranks += 1;
        }
    }

    fn merge(&mut self, other: &Timed) {
        self.times.merge(&other.times);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.rates = self.rates.saturating_add(other.rates);
        self.op_rates = self.op_rates.saturating_add(other.op_rates);
        self.ranks += other.ranks;
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
