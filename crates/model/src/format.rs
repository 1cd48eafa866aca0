//! The format of a number in a text.
//!
//! ```text
//! "step-${i:06}"   step-000042      "${i:x}"   2a      "${i:04x}"   002a
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
    /// Characters at least, sign included: zeros are put before the digits.
    pub width: u8,
    /// Base 16, without a prefix.
    pub hexadecimal: bool,
}

impl Format {
    /// Reads the text behind the colon: `06`, `x`, `02x`.
    pub fn parse(text: &str) -> Option<Format> {
        let (width, hexadecimal) = match text.strip_suffix('x') {
            Some(width) => (width, true),
            None => (text, false),
        };
        let width = match width.strip_prefix('0') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|width| (1..=MAX_WIDTH).contains(width))?
            }
            None if width.is_empty() && hexadecimal => 0,
            _ => return None,
        };
        Some(Format { width, hexadecimal })
    }

    /// Appends a number.
    ///
    /// # Errors
    /// The value is no integer.
    pub fn render(self, value: &Value, out: &mut Vec<u8>) -> Eval<()> {
        let n = value.as_int()?;
        let width = usize::from(self.width);
        // The sign counts.
        match self.hexadecimal {
            true if n < 0 => {
                let width = width.saturating_sub(1);
                write!(out, "-{:0width$x}", n.unsigned_abs())
            }
            true => write!(out, "{n:0width$x}"),
            false => write!(out, "{n:0width$}"),
        }
        .expect("writing to a vector cannot fail");
        Ok(())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.width > 0 {
            write!(f, "0{}", self.width)?;
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
        ] {
            let parsed = Format::parse(format).unwrap();
            let mut out = b"<".to_vec();
            parsed.render(&Value::Int(n), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("<{expected}"), "{format} {n}");
            assert_eq!(parsed.to_string(), format);
        }
        assert!(
            Format { width: 6, hexadecimal: false }.render(&Value::str("a"), &mut vec![]).is_err()
        );
    }

    #[test]
    fn other_formats_are_none() {
        for text in ["", "6", "0", "00", "d", "06d", ".2", "065", "0x", "X", "06X", "0-1", "x2"] {
            assert_eq!(Format::parse(text), None, "{text}");
        }
    }
}
