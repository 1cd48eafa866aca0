//! Repetitions that depend on one another: a trend, or neighbours that are alike.
//!
//! Both are tested on the label times of every cell (without labels on every row), and the
//! probabilities are multiplied by the number of tests (Bonferroni), so that a large sweep
//! raises no more false alarms than a small one.

use super::{Metric, Series, series};
use crate::stats::{lag1_autocorrelation, normal, trend};
use model::Run;

/// A finding is told if chance alone would give it in fewer than 5 of 100 sweeps.
const LEVEL: f64 = 0.05;
/// Fewest repetitions that show anything.
const LEAST: usize = 10;

/// Sentences about repetitions that are not independent; none for a run without a sweep.
pub fn drift(run: &Run) -> Vec<String> {
    // Blocks hold what follows each other in time apart.
    let Some(sweep) = run.run.sweep.as_ref().filter(|sweep| !sweep.versus) else {
        return Vec::new();
    };
    let mut tested = series(run);
    if tested.iter().any(|series| series.metric == Metric::TimeNs) {
        tested.retain(|series| series.metric == Metric::TimeNs);
    }
    tested.retain(|series| series.points.len() >= LEAST);
    let name = |series: &Series| {
        let what = [series.label.as_str(), series.op.as_str()];
        let what = what.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let quantity = series.metric.quantity();
        let at = match sweep.dimensions.is_empty() {
            true => String::new(),
            false => format!(" at {}", sweep.describe(series.cell)),
        };
        format!("the {quantity} of {what:?}{at}")
    };
    let rising = worst(&tested, |figures| trend::mann_kendall(figures).map(|t| (t.p, t.tau)));
    let rising = rising.map(|(series, tau)| {
        let way = if tau > 0.0 { "rises" } else { "falls" };
        format!(
            "the repetitions are not alike: {} {way} from repetition to repetition (Kendall's tau \
             {tau:.2}); raise --warm-up or --settle",
            name(series)
        )
    });
    let alike = worst(&tested, autocorrelation).map(|(series, share)| {
        format!(
            "neighbouring repetitions depend on each other: {} has a lag-1 autocorrelation of \
             {share:.2}, so intervals are too narrow; raise --settle",
            name(series)
        )
    });
    rising.into_iter().chain(alike).collect()
}

/// The series with the smallest probability, if that is small enough for as many tests.
fn worst(tested: &[Series], test: impl Fn(&[f64]) -> Option<(f64, f64)>) -> Option<(&Series, f64)> {
    let found = tested.iter().filter_map(|series| Some((series, test(&series.figures())?)));
    let least = found.min_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let least = least.filter(|(_, (p, _))| p * (tested.len() as f64) < LEVEL);
    least.map(|(series, (_, effect))| (series, effect))
}

/// Probability that independent figures are as much alike, and the autocorrelation: under
/// independence it is nearly normal with mean -1/n and variance 1/n (Kendall & Ord 1990, 6.9).
fn autocorrelation(figures: &[f64]) -> Option<(f64, f64)> {
    let n = figures.len() as f64;
    let share = lag1_autocorrelation(figures)?;
    Some((normal::upper_tail((share + 1.0 / n) * n.sqrt()), share))
}
