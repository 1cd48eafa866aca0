//! Times of original and replay beside each other, each with its error.
//!
//! | figure | of an execution |
//! |---|---|
//! | elapsed | from the first start to the last end; of a phase: when at least one rank was in it |
//! | io | sum of the operations' own times |
//! | think | sum over ranks of the times between operations |
//! | concurrency | mean number of operations under way, in each hundredth of the elapsed time |
//! | ks, wasserstein | distances of the distributions of operations' times, weighted by their number |
//!
//! Figures that need durations are left out where the log of a side tells none.
//! With several executions of a side its figure is the median, and distributions are taken together.

use super::profile::{self, Profile};
use super::stream::Texts;
use crate::stats::{distance_between, median};
use model::Op;
use model::histogram::Histogram;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of relative time in which concurrency is compared.
const COLUMNS: usize = 100;

/// All of the run, or a phase of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scope {
    /// Label path; null for all of the run.
    pub phase: Option<String>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// How long operations took, by operation.
    pub latency: Vec<Latency>,
}

/// A figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figure {
    /// "elapsed", "io", "think", "concurrency", "ks" or "wasserstein".
    pub name: &'static str,
    /// Figure of the original: median over its executions. Times in nanoseconds, concurrency in operations;
    /// null for distances.
    pub original: Option<f64>,
    /// Figure of the replay.
    pub replay: Option<f64>,
    /// Difference in % of the original; of times with its sign. Null where the original has 0 and the
    /// replay more.
    pub error_percent: Option<f64>,
    /// How far an execution of the original is from the original at most, in the same way; null for
    /// one alone.
    pub spread_percent: Option<f64>,
}

/// How long one operation took on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latency {
    /// The operation.
    pub op: &'static str,
    /// Executions in the original.
    pub original_count: u64,
    /// Executions in the replay.
    pub replay_count: u64,
    /// Mean time in the original.
    pub original_mean_ns: f64,
    /// Mean time in the replay.
    pub replay_mean_ns: f64,
    /// Difference of the means in % of the original's.
    pub mean_error_percent: Option<f64>,
    /// Kolmogorov-Smirnov distance, %.
    pub ks_percent: f64,
    /// Wasserstein-1 distance in % of the original's mean.
    pub wasserstein_percent: Option<f64>,
    /// The distance itself: the mean shift of an operation's time.
    pub wasserstein_ns: f64,
}

/// All scopes: the whole, then the phases in the order in which the original enters them.
pub(crate) fn scopes(originals: &[Profile], replays: &[Profile], texts: &Texts) -> Vec<Scope> {
    let lacks_durations = originals.iter().chain(replays).any(|profile| profile.lacks_durations);
    let all = |profile: &Profile| profile.all.clone();
    let side = |side: &[Profile]| side.iter().map(all).collect::<Vec<_>>();
    let mut whole = scope(None, &side(originals), &side(replays));
    whole.figures.insert(3, concurrency(originals, replays));
    let mut scopes = vec![whole];
    for label in phases(originals, replays, texts) {
        let of = |profile: &Profile| profile.phases.get(&label).cloned().unwrap_or_default();
        let side = |side: &[Profile]| side.iter().map(of).collect::<Vec<_>>();
        scopes.push(scope(Some(texts.shown(label)), &side(originals), &side(replays)));
    }
    if lacks_durations {
        scopes.iter_mut().for_each(leave_out);
    }
    scopes
}

/// Leaves out the figures that need durations, of which the log of a side does not tell some or all.
fn leave_out(scope: &mut Scope) {
    let Scope { figures, latency, .. } = scope;
    figures.retain(|figure| match figure.name {
        "elapsed" => figure.original > Some(0.0) && figure.replay > Some(0.0),
        "ks" | "wasserstein" => !latency.is_empty(),
        _ => false,
    });
}

/// Some replays have this phase, and others do not: what it took has no median.
fn is_uneven(label: u32, replays: &[Profile]) -> bool {
    let having = replays.iter().filter(|one| one.phases.contains_key(&label)).count();
    having > 0 && having < replays.len()
}

/// Phases that only some of the replays have, by name.
pub(crate) fn uneven(replays: &[Profile], texts: &Texts) -> Vec<String> {
    let labels: BTreeSet<u32> = replays.iter().flat_map(|one| one.phases.keys().copied()).collect();
    let uneven = labels.into_iter().filter(|label| is_uneven(*label, replays));
    uneven.map(|label| texts.shown(label)).filter(|name| !name.is_empty()).collect()
}

/// Labels by the time at which the original enters them, of those that all replays have or none; none if
/// nothing has a label.
fn phases(originals: &[Profile], replays: &[Profile], texts: &Texts) -> Vec<u32> {
    let first: Vec<&Profile> = originals.iter().chain(replays).collect();
    let labels = first.iter().flat_map(|one| one.phases.keys().copied());
    let labels: BTreeSet<u32> = labels.filter(|label| !is_uneven(*label, replays)).collect();
    let start = |label: &u32| {
        let times = first.iter().filter_map(|one| Some(one.phases.get(label)?.times.span().0));
        times.map(|start| start as i128).next().unwrap_or(i128::MAX)
    };
    let mut labels: Vec<u32> = labels.into_iter().collect();
    labels.sort_by_key(start);
    let has_label = labels.iter().any(|label| !texts.shown(*label).is_empty());
    if has_label { labels } else { Vec::new() }
}

