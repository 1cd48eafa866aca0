//! Numbers and times in the units of a log.
//!
//! ```text
//! "12.5" in ms ──▶ 12500000 ns      "4KiB" ──▶ 4096      "23/Nov/2026 02:00:01.5" by a pattern ──▶ ns since 1970
//! ```

use jiff::civil::date;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;
use model::units::{duration_factor, size_factor};

/// Nanoseconds of a second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// Digits of a number that are kept exact.
const DIGITS_MAX: usize = 24;

/// How a log writes times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// Numbers, in units of this many nanoseconds, and the nanosecond of 1970 in which they begin.
    Numbers(u64, i128),
    /// By a pattern of strptime.
    Pattern(String),
}

/// A time in nanoseconds, and whether it is since midnight, not since 1970 or the log's beginning.
type Moment = (u64, bool);

impl Times {
    /// The unit or pattern that a rules file names. `Err`: what was expected.
    pub fn named(text: &str) -> Result<Times, String> {
        if !text.contains('%') {
            return numbers(text).ok_or_else(|| {
                "a unit (s, ms, us, ns, min, h), also 100ns or 100ns since 1601-01-01, or a pattern such as \
                 %H:%M:%S%.f"
                    .into()
            });
        }
        let sample = sample(text).filter(|sample| BrokenDownTime::parse(text, sample).is_ok());
        match sample {
            Some(_) => Ok(Times::Pattern(text.into())),
            None => Err("a pattern of strptime such as %Y-%m-%d %H:%M:%S%.f".into()),
        }
    }

    /// The time that a text is.
    pub fn read(&self, text: &[u8]) -> Option<Moment> {
        match self {
            Times::Numbers(unit, since_ns) => {
                let ns = i128::from(duration_ns(text, *unit)?) + since_ns;
                Some((u64::try_from(ns).ok()?, false))
            }
            Times::Pattern(pattern) => by_pattern(pattern, text),
        }
    }

    /// Unit of durations without one, nanoseconds.
    pub fn unit_ns(&self) -> u64 {
        match self {
            Times::Numbers(unit_ns, _) => *unit_ns,
            Times::Pattern(_) => SECOND_NS,
        }
    }

    /// The expected form, for messages.
    pub fn expected(&self) -> String {
        match self {
            Times::Numbers(..) => "a time as a number".into(),
            Times::Pattern(pattern) => {
                format!("a time like {}", sample(pattern).unwrap_or_else(|| pattern.clone()))
            }
        }
    }
}

/// `ms`, `100ns`, `100ns since 1601-01-01`.
fn numbers(text: &str) -> Option<Times> {
    let (unit, since) = text.split_once(" since ").map_or((text, None), |of| (of.0, Some(of.1)));
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = if digits == 0 { 1 } else { unit[..digits].parse().ok()? };
    let unit_ns = (duration_factor(unit[digits..].trim())? as u64).checked_mul(count)?;
    let since_ns = match since {
        Some(date) => {
            let date: jiff::civil::Date = date.trim().parse().ok()?;
            date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()
        }
        None => 0,
    };
    (unit_ns > 0).then_some(Times::Numbers(unit_ns, since_ns))
}

/// A time as the pattern writes it.
fn sample(pattern: &str) -> Option<String> {
    let zoned = date(2026, 11, 23).at(2, 0, 1, 500_000_000).to_zoned(TimeZone::UTC).ok()?;
    strtime::format(pattern, &zoned).ok()
}

/// Without a zone it is UTC; without a year, of 1970; without a date, of the day.
fn by_pattern(pattern: &str, text: &[u8]) -> Option<Moment> {
    let mut parsed = BrokenDownTime::parse(pattern, text).ok()?;
    if parsed.year().is_none() && parsed.month().is_some() {
        parsed.set_year(Some(1970)).ok()?;
    }
    let of_zone = parsed.to_timestamp().ok();
    let utc = || parsed.to_datetime().ok()?.to_zoned(TimeZone::UTC).ok();
    if let Some(timestamp) = of_zone.or_else(|| Some(utc()?.timestamp())) {
        return Some((u64::try_from(timestamp.as_nanosecond()).ok()?, false));
    }
    let time = parsed.to_time().ok()?;
    let seconds = (time.hour() as u64 * 60 + time.minute() as u64) * 60 + time.second() as u64;
    Some((seconds * SECOND_NS + time.subsec_nanosecond() as u64, true))
}

/// Reads a duration in nanoseconds. A unit in the text wins over `unit`.
pub fn duration_ns(text: &[u8], unit: u64) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let unit = match suffix {
        "" => unit,
        "µs" | "usec" => 1_000,
        "msec" => 1_000_000,
        "sec" => SECOND_NS,
        suffix => duration_factor(suffix)? as u64,
    };
    scaled(number, unit)
}

