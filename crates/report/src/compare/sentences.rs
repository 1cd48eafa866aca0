//! A row in words: which side is faster and by how much, or what it would take to know.

use super::design::{Claim, Design, Row, SIGNIFICANCE};
use crate::text::percent;
use model::words;

/// More repetitions than this are not proposed.
const MOST: f64 = 10_000.0;

/// `mean time of stat in "load": B is 1.9x faster (1.7 to 2.1)`.
pub(crate) fn describe(row: &Row, design: Design, min_effect: f64) -> String {
    let what = row_subject(row);
    let said = match row.claim {
        Claim::Faster | Claim::Slower => format!("B is {}", by_how_much(row)),
        Claim::None => none(row, design, min_effect),
        Claim::TooFew => too_few(row, design),
        Claim::NotTested => format!("not tested, B/A {}", interval(row.quotient())),
    };
    format!("{what}: {said}{}", dependence(row))
}

/// `p50 of stat in "load" at block=4k`.
pub(crate) fn row_subject(row: &Row) -> String {
    format!("{} of {}", row.metric.quantity(), subject(&row.label, &row.op, &row.point))
}

/// `stat in "load" at block=4k`.
pub(crate) fn subject(label: &str, op: &str, point: &str) -> String {
    let point = if point.is_empty() { String::new() } else { format!(" at {point}") };
    match (op, label) {
        ("", label) => format!("label \"{label}\"{point}"),
        (op, "") => format!("{op}{point}"),
        (op, label) => format!("{op} in \"{label}\"{point}"),
    }
}

/// `6.9x slower (4.5 to 9.8)`, `5.2 % faster (4.1 to 6.3 %)`.
pub(crate) fn by_how_much(row: &Row) -> String {
    format!("{} {}", change(row), span(row))
}

/// `6.9x slower`, `5.2 % faster`.
pub(crate) fn change(row: &Row) -> String {
    match row.speedup >= 1.0 {
        true => format!("{} faster", factor(row.speedup)),
        false => format!("{} slower", factor(1.0 / row.speedup)),
    }
}

/// Its interval, `(4.5 to 9.8)`.
pub(crate) fn span(row: &Row) -> String {
    let (low, high) = (row.ci95_low.unwrap_or(0.0), row.ci95_high.unwrap_or(f64::INFINITY));
    match row.speedup >= 1.0 {
        true => ends(row.speedup, low, high),
        false => ends(1.0 / row.speedup, 1.0 / high, 1.0 / low),
    }
}

/// Factors below this are said in per cent.
const PER_CENT: f64 = 1.5;

/// `6.9x`, `5.2 %`.
pub(crate) fn factor(factor: f64) -> String {
    match factor {
        factor if factor < PER_CENT => format!("{:.1} %", (factor - 1.0) * 100.0),
        factor => format!("{}x", figure(factor)),
    }
}

/// `(4.5 to 9.8)`, `(4.1 to 6.3 %)`; an end that is not known is left out.
fn ends(of: f64, low: f64, high: f64) -> String {
    let per_cent = |end: f64| format!("{:.1}", (end - 1.0) * 100.0);
    match (of < PER_CENT, high.is_finite()) {
        (true, true) => format!("({} to {} %)", per_cent(low), per_cent(high)),
        (true, false) => format!("(at least {} %)", per_cent(low)),
        (false, _) => format!("({})", interval([of, low, high])),
    }
}

/// About two significant digits; near 1 three decimals, because a tenth of a per cent counts there.
pub(crate) fn figure(value: f64) -> String {
    format!("{value:.*}", decimals(&[value]))
}

/// `0.72 to 2.40`.
pub(crate) fn interval([_, low, high]: [f64; 3]) -> String {
    match (low > 0.0, high.is_finite()) {
        (true, true) => {
            let decimals = decimals(&[low, high]);
            format!("{low:.decimals$} to {high:.decimals$}")
        }
        (true, false) => format!("above {}", figure(low)),
        (false, true) => format!("below {}", figure(high)),
        (false, false) => "unknown".into(),
    }
}

/// Decimals that all of the factors need.
fn decimals(factors: &[f64]) -> usize {
    let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
    let most = factors.iter().copied().fold(0.0, f64::max);
    match factors.iter().all(|factor| (factor - 1.0).abs() < 0.1) {
        true => 3,
        false if least < 0.01 => 4,
        false if least < 1.0 || most < 2.0 => 2,
        false if least < 20.0 => 1,
        false => 0,
    }
}

/// `5 repetitions of each side`, `1 block`.
fn repetitions(count: usize, design: Design) -> String {
    words::count(
        count as u64,
        match design {
            Design::Samples => "repetition of each side",
            Design::Blocks => "block",
        },
    )
}

/// `5 repetitions of each side cannot show a difference: with 8 tests at least 6 are needed (--reps 6)`.
pub(crate) fn too_few(row: &Row, design: Design) -> String {
    let (a, b, least) = (row.base_n, row.new_n, row.least_n);
    let these = match a == b {
        true => repetitions(a, design),
        false => format!("{a} and {b} repetitions"),
    };
    let these = format!("{these} cannot show a difference");
    if a.min(b) >= least {
        return format!("{these}: neighbouring repetitions are correlated and count for less");
    }
    let tests = row.level.map_or(1, |level| (SIGNIFICANCE / level).round() as u64);
    let with = if tests > 1 { format!("with {tests} tests ") } else { String::new() };
    format!("{these}: {with}at least {least} are needed (--reps {least})")
}

/// A difference is excluded: how small it is at most.
pub(crate) fn is_small(row: &Row, min_effect: f64) -> bool {
    let least = 1.0 + min_effect;
    let [_, low, high] = row.quotient();
    low * least >= 1.0 && high <= least
}

fn none(row: &Row, design: Design, min_effect: f64) -> String {
    let quotient = row.quotient();
    let [_, low, high] = quotient;
    if low == high {
        return "no difference: the figures are the same".into();
    }
    if is_small(row, min_effect) {
        return format!("no difference above {} (B/A {})", percent(min_effect), interval(quotient));
    }
    if low > 1.0 || high < 1.0 {
        let (least, ends) = (percent(min_effect), interval(quotient));
        return match design {
            Design::Blocks => format!("a difference below --min-effect {least} (B/A {ends})"),
            Design::Samples => format!(
                "no clear difference (B/A {ends}): two runs may differ by {least} (--min-effect) without a cause; \
                 --against, --against-program and --versus avoid this"
            ),
        };
    }
    let least = 1.0 + min_effect;
    let needed = needed(row.base_n.min(row.new_n), low, high, least, design);
    format!("no clear difference (B/A {}){needed}", interval(quotient))
}

/// Intervals narrow with the root of the number of repetitions.
fn needed(n: usize, low: f64, high: f64, least: f64, design: Design) -> String {
    let half = (high / low).ln() / 2.0;
    let needed = (n as f64 * (half / least.ln()).powi(2)).ceil();
    match needed {
        needed if needed.is_finite() && needed <= n as f64 => String::new(),
        needed if needed.is_finite() && needed <= MOST => {
            let worth = percent(least - 1.0);
            format!("; about {} would show {worth}", repetitions(needed as usize, design))
        }
        _ => "; repetitions vary too much".into(),
    }
}

/// A correlation that is worth a word.
const CORRELATED: f64 = 0.3;

fn dependence(row: &Row) -> String {
    let lag1 = row.lag1.filter(|lag1| *lag1 > CORRELATED && row.p.is_some());
    lag1.map_or(String::new(), |r| {
        format!(" (neighbouring repetitions are correlated, lag 1: {r:.2}; the test was widened)")
    })
}
