//! Lines of a file: found once, so that a thousand diagnostics in a file of a
//! million lines stay cheap.

use model::plan::{SourceFile, Span};
use ppl::Sources;
use std::ops::Range;

/// A file with the starts of its lines.
pub struct Lines<'a> {
    /// The file.
    pub file: &'a SourceFile,
    starts: Vec<u32>,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
}

impl<'a> Lines<'a> {
    fn new(file: &'a SourceFile) -> Lines<'a> {
        let ends = file.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect();
        Lines { file, starts }
    }

    /// The bytes of a span in this file's text, on character boundaries.
    pub fn local(&self, span: Span) -> Range<usize> {
        let at = |position: u32| {
            let at = position.saturating_sub(self.file.start) as usize;
            let mut at = at.min(self.file.text.len());
            while !self.file.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = at(span.start);
        start..at(span.end).max(start)
    }

    /// Number of the line, from 0, that holds a byte.
    pub fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= byte) - 1
    }

    /// Bytes of the lines `first..=last`, numbered from 0, without the last line end.
    pub fn bytes(&self, first: usize, last: usize) -> Range<usize> {
        let end = self.starts.get(last + 1).map_or(self.file.text.len(), |next| *next as usize - 1);
        self.starts[first] as usize..end
    }

    /// Line and column of a byte.
    pub fn place(&self, byte: usize) -> Position {
        let line = self.line_of(byte);
        let before = &self.file.text[self.starts[line] as usize..byte];
        Position { line: line + 1, column: before.chars().count() + 1 }
    }
}

/// The files of a program, each with its lines found when first asked for.
pub struct LineIndex<'a> {
    sources: &'a Sources,
    files: Vec<Option<Lines<'a>>>,
}

impl<'a> LineIndex<'a> {
    /// An index in which no file has been looked at yet.
    pub fn new(sources: &'a Sources) -> LineIndex<'a> {
        let files = sources.files().iter().map(|_| None).collect();
        LineIndex { sources, files }
    }

    /// The file that holds a span; `None` if that is the command line or the program has no
    /// file at all.
    pub fn at(&mut self, span: Span) -> Option<&Lines<'a>> {
        if span == Span::COMMAND_LINE {
            return None;
        }
        let id = self.sources.file_at(span.start).0 as usize;
        let file = self.sources.files().get(id)?;
        Some(self.files[id].get_or_insert_with(|| Lines::new(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let mut sources = Sources::default();
        let _ = sources.add("first", b"x;\n".to_vec());
        let _ = sources.add("second", "ä = 1;\n\nöü".into());
        let mut index = LineIndex::new(&sources);
        let start = sources.files()[1].start;
        let lines = index.at(Span { start: start + 2, end: start + 3 }).unwrap();
        assert_eq!(lines.file.name, "second");
        assert_eq!(lines.place(2), Position { line: 1, column: 2 });
        assert_eq!(lines.place(lines.file.text.len()), Position { line: 3, column: 3 });
        assert_eq!(&lines.file.text[lines.bytes(0, 1)], "ä = 1;\n");
        assert_eq!(lines.local(Span { start: start + 1, end: start + 99 }), 0..13);
    }
}
