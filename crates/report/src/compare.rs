//! `parabench compare`: what can be said of a difference between runs, and what cannot.
//!
//! ```text
//! runs of A, runs of B ──sides──▶ the same program? ──series──▶ inference ──▶ rows, sentences, gates
//! ```
//!
//! The unit of inference is the repetition: an execution of the program, in one run with
//! `--reps` or in several runs. A claim needs at least [`LEAST`] repetitions on either side,
//! p < 0.05 after Holm's correction over all rows compared, and a difference above `min_effect`.

pub mod distance;
pub mod gate;
pub mod inference;
pub mod pictures;
mod sentence;
pub mod show;
mod sides;

pub use gate::{Gate, GateResult};
pub use sides::Difference;

use crate::statistics::{Metric, series};
use inference::{Estimate, holm};
use model::Run;
use model::histogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewest repetitions of a claim.
pub const LEAST: usize = 5;
/// A claim's probability under "no difference" is below this.
const SIGNIFICANCE: f64 = 0.05;

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Smallest difference worth a claim, as a share: 0.02.
    pub min_effect: f64,
    /// Compare although programs or parameters differ.
    pub anyway: bool,
}

/// Runs that are taken together as repetitions of one thing.
#[derive(Clone, Debug)]
pub struct Side {
    /// What it is called: the path of its run.
    pub name: String,
    /// Its runs, in order of time.
    pub runs: Vec<Run>,
}

/// What is claimed of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// B is faster.
    Faster,
    /// B is slower.
    Slower,
    /// No difference can be claimed.
    None,
    /// There are too few repetitions for any claim.
    TooFew,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Label path.
    pub label: String,
    /// Operation; "" for the label's time.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// Which figure: `mib_s` of what moves bytes, `mean_ns` of other operations, `time_ns` of labels.
    pub metric: Metric,
    /// Repetitions of A.
    pub base_n: usize,
    /// Repetitions of B.
    pub new_n: usize,
    /// Median of A.
    pub base_median: f64,
    /// Median of B.
    pub new_median: f64,
    /// How many times faster B is than A; below 1: slower.
    pub ratio: Option<f64>,
    /// Its 95 % confidence interval.
    pub ci95_low: Option<f64>,
    /// Its upper end.
    pub ci95_high: Option<f64>,
    /// Cliff's delta: -1 every B is slower than every A, 1 every B faster.
    pub cliffs_delta: Option<f64>,
    /// Probability of a difference this large if there were none; corrected for autocorrelation.
    pub p: Option<f64>,
    /// The same after Holm's correction.
    pub p_holm: Option<f64>,
    /// What is claimed.
    pub claim: Claim,
    /// The claim in words.
    pub sentence: String,
    /// How far apart the distributions of single operations are. Descriptive: they depend on
    /// each other, and nothing is claimed from them.
    pub latency: Option<distance::Distance>,
}

/// A comparison of two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this object.
    pub version: u32,
    /// A.
    pub base: String,
    /// B.
    pub new: String,
    /// Smallest difference worth a claim, as a share.
    pub min_effect: f64,
    /// What differs between the programs and their surroundings.
    pub differences: Vec<Difference>,
    /// One entry per label and operation.
    pub rows: Vec<Row>,
    /// Rows that only one side has: side, label, operation.
    pub unmatched: Vec<Unmatched>,
    /// Gates and how they ended.
    pub gates: Vec<GateResult>,
}

/// A row that the other side lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// "A" or "B".
    pub side: &'static str,
    /// Label path.
    pub label: String,
    /// Operation.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
}

/// Label, operation and cell, in order of appearance, with the metric and the figures.
type Key = (String, String, u32);

/// A side's figures in order of time.
#[derive(Default)]
struct Samples {
    order: Vec<Key>,
    of: BTreeMap<Key, (Metric, Vec<f64>)>,
}

impl Samples {
    fn of(runs: &[Run]) -> Samples {
        let mut samples = Samples::default();
        for found in runs.iter().flat_map(series) {
            // Parts are inside their operation, whose figure is compared.
            if found.op.contains('.') || found.metric == Metric::OpsS {
                continue;
            }
            let figures = found.figures();
            let key = (found.label, found.op, found.cell);
            if !samples.of.contains_key(&key) {
                samples.order.push(key.clone());
            }
            let entry = samples.of.entry(key).or_insert_with(|| (found.metric, Vec::new()));
            let useful = figures.into_iter().filter(|figure| figure.is_finite() && *figure > 0.0);
            entry.1.extend(useful);
        }
        samples.of.retain(|_, (_, figures)| !figures.is_empty());
        samples
    }
}

