//! The parts of a string: `"$env/file-${i}\n"` is a variable, text, a variable
//! and a line end.
//!
//! Nothing is copied: escapes become slices of a constant table. Which variable
//! `$name...` means depends on what is visible (language.md section 3), so the
//! longest run of name characters is given and the checker shortens it.

use crate::diag::{Code, Diagnostic};
use crate::lex::is_name_byte;
use model::plan::{Format, Span};
use model::words::shortened;
use std::borrow::Cow;

/// A piece of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes as they are, escapes resolved.
    Text(&'a [u8]),
    /// `$name...`: the longest run of name characters; the span begins at the `$`.
    Var {
        /// The run.
        run: &'a str,
        /// Place of `$` and run.
        span: Span,
    },
    /// `${name}`, `${name:06}`, `${$$name:06}`
    Braced {
        /// The name.
        name: &'a str,
        /// It is that of an internal variable.
        internal: bool,
        /// How the number is shown.
        format: Option<Format>,
        /// Place from `$` to `}`.
        span: Span,
    },
    /// `$$name...`: the longest run of name characters.
    Internal {
        /// The run.
        name: &'a str,
        /// Place of `$$` and run.
        span: Span,
    },
    /// `$$env(NAME)`
    Env {
        /// The name of the environment variable.
        name: &'a str,
        /// Place from `$$` to `)`.
        span: Span,
    },
}

/// All bytes, so that an escape is a slice of it.
static BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 256 {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

/// The pieces of a string token. `raw` is the token with its quotes, `start` its
/// place. What is malformed ([`check`] reports it) is given as plain text.
pub fn pieces(raw: &str, start: u32) -> Pieces<'_> {
    Pieces(Scanner::new(raw, start, true))
}

/// The bytes of a string in which `$` means nothing: names of groups, patterns,
/// procs, paths of includes. Escapes are resolved; without any nothing is copied.
pub fn plain(raw: &str) -> Cow<'_, [u8]> {
    let inner = inner(raw).as_bytes();
    if !inner.contains(&b'\\') {
        return Cow::Borrowed(inner);
    }
    let mut bytes = Vec::with_capacity(inner.len());
    for piece in Pieces(Scanner::new(raw, 0, false)) {
        if let Piece::Text(text) = piece {
            bytes.extend_from_slice(text);
        }
    }
    Cow::Owned(bytes)
}

/// The bytes of a string in which `$` means nothing; `None`: an escape is malformed.
pub(crate) fn exact(raw: &str) -> Option<Vec<u8>> {
    let mut scanner = Scanner::new(raw, 0, false);
    let mut bytes = Vec::with_capacity(raw.len());
    while let Some((piece, problem)) = scanner.piece() {
        match (piece, problem) {
            (Piece::Text(text), None) => bytes.extend_from_slice(text),
            _ => return None,
        }
    }
    Some(bytes)
}

/// Reports malformed escapes and variables of a string token.
pub fn check(raw: &str, start: u32) -> Vec<Diagnostic> {
    let mut scanner = Scanner::new(raw, start, true);
    let mut found = Vec::new();
    while let Some((_, problem)) = scanner.piece() {
        found.extend(problem.map(|problem| *problem));
    }
    found
}

/// Iterator of [`pieces`].
#[derive(Clone, Debug)]
pub struct Pieces<'a>(Scanner<'a>);

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        self.0.piece().map(|(piece, _)| piece)
    }
}

/// The raw token without its quotes.
#[inline]
pub(crate) fn inner(raw: &str) -> &str {
    let raw = raw.strip_prefix('"').unwrap_or(raw);
    raw.strip_suffix('"').unwrap_or(raw)
}

#[derive(Clone, Debug)]
struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Place of the first byte after the opening quote.
    base: u32,
    at: usize,
    /// `$` begins a variable.
    variables: bool,
}

type Found<'a> = (Piece<'a>, Option<Box<Diagnostic>>);

impl<'a> Scanner<'a> {
    fn new(raw: &'a str, start: u32, variables: bool) -> Scanner<'a> {
        let text = inner(raw);
        Scanner { text, bytes: text.as_bytes(), base: start + 1, at: 0, variables }
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { start: self.base + start as u32, end: self.base + end as u32 }
    }

    fn name_end(&self, start: usize) -> usize {
        let rest = &self.bytes[start..];
        start + rest.iter().position(|byte| !is_name_byte(*byte)).unwrap_or(rest.len())
    }

    /// The next piece, with what is wrong about it.
    fn piece(&mut self) -> Option<Found<'a>> {
        match self.bytes.get(self.at)? {
            b'\\' => Some(self.escape()),
            b'$' if self.variables => Some(self.variable()),
            _ => Some(self.run(self.at)),
        }
    }

