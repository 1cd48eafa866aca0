//! Rules about the run itself: failures, events, short labels, the clock.

use super::rule::{Rule, each_label, inside, is_virtual, note, remark, verdict};
use crate::rows::{OwnTimes, class, once};
use crate::text::percent;
use model::errno;
use model::op::Class;
use model::run::{LabelEvidence, Row, Run};
use model::units::{format_ns, significant};
use model::words;
use std::collections::BTreeMap;

/// A label that lasts shorter than this gives no rate: one interruption by the system (a time slice
/// takes some milliseconds) changes it by tens of per cent.
const SHORTEST_LABEL_NS: u64 = 10_000_000;
/// Clock readings that an operation must take at least, on average.
const READINGS: f64 = 4.0;
/// From this share of a label's time on, making data is said beside its figures.
const MAKING_SHARE: f64 = 0.01;
/// Largest difference of clocks, as a share of the shortest label.
const SKEW_SHARE: f64 = 0.01;
/// A calibration of 5 ms between two moments that are each known to some 50 ns is right to 20 ppm; larger
/// drifts were disturbed, or the clock did not run evenly.
const MOST_DRIFT_PPM: f64 = 100.0;

/// An operation that took this long, ...
const STALL_NS: u64 = 5_000_000_000;
/// ... and this many times the median of its row, waited for storage that did not answer.
const STALL_MEDIANS: u64 = 100;

/// Advice on operations that failed, by the errno that most of them have. An errno is expected only where a
/// program can mean to provoke it.
fn fix_of_failures(run: &Run) -> &'static str {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for failure in &run.run.failures {
        *counts.entry(failure.errno).or_default() += failure.occurrences;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    match most.map_or("", |(number, _)| errno::name(number)) {
        "ENOENT" => {
            "make the files first (--prepare makes those that the program expects); if it looks for missing \
             files on purpose: with (expect=\"ENOENT\") {...}"
        }
        "EEXIST" => {
            "start in an empty directory (--clean); if the program makes names twice on purpose: with \
             (expect=\"EEXIST\") {...}"
        }
        "ENOTEMPTY" => {
            "remove what is in the directory first; if the program tries it on purpose: with \
             (expect=\"ENOTEMPTY\") {...}"
        }
        "EAGAIN" | "EWOULDBLOCK" => {
            "wait for the lock; if the program only tries to get it: with (expect=\"EAGAIN\") {...}"
        }
        "EBADF" => {
            "use a file only between fopen and fclose, and open it with \"r+\" or \"w+\" to read and write it"
        }
        "EACCES" | "EPERM" | "EROFS" => "use a directory in which you may read and write: --dir D",
        "ENOSPC" | "EDQUOT" | "EFBIG" => "free space, use another directory, or move less data",
        "EMFILE" | "ENFILE" => "raise the limit of open files (ulimit -n), or close files earlier",
        "EINVAL" | "EOPNOTSUPP" | "ENOSYS" => {
            "this file system does not support the operation with these options: see the failures"
        }
        "EIO" | "ESTALE" | "ENXIO" | "ENOTCONN" => "check the storage: see the failures and dmesg",
        _ => "see the failures",
    }
}

