//! The quantities of a comparison, each once.
//!
//! A label's time, its rate and the mean time of its only operation say the same, so one of them is
//! tested. A label with several operations has its time and, of each operation, the time or rate
//! that is the operation's own.
//!
//! | label | rows |
//! |---|---|
//! | one operation | its rate over the label: `mib_s`, `ops_s`; else `mean_ns` |
//! | several operations | `time_ns` of the label; of each operation `rank_mib_s` if it moves bytes, else `mean_ns` |
//! | no operation, one label inside | none: the label inside has them |
//! | a loop with a limit inside | of the loop's operations the rate over the label ([`crate::limited`]) |
//! | no label | of each operation as in a label with several |

use crate::statistics::{Metric, Series, series_with};
use model::Run;
use model::run::Row;
use std::collections::{BTreeMap, BTreeSet};

/// Label path, operation ("" for the label itself) and point of the sweep.
pub(crate) type Key = (String, String, u32);

/// Number of a run on its side, and of a repetition in it.
type RunAndRepetition = (usize, u32);

/// The figures of one side by what they are of, each in order of time.
#[derive(Default)]
pub(crate) struct Samples {
    order: Vec<Key>,
    seen: BTreeSet<Key>,
    of: BTreeMap<(Key, Metric), Vec<(RunAndRepetition, f64)>>,
}

/// One thing to compare.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub key: Key,
    pub metric: Metric,
}

/// All figures of a row that can be compared.
fn all_figures(row: &Row) -> Vec<(Metric, f64)> {
    let figures = [
        row.mib_s.map(|rate| (Metric::MibS, rate)),
        row.rank_mib_s.map(|rate| (Metric::RankMibS, rate)),
        row.ops_s.map(|rate| (Metric::OpsS, rate)),
        row.mean_ns.map(|ns| (Metric::MeanNs, ns)),
    ];
    figures.into_iter().flatten().collect()
}

impl Samples {
    pub fn of(runs: &[Run]) -> Samples {
        let mut samples = Samples::default();
        for (number, run) in runs.iter().enumerate() {
            // Parts are inside their operation, whose figure is compared.
            let whole = |series: &Series| !series.op.contains('.');
            series_with(run, all_figures).into_iter().filter(whole).for_each(|found| {
                samples.add(number, found);
            });
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
}

/// Everything that both sides have, each quantity once.
pub(crate) fn shared(a: &Samples, b: &Samples) -> Vec<Quantity> {
    let labels = Labels::of(a.keys().chain(b.keys()));
    let both = |key: &Key, metric: Metric| a.has(key, metric) && b.has(key, metric);
    let first = |key: &Key, metrics: &[Metric]| {
        let metric = metrics.iter().copied().find(|metric| both(key, *metric))?;
        Some(Quantity { key: key.clone(), metric })
    };
    let quantity = |key: &Key| match (key.1.as_str(), labels.ops(key)) {
        ("", _) if labels.says_another(key) => None,
        ("", _) => first(key, &[Metric::TimeNs]),
        (_, 1) if !key.0.is_empty() => first(key, &[Metric::MibS, Metric::OpsS, Metric::MeanNs]),
        // A label around a loop with a limit has the rates of both its parts together.
        _ => first(key, &[Metric::RankMibS, Metric::MeanNs, Metric::MibS, Metric::OpsS]),
    };
    a.keys().filter_map(quantity).collect()
}

/// Number of quantities of two programs that measure these labels and operations, of which figures are
/// not known yet. "" is no label, or no operation: the label itself.
pub(crate) fn count(a: &BTreeSet<(String, String)>, b: &BTreeSet<(String, String)>) -> usize {
    let key = |(label, op): &(String, String)| (label.clone(), op.clone(), 0);
    let all: Vec<Key> = a.union(b).map(key).collect();
    let labels = Labels::of(all.iter());
    let both = a.intersection(b).map(key);
    both.filter(|key| !labels.says_another(key)).count()
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

    /// Operations of the key's label. One that has labels inside besides is more than its operation.
    fn ops(&self, key: &Key) -> usize {
        let of = |map: &BTreeMap<(String, u32), BTreeSet<String>>| {
            map.get(&(key.0.clone(), key.2)).map_or(0, BTreeSet::len)
        };
        match (of(&self.ops), of(&self.inside)) {
            (0, _) => 0,
            (ops, inside) => ops + inside,
        }
    }

    /// The label itself is the only thing inside of it: that has its time.
    fn says_another(&self, key: &Key) -> bool {
        let ops = self.ops(key);
        key.1.is_empty() && (ops == 1 || (ops == 0 && self.inside(key) == 1))
    }

    fn inside(&self, key: &Key) -> usize {
        self.inside.get(&(key.0.clone(), key.2)).map_or(0, BTreeSet::len)
    }
}
