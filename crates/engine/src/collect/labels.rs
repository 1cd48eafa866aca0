//! One label path over some ranks: its operations, occurrences (the rows of `times`), busy time, traffic, claimed work
//! and arrivals; in the report, and while the program runs (`seconds("write")`): both are the same sums.
//!
//! Busy is the time in which at least one rank was inside the label: the union of all occurrences on aligned clocks.
//! Beyond [`MAX_INTERVALS`] intervals the shortest gaps are closed: then the time is an upper bound, and says so.

use super::result::{Collected, Places, Traffic};
use crate::recorder::layout::{KEPT_FIRST, KEPT_LAST, MORE_LABEL};
use crate::recorder::rank::{Interval, join_intervals, nth_gap};
use crate::recorder::{
    Arrived, ClaimedWork, LabelRecord, Occurrence, Process, RankRecord, StatRecord, ZerosRecord,
};
use model::function::{Choice, Figure};
use model::merge::{Kept, Merge};
use model::op::Class;
use model::plan::LabelKind;
use model::run::{
    ArrivalRow, LabelEvidence, LabelRow, ShareRow, Sharer, TimeRow, TimesMore, ZeroPlace,
};
use model::summary::{Figures, belongs_to, per_second};
use model::{Histogram, Op, Plan, Value, merged};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Ranges of zeros that are listed for a label; all are counted.
const ZEROS_KEPT: usize = 10;
/// Ranks whose parts of claimed work are kept one by one.
const SHARERS: usize = 64;
const MILLI: f64 = 1e3;

/// Rank and position: rows are ordered by first appearance.
pub(crate) type First = (u32, u32);

