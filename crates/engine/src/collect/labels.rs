//! One label path over some ranks: its operations, occurrences, busy time, traffic, claimed work and arrivals.

use super::evidence::Traffic;
use super::result::{Collected, Places};
use super::times::{Busy, LabelTimes};
use crate::recorder::{Arrived, ClaimedWork, LabelRecord, Process, StatRecord, ZerosRecord};
use model::merge::{Kept, Merge};
use model::merged;
use model::op::Class;
use model::plan::LabelKind;
use model::run::{ArrivalRow, LabelEvidence, LabelRow, ShareRow, Sharer, ZeroPlace};
use model::summary::Figures;
use model::{Op, Plan};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Ranges of zeros that are listed for a label; all are counted.
const ZEROS_KEPT: usize = 10;
/// Ranks whose parts of claimed work are kept one by one.
const SHARERS: usize = 64;
const MILLI: f64 = 1e3;

/// Rank and position: rows are ordered by first appearance.
pub(super) type First = (u32, u32);

merged! {
    /// A label path; the path "" is that of operations in no label.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Label {
        pub(super) first: First => min,
        /// Figures by number of the operation.
        ops: BTreeMap<u8, OpFigures> => sum,
        /// Occurrences of its `time` and of its `ctime` statements.
        times: [Option<LabelTimes>; 2] => sum,
        /// When it was executed, by either statement.
        busy: Busy => sum,
        /// By directory, in the order of the plan.
        traffic: Vec<Traffic> => sum,
        /// Work that ranks claimed, by site of the `share`.
        claimed: BTreeMap<u32, ClaimSums> => sum,
        /// Schedules of arrivals, by site.
        arrivals: BTreeMap<u32, ArrivalSums> => sum,
        /// Where verified reads found zeros.
        zeros: Kept<ZeroPlace, ZEROS_KEPT> => sum,
    }
}

merged! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct OpFigures {
        first: First => min,
        figures: Figures => sum,
    }
}

merged! {
    /// The parts of some ranks in one `share`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct ClaimSums {
        ranks: u32 => sum,
        figures: ClaimedWork => sum,
        /// Indices, rank and idle time; of ranks with as many the lowest.
        fewest: (u64, u32, u64) => min,
        most: (u64, Reverse<u32>, u64) => max,
        sharers: Kept<Sharer, SHARERS> => sum,
    }
}

merged! {
    /// One `with (rate=...)` over some ranks. Rates are integers, so that the order of merging
    /// does not matter.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct ArrivalSums {
        ranks: u32 => sum,
        figures: Arrived => sum,
        due_milli: u64 => sum,
        achieved_milli: u64 => sum,
    }
}

impl Label {
    pub(super) fn new(first: First) -> Label {
        Label {
            first,
            ops: BTreeMap::new(),
            times: [None, None],
            busy: Busy::default(),
            traffic: Vec::new(),
            claimed: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            zeros: Kept::default(),
        }
    }

    pub(super) fn add_stat(&mut self, first: First, stat: &StatRecord) {
        let figures = Figures::of_rank(first.0, &stat.figures);
        let one = BTreeMap::from([(stat.op as u8, OpFigures { first, figures })]);
        self.ops.merge_from(one);
    }

    pub(super) fn add_traffic(&mut self, directory: u32, counts: &[u64]) {
        let mut all = vec![Traffic::default(); directory as usize];
        all.push(Traffic::of_rank(counts));
        self.traffic.merge_from(all);
    }

    pub(super) fn add_claimed(&mut self, site: u32, rank: u32, figures: ClaimedWork) {
        self.claimed.merge_from(BTreeMap::from([(site, ClaimSums::of_rank(rank, figures))]));
    }

    pub(super) fn add_arrivals(&mut self, site: u32, figures: Arrived) {
        self.arrivals.merge_from(BTreeMap::from([(site, ArrivalSums::of_rank(figures))]));
    }

    /// Adds a range of zeros, the `order`-th that the rank found.
    pub(super) fn add_zeros(&mut self, (rank, order): (u32, u32), zeros: &ZerosRecord) {
        self.zeros.insert(
            (rank, order),
            ZeroPlace {
                rank,
                path: String::from_utf8_lossy(&zeros.path).into_owned(),
                offset_bytes: zeros.range.start,
                bytes: zeros.range.end - zeros.range.start,
            },
        );
    }

    /// Adds the occurrences on a rank that ended at `end_ns`.
    pub(super) fn add_occurrences(
        &mut self,
        rank: u32,
        label: &LabelRecord,
        cut_off: Option<[u64; 2]>,
        max_count: u64,
    ) {
        let times = LabelTimes::of_rank(rank, label, max_count);
        self.times[usize::from(label.kind == LabelKind::Calls)].merge_from(Some(times));
        self.busy.merge_from(Busy::of(label, cut_off));
    }

    /// Bytes that its operations have written and read.
    pub(super) fn moved(&self) -> [u64; 2] {
        [Class::Write, Class::Read].map(|class| {
            let of_class = |op: &u8| Op::from_u8(*op).is_some_and(|op| op.row().class == class);
            let ops = self.ops.iter().filter(|(op, _)| of_class(op));
            ops.fold(0, |sum: u64, (_, op)| sum.saturating_add(op.figures.bytes()))
        })
    }

    /// Where the bytes that were `moved` came from and went to, if there were any.
    pub(super) fn evidence(
        &self,
        path: &str,
        moved: [u64; 2],
        fetched_is_known: bool,
        plan: &Plan,
    ) -> Option<LabelEvidence> {
        let all = model::merge::merge_all(self.traffic.iter().cloned());
        let mut evidence = all.evidence(path, moved, fetched_is_known)?;
        if let Some(verified) = &mut evidence.verified {
            verified.zeros = self.zeros.values().cloned().collect();
        }
        let names = std::iter::once("").chain(plan.directories.iter().map(|one| &*one.name));
        let names = names.filter(|_| !plan.directories.is_empty());
        let of_each = names.zip(&self.traffic).filter_map(|(name, one)| one.in_directory(name));
        Some(LabelEvidence { directories: of_each.collect(), ..evidence })
    }

