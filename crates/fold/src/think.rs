//! Pauses between operations, which become `compute` statements.
//!
//! All pauses of a place become their mean, which keeps their sum. Places are taken from the
//! longest sum down until the rest is below `DROPPED` of all pauses.

use super::long_pauses::DROPPED;
use super::ranks::{Form, Item};
use super::tree::Gap;

/// How pauses are written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Think {
    /// The mean of each place.
    #[default]
    Typical,
    /// Every one as it was.
    Exact,
    /// None.
    None,
}

/// Overhead of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorder {
    /// Shorter pauses are its own, or of the machine that executes statements, nanoseconds.
    shortest_ns: u64,
    /// Time that it adds to each pause, nanoseconds.
    added_ns: u64,
}

impl Recorder {
    /// With what recording added to each call, where it was measured.
    pub fn adding(ns: Option<u64>) -> Recorder {
        match ns {
            Some(ns) => Recorder { shortest_ns: SHORTEST_NS.max(10 * ns), added_ns: ns },
            None => Recorder { shortest_ns: UNKNOWN_NS, added_ns: 0 },
        }
    }

    /// The program's own part of a pause; 0: there is none.
    pub fn own_ns(&self, ns: u64) -> u64 {
        if ns < self.shortest_ns { 0 } else { ns - self.added_ns }
    }
}

/// Moves pauses before the first statements of labels out of the labels: nothing is at work in them yet.
pub fn before_labels(items: &mut [Item]) {
    for item in items {
        before_labels(&mut item.body);
        if let (Form::Block(_), Some(first)) = (&item.form, item.body.first_mut()) {
            item.gap.add(&std::mem::take(&mut first.gap));
        }
    }
}

/// The choice of places that get a pause.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Shortest sum, nanoseconds.
    least_ns: u64,
    recorder: Recorder,
}

impl Places {
    /// Chooses among all places of a program: in its statements and in its procs.
    pub fn chosen(bodies: &[&[Item]], recorder: Recorder) -> Places {
        let mut sums = Vec::new();
        bodies.iter().copied().flatten().for_each(|item| collect(item, &mut sums));
        sums.sort_unstable();
        let all: u64 = sums.iter().fold(0, |all, ns| all.saturating_add(*ns));
        let allowed = all as f64 * DROPPED;
        let mut dropped = 0.0;
        let least = sums.iter().find(|ns| {
            dropped += **ns as f64;
            dropped > allowed
        });
        let least_ns = least.copied().unwrap_or(u64::MAX).max(1);
        Places { least_ns, recorder }
    }

    /// The pause of a place, nanoseconds.
    pub fn think_ns(&self, gap: &Gap) -> Option<u64> {
        let ns = self.mean_ns(gap);
        (gap.sum_ns >= self.least_ns && ns > 0).then_some(ns)
    }

    /// Mean of the program's own pauses of a place, nanoseconds; 0 if the recorder caused them.
    pub fn mean_ns(&self, gap: &Gap) -> u64 {
        let mean = (gap.sum_ns as f64 / gap.count.max(1) as f64).round() as u64;
        self.recorder.own_ns(mean)
    }
}

/// Shorter pauses are overhead of executing statements.
const SHORTEST_NS: u64 = 500;
/// The same where nobody knows what the recorder added: strace adds 20 us and more.
const UNKNOWN_NS: u64 = 10_000;

fn collect(item: &Item, sums: &mut Vec<u64>) {
    sums.push(item.gap.sum_ns);
    item.body.iter().for_each(|item| collect(item, sums));
}

/// Three digits and a unit.
pub fn duration(ns: u64) -> String {
    let (unit_ns, unit) = match ns {
        0..10_000 => (1, "ns"),
        10_000..10_000_000 => (1_000, "us"),
        10_000_000..10_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    format!("{}{unit}", (ns + unit_ns / 2) / unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_recorder_adds_is_no_pause_of_the_program() {
        for (added_ns, pause_ns, own_ns) in [
            (None, 9_999, 0),
            (None, 10_000, 10_000),
            (Some(50), 499, 0),
            (Some(50), 1_050, 1_000),
            (Some(300), 2_999, 0),
            (Some(300), 3_300, 3_000),
        ] {
            assert_eq!(Recorder::adding(added_ns).own_ns(pause_ns), own_ns, "{added_ns:?}");
        }
    }

    #[test]
    fn pauses_before_the_first_statements_of_labels_stand_before_the_labels() {
        let item = |form: Form, ns: u64, body: Vec<Item>| {
            let gap = Gap::once(ns, false);
            Item { form, numbers: Vec::new(), gap, body }
        };
        let leaf = |ns: u64| item(Form::Leaf(9), ns, Vec::new());
        let inner = item(Form::Block(5), 0, vec![leaf(30), leaf(4)]);
        let mut items = vec![leaf(1), item(Form::Block(4), 0, vec![inner])];
        before_labels(&mut items);
        let sums = |items: &[Item]| items.iter().map(|item| item.gap.sum_ns).collect::<Vec<_>>();
        assert_eq!(sums(&items), [1, 30]);
        assert_eq!((sums(&items[1].body), sums(&items[1].body[0].body)), (vec![0], vec![0, 4]));
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        for (ns, expected) in
            [(500, "500ns"), (12_345, "12us"), (2_000_000, "2000us"), (25_499_999, "25ms")]
        {
            assert_eq!(duration(ns), expected);
        }
    }
}
