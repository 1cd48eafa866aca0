//! Notes on a sweep as a whole: repetitions that drift or are correlated, optional stopping, interruptions.
//!
//! Both tests use the label times of every cell (without labels every row), and the probabilities are
//! multiplied by the number of tests (Bonferroni), so that a large sweep raises no more false alarms than a
//! small one.

use super::rule::{Rule, note, remark};
use crate::rows::point;
use crate::schedule;
use crate::statistics::{Metric, Series, series};
use crate::stats::{lag1_autocorrelation, mann_kendall, upper_tail};
use model::Run;
use model::sweep::{Resumed, SharedDevice};

/// Remarks on sweeps.
pub const REMARKS: &[Rule] = &[
    remark(
        "shared-device",
        |run| shared_device(run, SharedDevice::Swapped),
        "to compare storage, name a directory on another device",
    ),
    remark(
        "shared-device",
        |run| shared_device(run, SharedDevice::Kept),
        "swap --dir and --against, and run again: a difference that follows the directory is its own",
    ),
];

fn shared_device(run: &Run, how: SharedDevice) -> Option<String> {
    let sweep = run.run.sweep.as_ref()?;
    let storage = &run.run.host.storage;
    let device = if storage.device.is_empty() { &storage.file_system } else { &storage.device };
    (sweep.shared_device == Some(how)).then(|| match how {
        SharedDevice::Swapped => format!(
            "A and B are on one device ({device}): they swapped directories with every block, so that the state of \
             a directory is not taken for a difference"
        ),
        SharedDevice::Kept => format!(
            "A and B are on one device ({device}): a difference may be the age and place of a directory"
        ),
    })
}

/// Notes on sweeps.
pub const RULES: &[Rule] = &[
    note("drift", rising),
    note("autocorrelation", alike),
    note("optional-stopping", stopped_optionally),
    note("interrupted", |run| {
        let how = match run.run.outcome.as_str() {
            "interrupted" => "interrupted",
            "time limit" => "ended by its time limit",
            _ => return None,
        };
        let sweep = run.run.sweep.as_ref()?;
        let done = sweep.order.iter().filter(|one| one.outcome != "interrupted").count();
        let all = sweep.cells.len() as u64 * u64::from(sweep.reps);
        Some(format!(
            "{how} after {done} of at most {all_executions}",
            all_executions = model::words::count(all, "execution")
        ))
    }),
    note("resumed", |run| {
        let all = run.run.sweep.iter().flat_map(|sweep| &sweep.resumed);
        let all = all.map(|Resumed { executions, host, started }| {
            format!(
                "resumed after {counted_executions}, on {host}, {started}",
                counted_executions = model::words::count(*executions, "execution")
            )
        });
        let all: Vec<String> = all.collect();
        (!all.is_empty()).then(|| all.join("; "))
    }),
];

/// Chance alone gives a finding in fewer than 5 of 100 sweeps.
const LEVEL: f64 = 0.05;
/// Fewest repetitions that show anything.
const LEAST: usize = 10;

/// The series that are tested, and their names; nothing for a run without a sweep, or where blocks separate
/// what follows each other in time.
fn tested(run: &Run) -> Vec<Series> {
    if run.run.sweep.as_ref().is_none_or(|sweep| sweep.versus) {
        return Vec::new();
    }
    let mut tested = series(run);
    if tested.iter().any(|series| series.metric == Metric::TimeNs) {
        tested.retain(|series| series.metric == Metric::TimeNs);
    }
    tested.retain(|series| series.points.len() >= LEAST);
    tested
}

fn name(run: &Run, series: &Series) -> String {
    let what = [series.label.as_str(), series.op.as_str()];
    let what = what.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let at = match point(run, series.cell) {
        point if point.is_empty() => point,
        point => format!(" at {point}"),
    };
    format!("the {} of {what:?}{at}", series.metric.quantity())
}

fn rising(run: &Run) -> Option<String> {
    let tested = tested(run);
    let (series, tau) = worst(&tested, |figures| mann_kendall(figures).map(|t| (t.p, t.tau)))?;
    let way = if tau > 0.0 { "rises" } else { "falls" };
    Some(format!(
        "repetitions drift: {} {way} from repetition to repetition (Kendall's tau {tau:.2}); raise --warm-up or \
         --settle",
        name(run, series)
    ))
}

fn alike(run: &Run) -> Option<String> {
    let tested = tested(run);
    let (series, share) = worst(&tested, autocorrelation)?;
    Some(format!(
        "neighbouring repetitions of {} are correlated ({share:.2}), so intervals are too narrow; raise --settle",
        name(run, series)
    ))
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
    Some((upper_tail((share + 1.0 / n) * n.sqrt()), share))
}

/// Points of `--until-ci` that reached it.
fn stopped_optionally(run: &Run) -> Option<String> {
    let sweep = run.run.sweep.as_ref()?;
    let share = sweep.until_ci?;
    let cells = 0..sweep.cells.len() as u32;
    let count = |cell: u32| sweep.order.iter().filter(|e| e.cell == cell).count();
    let counts: Vec<usize> = cells.clone().map(count).collect();
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    let enough = *least >= schedule::LEAST_UNTIL_CI as usize;
    let is_narrow = |cell: &u32| enough && schedule::is_narrow(run, *cell, share);
    let narrow = cells.filter(is_narrow).count();
    let repetitions = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Some(format!(
        "--until-ci {}%: {narrow} of {} points reached it, after {repetitions} repetitions; their number depends on \
         the results (optional stopping), so intervals are slightly too narrow",
        share * 100.0,
        counts.len()
    ))
}
