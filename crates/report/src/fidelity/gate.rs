//! Gates on replays: `elapsed <= 5%` holds if the elapsed time of the replay is within 5 % of the original's.
//!
//! ```text
//! gate = [ label ":" ] figure ( "<=" | "<" ) number "%"      elapsed io think concurrency ks wasserstein
//!      | kind ( "<=" | "<" ) number [ "%" ]                  operations missing extra order names offsets bytes results open_flags
//! ```
//!
//! A figure's error counts without its sign. A kind of difference is a number of operations, or with
//! `%` their share of the original's; of several replays the worst decides.

use super::report::{Differences, Fidelity};
use super::tally::Kind;
use crate::gate::{Condition, GateResult, Number, Verdict};
use model::words;

/// Errors of times, in the order of reports.
const FIGURES: [&str; 6] = ["elapsed", "io", "think", "concurrency", "ks", "wasserstein"];

/// A condition on how faithful a replay is.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    condition: Condition,
    subject: Subject,
}

/// The measure of a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Subject {
    Figure(&'static str),
    /// All that differ.
    Operations,
    Differences(Kind),
}

impl Gate {
    /// Reads a gate.
    ///
    /// # Errors
    /// The text is no gate.
    pub fn parse(text: &str) -> Result<Gate, String> {
        let condition = Condition::parse(text, "elapsed <= 5%", "a number such as 5 % or 5")?;
        let Condition { name, label, number, .. } = &condition;
        let kind = Kind::all().into_iter().find(|kind| kind.name() == name);
        let figure = FIGURES.iter().find(|figure| *figure == name);
        let subject = match (figure, kind) {
            (Some(figure), _) => Subject::Figure(figure),
            (_, Some(kind)) => Subject::Differences(kind),
            _ if name == "operations" => Subject::Operations,
            _ => {
                let (figures, kinds) = (FIGURES.join(" "), Kind::all().map(Kind::name).join(" "));
                let known = format!("{figures} operations {kinds}");
                return Err(format!("expected one of {known}, found {name:?}"));
            }
        };
        let is_figure = figure.is_some();
        if !condition.is_upper() {
            return Err("expected <= or <, as in elapsed <= 5%".into());
        }
        if matches!(number, Number::Change(change) if change.is_sign_negative()) {
            return Err(format!("an error has no sign: expected {name} <= 5 %"));
        }
        if is_figure && matches!(number, Number::Plain(_)) {
            return Err(format!("expected a share of the original, as in {name} <= 5 %"));
        }
        match label.as_deref() {
            Some("") if is_figure => {
                Err(format!("expected a label before the colon, or {name} alone"))
            }
            Some(_) if !is_figure => {
                Err(format!("{name} counts all operations: leave the label out"))
            }
            _ => Ok(Gate { condition, subject }),
        }
    }

    /// Judges the gate.
    pub(crate) fn judge(&self, found: &Fidelity) -> GateResult {
        let phase = self.condition.label.as_deref();
        let (value, reason) = match self.subject {
            Subject::Figure(name) => figure(found, name, phase),
            Subject::Operations => self.differences(found, "that differ", |all| all.operations),
            Subject::Differences(kind) => {
                self.differences(found, kind.words(), |all| all.count(kind))
            }
        };
        let passes = value.is_some_and(|value| self.condition.holds(value));
        let verdict = if passes { Verdict::Pass } else { Verdict::Fail };
        GateResult { gate: self.condition.text.clone(), verdict, reasons: vec![reason] }
    }

    fn differences(
        &self,
        found: &Fidelity,
        what: &str,
        count: impl Fn(&Differences) -> u64,
    ) -> (Option<f64>, String) {
        let counts =
            found.replays.iter().filter_map(|replay| replay.differences.as_ref()).map(count);
        let worst = counts.max().unwrap_or(0);
        let all = found.originals.first().map_or(0, |original| original.operations);
        // Extra operations are not the original's.
        let reason = format!("{worst} operations {what}, where the original has {all}");
        match !matches!(self.condition.number, Number::Plain(_)) {
            true => (Some(100.0 * worst as f64 / all.max(1) as f64), reason),
            false => (Some(worst as f64), reason),
        }
    }
}

fn figure(found: &Fidelity, name: &str, phase: Option<&str>) -> (Option<f64>, String) {
    let scope = found.scopes.iter().find(|scope| scope.phase.as_deref() == phase);
    let Some(scope) = scope else {
        let phases = found.scopes.iter().filter_map(|scope| scope.phase.clone());
        let phases: Vec<String> = phases.collect();
        let known = match phases.len() {
            0 => "it has none".into(),
            count => words::list_some(&phases, count),
        };
        return (None, format!("there is no phase \"{}\": {known}", phase.unwrap_or_default()));
    };
    let Some(found) = scope.figures.iter().find(|figure| figure.name == name) else {
        return (None, format!("{name} is unknown: the log of a side has no durations"));
    };
    match found.error_percent {
        Some(error) => (Some(error.abs()), format!("{name} is off by {:.2} %", error.abs())),
        None => (None, format!("{name} is 0 in the original and more in the replay")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        let gate = Gate::parse("elapsed <= 5%").unwrap();
        assert_eq!((gate.subject, gate.condition.label), (Subject::Figure("elapsed"), None));
        let gate = Gate::parse(" a:b : think<2.5 %").unwrap();
        assert!(gate.condition.holds(2.4) && !gate.condition.holds(2.5));
        assert_eq!(gate.subject, Subject::Figure("think"));
        assert_eq!(gate.condition.label.as_deref(), Some("a:b"));
        assert_eq!(Gate::parse("operations <= 0").unwrap().subject, Subject::Operations);
        let gate = Gate::parse("order < 1%").unwrap();
        assert_eq!(gate.subject, Subject::Differences(Kind::Order));
        assert_eq!(gate.condition.number, Number::PerCent(1.0));
        // A change of at most 10 % to either side.
        assert_eq!(Gate::parse("io <= +10 %").unwrap().condition.limit, 10.0);
    }

    #[test]
    fn mistakes_are_refused() {
        for text in [
            "elapsed",
            "elapsed <= ",
            "elapsed <= -1%",
            "elapsed <= 5 s",
            "elapsed <= 5",
            "elapsed > 5%",
            "speed <= 5%",
            "p: speed <= 5%",
            "p: order <= 5",
            " : elapsed <= 5%",
            "",
        ] {
            assert!(Gate::parse(text).is_err(), "{text}");
        }
    }
}
