//! The questions of a comparison: a label at a point of the sweep is one.
//!
//! | label | tested first | tested if the label differs |
//! |---|---|---|
//! | always the same work | its time; its calls times their median (`typical_ns`) | of each operation with several calls `rank_mib_s` or `mean_ns`, and `p50_ns` |
//! | work that varies between repetitions, or a loop with a limit | rate and `p50_ns` of its main operation | the same |
//! | nothing inside but one other label | nothing: the other has its time | |
//!
//! The label's time has everything in it and is noisy; the typical calls leave out what happens seldom.
//! Operations outside of labels are described. They are the questions of a program without labels, each
//! operation one. An operation with one call per execution is setup, and described.

use crate::limited;
use crate::statistics::{Metric, Series, series_with, unfinished};
use model::Run;
use model::run::Row;
use std::collections::{BTreeMap, BTreeSet};

/// Label path, operation ("" for the label itself) and point of the sweep.
pub(crate) type Key = (String, String, u32);

/// Number of a run on its side, and of a repetition in it.
type RunAndRepetition = (usize, u32);

/// Fewest calls per execution whose median is a typical call.
const TYPICAL: u64 = 10;

/// Work of an operation in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub calls: u64,
    pub bytes: u64,
}

/// The figures of one side by what they are of, each in order of time.
#[derive(Default)]
pub(crate) struct Samples {
    order: Vec<Key>,
    seen: BTreeSet<Key>,
    of: BTreeMap<(Key, Metric), Vec<(RunAndRepetition, f64)>>,
    work: BTreeMap<Key, BTreeMap<RunAndRepetition, Work>>,
    /// Time in operations, summed over all executions.
    spent_ns: BTreeMap<Key, f64>,
}

/// One thing to compare.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub key: Key,
    pub metric: Metric,
}

/// Figures of one label at one point that are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Question {
    /// Tested first.
    pub opening: Vec<Quantity>,
    /// Tested if the label differs.
    pub below: Vec<Quantity>,
    /// Never tested.
    pub described: Vec<Quantity>,
}

/// All figures of a row that can be compared.
fn all_figures(row: &Row) -> Vec<(Metric, f64)> {
    let figures = [
        row.mib_s.map(|rate| (Metric::MibS, rate)),
        row.rank_mib_s.map(|rate| (Metric::RankMibS, rate)),
        row.ops_s.map(|rate| (Metric::OpsS, rate)),
        row.mean_ns.map(|ns| (Metric::MeanNs, ns)),
        row.p50_ns.map(|ns| (Metric::P50Ns, ns as f64)),
        row.p99_ns.map(|ns| (Metric::P99Ns, ns as f64)),
    ];
    figures.into_iter().flatten().collect()
}

impl Samples {
    /// The figures of both sides.
    pub fn of_sides(base: &[Run], new: &[Run]) -> (Samples, Samples) {
        let (mut a, mut b) = (Samples::of(base), Samples::of(new));
        for (label, cell) in shared_places(&a, &b) {
            let ops = typical_operations(&a, &b, &label, cell);
            a.add_typical(&label, cell, &ops);
            b.add_typical(&label, cell, &ops);
        }
        (a, b)
    }

    fn of(runs: &[Run]) -> Samples {
        let mut samples = Samples::default();
        for (number, run) in runs.iter().enumerate() {
            // Parts are inside their operation, whose figure is compared.
            let whole = |series: &Series| !series.op.contains('.');
            series_with(run, all_figures).into_iter().filter(whole).for_each(|found| {
                samples.add(number, found);
            });
            let unfinished = unfinished(run);
            let finished = |row: &&Row| !unfinished.contains(&(row.cell, row.repetition));
            let rows = run.rows.iter().filter(|row| row.part_of.is_none()).filter(finished);
            rows.for_each(|row| samples.add_work(number, row));
        }
        samples
    }

    fn add(&mut self, run: usize, found: Series) {
        let key = (found.label, found.op, found.cell);
        if self.seen.insert(key.clone()) {
            self.order.push(key.clone());
        }
        let useful = found.points.into_iter().filter(|point| point.1.is_finite() && point.1 > 0.0);
        let points = useful.map(|(repetition, figure)| ((run, repetition), figure));
        self.of.entry((key, found.metric)).or_default().extend(points);
    }

