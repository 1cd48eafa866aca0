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
//!
//! A mean falsifies pauses of which some are far longer than the others: at least `LONG_NS`, and `RATIO` times as long.
//! These are statements of their own,
//!
//! - where few of them are before one kind of statement: the loop finder makes a nest of what would be one flat loop
//!   with a mean pause in each iteration,
//! - where some ranks have them and the others do not, if all else is the same.
//!
//! ```text
//! w w w pause w w w pause w w w    -> repeat 3 w  repeat 2 { compute(50ms); repeat 3 w }
//! ```
//!
//! Where ranks wait for each other in a loop over blocks, the order of their work depends on its pauses: uneven ones,
//! of which the longest is `LONG_NS` above the mean, are a list.

use super::ranks::{Form, Item};
use super::tree::Gap;
use std::cmp::Reverse;
use std::collections::HashMap;

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

/// Share of the ranks' time that pauses which are left out may take.
pub const DROPPED: f64 = 0.02;

/// Shorter pauses are never long, nanoseconds.
pub const LONG_NS: u64 = 1_000_000;
/// Pauses that are far longer take this many times as long as the others of their place.
const RATIO: u64 = 8;
/// A pause of this part of the median (by time) is long, too.
const BELOW: u64 = 4;
/// Fewest long pauses of a place, unless some are large.
const SEVERAL: usize = 3;
/// A pause of this share of the whole time is worth two more loops.
const LARGE: f64 = 0.1;
const LARGE_NS: u64 = 10 * LONG_NS;

/// Bytes of text that a nest at one place is worth.
const NEST: usize = 240;
/// Bytes of text that one large pause is worth.
const CUT: usize = 120;
/// Bytes of text that any other long pause is worth.
const FEW: usize = 50;

/// The shortest of those pauses before a statement that are far longer than the others, nanoseconds; `None`: all are
/// alike, or the longest is below `least_ns`.
pub fn far_longer(pauses_ns: impl Iterator<Item = u64> + Clone, least_ns: u64) -> Option<u64> {
    let longest_ns = pauses_ns.clone().max().filter(|ns| *ns >= least_ns)?;
    let is_long = |ns: &u64| *ns >= longest_ns / 2;
    let mut others = pauses_ns.filter(|ns| !is_long(ns)).peekable();
    let some = others.peek().is_some();
    (some && others.all(|ns| ns <= longest_ns / RATIO)).then_some(longest_ns / 2)
}

/// The longest pause is that far above the mean that nobody would wait for the same ranks.
pub fn is_uneven(longest_ns: u64, all: &Gap) -> bool {
    longest_ns >= all.mean_ns() + LONG_NS
}

/// A kind of statement: operation, template of the name, label.
pub type Place = (u8, u32, u32);

/// The pauses before each kind of statement.
#[derive(Debug, Default)]
pub struct PauseStatistics {
    places: HashMap<Place, Pauses>,
    large: usize,
}

/// The pauses of a place.
#[derive(Debug, Default)]
struct Pauses {
    /// Number and sum (nanoseconds) of those below `LONG_NS`.
    short: (usize, u64),
    /// The others, nanoseconds.
    long_ns: Vec<u64>,
}

/// Kinds of statements whose long pauses become statements.
#[derive(Clone, Debug, Default)]
pub struct LongPauses {
    /// Shortest long pause of each place, nanoseconds.
    shortest: HashMap<Place, u64>,
    count: usize,
    large: usize,
}

impl PauseStatistics {
    /// Adds a pause. `whole_ns`: duration of the log.
    pub fn add(&mut self, place: Place, ns: u64, whole_ns: u64) {
        let known = self.places.entry(place).or_default();
        match ns < LONG_NS {
            true => known.short = (known.short.0 + 1, known.short.1.saturating_add(ns)),
            false => known.long_ns.push(ns),
        }
        self.large += usize::from(ns >= LARGE_NS && ns as f64 >= LARGE * whole_ns as f64);
    }

    /// Places where few pauses are much longer than the others and matter for the whole.
    pub fn find_long_pauses(&self) -> LongPauses {
        let all_ns = self.places.values().map(Pauses::sum_ns).fold(0, u64::saturating_add);
        let mut long = LongPauses { large: self.large, ..LongPauses::default() };
        for (place, pauses) in &self.places {
            if let Some((from_ns, count, sum_ns)) = pauses.split_long()
                && (count >= SEVERAL || self.large > 0)
                && sum_ns as f64 >= DROPPED * all_ns as f64
            {
                long.shortest.insert(*place, from_ns);
                long.count += count;
            }
        }
        long
    }
}