merged! {
    /// A label path; the path "" is that of operations in no label.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Label {
        pub(crate) first: First => min,
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
    pub(crate) fn new(first: First) -> Label {
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

    pub(crate) fn add_stat(&mut self, first: First, stat: &StatRecord) {
        let figures = Figures::of_rank(first.0, &stat.figures);
        let one = BTreeMap::from([(stat.op as u8, OpFigures { first, figures })]);
        self.ops.merge_from(one);
    }

    pub(crate) fn add_traffic(&mut self, directory: u32, counts: &[u64]) {
        let mut all = vec![Traffic::default(); directory as usize];
        all.push(Traffic::of_rank(counts));
        self.traffic.merge_from(all);
    }

    pub(crate) fn add_claimed(&mut self, site: u32, rank: u32, figures: ClaimedWork) {
        self.claimed.merge_from(BTreeMap::from([(site, ClaimSums::of_rank(rank, figures))]));
    }

    pub(crate) fn add_arrivals(&mut self, site: u32, figures: Arrived) {
        self.arrivals.merge_from(BTreeMap::from([(site, ArrivalSums::of_rank(figures))]));
    }

    /// Adds a range of zeros, the `order`-th that the rank found.
    pub(crate) fn add_zeros(&mut self, (rank, order): (u32, u32), zeros: &ZerosRecord) {
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
    pub(crate) fn add_occurrences(
        &mut self,
        rank: u32,
        label: &LabelRecord,
        cut_off: Option<[u64; 2]>,
        max_count: u64,
    ) {
        let times = LabelTimes::of_rank(rank, label, max_count);
        self.times[usize::from(label.kind == LabelKind::Calls)].merge_from(Some(times));
        self.busy.merge_from(Busy::from_label(label, cut_off));
    }

    /// Bytes that its operations have written and read.
    pub(crate) fn moved(&self) -> [u64; 2] {
        [Class::Write, Class::Read].map(|class| {
            let of_class = |op: &u8| Op::from_u8(*op).is_some_and(|op| op.row().class == class);
            let ops = self.ops.iter().filter(|(op, _)| of_class(op));
            ops.fold(0, |sum: u64, (_, op)| sum.saturating_add(op.figures.bytes()))
        })
    }

    /// Where the bytes that were `moved` came from and went to, if there were any.
    pub(crate) fn evidence(
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
    pub(crate) fn finish(
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

merged! {
    /// Occurrences of one label path and kind over some ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct LabelTimes {
        /// The first occurrences, then the last ones; `None`: no rank kept this one.
        rows: Vec<Option<Over>> => sum,
        more: Histogram => sum,
        /// Largest sum over one rank of the occurrences that are not in `rows`.
        max_rank_sum_ns: u64 => max,
    }
}

merged! {
    /// One occurrence over the ranks that executed it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Over {
        index: u64 => max,
        ranks: u32 => sum,
        first_start_ns: u64 => min,
        last_end_ns: u64 => max,
        /// Time of the slowest rank, and the lowest of the ranks that were as slow.
        slowest: (u64, Reverse<u32>) => max,
    }
}

impl LabelTimes {
    /// The occurrences of one rank. `max_count`: largest number of occurrences on one rank of the run.
    pub(crate) fn of_rank(rank: u32, label: &LabelRecord, max_count: u64) -> LabelTimes {
        let last_from = max_count.saturating_sub(KEPT_LAST).max(KEPT_FIRST);
        let (mut rows, mut more) = (Vec::new(), label.more.clone());
        for occurrence in &label.kept {
            let over = Over::one(rank, label.kind, occurrence);
            let Some(slot) = slot(occurrence.index, last_from) else {
                more.record(over.slowest.0);
                continue;
            };
            if slot >= rows.len() {
                rows.resize(slot + 1, None);
            }
            rows[slot].merge_from(Some(over));
        }
        LabelTimes { rows, max_rank_sum_ns: more.sum, more }
    }

    /// The rows when all ranks are in, and what they leave out.
    pub(crate) fn finish(self, path: &str) -> (Vec<TimeRow>, Option<TimesMore>) {
        let rows = self.rows.into_iter().flatten().map(|row| row.row(path)).collect();
        let more = (self.more.count > 0).then(|| TimesMore {
            label: path.into(),
            count: self.more.count,
            max_rank_sum_ns: self.max_rank_sum_ns,
            histogram: self.more,
            ..TimesMore::default()
        });
        (rows, more)
    }
}

impl Over {
    fn one(rank: u32, kind: LabelKind, occurrence: &Occurrence) -> Over {
        let Occurrence { index, start_ns, end_ns, own_ns } = *occurrence;
        let max_ns = match kind {
            LabelKind::Wall => end_ns.saturating_sub(start_ns),
            LabelKind::Calls => own_ns,
        };
        let (first_start_ns, last_end_ns, slowest) = (start_ns, end_ns, (max_ns, Reverse(rank)));
        Over { index, ranks: 1, first_start_ns, last_end_ns, slowest }
    }

    fn row(&self, path: &str) -> TimeRow {
        let (max_ns, Reverse(slowest_rank)) = self.slowest;
        TimeRow {
            label: path.into(),
            index: self.index,
            ranks: self.ranks,
            first_start_ns: self.first_start_ns,
            last_end_ns: self.last_end_ns,
            slowest_rank,
            max_ns,
            ..TimeRow::default()
        }
    }
}

/// Where an occurrence goes among the first and the last ones; `None`: between them.
fn slot(index: u64, last_from: u64) -> Option<usize> {
    match index {
        index if index < KEPT_FIRST => Some(index as usize),
        index if index >= last_from => Some((KEPT_FIRST + index - last_from) as usize),
        _ => None,
    }
}

/// Intervals of a label in one result.
const MAX_INTERVALS: usize = 1 << 14;

/// When a rank executed a label.
fn intervals(label: &LabelRecord) -> impl Iterator<Item = Interval> + '_ {
    let kept = label.kept.iter().map(|kept| [kept.start_ns, kept.end_ns]);
    let unknown = is_unknown(label).then(|| hull_of_kept(label)).flatten();
    let all = kept.chain(label.busy.intervals.iter().copied()).chain(unknown);
    all.filter(|[start, end]| start <= end)
}

/// Nothing says when the occurrences were executed that are not kept: the record was full. One that
/// was killed may lack the last that it gave up.
fn is_unknown(label: &LabelRecord) -> bool {
    label.busy.intervals.is_empty() && label.count > label.kept.len() as u64 + 1
}

fn hull_of_kept(label: &LabelRecord) -> Option<Interval> {
    Some([label.kept.first()?.start_ns, label.kept.last()?.end_ns])
}

/// The union over some ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Busy {
    /// Disjoint, ascending.
    union: Vec<Interval>,
    /// Gaps may have been closed.
    closed: bool,
    /// A rank did not leave its last occurrence.
    cut_off: bool,
    /// Sum over ranks of what each was inside the label: not less than the union.
    sum_ns: u64,
    /// The largest of them: not more than the union.
    max_rank_ns: u64,
}

/// How long a label was executed, and from when to when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BusyTime {
    pub(crate) busy_ns: u64,
    /// It may be less.
    is_bound: bool,
    hull: Interval,
}

