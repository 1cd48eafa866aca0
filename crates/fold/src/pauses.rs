//! Pauses between operations, which become `compute` statements.
//!
//! All pauses of a place become their mean, which keeps their sum. Places are taken from the
//! longest sum down until the rest is below `DROPPED` of all pauses.
//!
//! They take a tenth of the lines at most: then the time of small ones goes to larger ones beside them.
//!
//! ```text
//! compute(3ms); a; compute(10us); b; compute(20us); c    -> compute(3030us); a; b; c
//! ```

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

/// Lines of the program for each of its pauses, at least.
const LINES: usize = 10;

/// Gives the time of small pauses to larger ones beside them, if else there were too many. What takes a tenth of all
/// pauses stays where it is.
pub fn gather(bodies: &mut [&mut [Item]], recorder: Recorder) {
    let shared: Vec<&[Item]> = bodies.iter().map(|body| &**body).collect();
    let (places, all) = (Places::chosen(&shared, recorder), gaps(&shared));
    let written = all.iter().filter(|gap| places.think_ns(gap).is_some());
    let mut written: Vec<u64> = written.map(|gap| gap.sum_ns).collect();
    written.sort_unstable();
    let lines: usize = shared.iter().map(|body| count_lines(body)).sum();
    let allowed = (lines / (LINES - 1)).max(1);
    let Some(first) = written.len().checked_sub(allowed).filter(|more| *more > 0) else { return };
    let all_ns = all.iter().map(|gap| gap.sum_ns).fold(0, u64::saturating_add);
    let large_ns = written[first].min(all_ns / LINES as u64).max(1);
    let gathering = Gathering { large_ns, recorder };
    bodies.iter_mut().for_each(|body| gathering.within(body));
}

/// The pauses of all places.
fn gaps(bodies: &[&[Item]]) -> Vec<Gap> {
    let mut all = Vec::new();
    bodies.iter().copied().flatten().for_each(|item| item.each(&mut |item| all.push(item.gap)));
    all
}

/// Lines of statements and blocks.
fn count_lines(items: &[Item]) -> usize {
    let lines = |item: &Item| match &item.body[..] {
        [] => 1,
        [one] if one.body.is_empty() => 1,
        body => 2 + count_lines(body),
    };
    items.iter().map(lines).sum()
}

/// Gives time to places with a large sum.
#[derive(Clone, Copy, Debug)]
struct Gathering {
    large_ns: u64,
    recorder: Recorder,
}

impl Gathering {
    /// The time of a body stays in it: what no larger one takes is where the longest was.
    fn within(&self, items: &mut [Item]) {
        let times = executions(items);
        let sums: Vec<u64> = items.iter().map(|item| item.gap.sum_ns).collect();
        let rest = self.gather(items, times);
        let places = items.iter_mut().zip(sums).rev();
        let places = places.filter(|(item, _)| {
            item.gap.count > 0 && !item.is_pause() && !matches!(item.form, Form::Only(_))
        });
        if let Some((longest, _)) = places.max_by_key(|(_, sum_ns)| *sum_ns) {
            longest.gap.take_time(rest, times);
        }
    }

    /// Gives what is left for a place further out, if nothing in the body is large. `times`: how often it is
    /// executed.
    fn gather(&self, items: &mut [Item], times: u64) -> Gap {
        let (mut rest, mut last) = (Gap::default(), None);
        for (at, item) in items.iter_mut().enumerate().filter(|(_, item)| !item.is_pause()) {
            self.inner(item, times);
            if item.gap.sum_ns >= self.large_ns {
                item.gap.take_time(std::mem::take(&mut rest), times);
                last = Some(at);
            } else if let Some(ns) = self.own_ns(&item.gap) {
                rest.sum_ns += ns;
                rest.waited_ns += item.gap.waited_ns.min(ns);
                item.gap = item.gap.without_time();
            }
        }
        if let Some(at) = last {
            items[at].gap.take_time(std::mem::take(&mut rest), times);
        }
        rest
    }

    /// Takes small pauses out of the body of an item, where it is executed as often as all beside it.
    fn inner(&self, item: &mut Item, times: u64) {
        if item.gap.count == 0 {
            item.gap.count = times;
        }
        let own = executions(&item.body);
        match item.form {
            Form::Only(_) => self.within(&mut item.body),
            _ if times == 0 => self.within(&mut item.body),
            _ => {
                let rest = self.gather(&mut item.body, own);
                item.gap.take_time(rest, item.gap.count);
            }
        }
    }

