//! The format of a number in a text.
//!
//! ```text
//! "step-${i:06}"   step-000042      "${i:x}"   2a      "${i:04x}"   002a      "${i:6}"       42
//! ```

use crate::value::{Eval, Value};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write;

/// The widest number.
const MAX_WIDTH: u8 = 64;

/// The format of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Format {
    /// Characters at least, sign included.
    pub width: u8,
    /// Zeros fill the width, between the sign and the digits; else blanks before both.
    pub zeros: bool,
    /// Base 16, without a prefix.
    pub hexadecimal: bool,
}

impl Format {
    /// Reads the text behind the colon: `06`, `x`, `02x`, `6`.
    pub fn parse(text: &str) -> Option<Format> {
        let (width, hexadecimal) = match text.strip_suffix('x') {
            Some(width) => (width, true),
            None => (text, false),
        };
        let (digits, zeros) = match width.strip_prefix('0') {
            Some(digits) => (digits, true),
            None => (width, false),
        };
        if digits.is_empty() && hexadecimal && !zeros {
            return Some(Format { width: 0, zeros, hexadecimal });
        }
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let width: u8 = digits.parse().ok().filter(|_| is_number)?;
        (1..=MAX_WIDTH).contains(&width).then_some(Format { width, zeros, hexadecimal })
    }

    /// Appends a number.
    ///
    /// # Errors
    /// The value is no integer.
    pub fn render(self, value: &Value, out: &mut Vec<u8>) -> Eval<()> {
        let n = value.as_int()?;
        let (width, positive) = (usize::from(self.width), n.unsigned_abs());
        // The sign counts.
        match (self.hexadecimal, self.zeros) {
            (false, true) => write!(out, "{n:0width$}"),
            (false, false) => write!(out, "{n:width$}"),
            (true, _) if n >= 0 && self.zeros => write!(out, "{n:0width$x}"),
            (true, _) if n >= 0 => write!(out, "{n:width$x}"),
            (true, true) => {
                let width = width.saturating_sub(1);
                write!(out, "-{positive:0width$x}")
            }
            (true, false) => {
                let digits = 1 + positive.ilog2() as usize / 4;
                let blanks = width.saturating_sub(1 + digits);
                write!(out, "{:blanks$}-{positive:x}", "")
            }
        }
        .expect("writing to a vector cannot fail");
        Ok(())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.width > 0 {
            write!(f, "{}{}", if self.zeros { "0" } else { "" }, self.width)?;
        }
        f.write_str(if self.hexadecimal { "x" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_zeros_and_hexadecimal_digits() {
        for (format, n, expected) in [
            ("06", 42, "000042"),
            ("06", -42, "-00042"),
            ("02", 1234, "1234"),
            ("x", 255, "ff"),
            ("x", -255, "-ff"),
            ("02x", 7, "07"),
            ("016x", i64::MIN, "-8000000000000000"),
            ("01", i64::MIN, "-9223372036854775808"),
            ("6", 42, "    42"),
            ("6", -42, "   -42"),
            ("2", 1234, "1234"),
            ("4x", 255, "  ff"),
            ("5x", -255, "  -ff"),
            ("64", 1, "                                                               1"),
        ] {
            let parsed = Format::parse(format).unwrap();
            let mut out = b"<".to_vec();
            parsed.render(&Value::Int(n), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("<{expected}"), "{format} {n}");
            assert_eq!(parsed.to_string(), format);
        }
        assert!(Format::parse("06").unwrap().render(&Value::str("a"), &mut vec![]).is_err());
    }

    #[test]
    fn other_formats_are_none() {
        for text in
            ["", "0", "00", "d", "06d", ".2", "65", "065", "0x", "X", "06X", "0-1", "+6", "x2"]
        {
            assert_eq!(Format::parse(text), None, "{text}");
        }
    }
}
