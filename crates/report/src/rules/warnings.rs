//! Marks for the short report: a line each, the gravest first. Marks that say the same, as cached reads and writes
//! without fsync do, share a line.

use super::rule::in_memory;
use crate::rows::grouped;
use crate::text::percent;
use model::run::{Mark, Run};

/// A line of the short report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The problem with the figures.
    pub text: String,
    /// The change to make; "" if the text says it.
    pub fix: String,
    /// Number of marks that it covers.
    pub marks: usize,
}

/// A mark in short.
struct Brief {
    code: &'static str,
    headline: &'static str,
    /// The observation, after the headline.
    what: &'static str,
    /// The same with the figures of the run.
    detail: Option<fn(&Run) -> String>,
    fix: &'static str,
}

const MEMORY: &str = "memory speed, not disk";
/// The mark of operations that failed, which reports list one by one.
pub const FAILED: &str = "failed-operations";

/// Marks from the gravest on: figures of something else, times that others decided, rates of too little. Marks that are
/// not here come last, in their own words.
const BRIEFS: [Brief; 16] = [
    brief(
        "null-engine",
        "reads and writes moved nothing (engine=\"null\")",
        "leave engine=\"null\" out",
    ),
    brief("stalled", "the storage did not answer for a while", "look at its servers, run again"),
    Brief {
        what: "files are in memory",
        detail: Some(|run| format!("files are on {}", in_memory(run).unwrap_or("memory"))),
        ..brief("memory-storage", MEMORY, "--dir on the storage in question")
    },
    Brief {
        what: "reads cached",
        detail: Some(cached),
        ..brief("cached-reads", MEMORY, "direct=true")
    },
    Brief { what: "writes not fsynced", ..brief("unstable-writes", MEMORY, "fsync=\"close\"") },
    brief("unfetched-reads", "holes were read, not data", "write the files before"),
    brief("serial-queue", "the kernel executed queued calls one by one", "direct=true, or depth=1"),
    Brief {
        what: "ranks waited for a CPU",
        detail: Some(waited),
        ..brief("starved", "machine busy, latencies too high", "stop other work")
    },
    brief("stolen-time", "the hypervisor took CPU time", "use a machine with CPUs of its own"),
    brief("throttled", "a control group limited CPU time", "raise cpu.max"),
    brief(
        "client-saturated",
        "the CPUs are the limit, not the storage",
        "more nodes, or larger requests",
    ),
    brief(
        "unequal-work",
        "one rank had more work, or was slower, and sets the total rate",
        "give all ranks equal work",
    ),
    brief("rate-not-reached", "the requested rate was not reached", "a lower rate, or more ranks"),
    brief("suspended", "a machine slept meanwhile", "run again"),
    brief(
        "too-short",
        "phases too short for a rate",
        "more iterations or data, until each lasts a second",
    ),
    brief(
        "clock-cost",
        "operations so short that the clock is part of their time",
        "larger requests",
    ),
];

const fn brief(code: &'static str, headline: &'static str, fix: &'static str) -> Brief {
    Brief { code, headline, what: "", detail: None, fix }
}

fn cached(run: &Run) -> String {
    let labels = run.run.evidence.labels.iter();
    let reading = labels.filter(|label| label.read_bytes > 0).count();
    let share = run.run.evidence.page_cache_share.filter(|share| *share > 0.0 && share.is_finite());
    match share {
        // The share is of all that was read, the verdict of one label.
        _ if reading > 1 => "reads of some phases cached".into(),
        Some(share) => format!("{} of reads cached", percent(share)),
        None => "reads cached".into(),
    }
}

fn waited(run: &Run) -> String {
    let Some(contention) = &run.run.evidence.contention else { return String::new() };
    let share = contention.longest_wait_ns as f64 / run.run.duration_wall_ns.max(1) as f64;
    let (rank, share) = (contention.longest_wait_rank, percent(share.min(1.0)));
    format!("rank {rank} waited {share} of the time for a CPU")
}

/// Verdicts in short, and that the files are in memory. Failed operations are listed by themselves.
pub fn warnings(run: &Run) -> Vec<Warning> {
    // Where a further directory is in memory, other figures are of storage.
    let is_in_memory = in_memory(run).is_some();
    let counts = |mark: &&Mark| mark.counts || mark.code == "memory-storage" && is_in_memory;
    let marks = run.run.evidence.marks.iter().filter(counts).filter(|mark| mark.code != FAILED);
    // The sides of a comparison have marks of their own.
    let mut codes = grouped(marks.map(|mark| (&*mark.code, mark)));
    codes.sort_by_key(|(code, _)| gravity(code));
    let headline = |code: &str| BRIEFS.get(gravity(code)).map(|brief| brief.headline);
    let alike =
        |a: &Code<'_>, b: &Code<'_>| headline(a.0).is_some() && headline(a.0) == headline(b.0);
    let confined = (run.run.evidence.confinement == "confined").then(|| Warning {
        text: "confined: a call on a name is two system calls and takes longer".into(),
        fix: "no links in the directory, or --no-confine".into(),
        marks: 0,
    });
    codes.chunk_by(alike).map(|codes| warning(run, codes)).chain(confined).collect()
}

/// A code and its marks.
type Code<'r> = (&'r str, Vec<&'r Mark>);

fn gravity(code: &str) -> usize {
    BRIEFS.iter().position(|brief| brief.code == code).unwrap_or(BRIEFS.len())
}

/// One line for codes with the same headline.
fn warning(run: &Run, codes: &[Code<'_>]) -> Warning {
    let marks = codes.iter().map(|(_, marks)| marks.len()).sum();
    let briefs = codes.iter().filter_map(|code| Some((BRIEFS.get(gravity(code.0))?, code)));
    let briefs: Vec<(&Brief, &Code<'_>)> = briefs.collect();
    let Some((first, _)) = briefs.first() else {
        let mark = codes[0].1[0];
        return Warning { text: mark.seen_in_executions(), fix: mark.advice.clone(), marks };
    };
    let details = briefs.iter().map(|(brief, (_, marks))| detail(run, brief, marks));
    let details: Vec<String> = details.filter(|detail| !detail.is_empty()).collect();
    let colon = if details.is_empty() { "" } else { ": " };
    let fixes: Vec<&str> = briefs.iter().map(|(brief, _)| brief.fix).collect();
    let text = format!("{}{colon}{}", first.headline, details.join(", "));
    Warning { text, fix: fixes.join(", "), marks }
}

/// The observation; evidence of a sweep is in its executions, which are counted.
fn detail(run: &Run, brief: &Brief, marks: &[&Mark]) -> String {
    let Some(sweep) = &run.run.sweep else {
        return brief.detail.map_or(brief.what.into(), |detail| detail(run));
    };
    let count: u64 = marks.iter().map(|mark| u64::from(mark.executions.unwrap_or(1))).sum();
    match sweep.order.len() as u64 {
        all if count >= all => brief.what.into(),
        all if brief.what.is_empty() => format!("{count} of {all} executions"),
        all => format!("{} in {count} of {all} executions", brief.what),
    }
}
