//! What the evidence says about the figures, how the run ended, and its exit code.

use crate::exit::Exit;
use engine::comm::End;
use engine::supervise::Outcome;
use model::Run;
use model::run::Evidence;

/// From this share of cached bytes on, read rates are those of main memory.
const CACHED_SHARE: f64 = 0.5;

/// Judges a run that is otherwise complete: adds remarks, its outcome and exit code.
pub fn judge(run: &mut Run, outcome: &Outcome, strict: bool) -> Exit {
    let marks = marks(&run.run.evidence, run.run.events.is_some());
    let exit = exit(&run.run.evidence, outcome, strict, !marks.is_empty());
    let header = &mut run.run;
    let mark = if strict { "verdict (exit code 3 with --strict): " } else { "" };
    header.evidence.notes.extend(marks.into_iter().map(|reason| format!("{mark}{reason}")));
    header.evidence.notes.extend(crowd(header.ranks, header.host.cpus, outcome.comm));
    header.exit_code = exit.code();
    header.outcome = word(outcome).into();
    exit
}

/// Figures that the evidence contradicts, in sentences.
fn marks(evidence: &Evidence, events: bool) -> Vec<String> {
    let share = evidence.page_cache_share.filter(|share| *share >= CACHED_SHARE);
    let cached = share.map(|share| {
        format!(
            "{:.0} % of the bytes read were served by the page cache: read rates are mostly those \
             of main memory, not of the storage",
            share * 100.0
        )
    });
    let dropped = (events && evidence.dropped_events > 0).then(|| {
        format!(
            "{} events were not kept for lack of memory: raise --events=max=BYTES",
            evidence.dropped_events
        )
    });
    cached.into_iter().chain(dropped).collect()
}

/// More ranks than processors take turns, and their times hold the turns of others.
fn crowd(ranks: u32, cpus: u32, comm: &str) -> Option<String> {
    let crowded = comm == "local" && cpus > 0 && ranks > cpus;
    crowded
        .then(|| format!("{ranks} ranks share {cpus} processors: times include waiting for them"))
}

fn exit(evidence: &Evidence, outcome: &Outcome, strict: bool, contradicted: bool) -> Exit {
    let ranks_failed = !outcome.interrupted && (!outcome.finished() || !outcome.errors.is_empty());
    let operations_failed = evidence.failed > 0 || (strict && evidence.short > 0);
    let reasons = [
        (outcome.interrupted, Exit::Interrupted),
        (ranks_failed || operations_failed, Exit::Failed),
        (strict && contradicted, Exit::Verdict),
    ];
    let holds = reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, exit)| exit);
    holds.fold(Exit::Success, Exit::and)
}

fn word(outcome: &Outcome) -> &'static str {
    if outcome.interrupted {
        "interrupted"
    } else if outcome.ends.iter().all(|end| *end == End::Finished) {
        "finished"
    } else {
        "failed"
    }
}
