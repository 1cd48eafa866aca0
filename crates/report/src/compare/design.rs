//! The two sides of a comparison, how their figures belong together, what a claim needs; a row.

use crate::statistics::Metric;
use crate::stats::Distance;
use model::Run;
use model::units::Measure;
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewest repetitions of a claim.
pub const LEAST: usize = 5;
/// Probability of any false difference in a comparison.
pub const SIGNIFICANCE: f64 = 0.05;

/// How to compare.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Smallest difference that is reported as one, as a share; `None`: that of the design.
    pub min_effect: Option<f64>,
    /// Compare although programs or parameters differ.
    pub anyway: bool,
}

/// How the figures of both sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Two samples, made one after the other.
    Samples,
    /// Executions of A and B in randomised blocks: compared block by block.
    Blocks,
}

impl Design {
    /// Smallest difference that is reported as one, if nothing else is said. Two runs one after the other differ by
    /// some per cent without a cause, which neither of them shows.
    pub fn min_effect(self) -> f64 {
        match self {
            Design::Samples => 0.05,
            Design::Blocks => 0.02,
        }
    }

    /// Name of the test.
    pub fn test(self) -> &'static str {
        match self {
            Design::Samples => "Mann-Whitney rank sum",
            Design::Blocks => "Wilcoxon signed rank",
        }
    }

    /// The p of a complete separation of `n` repetitions of either side, or `n` blocks: the smallest.
    pub fn least_p(self, n: usize) -> f64 {
        match self {
            Design::Samples => separated(n, n),
            Design::Blocks => same_signs(n),
        }
    }

    /// Fewest repetitions of either side, or blocks, with which a complete separation is a difference if
    /// this number of tests share the error probability.
    pub fn least_n(self, tests: usize) -> usize {
        let passes = |n: &usize| self.least_p(*n) * (tests as f64) < SIGNIFICANCE;
        (LEAST..).find(passes).unwrap_or(LEAST)
    }
}

/// Runs that are taken together as repetitions of one thing.
#[derive(Clone, Debug)]
pub struct Side {
    /// Name of the side: the path of its run.
    pub name: String,
    /// Its runs, in order of time.
    pub runs: Vec<Run>,
}

/// Outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// B is faster.
    Faster,
    /// B is slower.
    Slower,
    /// No clear difference.
    None,
    /// There are too few repetitions for any difference.
    TooFew,
    /// Not tested: described only, or the label does not differ.
    NotTested,
}

/// When a row is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// First.
    Label,
    /// If its label differs.
    Operation,
    /// Never: setup, or outside of labels.
    Described,
}

/// An operation in one execution: medians over the repetitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Calls {
    /// Number of calls.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Median of their times, nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of their times.
    pub p99_ns: Option<f64>,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// Label path.
    pub label: String,
    /// Operation; "" for the label itself.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// The same in words, `block=4k`; "" if nothing varies.
    #[serde(skip)]
    pub point: String,
    /// Names and values of what varies.
    #[serde(rename = "point")]
    pub params: BTreeMap<String, String>,
    /// When the row is tested.
    pub tier: Tier,
    /// The figure that is compared; `compare/quantities.rs` has the rule.
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
    pub speedup: f64,
    /// Lower end of its confidence interval: of a row that is tested at `level`, of any other at 0.05. `None`
    /// below 5 repetitions, and where they exclude nothing.
    pub ci95_low: Option<f64>,
    /// Its upper end.
    pub ci95_high: Option<f64>,
    /// p below which the row differs; null if it is not tested.
    pub level: Option<f64>,
    /// Cliff's delta: -1 every B is slower than every A, 1 every B faster.
    pub cliffs_delta: f64,
    /// Probability of a difference this large if there were none, or of runs one after the other, none above
    /// `min_effect`; null if it is not tested.
    pub p: Option<f64>,
    /// The same, corrected for all tests of the comparison: below 0.05 counts as a difference.
    pub p_adjusted: Option<f64>,
    /// Lag-1 autocorrelation of the repetitions if p and interval allow for it.
    pub lag1: Option<f64>,
    /// Fewest repetitions of either side with which a difference is possible.
    pub least_n: usize,
    /// The outcome.
    pub claim: Claim,
    /// The outcome in words.
    pub sentence: String,
    /// Calls of A in one execution: of the operation, or of the only one of the label.
    pub base_calls: Option<Calls>,
    /// Calls of B.
    pub new_calls: Option<Calls>,
    /// How far apart the distributions of single operations are. Descriptive: they depend on
    /// each other, and no difference is concluded from them.
    pub latency: Option<Distance>,
    /// Number of its question: the rows of a label at a point.
    #[serde(skip)]
    pub question: usize,
}

impl Row {
    /// B differs from A.
    pub fn differs(&self) -> bool {
        matches!(self.claim, Claim::Faster | Claim::Slower)
    }

    /// Estimate and interval of B / A of the figure; an end that nothing excludes is 0 or infinite.
    pub fn quotient(&self) -> [f64; 3] {
        let (low, high) = (self.ci95_low.unwrap_or(0.0), self.ci95_high.unwrap_or(f64::INFINITY));
        match self.metric.measure() {
            Measure::Time => [1.0 / self.speedup, 1.0 / high, 1.0 / low],
            _ => [self.speedup, low, high],
        }
    }
}

/// p of two samples that do not overlap.
pub fn separated(base: usize, new: usize) -> f64 {
    let few = base.min(new);
    let choices: f64 = (1..=few).map(|k| (base + new - few + k) as f64 / k as f64).product();
    (2.0 / choices).min(1.0)
}

/// p of blocks that all have the same sign.
pub fn same_signs(blocks: usize) -> f64 {
    (2.0 * 0.5f64.powf(blocks as f64)).min(1.0)
}
