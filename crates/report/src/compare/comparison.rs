//! Rows of a comparison: figures of both sides, the test, the claim and its sentence.

use super::design::{Claim, Design, LEAST, Options, Row, SIGNIFICANCE, Side};
use super::inference::{Contrast, Memo, holm, holm_level};
use super::quantities::{Key, Quantity, Samples};
use super::sides::{Difference, SideMark, split};
use super::{design, quantities, sides};
use crate::gate::GateResult;
use crate::stats::distance_between;
use crate::{rows, stats};
use model::Run;
use model::histogram::Histogram;
use model::units::Measure;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Labels and operations of two programs, by point of a sweep: how many rows their comparison has. "" is
/// no label, or no operation: the label itself.
pub fn row_count(a: &BTreeSet<(String, String)>, b: &BTreeSet<(String, String)>) -> usize {
    quantities::count(a, b)
}

/// A comparison of two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of this object.
    pub version: u32,
    /// A.
    pub base: String,
    /// B.
    pub new: String,
    /// How the figures of both sides belong together.
    pub design: Design,
    /// The test that every p is of.
    pub test: &'static str,
    /// Smallest difference worth a claim, as a share.
    pub min_effect: f64,
    /// p below which a row differs, after Holm's procedure; intervals have the confidence 1 - `level`.
    pub level: f64,
    /// Differences between the programs and their surroundings.
    pub differences: Vec<Difference>,
    /// Facts that the reader needs besides.
    pub notes: Vec<String>,
    /// Marks of either side.
    pub marks: Vec<SideMark>,
    /// One entry per label and operation.
    pub rows: Vec<Row>,
    /// Rows that only one side has: side, label, operation.
    pub unmatched: Vec<Unmatched>,
    /// Gates and how they ended.
    pub gates: Vec<GateResult>,
}

/// A row that the other side lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unmatched {
    /// "A" or "B".
    pub side: &'static str,
    /// Label path.
    pub label: String,
    /// Operation.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// The same in words; "" if nothing varies.
    pub point: String,
}

/// Compares B (`new`) with A (`base`), repetition by repetition.
///
/// # Errors
/// Programs or parameters differ, or a run is on both sides, and `anyway` is not set:
/// a sentence for each reason.
pub fn compare(base: &Side, new: &Side, options: &Options) -> Result<Comparison, Vec<String>> {
    let (refused, differences) = sides::differences(&base.runs, &new.runs);
    let same = sides::same_runs(base, new);
    if !options.anyway && (!refused.is_empty() || same.is_some()) {
        return Err(refused.iter().map(Difference::sentence).chain(same).collect());
    }
    let differences = refused.into_iter().chain(differences).collect();
    let found = Comparison { differences, ..contrasted(base, new, Design::Samples, options) };
    Ok(Comparison { notes: same.into_iter().chain(found.notes).collect(), ..found })
}

/// Compares the two sides of one run that was made in blocks, block by block.
pub fn compare_blocks(base: &Side, new: &Side, options: &Options) -> Comparison {
    let differences = sides::surroundings_that_differ(&base.runs, &new.runs);
    Comparison { differences, ..contrasted(base, new, Design::Blocks, options) }
}

/// The comparison that a run itself is; `None` for one that is none.
pub fn within(run: &Run, options: &Options) -> Option<Comparison> {
    let (base, new) = split(run)?;
    Some(compare_blocks(&base, &new, options))
}

fn contrasted(base: &Side, new: &Side, design: Design, options: &Options) -> Comparison {
    let (a, b) = (Samples::of(&base.runs), Samples::of(&new.runs));
    let mut memo = Memo::default();
    let mut tested: Vec<Tested> = quantities::shared(&a, &b)
        .iter()
        .filter_map(|quantity| tested(quantity, (&a, base), (&b, new), design, &mut memo))
        .collect();
    let level = judge(&mut tested, options, &new.name, design, &mut memo);
    let point = |cell: u32| point(base, cell);
    let mut unmatched = lacking("A", &a, &b, point);
    unmatched.extend(lacking("B", &b, &a, point));
    Comparison {
        version: 1,
        base: base.name.clone(),
        new: new.name.clone(),
        design,
        test: design.test(),
        min_effect: options.min_effect,
        level,
        differences: Vec::new(),
        notes: sides::notes(base, new),
        marks: sides::marks(base, new),
        rows: tested.into_iter().map(|tested| tested.row).collect(),
        unmatched,
        gates: Vec::new(),
    }
}

