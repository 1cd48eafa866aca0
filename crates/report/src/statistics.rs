//! Statistics of a sweep: every figure of the rows over the repetitions of its cell.
//!
//! ```text
//! rows, labels ──series──▶ label · op · metric · cell: one figure per repetition ──of──▶ Statistic
//! ```
//!
//! | metric | of | is |
//! |---|---|---|
//! | `time_ns` | labels | `busy_ns` |
//! | `mib_s` | rows with bytes | as in the row |
//! | `ops_s` | rows of whole operations | as in the row |
//! | `mean_ns` | rows without bytes | as in the row |
//!
//! Labels around loops with a limit have the rates of [`limited`] besides, which are over all of the label.
//!
//! Executions that did not finish enter nothing.

use crate::limited;
use crate::stats::{self, Summary};
use model::Run;
use model::run::{LabelRow, Row};
use model::summary::belongs_to;
use model::units::Measure;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A figure of a row or label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Busy time of a label, nanoseconds.
    TimeNs,
    /// Bytes of all ranks by the time of the label, MiB/s.
    MibS,
    /// Bytes of a rank by the time it spent in the operation, mean over ranks, MiB/s. Compared;
    /// not among the statistics of a sweep.
    RankMibS,
    /// Operations of all ranks by the time of the label, 1/s.
    OpsS,
    /// Mean time of an operation, nanoseconds.
    MeanNs,
    /// Median time of an operation, nanoseconds. Compared; not among the statistics of a sweep.
    P50Ns,
    /// 99th percentile of the times of an operation, nanoseconds. Shown in comparisons.
    P99Ns,
    /// Operations of a label times their median times, nanoseconds. Compared; not among the statistics
    /// of a sweep.
    TypicalNs,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 8] = [
        Metric::TimeNs,
        Metric::MibS,
        Metric::RankMibS,
        Metric::OpsS,
        Metric::MeanNs,
        Metric::P50Ns,
        Metric::P99Ns,
        Metric::TypicalNs,
    ];

    /// In words.
    pub fn quantity(self) -> &'static str {
        match self {
            Metric::TimeNs => "time",
            Metric::MibS | Metric::OpsS => "rate",
            Metric::RankMibS => "rate per rank",
            Metric::MeanNs => "mean time",
            Metric::P50Ns => "p50",
            Metric::P99Ns => "p99",
            Metric::TypicalNs => "calls x p50",
        }
    }

    /// Its quantity, in words.
    pub fn measure(self) -> Measure {
        match self {
            Metric::TimeNs | Metric::MeanNs | Metric::P50Ns | Metric::P99Ns | Metric::TypicalNs => {
                Measure::Time
            }
            Metric::MibS | Metric::RankMibS => Measure::ByteRate,
            Metric::OpsS => Measure::OpRate,
        }
    }
}

/// One figure of one cell, repetition by repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Label path.
    pub label: String,
    /// Operation, or `operation.part`; "" for the label itself.
    pub op: String,
    /// The figure.
    pub metric: Metric,
    /// Point of the sweep.
    pub cell: u32,
    /// Numbers of the repetitions, ascending, and their figures.
    pub points: Vec<(u32, f64)>,
}

/// One figure over the repetitions of a cell, as in docs/run.schema.json.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Statistic {
    /// Label path.
    pub label: String,
    /// Operation, or `operation.part`; "" for the label itself.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// The figure.
    pub metric: Metric,
    /// Repetitions that have it.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Sample standard deviation.
    pub sd: Option<f64>,
    /// Lower end of the 95 % confidence interval of the median.
    pub ci95_low: Option<f64>,
    /// Its upper end.
    pub ci95_high: Option<f64>,
    /// Lower end of the 95 % confidence interval of the mean.
    pub mean_ci95_low: Option<f64>,
    /// Its upper end.
    pub mean_ci95_high: Option<f64>,
    /// Repetitions that stand apart.
    pub outliers: Vec<u32>,
}

impl Statistic {
    /// How far the farther end of the confidence interval is from the median, as a share of it.
    pub fn margin(&self) -> Option<f64> {
        let (low, high) = (self.median - self.ci95_low?, self.ci95_high? - self.median);
        Some(low.max(high) / self.median).filter(|share| share.is_finite())
    }
}

/// The statistics of a sweep, label by label; none without a sweep.
pub fn of(run: &Run) -> Vec<Statistic> {
    if run.run.sweep.is_none() {
        return Vec::new();
    }
    series(run).into_iter().filter_map(Series::sum_up).collect()
}

/// Those that are shown, figures of labels before figures of none. The rate of an operation that moves
/// no bytes divides its number by the time of its label, which says something of the operation only where
/// it takes most of that time and none moves bytes: else it repeats the time of the label.
pub fn shown(run: &Run) -> Vec<Statistic> {
    let spent = Spent::of(run);
    let tells = |one: &Statistic| {
        !one.op.contains('.')
            && (one.metric != Metric::OpsS || spent.moves(one) || spent.takes_most(one))
    };
    let (labelled, others): (Vec<Statistic>, Vec<Statistic>) =
        of(run).into_iter().filter(tells).partition(|one| !one.label.is_empty());
    labelled.into_iter().chain(others).collect()
}

/// Time in operations by label and operation, over all executions; those with bytes apart.
#[derive(Default)]
struct Spent<'a> {
    ns: BTreeMap<(&'a str, &'a str), f64>,
    moving: HashSet<(String, String)>,
}

