//! The text of a document, and positions in it: lines and UTF-16 columns from 0 outside, bytes inside.
//!
//! As the protocol has it, lines end with LF, CRLF or a CR alone, and a column behind the end of its line means
//! the end.

use lsp_types::{Position, Range};
use model::plan::Span;

/// A text whose lines are known.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    /// Where the lines begin, bytes.
    starts: Vec<usize>,
}

impl Text {
    pub(crate) fn new(text: String) -> Text {
        let starts = line_starts(&text);
        Text { text, starts }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The line that a byte is in.
    fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// Where a line's text ends, before its line end.
    fn line_end(&self, line: usize) -> usize {
        let start = self.starts[line];
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        start + self.text[start..end].trim_end_matches(['\n', '\r']).len()
    }

    /// The byte at a position; the nearest before it where there is none.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else { return self.text.len() };
        let mut left = position.character as usize;
        let text = &self.text[start..self.line_end(line)];
        for (at, letter) in text.char_indices() {
            if left < letter.len_utf16() {
                return start + at;
            }
            left -= letter.len_utf16();
        }
        start + text.len()
    }

    /// The position of a byte; one inside of a character or line end counts as its start.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_at(offset);
        let start = self.starts[line];
        let before = &self.text[start..offset.min(self.line_end(line))];
        let character = match before.is_ascii() {
            true => before.len(),
            false => before.chars().map(char::len_utf16).sum(),
        };
        Position { line: line as u32, character: character as u32 }
    }

    /// The range of some bytes.
    pub(crate) fn range(&self, start: usize, end: usize) -> Range {
        Range { start: self.position(start), end: self.position(end.max(start)) }
    }

    /// The range of a place of this text.
    pub(crate) fn range_of(&self, span: Span) -> Range {
        self.range(span.start as usize, span.end as usize)
    }

    /// Takes a change: a part that is replaced, or everything.
    pub(crate) fn change(&mut self, range: Option<Range>, new: &str) {
        match range {
            None => self.text = new.to_string(),
            Some(range) => {
                let start = self.offset(range.start);
                let end = self.offset(range.end).max(start);
                self.text.replace_range(start..end, new);
            }
        }
        self.starts = line_starts(&self.text);
    }

    /// The text after some replacements that do not overlap, in any order.
    pub(crate) fn with(&self, edits: &[Edit]) -> String {
        let mut sorted: Vec<&Edit> = edits.iter().collect();
        sorted.sort_by_key(|edit| (edit.start, edit.end));
        let mut made = String::with_capacity(self.text.len());
        let mut at = 0;
        for edit in sorted {
            made.push_str(&self.text[at..edit.start.max(at)]);
            made.push_str(&edit.text);
            at = edit.end.max(at);
        }
        made.push_str(&self.text[at..]);
        made
    }
}

/// The replacement of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

impl Edit {
    /// Puts a text between two bytes.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Edit {
        Edit { start: at, end: at, text: text.into() }
    }

    /// Replaces a place.
    pub(crate) fn replace(span: Span, text: impl Into<String>) -> Edit {
        Edit { start: span.start as usize, end: span.end as usize, text: text.into() }
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = (0..bytes.len()).filter(|at| match bytes[*at] {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    std::iter::once(0).chain(ends.map(|at| at + 1)).collect()
}

/// The edits that make one text of another: the lines between the first and the last that differ.
pub(crate) fn difference(old: &Text, new: &str) -> Vec<lsp_types::TextEdit> {
    if old.text == new {
        return Vec::new();
    }
    let is_end = |text: &str, at: usize| at == 0 || text.as_bytes()[at - 1] == b'\n';
    let same = old.text.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let start = (0..=same).rev().find(|at| is_end(new, *at) && is_end(&old.text, *at));
    let start = start.unwrap_or(0);
    let (old_rest, new_rest) = (&old.text[start..], &new[start..]);
    let tails = old_rest.bytes().rev().zip(new_rest.bytes().rev());
    let mut tail = tails.take_while(|(a, b)| a == b).count();
    while tail > 0 && !ends_line(old_rest, tail) | !ends_line(new_rest, tail) {
        tail -= 1;
    }
    let range = old.range(start, old.text.len() - tail);
    let new_text = new_rest[..new_rest.len() - tail].to_string();
    vec![lsp_types::TextEdit { range, new_text }]
}

/// A line ends, or nothing is, before the last `tail` bytes.
fn ends_line(text: &str, tail: usize) -> bool {
    let at = text.len() - tail;
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_are_utf_16() {
        let text = Text::new("aä𝄞b\r\nx\ry\n".into());
        assert_eq!(text.position("aä".len()), at(0, 2));
        assert_eq!(text.position("aä𝄞".len()), at(0, 4));
        assert_eq!(text.offset(at(0, 3)), "aä".len(), "inside of a pair");
        assert_eq!(text.offset(at(0, 99)), "aä𝄞b".len());
        assert_eq!(text.offset(at(1, 0)), "aä𝄞b\r\n".len());
        assert_eq!(text.position("aä𝄞b\r\nx\ry".len()), at(2, 1));
        assert_eq!(text.offset(at(9, 0)), text.as_str().len());
    }

    #[test]
    fn a_difference_is_whole_lines() {
        let old = Text::new("a\nb\nc\nd\n".into());
        let found = difference(&old, "a\nB\nB\nd\n");
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].range, &*found[0].new_text),
            (Range { start: at(1, 0), end: at(3, 0) }, "B\nB\n")
        );
        assert_eq!(difference(&old, old.as_str()), []);
    }

    proptest! {
        #[test]
        fn differences_lead_to_the_new_text(old in "[ab\näß]{0,12}", new in "[ab\näß]{0,12}") {
            let mut text = Text::new(old);
            for edit in difference(&text.clone(), &new) {
                text.change(Some(edit.range), &edit.new_text);
            }
            prop_assert_eq!(text.as_str(), new);
        }

        #[test]
        fn positions_and_bytes_are_inverse(text in "[a\r\nä𝄞]{0,12}") {
            let text = Text::new(text);
            for offset in 0..=text.as_str().len() {
                let found = text.offset(text.position(offset));
                prop_assert!(found <= offset && text.position(found) == text.position(offset));
            }
        }
    }
}
