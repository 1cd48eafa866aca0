//! Run -> pictures: what each view shows, in figures that fit a screen.
//!
//! ```text
//! Run         ──▶ latencies, calls by kind, labels over time, figures over a sweep
//! TimeLine    ──▶ bandwidth, operations, latencies, ranks and positions over time
//! ```
//!
//! The title of a view is a short noun, its summary has the numbers that matter. A view without data is
//! absent, with a reason. Names are stable: they are file names of `parabench report --data`. `source` is
//! what they share.

mod access;
mod due;
mod labels;
mod latency;
mod layers;
mod moved;
mod phases;
mod source;
mod sweep;
mod timeline;

pub(crate) use access::of_executions as accesses;
pub use report::chart::csv;
pub use report::chart::{Absent, Views};
pub(crate) use source::scope_name;
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
    views.add_all(sweep::NAME, sweep::over_dimensions(run));
    if let Some((base, new)) = compare::split(run) {
        let found = compare::compare_blocks(&base, &new, &Options::default());
        views.views.extend(compare::show::views(&base, &new, &found));
    }
    views.add(phases::NAME, phases::phases(run));
    match moved::bins_of_log(run) {
        Some(moved) => views.add(timeline::BANDWIDTH, moved::over_time(moved)),
        None => over_time(&mut views, run, events),
    }
    views.add(latency::CDF, latency::cdf(run));
    views.views.extend(moved::above(run));
    views.views.extend(moved::by_rank(run));
    views.views.extend(layers::pictures(run));
    views
}

/// A picture of an execution.
type Make = fn(&Source<'_>) -> Result<View, String>;

/// The pictures of time lines, with the names of the first execution.
const OVER_TIME: [(&str, Make); 6] = [
    (timeline::BANDWIDTH, timeline::bandwidth),
    (timeline::CALLS, timeline::calls),
    (timeline::LATENCY, timeline::latency),
    (due::NAME, due::latency_since_due),
    (timeline::RANKS, timeline::ranks),
    (timeline::OFFSETS, timeline::offsets),
];

/// The pictures over time of every execution that is shown; those of the first one are absent with a reason.
fn over_time(views: &mut Views, run: &Run, events: Option<&Aggregates>) {
    let all = OVER_TIME.iter().filter(|one| one.0 != due::NAME || !run.run.arrivals.is_empty());
    let Some(events) = events else {
        all.for_each(|(name, _)| views.add(name, Err(no_events(run))));
        views.add(labels::OVER_TIME, labels::over_time(run, None));
        return;
    };
    for (at, line) in events.executions.iter().enumerate() {
        let source = Source::new(run, events, line);
        let mut put = |name: &'static str, made: Result<View, String>| match made {
            Ok(view) => views.views.push(View { name: numbered(run, name, at), ..view }),
            Err(_) if at > 0 => {}
            absent => views.add(name, absent),
        };
        for (name, make) in all.clone() {
            put(name, source.timed().and_then(make));
        }
        put(labels::OVER_TIME, labels::over_time(run, Some(line.execution)));
        // The counters of a log are complete, its events may be some.
        if let Some(access) = events.access.get(at).filter(|_| !has_counters(run)) {
            put(access::SIZES, access::sizes(&line.name, access));
            put(access::RANKS, access::ranks(&line.name, access));
        }
    }
}

/// The run is of a log whose counters tell sizes, files and times.
pub(crate) fn has_counters(run: &Run) -> bool {
    run.run.trace.as_ref().is_some_and(|trace| !trace.modules.is_empty())
}

/// The name of a picture of the execution at a place: `NAME`, then `NAME-b` of A and B, else `NAME-2` and so on.
fn numbered(run: &Run, name: &str, at: usize) -> String {
    match at {
        0 => name.into(),
        _ if run.run.sweep.as_ref().is_some_and(|sweep| sweep.pair().is_some()) => {
            format!("{name}-b")
        }
        at => format!("{name}-{}", at + 1),
    }
}

/// The pictures of a stored run, and its events condensed; `path` is its folder.
///
/// # Errors
/// Those of [`aggregate`], if the run says that it kept events.
pub fn stored(path: &Path, run: &Run) -> Result<(Views, Option<Aggregates>), StoreError> {
    let events = events_of(path, run)?;
    Ok((views(run, events.as_ref()), events))
}

fn events_of(path: &Path, run: &Run) -> Result<Option<Aggregates>, StoreError> {
    match &run.run.events {
        Some(info) if info.count > 0 && path.is_dir() => aggregate(path, run),
        _ => Ok(None),
    }
}

/// Pictures over time of two stored runs on one axis, and their events; `None`: one of them kept none.
///
/// # Errors
/// Those of [`aggregate`].
pub fn beside(
    base: (&Path, &Run),
    new: (&Path, &Run),
) -> Result<Option<(Vec<View>, Aggregates)>, StoreError> {
    let (Some(a), Some(b)) = (events_of(base.0, base.1)?, events_of(new.0, new.1)?) else {
        return Ok(None);
    };
    let events = Aggregates::beside(a, b);
    let mut views = Vec::new();
    for ((run, line), end) in [base.1, new.1].into_iter().zip(&events.executions).zip(["", "-b"]) {
        let source = Source::new(run, &events, line);
        let all = OVER_TIME.iter().filter(|(name, _)| *name != due::NAME);
        let made = all.filter_map(|(name, make)| Some((name, source.timed().and_then(make).ok()?)));
        views.extend(made.map(|(name, view)| View { name: format!("{name}{end}"), ..view }));
    }
    Ok(Some((views, events)))
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
