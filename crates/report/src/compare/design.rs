//! The two sides of a comparison, how their figures belong together, what a claim needs; a row and its sentence:
//! which side is faster and by how much, or what it would take to know.

use crate::statistics::Metric;
use crate::stats::Distance;
use crate::text::percent;
use model::{Run, words};
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

/// More repetitions than this are not proposed.
const MOST: f64 = 10_000.0;

/// `stat of "load" is 1.9 x [1.7, 2.1] faster on B`.
pub(crate) fn describe(
    row: &Row,
    rows: usize,
    new: &str,
    design: Design,
    options: &Options,
) -> String {
    let what = row_subject(row);
    let said = match row.claim {
        Claim::Faster => format!("{what} is {} faster on {new}", factor(row, false)),
        Claim::Slower => format!("{what} is {} slower on {new}", factor(row, true)),
        Claim::None => format!("{what}: {}", none(row, design, options)),
        Claim::TooFew => format!("{what}: {}", too_few(row, rows, design)),
    };
    said + &dependence(row)
}

pub(crate) fn row_subject(row: &Row) -> String {
    subject(&row.label, &row.op, &row.point)
}

/// `stat of "load" at block=4k`.
pub(crate) fn subject(label: &str, op: &str, point: &str) -> String {
    let point = if point.is_empty() { String::new() } else { format!(" at {point}") };
    match (op, label) {
        ("", label) => format!("label \"{label}\"{point}"),
        (op, "") => format!("{op}{point}"),
        (op, label) => format!("{op} of \"{label}\"{point}"),
    }
}

/// `1.9 x [1.7, 2.1]`; inverted for what is slower.
fn factor(row: &Row, invert: bool) -> String {
    let turned = |value: Option<f64>| value.map(|value| if invert { 1.0 / value } else { value });
    let (ratio, low, high) = (turned(row.ratio), turned(row.ci95_low), turned(row.ci95_high));
    let (low, high) = if invert { (high, low) } else { (low, high) };
    let places = places([ratio, low, high]);
    let end = |value: Option<f64>| value.map_or("?".into(), |value| format!("{value:.places$}"));
    format!("{} x [{}, {}]", end(ratio), end(low), end(high))
}

/// Decimals: near 1 a tenth of a per cent is worth showing, far from it a tenth is enough; and enough
/// to distinguish the nearest figure from 1.
fn places(figures: [Option<f64>; 3]) -> usize {
    let away = |figure: f64| (figure - 1.0).abs();
    let nearest = figures.into_iter().flatten().map(away).fold(f64::INFINITY, f64::min);
    match nearest {
        away if away < 0.001 => 5,
        away if away < 0.1 => 3,
        away if away < 0.5 => 2,
        away if away < 20.0 => 1,
        _ => 0,
    }
}

/// `5 repetitions on either side`, `1 block`.
fn repetitions(count: usize, design: Design) -> String {
    words::count(
        count as u64,
        match design {
            Design::Samples => "repetition on either side",
            Design::Blocks => "block",
        },
    )
}

/// `5 repetitions on either side cannot claim a difference: 8 rows need at least 6 (--reps 6)`.
pub(crate) fn too_few(row: &Row, rows: usize, design: Design) -> String {
    let (a, b, least) = (row.base_n, row.new_n, row.least_n);
    let these = match a == b {
        true => repetitions(a, design),
        false => format!("{a} and {b} repetitions"),
    };
    let these = format!("{these} cannot claim a difference");
    if a.min(b) >= least {
        return format!("{these} of {rows} rows: correlated neighbours count for less");
    }
    match rows {
        1 => {
            format!("{these}: at least {} are needed (--reps {least})", repetitions(least, design))
        }
        rows => format!("{these}: {rows} rows need at least {least} (--reps {least})"),
    }
}

fn none(row: &Row, design: Design, options: &Options) -> String {
    let worth = percent(options.min_effect);
    let (Some(low), Some(high)) = (row.ci95_low, row.ci95_high) else {
        return format!("no clear difference: {} exclude none", repetitions(row.base_n, design));
    };
    if low == high {
        return "no difference: the figures are the same".into();
    }
    let between = format!("{} to {}", side(low), side(high));
    if low > 1.0 || high < 1.0 {
        return format!("no difference above --min-effect {worth}: B is {between}");
    }
    let least = 1.0 + options.min_effect;
    if low * least >= 1.0 && high <= least {
        return format!("no difference above {worth}: B is {between}");
    }
    let needed = needed(row.base_n.min(row.new_n), low, high, least, design);
    format!("no clear difference: B may be anything from {between}{needed}")
}

/// `3.1 % slower`, `2.0 % faster`: an end of the interval, as a change of speed.
fn side(ratio: f64) -> String {
    match ratio {
        ratio if ratio <= 0.5 => format!("{:.1} x slower", 1.0 / ratio),
        ratio if ratio < 1.0 => format!("{:.1} % slower", (1.0 - ratio) * 100.0),
        ratio if ratio < 2.0 => format!("{:.1} % faster", (ratio - 1.0) * 100.0),
        ratio => format!("{ratio:.1} x faster"),
    }
}

/// Intervals narrow with the root of the number of repetitions.
fn needed(n: usize, low: f64, high: f64, least: f64, design: Design) -> String {
    let half = (high / low).ln() / 2.0;
    let needed = (n as f64 * (half / least.ln()).powi(2)).ceil();
    match needed {
        needed if needed.is_finite() && needed <= n as f64 => String::new(),
        needed if needed.is_finite() && needed <= MOST => {
            let worth = percent(least - 1.0);
            format!("; about {} would show {worth}", repetitions(needed as usize, design))
        }
        _ => "; repetitions vary too much".into(),
    }
}

fn dependence(row: &Row) -> String {
    row.lag1.map_or(String::new(), |r| {
        format!(
            " (neighbouring repetitions are correlated, lag 1: {r:.2}; the test was widened; --against, \
             --against-program and --versus avoid it)"
        )
    })
}
