//! Sizes, durations and numbers as people write and read them.
//!
//! Suffixes `k m g t p` (either case) are powers of 1024; `KiB MiB GiB TiB`
//! too; `kB MB GB TB` are powers of 1000. Of rates (`2k/s`) single letters are powers of 1000, as rates are
//! printed. Durations: `ns us ms s min h`.

/// One factor of a size suffix; `None` if the word is not one.
pub fn size_factor(suffix: &str) -> Option<i64> {
    Some(match suffix {
        "k" | "K" | "KiB" => 1 << 10,
        "m" | "M" | "MiB" => 1 << 20,
        "g" | "G" | "GiB" => 1 << 30,
        "t" | "T" | "TiB" => 1 << 40,
        "p" | "P" | "PiB" => 1 << 50,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "PB" => 1_000_000_000_000_000,
        _ => return None,
    })
}

/// The same of a number of operations per second: single letters are powers of 1000.
pub fn rate_factor(suffix: &str) -> Option<i64> {
    match suffix {
        "" => Some(1),
        "k" | "K" => size_factor("kB"),
        "m" | "M" => size_factor("MB"),
        "g" | "G" => size_factor("GB"),
        "t" | "T" => size_factor("TB"),
        "p" | "P" => size_factor("PB"),
        suffix => size_factor(suffix),
    }
}

/// Suffixes of durations with their nanoseconds, from the longest.
const DURATIONS: [(&str, i64); 6] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Nanoseconds of a duration suffix; `None` if the word is not one.
pub fn duration_factor(suffix: &str) -> Option<i64> {
    DURATIONS.iter().find(|(name, _)| *name == suffix).map(|(_, ns)| *ns)
}

/// The integer that a string holds: blanks around it, a sign, a size suffix and `0o644` are fine.
pub fn parse_integer_text(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    if let Some(octal) = text.strip_prefix("0o").filter(|octal| !octal.starts_with(['-', '+'])) {
        return i64::from_str_radix(octal, 8).ok();
    }
    let digits_end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || (*at == 0 && matches!(c, '-' | '+'))))
        .map_or(text.len(), |(at, _)| at);
    let (digits, suffix) = text.split_at(digits_end);
    let factor = if suffix.is_empty() { 1 } else { size_factor(suffix)? };
    digits.parse::<i64>().ok()?.checked_mul(factor)
}

/// Nanoseconds as a duration literal of PPL, exact: `1500000` gives `1500us`.
pub fn format_duration(ns: i64) -> String {
    if ns == 0 {
        return "0s".into();
    }
    let exact = DURATIONS.iter().find(|(_, factor)| ns % factor == 0);
    let (unit, factor) = exact.expect("every integer is a multiple of 1");
    format!("{}{unit}", ns / factor)
}

/// Bytes for people, powers of 1024: `1536` gives `1.5 KiB`.
pub fn format_bytes(bytes: u64) -> String {
    Measure::Bytes.significant(bytes as f64)
}

/// Nanoseconds for people: `1234567` gives `1.23 ms`.
pub fn format_ns(ns: f64) -> String {
    Measure::Time.significant(ns)
}

/// About three significant digits without an exponent: `1.23`, `12.3`, `1234`.
pub fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Quantities, which decide the unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// MiB/s.
    ByteRate,
    /// Operations per second.
    OpRate,
}

impl Measure {
    /// Units from the smallest on, each with how much of the measure it is.
    fn units(self) -> &'static [(&'static str, f64)] {
        const KI: f64 = 1024.0;
        match self {
            Measure::Time => &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
            Measure::Bytes => &[
                ("B", 1.0),
                ("KiB", KI),
                ("MiB", KI * KI),
                ("GiB", KI * KI * KI),
                ("TiB", KI * KI * KI * KI),
                ("PiB", KI * KI * KI * KI * KI),
                ("EiB", KI * KI * KI * KI * KI * KI),
            ],
            Measure::ByteRate => {
                &[("B/s", 1.0 / KI / KI), ("KiB/s", 1.0 / KI), ("MiB/s", 1.0), ("GiB/s", KI)]
            }
            Measure::OpRate => &[("op/s", 1.0), ("kop/s", 1e3), ("Mop/s", 1e6)],
        }
    }

    /// The largest unit that `value` has one of, and how much of the measure it is.
    pub fn unit(self, value: f64) -> (&'static str, f64) {
        let units = self.units();
        let fits = units.iter().rev().find(|unit| value.abs() >= unit.1);
        *fits.unwrap_or(&units[0])
    }

    /// `value` with about three significant digits, and its unit.
    fn significant(self, value: f64) -> String {
        let (unit, size) = self.unit(value);
        format!("{} {unit}", significant(value / size))
    }

    /// `value` with `digits` significant digits, or all of its integer, and its unit.
    pub fn format(self, value: f64, digits: u32) -> String {
        let (unit, size) = self.unit(value);
        if size == 1.0 && value.fract() == 0.0 {
            // A whole number of the smallest unit is known exactly.
            return format!("{value:.0} {unit}");
        }
        // 999.96 ns is 1.000 µs.
        let rounded = rounded(value / size, digits) * size;
        let (unit, size) = self.unit(rounded);
        format!("{} {unit}", with_digits(rounded / size, digits))
    }
}

