//! Both sides over each other as pictures, and the page around them.

use super::profile::Profile;
use super::{Fidelity, show};
use crate::chart::{Axis, Bar, Chart, Join, Point, Series, Unit, View};
use crate::compare::pictures::cumulated;
use crate::html::{figures, page};
use crate::markup::{Markup, element};
use crate::table::Terminal;
use crate::views::{Absent, Views};
use model::Op;
use model::units::{format_bytes, format_ns};

/// Columns of a curve over time.
const COLUMNS: usize = 240;
/// Bars of a phase.
const BARS: usize = 100;
/// Phases in the picture of phases.
const PHASES: usize = 24;
/// Operations with a picture of their times, those with most time.
const OPERATIONS: usize = 8;

/// Why pictures over time show nothing.
const ONE_TIME: &str = "all operations of a side lie at one point in time";
/// Why pictures of durations show nothing.
const UNTOLD: &str = "the log of a side does not tell how long calls took";

const SIDES: [&str; 2] = ["original", "replay"];

fn axis(title: &str, unit: Unit, log: bool) -> Axis {
    Axis { title: title.into(), unit, log }
}

/// The report as one self-contained page.
pub fn html(found: &Fidelity) -> String {
    let text = show::table(found, Terminal::default());
    let pictures = views(found);
    let body = element("section")
        .with(element("p").text(&found.verdict))
        .with(element("pre").preformatted(text.trim_end()))
        .with(element("p").text(pictured(found)))
        .with(figures(&pictures.views, &pictures.absent));
    let mut all = Markup::from(element("h1").text("Fidelity"));
    all.push(body);
    page("Fidelity – Parabench", all)
}

/// Which of several executions the pictures show, "" if there are no others.
fn pictured(found: &Fidelity) -> String {
    let first = |all: &[super::Execution]| match all {
        [] => String::new(),
        [one] => one.name.clone(),
        [first, ..] => format!("{}, the first of {}", first.name, all.len()),
    };
    match found.originals.len() + found.replays.len() {
        0..=2 => String::new(),
        _ => format!(
            "The figures above are medians. Pictures over time show single executions: {} (original) and {} (replay).",
            first(&found.originals),
            first(&found.replays)
        ),
    }
}

fn views(found: &Fidelity) -> Views {
    let mut views = Vec::new();
    let mut absent = Vec::new();
    let timeless = found.pictured.iter().any(|one| one.elapsed_ns() == 0);
    let untold = found.pictured.iter().any(|one| one.is_untold);
    let mut leave_out = |name, reason: &str| absent.push(Absent { name, reason: reason.into() });
    match timeless {
        true => leave_out("phases", ONE_TIME),
        false => views.push(phases(found)),
    }
    if untold {
        leave_out("concurrency", UNTOLD);
    } else if timeless {
        leave_out("concurrency", ONE_TIME);
    } else {
        views.push(under_way(found));
    }
    for (at, name) in ["bytes-read", "bytes-written"].into_iter().enumerate() {
        if found.pictured.iter().all(|one| one.moved[at].total() == 0.0) {
            leave_out(name, "no operation moved bytes");
        } else if timeless {
            leave_out(name, ONE_TIME);
        } else {
            views.push(bytes_moved(found, at, name));
        }
    }
    let latencies = latencies(found);
    if latencies.is_empty() && untold {
        leave_out("latency", UNTOLD);
    }
    views.extend(latencies);
    Views { views, absent }
}

/// How many operations are under way.
fn under_way(found: &Fidelity) -> View {
    View {
        name: "concurrency".into(),
        title: "Operations under way over time".into(),
        summary: figure_words(found, "concurrency"),
        chart: over_time(found, "operations under way", Unit::Count, 1.0, |one| &one.busy),
    }
}

/// Bytes over time that were read (0) or written (1).
fn bytes_moved(found: &Fidelity, at: usize, name: &str) -> View {
    let word = ["read", "written"][at];
    let [ours, theirs] = [0, 1].map(|side| {
        let profile = &found.pictured[side];
        let bytes = format_bytes(profile.moved[at].total().round() as u64);
        format!("{bytes} in {}", format_ns(profile.elapsed_ns() as f64))
    });
    let scale = 1e9 / f64::from(1 << 20);
    View {
        name: name.into(),
        title: format!("Bytes {word} over time"),
        summary: format!("Bytes {word}: {ours} of the original, {theirs} of the replay."),
        chart: over_time(found, "bandwidth", Unit::MibPerSecond, scale, |one| &one.moved[at]),
    }
}