/// Rules about the run itself.
pub const RULES: &[Rule] = &[
    verdict(
        "failed-operations",
        |run| {
            let failed = Some(run.run.evidence.failed).filter(|count| *count > 0)?;
            let all: u64 = once(run).map(|row| row.count).sum();
            let share = percent(failed as f64 / all.max(1) as f64);
            Some(format!(
                "{failed} of {all_operations} failed ({share}); they are in no rate",
                all_operations = words::count(all, "operation")
            ))
        },
        "see the failures",
    )
    .with_fix_of(fix_of_failures),
    verdict(
        "short-operations",
        |run| {
            let short = Some(run.run.evidence.short).filter(|count| *count > 0)?;
            Some(format!(
                "{} moved fewer bytes than requested: the file ended",
                words::count(short, "operation")
            ))
        },
        "make the files as long as they are read, or read the rest of the file: fread($h);",
    ),
    verdict(
        "stalled",
        stalled,
        "look at the servers and the network at that time (--events keeps it, dmesg), and run again",
    ),
    // Without a table no events were requested.
    verdict(
        "dropped-events",
        |run| {
            let dropped = Some(run.run.evidence.dropped_events).filter(|count| *count > 0)?;
            run.run.events.as_ref()?;
            Some(format!(
                "{} were not kept for lack of memory: pictures over time end early",
                words::count(dropped, "event")
            ))
        },
        "raise the limit with --events max=16g, or keep a part with --events sample=1/100",
    ),
    verdict(
        "option-without-effect",
        |run| {
            let found = &run.run.evidence.options_without_effect;
            let more = match found.len() {
                0 | 1 => String::new(),
                n => format!(", and {} more", n - 1),
            };
            Some(format!("{}{more}", found.first()?))
        },
        "move the `with`, or leave the option out",
    ),
    verdict(
        "too-short",
        too_short,
        "repeat more often or move more data, until every label lasts a second",
    ),
    remark(
        "making-data",
        making_data,
        "judge by the figures of the operations; plain random data and zeros are made before the start, data=\"offset\", \
         samples, compress, dedup and verify=true for each call",
    ),
    verdict(
        "clock-cost",
        clock_cost,
        "use larger requests, or judge by the label's time with many operations in it",
    ),
    verdict(
        "clock-skew",
        clock_skew,
        "make the label last a hundred times the difference; clocks are compared by messages before and after \
         the ranks run, so a shorter run and a quieter network make it smaller (NTP does not)",
    ),
    verdict(
        "clock-backward",
        |run| {
            let times = Some(run.run.evidence.clock_backward).filter(|count| *count > 0)?;
            Some(format!(
                "the clock went backward {} between two readings: these times are 0",
                words::times(times)
            ))
        },
        "check whether the machine slept or a guest was moved, and run again",
    ),
    verdict(
        "clock-drift",
        |run| {
            let evidence = &run.run.evidence;
            let ppm = evidence.clock_drift_ppm.filter(|ppm| ppm.abs() > MOST_DRIFT_PPM)?;
            let word = if ppm > 0.0 { "fast" } else { "slow" };
            let (clock, off) = (&evidence.clock, significant(ppm.abs()));
            Some(format!(
                "the clock ({clock}) ran {off} ppm too {word} against the kernel's: so do times and rates"
            ))
        },
        "run again; if it stays, the CPU's counter or its calibration cannot be trusted here",
    ),
    verdict(
        "suspended",
        |run| {
            let slept_ns = Some(run.run.evidence.suspended_ns).filter(|ns| *ns > 0)?;
            Some(format!("a machine slept for {} during the run", format_ns(slept_ns as f64)))
        },
        "run again on a machine that is not suspended",
    ),
    note("hints-ignored", ignored_hints),
];

/// The longest operation on storage that took far longer than the others of its row: a server that was gone for a while.
/// One that is alone may be long because it moved much.
fn stalled(run: &Run) -> Option<String> {
    if is_virtual(run) {
        return None;
    }
    let own = OwnTimes::new(run);
    let rows = once(run).filter(|row| class(&row.op) != Class::Control).map(|row| own.row(row));
    let mut stalls: Vec<(&Row, u64, u64)> = rows
        .filter_map(|row| Some((row, row.max_ns?, row.p50_ns?)))
        .filter(|(_, max, p50)| *max >= STALL_NS && *max / STALL_MEDIANS >= *p50)
        .collect();
    stalls.sort_by_key(|(_, max, _)| std::cmp::Reverse(*max));
    let (row, max, p50) = stalls.first()?;
    let place = if row.label.is_empty() { String::new() } else { format!(" in \"{}\"", row.label) };
    let others = match stalls.len() {
        1 => String::new(),
        all => format!(", and {} stalled", words::count(all as u64 - 1, "more operation")),
    };
    Some(format!(
        "one {}{place} took {}, the median is {}{others}: the storage did not answer for a while, and means and rates \
         include it",
        row.op,
        format_ns(*max as f64),
        format_ns(*p50 as f64)
    ))
}

/// Busy times of the labels that have rates, nanoseconds.
fn labels(run: &Run) -> Vec<(&str, u64)> {
    let has_rows = |label: &str| run.rows.iter().any(|row| row.label == label);
    let busy = run.labels.iter().map(|label| (label.label.as_str(), label.busy_ns));
    let mut found: Vec<(&str, u64)> = busy.filter(|(label, _)| has_rows(label)).collect();
    if has_rows("") {
        found.push(("", run.run.duration_wall_ns));
    }
    found
}

fn too_short(run: &Run) -> Option<String> {
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
    Some(format!("{what} lasted {}{others}: too short for a rate", format_ns(*took_ns as f64)))
}

