//! Text from outside - names, labels, parameters, messages - as it may be shown: nothing in it
//! moves a cursor, ends a line, colours, reorders or starts a formula.
//!
//! ```text
//! "a\x1b[31m"     line()   a\x1b[31m          escapes as in PPL
//!                 json()   "a\u001b[31m"       the value comes back from every reader
//!                 cell()   'a\x1b[31m         the value comes back from value()
//! "=1+1"          cell()   '=1+1
//! ```

use std::borrow::Cow;
use std::fmt::Write as _;

/// A character that a terminal, a page or an editor obeys instead of showing it: controls (C0, DEL,
/// C1), Unicode's format characters (category Cf: reordering, joining, hidden text), separators
/// of lines and paragraphs.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// Marks over one letter that are shown as such: no script needs more, and many reach into the lines above.
const MARKS: usize = 4;

/// A mark that is drawn over or below the letter before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{6d6}'..='\u{6dc}'
        | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Text on one line: `\n`, `\x1b`, `\u{202e}`.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        match marks > MARKS {
            true => drop(write!(out, "\\u{{{:x}}}", c as u32)),
            false => push(c, &mut out),
        }
    }
    out
}

/// Text whose line ends are meant.
pub fn lines(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Bytes on one line; what is not UTF-8 becomes `\xff`.
pub fn bytes(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push(c, &mut out));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn push(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if c.is_ascii_control() => drop(write!(out, "\\x{:02x}", c as u32)),
        c if is_harmful(c) => drop(write!(out, "\\u{{{:x}}}", c as u32)),
        c => out.push(c),
    }
}

/// A text in JSON with JSON's own escapes for what its syntax lets through. Outside of strings
/// nothing of that kind can stand.
pub fn json(text: &str) -> Cow<'_, str> {
    let passes = |c: char| !is_harmful(c) || matches!(c, '\n' | '\t' | '\r');
    if text.chars().all(passes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match passes(c) {
            true => out.push(c),
            false => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    Cow::Owned(out)
}

/// A text for a cell of a table of other programs. One that holds harmful characters, or that a
/// spreadsheet would calculate, begins with an apostrophe and has `\` escapes after it; so does one
/// that begins with an apostrophe. Others are as they are, line ends included. [`value`] undoes it.
pub fn cell(text: &str) -> Cow<'_, str> {
    let begins_badly = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
    if !begins_badly && !text.contains(|c| is_harmful(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::from("'");
    for c in text.chars() {
        if c == '\\' { out.push_str("\\\\") } else { push(c, &mut out) }
    }
    Cow::Owned(out)
}

/// The text that [`cell`] was given.
pub fn value(cell: &str) -> String {
    let Some(escaped) = cell.strip_prefix('\'') else { return cell.to_string() };
    let mut parts = escaped.split('\\');
    let mut out = parts.next().unwrap_or_default().to_string();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            out.push('\\');
            out.push_str(parts.next().unwrap_or_default());
            continue;
        }
        let (c, rest) = unescaped(part);
        out.push(c);
        out.push_str(rest);
    }
    out
}

/// The character that an escape after a backslash means, and the text behind the escape.
fn unescaped(part: &str) -> (char, &str) {
    let number = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    let (letter, rest) = part.split_at(part.chars().next().map_or(0, char::len_utf8));
    let (digits, after) = match letter {
        "n" => return ('\n', rest),
        "t" => return ('\t', rest),
        "r" => return ('\r', rest),
        "x" => rest.split_at_checked(2).unwrap_or((rest, "")),
        _ => rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).unwrap_or((rest, "")),
    };
    (number(digits).unwrap_or('\u{fffd}'), after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_are_shown_not_obeyed() {
        for (text, shown) in [
            ("plain ü", "plain ü"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\x1b[31mred\x07\x7f", "\\x1b[31mred\\x07\\x7f"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}gnp", "\\u{202e}gnp"),
            ("e\u{301}\u{302}x\u{301}", "e\u{301}\u{302}x\u{301}"),
            ("e\u{301}\u{301}\u{301}\u{301}\u{301}x", "e\u{301}\u{301}\u{301}\u{301}\\u{301}x"),
        ] {
            assert_eq!(line(text), shown);
        }
        assert_eq!(lines("a\nb\tc\r"), "a\nb\\tc\\r");
        assert_eq!(bytes(b"a\xff\x1b\n"), "a\\xff\\x1b\\n");
    }

    #[test]
    fn cells_calculate_nothing() {
        for (text, shown) in [
            ("=1+1", "'=1+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("a=b", "a=b"),
            ("C:\\x", "C:\\x"),
            ("two\nlines", "two\nlines"),
            ("'quoted'", "''quoted'"),
            ("\x1b\\", "'\\x1b\\\\"),
        ] {
            assert_eq!(cell(text), shown);
        }
    }

    proptest! {
        #[test]
        fn escaped_text_is_one_harmless_line(text in any::<String>()) {
            prop_assert!(!line(&text).contains(is_harmful));
        }

        #[test]
        fn cells_come_back(text in "[-=\\\\'\n\t\r\u{1b}\u{9b}\u{202e}\u{e0001}xnru{}0-9a]{0,12}") {
            let shown = cell(&text);
            prop_assert!(!shown.contains(|c| is_harmful(c) && c != '\n'));
            prop_assert!(!shown.starts_with(['=', '+', '-', '@', '\t', '\r']));
            prop_assert_eq!(value(&shown), text);
        }
    }
}
