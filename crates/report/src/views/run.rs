//! The pictures of a run in the order in which a reader wants them.

use super::source::Colors;
use super::source::{Source, Views};
use super::{calls, files, labels, latency, moved, ranks, rates, sweep};
use crate::StoreError;
use crate::aggregate::{Aggregates, aggregate};
use crate::chart::View;
use model::Run;
use std::path::Path;

/// The pictures of a run; `events` come from [`aggregate`], if the run kept any.
pub fn views(run: &Run, events: Option<&Aggregates>) -> Views {
    let mut views = Views::default();
    let colors = Colors::of(run);
    let source = events.map(|events| Source::new(run, events, &colors));
    let from_events = |make: fn(&Source<'_>) -> Result<View, String>| {
        source.as_ref().ok_or_else(|| no_events(run)).and_then(make)
    };
    let over_time = |make: fn(&Source<'_>) -> Result<View, String>| {
        let timed = source.as_ref().map_or_else(|| Err(no_events(run)), Source::timed)?;
        make(timed)
    };
    views.add_all(sweep::NAME, sweep::over_dimensions(run, &colors));
    match moved::bins_of_log(run) {
        Some(moved) => {
            views.add(rates::OVER_TIME, moved::over_time(moved));
            views.add(ranks::BAND, moved::band(moved));
        }
        None => {
            views.add(rates::OVER_TIME, over_time(rates::over_time));
            views.add(ranks::BAND, over_time(ranks::band));
        }
    }
    if run.run.job.as_ref().is_some_and(|job| job.nodes.len() > 1) {
        views.add(ranks::NODES, over_time(ranks::band_of_nodes));
    }
    views.add(ranks::BANDWIDTH, over_time(ranks::bandwidth));
    views.add(ranks::LATENCY, over_time(ranks::latency));
    if !run.run.arrivals.is_empty() {
        views.add(rates::DUE, over_time(rates::latency_since_due));
    }
    views.add(rates::CALLS, over_time(rates::calls));
    views.add(latency::HISTOGRAM, latency::histogram(run, &colors));
    views.add(latency::CDF, latency::cdf(run, &colors));
    views.add(latency::PERCENTILES, latency::percentiles(run));
    views.add(calls::COUNT, calls::count(run));
    views.add(calls::TIME, calls::time(run));
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
