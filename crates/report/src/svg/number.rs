//! Numbers with units, for ticks, ends of bars and tables.

use crate::chart::Unit;

/// A unit in which the numbers of an axis are short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// One of it in the base unit.
    pub size: f64,
    /// How it is written; "" for none.
    pub name: &'static str,
}

const fn shown(size: f64, name: &'static str) -> Shown {
    Shown { size, name }
}

const KI: f64 = 1024.0;
const BYTES: [Shown; 7] = [
    shown(1.0, "B"),
    shown(KI, "KiB"),
    shown(KI * KI, "MiB"),
    shown(KI * KI * KI, "GiB"),
    shown(KI * KI * KI * KI, "TiB"),
    shown(KI * KI * KI * KI * KI, "PiB"),
    shown(KI * KI * KI * KI * KI * KI, "EiB"),
];
const RATES: [Shown; 4] =
    [shown(1.0 / KI, "KiB/s"), shown(1.0, "MiB/s"), shown(KI, "GiB/s"), shown(KI * KI, "TiB/s")];
const TIMES: [Shown; 4] = [shown(1.0, "ns"), shown(1e3, "µs"), shown(1e6, "ms"), shown(1e9, "s")];
const PER_SECOND: [Shown; 3] = [shown(1.0, "op/s"), shown(1e3, "kop/s"), shown(1e6, "Mop/s")];
const COUNTS: [Shown; 4] =
    [shown(1.0, ""), shown(1e5, "thousand"), shown(1e7, "million"), shown(1e10, "billion")];
const SHARES: [Shown; 1] = [shown(0.01, "%")];
const PLAIN: [Shown; 1] = [shown(1.0, "")];

fn family(unit: Unit) -> &'static [Shown] {
    match unit {
        Unit::Bytes => &BYTES,
        Unit::MibPerSecond => &RATES,
        Unit::Nanoseconds => &TIMES,
        Unit::PerSecond => &PER_SECOND,
        Unit::Count => &COUNTS,
        Unit::Share => &SHARES,
        Unit::Rank | Unit::None => &PLAIN,
    }
}

/// The unit for numbers up to `largest`. The sizes above are thresholds where a unit is
/// taken up late; its true size is what its name says.
pub fn suited(unit: Unit, largest: f64) -> Shown {
    let family = family(unit);
    let fits = |shown: &&Shown| shown.size <= largest.abs() * (1.0 + 1e-9);
    let chosen = *family.iter().rev().find(fits).unwrap_or(&family[0]);
    let size = match chosen.name {
        "thousand" => 1e3,
        "million" => 1e6,
        "billion" => 1e9,
        _ => chosen.size,
    };
    Shown { size, ..chosen }
}

/// A number with fixed decimals, groups of three digits above 9999, powers of ten where that
/// would be long.
pub fn plain(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e9 || (value != 0.0 && value.abs() < 1e-6) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let text = format!("{value:.decimals$}");
    let text = if text.trim_start_matches('-').bytes().all(|b| matches!(b, b'0' | b'.')) {
        text.trim_start_matches('-').to_string()
    } else {
        text
    };
    group(&text)
}

/// `12345.6` with a thin space between groups of three digits.
fn group(text: &str) -> String {
    let whole = text.split('.').next().unwrap_or(text);
    let digits = whole.trim_start_matches('-');
    if digits.len() < 5 {
        return text.to_string();
    }
    let mut out = String::from(if whole.starts_with('-') { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out + &text[whole.len()..]
}

/// A number with three significant digits, zeros at its end left out.
pub fn short(value: f64) -> String {
    let whole_digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let text = plain(value, (2 - whole_digits).clamp(0, 8) as usize);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A value with its unit, three significant digits: `4 KiB`, `1.25 ms`, `35.5 MiB/s`, `12 %`.
pub(crate) fn value_text(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if matches!(unit, Unit::Count | Unit::Rank) && value.fract() == 0.0 {
        return plain(value, 0);
    }
    let shown = suited(unit, value);
    format!("{} {}", short(value / shown.size), shown.name).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short_and_have_units() {
        for (value, unit, text) in [
            (4096.0, Unit::Bytes, "4 KiB"),
            (1.5 * 1048576.0, Unit::Bytes, "1.5 MiB"),
            (0.0, Unit::Bytes, "0 B"),
            (1_250_000.0, Unit::Nanoseconds, "1.25 ms"),
            (999.0, Unit::Nanoseconds, "999 ns"),
            (35.512, Unit::MibPerSecond, "35.5 MiB/s"),
            (1023.0, Unit::MibPerSecond, "1023 MiB/s"),
            (4608.0, Unit::MibPerSecond, "4.5 GiB/s"),
            (0.5, Unit::MibPerSecond, "512 KiB/s"),
            (0.123, Unit::Share, "12.3 %"),
            (1_234_567.0, Unit::Count, "1\u{2009}234\u{2009}567"),
            (7.0, Unit::Rank, "7"),
            (250_000.0, Unit::PerSecond, "250 kop/s"),
            (1e300, Unit::None, "1e300"),
            (-0.0, Unit::None, "0"),
            (f64::NAN, Unit::None, "-"),
        ] {
            assert_eq!(value_text(value, unit), text, "{value} {unit:?}");
        }
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(plain(1234.0, 0), "1234");
        assert_eq!(plain(-12345.67, 1), "-12\u{2009}345.7");
        assert_eq!(plain(-0.001, 1), "0.0");
        assert_eq!(plain(2e12, 0), "2e12");
    }
}
