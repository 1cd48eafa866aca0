//! Gates: `elapsed <= 5%` holds if the elapsed time of the replay is within 5 % of the original's.
//!
//! ```text
//! gate   = [ label ":" ] figure ( "<=" | "<" ) number "%"      elapsed io think concurrency ks wasserstein
//!        | kind ( "<=" | "<" ) number [ "%" ]                  operations missing extra order names offsets bytes results open_flags
//! ```
//!
//! A figure's error counts without its sign. A kind of difference is a number of operations, or with
//! `%` their share of the original's; of several replays the worst decides.

use super::{Differences, Fidelity, Kind};
use crate::compare::gate::GateError;
use crate::compare::{GateResult, Verdict};

/// Errors of times, in the order of reports.
const FIGURES: [&str; 6] = ["elapsed", "io", "think", "concurrency", "ks", "wasserstein"];

/// Differences of operations.
const KINDS: [(&str, Option<Kind>); 9] = [
    ("operations", None),
    ("missing", Some(Kind::Missing)),
    ("extra", Some(Kind::Extra)),
    ("order", Some(Kind::Order)),
    ("names", Some(Kind::Names)),
    ("offsets", Some(Kind::Offsets)),
    ("bytes", Some(Kind::Bytes)),
    ("results", Some(Kind::Results)),
    ("open_flags", Some(Kind::OpenFlags)),
];

/// What a gate looks at.
#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Figure { name: &'static str, phase: Option<String> },
    Differences { kind: Option<Kind>, share: bool },
}

/// A condition on how faithful a replay is.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As it was written.
    pub text: String,
    subject: Subject,
    bound: f64,
    /// The bound itself holds.
    inclusive: bool,
}

impl Gate {
    /// Reads a gate.
    ///
    /// # Errors
    /// What was expected, and where.
    pub fn parse(text: &str) -> Result<Gate, GateError> {
        let error = |at: usize, message: String| Err(GateError { at, message });
        let Some(at) = text.rfind('<') else {
            return error(text.len(), "expected <= or <, as in elapsed <= 5%".into());
        };
        let inclusive = text[at + 1..].starts_with('=');
        let after = at + 1 + usize::from(inclusive);
        let number = text[after..].trim();
        let (digits, percent) = match number.strip_suffix('%') {
            Some(digits) => (digits.trim_end(), true),
            None => (number, false),
        };
        let bound: f64 = match digits.parse() {
            Ok(bound) if f64::is_finite(bound) && bound >= 0.0 => bound,
            _ => return error(after, format!("expected a number such as 5%, found {number:?}")),
        };
        let name = text[..at].trim_end();
        let (phase, rest) = match name.rsplit_once(':') {
            Some((phase, rest)) => (Some(phase.trim().to_string()), rest),
            None => (None, name),
        };
        let begin = name.len() - rest.trim_start().len();
        let word = rest.trim();
        let subject = match (FIGURES.iter().find(|name| **name == word), kind(word)) {
            (Some(_), _) if !percent => {
                return error(
                    after,
                    format!("expected a share of the original, as in {word} <= 5%"),
                );
            }
            (Some(_), _) if phase.as_deref() == Some("") => {
                return error(0, format!("expected a label before the colon, or {word} alone"));
            }
            (Some(name), _) => Subject::Figure { name, phase },
            (None, Some(_)) if phase.is_some() => {
                return error(0, format!("{word} counts all operations: leave the label out"));
            }
            (None, Some(kind)) => Subject::Differences { kind, share: percent },
            (None, None) => {
                let kinds = KINDS.map(|(name, _)| name).join(" ");
                let figures = FIGURES.join(" ");
                let message = format!("expected one of {figures} {kinds}, found {word:?}");
                return error(begin, message);
            }
        };
        Ok(Gate { text: text.trim().into(), subject, bound, inclusive })
    }

