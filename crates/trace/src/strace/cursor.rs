//! Arguments of a call, from left to right.
//!
//! ```text
//! 3</data/f>, "abc\n"..., [{iov_base="", iov_len=5}], O_RDWR|O_CREAT, 0644) = 5
//! ```

use crate::record::{CWD, Fd, Name};

/// A place in the text of a call.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    /// A `<` was found that nothing closes: further ones need no search.
    unclosed: bool,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `text`.
    pub fn new(text: &'a [u8]) -> Cursor<'a> {
        Cursor { text, at: 0, unclosed: false }
    }

    /// The text that has not been read.
    pub fn rest(&self) -> &'a [u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Takes `word` if it comes next.
    pub fn take(&mut self, word: &[u8]) -> bool {
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Skips blanks.
    pub fn blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// A number: decimal, octal (`0644`) or hexadecimal (`0x1f`), with its sign. Too large ones
    /// saturate.
    pub fn number(&mut self) -> Option<i64> {
        self.blanks();
        let negative = self.take(b"-");
        let base = match self.rest() {
            [b'0', b'x', ..] => {
                self.at += 2;
                16
            }
            [b'0', b'0'..=b'7', ..] => 8,
            _ => 10,
        };
        let is_digit = |byte: &&u8| (**byte as char).is_digit(base);
        let digits = self.rest().iter().take_while(is_digit).count();
        let text =
            std::str::from_utf8(&self.rest()[..digits]).ok().filter(|text| !text.is_empty())?;
        self.at += digits;
        let value = u64::from_str_radix(text, base).unwrap_or(u64::MAX);
        // Addresses and sizes above 2^63 keep their bits.
        let value =
            if negative { (value.min(1 << 63) as i64).wrapping_neg() } else { value as i64 };
        Some(value)
    }

    /// A size or offset: a number; `None` for NULL, names and negative numbers.
    pub fn size(&mut self) -> Option<u64> {
        self.number().and_then(|number| u64::try_from(number).ok())
    }

    /// A descriptor with its file: `3`, `3</data/f>`, `AT_FDCWD</data>`,
    /// `-100 /* AT_FDCWD */`.
    pub fn fd(&mut self) -> Option<Fd<'a>> {
        self.blanks();
        let number = if self.take(b"AT_FDCWD") { CWD } else { self.number()? };
        self.take(b" /* AT_FDCWD */");
        let shown = self.shown();
        Some(Fd { number, shown, escaped: true, removed: self.take(b"(deleted)") })
    }

    /// `<...>` behind a number, without the brackets.
    pub fn shown(&mut self) -> &'a [u8] {
        if self.peek() != Some(b'<') {
            return b"";
        }
        let start = self.at + 1;
        let Some(end) = closing_bracket(self.text, self.at) else { return b"" };
        self.at = end + 1;
        &self.text[start..end]
    }

    /// A string, `"abc"` or `"abc"...`; `None` if something else comes next, such as NULL.
    pub fn string(&mut self) -> Option<Name<'a>> {
        self.blanks();
        if !self.take(b"\"") {
            return None;
        }
        let start = self.at;
        let mut escaped = false;
        loop {
            let found = memchr::memchr2(b'"', b'\\', self.rest())?;
            self.at += found;
            if self.peek() == Some(b'"') {
                break;
            }
            escaped = true;
            self.at += 2;
        }
        let text = &self.text[start..self.at];
        self.at += 1;
        Some(Name { text, escaped, cut: self.take(b"...") })
    }

    /// The argument as it stands, and the cursor behind the comma that follows.
    pub fn word(&mut self) -> &'a [u8] {
        self.blanks();
        let start = self.at;
        self.skip();
        let word = &self.text[start..self.at.min(self.text.len())];
        self.comma();
        word
    }

    /// Goes behind the next comma: to the next argument.
    pub fn next(&mut self) {
        self.skip();
        self.comma();
    }

    fn comma(&mut self) {
        self.take(b",");
        self.blanks();
    }

    /// To the end of the argument: a comma or a closing bracket of the call.
    fn skip(&mut self) {
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    if self.string().is_none() {
                        self.at = self.text.len();
                    }
                    continue;
                }
                b'/' if self.rest().starts_with(b"/*") => {
                    let end = memchr::memmem::find(self.rest(), b"*/");
                    self.at += end.map_or(self.rest().len(), |end| end + 2);
                    continue;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' if depth == 0 => return,
                b')' | b']' | b'}' => depth -= 1,
                b',' if depth == 0 => return,
                // Of a descriptor; `1<<5` is arithmetic.
                b'<' if self.rest().starts_with(b"<<") => self.at += 1,
                b'<' if !self.unclosed => match closing_bracket(self.text, self.at) {
                    Some(end) => self.at = end,
                    None => self.unclosed = true,
                },
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Goes behind the closing bracket of the call; false where the text ends before.
    pub fn close(&mut self) -> bool {
        loop {
            self.skip();
            match self.peek() {
                None => return false,
                Some(b')') => {
                    self.at += 1;
                    return true;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// Sum of `iov_len=` of a list of buffers.
    pub fn vector_bytes(&mut self) -> u64 {
        let mut inner = Cursor::new(self.word());
        let mut sum: u64 = 0;
        while let Some(bytes) = inner.field(b"iov_len=") {
            sum = sum.saturating_add(bytes);
        }
        sum
    }

    /// The number behind `key`, which is looked for outside of strings.
    pub fn field(&mut self, key: &[u8]) -> Option<u64> {
        while !self.take(key) {
            match self.peek()? {
                b'"' => drop(self.string()?),
                _ => self.at += 1,
            }
        }
        self.size()
    }
}

/// The place of the `>` that belongs to the `<` at `start`. `->` in addresses is none.
fn closing_bracket(text: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    while let Some(found) = memchr::memchr2(b'<', b'>', text.get(at..)?) {
        at += found;
        match text[at] {
            b'<' => depth += 1,
            _ if at > start && text[at - 1] == b'-' => {}
            _ => depth -= 1,
        }
        if depth == 0 {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Writes a C string's bytes without its escapes.
pub fn unescape(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let (byte, used) = escape(&rest[at + 1..]);
        out.extend(byte);
        rest = rest.get(at + 1 + used..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// The byte of an escape, and the number of its characters.
fn escape(text: &[u8]) -> (Option<u8>, usize) {
    let number = |digits: &[u8], base| {
        let text = std::str::from_utf8(digits).ok()?;
        u32::from_str_radix(text, base).ok().map(|number| number as u8)
    };
    match text {
        [] => (None, 0),
        [b'n', ..] => (Some(b'\n'), 1),
        [b't', ..] => (Some(b'\t'), 1),
        [b'r', ..] => (Some(b'\r'), 1),
        [b'v', ..] => (Some(0x0b), 1),
        [b'f', ..] => (Some(0x0c), 1),
        [b'x', a, b, ..] => (number(&[*a, *b], 16), 3),
        [b'0'..=b'7', ..] => {
            let digits = text.iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            (number(&text[..digits], 8), digits)
        }
        [other, ..] => (Some(*other), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_from_left_to_right() {
        let text = br#"3</d/f, (x)>, "a\"b\n"..., [{iov_base="iov_len=9", iov_len=5}, {iov_len=0x10}], /* ) */ {a=1, b=[2]}, 1<<5, -1) = 0"#;
        let mut cursor = Cursor::new(text);
        assert_eq!(
            cursor.fd(),
            Some(Fd { number: 3, shown: b"/d/f, (x)", escaped: true, removed: false })
        );
        cursor.next();
        let name = cursor.string().unwrap();
        assert_eq!((name.text, name.escaped, name.cut), (&br#"a\"b\n"#[..], true, true));
        cursor.next();
        assert_eq!(cursor.vector_bytes(), 21);
        cursor.next();
        assert_eq!(cursor.word(), b"1<<5");
        assert_eq!(cursor.number(), Some(-1));
        assert!(cursor.close());
        assert_eq!(cursor.rest(), b" = 0");
    }

    #[test]
    fn descriptors_are_shown_in_every_way() {
        for (text, number, shown) in [
            ("3", 3, ""),
            ("AT_FDCWD</data>, ", CWD, "/data"),
            ("-100</data>, ", CWD, "/data"),
            ("-100 /* AT_FDCWD */</data>, ", CWD, "/data"),
            ("3</dev/sda<block 8:0>>)", 3, "/dev/sda<block 8:0>"),
            ("5<TCP:[1.2.3.4:5->6.7.8.9:10]>, ", 5, "TCP:[1.2.3.4:5->6.7.8.9:10]"),
            ("6</x>(deleted)", 6, "/x"),
            ("7</x", 7, ""),
        ] {
            let fd = Cursor::new(text.as_bytes()).fd().unwrap();
            assert_eq!((fd.number, fd.shown), (number, shown.as_bytes()), "{text}");
        }
    }

    #[test]
    fn numbers_of_every_size_and_base() {
        for (text, number) in [
            ("0", Some(0)),
            ("0644", Some(0o644)),
            ("0x1F,", Some(31)),
            ("-100", Some(-100)),
            ("NULL", None),
            ("99999999999999999999999", Some(-1)),
            ("-99999999999999999999999", Some(i64::MIN)),
        ] {
            assert_eq!(Cursor::new(text.as_bytes()).number(), number, "{text}");
        }
    }

    #[test]
    fn escapes_become_bytes() {
        let mut out = Vec::new();
        for (text, bytes) in [
            (&br"a\n\t\\\x41\101\1018\0"[..], &b"a\n\t\\AAA8\0"[..]),
            (br"\303\274", "ü".as_bytes()),
            (br"end\", b"end"),
        ] {
            unescape(text, &mut out);
            assert_eq!(out, bytes);
        }
    }
}