    /// Text from the current place up to the next escape or variable after `from`.
    fn run(&mut self, from: usize) -> Found<'a> {
        let start = self.at;
        let special = |byte: &u8| *byte == b'\\' || (*byte == b'$' && self.variables);
        let rest = self.bytes.get(from..).unwrap_or(&[]);
        self.at = from + rest.iter().position(special).unwrap_or(rest.len());
        (Piece::Text(&self.bytes[start..self.at]), None)
    }

    fn escape(&mut self) -> Found<'a> {
        let start = self.at;
        let byte = match self.byte(start + 1) {
            b'n' => b'\n',
            b't' => b'\t',
            byte @ (b'"' | b'\\' | b'$') => byte,
            b'x' => match self.hex(start + 2) {
                Some(byte) => {
                    self.at = start + 4;
                    return (Piece::Text(slice_of(byte)), None);
                }
                None => return self.bad_escape(start, 2),
            },
            _ => {
                let next = self.text[start + 1..].chars().next();
                return self.bad_escape(start, 1 + next.map_or(0, char::len_utf8));
            }
        };
        self.at = start + 2;
        (Piece::Text(slice_of(byte)), None)
    }

    fn hex(&self, at: usize) -> Option<u8> {
        let digit = |at| (self.byte(at) as char).to_digit(16);
        Some((digit(at)? * 16 + digit(at + 1)?) as u8)
    }

    #[cold]
    fn bad_escape(&mut self, start: usize, length: usize) -> Found<'a> {
        self.at = start + length;
        let text = &self.text[start..self.at];
        let (message, help) = match text {
            "\\x" => (
                "expected two hexadecimal digits after `\\x`".to_string(),
                "write the byte as \\x0A or \\xff",
            ),
            _ => (
                format!(
                    "PPL has no escape `{}`",
                    text.escape_debug().to_string().replace("\\\\", "\\")
                ),
                "escapes: \\\" \\\\ \\n \\t \\$ \\xHH; write \\\\ for a backslash",
            ),
        };
        let problem =
            Diagnostic::new(Code::BadEscape, self.span(start, self.at), message).help(help);
        (Piece::Text(&self.bytes[start..self.at]), Some(Box::new(problem)))
    }

    fn variable(&mut self) -> Found<'a> {
        let start = self.at;
        match self.byte(start + 1) {
            b'$' if is_name_byte(self.byte(start + 2)) => self.internal(start),
            b'{' => self.braced(start),
            byte if is_name_byte(byte) => {
                self.at = self.name_end(start + 1);
                let run = &self.text[start + 1..self.at];
                (Piece::Var { run, span: self.span(start, self.at) }, None)
            }
            _ => self.run(start + 1),
        }
    }

    fn internal(&mut self, start: usize) -> Found<'a> {
        let end = self.name_end(start + 2);
        let name = &self.text[start + 2..end];
        if name != "env" || self.byte(end) != b'(' {
            self.at = end;
            return (Piece::Internal { name, span: self.span(start, end) }, None);
        }
        let name_end = self.name_end(end + 1);
        if name_end == end + 1 || self.byte(name_end) != b')' {
            return self.unclosed(start, name_end, "`)` after the name in `$$env(`", "$$env(NAME)");
        }
        self.at = name_end + 1;
        let name = &self.text[end + 1..name_end];
        (Piece::Env { name, span: self.span(start, self.at) }, None)
    }

    fn braced(&mut self, start: usize) -> Found<'a> {
        let internal = self.text[start + 2..].starts_with("$$");
        let begin = start + if internal { 4 } else { 2 };
        let end = self.name_end(begin);
        let name = &self.text[begin..end];
        let (end, format) = match self.byte(end) {
            b':' if !name.is_empty() => match self.format(end + 1) {
                Ok((end, format)) => (end, Some(format)),
                Err(end) => return self.bad_format(start, end),
            },
            _ => (end, None),
        };
        if name.is_empty() || self.byte(end) != b'}' {
            return self.unclosed(start, end, "a name and `}` after `${`", "${name}");
        }
        self.at = end + 1;
        (Piece::Braced { name, internal, format, span: self.span(start, self.at) }, None)
    }

    /// Reads the format between `:` and `}`, and where it ends. `Err`: the end of a wrong format.
    fn format(&self, start: usize) -> Result<(usize, Format), usize> {
        let rest = &self.text[start..];
        let Some(length) = rest.find('}') else { return Err(self.name_end(start)) };
        let format = Format::parse(&rest[..length]).ok_or(start + length)?;
        Ok((start + length, format))
    }

    #[cold]
    fn bad_format(&mut self, start: usize, end: usize) -> Found<'a> {
        self.at = end + usize::from(self.byte(end) == b'}');
        let found = shortened(&self.text[start..self.at], 40);
        let message = format!("expected a format in `${{name:...}}`, found `{found}`");
        let problem = Diagnostic::new(Code::Expected, self.span(start, self.at), message).help(
            "formats of integers: ${i:06} with zeros before it, ${i:6} with blanks, ${i:x} hexadecimal, ${i:02x} \
             with zeros",
        );
        (Piece::Text(&self.bytes[start..self.at]), Some(Box::new(problem)))
    }

    #[cold]
    fn unclosed(&mut self, start: usize, end: usize, expected: &str, form: &str) -> Found<'a> {
        self.at = end;
        let found = match self.text[end..].chars().next() {
            Some(c) => format!("`{}`", c.escape_debug()),
            None => "the end of the string".into(),
        };
        let message = format!("expected {expected}, found {found}");
        let problem = Diagnostic::new(Code::Expected, self.span(start, end), message)
            .help(format!("write {form}, or \\$ for a dollar sign"));
        (Piece::Text(&self.bytes[start..end]), Some(Box::new(problem)))
    }
}

