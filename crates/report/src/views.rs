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
mod colors;
mod data;
mod due;
mod files;
mod labels;
mod latency;
mod moved;
mod offsets;
mod ranks;
mod rates;
mod sweep;

pub use data::csv;
pub(crate) use data::lines;

use crate::StoreError;
use crate::aggregate::{Aggregates, Execution, aggregate};
use crate::chart::{Axis, Unit, View};
use colors::Colors;
use model::Op;
use model::Run;
use model::run::Row;
use model::units::Measure;
use std::path::Path;

/// Values that differ by more stand on a logarithmic axis.
const LOG_FROM: f64 = 20.0;

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
    match moved::told(run) {
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
        views.add(due::NAME, over_time(due::over_time));
    }
    views.add(rates::CALLS, over_time(rates::calls));
    views.add(latency::HISTOGRAM, latency::histogram(run, &colors));
    views.add(latency::CDF, latency::cdf(run, &colors));
    views.add(latency::PERCENTILES, latency::percentiles(run));
    views.add(calls::COUNT, calls::count(run));
    views.add(calls::TIME, calls::time(run));
    views.add(offsets::NAME, over_time(offsets::over_time));
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

/// Why there is no picture of how long operations took.
fn no_time(run: &Run) -> &'static str {
    let mut gaps = run.run.trace.iter().flat_map(|trace| &trace.gaps);
    match gaps.any(|gap| gap.code == "no-durations") {
        true => "the log does not tell how long calls took",
        false => "no operation took time",
    }
}

/// Why there is no picture of operations.
fn nothing(source: &Source<'_>) -> String {
    match source.events.failed {
        0 => "no operation was kept as an event".into(),
        _ => "all operations failed".into(),
    }
}

/// Events with what is to be said of all figures from them.
struct Source<'a> {
    events: &'a Aggregates,
    colors: &'a Colors,
    /// What a counted event stands for.
    scale: f64,
    /// "block=4k, repetition 0"; empty where there is one execution.
    point: String,
    /// Why a picture of times has nothing to show.
    no_time: &'static str,
    /// The execution has operations in several labels.
    several_labels: bool,
    /// Operations are missing: a sample was kept, or memory ran out.
    is_partial: bool,
    /// Files got other names: one of them may be several of the pictures.
    is_renamed: bool,
    /// Begins with a blank; "" if all operations are there.
    note: String,
}

impl<'a> Source<'a> {
    fn new(run: &Run, events: &'a Aggregates, colors: &'a Colors) -> Source<'a> {
        let info = run.run.events.as_ref();
        let every = info.map_or(1, |info| info.sample_every.max(1));
        let dropped = info.map_or(0, |info| info.dropped);
        let mut note = String::new();
        if every > 1 {
            note += &format!(" Estimated from one of {every} operations.");
        }
        if dropped > 0 {
            note += &format!(" {dropped} operations are missing for lack of memory.");
        }
        if events.failed > 0 {
            note += &format!(
                " Without {}.",
                counted(events.failed, "operation that failed or met an expected error")
            );
        }
        let of = |row: &&Row| (row.cell, row.repetition) == events.execution.pair();
        let mut labels = run.rows.iter().filter(of).map(|row| &row.label);
        let first = labels.next();
        Source {
            events,
            colors,
            scale: every as f64,
            point: point(run, events.execution),
            no_time: no_time(run),
            several_labels: labels.any(|label| Some(label) != first),
            is_partial: every > 1 || dropped > 0,
            is_renamed: run.rows.iter().filter(of).any(|row| gives_names(&row.op)),
            note,
        }
    }

    /// All of it, if operations lie at different times: else nothing can be drawn over time.
    fn timed(&self) -> Result<&Self, String> {
        let time = &self.events.time;
        match (self.events.events, time.count, time.width_ns) {
            (1.., 1, 1) => Err("all operations lie at one point in time".into()),
            _ => Ok(self),
        }
    }

    /// Which operations have no place in pictures of positions; "" without any.
    fn unplaced(&self) -> String {
        match self.events.unplaced {
            0 => String::new(),
            n => format!(
                " Without the places of {}: nobody knows which bytes they moved.",
                counted(n, "operation")
            ),
        }
    }

    /// A title with what it is about: the point of a sweep, and that labels are taken together.
    fn titled(&self, title: String) -> String {
        let together = if self.several_labels { "all labels together" } else { "" };
        qualified(title, &[&self.point, together])
    }
}

/// The operation gives a file that is there another name.
fn gives_names(op: &str) -> bool {
    matches!(Op::find(op), Some(Op::Rename | Op::Link | Op::Symlink))
}

/// An execution in words, if there are several: "block=4k, repetition 0".
fn point(run: &Run, execution: Execution) -> String {
    let Some(sweep) = &run.run.sweep else { return String::new() };
    let mut words = Vec::new();
    if !sweep.dimensions.is_empty() {
        words.push(crate::text::fit(&crate::text::escape(&sweep.describe(execution.cell)), 80));
    }
    if sweep.order.iter().any(|other| other.repetition != execution.repetition) {
        words.push(format!("repetition {}", execution.repetition));
    }
    words.join(", ")
}

/// "title (one; another)" without the words that are empty.
fn qualified(title: String, words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    if words.is_empty() { title } else { format!("{title} ({})", words.join("; ")) }
}

fn axis(title: &str, unit: Unit) -> Axis {
    Axis { title: title.into(), unit, log: false }
}

/// The axis of `values`: logarithmic if the largest is far above the smallest one, zeros apart, which
/// have no place there.
fn axis_of(title: &str, unit: Unit, values: impl Iterator<Item = f64>) -> Axis {
    let (least, most) = values
        .filter(|value| value.is_finite() && *value != 0.0)
        .fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    Axis { log: least > 0.0 && most > LOG_FROM * least, ..axis(title, unit) }
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

/// MiB/s in words, in the units of the tables and axes.
fn rate_text(mib_s: f64) -> String {
    Measure::ByteRate.format(mib_s, 3)
}

/// The sum of figures that may be those of a damaged run.
fn total(figures: impl Iterator<Item = u64>) -> u64 {
    figures.fold(0, u64::saturating_add)
}

/// "3 files", "1 file", "2 operations that failed".
fn counted(count: u64, one: &str) -> String {
    match one.split_once(' ') {
        _ if count == 1 => format!("1 {one}"),
        Some((noun, rest)) => format!("{count} {noun}s {rest}"),
        None => format!("{count} {one}s"),
    }
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