impl Busy {
    /// The union of one rank. `cut_off`: an occurrence that did not end.
    pub(crate) fn from_label(label: &LabelRecord, cut_off: Option<Interval>) -> Busy {
        let mut union: Vec<Interval> = intervals(label).chain(cut_off).collect();
        union.sort_unstable();
        let kept = label.kept.iter().map(|kept| [kept.start_ns, kept.end_ns]);
        let done_ns = kept.map(length).fold(label.busy.sum_ns, u64::saturating_add);
        let inside_ns = done_ns.saturating_add(cut_off.map_or(0, length));
        let unknown = is_unknown(label);
        // Occurrences of one path on one rank follow each other; occurrences of `(more)` may not.
        let is_exact = label.path != MORE_LABEL;
        Busy {
            union: joined(union, 0),
            cut_off: cut_off.is_some(),
            closed: unknown || label.busy.gap_ns > 0,
            sum_ns: if unknown { u64::MAX } else { inside_ns },
            max_rank_ns: if is_exact { inside_ns } else { 0 },
        }
    }

    /// When all ranks are in. `complete`: the largest number of occurrences of one rank that it left.
    /// Where no rank executed the label more than once, its time is that from the first start to
    /// the last end. `None`: nobody executed it.
    pub(crate) fn finish(&self, complete: u64) -> Option<BusyTime> {
        let hull = [self.union.first()?[0], self.union.last()?[1]];
        if complete + u64::from(self.cut_off) <= 1 {
            return Some(BusyTime { busy_ns: length(hull), is_bound: false, hull });
        }
        let union_ns: u64 = self.union.iter().map(|interval| length(*interval)).sum();
        let busy_ns = if self.closed { union_ns.min(self.sum_ns) } else { union_ns };
        Some(BusyTime { busy_ns, is_bound: self.closed && busy_ns > self.max_rank_ns, hull })
    }
}

impl Merge for Busy {
    fn merge_from(&mut self, mut other: Busy) {
        let mut union = std::mem::take(&mut self.union);
        union.append(&mut other.union);
        // Stable: both are in order already and are merged in one pass.
        union.sort();
        let union = joined(union, 0);
        self.closed |= other.closed || union.len() > MAX_INTERVALS;
        self.union = thinned_out(union);
        self.cut_off |= other.cut_off;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_rank_ns = self.max_rank_ns.max(other.max_rank_ns);
    }
}

fn length([start_ns, end_ns]: Interval) -> u64 {
    end_ns.saturating_sub(start_ns)
}

fn joined(mut sorted: Vec<Interval>, gap_ns: u64) -> Vec<Interval> {
    let joined = join_intervals(&mut sorted, gap_ns);
    sorted.truncate(joined);
    sorted
}

/// Closes the shorter gaps of too many intervals.
fn thinned_out(union: Vec<Interval>) -> Vec<Interval> {
    if union.len() <= MAX_INTERVALS {
        return union;
    }
    let (surplus, mut gaps) = (union.len() - MAX_INTERVALS, vec![0; union.len() - 1]);
    let longest_closed = nth_gap(&union, surplus - 1, &mut gaps);
    joined(union, longest_closed.saturating_add(1))
}

/// Labels that a message lists.
const LISTED: usize = 10;

merged! {
    /// A label's duration, operations and bytes, added up over some ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(crate) struct LabelFigures {
        busy: Busy => sum,
        /// Largest number of occurrences of `time` on one rank.
        wall: u64 => max,
        /// The same of `ctime`.
        calls: u64 => max,
        /// Occurrences that a rank has not left.
        open: u64 => sum,
        /// Operations of the label and the labels in it that the figure is of.
        count: u64 => sum,
        bytes: u64 => sum,
    }
}

impl LabelFigures {
    /// Those of one rank.
    pub(crate) fn of_rank(record: &RankRecord, path: &str, choice: Option<Choice>) -> LabelFigures {
        let mut figures = LabelFigures::default();
        for label in record.labels.iter().filter(|label| text(label) == path) {
            match label.kind {
                LabelKind::Wall => figures.wall = label.count,
                LabelKind::Calls => figures.calls = label.count,
            }
            figures.open += u64::from(label.entered_ns.is_some());
            figures.busy.merge_from(Busy::from_label(label, None));
        }
        let label_of = |id: u32| record.labels.get(id as usize).map_or("".into(), text);
        for stat in record.stats.iter().filter(|stat| is_chosen(stat.op, choice)) {
            if belongs_to(&label_of(stat.label), path) {
                figures.count = figures.count.saturating_add(stat.figures.executions());
                figures.bytes = figures.bytes.saturating_add(stat.figures.bytes);
            }
        }
        figures
    }

