//! What the evidence says about the figures, how the run ended, and its exit code.

use crate::exit::Exit;
use engine::comm::End;
use engine::supervise::Outcome;
use model::Run;
use model::run::Evidence;

/// Judges a run that is otherwise complete: adds marks, its outcome and exit code.
pub fn judge(run: &mut Run, outcome: &Outcome, strict: bool) -> Exit {
    run.run.evidence.marks = report::verdict::marks(run);
    let exit = exit(&run.run.evidence, outcome, strict);
    run.run.exit_code = exit.code();
    run.run.outcome = word(outcome).into();
    exit
}

fn exit(evidence: &Evidence, outcome: &Outcome, strict: bool) -> Exit {
    let contradicted = evidence.marks.iter().any(|mark| mark.counts);
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
