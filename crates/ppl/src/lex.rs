//! Text -> tokens.

use crate::diag::{Code, Diagnostic, OPENED_HERE};
use model::plan::Span;

macro_rules! kinds {
    ($( $name:ident $text:literal; )*) => {
        /// The kind of a token.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind { $( #[doc = $text] $name, )* }

        impl Kind {
            /// The token in words for messages: "`;`", "a string".
            pub fn text(self) -> &'static str {
                match self { $( Kind::$name => $text, )* }
            }
        }
    };
}

kinds! {
    End "the end of the file";
    Error "text that was reported already";
    Word "a word";
    Var "a variable";
    Internal "an internal variable";
    Str "a string";
    Int "an integer";
    IntMin "the number 9223372036854775808";
    Float "a float";
    Duration "a duration";
    Rate "a rate";
    LParen "`(`";
    RParen "`)`";
    LBracket "`[`";
    RBracket "`]`";
    LBrace "`{`";
    RBrace "`}`";
    Comma "`,`";
    Semi "`;`";
    Colon "`:`";
    Question "`?`";
    Assign "`=`";
    PlusAssign "`+=`";
    MinusAssign "`-=`";
    DotDot "`..`";
    OrOr "`||`";
    AndAnd "`&&`";
    EqEq "`==`";
    NotEq "`!=`";
    Lt "`<`";
    Le "`<=`";
    Gt "`>`";
    Ge "`>=`";
    Plus "`+`";
    Minus "`-`";
    Percent "`%`";
    Star "`*`";
    Slash "`/`";
    Caret "`^`";
    Bang "`!`";
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// First byte, in the joined text of all files.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Numbers: the value, for floats its bits, for durations nanoseconds, for
    /// rates the number per second. Strings: 1 if [`crate::text::check`] has to look at it.
    pub value: i64,
}

impl Token {
    /// Its place.
    pub fn span(self) -> Span {
        Span { start: self.start, end: self.end }
    }
}

/// The byte can be part of a name: letter, digit, underscore.
#[inline(always)]
pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The token that a byte is by itself.
#[inline]
fn single(byte: u8) -> Option<Kind> {
    Some(match byte {
        b'(' => Kind::LParen,
        b')' => Kind::RParen,
        b'[' => Kind::LBracket,
        b']' => Kind::RBracket,
        b'{' => Kind::LBrace,
        b'}' => Kind::RBrace,
        b',' => Kind::Comma,
        b';' => Kind::Semi,
        b':' => Kind::Colon,
        b'?' => Kind::Question,
        b'=' => Kind::Assign,
        b'<' => Kind::Lt,
        b'>' => Kind::Gt,
        b'+' => Kind::Plus,
        b'-' => Kind::Minus,
        b'%' => Kind::Percent,
        b'*' => Kind::Star,
        b'/' => Kind::Slash,
        b'^' => Kind::Caret,
        b'!' => Kind::Bang,
        _ => return None,
    })
}

/// Reads tokens from the text of one file.
pub struct Lexer<'t> {
    pub(crate) text: &'t str,
    pub(crate) bytes: &'t [u8],
    /// Position of the file in the joined text.
    base: u32,
    pub(crate) at: usize,
    /// Where the token being read begins, and its value.
    start: usize,
    value: i64,
    /// Comments seen so far.
    pub comments: Vec<Span>,
    /// Mistakes seen so far.
    pub errors: Vec<Diagnostic>,
    /// One past the last reported text, in the joined text; 0: none.
    pub bad_end: u32,
}

impl<'t> Lexer<'t> {
    /// A lexer for a file whose text begins at `base` of the joined text.
    pub fn new(text: &'t str, base: u32) -> Lexer<'t> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let (comments, errors) = (Vec::new(), Vec::new());
        let bytes = text.as_bytes();
        Lexer { text, bytes, base, at, start: 0, value: 0, comments, errors, bad_end: 0 }
    }