    /// A rank is inside of the label.
    pub(crate) fn is_open(&self) -> bool {
        self.open > 0
    }

    /// How long it was executed, at least 1 ns; `None`: not yet.
    fn busy_ns(&self) -> Option<u64> {
        Some(self.busy.finish(self.wall.saturating_add(self.calls))?.busy_ns.max(1))
    }

    /// The figure; `None`: the label was not executed.
    pub(crate) fn value(&self, figure: Figure) -> Option<Value> {
        let busy_ns = self.busy_ns()?;
        let whole = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        Some(match figure {
            Figure::Seconds => Value::Float(busy_ns as f64 / 1e9),
            Figure::Count => whole(self.count),
            Figure::Bytes => whole(self.bytes),
            Figure::Rate => Value::Float(per_second(self.bytes as f64, busy_ns)),
        })
    }
}

fn is_chosen(op: Op, choice: Option<Choice>) -> bool {
    match choice {
        None => op.row().class != Class::Control,
        Some(Choice::Op(chosen)) => op == chosen,
        Some(Choice::Class(class)) => op.row().class == class,
    }
}

fn text(label: &LabelRecord) -> Cow<'_, str> {
    String::from_utf8_lossy(&label.path)
}

/// Why a label has no figures.
pub(crate) fn never_executed(path: &str, record: &RankRecord) -> String {
    let executed = record.labels.iter().filter(|label| label.count > 0);
    let mut labels: Vec<String> = executed.map(|label| format!("\"{}\"", text(label))).collect();
    labels.dedup();
    let more = labels.len().saturating_sub(LISTED);
    labels.truncate(LISTED);
    let known = match labels.is_empty() {
        true => "no label was executed so far".to_string(),
        false if more > 0 => format!("labels so far: {} and {more} more", labels.join(", ")),
        false => format!("labels so far: {}", labels.join(", ")),
    };
    format!("the label \"{path}\" was not executed; {known}")
}

#[cfg(test)]
mod figures_tests {
    use super::*;
    use crate::recorder::{Medium, Meta, Recorder, Timing};
    use model::event::NO_ID;

    /// A rank that writes 1000 bytes in "a" and 24 in "a/b", a millisecond each, twice.
    fn record(late_ns: u64) -> RankRecord {
        let meta = Meta { rank: 0, ranks: 2, sites: 4, events: None };
        let mut recorder = Recorder::create(Medium::Heap, &meta).unwrap();
        for turn in 0..2 {
            let start_ns = late_ns + turn * 10_000_000;
            let outer = recorder.label(NO_ID, b"a", LabelKind::Wall);
            let inner = recorder.label(outer, b"b", LabelKind::Wall);
            for (label, bytes) in [(outer, 1000), (inner, 24)] {
                let stat = recorder.stat(label, Op::Fwrite);
                recorder.done(stat, 1, Timing::default(), bytes, false);
            }
            let stat = recorder.stat(inner, Op::Fsync);
            recorder.done(stat, 1, Timing::default(), 0, false);
            recorder.occurrence(outer, start_ns, start_ns + 1_000_000, 0);
        }
        let other = recorder.label(NO_ID, b"ab", LabelKind::Wall);
        let stat = recorder.stat(other, Op::Fwrite);
        recorder.done(stat, 1, Timing::default(), 7, false);
        recorder.figures_so_far().unwrap()
    }

    fn value(figure: Figure, choice: Option<Choice>) -> Option<Value> {
        let ranks = [0, 500_000].map(record);
        let all = ranks.iter().map(|rank| LabelFigures::of_rank(rank, "a", choice));
        model::merge::merge_all(all).value(figure)
    }

    #[test]
    fn figures_are_of_the_label_and_those_in_it_over_all_ranks() {
        let writes = Some(Choice::Class(Class::Write));
        assert_eq!(value(Figure::Seconds, None), Some(Value::Float(0.003)));
        assert_eq!(value(Figure::Count, None), Some(Value::Int(12)));
        assert_eq!(value(Figure::Count, Some(Choice::Op(Op::Fsync))), Some(Value::Int(4)));
        assert_eq!(value(Figure::Bytes, writes), Some(Value::Int(4 * 1024)));
        assert_eq!(value(Figure::Bytes, Some(Choice::Class(Class::Read))), Some(Value::Int(0)));
        assert_eq!(value(Figure::Rate, writes), Some(Value::Float(4096.0 / 0.003)));
    }