/// Both time lines: a row for each phase and side, from the first operation on.
fn phases(found: &Fidelity) -> View {
    let labels: Vec<&(u32, String)> = {
        let mut labels: Vec<&(u32, String)> = found.texts.iter().collect();
        let start = |label: u32| {
            let times = found.pictured.iter().filter_map(|one| one.phases.get(&label));
            times.map(|scope| scope.times.span().0).next().unwrap_or(u64::MAX)
        };
        labels.sort_by_key(|(label, _)| (start(*label), *label));
        labels.dedup();
        labels.truncate(PHASES);
        labels
    };
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for (label, name) in &labels {
        for (side, word) in SIDES.iter().enumerate() {
            let profile = &found.pictured[side];
            let row = rows.len() as u32;
            let name = if name.is_empty() { "(no label)" } else { name };
            rows.push(format!("{name}, {word}"));
            bars.extend(spans(profile, *label).into_iter().map(|(start, end)| Bar {
                row,
                class: side as u32,
                start,
                end,
            }));
        }
    }
    View {
        name: "phases".into(),
        title: "Both time lines".into(),
        summary: figure_words(found, "elapsed"),
        chart: Chart::Spans {
            x: axis("time since the first operation", Unit::Nanoseconds, false),
            rows,
            classes: SIDES.map(String::from).to_vec(),
            bars,
        },
    }
}

/// When a side was in a phase, from its first operation on; neighbours together if they are many.
fn spans(profile: &Profile, label: u32) -> Vec<(f64, f64)> {
    let begin = profile.span().0;
    let all = profile.phases.get(&label).map(|scope| scope.times.all()).unwrap_or_default();
    let since = |ns: u64| ns.saturating_sub(begin) as f64;
    let together = all.chunks(all.len().div_ceil(BARS).max(1));
    together.map(|some| (since(some[0].0), since(some[some.len() - 1].1))).collect()
}

fn over_time(
    found: &Fidelity,
    title: &str,
    unit: Unit,
    scale: f64,
    of: impl Fn(&Profile) -> &super::bins::Bins,
) -> Chart {
    let longest = found.pictured.iter().map(Profile::elapsed_ns).max().unwrap_or(0);
    let width = longest as f64 / COLUMNS as f64;
    let series = found.pictured.iter().enumerate().map(|(side, profile)| {
        let begin = profile.span().0;
        let rates = of(profile).rates(begin, begin + longest, COLUMNS);
        let point = |(at, rate): (usize, f64)| Point {
            x: at as f64 * width,
            y: rate * scale,
            interval: None,
        };
        let points = rates.into_iter().enumerate().map(point).collect();
        Series { name: SIDES[side].into(), color: side, points }
    });
    Chart::Lines {
        x: axis("time since the first operation", Unit::Nanoseconds, false),
        y: axis(title, unit, false),
        join: Join::Step,
        series: series.collect(),
    }
}

/// "elapsed: 102 ms instead of 100 ms, an error of 2.0 %".
fn figure_words(found: &Fidelity, name: &str) -> String {
    let all = found.scopes.iter().take(1).flat_map(|scope| &scope.figures);
    let Some(figure) = all.into_iter().find(|figure| figure.name == name) else {
        return String::new();
    };
    let error = figure.error_percent.map_or("unknown".into(), |error| format!("{error:.1} %"));
    match (name, figure.original, figure.replay) {
        ("elapsed", Some(ours), Some(theirs)) => format!(
            "The replay took {} instead of {}, an error of {error}.",
            format_ns(theirs),
            format_ns(ours)
        ),
        _ => format!("The error of the {name} is {error}."),
    }
}

/// How long single operations took, for those with most time.
fn latencies(found: &Fidelity) -> Vec<View> {
    let [ours, theirs] = &found.pictured;
    let mut ops: Vec<_> =
        ours.all.ops.iter().filter(|(op, _)| theirs.all.ops.contains_key(op)).collect();
    ops.sort_by_key(|(op, times)| (std::cmp::Reverse(times.sum), **op));
    let view = |(op, _): &(&u8, _)| {
        let name = Op::from_u8(**op)?.name();
        let series = found.pictured.iter().enumerate().filter_map(|(side, profile)| {
            let points = cumulated(profile.all.ops.get(op)?);
            Some(Series { name: SIDES[side].into(), color: side, points })
        });
        let latency = &found.scopes.first()?.latency;
        let found = latency.iter().find(|one| one.op == name)?;
        Some(View {
            name: format!("latency-{name}"),
            title: format!("{name}: how long single operations take"),
            summary: format!(
                "The curves are at most {:.1} % apart (Kolmogorov-Smirnov), and an operation differs by {} on the average (Wasserstein).",
                found.ks_percent,
                format_ns(found.wasserstein_ns)
            ),
            chart: Chart::Lines {
                x: axis("time of an operation", Unit::Nanoseconds, true),
                y: axis("operations that took at most so long", Unit::Share, false),
                join: Join::Step,
                series: series.collect(),
            },
        })
    };
    ops.iter().take(OPERATIONS).filter_map(view).collect()
}
