//! The sentence of a row: which side is faster and by how much, or what it would take to know.

use super::design::{Claim, Design, Options, Row};
use crate::text::percent;

/// More repetitions than this are not proposed.
const MOST: f64 = 10_000.0;

/// `stat of "load" is 1.9 x [1.7, 2.1] faster on B`.
pub(super) fn describe(
    row: &Row,
    rows: usize,
    new: &str,
    design: Design,
    options: &Options,
) -> String {
    let what = row_subject(row);
    let said = match row.claim {
        Claim::Faster => format!("{what} is {} faster on {new}", factor(row, false)),
        Claim::Slower => format!("{what} is {} slower on {new}", factor(row, true)),
        Claim::None => format!("{what}: {}", none(row, design, options)),
        Claim::TooFew => format!("{what}: {}", too_few(row, rows, design)),
    };
    said + &dependence(row)
}

pub(super) fn row_subject(row: &Row) -> String {
    subject(&row.label, &row.op, &row.point)
}

/// `stat of "load" at block=4k`.
pub(super) fn subject(label: &str, op: &str, point: &str) -> String {
    let point = if point.is_empty() { String::new() } else { format!(" at {point}") };
    match (op, label) {
        ("", label) => format!("label \"{label}\"{point}"),
        (op, "") => format!("{op}{point}"),
        (op, label) => format!("{op} of \"{label}\"{point}"),
    }
}

/// `1.9 x [1.7, 2.1]`; inverted for what is slower.
fn factor(row: &Row, invert: bool) -> String {
    let turned = |value: Option<f64>| value.map(|value| if invert { 1.0 / value } else { value });
    let (ratio, low, high) = (turned(row.ratio), turned(row.ci95_low), turned(row.ci95_high));
    let (low, high) = if invert { (high, low) } else { (low, high) };
    let places = places([ratio, low, high]);
    let end = |value: Option<f64>| value.map_or("?".into(), |value| format!("{value:.places$}"));
    format!("{} x [{}, {}]", end(ratio), end(low), end(high))
}

/// Decimals: near 1 a tenth of a per cent is worth showing, far from it a tenth is enough; and enough
/// to distinguish the nearest figure from 1.
fn places(figures: [Option<f64>; 3]) -> usize {
    let away = |figure: f64| (figure - 1.0).abs();
    let nearest = figures.into_iter().flatten().map(away).fold(f64::INFINITY, f64::min);
    match nearest {
        away if away < 0.001 => 5,
        away if away < 0.1 => 3,
        away if away < 0.5 => 2,
        away if away < 20.0 => 1,
        _ => 0,
    }
}

fn repetitions(design: Design) -> &'static str {
    match design {
        Design::Samples => "repetitions on either side",
        Design::Blocks => "blocks",
    }
}

/// `5 repetitions on either side cannot claim a difference`.
fn these_cannot(n: usize, design: Design) -> String {
    match (n, design) {
        (1, Design::Samples) => "1 repetition on either side cannot claim a difference".into(),
        (1, Design::Blocks) => "1 block cannot claim a difference".into(),
        (n, design) => format!("{n} {} cannot claim a difference", repetitions(design)),
    }
}

/// `5 repetitions on either side cannot claim a difference: 8 rows need at least 6 (--reps 6)`.
pub(super) fn too_few(row: &Row, rows: usize, design: Design) -> String {
    let (a, b, least, word) = (row.base_n, row.new_n, row.least_n, repetitions(design));
    let these = match a == b {
        true => these_cannot(a, design),
        false => format!("{a} and {b} repetitions cannot claim a difference"),
    };
    if a.min(b) >= least {
        return format!("{these} of {rows} rows: correlated neighbours count for less");
    }
    match rows {
        1 => format!("{these}: at least {least} {word} are needed (--reps {least})"),
        rows => format!("{these}: {rows} rows need at least {least} (--reps {least})"),
    }
}

fn none(row: &Row, design: Design, options: &Options) -> String {
    let worth = percent(options.min_effect);
    let (Some(low), Some(high)) = (row.ci95_low, row.ci95_high) else {
        return format!("no clear difference: {} {} exclude none", row.base_n, repetitions(design));
    };
    if low == high {
        return "no difference: the figures are the same".into();
    }
    let between = format!("{} to {}", side(low), side(high));
    if low > 1.0 || high < 1.0 {
        return format!("no difference above --min-effect {worth}: B is {between}");
    }
    let least = 1.0 + options.min_effect;
    if low * least >= 1.0 && high <= least {
        return format!("no difference above {worth}: B is {between}");
    }
    let needed = needed(row.base_n.min(row.new_n), low, high, least, design);
    format!("no clear difference: B may be anything from {between}{needed}")
}

/// `3.1 % slower`, `2.0 % faster`: an end of the interval, as a change of speed.
fn side(ratio: f64) -> String {
    match ratio {
        ratio if ratio <= 0.5 => format!("{:.1} x slower", 1.0 / ratio),
        ratio if ratio < 1.0 => format!("{:.1} % slower", (1.0 - ratio) * 100.0),
        ratio if ratio < 2.0 => format!("{:.1} % faster", (ratio - 1.0) * 100.0),
        ratio => format!("{ratio:.1} x faster"),
    }
}

/// Intervals narrow with the root of the number of repetitions.
fn needed(n: usize, low: f64, high: f64, least: f64, design: Design) -> String {
    let half = (high / low).ln() / 2.0;
    let needed = (n as f64 * (half / least.ln()).powi(2)).ceil();
    match needed {
        needed if needed.is_finite() && needed <= n as f64 => String::new(),
        needed if needed.is_finite() && needed <= MOST => {
            let worth = percent(least - 1.0);
            format!("; about {needed} {} would show {worth}", repetitions(design))
        }
        _ => "; repetitions vary too much".into(),
    }
}

fn dependence(row: &Row) -> String {
    row.lag1.map_or(String::new(), |r| {
        format!(
            " (neighbouring repetitions are correlated, lag 1: {r:.2}; the test was widened; --against, \
             --against-program and --versus avoid it)"
        )
    })
}