    /// The program's own part of a sum; `None`: the recorder caused it.
    fn own_ns(&self, gap: &Gap) -> Option<u64> {
        let own_ns = self.recorder.own_ns(gap.mean_ns());
        (own_ns > 0).then(|| own_ns.saturating_mul(gap.count.max(1)))
    }
}

/// How often a body is executed, as far as its statements tell.
fn executions(items: &[Item]) -> u64 {
    items
        .iter()
        .filter(|item| item.form != Form::Loop)
        .map(|item| item.gap.count)
        .max()
        .unwrap_or(0)
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
        let sums = gaps(bodies).into_iter().map(|gap| gap.sum_ns).collect();
        Places { least_ns: least_sum(sums), recorder }
    }

    /// The pause of a place, nanoseconds.
    pub fn think_ns(&self, gap: &Gap) -> Option<u64> {
        let ns = self.mean_ns(gap);
        (gap.sum_ns >= self.least_ns && ns > 0).then_some(ns)
    }

    /// Mean of the program's own pauses of a place, nanoseconds; 0 if the recorder caused them.
    pub fn mean_ns(&self, gap: &Gap) -> u64 {
        self.recorder.own_ns(gap.mean_ns())
    }
}

/// Shorter pauses are overhead of executing statements.
const SHORTEST_NS: u64 = 500;
/// The same where nobody knows what the recorder added: strace adds 20 us and more.
const UNKNOWN_NS: u64 = 10_000;

/// Shortest sum that is written.
fn least_sum(mut sums: Vec<u64>) -> u64 {
    sums.sort_unstable();
    let allowed = sums.iter().fold(0, |all: u64, ns| all.saturating_add(*ns)) as f64 * DROPPED;
    let mut dropped = 0.0;
    let least = sums.into_iter().find(|ns| {
        dropped += *ns as f64;
        dropped > allowed
    });
    least.unwrap_or(u64::MAX).max(1)
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
mod think_tests {
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

    fn item(form: Form, ns: u64, body: Vec<Item>) -> Item {
        Item { form, numbers: Vec::new(), gap: Gap::once(ns, false), body }
    }

    fn leaf(ns: u64) -> Item {
        item(Form::Leaf(9), ns, Vec::new())
    }

    #[test]
    fn pauses_before_the_first_statements_of_labels_stand_before_the_labels() {
        let inner = item(Form::Block(5), 0, vec![leaf(30), leaf(4)]);
        let mut items = vec![leaf(1), item(Form::Block(4), 0, vec![inner])];
        before_labels(&mut items);
        let sums = |items: &[Item]| items.iter().map(|item| item.gap.sum_ns).collect::<Vec<_>>();
        assert_eq!(sums(&items), [1, 30]);
        assert_eq!((sums(&items[1].body), sums(&items[1].body[0].body)), (vec![0], vec![0, 4]));
    }

    #[test]
    fn small_pauses_go_to_large_ones_where_they_are_too_many() {
        let leaves = |all: &[u64]| -> Vec<Item> { all.iter().map(|ns| leaf(*ns)).collect() };
        let times = |items: &[Item]| items.iter().map(|item| item.gap.sum_ns).collect::<Vec<_>>();
        let gathered = |mut items: Vec<Item>| {
            gather(&mut [&mut items], Recorder::adding(Some(0)));
            items
        };
        // As many as there may be, or large ones: they stay.
        for all in [&[0; 9][..], &[7_000, 0, 0, 0, 0, 0, 0, 0, 0], &[9_000, 9_000, 9_000]] {
            assert_eq!(times(&gathered(leaves(all))), all);
        }
        let all = gathered(leaves(&[1_000, 40_000, 1_000, 400, 2_000]));
        // Less than half a microsecond is what executing takes.
        assert_eq!(times(&all), [0, 44_000, 0, 400, 0]);
        // What no body has a place for goes further out; what some ranks wait does not.
        let inner = item(Form::Loop, 0, leaves(&[1_000, 1_500]));
        let some = item(Form::Only([1].into()), 0, leaves(&[600]));
        let all = gathered(vec![leaf(50_000), leaf(0), inner, some]);
        assert_eq!(times(&all), [52_500, 0, 0, 0]);
        assert_eq!((times(&all[2].body), times(&all[3].body)), (vec![0, 0], vec![600]));
        // A rest that is not large stays where the longest of it was.
        let inner = item(Form::Loop, 0, leaves(&[50_000, 50_000]));
        let all = gathered(vec![leaf(1_000), inner, leaf(2_000), leaf(900)]);
        assert_eq!(times(&all), [0, 0, 3_900, 0]);
        assert_eq!(times(&all[1].body), [50_000, 50_000]);
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