fn lacking(
    side: &'static str,
    ours: &Samples,
    theirs: &Samples,
    point: impl Fn(u32) -> String,
) -> Vec<Unmatched> {
    let missing = ours.keys().filter(|key| !theirs.knows(key));
    let unmatched = |(label, op, cell): &Key| Unmatched {
        side,
        label: label.clone(),
        op: op.clone(),
        cell: *cell,
        point: point(*cell),
    };
    missing.map(unmatched).collect()
}

/// A row with what its test is made of.
struct Tested {
    row: Row,
    contrast: Contrast,
}

/// The figures of both sides: all, or, of blocks, the pairs.
fn figures(quantity: &Quantity, a: &Samples, b: &Samples, design: Design) -> (Vec<f64>, Vec<f64>) {
    if design == Design::Samples {
        return (a.figures(quantity), b.figures(quantity));
    }
    let others: BTreeMap<_, f64> = b.points(quantity).iter().copied().collect();
    let both = a.points(quantity).iter().filter_map(|(at, a)| Some((*a, *others.get(at)?)));
    both.unzip()
}

fn tested(
    quantity: &Quantity,
    (a, base): (&Samples, &Side),
    (b, new): (&Samples, &Side),
    design: Design,
    memo: &mut Memo,
) -> Option<Tested> {
    let Quantity { key, metric } = quantity;
    let (before, after) = figures(quantity, a, b, design);
    let speeds = |figures: &[f64]| -> Vec<f64> {
        // Of times the inverse is compared, so that a ratio above 1 is always "faster".
        let is_time = metric.measure() == Measure::Time;
        let speed = |figure: &f64| if is_time { 1.0 / *figure } else { *figure };
        figures.iter().map(speed).collect()
    };
    let contrast = Contrast::new(design, &speeds(&before), &speeds(&after));
    let enough = before.len() >= LEAST && after.len() >= LEAST;
    let (label, op, cell) = key.clone();
    let row = Row {
        label,
        op,
        cell,
        point: point(base, cell),
        metric: *metric,
        base_n: before.len(),
        new_n: after.len(),
        base_median: stats::median(&before)?,
        new_median: stats::median(&after)?,
        ratio: Some(contrast.ratio()),
        ci95_low: None,
        ci95_high: None,
        cliffs_delta: Some(contrast.delta()),
        p: enough.then(|| contrast.p(memo)),
        p_holm: None,
        lag1: contrast.dependence().filter(|_| enough).map(|dependence| dependence.lag1),
        least_n: LEAST,
        claim: Claim::TooFew,
        sentence: String::new(),
        latency: distance_between(&histogram(base, key), &histogram(new, key)),
    };
    Some(Tested { row, contrast })
}

/// Times of single operations of a side, merged over its runs and repetitions.
pub(crate) fn histogram(side: &Side, (label, op, cell): &Key) -> Histogram {
    let mut sum = Histogram::default();
    let rows = side.runs.iter().flat_map(|run| &run.rows);
    for row in rows.filter(|row| row.label == *label && row.op == *op && row.cell == *cell) {
        if let Some(histogram) = &row.histogram {
            sum.merge(histogram);
        }
    }
    sum
}

/// Corrects for the number of rows, claims what can be claimed, and says it. Gives the level of
/// the intervals.
fn judge(all: &mut [Tested], options: &Options, new: &str, design: Design, memo: &mut Memo) -> f64 {
    let rows = all.len();
    let least_n = design.least_n(rows);
    let p: Vec<f64> = all.iter().filter_map(|tested| tested.row.p).collect();
    let level = holm_level(&p, SIGNIFICANCE);
    let mut corrected = holm(&p).into_iter();
    for Tested { row, contrast } in all {
        row.least_n = least_n;
        if row.p.is_some() {
            row.p_holm = corrected.next();
            let interval = contrast.interval(level, memo);
            row.claim = claim(row, contrast, interval, level, options);
        }
        row.sentence = design::describe(row, rows, new, design, options);
    }
    level
}

fn claim(
    row: &mut Row,
    contrast: &Contrast,
    (low, high): (f64, f64),
    level: f64,
    options: &Options,
) -> Claim {
    (row.ci95_low, row.ci95_high) =
        (Some(low).filter(|l| *l > 0.0), Some(high).filter(|h| h.is_finite()));
    if contrast.least_p() >= level {
        return Claim::TooFew;
    }
    let ratio = contrast.ratio();
    // A factor and its inverse are equally large.
    let worth = ratio.max(1.0 / ratio) - 1.0 > options.min_effect;
    match row.p_holm.is_some_and(|p| p < SIGNIFICANCE) && worth {
        true if ratio > 1.0 => Claim::Faster,
        true => Claim::Slower,
        false => Claim::None,
    }
}

fn point(side: &Side, cell: u32) -> String {
    side.runs.first().map_or(String::new(), |run| rows::point(run, cell))
}
