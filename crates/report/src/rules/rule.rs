//! A rule: a code, a severity, a condition on a finished run with its sentence, and the fix.

use model::run::{Mark, Run};

/// Severity of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A figure means something else than it seems to: exit code 3 with `--strict`.
    Verdict,
    /// A reader should know it; it needs a fix only where it was not meant.
    Remark,
    /// A fact about the run.
    Note,
}

/// The condition and sentence of a rule.
type Seen = fn(&Run) -> Option<String>;

/// One rule. A code may have several, with different severities or fixes.
pub struct Rule {
    /// Stable short name: "cached-reads". docs/verdicts.md lists all that are not notes.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The sentence with the numbers; `None` where the run gives no reason.
    pub seen: Seen,
    /// The advice; "" for notes.
    pub fix: &'static str,
    /// Chooses the fix where it depends on the run.
    pub choose_fix: Option<fn(&Run) -> &'static str>,
}

/// A verdict with one fix.
pub const fn verdict(code: &'static str, seen: Seen, fix: &'static str) -> Rule {
    Rule { code, severity: Severity::Verdict, seen, fix, choose_fix: None }
}

/// A remark with one fix.
pub const fn remark(code: &'static str, seen: Seen, fix: &'static str) -> Rule {
    Rule { code, severity: Severity::Remark, seen, fix, choose_fix: None }
}

/// A note.
pub const fn note(code: &'static str, seen: Seen) -> Rule {
    Rule { code, severity: Severity::Note, seen, fix: "", choose_fix: None }
}

impl Rule {
    /// The rule with a fix that depends on the run.
    pub const fn with_fix(mut self, choose: fn(&Run) -> &'static str) -> Rule {
        self.choose_fix = Some(choose);
        self
    }

    /// The mark of a run, if the rule is not a note and the run gives a reason.
    pub fn mark(&self, run: &Run) -> Option<Mark> {
        if self.severity == Severity::Note {
            return None;
        }
        let seen = (self.seen)(run)?;
        let counts = self.severity == Severity::Verdict;
        let advice = self.choose_fix.map_or(self.fix, |choose| choose(run)).into();
        Some(Mark { code: self.code.into(), counts, seen, advice, executions: None })
    }

    /// The sentence of a note.
    pub fn note(&self, run: &Run) -> Option<String> {
        (self.severity == Severity::Note).then(|| (self.seen)(run)).flatten()
    }
}