    fn add_work(&mut self, run: usize, row: &Row) {
        let key = (row.label.clone(), row.op.clone(), row.cell);
        *self.spent_ns.entry(key.clone()).or_default() +=
            row.mean_ns.unwrap_or(0.0) * row.count as f64;
        let work = Work { calls: row.count, bytes: row.bytes };
        self.work.entry(key).or_default().insert((run, row.repetition), work);
    }

    /// Calls times their median, summed over these operations: of every execution that has them all.
    fn add_typical(&mut self, label: &str, cell: u32, ops: &[String]) {
        let mut sums: BTreeMap<RunAndRepetition, (usize, f64)> = BTreeMap::new();
        for op in ops {
            let key = (label.to_string(), op.clone(), cell);
            let work = self.work.get(&key);
            for (at, median_ns) in self.points(&Quantity { key, metric: Metric::P50Ns }) {
                let calls = work.and_then(|work| work.get(at)).map_or(0, |work| work.calls);
                let sum = sums.entry(*at).or_default();
                *sum = (sum.0 + 1, sum.1 + calls as f64 * median_ns);
            }
        }
        let whole = sums.into_iter().filter(|(_, (number, _))| *number == ops.len());
        let points: Vec<_> = whole.map(|(at, (_, ns))| (at, ns)).collect();
        if !points.is_empty() {
            let key = (label.to_string(), String::new(), cell);
            self.of.insert((key, Metric::TypicalNs), points);
        }
    }

    /// The figures of a quantity with their places.
    pub fn points(&self, of: &Quantity) -> &[(RunAndRepetition, f64)] {
        self.of.get(&(of.key.clone(), of.metric)).map_or(&[], Vec::as_slice)
    }

    /// The figures of a quantity.
    pub fn figures(&self, of: &Quantity) -> Vec<f64> {
        self.points(of).iter().map(|point| point.1).collect()
    }

    fn has(&self, key: &Key, metric: Metric) -> bool {
        self.of.get(&(key.clone(), metric)).is_some_and(|points| !points.is_empty())
    }

    /// Something is known of it.
    pub fn knows(&self, key: &Key) -> bool {
        Metric::ALL.iter().any(|metric| self.has(key, *metric))
    }

    /// The keys with figures, in order of appearance.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.order.iter().filter(|key| self.knows(key))
    }

    /// The work of the operation in each execution, if it is always the same.
    pub fn fixed_work(&self, key: &Key) -> Option<Work> {
        let mut all = self.work.get(key)?.values();
        let first = *all.next()?;
        all.all(|work| *work == first).then_some(first)
    }

    /// The middle one of the numbers of calls, and of bytes, of the executions.
    pub fn median_work(&self, key: &Key) -> Option<Work> {
        let all = self.work.get(key)?.values();
        let middle = |figure: fn(&Work) -> u64| {
            let mut sorted: Vec<u64> = all.clone().map(figure).collect();
            sorted.sort_unstable();
            sorted[sorted.len() / 2]
        };
        Some(Work { calls: middle(|work| work.calls), bytes: middle(|work| work.bytes) })
    }

    fn fewest_calls(&self, key: &Key) -> u64 {
        let all = self.work.get(key).into_iter().flat_map(|all| all.values());
        all.map(|work| work.calls).min().unwrap_or(0)
    }

    /// Rates of a label around a loop with a limit: it has no operation of its own.
    fn is_limited(&self, key: &Key) -> bool {
        !key.1.is_empty() && !self.work.contains_key(key) && self.has(key, Metric::OpsS)
    }
}

/// Labels and points that both sides have, in order of appearance.
fn shared_places(a: &Samples, b: &Samples) -> Vec<(String, u32)> {
    let others: BTreeSet<(&String, u32)> = b.keys().map(|key| (&key.0, key.2)).collect();
    let mut places: Vec<(String, u32)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (label, _, cell) in a.keys() {
        if others.contains(&(label, *cell)) && seen.insert((label, *cell)) {
            places.push((label.clone(), *cell));
        }
    }
    places
}

/// Operations of a label with enough calls on both sides for a typical one; none if one side has others.
fn typical_operations(a: &Samples, b: &Samples, label: &str, cell: u32) -> Vec<String> {
    let with_medians = |side: &Samples| -> BTreeSet<String> {
        let here = |key: &&Key| key.0 == label && key.2 == cell;
        let typical = side
            .keys()
            .filter(here)
            .filter(|key| side.fewest_calls(key) >= TYPICAL && side.has(key, Metric::P50Ns));
        typical.map(|key| key.1.clone()).collect()
    };
    let (ours, theirs) = (with_medians(a), with_medians(b));
    if ours == theirs { ours.into_iter().collect() } else { Vec::new() }
}

