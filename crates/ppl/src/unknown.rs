//! Characters that PPL does not have: said once per run, with what was probably meant.

use crate::diag::{Code, Diagnostic};
use crate::lex::{Lexer, is_bad_byte};
use crate::token::Kind;

/// Quotation marks that word processors and other languages put around text.
fn is_foreign_quote(c: char) -> bool {
    matches!(c, '“' | '”' | '„' | '‟' | '«' | '»' | '‘' | '’' | '‚' | '″' | '＂' | '\'' | '`')
}

impl Lexer<'_> {
    /// A run of characters that nothing begins with. Text in foreign quotes becomes
    /// one spoilt token; everything else is passed over.
    #[cold]
    pub(crate) fn unknown(&mut self) -> Option<Kind> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        if is_foreign_quote(first)
            && let Some(length) = foreign_string(rest)
        {
            return Some(self.foreign(length));
        }
        let mut others = rest.char_indices().skip(1).filter(|(_, c)| !is_unknown(*c));
        let length = others.next().map_or(rest.len(), |(at, _)| at);
        let span = self.span(self.at, self.at + length);
        let message = match rest[..length].chars().count() {
            1 => format!("PPL has no character {}", describe(first)),
            _ => format!("PPL has no characters like {}", describe(first)),
        };
        let diagnostic = Diagnostic::new(Code::UnknownCharacter, span, message);
        self.report(match help(first) {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
        self.at += length;
        None
    }

    fn foreign(&mut self, length: usize) -> Kind {
        let start = self.at;
        let text = &self.text[start..start + length];
        let inner = text.trim_matches(is_foreign_quote);
        let fix = format!("\"{}\"", inner.replace('"', "\\\""));
        self.at += length;
        let span = self.token_span();
        let quote = describe(text.chars().next().unwrap_or('"'));
        self.report(
            Diagnostic::new(
                Code::UnknownCharacter,
                span,
                format!("expected a string in straight double quotes, found {quote}"),
            )
            .help("strings are written \"...\"; word processors like to bend the quotes")
            .fix(span, fix),
        );
        Kind::Error
    }
}

/// Length of a text in foreign quotes on one line.
fn foreign_string(rest: &str) -> Option<usize> {
    let line = rest.split('\n').next()?;
    let mut quotes = line.char_indices().skip(1).filter(|(_, c)| is_foreign_quote(*c));
    quotes.next().map(|(at, c)| at + c.len_utf8())
}

fn is_unknown(c: char) -> bool {
    !is_foreign_quote(c) && (!c.is_ascii() || is_bad_byte(c as u8))
}

fn describe(c: char) -> String {
    if c.is_control() || c.is_whitespace() || !c.is_ascii() && !c.is_alphanumeric() {
        format!("`{}` (U+{:04X})", c.escape_debug(), u32::from(c))
    } else {
        format!("`{c}`")
    }
}

fn help(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{a0}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{3000}' | '\u{feff}' => {
            "this looks like a blank but is another character; type a blank in its place"
        }
        '–' | '—' | '−' | '‐' | '‑' => "write the minus sign `-`",
        '×' | '·' => "write `*`",
        '÷' => "write `/`",
        '≤' => "write `<=`",
        '≥' => "write `>=`",
        '≠' => "write `!=`",
        '；' => "write `;`",
        '，' => "write `,`",
        '（' | '）' => "write ( and )",
        '?' => "there is no `?:`; write if (...) ... else ...",
        '\\' => "a statement may go on in the next line without any sign",
        '.' => "numbers are written 0.25, ranges 10..100",
        c if is_foreign_quote(c) => "strings are written \"...\"",
        c if c.is_alphabetic() => {
            "names are made of the letters a-z, digits and underscores; \
                                   other letters may stand in strings and comments"
        }
        _ => return None,
    })
}