/// A power of two, or one and a half times one: pauses of nearly one length are long or short together.
fn rounded_down(ns: u64) -> u64 {
    let octave = 1 << ns.max(1).ilog2();
    if ns >= octave + octave / 2 { octave + octave / 2 } else { octave }
}

fn sum(all_ns: &[u64]) -> u64 {
    all_ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
}

impl Pauses {
    fn sum_ns(&self) -> u64 {
        self.short.1.saturating_add(sum(&self.long_ns))
    }

    /// Shortest long pause, number and sum of long pauses; `None` if they are not few or not far longer than the
    /// others.
    fn split_long(&self) -> Option<(u64, usize, u64)> {
        let mut all_ns = self.long_ns.clone();
        all_ns.sort_unstable_by_key(|ns| Reverse(*ns));
        let (half_ns, mut taken_ns) = (self.sum_ns() / 2, 0u64);
        let median_ns = all_ns.iter().find(|ns| {
            taken_ns = taken_ns.saturating_add(**ns);
            taken_ns >= half_ns
        })?;
        let from_ns = rounded_down(*median_ns) / BELOW;
        let (long, rest) = all_ns.split_at(all_ns.partition_point(|ns| *ns >= from_ns));
        let (count, sum_ns) = (long.len(), sum(long));
        let others = self.short.0 + rest.len();
        let usual_ns = self.short.1.saturating_add(sum(rest)) / others.max(1) as u64;
        let is_far = others >= count && sum_ns / count as u64 >= RATIO.saturating_mul(usual_ns);
        is_far.then_some((from_ns.max(LONG_NS), count, sum_ns))
    }
}

impl LongPauses {
    /// No place has long pauses.
    pub fn is_empty(&self) -> bool {
        self.shortest.is_empty()
    }

    /// The pause is a statement.
    pub fn contain(&self, place: Place, ns: u64) -> bool {
        self.shortest.get(&place).is_some_and(|from_ns| ns >= *from_ns)
    }

    /// Bytes of text that these statements are worth.
    pub fn worth(&self, ranks: usize) -> usize {
        let few = self.count.saturating_mul(FEW).min(self.shortest.len() * NEST);
        few.max(self.large.div_ceil(ranks.max(1)) * CUT)
    }
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

#[cfg(test)]
mod long_pauses_tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PLACE: Place = (7, 0, 0);

    fn found(pauses: &[u64]) -> Option<u64> {
        let mut all = PauseStatistics::default();
        pauses.iter().for_each(|ns| all.add(PLACE, *ns, 1000 * MS));
        all.find_long_pauses().shortest.get(&PLACE).copied()
    }

    #[test]
    fn few_pauses_far_longer_than_others_are_long() {
        let every = |width: usize, long: u64, short: u64| -> Vec<u64> {
            (0..96).map(|at| if at % width == 0 { long } else { short }).collect()
        };
        for (pauses, expected) in [
            (every(8, 50 * MS, 2_000), true),
            (every(2, 50 * MS, 2_000), true),
            (every(8, 50 * MS, 3 * MS), true),
            // All are alike, or most are long.
            (every(1, 50 * MS, 0), false),
            (every(8, 9 * MS, 3 * MS), false),
            (every(8, 2_000, 50 * MS), false),
            // Too short to be seen.
            (every(8, 900_000, 200), false),
            (vec![], false),
        ] {
            assert_eq!(found(&pauses).is_some(), expected, "{pauses:?}");
        }
        // One that is far longer does not hide the others.
        let mut pauses = every(8, 50 * MS, 2_000);
        pauses[8] = 300 * MS;
        let from = found(&pauses).expect("long pauses");
        assert!((MS + 1..=50 * MS).contains(&from), "{from}");
        // Below 2 % of all pauses.
        let mut all = PauseStatistics::default();
        pauses.iter().for_each(|ns| all.add(PLACE, *ns, MS));
        all.add((8, 0, 0), 100_000 * MS, MS);
        assert!(all.find_long_pauses().is_empty());
    }

    #[test]
    fn text_may_grow_with_the_pauses_that_it_keeps() {
        for (count, large, places, ranks, expected) in [
            (1, 0, 1, 1, FEW),
            (100, 0, 1, 1, NEST),
            (100, 0, 3, 1, 3 * NEST),
            (1, 1, 1, 1, CUT),
            (8, 8, 1, 4, 2 * CUT),
        ] {
            let shortest = (0..places).map(|at| ((at, 0, 0), MS)).collect();
            assert_eq!(LongPauses { shortest, count, large }.worth(ranks), expected);
        }
    }
}
