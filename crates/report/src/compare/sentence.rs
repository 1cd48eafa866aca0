//! A row's claim in one plain sentence.

use super::{Claim, LEAST, Row};
use crate::statistics::Metric;

/// `stat of "load" is 1.9 x [1.7, 2.1] faster on B`.
pub(super) fn of(row: &Row, new: &str) -> String {
    let what = subject(row);
    match row.claim {
        Claim::Faster => format!("{what} is {} faster on {new}", factor(row, false)),
        Claim::Slower => format!("{what} is {} slower on {new}", factor(row, true)),
        Claim::None => none(row, &what),
        Claim::TooFew => format!(
            "{what}: {} and {} repetitions; a claim needs at least {LEAST} on either side",
            row.base_n, row.new_n
        ),
    }
}

fn subject(row: &Row) -> String {
    let cell = if row.cell > 0 { format!(" in cell {}", row.cell) } else { String::new() };
    match (row.op.as_str(), row.label.as_str()) {
        ("", label) => format!("label \"{label}\"{cell}"),
        (op, "") => format!("{op}{cell}"),
        (op, label) => format!("{op} of \"{label}\"{cell}"),
    }
}

/// `1.9 x [1.7, 2.1]`; inverted for what is slower.
fn factor(row: &Row, invert: bool) -> String {
    let turned = |value: Option<f64>| value.map(|value| if invert { 1.0 / value } else { value });
    let (ratio, low, high) = (turned(row.ratio), turned(row.ci95_low), turned(row.ci95_high));
    let (low, high) = if invert { (high, low) } else { (low, high) };
    let ends = [ratio, low, high].map(|value| value.unwrap_or(1.0));
    let places = places(ends[0]);
    format!("{:.places$} x [{:.places$}, {:.places$}]", ends[0], ends[1], ends[2])
}

/// Near 1 a per cent is worth showing, far from it a tenth is enough.
fn places(ratio: f64) -> usize {
    match (ratio - 1.0).abs() {
        away if away < 0.1 => 3,
        away if away < 0.5 => 2,
        away if away < 20.0 => 1,
        _ => 0,
    }
}

const NOTHING: &str = "no difference is claimed; one of up to";

fn none(row: &Row, what: &str) -> String {
    let (low, high) = (row.ci95_low.unwrap_or(1.0), row.ci95_high.unwrap_or(1.0));
    // The far end of the interval: only a larger difference would have been seen.
    let bound = (high.max(1.0 / low) - 1.0).max(0.0) * 100.0;
    let figure = match row.metric {
        Metric::MibS => "rate",
        Metric::OpsS => "rate of operations",
        Metric::MeanNs | Metric::TimeNs => "time",
    };
    match bound {
        b if b < 0.05 => format!("{what}: no difference: the {figure} is the same"),
        b if b < 10.0 => format!("{what}: {NOTHING} {b:.1} % cannot be excluded"),
        b => format!("{what}: {NOTHING} {b:.0} % cannot be excluded"),
    }
}
