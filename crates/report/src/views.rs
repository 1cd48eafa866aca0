//! Run -> pictures: what each view shows, in figures that fit a screen.
//!
//! ```text
//! Run         ──▶ latencies, calls by kind, labels over time, figures over a sweep
//! Aggregates  ──▶ rates over time, ranks over time, positions, files, labels by rank
//! ```
//!
//! A view says in its title what one learns from it and in its summary the numbers that matter.
//! A view without data is absent, with a reason. Names are stable: they are file names of
//! `parabench report --data`.

mod calls;
mod data;
mod files;
mod labels;
mod latency;
mod offsets;
mod ranks;
mod rates;
mod sweep;

pub use data::csv;
pub(crate) use data::lines;

use crate::StoreError;
use crate::aggregate::{Aggregates, aggregate};
use crate::chart::{Axis, Unit, View};
use model::Run;
use std::path::Path;

/// The pictures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Views {
    /// Those that have something to show, in the order in which a reader wants them.
    pub views: Vec<View>,
    /// The others.
    pub absent: Vec<Absent>,
}

/// A picture that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its name.
    pub name: &'static str,
    /// Why not: "no operation moved bytes".
    pub reason: String,
}

/// The pictures of a run; `events` are those of [`aggregate`], if the run kept any.
pub fn views(run: &Run, events: Option<&Aggregates>) -> Views {
    let mut views = Views::default();
    views.add_all(sweep::NAME, sweep::over_dimensions(run));
    let source = events.map(|events| Source::new(run, events));
    let mut from_events = |name, make: fn(&Source<'_>) -> Result<View, String>| {
        let made = source.as_ref().ok_or_else(|| no_events(run)).and_then(make);
        views.add(name, made);
    };
    from_events(rates::OVER_TIME, rates::over_time);
    from_events(ranks::BAND, ranks::band);
    from_events(ranks::BYTES, ranks::bytes);
    from_events(ranks::LATENCY, ranks::latency);
    from_events(rates::CALLS, rates::calls);
    views.add(latency::HISTOGRAM, latency::histogram(run));
    views.add(latency::CDF, latency::cdf(run));
    views.add(latency::PERCENTILES, latency::percentiles(run));
    views.add(calls::COUNT, calls::count(run));
    views.add(calls::TIME, calls::time(run));
    let mut from_events = |name, make: fn(&Source<'_>) -> Result<View, String>| {
        let made = source.as_ref().ok_or_else(|| no_events(run)).and_then(make);
        views.add(name, made);
    };
    from_events(offsets::NAME, offsets::over_time);
    from_events(files::NAME, files::map);
    views.add(labels::OVER_TIME, labels::over_time(run));
    views.add(
        labels::BY_RANK,
        source.as_ref().ok_or_else(|| no_events(run)).and_then(labels::by_rank),
    );
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

impl Views {
    fn add_all(&mut self, name: &'static str, made: Result<Vec<View>, String>) {
        match made {
            Ok(made) => self.views.extend(made),
            Err(reason) => self.absent.push(Absent { name, reason }),
        }
    }

    fn add(&mut self, name: &'static str, made: Result<View, String>) {
        match made {
            Ok(view) => self.views.push(view),
            Err(reason) => self.absent.push(Absent { name, reason }),
        }
    }
}

fn no_events(run: &Run) -> String {
    match &run.run.events {
        Some(info) if info.count > 0 => "the event table was not read".into(),
        Some(_) => "no operation was kept as an event".into(),
        None => "the run kept no events: run with --events and --out".into(),
    }
}

/// Events with what is to be said of all figures from them.
struct Source<'a> {
    events: &'a Aggregates,
    /// What a counted event stands for.
    scale: f64,
    /// Begins with a blank; "" if the table holds everything.
    note: String,
}

impl<'a> Source<'a> {
    fn new(run: &Run, events: &'a Aggregates) -> Source<'a> {
        let info = run.run.events.clone().unwrap_or_default();
        let every = info.sample_every.max(1);
        let mut note = String::new();
        if every > 1 {
            note += &format!(" Estimated from one of {every} operations.");
        }
        if info.dropped > 0 {
            note += &format!(" {} operations are missing for lack of memory.", info.dropped);
        }
        if events.one_of_many {
            let execution = events.execution;
            note += &format!(
                " Of all executions this is cell {}, repetition {}.",
                execution.cell, execution.repetition
            );
        }
        Source { events, scale: every as f64, note }
    }
}

fn axis(title: &str, unit: Unit) -> Axis {
    Axis { title: title.into(), unit, log: false }
}

fn log_axis(title: &str, unit: Unit) -> Axis {
    Axis { log: true, ..axis(title, unit) }
}

/// The axis of all views over time.
fn time_axis() -> Axis {
    axis("time since start", Unit::Nanoseconds)
}

/// Mebibytes per second.
fn mib_s(bytes: f64, ns: f64) -> f64 {
    if ns > 0.0 { bytes / 1_048_576.0 / (ns / 1e9) } else { 0.0 }
}

/// The sum of figures that may be those of a damaged run.
fn total(figures: impl Iterator<Item = u64>) -> u64 {
    figures.fold(0, u64::saturating_add)
}

/// "3 files", "1 file".
fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A label as a reader sees it.
fn shown_label(label: &str) -> String {
    match label {
        "" => "(no label)".into(),
        label => crate::text::fit(&crate::text::escape(label), 40),
    }
}

#[cfg(test)]
mod tests;