/// Data is made and checked in no operation's time, but in that of the label.
fn making_data(run: &Run) -> Option<String> {
    if is_virtual(run) {
        return None;
    }
    let seen = each_label(run, |label| {
        let verified = label.verified.clone().unwrap_or_default();
        let made_ns = label.fill_ns.unwrap_or(0).saturating_add(label.memory_ns);
        let making_ns = made_ns.saturating_add(verified.fill_ns);
        let spent_ns = making_ns.saturating_add(verified.check_ns);
        let (busy_ns, ranks) = label_time(run, label);
        let share = spent_ns as f64 / (busy_ns as f64 * f64::from(ranks)).max(1.0);
        let what = match (making_ns, verified.check_ns) {
            (_, 0) => "making data",
            (0, _) => "checking data",
            _ => "making and checking data",
        };
        // Operations under way meanwhile, and other ranks, use the same time.
        let without = (ranks == 1 && label.queued_calls == 0).then(|| {
            let rest_ns = busy_ns.saturating_sub(spent_ns);
            format!(", which leaves about {} of {}", duration(rest_ns), duration(busy_ns))
        });
        let without = without.unwrap_or_default();
        let place = inside(label);
        (share >= MAKING_SHARE).then(|| {
            format!("{place} {what} took {} of the time{without}", percent(share.min(1.0)))
        })
    })?;
    Some(format!(
        "{seen}: in the time and total rates of the label, but in no time of an operation"
    ))
}

fn duration(ns: u64) -> String {
    format_ns(ns as f64)
}

/// How long the label lasted, and the ranks that executed it.
fn label_time(run: &Run, label: &LabelEvidence) -> (u64, u32) {
    let key = (label.cell, label.repetition, &*label.label);
    let mut rows = run.labels.iter().filter(|row| (row.cell, row.repetition, &*row.label) == key);
    let busy_ns = rows.next().map_or(run.run.duration_wall_ns, |row| row.busy_ns);
    let times = run.times.iter().filter(|row| (row.cell, row.repetition, &*row.label) == key);
    (busy_ns, times.map(|row| row.ranks).max().unwrap_or(run.run.ranks).max(1))
}

fn clock_cost(run: &Run) -> Option<String> {
    let read_ns = run.run.evidence.clock_read_ns;
    let own = OwnTimes::new(run);
    let rows = run.rows.iter().filter(|row| row.part_of.is_none()).map(|row| own.row(row));
    let timed = rows.filter_map(|row| Some((row, row.mean_ns?)));
    let (row, mean_ns) = timed.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (read_ns > 0.0 && mean_ns < READINGS * read_ns).then(|| {
        format!(
            "{} takes {} on average, and one reading of the clock {}: a part of the figure is the clock",
            row.op,
            format_ns(mean_ns),
            format_ns(read_ns)
        )
    })
}

fn clock_skew(run: &Run) -> Option<String> {
    let skew_ns = run.run.evidence.clock_skew_ns;
    let (label, took_ns) = labels(run).into_iter().min_by_key(|(_, took_ns)| *took_ns)?;
    (skew_ns as f64 > SKEW_SHARE * took_ns as f64).then(|| {
        format!(
            "the ranks' clocks differ by up to {}, and label \"{label}\" lasted {}",
            format_ns(skew_ns as f64),
            format_ns(took_ns as f64)
        )
    })
}

/// Hints that are named.
const HINTS: usize = 8;

/// Requested hints of MPI files that the library ignored or changed, as far as it reports its hints.
fn ignored_hints(run: &Run) -> Option<String> {
    let mut ignored: Vec<String> = Vec::new();
    let files = run.run.evidence.mpi_io.iter();
    for file in files.filter(|file| !file.effective_hints.is_empty()) {
        let effective = |key: &str| {
            let mut pairs = file.effective_hints.split(';').filter_map(|pair| pair.split_once('='));
            pairs.find(|pair| pair.0 == key).map(|pair| pair.1)
        };
        for (key, value) in model::hints::parse(&file.requested_hints).unwrap_or_default() {
            let text = match effective(key) {
                Some(found) if found == value => continue,
                Some(found) => format!("{key}={value} is not in effect: it is {found}"),
                None => format!("{key}={value} is not in effect: the MPI library ignored it"),
            };
            if !ignored.contains(&text) && ignored.len() < HINTS {
                ignored.push(text);
            }
        }
    }
    (!ignored.is_empty()).then(|| format!("the hint {}", ignored.join("; the hint ")))
}
