//! The values of a dimension: `4k,64k,1m`, `4k..16m*2`, `1..9+2`, `"a,b",c`.
//!
//! ```text
//! values = item { "," item }
//! item   = number ".." number ( "*" factor | "+" step )     up to and with the last value that fits
//!        | '"' text '"'                                     text with commas; \" and \\ inside
//!        | text                                             a constant as in NAME=VALUE
//! ```
//!
//! Numbers have the units of PPL: sizes, durations, none. A range is one only if it begins with
//! a digit, so that `../data` is text.

use model::units::{duration_factor, format_duration, size_factor};

/// Most values of one dimension: a typing error must not run for years.
const MOST: usize = 10_000;

/// The values, as texts for the program; or what is wrong.
pub fn parse(text: &str) -> Result<Vec<String>, String> {
    let mut values: Vec<String> = Vec::new();
    let mut rest = Some(text);
    while let Some(list) = rest {
        let end = item_length(list);
        let item = item(&list[..end])?;
        rest = list.get(end + 1..);
        if let Some(twice) = item.iter().find(|value| values.contains(value)) {
            return Err(format!("expected every value once, found {twice} again"));
        }
        values.extend(item);
        if values.len() > MOST {
            return Err(format!("expected at most {MOST} values"));
        }
    }
    Ok(values)
}

/// Bytes up to the next comma outside of quotes.
fn item_length(text: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    let end = text.char_indices().find(|(at, c)| {
        let is_end = *c == ',' && !quoted;
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' if quoted || *at == 0 => quoted = !quoted,
            _ => {}
        }
        is_end
    });
    end.map_or(text.len(), |(at, _)| at)
}

fn item(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Err("expected a value, found nothing".into());
    }
    if let Some(rest) = text.strip_prefix('"') {
        let wrong = || format!("{text}: expected a closing quote and then a comma or the end");
        return Ok(vec![unquoted(rest).ok_or_else(wrong)?]);
    }
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    match text.split_once("..").filter(|_| numeric) {
        Some((first, rest)) => {
            range(first, rest).map_err(|expected| format!("{text}: expected {expected}"))
        }
        None => Ok(vec![text.to_string()]),
    }
}

fn unquoted(text: &str) -> Option<String> {
    let (mut out, mut chars) = (String::new(), text.chars());
    loop {
        match chars.next()? {
            '"' => return chars.next().is_none().then_some(out),
            '\\' => out.push(chars.next()?),
            c => out.push(c),
        }
    }
}

/// The values of a range, or what was expected.
fn range(first: &str, rest: &str) -> Result<Vec<String>, String> {
    // A sign may stand before the last value.
    let sign = usize::from(rest.starts_with(['-', '+']));
    let Some(operator) = rest[sign..].find(['*', '+']).map(|found| found + sign) else {
        return Err("a step: 1..10+1 adds one, 4k..16m*2 doubles".into());
    };
    let (last, step) = (&rest[..operator], &rest[operator + 1..]);
    let (from, to, by) = (Number::parse(first)?, Number::parse(last)?, Number::parse(step)?);
    let multiplies = rest.as_bytes()[operator] == b'*';
    if from.kind != to.kind && from.value != 0.0 {
        return Err(format!("a number of the same kind as {first}, found {last}"));
    }
    if from.value > to.value {
        return Err(format!("a range that rises, found {first} above {last}"));
    }
    if multiplies && !(by.value > 1.0 && from.value > 0.0) {
        return Err(format!(
            "a first value above 0 and a factor above 1, found {first} and {step}"
        ));
    }
    if !multiplies && by.value <= 0.0 {
        return Err(format!("a step above 0, found {step}"));
    }
    let kind = if from.kind == Kind::Int { to.kind } else { from.kind };
    let kind = if by.kind == Kind::Float && !multiplies { Kind::Float } else { kind };
    let suffixed = from.suffixed || to.suffixed;
    let mut value = from.value;
    let mut values: Vec<String> = Vec::new();
    // A last value missed by rounding alone is reached.
    while value <= to.value + to.value.abs() * 1e-12 {
        let text = kind.text(value, suffixed);
        if values.last() != Some(&text) {
            values.push(text);
        }
        if values.len() > MOST {
            return Err(format!("at most {MOST} values"));
        }
        value = if multiplies { value * by.value } else { value + by.value };
    }
    Ok(values)
}

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int,
    Float,
    Duration,
}

#[derive(Clone, Copy, Debug)]
struct Number {
    value: f64,
    kind: Kind,
    /// It was written with a unit of size.
    suffixed: bool,
}

