//! Numbers: integers with size suffixes, octal ones (`0o644`), floats, durations, rates.

use crate::diag::{Code, Diagnostic};
use crate::lex::Kind;
use crate::lex::{Lexer, is_name_byte};
use model::units::{duration_factor, rate_factor, size_factor};
use model::words::shortened;

impl Lexer<'_> {
    /// A number; the lexer is at its first digit.
    #[inline]
    pub(crate) fn number(&mut self) -> Kind {
        let start = self.at;
        let mut value = 0i64;
        let mut fits = true;
        while self.byte(self.at).is_ascii_digit() {
            let digit = i64::from(self.byte(self.at) - b'0');
            match value.checked_mul(10).and_then(|value| value.checked_add(digit)) {
                Some(next) => value = next,
                None => fits = false,
            }
            self.at += 1;
        }
        let next = self.byte(self.at);
        if self.bytes[start] == b'0' && (self.at - start > 1 || next == b'o') {
            return self.leading_zero(fits.then_some(value));
        }
        if fits && !is_name_byte(next) && next != b'.' && next != b'/' {
            return self.valued(Kind::Int, value);
        }
        self.number_tail(fits.then_some(value))
    }

    /// `0o644`, which is octal; or an integer that looks octal and is not.
    #[cold]
    fn leading_zero(&mut self, value: Option<i64>) -> Kind {
        if self.byte(self.at) == b'o' {
            return self.octal();
        }
        let reported = self.errors.len();
        let kind = self.number_tail(value);
        if matches!(kind, Kind::Int | Kind::Duration | Kind::Rate)
            && !self.token_text().contains('.')
            && self.errors.len() == reported
        {
            return self.misleading_zero();
        }
        kind
    }

    /// The digits behind `0o`.
    fn octal(&mut self) -> Kind {
        self.at += 1;
        let digits_start = self.at;
        self.skip_name();
        let digits = &self.text[digits_start..self.at];
        match i64::from_str_radix(digits, 8) {
            Ok(value) => self.valued(Kind::Int, value),
            Err(_) => {
                let span = self.token_span();
                let found = shortened(self.token_text(), 40);
                let message = format!("expected digits from 0 to 7 after `0o`, found {found}");
                let help = "an octal integer is written 0o644; it has 64 bits and no unit";
                self.report(Diagnostic::new(Code::BadNumber, span, message).help(help));
                Kind::Error
            }
        }
    }

    /// C reads `0644` as octal, PPL 1.0 read it as decimal: nobody shall have to guess.
    fn misleading_zero(&mut self) -> Kind {
        let span = self.token_span();
        let text = self.token_text();
        let bare = text.trim_start_matches('0');
        let is_octal = bare.len() > 1 && bare.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let number = if bare.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
        let (fix, help) = match is_octal {
            true => {
                (format!("0o{bare}"), format!("permission bits are 0o{bare}, a size is {bare}"))
            }
            false => (format!("{number}{bare}"), format!("write {number}{bare}")),
        };
        let found = shortened(text, 40);
        let message = format!("expected a number without leading zeros, found {found}");
        self.report(Diagnostic::new(Code::BadNumber, span, message).help(help).fix(span, fix));
        Kind::Error
    }

    /// The rest behind the digits: a fraction, an exponent, a suffix, `/s`.
    fn number_tail(&mut self, value: Option<i64>) -> Kind {
        let digits_end = self.at;
        if self.byte(self.at) == b'.' && self.byte(self.at + 1).is_ascii_digit() {
            self.at += 1;
            self.skip_digits();
        }
        self.skip_exponent();
        let float = (self.at > digits_end).then(|| self.token_text());
        let suffix_start = self.at;
        self.skip_name();
        let suffix = &self.text[suffix_start..self.at];
        match float {
            Some(text) => self.float(text.parse().unwrap_or(f64::INFINITY), suffix),
            None => self.integer(value, suffix),
        }
    }

    fn skip_digits(&mut self) {
        while self.byte(self.at).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// `e6`, `E-6`; an `e` without digits is left for the suffix.
    fn skip_exponent(&mut self) {
        if !matches!(self.byte(self.at), b'e' | b'E') {
            return;
        }
        let sign = usize::from(matches!(self.byte(self.at + 1), b'+' | b'-'));
        if self.byte(self.at + 1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.skip_digits();
        }
    }

    /// The kind of number that a unit makes, and its factor.
    fn unit(&mut self, suffix: &str) -> Option<(Kind, i64)> {
        let (kind, factor) = match (size_factor(suffix), duration_factor(suffix)) {
            _ if suffix.is_empty() => (Kind::Int, 1),
            (Some(factor), _) => (Kind::Int, factor),
            (_, Some(factor)) => (Kind::Duration, factor),
            _ => return None,
        };
        let is_rate = kind == Kind::Int && self.skip_rate();
        Some(if is_rate { (Kind::Rate, rate_factor(suffix)?) } else { (kind, factor) })
    }

    fn integer(&mut self, value: Option<i64>, suffix: &str) -> Kind {
        let Some((kind, factor)) = self.unit(suffix) else { return self.bad_suffix(suffix) };
        match value.and_then(|value| value.checked_mul(factor)) {
            Some(value) => self.valued(kind, value),
            // -9223372036854775808 is an integer although its digits alone are not.
            None if self.token_text() == "9223372036854775808" => {
                self.valued(Kind::IntMin, i64::MIN)
            }
            None => self.too_large(),
        }
    }

    /// `/s` behind a number.
    fn skip_rate(&mut self) -> bool {
        let is_rate = self.byte(self.at) == b'/'
            && self.byte(self.at + 1) == b's'
            && !is_name_byte(self.byte(self.at + 2));
        self.at += if is_rate { 2 } else { 0 };
        is_rate
    }

    fn float(&mut self, value: f64, suffix: &str) -> Kind {
        if suffix.is_empty() && value.is_finite() {
            // Of a rate that is no whole number nothing but the number counts.
            self.skip_rate();
            return self.valued(Kind::Float, value.to_bits() as i64);
        }
        let Some((kind, factor)) = self.unit(suffix) else { return self.bad_suffix(suffix) };
        let scaled = (value * factor as f64).round();
        if scaled < i64::MAX as f64 { self.valued(kind, scaled as i64) } else { self.too_large() }
    }

    #[cold]
    fn too_large(&mut self) -> Kind {
        let span = self.token_span();
        let text = shortened(self.token_text(), 40);
        self.report(
            Diagnostic::new(
                Code::BadNumber,
                span,
                format!("expected a number up to 9223372036854775807, found {text}"),
            )
            .help("integers, sizes in bytes and durations in nanoseconds have 64 bits"),
        );
        Kind::Error
    }

    #[cold]
    fn bad_suffix(&mut self, suffix: &str) -> Kind {
        let span = self.token_span();
        let text = self.token_text();
        let hex = text.strip_prefix("0x").or(text.strip_prefix("0X"));
        let help = match hex.and_then(|digits| i64::from_str_radix(digits, 16).ok()) {
            Some(value) => format!("integers are decimal: write {value}"),
            None if suffix.eq_ignore_ascii_case("kb") => {
                "write kB for 1000 bytes, k or KiB for 1024".into()
            }
            None => "sizes: k m g t p (powers of 1024), KiB MiB GiB TiB PiB, kB MB GB TB PB (powers of 1000); \
                     durations: ns us ms s min h"
                .into(),
        };
        let message = format!(
            "expected a number with a unit PPL knows, found the unit `{}`",
            shortened(suffix, 40)
        );
        self.report(Diagnostic::new(Code::BadNumber, span, message).help(help));
        Kind::Error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        use Kind::*;
        let float = |x: f64| x.to_bits() as i64;
        for (text, kind, value) in [
            ("0", Int, 0),
            ("5m", Int, 5 << 20),
            ("5M", Int, 5 << 20),
            ("5min", Duration, 300_000_000_000),
            ("5ms", Duration, 5_000_000),
            ("2h", Duration, 7_200_000_000_000),
            ("4KiB", Int, 4096),
            ("4kB", Int, 4000),
            ("0.25", Float, float(0.25)),
            ("1e6", Float, float(1e6)),
            ("1.5E-3", Float, float(0.0015)),
            ("0.5s", Duration, 500_000_000),
            ("1.5k", Int, 1536),
            ("1000/s", Rate, 1000),
            ("0o644", Int, 0o644),
            ("0o0", Int, 0),
            ("0.5k", Int, 512),
            ("00.5s", Duration, 500_000_000),
            ("1k/s", Rate, 1000),
            ("0.5k/s", Rate, 500),
            ("2m/s", Rate, 2_000_000),
            ("1kB/s", Rate, 1000),
            ("1KiB/s", Rate, 1024),
            ("0.5/s", Float, 0.5f64.to_bits() as i64),
            ("1e-3/s", Float, 1e-3f64.to_bits() as i64),
            ("9223372036854775807", Int, i64::MAX),
            ("9223372036854775808", IntMin, i64::MIN),
        ] {
            let mut lexer = Lexer::new(text, 0);
            let token = lexer.token();
            assert_eq!((token.kind, token.value), (kind, value), "{text}");
            assert_eq!((token.end as usize, lexer.errors.len()), (text.len(), 0), "{text}");
        }
    }

    #[test]
    fn malformed_numbers_are_one_mistake_each() {
        for (text, help) in [
            ("9223372036854775809", "64 bits"),
            ("9000000000g", "64 bits"),
            ("1e999", "64 bits"),
            ("1e30s", "64 bits"),
            ("5mi", "durations"),
            ("12abc", "durations"),
            ("0x1F", "write 31"),
            ("0644", "are 0o644"),
            ("007", "write 7"),
            ("00", "write 0"),
            ("089", "write 89"),
            ("064k", "write 64k"),
            ("0o8", "written 0o644"),
            ("0o", "written 0o644"),
            ("0o64k", "written 0o644"),
            ("0o7777777777777777777777", "64 bits"),
        ] {
            let mut lexer = Lexer::new(text, 0);
            assert_eq!(lexer.token().kind, Kind::Error, "{text}");
            assert_eq!(lexer.token().kind, Kind::End, "{text}");
            assert_eq!(lexer.errors.len(), 1, "{text}");
            let found = lexer.errors[0].help.as_deref().unwrap_or("");
            assert!(found.contains(help), "{text}: {found}");
        }
    }
}