/// Everything that both sides have: a question for each label and point; at the end what is asked of none.
pub(crate) fn questions(a: &Samples, b: &Samples) -> Vec<Question> {
    let labels = Labels::of(a.keys().chain(b.keys()));
    let sides = Sides { a, b, labels: &labels };
    let places = shared_places(a, b);
    let (labelled, outside): (Vec<_>, Vec<_>) =
        places.into_iter().partition(|(label, _)| !label.is_empty());
    let mut questions: Vec<Question> =
        labelled.iter().map(|(label, cell)| sides.question(label, *cell)).collect();
    let has_question = questions.iter().any(|question| !question.opening.is_empty());
    for (_, cell) in outside {
        questions.extend(sides.outside_of_labels(cell, has_question));
    }
    questions.retain(|question| *question != Question::default());
    questions
}

struct Sides<'s> {
    a: &'s Samples,
    b: &'s Samples,
    labels: &'s Labels,
}

impl Sides<'_> {
    fn both(&self, key: &Key, metric: Metric) -> bool {
        self.a.has(key, metric) && self.b.has(key, metric)
    }

    fn first(&self, key: &Key, metrics: &[Metric]) -> Option<Quantity> {
        let metric = metrics.iter().copied().find(|metric| self.both(key, *metric))?;
        Some(Quantity { key: key.clone(), metric })
    }

    fn operations(&self, label: &str, cell: u32) -> Vec<Key> {
        let here = |key: &&Key| key.0 == label && key.2 == cell && !key.1.is_empty();
        self.a.keys().filter(here).filter(|key| self.b.knows(key)).cloned().collect()
    }

    fn question(&self, label: &str, cell: u32) -> Question {
        let key: Key = (label.into(), String::new(), cell);
        if self.labels.says_another(&key) {
            return Question::default();
        }
        let ops = self.operations(label, cell);
        if self.is_part_of_limited(label, cell) {
            let described = ops.iter().filter_map(|op| self.own_figure(op)).collect();
            return Question { described, ..Question::default() };
        }
        let time = self.first(&key, &[Metric::TimeNs]);
        let limited = ops.iter().find(|op| self.a.is_limited(op) && self.b.is_limited(op));
        let opening = match limited {
            Some(op) => self.limited(op),
            None if time.is_some() && ops.iter().all(|op| self.is_fixed(op)) => {
                let typical = self.first(&key, &[Metric::TypicalNs]);
                time.into_iter().chain(typical).collect()
            }
            None => self.of_main_operation(&ops),
        };
        let (below, described) = self.of_operations(&ops, &opening);
        Question { opening, below, described }
    }

    /// Every execution of a side did the same.
    fn is_fixed(&self, key: &Key) -> bool {
        self.a.fixed_work(key).is_some() && self.b.fixed_work(key).is_some()
    }

    fn is_part_of_limited(&self, label: &str, cell: u32) -> bool {
        let outer =
            label.rsplit_once('/').filter(|(_, last)| limited::is_part(&format!("/{last}")));
        let Some((outer, _)) = outer else { return false };
        self.operations(outer, cell).iter().any(|op| self.a.is_limited(op) && self.b.is_limited(op))
    }

    /// The rate over the whole label, and the typical call up to the limit.
    fn limited(&self, op: &Key) -> Vec<Quantity> {
        let until = (format!("{}/{}", op.0, model::plan::PARTS[0]), op.1.clone(), op.2);
        let rate = self.first(op, &[Metric::MibS, Metric::OpsS]);
        rate.into_iter().chain(self.typical_call(&until)).collect()
    }

    /// Rate and typical call of the operation that took longest. An imported log may have no time of a label.
    fn of_main_operation(&self, ops: &[Key]) -> Vec<Quantity> {
        let spent = |op: &&Key| {
            let on = |side: &Samples| side.spent_ns.get(*op).copied().unwrap_or(0.0);
            on(self.a) + on(self.b)
        };
        let main = ops.iter().max_by(|one, other| spent(one).total_cmp(&spent(other)));
        let figures = [Metric::MibS, Metric::OpsS, Metric::MeanNs];
        let rate = main.and_then(|op| self.first(op, &figures));
        rate.into_iter().chain(main.and_then(|op| self.typical_call(op))).collect()
    }

    fn typical_call(&self, op: &Key) -> Option<Quantity> {
        let calls = self.a.fewest_calls(op).min(self.b.fewest_calls(op));
        self.first(op, &[Metric::P50Ns]).filter(|_| calls >= TYPICAL)
    }

    fn own_figure(&self, op: &Key) -> Option<Quantity> {
        self.first(op, &[Metric::RankMibS, Metric::MeanNs, Metric::MibS, Metric::OpsS])
    }

    /// Figures of operations that are tested below their label, and those that are not. The only operation
    /// of a label with the same work on both sides says what the label says.
    fn of_operations(&self, ops: &[Key], opening: &[Quantity]) -> (Vec<Quantity>, Vec<Quantity>) {
        let (mut below, mut described) = (Vec::new(), Vec::new());
        for op in ops {
            let is_whole = self.labels.ops(op) == 1
                && (!self.is_fixed(op) || self.a.fixed_work(op) == self.b.fixed_work(op));
            let is_setup = self.a.fewest_calls(op).min(self.b.fewest_calls(op)) < 2;
            let figures = if is_whole || is_setup { &mut described } else { &mut below };
            let found = self.own_figure(op).into_iter().chain(self.typical_call(op));
            figures.extend(found.filter(|quantity| !opening.contains(quantity)));
        }
        (below, described)
    }

    /// Operations in no label: described, or of a program without labels the questions.
    fn outside_of_labels(&self, cell: u32, has_question: bool) -> Vec<Question> {
        let ops = self.operations("", cell);
        let repeats = |op: &&Key| self.a.fewest_calls(op).min(self.b.fewest_calls(op)) > 1;
        let none_repeats = !ops.iter().any(|op| repeats(&op));
        let question = |op: &Key| {
            let figures: Vec<Quantity> =
                self.own_figure(op).into_iter().chain(self.typical_call(op)).collect();
            match !has_question && (none_repeats || repeats(&op)) {
                true => Question { opening: figures, ..Question::default() },
                false => Question { described: figures, ..Question::default() },
            }
        };
        ops.iter().map(question).collect()
    }
}