fn slice_of(byte: u8) -> &'static [u8] {
    &BYTES[usize::from(byte)..=usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces in short form: text as it is, `<name>` variables, `{name}` braced,
    /// `<<name>>` internal, `<<(name)>>` environment.
    fn shown(raw: &str) -> String {
        pieces(raw, 10)
            .map(|piece| match piece {
                Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Piece::Var { run, .. } => format!("<{run}>"),
                Piece::Braced { name, internal, format, .. } => {
                    let sign = if internal { "$$" } else { "" };
                    let format = format.map_or(String::new(), |format| format!(":{format}"));
                    format!("{{{sign}{name}{format}}}")
                }
                Piece::Internal { name, .. } => format!("<<{name}>>"),
                Piece::Env { name, .. } => format!("<<({name})>>"),
            })
            .collect()
    }

    #[test]
    fn strings_come_apart() {
        for (raw, expected) in [
            (r#""$env/$file-$ia""#, "<env>/<file>-<ia>"),
            (r#""${a}b$c_d.x""#, "{a}b<c_d>.x"),
            (r#""$$rank-$$env(PWD)x""#, "<<rank>>-<<(PWD)>>x"),
            (r#""$$env""#, "<<env>>"),
            (r#""s-${i:06}.${i:x}""#, "s-{i:06}.{i:x}"),
            (r#""${i:6}${$$rank:04}${$$size}""#, "{i:6}{$$rank:04}{$$size}"),
            (r#""100$""#, "100$"),
            (r#""$ $. $$ $$.""#, "$ $. $$ $$."),
            (r#""$${x}""#, "${x}"),
            (r#""\$x\\\"\n\t\x41""#, "$x\\\"\n\tA"),
            (r#""""#, ""),
            ("\"größe\"", "größe"),
        ] {
            assert_eq!(shown(raw), expected, "{raw}");
            assert_eq!(check(raw, 0), [], "{raw}");
        }
    }

    #[test]
    fn places_begin_at_the_dollar() {
        let spans: Vec<_> = pieces(r#""a$bc${d}""#, 10)
            .filter_map(|piece| match piece {
                Piece::Var { span, .. } | Piece::Braced { span, .. } => {
                    Some((span.start, span.end))
                }
                _ => None,
            })
            .collect();
        assert_eq!(spans, [(12, 15), (15, 19)]);
    }

    #[test]
    fn malformed_pieces_are_reported_and_kept_as_text() {
        for (raw, code, message) in [
            (r#""a\qb""#, Code::BadEscape, r"no escape `\q`"),
            (r#""\x4""#, Code::BadEscape, "two hexadecimal digits"),
            ("\"\\é\"", Code::BadEscape, "no escape"),
            (r#""${a""#, Code::Expected, "end of the string"),
            (r#""${a-b}""#, Code::Expected, "found `-`"),
            (r#""${}""#, Code::Expected, "found `}`"),
            (r#""${a:.6}""#, Code::Expected, "found `${a:.6}`"),
            (r#""${$$}""#, Code::Expected, "found `}`"),
            (r#""${$$env(A)}""#, Code::Expected, "found `(`"),
            (r#""${a:}""#, Code::Expected, "found `${a:}`"),
            (r#""${a:02x""#, Code::Expected, "found `${a:02x`"),
            (r#""${:06}""#, Code::Expected, "found `:`"),
            (r#""$$env(A""#, Code::Expected, "`)`"),
        ] {
            let found = check(raw, 0);
            assert_eq!(found.len(), 1, "{raw}");
            assert_eq!(found[0].code, code, "{raw}");
            assert!(found[0].message.contains(message), "{raw}: {}", found[0].message);
            assert_eq!(shown(raw), raw.trim_matches('"'), "{raw}");
        }
    }

    #[test]
    fn plain_strings_have_no_variables() {
        assert_eq!(plain(r#""a$b""#), Cow::Borrowed(b"a$b"));
        assert_eq!(plain(r#""a$b\x21""#), Cow::<[u8]>::Owned(b"a$b!".to_vec()));
    }
}