/// A number with `digits` significant digits, or all digits of its integer.
pub fn with_digits(value: f64, digits: u32) -> String {
    let value = rounded(value, digits);
    format!("{value:.*}", decimals(value, digits))
}

/// As [`with_digits`] shows it.
fn rounded(value: f64, digits: u32) -> f64 {
    let text = format!("{value:.*}", decimals(value, digits));
    text.parse().unwrap_or(value)
}

fn decimals(value: f64, digits: u32) -> usize {
    let magnitude =
        if value == 0.0 { digits as i32 } else { value.abs().log10().floor() as i32 + 1 };
    (digits as i32 - magnitude).clamp(0, 9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_can_hold_an_integer_with_a_suffix() {
        for (text, value) in [
            ("10", Some(10)),
            (" -3 ", Some(-3)),
            ("4k", Some(4096)),
            ("1MB", Some(1_000_000)),
            ("0o644", Some(420)),
            ("0o-1", None),
            ("0o8", None),
            ("12x", None),
            ("", None),
            ("9999999999999999999", None),
            ("9000000p", None),
        ] {
            assert_eq!(parse_integer_text(text.as_bytes()), value, "{text:?}");
        }
    }

    #[test]
    fn rates_are_decimal_and_read_as_they_are_printed() {
        for (suffix, factor) in [("k", 1e3), ("M", 1e6)] {
            assert_eq!(rate_factor(suffix).map(|found| found as f64), Some(factor));
            let printed = Measure::OpRate.format(2.0 * factor, 3);
            let unit = suffix.to_string() + "op/s";
            assert!(printed.starts_with("2.00") && printed.ends_with(&unit), "{printed}");
        }
        assert_eq!(
            (rate_factor("KiB"), rate_factor(""), rate_factor("x")),
            (Some(1024), Some(1), None)
        );
    }

    #[test]
    fn durations_are_exact() {
        for (ns, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500_000, "1500us"),
            (60_000_000_000, "1min"),
            (-2_000_000, "-2ms"),
        ] {
            assert_eq!(format_duration(ns), text);
        }
    }

    #[test]
    fn every_figure_has_the_unit_that_fits_it() {
        for (measure, value, text) in [
            (Measure::Time, 612.0, "612 ns"),
            (Measure::Time, 27_512.0, "27.51 µs"),
            (Measure::Time, 999.96, "1.000 µs"),
            (Measure::Time, 4e12, "4000 s"),
            (Measure::Bytes, 1.0, "1 B"),
            (Measure::Bytes, 20_480_000.0, "19.53 MiB"),
            (Measure::ByteRate, 1e-6, "1.049 B/s"),
            (Measure::ByteRate, 0.5, "512.0 KiB/s"),
            (Measure::ByteRate, 56_438.0, "55.12 GiB/s"),
            (Measure::OpRate, 0.25, "0.2500 op/s"),
            (Measure::OpRate, 165_432.1, "165.4 kop/s"),
            (Measure::OpRate, 0.0, "0 op/s"),
        ] {
            assert_eq!(measure.format(value, 4), text);
        }
    }

    #[test]
    fn figures_for_people_are_short() {
        assert_eq!(format_bytes(1536), "1.5 KiB");
        assert_eq!(format_bytes(999), "999 B");
        assert_eq!(format_ns(1_234_567.0), "1.23 ms");
        assert_eq!(significant(1234.4), "1234");
    }
}
