//! Logs that are read line by line, or row by row: what is the same in all of them.

use crate::gaps::{Gap, Gaps};
use crate::import::Scanner;
use crate::lines::Lines;
use crate::record::Record;
use std::io;

/// Where lines come from.
pub trait Source {
    /// Reads the next one; false at the end.
    ///
    /// # Errors
    /// The log cannot be read.
    fn advance(&mut self) -> io::Result<bool>;

    /// Its number, from 1.
    fn number(&self) -> u64;

    /// Its end was left out.
    fn is_cut(&self) -> bool {
        false
    }

    /// It holds nothing at all.
    fn is_blank(&self) -> bool {
        false
    }

    /// Counts it, and keeps its text if it is among the first.
    fn count(&self, gap: Gap, gaps: &mut Gaps);
}

/// What a line is.
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
    /// What the current line is; [`LineFormat::record`] gives its record next.
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