    /// The text of a token of this file.
    #[inline]
    pub fn slice(&self, token: Token) -> &'t str {
        &self.text[(token.start - self.base) as usize..(token.end - self.base) as usize]
    }

    /// The text between two positions of this file; "" if there is none.
    pub fn between(&self, start: u32, end: u32) -> &'t str {
        let range =
            start.saturating_sub(self.base) as usize..end.saturating_sub(self.base) as usize;
        self.text.get(range).unwrap_or("")
    }

    /// A copy that reads on from here without keeping comments and mistakes.
    pub fn fork(&self) -> Lexer<'t> {
        let (comments, errors) = (Vec::new(), Vec::new());
        Lexer { comments, errors, ..*self }
    }

    /// The text that is not read yet.
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    #[inline(always)]
    pub(crate) fn byte(&self, at: usize) -> u8 {
        // A NUL in the text is of class Bad like the end, and told apart there.
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The next token; at the end of the text [`Kind::End`] for ever.
    ///
    /// The functions below give only the token's kind, which fits a register, and leave
    /// the rest in the lexer: returning whole tokens through memory costs a third.
    #[inline(always)]
    pub fn token(&mut self) -> Token {
        self.value = 0;
        let kind = self.scan();
        let (start, end) = (self.base + self.start as u32, self.base + self.at as u32);
        Token { kind, start, end, value: self.value }
    }

    #[inline(always)]
    fn scan(&mut self) -> Kind {
        loop {
            self.start = self.at;
            let Some(byte) = self.bytes.get(self.at) else {
                return Kind::End;
            };
            let found = match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                    self.at += 1;
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    self.skip_name();
                    return Kind::Word;
                }
                b'0'..=b'9' => return self.number(),
                b'"' => return self.string(),
                b'$' => return self.variable(),
                b'#' => self.line_comment(),
                b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' => {
                    self.at += 1;
                    single(*byte)
                }
                _ => self.sign(*byte),
            };
            if let Some(kind) = found {
                return kind;
            }
        }
    }

    /// Ends a token that has a value.
    #[inline(always)]
    pub(crate) fn valued(&mut self, kind: Kind, value: i64) -> Kind {
        self.value = value;
        kind
    }

    /// Place of the token being read, up to the current position.
    pub(crate) fn token_span(&self) -> Span {
        self.span(self.start, self.at)
    }

    /// Its text.
    pub(crate) fn token_text(&self) -> &'t str {
        &self.text[self.start..self.at]
    }

    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        Span { start: self.base + start as u32, end: self.base + end as u32 }
    }

    #[inline(always)]
    pub(crate) fn skip_name(&mut self) {
        while is_name_byte(self.byte(self.at)) {
            self.at += 1;
        }
    }

    #[cold]
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.bad_end = self.bad_end.max(diagnostic.span.end);
        self.errors.push(diagnostic);
    }

    /// A token that begins with a sign; `None`: it was a comment or is reported.
    #[inline]
    fn sign(&mut self, byte: u8) -> Option<Kind> {
        let (kind, length) = match (byte, self.byte(self.at + 1)) {
            (b'/', b'/') => return self.line_comment(),
            (b'/', b'*') => return self.block_comment(),
            (b'=', b'=') => (Kind::EqEq, 2),
            (b'+', b'=') => (Kind::PlusAssign, 2),
            (b'-', b'=') => (Kind::MinusAssign, 2),
            (b'!', b'=') => (Kind::NotEq, 2),
            (b'<', b'=') => (Kind::Le, 2),
            (b'>', b'=') => (Kind::Ge, 2),
            (b'.', b'.') => (Kind::DotDot, 2),
            (b'|', b'|') => (Kind::OrOr, 2),
            (b'&', b'&') => (Kind::AndAnd, 2),
            (b'|', _) => return Some(self.half_operator(Kind::OrOr)),
            (b'&', _) => return Some(self.half_operator(Kind::AndAnd)),
            _ => match single(byte) {
                Some(kind) => (kind, 1),
                None => return self.unknown(),
            },
        };
        self.at += length;
        Some(kind)
    }

    #[cold]
    fn half_operator(&mut self, kind: Kind) -> Kind {
        self.at += 1;
        let span = self.token_span();
        let message = format!("`{}` is not an operator of PPL", self.token_text());
        let help = "conditions are joined by `||` and `&&`, flags in quotes: \"O_RDWR|O_CREAT\"";
        self.report(Diagnostic::new(Code::UnknownCharacter, span, message).help(help));
        kind
    }

    fn line_comment(&mut self) -> Option<Kind> {
        let start = self.at;
        let rest = &self.bytes[start..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let end = if self.bytes[..self.at].ends_with(b"\r") { self.at - 1 } else { self.at };
        self.comments.push(self.span(start, end));
        None
    }

    fn block_comment(&mut self) -> Option<Kind> {
        let start = self.at;
        match self.text[start + 2..].find("*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => {
                self.at = self.bytes.len();
                let message = "expected `*/` that closes this comment, found the end of the file";
                self.report(
                    Diagnostic::new(Code::OpenString, self.span(start, start + 2), message)
                        .help("comments of this kind do not nest; close it with */"),
                );
                // Everything up to the end is spoilt.
                self.bad_end = self.base + self.at as u32;
            }
        }
        self.comments.push(self.span(start, self.at));
        None
    }

    /// `"..."`, escapes and variables left alone.
    #[inline]
    fn string(&mut self) -> Kind {
        let start = self.at;
        let mut at = start + 1;
        let mut special = false;
        loop {
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'$' | b'\n');
            let rest = self.bytes.get(at..).unwrap_or(&[]);
            at += rest.iter().position(is_special).unwrap_or(rest.len());
            match self.byte(at) {
                b'"' => break,
                b'\\' => {
                    special = true;
                    // A multi-byte character after it cannot hold `"` or a line end.
                    at += if matches!(self.byte(at + 1), b'\n' | b'\r' | 0) { 1 } else { 2 };
                }
                b'$' => {
                    special |= matches!(self.byte(at + 1), b'{' | b'$');
                    at += 1;
                }
                b'\n' => return self.open_string(at),
                _ => return self.open_string(self.bytes.len()),
            }
        }
        self.at = at + 1;
        self.valued(Kind::Str, i64::from(special))
    }

    #[cold]
    fn open_string(&mut self, line_end: usize) -> Kind {
        let has_return = self.bytes[self.start..line_end].ends_with(b"\r");
        self.at = if has_return { line_end - 1 } else { line_end };
        let span = self.token_span();
        let found =
            if line_end == self.bytes.len() { "the end of the file" } else { "the line's end" };
        self.report(
            Diagnostic::new(
                Code::OpenString,
                span,
                format!("expected `\"` that closes this string, found {found}"),
            )
            .help("strings end on their line; write \\n for a line break and \\\" for a quote in a string")
            .label(OPENED_HERE),
        );
        Kind::Error
    }

    /// `$name`, `$$name`
    #[inline]
    fn variable(&mut self) -> Kind {
        let start = self.at;
        let dollars = if self.byte(start + 1) == b'$' { 2 } else { 1 };
        self.at += dollars;
        self.skip_name();
        if self.at == start + dollars {
            let span = self.span(start, self.at);
            self.report(
                Diagnostic::new(
                    Code::UnknownCharacter,
                    span,
                    "expected a name after `$`: letters, digits, underscore",
                )
                .help("variables are written $name, internal variables $$rank, environment variables $$env(NAME)"),
            );
            return Kind::Error;
        }
        if dollars == 2 { Kind::Internal } else { Kind::Var }
    }
}

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
    let begins_token = |byte: u8| is_name_byte(byte) || single(byte).is_some();
    let is_known = |c: char| c.is_ascii_whitespace() || "\"$#.|&".contains(c);
    !is_foreign_quote(c) && !(c.is_ascii() && (begins_token(c as u8) || is_known(c)))
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
        '–' | '—' | '−' | '‐' | '‑' | '×' | '·' | '÷' | '≤' | '≥' | '≠' => {
            "operators are written - * / <= >= !="
        }
        '；' | '，' | '（' | '）' => "write the sign of ASCII that it looks like",
        '\\' => "a statement may go on in the next line without any sign",
        '.' => "numbers are written 0.25, ranges 10..100",
        c if is_foreign_quote(c) => "strings are written \"...\"",
        c if c.is_alphabetic() => {
            "names are made of the letters a-z, digits and underscores; \
                                   other letters are allowed in strings and comments"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> (Vec<(Kind, &str)>, Vec<&'static str>) {
        let mut lexer = Lexer::new(text, 0);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.token();
            if token.kind == Kind::End {
                let codes = lexer.errors.iter().map(|error| error.code.as_str()).collect();
                return (tokens, codes);
            }
            tokens.push((token.kind, lexer.slice(token)));
        }
    }

    #[test]
    fn ordinary_text() {
        use Kind::*;
        for (text, expected) in [
            ("10..100", &[(Int, "10"), (DotDot, ".."), (Int, "100")][..]),
            ("$a_b $$rank", &[(Var, "$a_b"), (Internal, "$$rank")]),
            ("a=b==c", &[(Word, "a"), (Assign, "="), (Word, "b"), (EqEq, "=="), (Word, "c")]),
            ("1/s", &[(Rate, "1/s")]),
            ("1/sx", &[(Int, "1"), (Slash, "/"), (Word, "sx")]),
            ("\"a\\\"b\" # c \" d\r\n;", &[(Str, "\"a\\\"b\""), (Semi, ";")]),
            ("a/* b */c//d", &[(Word, "a"), (Word, "c")]),
            ("\u{feff};", &[(Semi, ";")]),
            ("", &[]),
        ] {
            assert_eq!(kinds(text), (expected.to_vec(), vec![]), "{text}");
        }
    }

    #[test]
    fn mistakes_are_reported_once_and_skipped() {
        for (text, count, codes) in [
            ("a ~~@~ b", 2, &["E0101"][..]),
            ("\"abc\n\"d\"", 2, &["E0102"]),
            ("\"abc\\", 1, &["E0102"]),
            ("/* abc", 0, &["E0102"]),
            ("print “hello world”;", 3, &["E0101"]),
            ("print 'a';", 3, &["E0101"]),
            ("a & b", 3, &["E0101"]),
            ("$ = 1", 3, &["E0101"]),
            ("a\u{a0}b", 2, &["E0101"]),
            ("a\0b", 2, &["E0101"]),
            ("grün", 2, &["E0101"]),
        ] {
            let (tokens, found) = kinds(text);
            assert_eq!((tokens.len(), &found[..]), (count, codes), "{text}");
        }
    }

    #[test]
    fn comments_keep_their_places_without_the_line_end() {
        let mut lexer = Lexer::new("a # b\r\n/* c\nd */ e", 100);
        while lexer.token().kind != Kind::End {}
        assert_eq!(lexer.comments, [Span { start: 102, end: 105 }, Span { start: 107, end: 116 }]);
    }
}