/// Number of questions of two programs that measure these labels and operations, of which figures are
/// not known yet: at least. "" is no label, or no operation: the label itself.
pub(crate) fn count(a: &BTreeSet<(String, String)>, b: &BTreeSet<(String, String)>) -> usize {
    let key = |(label, op): &(String, String)| (label.clone(), op.clone(), 0);
    let all: Vec<Key> = a.union(b).map(key).collect();
    let labels = Labels::of(all.iter());
    let both = a.intersection(b).map(key);
    let is_question = |key: &Key| {
        let part = key.0.rfind('/').is_some_and(|at| limited::is_part(&key.0[at..]));
        key.1.is_empty() && !key.0.is_empty() && !part && !labels.says_another(key)
    };
    let found = both.filter(is_question).count();
    let outside = a.intersection(b).any(|(label, op)| label.is_empty() && !op.is_empty());
    found.max(usize::from(outside))
}

/// The operations of labels, on either side.
struct Labels {
    ops: BTreeMap<(String, u32), BTreeSet<String>>,
    inside: BTreeMap<(String, u32), BTreeSet<String>>,
}

impl Labels {
    fn of<'a>(keys: impl Iterator<Item = &'a Key>) -> Labels {
        let mut labels = Labels { ops: BTreeMap::new(), inside: BTreeMap::new() };
        for (label, op, cell) in keys {
            if !op.is_empty() {
                labels.ops.entry((label.clone(), *cell)).or_default().insert(op.clone());
            }
            if let Some((outer, inner)) = label.rsplit_once('/') {
                labels.inside.entry((outer.into(), *cell)).or_default().insert(inner.into());
            }
        }
        labels
    }

    /// Operations of the key's label, and labels inside of it.
    fn ops(&self, key: &Key) -> usize {
        let of = |map: &BTreeMap<(String, u32), BTreeSet<String>>| {
            map.get(&(key.0.clone(), key.2)).map_or(0, BTreeSet::len)
        };
        of(&self.ops) + of(&self.inside)
    }

    /// Another label is the only thing inside of it: that has its time.
    fn says_another(&self, key: &Key) -> bool {
        let has_ops = self.ops.contains_key(&(key.0.clone(), key.2));
        key.1.is_empty() && !has_ops && self.ops(key) == 1
    }
}