impl Number {
    fn parse(text: &str) -> Result<Number, String> {
        let wrong = || format!("a number such as 4, 0.5, 64k or 10ms, found {text:?}");
        let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (digits, suffix) = text.split_at(digits);
        let value: f64 = digits.parse().map_err(|_| wrong())?;
        let (kind, factor) = match (size_factor(suffix), duration_factor(suffix)) {
            _ if suffix.is_empty() && digits.contains('.') => (Kind::Float, 1),
            _ if suffix.is_empty() => (Kind::Int, 1),
            (Some(factor), _) => (Kind::Int, factor),
            (_, Some(factor)) => (Kind::Duration, factor),
            _ => return Err(wrong()),
        };
        let value = value * factor as f64;
        // Up to here every integer is a number of its own.
        let exact = value.abs() <= 9_007_199_254_740_992.0;
        if !exact || (kind == Kind::Int && value.fract() != 0.0) {
            return Err(wrong());
        }
        Ok(Number { value, kind, suffixed: kind == Kind::Int && !suffix.is_empty() })
    }
}

impl Kind {
    fn text(self, value: f64, suffixed: bool) -> String {
        match self {
            Kind::Float => {
                // Sums of decimal steps carry rounding errors that nobody wrote.
                let rounded = format!("{value:.12}");
                let short = rounded.trim_end_matches('0');
                if short.ends_with('.') { format!("{short}0") } else { short.to_string() }
            }
            Kind::Duration => format_duration(value.round() as i64),
            Kind::Int => size(value.round() as i64, suffixed),
        }
    }
}

/// A size as people write it, exact; plain where nobody wrote a unit.
fn size(value: i64, suffixed: bool) -> String {
    const UNITS: [(&str, i64); 5] =
        [("p", 1 << 50), ("t", 1 << 40), ("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)];
    let unit = UNITS.iter().find(|(_, factor)| suffixed && value != 0 && value % factor == 0);
    unit.map_or(value.to_string(), |(unit, factor)| format!("{}{unit}", value / factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_and_ranges() {
        for (text, values) in [
            ("4k,64k,1m", "4k 64k 1m"),
            ("4k..64k*2", "4k 8k 16k 32k 64k"),
            ("1..9+2", "1 3 5 7 9"),
            ("1..10+4", "1 5 9"),
            ("3..3*2", "3"),
            ("4k..24k*4", "4k 16k"),
            ("1536..3k*2", "1536 3k"),
            ("0..1+0.25", "0.0 0.25 0.5 0.75 1.0"),
            ("0.1..0.5+0.1", "0.1 0.2 0.3 0.4 0.5"),
            ("10ms..1s*10", "10ms 100ms 1s"),
            ("1,4..8+4,100", "1 4 8 100"),
            ("-2..2+2", "-2 0 2"),
            ("1..4*1.5", "1 2 3"),
            ("../data,b..c", "../data b..c"),
            (r#""a,b",c,"say \"x\" \\""#, r#"a,b c say "x" \"#),
        ] {
            assert_eq!(parse(text).unwrap().join(" "), values, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("4k,,1m", "expected a value, found nothing"),
            ("1,", "expected a value, found nothing"),
            ("1..8", "1..8: expected a step: 1..10+1 adds one, 4k..16m*2 doubles"),
            ("4x..8*2", "4x..8*2: expected a number such as 4, 0.5, 64k or 10ms, found \"4x\""),
            ("1,9..8+1", "9..8+1: expected a range that rises, found 9 above 8"),
            (
                "1..8*1",
                "1..8*1: expected a first value above 0 and a factor above 1, found 1 and 1",
            ),
            ("1..8+0", "1..8+0: expected a step above 0, found 0"),
            ("1..8s+1", "1..8s+1: expected a number of the same kind as 1, found 8s"),
            ("1,2,1", "expected every value once, found 1 again"),
            ("\"a", "\"a: expected a closing quote and then a comma or the end"),
            ("1..9999999+1", "1..9999999+1: expected at most 10000 values"),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,40}") {
            match parse(&text) {
                Ok(values) => prop_assert!(!values.is_empty() && values.len() <= MOST),
                Err(wrong) => prop_assert!(wrong.contains("expected")),
            }
        }

        #[test]
        fn geometric_ranges_hold_both_ends(first in 1i64..100_000, factor in 2i64..9, steps in 0u32..8) {
            let last = first * factor.pow(steps);
            let values = parse(&format!("{first}..{last}*{factor}")).unwrap();
            prop_assert_eq!(values.len(), steps as usize + 1);
            prop_assert_eq!(values.last().unwrap(), &last.to_string());
        }

        #[test]
        fn arithmetic_ranges_go_up_to_what_fits(first in -1000i64..1000, step in 1i64..50, n in 0i64..99, more in 0i64..50) {
            let last = first + step * n + more % step;
            let values = parse(&format!("{first}..{last}+{step}")).unwrap();
            prop_assert_eq!(values.len() as i64, n + 1);
            prop_assert_eq!(values.last().unwrap(), &(first + step * n).to_string());
        }

        #[test]
        fn plain_values_come_back(values in prop::collection::hash_set("[a-z][a-z0-9.]{0,9}", 1..9)) {
            let values: Vec<String> = values.into_iter().collect();
            prop_assert_eq!(parse(&values.join(",")).unwrap(), values);
        }
    }
}
