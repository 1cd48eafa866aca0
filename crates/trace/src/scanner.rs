//! The interface of all formats: a [`Scanner`] gives the records of a log. Formats whose lines or rows
//! are read one by one are a [`LineFormat`].

use crate::gaps::{Gap, Gaps};
use crate::lines::{Lines, Source};
use crate::record::Record;
use crate::selection::Selection;
use crate::sums::Sums;
use std::io;

/// Reads one log. There is one per format.
pub trait Scanner {
    /// Reads on to the next record; gives its time on the log's clock. `None` at the end.
    ///
    /// # Errors
    /// The log cannot be read.
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>>;

    /// The record that [`Scanner::advance`] found. `None`: it is not understood, which was counted.
    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>>;

    /// Lines or records read so far.
    fn count(&self) -> u64;

    /// At the end: sums over calls of the files that are kept, of which the log tells no single one.
    ///
    /// # Errors
    /// As for [`Scanner::advance`].
    fn sums(&mut self, _which: &Selection, _sums: &mut Sums, _gaps: &mut Gaps) -> io::Result<()> {
        Ok(())
    }
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A record of this time.
    Record(u64),
    /// Nothing that matters, or something that was counted.
    Nothing,
    /// In no known form.
    Unknown,
}

/// A format of which each line gives a record, several or none.
pub trait LineFormat<S = Lines> {
    /// The kind of the current line; [`LineFormat::record`] gives its record next.
    fn understand(&mut self, lines: &S, gaps: &mut Gaps) -> Found;

    /// The time of a record that comes before the next line is read.
    fn waiting(&mut self) -> Option<u64> {
        None
    }

    /// There are no more lines.
    fn end(&mut self, _lines: &S, _gaps: &mut Gaps) {}

    /// As [`Scanner::record`].
    fn record<'a>(&'a mut self, lines: &'a S, gaps: &mut Gaps) -> Option<Record<'a>>;
}

/// Reads a log in such a format. Lines in no known form are counted.
pub struct ByLine<F, S = Lines> {
    lines: S,
    format: F,
}

impl<F, S> ByLine<F, S> {
    /// Reads `lines`.
    pub fn new(lines: S, format: F) -> ByLine<F, S> {
        ByLine { lines, format }
    }
}

impl<S: Source, F: LineFormat<S>> Scanner for ByLine<F, S> {
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>> {
        loop {
            if let Some(now_ns) = self.format.waiting() {
                return Ok(Some(now_ns));
            }
            if !self.lines.advance()? {
                self.format.end(&self.lines, gaps);
                return Ok(None);
            }
            if self.lines.is_cut() {
                self.lines.count(Gap::LongLines, gaps);
            }
            match self.format.understand(&self.lines, gaps) {
                Found::Record(now_ns) => return Ok(Some(now_ns)),
                Found::Nothing => {}
                Found::Unknown if self.lines.is_blank() => {}
                Found::Unknown => self.lines.count(Gap::Unparsed, gaps),
            }
        }
    }

    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>> {
        self.format.record(&self.lines, gaps)
    }

    fn count(&self) -> u64 {
        self.lines.number()
    }
}
