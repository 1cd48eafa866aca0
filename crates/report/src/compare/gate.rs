//! Gates on ratios: `write.mib_s >= 0.95` holds if B reaches 95 % of A's rate.
//!
//! ```text
//! gate   = [ label ":" ] name relation number
//! name   = operation "." metric
//! number = 0.9 | 90 % | +10 % | -10 %
//! metric = mib_s | rank_mib_s | ops_s | rank_ops_s | min_ns | mean_ns | p50_ns | p90_ns | p99_ns | p999_ns | max_ns
//! ```
//!
//! The number is the ratio B / A over repetitions; `+10 %` is 1.1, `-10 %` is 0.9: the estimate and interval of docs/statistics.md. A gate
//! passes where the condition holds at both ends of the 95 % interval, fails where it holds at neither, and
//! is undecided otherwise. Without a label every label that has the operation is judged; in a sweep every
//! cell. The worst place decides.

use super::design::{Design, LEAST, SIGNIFICANCE, Side};
use super::inference::{Contrast, Memo};
use super::sentences::subject;
use crate::gate::{Condition, GateResult, Number, Verdict};
use crate::json::without_histograms;
use crate::rows::{moves_bytes, point};
use model::run::Row;
use model::words;
use std::collections::BTreeMap;

/// A condition on a ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    condition: Condition,
    /// Operation, or `operation.part`.
    op: String,
    /// The field of the row.
    metric: &'static str,
}

/// A name in a gate that neither side has.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// The gate as it was written.
    pub gate: String,
    /// "label", "operation" or "figure".
    pub what: &'static str,
    /// The name.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

/// Fields of rows that can be compared, and the operations that a repetition needs to have them.
const METRICS: [(&str, u32); 11] = [
    ("mib_s", 1),
    ("rank_mib_s", 1),
    ("ops_s", 1),
    ("rank_ops_s", 1),
    ("min_ns", 1),
    ("mean_ns", 1),
    ("p50_ns", 1),
    ("p90_ns", 10),
    ("p99_ns", 100),
    ("p999_ns", 1_000),
    ("max_ns", 1),
];

/// The forms of the number, for messages.
const RATIO: &str = "the ratio B / A as in >= 0.9, >= 90 %, <= 1.1 or <= +10 %";

/// Operations of a side that a message names.
const NAMED: usize = 20;

impl Gate {
    /// Reads a gate.
    ///
    /// # Errors
    /// The text is no gate.
    pub fn parse(text: &str) -> Result<Gate, String> {
        let mut condition = Condition::parse(text, "write.mib_s >= 0.95", RATIO)?;
        condition.limit = match condition.number {
            Number::Plain(ratio) => ratio,
            Number::PerCent(share) => share / 100.0,
            Number::Change(change) => 1.0 + change / 100.0,
        };
        if condition.limit <= 0.0 {
            return Err(format!("expected {RATIO}, above 0"));
        }
        let name = &condition.name;
        let Some((op, metric)) = name.rsplit_once('.') else {
            let names = METRICS.map(|known| known.0).join(" ");
            return Err(format!(
                "expected OPERATION.METRIC, as in write.mib_s, found {name:?}; metrics: {names}"
            ));
        };
        let Some((metric, _)) = METRICS.iter().find(|known| known.0 == metric.trim()) else {
            let names = METRICS.map(|known| known.0).join(" ");
            return Err(format!("expected a metric ({names}), found {:?}", metric.trim()));
        };
        let op = op.trim().to_string();
        if op.is_empty() {
            return Err("expected an operation before the point".into());
        }
        Ok(Gate { condition, op, metric })
    }

    /// The name in the gate that neither side has; `None`: one side has what it names.
    pub fn unknown(&self, base: &Side, new: &Side) -> Option<Unknown> {
        let has = |side: &Side| !self.places(side).is_empty();
        if has(base) || has(new) {
            return self.lacks_bytes();
        }
        let rows = || [base, new].into_iter().flat_map(|side| &side.runs).flat_map(|run| &run.rows);
        let in_label =
            |row: &&Row| self.condition.label.as_ref().is_none_or(|own| *own == row.label);
        let (what, name, mut known): (_, _, Vec<String>) = match &self.condition.label {
            Some(label) if !rows().any(|row| in_label(&row)) => {
                ("label", label, rows().map(|row| row.label.clone()).collect())
            }
            _ => {
                let ops = rows().filter(in_label).map(|row| row.op.clone());
                ("operation", &self.op, ops.collect())
            }
        };
        known.retain(|name| !name.is_empty());
        known.sort();
        known.dedup();
        Some(Unknown { gate: self.condition.text.clone(), what, name: name.clone(), known })
    }

    /// The metric is a bandwidth, and the operation never moves bytes.
    fn lacks_bytes(&self) -> Option<Unknown> {
        let is_bandwidth = |metric: &str| matches!(metric, "mib_s" | "rank_mib_s");
        if !is_bandwidth(self.metric) || moves_bytes(&self.op) || self.op.ends_with(".data") {
            return None;
        }
        let others = METRICS.iter().filter(|metric| !is_bandwidth(metric.0));
        Some(Unknown {
            gate: self.condition.text.clone(),
            what: "figure",
            name: format!("{}.{}: it moves no bytes", self.op, self.metric),
            known: others.map(|metric| format!("{}.{}", self.op, metric.0)).collect(),
        })
    }