    /// Adds the rows to the result. `occurrences`: the largest number of them on one rank.
    pub(super) fn finish(
        self,
        path: &str,
        occurrences: u64,
        places: &Places<'_>,
        collected: &mut Collected,
    ) {
        let claimed = self.claimed.into_iter();
        collected.shares.extend(claimed.map(|(site, sums)| sums.row(path, places.text(site))));
        let arrivals = self.arrivals.into_iter();
        collected.arrivals.extend(arrivals.map(|(site, sums)| sums.row(path, places.text(site))));
        for times in self.times.into_iter().flatten() {
            let (rows, more) = times.finish(path);
            collected.times.extend(rows);
            collected.times_more.extend(more);
        }
        let busy = self.busy.finish(occurrences);
        collected.labels.extend(busy.map(|busy| LabelRow {
            label: path.into(),
            occurrences,
            first_start_ns: busy.hull[0],
            last_end_ns: busy.hull[1],
            busy_ns: busy.busy_ns,
            busy_is_bound: busy.is_bound,
            ..LabelRow::default()
        }));
        let mut ops: Vec<(u8, OpFigures)> = self.ops.into_iter().collect();
        ops.sort_by_key(|(_, op)| op.first);
        for (op, OpFigures { figures, .. }) in ops {
            let busy_ns = busy.map_or_else(|| figures.interval_ns(), |busy| busy.busy_ns);
            if let Some(op) = Op::from_u8(op) {
                figures.rows(path, op, busy_ns, &mut collected.rows);
            }
        }
    }
}

impl ClaimSums {
    fn of_rank(rank: u32, figures: ClaimedWork) -> ClaimSums {
        let ClaimedWork { indices, idle_ns, .. } = figures;
        ClaimSums {
            ranks: 1,
            figures,
            fewest: (indices, rank, idle_ns),
            most: (indices, Reverse(rank), idle_ns),
            sharers: Kept::of_rank(rank, [Sharer { rank, indices, idle_ns }]),
        }
    }

    fn row(self, label: &str, place: String) -> ShareRow {
        let sharer = |indices, rank, idle_ns| Sharer { rank, indices, idle_ns };
        let (fewest, most) = (self.fewest, self.most);
        ShareRow {
            label: label.into(),
            place,
            ranks: self.ranks,
            executions: self.figures.executions,
            indices: self.figures.indices,
            claims: self.figures.claims,
            operations: self.figures.operations,
            bytes: self.figures.bytes,
            whole_ns: self.figures.whole_ns,
            steady_ns: self.figures.steady_ns,
            steady_indices: self.figures.steady_milli_indices as f64 / MILLI,
            steady_operations: self.figures.steady_milli_operations as f64 / MILLI,
            steady_bytes: self.figures.steady_bytes,
            idle_ns: self.figures.idle_ns,
            fewest: sharer(fewest.0, fewest.1, fewest.2),
            most: sharer(most.0, most.1.0, most.2),
            sharers: self.sharers.values().copied().collect(),
            ..ShareRow::default()
        }
    }
}

impl ArrivalSums {
    fn of_rank(figures: Arrived) -> ArrivalSums {
        ArrivalSums {
            ranks: 1,
            figures,
            due_milli: milli(figures.gaps, figures.due_span_ns),
            achieved_milli: milli(figures.gaps, figures.start_span_ns),
        }
    }

    fn row(self, label: &str, place: String) -> ArrivalRow {
        let rate = |milli: u64| (milli > 0).then_some(milli as f64 / MILLI);
        let figures = self.figures;
        ArrivalRow {
            label: label.into(),
            place,
            process: Process::from_u64(figures.process).unwrap_or_default().name().into(),
            ranks: self.ranks,
            executions: figures.executions,
            operations: figures.operations,
            asked_ops_s: figures.asked_milli as f64 / MILLI,
            due_ops_s: rate(self.due_milli),
            achieved_ops_s: rate(self.achieved_milli),
            late_ns: figures.late_ns,
            latest_ns: figures.latest_ns,
            backlog_max: figures.backlog_max,
            backlog_end: figures.backlog_end,
            ..ArrivalRow::default()
        }
    }
}

/// Gaps per second, in thousandths.
fn milli(gaps: u64, span_ns: u64) -> u64 {
    let rate = u128::from(gaps) * 1_000_000_000_000 / u128::from(span_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rank: u32, indices: u64) -> ClaimSums {
        let whole_ns = 100 + u64::from(rank);
        ClaimSums::of_rank(
            rank,
            ClaimedWork { executions: 1, indices, whole_ns, ..ClaimedWork::default() },
        )
    }

    #[test]
    fn ranks_merge_in_any_order() {
        let parts = || (0..100).map(|rank| sums(rank, u64::from(rank % 7)));
        let merged = |mut all: Vec<ClaimSums>| {
            let mut sum = all.pop().unwrap();
            all.into_iter().for_each(|part| sum.merge_from(part));
            sum
        };
        let forward = merged(parts().collect());
        assert_eq!(forward, merged(parts().rev().collect()));
        assert_eq!((forward.fewest.1, forward.most.1.0), (0, 6));
        assert_eq!((forward.ranks, forward.sharers.values().count()), (100, SHARERS));
        assert_eq!((forward.figures.executions, forward.figures.whole_ns), (1, 199));
    }
}