    #[test]
    fn a_label_that_was_not_executed_has_none() {
        let rank = record(0);
        assert_eq!(LabelFigures::of_rank(&rank, "c", None).value(Figure::Seconds), None);
        let expected = "the label \"c\" was not executed; labels so far: \"a\"";
        assert_eq!(never_executed("c", &rank), expected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{BusyRecord, LabelRecord, Occurrence};
    use model::Histogram;
    use model::plan::LabelKind;
    use proptest::prelude::*;

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

    fn label(spans: &[Interval]) -> LabelRecord {
        let kept = spans.iter().zip(0..).map(|([start_ns, end_ns], index)| Occurrence {
            index,
            start_ns: *start_ns,
            end_ns: *end_ns,
            own_ns: 0,
        });
        LabelRecord {
            path: b"l".to_vec(),
            kind: LabelKind::Wall,
            position: 0,
            count: spans.len() as u64,
            entered_ns: None,
            kept: kept.collect(),
            more: Histogram::default(),
            busy: BusyRecord::default(),
        }
    }

    /// Occurrences that follow each other, from gaps and lengths.
    fn following(steps: &[(u64, u64)]) -> Vec<Interval> {
        let mut now = 0;
        let step = |(gap, length): &(u64, u64)| {
            let start = now + gap;
            now = start + length;
            [start, now]
        };
        steps.iter().map(step).collect()
    }

    fn merged(ranks: &[Vec<Interval>]) -> Busy {
        model::merge::merge_all(ranks.iter().map(|rank| Busy::from_label(&label(rank), None)))
    }

    #[test]
    fn ranks_that_drift_apart_are_not_counted_twice() {
        // Two ranks, one a second late, fifty labels of a millisecond.
        let rank =
            |late: u64| (0..50).map(|at| [late + at * 1000, late + at * 1000 + 1000]).collect();
        let busy = merged(&[rank(0), rank(1_000_000)]).finish(2).unwrap();
        assert_eq!((busy.busy_ns, busy.is_bound, busy.hull), (100_000, false, [0, 1_050_000]));
    }

    #[test]
    fn a_single_occurrence_lasts_from_the_first_start_to_the_last_end() {
        let busy = merged(&[vec![[10, 20]], vec![[50, 60]]]);
        assert_eq!(busy.finish(1).unwrap().busy_ns, 50);
        assert_eq!(Busy::default().finish(1), None);
    }

    #[test]
    fn one_that_was_cut_off_counts_too() {
        let cut_off = Busy::from_label(&label(&[[0, 10]]), Some([20, 40])).finish(2).unwrap();
        assert_eq!((cut_off.busy_ns, cut_off.is_bound), (30, false));
    }

    #[test]
    fn too_many_intervals_make_a_bound_and_say_so() {
        let every_second = |from: u64| -> Vec<Interval> {
            (0..2 * MAX_INTERVALS as u64)
                .map(|at| [from + at * 100, from + at * 100 + 10])
                .collect()
        };
        let true_ns = 40 * MAX_INTERVALS as u64;
        let one = merged(&[every_second(0)]).finish(2).unwrap();
        assert_eq!((one.busy_ns, one.is_bound), (true_ns / 2, false), "one rank is known exactly");
        let two = merged(&[every_second(0), every_second(50)]).finish(2).unwrap();
        assert_eq!(two.busy_ns, true_ns, "the sum over ranks bounds it too");
        assert!(two.is_bound);
    }

    proptest! {
        #[test]
        fn the_union_is_that_of_every_instant(
            ranks in prop::collection::vec(prop::collection::vec((0u64..5, 0u64..5), 0..20), 1..5),
        ) {
            let ranks: Vec<_> = ranks.iter().map(|steps| following(steps)).collect();
            let inside = |instant: u64| {
                ranks.iter().flatten().any(|[start, end]| (*start..*end).contains(&instant))
            };
            let expected = (0..200).filter(|instant| inside(*instant)).count() as u64;
            let busy = merged(&ranks).finish(2).unwrap_or_default();
            prop_assert_eq!(busy.busy_ns, expected);
            prop_assert!(!busy.is_bound);
            prop_assert!(busy.busy_ns <= busy.hull[1] - busy.hull[0]);
        }
    }
}