fn scope(phase: Option<String>, ours: &[profile::Scope], theirs: &[profile::Scope]) -> Scope {
    let is_phase = phase.is_some();
    let elapsed = |scope: &profile::Scope| match is_phase {
        true => scope.times.length(),
        false => {
            let (start, end) = scope.times.span();
            end - start
        }
    };
    let (pooled, replayed) = (pooled(ours), pooled(theirs));
    let spread = |distance: fn(&Distances) -> Option<f64>| {
        let of = |one: &profile::Scope| distance(&distances(&pooled, &one.ops)).unwrap_or(0.0);
        (ours.len() > 1).then(|| ours.iter().map(of).fold(0.0, f64::max))
    };
    let found = distances(&pooled, &replayed);
    let distance = |name, percent: fn(&Distances) -> Option<f64>| Figure {
        name,
        original: None,
        replay: None,
        error_percent: percent(&found),
        spread_percent: spread(percent),
    };
    let figures = vec![
        time("elapsed", ours, theirs, elapsed),
        time("io", ours, theirs, |scope| scope.io_ns),
        time("think", ours, theirs, |scope| scope.think_ns),
        distance("ks", |found| Some(found.ks_percent)),
        distance("wasserstein", |found| found.wasserstein_percent),
    ];
    Scope { phase, figures, latency: latency(&pooled, &replayed) }
}

fn time(
    name: &'static str,
    ours: &[profile::Scope],
    theirs: &[profile::Scope],
    of: impl Fn(&profile::Scope) -> u64,
) -> Figure {
    let values =
        |side: &[profile::Scope]| side.iter().map(|one| of(one) as f64).collect::<Vec<_>>();
    let (ours, theirs) = (values(ours), values(theirs));
    let (original, replay) = (median(&ours).unwrap_or(0.0), median(&theirs).unwrap_or(0.0));
    let far = ours.iter().filter_map(|one| percent(original, *one)).map(f64::abs);
    Figure {
        name,
        original: Some(original),
        replay: Some(replay),
        error_percent: percent(original, replay),
        spread_percent: (ours.len() > 1).then(|| far.fold(0.0, f64::max)),
    }
}

/// Difference in % of the original; 0 of 0, none of 0 and more.
fn percent(original: f64, replay: f64) -> Option<f64> {
    let difference = replay - original;
    if difference == 0.0 {
        return Some(0.0);
    }
    (original != 0.0).then(|| 100.0 * difference / original)
}

/// Mean number of operations under way over relative time: the sum of differences in % of the
/// original's sum.
fn concurrency(originals: &[Profile], replays: &[Profile]) -> Figure {
    let (ours, theirs) = (mean_curve(originals), mean_curve(replays));
    let mean = |curve: &[f64]| curve.iter().sum::<f64>() / COLUMNS as f64;
    let far = originals.iter().filter_map(|one| apart(&ours, &curve(one)));
    Figure {
        name: "concurrency",
        original: Some(mean(&ours)),
        replay: Some(mean(&theirs)),
        error_percent: apart(&ours, &theirs),
        spread_percent: (originals.len() > 1).then(|| far.fold(0.0, f64::max)),
    }
}

fn curve(profile: &Profile) -> Vec<f64> {
    let (start, end) = profile.span();
    profile.busy.rates(start, end, COLUMNS)
}

fn mean_curve(side: &[Profile]) -> Vec<f64> {
    let mut sum = vec![0.0; COLUMNS];
    for one in side {
        sum.iter_mut().zip(curve(one)).for_each(|(sum, value)| *sum += value / side.len() as f64);
    }
    sum
}

fn apart(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let difference: f64 = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).sum();
    percent(ours.iter().sum(), ours.iter().sum::<f64>() + difference)
}

type Ops = BTreeMap<u8, Histogram>;

/// Times of operations of all executions of a side.
fn pooled(side: &[profile::Scope]) -> Ops {
    let mut all = Ops::new();
    for (op, histogram) in side.iter().flat_map(|scope| &scope.ops) {
        all.entry(*op).or_default().merge(histogram);
    }
    all
}

/// Distances over all operations.
struct Distances {
    ks_percent: f64,
    wasserstein_percent: Option<f64>,
}

/// Mean of the operations' distances, weighted by their executions in the original. What one side
/// lacks counts as differences, not here.
fn distances(ours: &Ops, theirs: &Ops) -> Distances {
    let (mut count, mut ks, mut wasserstein_ns, mut time_ns) = (0.0, 0.0, 0.0, 0.0);
    for (op, histogram) in ours {
        let Some(found) = theirs.get(op).and_then(|other| distance_between(histogram, other))
        else {
            continue;
        };
        let executions = histogram.count as f64;
        count += executions;
        ks += executions * found.kolmogorov_smirnov;
        wasserstein_ns += executions * found.wasserstein_ns;
        time_ns += histogram.sum as f64;
    }
    Distances {
        ks_percent: if count > 0.0 { 100.0 * ks / count } else { 0.0 },
        wasserstein_percent: percent(time_ns, time_ns + wasserstein_ns),
    }
}

fn latency(ours: &Ops, theirs: &Ops) -> Vec<Latency> {
    let both = ours.iter().filter_map(|(op, one)| Some((Op::from_u8(*op)?, one, theirs.get(op)?)));
    let entry = |(op, one, other): (Op, &Histogram, &Histogram)| {
        let found = distance_between(one, other)?;
        let (original_mean_ns, replay_mean_ns) = (one.mean()?, other.mean()?);
        Some(Latency {
            op: op.name(),
            original_count: one.count,
            replay_count: other.count,
            original_mean_ns,
            replay_mean_ns,
            mean_error_percent: percent(original_mean_ns, replay_mean_ns),
            ks_percent: 100.0 * found.kolmogorov_smirnov,
            wasserstein_percent: percent(original_mean_ns, original_mean_ns + found.wasserstein_ns),
            wasserstein_ns: found.wasserstein_ns,
        })
    };
    both.filter_map(entry).collect()
}
