//! The two sides of a comparison, how their figures belong together, what a claim needs, and a row.

use crate::statistics::Metric;
use crate::stats::Distance;
use model::Run;
use serde::Serialize;

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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Two samples, made one after the other.
    Samples,
    /// Executions of A and B in randomised blocks: compared block by block.
    Blocks,
}

impl Design {
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

    /// Fewest repetitions of either side, or blocks, with which a complete separation passes the first
    /// step of Holm's procedure for `rows` rows.
    pub fn least_n(self, rows: usize) -> usize {
        let passes = |n: &usize| self.least_p(*n) * (rows as f64) < SIGNIFICANCE;
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

/// Claim about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// Label path.
    pub label: String,
    /// Operation; "" for the label's time.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// The same in words, `block=4k`; "" if nothing varies.
    pub point: String,
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
    pub ratio: Option<f64>,
    /// Lower end of its confidence interval, of the comparison's `level`: at least 95 %. `None`
    /// below 5 repetitions, and where they exclude nothing.
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
    /// Fewest repetitions of either side with which a claim is possible for this number of rows.
    pub least_n: usize,
    /// The claim.
    pub claim: Claim,
    /// The claim in words.
    pub sentence: String,
    /// How far apart the distributions of single operations are. Descriptive: they depend on
    /// each other, and nothing is claimed from them.
    pub latency: Option<Distance>,
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
