//! Schedules of arrivals, over some ranks.

use super::places::Places;
use crate::record::{ArrivalRecord, Process};
use model::run::ArrivalRow;
use serde::{Deserialize, Serialize};

const MILLI: f64 = 1e3;

/// What became of one `with (rate=...)` on some ranks. Rates are integers, so that the order of adding
/// does not matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ArrivalSums {
    process: Process,
    ranks: u32,
    executions: u64,
    operations: u64,
    asked_milli: u64,
    due_milli: u64,
    achieved_milli: u64,
    late_ns: u64,
    latest_ns: u64,
    backlog_max: u64,
    backlog_end: u64,
}

/// Gaps per second, in thousandths.
fn milli(gaps: u64, span_ns: u64) -> u64 {
    let rate = u128::from(gaps) * 1_000_000_000_000 / u128::from(span_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl ArrivalSums {
    /// What became of it on one rank.
    pub(super) fn of(record: &ArrivalRecord) -> ArrivalSums {
        let own = record.figures;
        ArrivalSums {
            process: own.process,
            ranks: 1,
            executions: own.executions,
            operations: own.operations,
            asked_milli: own.asked_milli,
            due_milli: milli(own.gaps, own.due_span_ns),
            achieved_milli: milli(own.gaps, own.start_span_ns),
            late_ns: own.late_ns,
            latest_ns: own.latest_ns,
            backlog_max: own.backlog_max,
            backlog_end: own.backlog_end,
        }
    }

    /// Adds that of other ranks.
    pub(super) fn merge(&mut self, other: &ArrivalSums) {
        self.ranks += other.ranks;
        self.executions = self.executions.max(other.executions);
        self.latest_ns = self.latest_ns.max(other.latest_ns);
        self.backlog_max = self.backlog_max.max(other.backlog_max);
        for (sum, more) in [
            (&mut self.operations, other.operations),
            (&mut self.asked_milli, other.asked_milli),
            (&mut self.due_milli, other.due_milli),
            (&mut self.achieved_milli, other.achieved_milli),
            (&mut self.late_ns, other.late_ns),
            (&mut self.backlog_end, other.backlog_end),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    pub(super) fn row(&self, label: &str, site: u32, places: &Places<'_>) -> ArrivalRow {
        let rate = |milli: u64| (milli > 0).then_some(milli as f64 / MILLI);
        ArrivalRow {
            label: label.into(),
            cell: 0,
            repetition: 0,
            place: places.text(site),
            process: self.process.name().into(),
            ranks: self.ranks,
            executions: self.executions,
            operations: self.operations,
            asked_ops_s: self.asked_milli as f64 / MILLI,
            due_ops_s: rate(self.due_milli),
            achieved_ops_s: rate(self.achieved_milli),
            late_ns: self.late_ns,
            latest_ns: self.latest_ns,
            backlog_max: self.backlog_max,
            backlog_end: self.backlog_end,
        }
    }
}
