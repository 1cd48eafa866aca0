//! Gates: conditions on a comparison or a replay that decide the exit code.
//!
//! ```text
//! gate     = [ label ":" ] name relation number
//! relation = >= | > | <= | <
//! number   = 0.9 | 90 % | +10 % | -10 %          blanks are allowed everywhere
//! ```
//!
//! The comparison ([`crate::compare::Gate`]) and the report on replays ([`crate::fidelity::Gate`]) say
//! which names there are and what the number means.

use crate::document::Item;
use crate::markup::{Markup, element};
use serde::Serialize;

/// A condition as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The whole text.
    pub text: String,
    /// Label path; `None`: no colon.
    pub label: Option<String>,
    /// Name of the figure.
    pub name: String,
    relation: &'static str,
    /// The number.
    pub number: Number,
    /// The number that figures are compared with.
    pub limit: f64,
}

/// The number of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// `0.9`
    Plain(f64),
    /// `90 %`
    PerCent(f64),
    /// `+10 %`, `-10 %`
    Change(f64),
}

impl Number {
    fn parse(text: &str) -> Option<Number> {
        let (rest, percent) = match text.strip_suffix('%') {
            Some(rest) => (rest.trim_end(), true),
            None => (text, false),
        };
        let digits = rest.strip_prefix(['+', '-']);
        let value = digits.unwrap_or(rest).trim_start();
        let value: f64 =
            value.parse().ok().filter(|value| *value >= 0.0 && f64::is_finite(*value))?;
        match (digits, percent) {
            (Some(_), true) if rest.starts_with('-') => Some(Number::Change(-value)),
            (Some(_), true) => Some(Number::Change(value)),
            (Some(_), false) => None,
            (None, true) => Some(Number::PerCent(value)),
            (None, false) => Some(Number::Plain(value)),
        }
    }

    /// As it was written, without its unit.
    fn value(self) -> f64 {
        let (Number::Plain(value) | Number::PerCent(value) | Number::Change(value)) = self;
        value
    }
}

const RELATIONS: [&str; 4] = [">=", "<=", ">", "<"];

impl Condition {
    /// Reads a condition; `example` is shown where its relation is missing, `forms` where its number is.
    ///
    /// # Errors
    /// The text is no condition.
    pub fn parse(text: &str, example: &str, forms: &str) -> Result<Condition, String> {
        let found = RELATIONS.iter().filter_map(|sign| Some((text.rfind(sign)?, *sign)));
        let Some((at, relation)) = found.max_by_key(|(at, sign)| (*at, sign.len())) else {
            return Err(format!("expected >=, >, <= or <, as in {example}"));
        };
        let written = text[at + relation.len()..].trim();
        let Some(number) = Number::parse(written) else {
            return Err(format!("expected {forms}, found {written:?}"));
        };
        let name = text[..at].trim_end();
        let (label, rest) = match name.rsplit_once(':') {
            Some((label, rest)) => (Some(label.trim().to_string()), rest),
            None => (None, name),
        };
        Ok(Condition {
            text: text.trim().into(),
            label,
            name: rest.trim().into(),
            relation,
            number,
            limit: number.value(),
        })
    }

    /// The condition is an upper bound.
    pub fn is_upper(&self) -> bool {
        self.relation.starts_with('<')
    }

    /// A figure meets the condition.
    pub fn holds(&self, figure: f64) -> bool {
        match self.relation {
            ">=" => figure >= self.limit,
            "<=" => figure <= self.limit,
            ">" => figure > self.limit,
            _ => figure < self.limit,
        }
    }
}

/// How a gate ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateResult {
    /// The gate as it was written.
    pub gate: String,
    /// How it ended where it ended worst.
    pub verdict: Verdict,
    /// Why, one sentence for each place.
    pub reasons: Vec<String>,
}

/// Outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every figure that the repetitions allow meets the condition.
    Pass,
    /// Some do, some do not, or there are too few repetitions.
    Undecided,
    /// No figure does, or there is no such figure.
    Fail,
}

impl Verdict {
    /// The exit code reports a failure. `undecided`: also for an undecided gate.
    pub fn fails(self, undecided: bool) -> bool {
        self == Verdict::Fail || (undecided && self == Verdict::Undecided)
    }

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Pass => "passes",
            Verdict::Undecided => "undecided",
            Verdict::Fail => "fails",
        }
    }
}

/// The gates of a report, a line each.
pub fn items(gates: &[GateResult]) -> Vec<Item> {
    let item = |gate: &GateResult| {
        let (words, reasons) = (gate.verdict.words(), gate.reasons.join("; "));
        Item::new(format!("gate {words}: {}: {reasons}", gate.gate))
    };
    gates.iter().map(item).collect()
}

/// Gates as a JUnit test suite, one case per gate, each with the name of the side that it judges.
/// `undecided_fails`: an undecided gate is a failure; else it is skipped.
pub fn junit(suite: &str, gates: &[(&str, &GateResult)], undecided_fails: bool) -> String {
    let fails = |gate: &GateResult| gate.verdict.fails(undecided_fails);
    let case = |(name, gate): &(&str, &GateResult)| {
        let reasons = format!("{}: {}", gate.verdict.words(), gate.reasons.join("; "));
        let outcome = match gate.verdict {
            _ if fails(gate) => element("failure").attr("message", reasons),
            Verdict::Undecided => element("skipped").attr("message", reasons),
            _ => element("system-out").text(reasons),
        };
        element("testcase").attr("classname", name).attr("name", &gate.gate).with(outcome)
    };
    let suite = element("testsuite")
        .attr("name", suite)
        .attr("tests", gates.len())
        .attr("failures", gates.iter().filter(|(_, gate)| fails(gate)).count())
        .all(gates.iter().map(case));
    let suite = Markup::from(suite).into_string();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{suite}")
}