/// Compares B (`new`) with A (`base`).
///
/// # Errors
/// Programs or parameters differ and `anyway` was not asked for: a sentence for each difference.
pub fn compare(base: &Side, new: &Side, options: &Options) -> Result<Comparison, Vec<String>> {
    let (refused, differences) = sides::differences(&base.runs, &new.runs);
    if !refused.is_empty() && !options.anyway {
        return Err(refused.iter().map(Difference::sentence).collect());
    }
    let (a, b) = (Samples::of(&base.runs), Samples::of(&new.runs));
    let mut rows: Vec<Row> = a.order.iter().filter_map(|key| row(key, &a, &b, base, new)).collect();
    judge(&mut rows, options, &new.name);
    let mut unmatched = lacking("A", &a, &b);
    unmatched.extend(lacking("B", &b, &a));
    Ok(Comparison {
        version: 1,
        base: base.name.clone(),
        new: new.name.clone(),
        min_effect: options.min_effect,
        differences: refused.into_iter().chain(differences).collect(),
        rows,
        unmatched,
        gates: Vec::new(),
    })
}

fn lacking(side: &'static str, ours: &Samples, theirs: &Samples) -> Vec<Unmatched> {
    let missing =
        ours.order.iter().filter(|key| ours.of.contains_key(*key) && !theirs.of.contains_key(*key));
    missing
        .map(|(label, op, cell)| Unmatched {
            side,
            label: label.clone(),
            op: op.clone(),
            cell: *cell,
        })
        .collect()
}

/// More is better: otherwise the inverse is compared, so that a ratio above 1 is always "faster".
fn more_is_better(metric: Metric) -> bool {
    matches!(metric, Metric::MibS | Metric::OpsS)
}

fn row(key: &Key, a: &Samples, b: &Samples, base: &Side, new: &Side) -> Option<Row> {
    let ((metric, before), (_, after)) = (a.of.get(key)?, b.of.get(key)?);
    let speeds = |figures: &[f64]| -> Vec<f64> {
        let speed = |figure: &f64| if more_is_better(*metric) { *figure } else { 1.0 / *figure };
        figures.iter().map(speed).collect()
    };
    let both = inference::Contrast::new(&speeds(before), &speeds(after));
    let (Estimate { ratio, delta, p }, (low, high)) = (both.estimate(), both.interval());
    let enough = before.len() >= LEAST && after.len() >= LEAST;
    let (label, op, cell) = key.clone();
    let latency = distance::between(&histogram(base, key), &histogram(new, key));
    Some(Row {
        label,
        op,
        cell,
        metric: *metric,
        base_n: before.len(),
        new_n: after.len(),
        base_median: crate::stats::median(before)?,
        new_median: crate::stats::median(after)?,
        ratio: Some(ratio),
        ci95_low: enough.then_some(low),
        ci95_high: enough.then_some(high),
        cliffs_delta: Some(delta),
        p: enough.then_some(p),
        p_holm: None,
        claim: if enough { Claim::None } else { Claim::TooFew },
        sentence: String::new(),
        latency,
    })
}

/// Times of single operations of a side, merged over its runs and repetitions.
fn histogram(side: &Side, (label, op, cell): &Key) -> Histogram {
    let mut sum = Histogram::default();
    let rows = side.runs.iter().flat_map(|run| &run.rows);
    for row in rows.filter(|row| row.label == *label && row.op == *op && row.cell == *cell) {
        if let Some(histogram) = &row.histogram {
            sum.merge(histogram);
        }
    }
    sum
}

/// Corrects for the number of rows, claims what can be claimed, and says it.
fn judge(rows: &mut [Row], options: &Options, new: &str) {
    let tested: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].p.is_some()).collect();
    let p: Vec<f64> = tested.iter().filter_map(|at| rows[*at].p).collect();
    for (at, p) in tested.into_iter().zip(holm(&p)) {
        let row = &mut rows[at];
        row.p_holm = Some(p);
        let ratio = row.ratio.unwrap_or(1.0);
        // A factor and its inverse are equally large.
        let effect = ratio.max(1.0 / ratio) - 1.0;
        if p < SIGNIFICANCE && effect > options.min_effect {
            row.claim = if ratio > 1.0 { Claim::Faster } else { Claim::Slower };
        }
    }
    for row in rows {
        row.sentence = sentence::of(row, new);
    }
}

#[cfg(test)]
mod tests;
