//! `parabench compare`: what can be said of a difference between two sides, and what cannot.
//!
//! ```text
//! runs of A, runs of B ──sides──▶ the same program? ──quantities──▶ inference ──▶ rows, sentences, gates
//! one run of A and B in blocks ──split──┘
//! ```
//!
//! The unit of inference is the repetition: an execution of the program. A claim needs at least
//! [`LEAST`] repetitions on either side, p < 0.05 after Holm's correction over all rows compared, and
//! a difference above `min_effect`. docs/statistics.md has the formulas.

pub mod distance;
pub mod gate;
pub mod inference;
pub mod pictures;
mod quantities;
mod sentence;
pub mod show;
mod sides;

pub use gate::{Gate, GateResult, Verdict};
pub use sides::{Difference, SideMark, split};

use crate::statistics::Metric;
use inference::{Contrast, Memo, holm, holm_level};
use model::Run;
use model::histogram::Histogram;
use model::units::Measure;
use quantities::{Key, Quantity, Samples};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest repetitions of a claim.
pub const LEAST: usize = 5;
/// A claim's probability under "no difference" is below this.
pub const SIGNIFICANCE: f64 = 0.05;

/// Smallest difference worth a claim, if nothing else is said.
pub const MIN_EFFECT: f64 = 0.02;

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Smallest difference worth a claim, as a share: 0.02.
    pub min_effect: f64,
    /// Compare although programs or parameters differ.
    pub anyway: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { min_effect: MIN_EFFECT, anyway: false }
    }
}

/// How the figures of both sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Two samples, made one after the other.
    Samples,
    /// Executions of A and B in randomised blocks: compared block by block.
    Blocks,
}

impl Design {
    /// Name of the test that p is of.
    pub fn test(self) -> &'static str {
        match self {
            Design::Samples => "Mann-Whitney rank sum",
            Design::Blocks => "Wilcoxon signed rank",
        }
    }

    /// The smallest p there is with so many repetitions of either side, or blocks: that of a complete
    /// separation.
    pub fn least_p(self, n: usize) -> f64 {
        match self {
            Design::Samples => inference::separated(n, n),
            Design::Blocks => inference::same_signs(n),
        }
    }

    /// Repetitions of either side, or blocks, from which on a complete separation passes the first step
    /// of Holm's procedure with so many rows.
    pub fn least_n(self, rows: usize) -> usize {
        let passes = |n: &usize| self.least_p(*n) * (rows as f64) < SIGNIFICANCE;
        (LEAST..).find(passes).unwrap_or(LEAST)
    }
}

/// Labels and operations of two programs, by point of a sweep: how many rows their comparison has. "" is
/// no label, or no operation: the label itself.
pub fn row_count(a: &BTreeSet<(String, String)>, b: &BTreeSet<(String, String)>) -> usize {
    quantities::count(a, b)
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
    /// The same in words, `block=4k`; "" if nothing varies.
    pub point: String,
    /// Which figure: `compare/quantities.rs` has the rule.
    pub metric: Metric,
    /// Repetitions of A; with blocks the blocks.
    pub base_n: usize,
    /// Repetitions of B.
    pub new_n: usize,
    /// Median of A.
    pub base_median: f64,
    /// Median of B.
    pub new_median: f64,
    /// How many times faster B is than A; below 1: slower.
    pub ratio: Option<f64>,
    /// Lower end of its confidence interval, of the comparison's `level`: at least 95 %. `None`
    /// where so few repetitions exclude nothing.
    pub ci95_low: Option<f64>,
    /// Its upper end.
    pub ci95_high: Option<f64>,
    /// Cliff's delta: -1 every B is slower than every A, 1 every B faster.
    pub cliffs_delta: Option<f64>,
    /// Probability of a difference this large if there were none.
    pub p: Option<f64>,
    /// The same after Holm's correction.
    pub p_holm: Option<f64>,
    /// Lag-1 autocorrelation of the repetitions if it is significant: p and interval allow for it.
    pub lag1: Option<f64>,
    /// Repetitions of either side from which on a claim is possible with so many rows.
    pub least_n: usize,
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
    /// How the figures of both sides belong together.
    pub design: Design,
    /// The test that every p is of.
    pub test: &'static str,
    /// Smallest difference worth a claim, as a share.
    pub min_effect: f64,
    /// p below which a row differs, after Holm's procedure: the intervals are those of 1 - `level`.
    pub level: f64,
    /// What differs between the programs and their surroundings.
    pub differences: Vec<Difference>,
    /// What is to be known besides.
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
/// Programs or parameters differ, or a run stands on both sides, and `anyway` was not asked for:
/// a sentence for each reason.
pub fn compare(base: &Side, new: &Side, options: &Options) -> Result<Comparison, Vec<String>> {
    let (refused, differences) = sides::differences(&base.runs, &new.runs);
    let same = sides::same_runs(base, new);
    if !options.anyway && (!refused.is_empty() || !same.is_empty()) {
        return Err(refused.iter().map(Difference::sentence).chain(same).collect());
    }
    let differences = refused.into_iter().chain(differences).collect();
    let found = Comparison { differences, ..contrasted(base, new, Design::Samples, options) };
    Ok(Comparison { notes: same.into_iter().chain(found.notes).collect(), ..found })
}

/// Compares the two sides of one run whose executions stand in blocks, block by block.
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
    let point = |cell: u32| sides::point(&base.runs, cell);
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

/// The figures of both sides: all, or those of the blocks that both have.
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
    let contrast = match design {
        Design::Samples => Contrast::samples(&speeds(&before), &speeds(&after)),
        Design::Blocks => Contrast::blocks(&speeds(&before), &speeds(&after)),
    };
    let enough = before.len() >= LEAST && after.len() >= LEAST;
    let (label, op, cell) = key.clone();
    let row = Row {
        label,
        op,
        cell,
        point: sides::point(&base.runs, cell),
        metric: *metric,
        base_n: before.len(),
        new_n: after.len(),
        base_median: crate::stats::median(&before)?,
        new_median: crate::stats::median(&after)?,
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
        latency: distance::between(&histogram(base, key), &histogram(new, key)),
    };
    Some(Tested { row, contrast })
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
        row.sentence = sentence::of(row, rows, new, design, options);
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

#[cfg(test)]
mod tests;