    /// Judges the gate.
    pub fn judge(&self, base: &Side, new: &Side, design: Design) -> GateResult {
        let places = self.places(base);
        let judged = places.iter().map(|place| self.judge_at(base, new, design, place));
        let (verdicts, mut reasons): (Vec<Verdict>, Vec<String>) = judged.unzip();
        if places.is_empty() {
            reasons.push(format!("A has no such operation; it has {}", rows_of(base)));
        }
        let verdict = verdicts.into_iter().max().unwrap_or(Verdict::Fail);
        GateResult { gate: self.condition.text.clone(), verdict, reasons }
    }

    /// Labels and cells of A that have the operation.
    fn places(&self, base: &Side) -> Vec<(String, u32)> {
        let mut places = Vec::new();
        for row in base.runs.iter().flat_map(|run| &run.rows) {
            let place = (row.label.clone(), row.cell);
            let meant = self.condition.label.as_ref().is_none_or(|label| *label == row.label);
            if row.op == self.op && meant && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Figures by run and repetition.
    fn figures(&self, side: &Side, (label, cell): &(String, u32)) -> BTreeMap<(usize, u32), f64> {
        let figure = |row: &Row| {
            let row = serde_json::to_value(without_histograms(row)).ok()?;
            row[self.metric].as_f64().filter(|figure| *figure > 0.0)
        };
        let here = |row: &&Row| row.op == self.op && row.label == *label && row.cell == *cell;
        let runs = side.runs.iter().enumerate();
        let rows =
            runs.flat_map(|(at, run)| run.rows.iter().filter(here).map(move |row| (at, row)));
        rows.filter_map(|(at, row)| Some(((at, row.repetition), figure(row)?))).collect()
    }

    fn judge_at(
        &self,
        base: &Side,
        new: &Side,
        design: Design,
        place: &(String, u32),
    ) -> (Verdict, String) {
        let (mut a, mut b) = (self.figures(base, place), self.figures(new, place));
        if design == Design::Blocks {
            a.retain(|at, _| b.contains_key(at));
            b.retain(|at, _| a.contains_key(at));
        }
        let (name, at) = (self.metric, self.describe(base, place));
        if a.len() < LEAST || b.len() < LEAST {
            let (a, b) = (a.len(), b.len());
            let hint = match METRICS.iter().find(|known| known.0 == name) {
                Some((_, needs @ 2..)) => format!(" ({name} needs {needs} operations in each)"),
                _ => String::new(),
            };
            let message = format!(
                "{at}: {a} and {b} repetitions have {name}, at least {LEAST} are needed{hint}"
            );
            return (Verdict::Undecided, message);
        }
        let (a, b): (Vec<f64>, Vec<f64>) = (a.into_values().collect(), b.into_values().collect());
        let contrast = Contrast::new(design, &a, &b);
        let (low, high) = contrast.interval(SIGNIFICANCE, 1.0, &mut Memo::default());
        let verdict = match [low, high].map(|end| self.condition.holds(end)) {
            [true, true] => Verdict::Pass,
            [false, false] => Verdict::Fail,
            _ => Verdict::Undecided,
        };
        let ratio = contrast.ratio();
        (verdict, format!("{at}: {name} of B / A is {ratio:.3} ({low:.3} to {high:.3})"))
    }

    /// `write of "w" at block=4k`.
    fn describe(&self, base: &Side, (label, cell): &(String, u32)) -> String {
        let point = base.runs.first().map_or(String::new(), |run| point(run, *cell));
        subject(label, &self.op, &point)
    }
}

/// Operations of a side with their labels, for messages.
fn rows_of(side: &Side) -> String {
    let mut names: Vec<String> = Vec::new();
    for row in side.runs.iter().flat_map(|run| &run.rows) {
        let label = if row.label.is_empty() { String::new() } else { format!("{}:", row.label) };
        let name = format!("{label}{}", row.op);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { "no rows at all".into() } else { words::list_some(&names, NAMED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        let gate = Gate::parse("write.mib_s >= 0.95").unwrap();
        assert_eq!((&gate.condition.label, &*gate.op, gate.metric), (&None, "write", "mib_s"));
        assert!(gate.condition.holds(0.95) && !gate.condition.holds(0.94));
        let gate = Gate::parse(" a:b/c :write.data.p99_ns<1.5").unwrap();
        assert_eq!(gate.condition.label.as_deref(), Some("a:b/c"));
        assert_eq!((&*gate.op, gate.metric), ("write.data", "p99_ns"));
        assert!(gate.condition.holds(1.4) && !gate.condition.holds(1.5));
        for (text, limit) in [
            ("write.mib_s >= 90 %", 0.9),
            ("write.mib_s>=90%", 0.9),
            ("write.p50_ns <= +10 %", 1.1),
            ("write.p50_ns<=+10%", 1.1),
            ("write.mib_s >= -10 %", 0.9),
        ] {
            assert!((Gate::parse(text).unwrap().condition.limit - limit).abs() < 1e-12, "{text}");
        }
        let gate = Gate::parse("a>=b:stat.mean_ns <= 2").unwrap();
        assert_eq!(gate.condition.label.as_deref(), Some("a>=b"));
    }

    #[test]
    fn mistakes_are_refused() {
        for text in [
            "write.mib_s",
            "write.mib_s >= ",
            "write.mib_s >= -1",
            "write.mib_s >= 0",
            "write.mib_s >= 100 MiB/s",
            "write.mib_s >= +0.1",
            "write.mib_s >= -100 %",
            "write.mib_s >= 0 %",
            "write.mib_s >= inf",
            "write >= 1",
            "l: write.mibs >= 1",
            ".mib_s > 1",
            "",
        ] {
            assert!(Gate::parse(text).is_err(), "{text}");
        }
    }
}
