//! Run -> pictures: what each view shows, in figures that fit a screen.
//!
//! ```text
//! Run         ──▶ latencies, calls by kind, labels over time, figures over a sweep
//! Aggregates  ──▶ rates over time, ranks over time, positions, files, labels by rank
//! ```
//!
//! The title of a view is a short noun, its summary has the numbers that matter. A view without data is
//! absent, with a reason. Names are stable: they are file names of `parabench report --data`. `source` is
//! what they share.

mod files;
mod labels;
mod latency;
mod moved;
mod phases;
mod ranks;
mod rates;
mod source;
mod sweep;

pub use report::chart::csv;
pub use report::chart::{Absent, Views};
pub(crate) use sweep::rates;

use crate::aggregate::{Aggregates, aggregate};
use model::Run;
use report::StoreError;
use report::chart::View;
use report::compare::{self, Options};
use source::Source;
use std::path::Path;

/// The pictures of a run; `events` come from [`aggregate`], if the run kept any.
pub fn views(run: &Run, events: Option<&Aggregates>) -> Views {
    let mut views = Views::default();
    let source = events.map(|events| Source::new(run, events));
    let from_events = |make: fn(&Source<'_>) -> Result<View, String>| {
        source.as_ref().ok_or_else(|| no_events(run)).and_then(make)
    };
    let over_time = |make: fn(&Source<'_>) -> Result<View, String>| {
        let timed = source.as_ref().map_or_else(|| Err(no_events(run)), Source::timed)?;
        make(timed)
    };
    views.add_all(sweep::NAME, sweep::over_dimensions(run));
    if let Some((base, new)) = compare::split(run) {
        let found = compare::compare_blocks(&base, &new, &Options::default());
        views.views.extend(compare::show::views(&base, &new, &found));
    }
    views.add(phases::NAME, phases::phases(run));
    let (bandwidth, by_rank) = match moved::bins_of_log(run) {
        Some(moved) => (moved::over_time(moved), moved::by_rank(moved)),
        None => (over_time(rates::over_time), over_time(ranks::bandwidth)),
    };
    views.add(rates::OVER_TIME, bandwidth);
    views.add(ranks::BANDWIDTH, by_rank);
    views.add(ranks::LATENCY, over_time(ranks::latency));
    if !run.run.arrivals.is_empty() {
        views.add(rates::DUE, over_time(rates::latency_since_due));
    }
    views.add(rates::CALLS, over_time(rates::calls));
    views.add(latency::CDF, latency::cdf(run));
    views.add(files::OFFSETS, over_time(files::offsets_over_time));
    views.add(files::NAME, from_events(files::map));
    let execution = events.map(|events| events.execution);
    views.add(labels::OVER_TIME, labels::over_time(run, execution));
    views.add(labels::BY_RANK, over_time(labels::by_rank));
    views
}

/// The pictures of a stored run; `path` is its folder.
///
/// # Errors
/// Those of [`aggregate`], if the run says that it kept events.
pub fn stored(path: &Path, run: &Run) -> Result<Views, StoreError> {
    let events = match &run.run.events {
        Some(info) if info.count > 0 && path.is_dir() => aggregate(path, run)?,
        _ => None,
    };
    Ok(views(run, events.as_ref()))
}

fn no_events(run: &Run) -> String {
    match &run.run.events {
        Some(info) if info.count > 0 => "the event table was not read".into(),
        Some(_) => "no operation was kept as an event".into(),
        None => "the run kept no events: run with --events and --out".into(),
    }
}

#[cfg(test)]
mod tests;
