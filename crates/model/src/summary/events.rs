//! Rows from events: what an event table or an imported log gives.

use super::{Figures, RankFigures};
use crate::event::{FLAG_DUE, FLAG_EXPECTED, FLAG_FAILED, FLAG_SHORT, NO_ID};
use crate::run::Row;
use crate::{Event, Histogram, Op, Part};
use std::collections::BTreeMap;

/// Label and operation: numbers of the table's labels and of operations.
type Key = (u32, u8);

/// Rank and number of an event: rows stand in the order of first appearance.
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
        ranks.entry(rank).or_insert_with(|| RankFigures::of(op)).add(event);
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
            let mut figures = Figures::default();
            ranks.iter().for_each(|(rank, stat)| figures.add_rank(*rank, stat));
            let path = if number == NO_ID { "" } else { label(number) };
            let busy_ns = busy_ns(path).unwrap_or_else(|| figures.interval_ns());
            if let Some(op) = Op::from_u8(op) {
                figures.rows(path, op, busy_ns, &mut rows);
            }
        }
        rows
    }
}

impl RankFigures {
    /// Nothing yet.
    fn of(op: Op) -> RankFigures {
        RankFigures {
            overlap_ns: 0,
            failed: 0,
            expected: 0,
            short: 0,
            bytes: 0,
            first_ns: u64::MAX,
            last_ns: 0,
            done: Histogram::default(),
            service: Histogram::default(),
            failed_times: Histogram::default(),
            parts: op.is_compound().then(Box::default),
        }
    }

    /// Adds an execution. A part that took no time cannot be told from one that was not executed.
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
