//! Rules about the run itself: failures, events, time.

use super::{counts, is_virtual};
use crate::once;
use crate::own_time::OwnTimes;
use crate::text::percent;
use model::run::{Mark, Run};
use model::units::{format_ns, significant};

/// A label whose occurrences last shorter together gives no rate: one interruption by the
/// system (a scheduler's turn takes some milliseconds) changes it by tens of per cent.
const SHORTEST_LABEL_NS: u64 = 10_000_000;
/// An operation must take so many clock readings on the average, ...
const READINGS: f64 = 4.0;
/// ... and clocks must agree within this share of the shortest label.
const SKEW_SHARE: f64 = 0.01;
/// A calibration of 5 ms between two moments that are each known to some 50 ns is right to 20 ppm; what
/// is further off was disturbed, or the clock did not run evenly.
const MOST_DRIFT_PPM: f64 = 100.0;

pub(super) fn failed(run: &Run) -> Option<Mark> {
    let failed = run.run.evidence.failed;
    let all: u64 = once::rows(run).map(|row| row.count).sum();
    let share = percent(failed as f64 / all.max(1) as f64);
    (failed > 0).then(|| {
        counts(
            "failed-operations",
            format!("{failed} of {all} operations failed ({share}); they enter no rate"),
            "see the failures; where they belong to the program write with (expect=\"ENOENT\") {...}",
        )
    })?
}

pub(super) fn short(run: &Run) -> Option<Mark> {
    let short = run.run.evidence.short;
    (short > 0).then(|| {
        counts(
            "short-operations",
            format!("{short} operations moved fewer bytes than asked, because the file ended"),
            "make the files as long as they are read, or read what is there: fread($h);",
        )
    })?
}

pub(super) fn dropped_events(run: &Run) -> Option<Mark> {
    let dropped = run.run.evidence.dropped_events;
    // Without a table nothing was to be kept.
    (dropped > 0 && run.run.events.is_some()).then(|| {
        counts(
            "dropped-events",
            format!(
                "{dropped} events were not kept for lack of memory: pictures over time end early"
            ),
            "raise the limit with --events max=16g, or keep a part with --events sample=1/100",
        )
    })?
}

/// Figures of `with (depth=32)` are read as those of a queue, whether there was one or not.
pub(super) fn option_without_effect(run: &Run) -> Option<Mark> {
    let found = &run.run.evidence.options_without_effect;
    let more = match found.len() {
        0 | 1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    let seen = format!("{}{more}", found.first()?);
    counts("option-without-effect", seen, "move the `with`, or leave the option out")
}

/// Busy times of the labels, nanoseconds: those that give rates.
fn labels(run: &Run) -> Vec<(&str, u64)> {
    let has_rows = |label: &str| run.rows.iter().any(|row| row.label == label);
    let busy = run.labels.iter().map(|label| (label.label.as_str(), label.busy_ns));
    let mut found: Vec<(&str, u64)> = busy.filter(|(label, _)| has_rows(label)).collect();
    if has_rows("") {
        found.push(("", run.run.duration_wall_ns));
    }
    found
}

pub(super) fn too_short(run: &Run) -> Option<Mark> {
    if is_virtual(run) {
        return None;
    }
    let mut short = labels(run);
    short.retain(|(_, took_ns)| *took_ns < SHORTEST_LABEL_NS);
    let (label, took_ns) = short.iter().min_by_key(|(_, took_ns)| *took_ns)?;
    let what = if label.is_empty() { "the run".into() } else { format!("label \"{label}\"") };
    let others = match short.len() {
        1 => String::new(),
        n => format!(", and {} more below {}", n - 1, format_ns(SHORTEST_LABEL_NS as f64)),
    };
    counts(
        "too-short",
        format!("{what} lasted {}{others}: too short for a rate", format_ns(*took_ns as f64)),
        "repeat more often or move more data, until every label lasts a second",
    )
}

pub(super) fn clock_cost(run: &Run) -> Option<Mark> {
    let read_ns = run.run.evidence.clock_read_ns;
    let own = OwnTimes::of(run);
    let rows = run.rows.iter().filter(|row| row.part_of.is_none()).map(|row| own.row(row));
    let quick = rows.filter_map(|row| Some((row, row.mean_ns?)));
    let (row, mean_ns) = quick.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (read_ns > 0.0 && mean_ns < READINGS * read_ns).then(|| {
        counts(
            "clock-cost",
            format!(
                "{} takes {} on the average, and one reading of the clock {}: a part of the figure is the clock",
                row.op,
                format_ns(mean_ns),
                format_ns(read_ns)
            ),
            "use larger requests, or judge by the label's time with many operations in it",
        )
    })?
}

pub(super) fn clock_skew(run: &Run) -> Option<Mark> {
    let skew_ns = run.run.evidence.clock_skew_ns;
    let (label, took_ns) = labels(run).into_iter().min_by_key(|(_, took_ns)| *took_ns)?;
    (skew_ns as f64 > SKEW_SHARE * took_ns as f64).then(|| {
        counts(
            "clock-skew",
            format!(
                "the ranks' clocks differ by up to {}, and label \"{label}\" lasted {}",
                format_ns(skew_ns as f64),
                format_ns(took_ns as f64)
            ),
            "make the label last a hundred times the difference; clocks are compared by messages before and after \
             the ranks run, so a shorter run and a quieter network make it smaller (NTP does not)",
        )
    })?
}

pub(super) fn clock_backward(run: &Run) -> Option<Mark> {
    let times = run.run.evidence.clock_backward;
    (times > 0).then(|| {
        counts(
            "clock-backward",
            format!(
                "the clock went backward {times} times between two readings: these times are 0"
            ),
            "see whether the machine slept or a guest was moved, and run again",
        )
    })?
}

pub(super) fn clock_drift(run: &Run) -> Option<Mark> {
    let evidence = &run.run.evidence;
    let ppm = evidence.clock_drift_ppm?;
    (ppm.abs() > MOST_DRIFT_PPM).then(|| {
        let word = if ppm > 0.0 { "fast" } else { "slow" };
        counts(
            "clock-drift",
            format!(
                "the clock ({}) ran {} ppm too {word} against the kernel's: times and rates are off by as \
                 much",
                evidence.clock,
                significant(ppm.abs())
            ),
            "run again; if it stays, the processor's counter or its calibration cannot be trusted here",
        )
    })?
}

pub(super) fn suspended(run: &Run) -> Option<Mark> {
    let slept_ns = run.run.evidence.suspended_ns;
    (slept_ns > 0).then(|| {
        counts(
            "suspended",
            format!("a machine slept for {} during the run", format_ns(slept_ns as f64)),
            "run again on a machine that is not suspended",
        )
    })?
}
