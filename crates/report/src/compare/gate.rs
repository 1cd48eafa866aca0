//! Gates: `write.mib_s >= 0.95` holds if B reaches 95 % of A's rate.
//!
//! ```text
//! gate     = [ label ":" ] operation "." metric relation number
//! metric   = mib_s | rank_mib_s | ops_s | rank_ops_s | min_ns | mean_ns | p50_ns | p90_ns | p99_ns | p999_ns | max_ns
//! relation = >= | > | <= | <
//! ```
//!
//! The number is the ratio B / A over repetitions: the estimate and interval of docs/statistics.md. A gate
//! passes where the whole 95 % interval holds the condition, fails where none of it does, and
//! cannot be told in between. Without a label it is looked at in every label that has the
//! operation; in a sweep in every cell. The worst place decides.

use super::inference::{Contrast, Memo};
use super::{Design, LEAST, SIGNIFICANCE, Side};
use crate::columns::ROWS;
use model::run::Row;
use serde::Serialize;
use std::collections::BTreeMap;

/// A condition on a ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As it was written.
    pub text: String,
    /// Label path; `None`: every label.
    pub label: Option<String>,
    /// Operation, or `operation.part`.
    pub op: String,
    /// Which column of the row.
    metric: &'static str,
    relation: Relation,
    bound: f64,
}

/// How a gate ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateResult {
    /// The gate as it was written.
    pub gate: String,
    /// How it ended where it ended worst.
    pub verdict: Verdict,
    /// Why, one sentence for each place.
    pub reasons: Vec<String>,
}

/// What the interval says of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every ratio that the repetitions allow meets the condition.
    Pass,
    /// Some do, some do not, or there are too few repetitions.
    Undecided,
    /// None does, or there is no such row.
    Fail,
}

impl Verdict {
    /// The pipeline is to stop. `undecided`: also if it cannot be told.
    pub fn fails(self, undecided: bool) -> bool {
        self == Verdict::Fail || (undecided && self == Verdict::Undecided)
    }

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Pass => "passes",
            Verdict::Undecided => "cannot be told",
            Verdict::Fail => "fails",
        }
    }
}

/// Columns of [`ROWS`] that can be compared.
const METRICS: [&str; 11] = [
    "mib_s",
    "rank_mib_s",
    "ops_s",
    "rank_ops_s",
    "min_ns",
    "mean_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
];