impl Spent<'_> {
    fn of(run: &Run) -> Spent<'_> {
        let mut spent = Spent::default();
        for row in run.rows.iter().filter(|row| row.part_of.is_none()) {
            let ns = row.mean_ns.unwrap_or(0.0) * row.count as f64;
            *spent.ns.entry((&row.label, &row.op)).or_default() += ns;
            if row.mib_s.is_some() {
                spent.moving.insert((row.label.clone(), row.op.clone()));
            }
        }
        let whole = limited::rows(run).into_iter().filter(|row| row.mib_s.is_some());
        spent.moving.extend(whole.map(|row| (row.label, row.op)));
        spent
    }

    fn moves(&self, one: &Statistic) -> bool {
        self.moving.contains(&(one.label.clone(), one.op.clone()))
    }

    /// Nothing in the label, or in a label inside of it, moves bytes, which have the label's rate, and no
    /// other operation took more. In no label rates are by the operation's own time.
    fn takes_most(&self, one: &Statistic) -> bool {
        let Some(own_ns) = self.ns.get(&(&*one.label, &*one.op)) else { return true };
        let is_inside = |label: &str| belongs_to(label, &one.label);
        let mut inside = self.ns.iter().filter(|((label, _), _)| is_inside(label));
        let moves = self.moving.iter().any(|(label, _)| is_inside(label));
        one.label.is_empty() || !moves && inside.all(|(_, ns)| ns <= own_ns)
    }
}

impl Series {
    /// The figures alone, in order of repetition.
    pub fn figures(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.1).collect()
    }

    fn sum_up(self) -> Option<Statistic> {
        let Summary { n, mean, median, sd, mean_ci95, median_ci95, outliers } =
            stats::summarise(&self.figures())?;
        Some(Statistic {
            label: self.label,
            op: self.op,
            cell: self.cell,
            metric: self.metric,
            n,
            mean,
            median,
            sd,
            ci95_low: median_ci95.map(|interval| interval.low),
            ci95_high: median_ci95.map(|interval| interval.high),
            mean_ci95_low: mean_ci95.map(|interval| interval.low),
            mean_ci95_high: mean_ci95.map(|interval| interval.high),
            outliers: outliers.into_iter().map(|at| self.points[at].0).collect(),
        })
    }
}

/// An execution: cell and repetition.
pub(crate) type At = (u32, u32);

/// Every figure of a run as series over repetitions: labels in order of appearance, of each its
/// time, then its operations; of each the cells. A run without a sweep has series of one point.
pub fn series(run: &Run) -> Vec<Series> {
    series_with(run, figures)
}

/// Gives the figures of a row.
pub(crate) type Figures = fn(&Row) -> Vec<(Metric, f64)>;

/// The same, with the figures of a row that `figures` gives.
pub(crate) fn series_with(run: &Run, figures: Figures) -> Vec<Series> {
    let mut collected = Collected::default();
    let unfinished = unfinished(run);
    for LabelRow { label, cell, repetition, busy_ns, .. } in &run.labels {
        collected.add((label, ""), Metric::TimeNs, (*cell, *repetition), *busy_ns as f64);
    }
    // They replace rows of the label around the loop, which has the rest of its operations.
    let whole = limited::rows(run);
    for row in run.rows.iter().chain(&whole) {
        for (metric, figure) in figures(row) {
            collected.add((&row.label, &row.op), metric, (row.cell, row.repetition), figure);
        }
    }
    collected.finish(&unfinished)
}

/// Executions that did not finish.
pub(crate) fn unfinished(run: &Run) -> HashSet<At> {
    let order = run.run.sweep.iter().flat_map(|sweep| &sweep.order);
    let unfinished = order.filter(|execution| execution.outcome != "finished");
    unfinished.map(|execution| (execution.cell, execution.repetition)).collect()
}

/// The figures of a row that statistics are made of.
pub(crate) fn figures(row: &Row) -> Vec<(Metric, f64)> {
    let whole = row.part_of.is_none();
    let moves = row.mib_s.is_some();
    let figures = [
        row.mib_s.map(|rate| (Metric::MibS, rate)),
        row.ops_s.filter(|_| whole).map(|rate| (Metric::OpsS, rate)),
        row.mean_ns.filter(|_| !moves).map(|ns| (Metric::MeanNs, ns)),
    ];
    figures.into_iter().flatten().collect()
}

/// Points by label, operation, metric and cell, in order of appearance.
#[derive(Default)]
struct Collected<'a> {
    labels: HashMap<&'a str, usize>,
    ops: HashMap<(&'a str, &'a str), usize>,
    points: BTreeMap<Key<'a>, BTreeMap<u32, f64>>,
}

/// Order of the label, order of the operation, metric, cell; then the names themselves.
type Key<'a> = (usize, usize, Metric, u32, &'a str, &'a str);

impl<'a> Collected<'a> {
    fn label(&mut self, label: &'a str) -> usize {
        let next = self.labels.len();
        *self.labels.entry(label).or_insert(next)
    }

    fn add(&mut self, name: (&'a str, &'a str), metric: Metric, at: At, figure: f64) {
        if !figure.is_finite() {
            return;
        }
        let label = self.label(name.0);
        // The label itself comes before its operations.
        let next = self.ops.len() + 1;
        let op = if name.1.is_empty() { 0 } else { *self.ops.entry(name).or_insert(next) };
        let key = (label, op, metric, at.0, name.0, name.1);
        self.points.entry(key).or_default().insert(at.1, figure);
    }

    fn finish(self, unfinished: &HashSet<At>) -> Vec<Series> {
        let series = self.points.into_iter().map(|(key, points)| {
            let (_, _, metric, cell, label, op) = key;
            let finished = |point: &(u32, f64)| !unfinished.contains(&(cell, point.0));
            let points = points.into_iter().filter(finished).collect();
            Series { label: label.into(), op: op.into(), metric, cell, points }
        });
        series.filter(|series| !series.points.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests;