/// Reads a number of bytes, with or without a unit: `4096`, `4KiB`, `0x1000`.
pub fn bytes(text: &[u8]) -> Option<u64> {
    if let Some(hex) = text.strip_prefix(b"0x") {
        let hex = std::str::from_utf8(hex).ok().filter(|hex| !hex.starts_with('+'))?;
        return u64::from_str_radix(hex, 16).ok();
    }
    let (number, suffix) = split(text)?;
    let unit = match suffix {
        "" | "B" | "bytes" => 1,
        suffix => size_factor(suffix)? as u64,
    };
    scaled(number, unit)
}

/// The number, and what stands behind it.
fn split(text: &[u8]) -> Option<(&str, &str)> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bytes = text.as_bytes();
    let is_part = |at: usize| match bytes[at] {
        b'0'..=b'9' | b'.' => true,
        b'e' | b'E' => at > 0 && matches!(bytes.get(at + 1), Some(b'0'..=b'9' | b'-' | b'+')),
        b'-' | b'+' => at > 0 && matches!(bytes[at - 1], b'e' | b'E'),
        _ => false,
    };
    let end = (0..bytes.len()).find(|at| !is_part(*at)).unwrap_or(bytes.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

/// A decimal number times a unit, exact as far as it has few digits.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = whole.len() + fraction.len();
    if digits == 0 || digits > DIGITS_MAX || !is_plain(whole) || !is_plain(fraction) {
        let value = number.parse::<f64>().ok()? * unit as f64;
        // A cast saturates.
        return (value.is_finite() && value < u64::MAX as f64).then_some(value.round() as u64);
    }
    let join = |sum: u128, byte: u8| sum * 10 + u128::from(byte - b'0');
    let value = whole.bytes().chain(fraction.bytes()).fold(0, join);
    let scaled = value.checked_mul(unit.into())? / 10u128.pow(fraction.len() as u32);
    u64::try_from(scaled).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_of_the_log_or_their_own() {
        for (text, unit, ns) in [
            ("12.5", 1_000_000, Some(12_500_000)),
            ("1795253061.790445123", SECOND_NS, Some(1_795_253_061_790_445_123)),
            ("12 us", SECOND_NS, Some(12_000)),
            ("1.5e-05", SECOND_NS, Some(15_000)),
            ("3µs", 1, Some(3_000)),
            ("x", 1, None),
            ("-1", 1, None),
            ("1 parsec", 1, None),
            ("99999999999999999999999", SECOND_NS, None),
            (".", 1, None),
        ] {
            assert_eq!(duration_ns(text.as_bytes(), unit), ns, "{text}");
        }
        for (text, size) in [
            ("4KiB", Some(4096)),
            ("8", Some(8)),
            ("0x10", Some(16)),
            ("1.5k", Some(1536)),
            ("10 B", Some(10)),
            ("18446744073709551616", None),
            ("", None),
            ("0x+1", None),
        ] {
            assert_eq!(bytes(text.as_bytes()), size, "{text}");
        }
    }

    #[test]
    fn times_are_read_by_patterns() {
        let read = |pattern: &str, text: &str| Times::named(pattern).unwrap().read(text.as_bytes());
        let since = |ns| Some((ns, false));
        assert_eq!(
            read("%Y-%m-%d %H:%M:%S%.f", "1970-01-02 00:00:00.5"),
            since(86_400_500_000_000)
        );
        assert_eq!(read("%FT%T%.f%:z", "1970-01-01T01:00:01+01:00"), since(SECOND_NS));
        assert_eq!(read("%b %d %T", "Jan  2 00:00:01"), since(86_401_000_000_000));
        assert_eq!(read("%H:%M:%S%.f", "00:00:01.25"), Some((1_250_000_000, true)));
        assert_eq!(read("%H:%M:%S", "25:00:00"), None);
        assert_eq!(read("ms", "3"), since(3_000_000));
        assert_eq!(read("100ns", "3"), since(300));
        let ticks = "100ns since 1601-01-01";
        assert_eq!(read(ticks, "128166372003061629"), since(1_172_163_600_306_162_900));
        assert_eq!(read(ticks, "1"), None);
        assert_eq!(read("s since 2000-01-01", "1"), since(946_684_801 * SECOND_NS));
        assert_eq!(Times::named(ticks).map(|times| times.unit_ns()), Ok(100));
        for wrong in ["fortnight", "%!", "%Q%Q", "0ns", "100", "s since 1601", "ns since yesterday"]
        {
            assert!(Times::named(wrong).is_err(), "{wrong}");
        }
    }
}