    /// Judges the gate.
    pub(super) fn judge(&self, found: &Fidelity) -> GateResult {
        let (value, reason) = match &self.subject {
            Subject::Figure { name, phase } => figure(found, name, phase.as_deref()),
            Subject::Differences { kind, share } => differences(found, *kind, *share),
        };
        let holds = |value: f64| value < self.bound || (self.inclusive && value == self.bound);
        let verdict = if value.is_some_and(holds) { Verdict::Pass } else { Verdict::Fail };
        GateResult { gate: self.text.clone(), verdict, reasons: vec![reason] }
    }
}

fn kind(word: &str) -> Option<Option<Kind>> {
    KINDS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
}

fn figure(found: &Fidelity, name: &str, phase: Option<&str>) -> (Option<f64>, String) {
    let scope = found.scopes.iter().find(|scope| scope.phase.as_deref() == phase);
    let Some(scope) = scope else {
        let phases = found.scopes.iter().filter_map(|scope| scope.phase.clone());
        let phases: Vec<String> = phases.collect();
        let known = if phases.is_empty() { "it has none".into() } else { phases.join(", ") };
        return (None, format!("there is no phase \"{}\": {known}", phase.unwrap_or_default()));
    };
    let Some(found) = scope.figures.iter().find(|figure| figure.name == name) else {
        return (None, format!("{name} is unknown: the log of a side tells no durations"));
    };
    match found.error_percent {
        Some(error) => (Some(error.abs()), format!("{name} is off by {:.2} %", error.abs())),
        None => (None, format!("{name} is 0 in the original and more in the replay")),
    }
}

fn differences(found: &Fidelity, kind: Option<Kind>, share: bool) -> (Option<f64>, String) {
    let count = |differences: &Differences| {
        kind.map_or(differences.operations, |kind| differences.count(kind))
    };
    let counts = found.replays.iter().filter_map(|replay| replay.differences.as_ref()).map(count);
    let worst = counts.max().unwrap_or(0);
    let all = found.originals.first().map_or(0, |original| original.operations);
    let what = kind.map_or("that differ", Kind::words);
    // Operations that are extra are none of the original's.
    let reason = format!("{worst} operations {what}, where the original has {all}");
    match share {
        true => (Some(100.0 * worst as f64 / (all.max(1)) as f64), reason),
        false => (Some(worst as f64), reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        let gate = Gate::parse("elapsed <= 5%").unwrap();
        assert_eq!((gate.bound, gate.inclusive), (5.0, true));
        assert_eq!(gate.subject, Subject::Figure { name: "elapsed", phase: None });
        let gate = Gate::parse(" a:b : think<2.5 %").unwrap();
        assert_eq!((gate.bound, gate.inclusive), (2.5, false));
        assert_eq!(gate.subject, Subject::Figure { name: "think", phase: Some("a:b".into()) });
        let gate = Gate::parse("operations <= 0").unwrap();
        assert_eq!(gate.subject, Subject::Differences { kind: None, share: false });
        let gate = Gate::parse("order < 1%").unwrap();
        assert_eq!(gate.subject, Subject::Differences { kind: Some(Kind::Order), share: true });
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, at, words) in [
            ("elapsed", 7, "expected <= or <"),
            ("elapsed <= ", 10, "such as 5%"),
            ("elapsed <= -1%", 10, "such as 5%"),
            ("elapsed <= 5", 10, "as in elapsed <= 5%"),
            ("speed <= 5%", 0, "elapsed io think"),
            ("p: speed <= 5%", 3, "operations missing"),
            ("p: order <= 5", 0, "leave the label out"),
            (" : elapsed <= 5%", 0, "a label before the colon"),
            ("", 0, "expected <="),
        ] {
            let error = Gate::parse(text).unwrap_err();
            assert!(error.message.contains(words), "{text}: {error:?}");
            assert_eq!(error.at, at, "{text}: {error:?}");
        }
    }
}
