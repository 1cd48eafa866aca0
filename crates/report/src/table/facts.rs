//! Facts: program, machine and outcome, and the evidence about the measuring.

use super::layers;
use crate::machines::{self, describe_job, elsewhere};
use crate::text::{at_least, percent};
use model::run::{Evidence, Run, Trace};
use model::units::{format_ns, significant};
use model::words;

/// Program, machine, duration and outcome.
pub fn title(run: &Run) -> Vec<String> {
    let header = &run.run;
    let mut parts = vec![
        header.program.name.clone(),
        size(run),
        machines::storage(run),
        duration(run).unwrap_or_default(),
        header.outcome.clone(),
    ];
    if header.exit_code != 0 {
        parts.push(format!("exit code {}", header.exit_code));
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Ranks; of a sweep its points and executions.
pub fn size(run: &Run) -> String {
    let Some(sweep) = &run.run.sweep else { return words::count(run.run.ranks, "rank") };
    let executions = words::count(sweep.order.len() as u64, "execution");
    let ranks = sweep.cells.iter().all(|cell| cell.ranks == run.run.ranks);
    let ranks = if ranks { words::count(run.run.ranks, "rank") + ", " } else { String::new() };
    match sweep.cells.len() {
        1 => format!("{ranks}{executions}"),
        points => format!("{ranks}sweep of {points} points, {executions}"),
    }
}

/// How long the command took, or else the ranks; none of a log that tells no times.
pub fn duration(run: &Run) -> Option<String> {
    let ns = run.run.command_ns.unwrap_or(run.run.duration_wall_ns);
    (ns > 0 || run.run.trace.is_none()).then(|| format_ns(ns as f64))
}

fn clock(evidence: &Evidence) -> String {
    if evidence.clock.is_empty() {
        return "clock unknown".into();
    }
    let read_ns = significant(evidence.clock_read_ns);
    format!("clock {}, {read_ns} ns per reading", evidence.clock)
}

/// Evidence about the measuring, a few words each.
pub fn facts(run: &Run) -> Vec<String> {
    let evidence = &run.run.evidence;
    if let Some(trace) = &run.run.trace {
        return imported(trace, evidence);
    }
    let mut facts = vec![clock(evidence)];
    facts.extend(page_cache(evidence));
    facts.extend([
        format!("failed {}", evidence.failed),
        format!("short {}", evidence.short),
        format!("seed {}", run.run.seed),
        format!("confinement: {}", evidence.confinement),
    ]);
    facts.extend(run.run.job.as_ref().map(describe_job));
    facts.extend(Some(run.run.batch.clone()).filter(|batch| !batch.is_empty()));
    facts.extend(elsewhere(run));
    let rank_time_ns = run.run.duration_wall_ns as f64 * f64::from(run.run.ranks);
    // The meter also counts the start and end of a rank, tens of microseconds.
    if evidence.cpu_ns > 0 && run.run.duration_wall_ns >= 10_000_000 {
        facts.push(format!("CPU {} per rank", percent(evidence.cpu_ns as f64 / rank_time_ns)));
    }
    facts.extend(filling(run));
    facts.extend(sampled(run));
    facts.extend(defects(evidence));
    facts
}

/// The logs of an imported run.
pub fn log(run: &Run) -> Option<String> {
    run.run.trace.as_ref().map(origin)
}

fn origin(trace: &Trace) -> String {
    let logs = words::count(trace.logs.len() as u64, "log");
    format!("imported from {logs} of {}", trace.format)
}

/// The same of imported logs: others measured.
fn imported(trace: &Trace, evidence: &Evidence) -> Vec<String> {
    let lines = trace.logs.iter().fold(0, |sum: u64, log| sum.saturating_add(log.lines));
    // Binary logs have records.
    let unit = if trace.format == "darshan" { "records" } else { "lines" };
    let mut facts = vec![
        format!("{}, {lines} {unit}", origin(trace)),
        format!("failed {}", evidence.failed),
        format!("short {}", evidence.short),
    ];
    if !trace.root.is_empty() {
        facts.push(format!("paths below {}", trace.root));
    }
    facts.extend(layers::jobs(trace));
    facts.extend(layers::times_by_kind(trace));
    facts
}

/// `filling data 0.21 ns/B, 1.3 % per rank`: what it cost to make the data that was written, outside of every
/// operation.
fn filling(run: &Run) -> Option<String> {
    let (mut ns, mut bytes) = (0u64, 0u64);
    for label in &run.run.evidence.labels {
        let verified = label.verified.as_ref().map_or(0, |verified| verified.filled_bytes);
        let filled = label.written_bytes.saturating_sub(verified);
        if let Some(fill_ns) = label.fill_ns.filter(|_| filled > 0) {
            (ns, bytes) = (ns.saturating_add(fill_ns), bytes.saturating_add(filled));
        }
    }
    let rank_time_ns = run.run.duration_wall_ns as f64 * f64::from(run.run.ranks);
    (bytes > 0 && rank_time_ns > 0.0).then(|| {
        let cost = significant(ns as f64 / bytes as f64);
        format!("filling data {cost} ns/B, {} per rank", percent(ns as f64 / rank_time_ns))
    })
}

/// Content of the event table, if that is not everything by choice.
fn sampled(run: &Run) -> Option<String> {
    let events = run.run.events.as_ref().filter(|events| events.sample_every > 1)?;
    Some(format!("events are a sample of 1/{}: {}", events.sample_every, events.count))
}

/// Facts that are worth a word only when they are not zero.
fn defects(evidence: &Evidence) -> impl Iterator<Item = String> {
    let Evidence { clock_skew_ns, dropped_events, event_overhead_ns, .. } = evidence;
    let labels = evidence.labels_beyond_limit;
    let all = [
        (*clock_skew_ns, format!("clocks differ by up to {}", format_ns(*clock_skew_ns as f64))),
        (*dropped_events, format!("{dropped_events} events not kept")),
        (
            *event_overhead_ns,
            format!("keeping events took {}", format_ns(*event_overhead_ns as f64)),
        ),
        (labels, format!("{labels} labels in (more)")),
    ];
    all.into_iter().filter(|(figure, _)| *figure > 0).map(|(_, text)| text)
}

/// A lower bound of nothing says nothing.
fn page_cache(evidence: &Evidence) -> Option<String> {
    Some(match evidence.page_cache_share.filter(|share| share.is_finite()) {
        Some(share) if share <= 0.0 => return None,
        Some(share) => format!("page cache served {} of the bytes read", at_least(share)),
        None if evidence.program_read_bytes == 0 && has_checked(evidence) => {
            "read only by operations that failed".to_string()
        }
        None if evidence.program_read_bytes == 0 => "nothing read".to_string(),
        None if is_direct(evidence) => "all reads were direct".to_string(),
        // Another fact of the labels says it.
        None if evidence.marks.iter().any(|mark| mark.code == "cached-reads") => return None,
        None => "page cache share unknown".to_string(),
    })
}

/// Bytes were read and found to be wrong; bytes of a failed operation are in no row.
fn has_checked(evidence: &Evidence) -> bool {
    let verified = evidence.labels.iter().filter_map(|label| label.verified.as_ref());
    verified.into_iter().any(|data| data.checked_bytes > 0)
}

/// Everything was read around the page cache.
fn is_direct(evidence: &Evidence) -> bool {
    let direct = evidence.labels.iter().map(|label| label.direct_read_bytes);
    direct.fold(0, u64::saturating_add) >= evidence.program_read_bytes
}