/// What a repetition needs to have a metric, if not all have it.
fn hint(metric: &str) -> &'static str {
    match metric {
        "p90_ns" => " (p90_ns needs 10 operations in each)",
        "p99_ns" => " (p99_ns needs 100 operations in each)",
        "p999_ns" => " (p999_ns needs 1,000 operations in each)",
        _ => "",
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl Relation {
    /// Longer signs first, so that `>=` is not read as `>`.
    const SIGNS: [(&'static str, Relation); 4] = [
        (">=", Relation::AtLeast),
        ("<=", Relation::AtMost),
        (">", Relation::Above),
        ("<", Relation::Below),
    ];

    fn holds(self, ratio: f64, bound: f64) -> bool {
        match self {
            Relation::AtLeast => ratio >= bound,
            Relation::Above => ratio > bound,
            Relation::AtMost => ratio <= bound,
            Relation::Below => ratio < bound,
        }
    }
}

/// A gate that cannot be read: where (a byte), and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateError {
    /// Byte of the text at which it went wrong.
    pub at: usize,
    /// What was expected and what to write.
    pub message: String,
}

impl Gate {
    /// Reads a gate.
    ///
    /// # Errors
    /// What was expected, and where.
    pub fn parse(text: &str) -> Result<Gate, GateError> {
        let error = |at: usize, message: String| Err(GateError { at, message });
        let found = Relation::SIGNS.iter().filter_map(|sign| Some((text.rfind(sign.0)?, sign)));
        let Some((at, (sign, relation))) = found.max_by_key(|(at, sign)| (*at, sign.0.len()))
        else {
            return error(text.len(), "expected >=, >, <= or <, as in write.mib_s >= 0.95".into());
        };
        let after = at + sign.len();
        let number = text[after..].trim();
        let bound: f64 = match number.parse() {
            Ok(bound) if f64::is_finite(bound) && bound > 0.0 => bound,
            _ => {
                return error(
                    after,
                    format!("expected a ratio B / A above 0, as in 0.95, found {number:?}"),
                );
            }
        };
        let name = text[..at].trim_end();
        let (label, rest) = match name.rsplit_once(':') {
            Some((label, rest)) => (Some(label.trim().to_string()), rest),
            None => (None, name),
        };
        let begin = name.len() - rest.len();
        let Some((op, metric)) = rest.rsplit_once('.') else {
            return error(begin, format!("expected operation.metric, found {:?}", rest.trim()));
        };
        let metric_at = begin + op.len() + 1;
        let Some(metric) = METRICS.iter().find(|known| **known == metric.trim()) else {
            let names = METRICS.join(" ");
            let message = format!("expected a metric ({names}), found {:?}", metric.trim());
            return error(metric_at, message);
        };
        let op = op.trim().to_string();
        if op.is_empty() {
            return error(begin, "expected an operation before the point".into());
        }
        Ok(Gate { text: text.trim().into(), label, op, metric, relation: *relation, bound })
    }

    /// Judges the gate.
    pub fn judge(&self, base: &Side, new: &Side, design: Design) -> GateResult {
        let places = self.places(base);
        let judged =
            places.iter().map(|(label, cell)| self.judge_at(base, new, design, label, *cell));
        let (verdicts, mut reasons): (Vec<Verdict>, Vec<String>) = judged.unzip();
        if places.is_empty() {
            reasons.push(format!("A has no such row; it has {}", rows_of(base)));
        }
        let verdict = verdicts.into_iter().max().unwrap_or(Verdict::Fail);
        GateResult { gate: self.text.clone(), verdict, reasons }
    }

    /// Labels and cells of A that have the operation.
    fn places(&self, base: &Side) -> Vec<(String, u32)> {
        let mut places = Vec::new();
        for row in base.runs.iter().flat_map(|run| &run.rows) {
            let place = (row.label.clone(), row.cell);
            let meant = self.label.as_ref().is_none_or(|label| *label == row.label);
            if row.op == self.op && meant && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    fn figure(&self, row: &Row) -> Option<f64> {
        let column = ROWS.iter().find(|column| column.name == self.metric)?;
        (column.get)(row).number()
    }

    /// Figures by run and repetition.
    fn figures(&self, side: &Side, label: &str, cell: u32) -> BTreeMap<(usize, u32), f64> {
        let rows = side
            .runs
            .iter()
            .enumerate()
            .flat_map(|(at, run)| run.rows.iter().map(move |row| (at, row)));
        let here = |row: &Row| row.op == self.op && row.label == label && row.cell == cell;
        let rows = rows.filter(|(_, row)| here(row));
        let figures = rows.filter_map(|(at, row)| Some(((at, row.repetition), self.figure(row)?)));
        figures.filter(|figure| figure.1 > 0.0).collect()
    }

    fn judge_at(
        &self,
        base: &Side,
        new: &Side,
        design: Design,
        label: &str,
        cell: u32,
    ) -> (Verdict, String) {
        let (mut a, mut b) = (self.figures(base, label, cell), self.figures(new, label, cell));
        if design == Design::Blocks {
            a.retain(|at, _| b.contains_key(at));
            b.retain(|at, _| a.contains_key(at));
        }
        let place = self.place(base, label, cell);
        if a.len() < LEAST || b.len() < LEAST {
            let (a, b) = (a.len(), b.len());
            let (name, hint) = (self.metric, hint(self.metric));
            let message = format!(
                "{place}: {a} and {b} repetitions have {name}, at least {LEAST} are needed{hint}"
            );
            return (Verdict::Undecided, message);
        }
        let (a, b): (Vec<f64>, Vec<f64>) = (a.into_values().collect(), b.into_values().collect());
        let contrast = match design {
            Design::Samples => Contrast::samples(&a, &b),
            Design::Blocks => Contrast::blocks(&a, &b),
        };
        let (low, high) = contrast.interval(SIGNIFICANCE, &mut Memo::default());
        let ends = [low, high].map(|end| self.relation.holds(end, self.bound));
        let verdict = match ends {
            [true, true] => Verdict::Pass,
            [false, false] => Verdict::Fail,
            _ => Verdict::Undecided,
        };
        let (name, ratio) = (self.metric, contrast.ratio());
        (verdict, format!("{place}: {name} of B / A is {ratio:.3} [{low:.3}, {high:.3}]"))
    }

    fn place(&self, base: &Side, label: &str, cell: u32) -> String {
        let at = match super::sides::point(&base.runs, cell) {
            point if point.is_empty() => String::new(),
            point => format!(" at {point}"),
        };
        match label {
            "" => format!("{}{at}", self.op),
            label => format!("{} of \"{label}\"{at}", self.op),
        }
    }
}

/// Operations of a side with their labels, for messages.
fn rows_of(side: &Side) -> String {
    let mut names: Vec<String> = Vec::new();
    for row in side.runs.iter().flat_map(|run| &run.rows) {
        let label = if row.label.is_empty() { String::new() } else { format!("{}:", row.label) };
        let name = format!("{label}{}", row.op);
        if !names.contains(&name) && names.len() < 20 {
            names.push(name);
        }
    }
    if names.is_empty() { "no rows at all".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        let gate = Gate::parse("write.mib_s >= 0.95").unwrap();
        assert_eq!((gate.label.as_deref(), gate.op.as_str()), (None, "write"));
        assert_eq!((gate.relation, gate.bound, gate.metric), (Relation::AtLeast, 0.95, "mib_s"));
        let gate = Gate::parse(" a:b/c :write.data.p99_ns<1.5").unwrap();
        assert_eq!((gate.label.as_deref(), gate.op.as_str()), (Some("a:b/c"), "write.data"));
        assert_eq!((gate.relation, gate.bound, gate.metric), (Relation::Below, 1.5, "p99_ns"));
        let gate = Gate::parse("a>=b:stat.mean_ns <= 2").unwrap();
        assert_eq!(gate.label.as_deref(), Some("a>=b"));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, at, words) in [
            ("write.mib_s", 11, "expected >="),
            ("write.mib_s >= ", 14, "expected a ratio"),
            ("write.mib_s >= -1", 14, "above 0"),
            ("write.mib_s >= inf", 14, "above 0"),
            ("write >= 1", 0, "operation.metric"),
            ("l: write.mibs >= 1", 9, "mib_s rank_mib_s"),
            (".mib_s > 1", 0, "an operation"),
            ("", 0, "expected >="),
        ] {
            let error = Gate::parse(text).unwrap_err();
            assert!(error.message.contains(words), "{text}: {error:?}");
            assert_eq!(error.at, at, "{text}: {error:?}");
        }
    }
}
