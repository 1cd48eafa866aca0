//! The interface of all formats: a [`Scanner`] gives the records of a log. Formats whose lines are read one by
//! one are a [`LineFormat`].

use crate::gaps::{Gap, Gaps};
use crate::record::Record;
use crate::selection::Selection;
use crate::sums::Sums;
use model::run::TraceJob;
use std::io::{self, BufRead};

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

    /// The job that the log tells of.
    fn job(&self) -> Option<TraceJob> {
        None
    }

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
pub trait LineFormat {
    /// The kind of the current line; [`LineFormat::record`] gives its record next.
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found;

    /// The time of a record that comes before the next line is read.
    fn waiting(&mut self) -> Option<u64> {
        None
    }

    /// There are no more lines.
    fn end(&mut self, _lines: &Lines, _gaps: &mut Gaps) {}

    /// As [`Scanner::record`].
    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>>;
}

/// Reads a log in such a format. Lines in no known form are counted.
pub struct ByLine<F> {
    lines: Lines,
    format: F,
}

impl<F> ByLine<F> {
    /// Reads `lines`.
    pub fn new(lines: Lines, format: F) -> ByLine<F> {
        ByLine { lines, format }
    }
}

impl<F: LineFormat> Scanner for ByLine<F> {
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
                Found::Unknown if self.lines.line().trim_ascii().is_empty() => {}
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

const DAY_NS: u64 = 86_400_000_000_000;

/// Makes times since the first midnight of times of the day.
#[derive(Clone, Debug, Default)]
pub struct DayClock {
    last_ns: u64,
    days: u64,
}

impl DayClock {
    /// Nanoseconds since the first midnight; half a day back is midnight.
    pub fn since_first_midnight(&mut self, ns: u64) -> u64 {
        self.days += u64::from(self.last_ns > ns.saturating_add(DAY_NS / 2));
        self.last_ns = ns;
        ns.saturating_add(self.days.saturating_mul(DAY_NS))
    }
}

/// Longest line that is kept, bytes: strace's longest buffers fit. Of a longer one the rest is skipped.
pub const LINE_MAX: usize = 1 << 20;

/// Gives the lines of a log one after the other.
pub struct Lines {
    input: Box<dyn BufRead>,
    name: String,
    line: Vec<u8>,
    number: u64,
    /// Bytes up to its end.
    end: u64,
    cut: bool,
}

impl Lines {
    /// Lines of `input`, which is called `name` where they are shown.
    pub fn new(input: Box<dyn BufRead>, name: &str) -> Lines {
        Lines { input, name: name.into(), line: Vec::new(), number: 0, end: 0, cut: false }
    }

    /// Name of the log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next line, without its end; false at the end of the log.
    ///
    /// # Errors
    /// The input cannot be read, or not be decompressed.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.cut = false;
        let mut any = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if bytes.is_empty() {
                break;
            }
            any = true;
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let kept = part.len().min(LINE_MAX - self.line.len());
            self.cut |= kept < part.len();
            self.line.extend_from_slice(&part[..kept]);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.end += used as u64;
            if end.is_some() {
                break;
            }
        }
        self.number += u64::from(any);
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(any)
    }

    /// The line.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Its number, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the log up to its end.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Its end was left out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Counts the line, and keeps its text if it is among the first.
    pub fn count(&self, gap: Gap, gaps: &mut Gaps) {
        gaps.add_line(gap, &self.name, self.number, &self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn lines(text: &'static str) -> Vec<String> {
        // A small buffer: lines cross its ends.
        let mut lines = Lines::new(Box::new(BufReader::with_capacity(3, text.as_bytes())), "");
        let mut all = Vec::new();
        while lines.advance().unwrap() {
            all.push(format!("{}:{}", lines.number(), String::from_utf8_lossy(lines.line())));
        }
        all
    }

    #[test]
    fn lines_end_in_every_way() {
        assert_eq!(lines("ab\ncdefgh\r\n\nlast"), ["1:ab", "2:cdefgh", "3:", "4:last"]);
        assert_eq!(lines(""), [""; 0]);
    }

    #[test]
    fn a_line_of_a_gigabyte_takes_a_megabyte() {
        let endless = io::repeat(b'x').take(1 << 30);
        let mut lines = Lines::new(Box::new(BufReader::new(endless.chain(&b"\nnext\n"[..]))), "");
        assert!(lines.advance().unwrap() && lines.is_cut());
        assert_eq!((lines.line().len(), lines.line.capacity() <= 2 * LINE_MAX), (LINE_MAX, true));
        assert!(lines.advance().unwrap() && !lines.is_cut());
        assert_eq!((lines.line(), lines.number()), (&b"next"[..], 2));
    }

    #[test]
    fn half_a_day_back_is_midnight() {
        let mut clock = DayClock::default();
        let times = [DAY_NS - 5, 3, 1].map(|ns| clock.since_first_midnight(ns));
        assert_eq!(times, [DAY_NS - 5, DAY_NS + 3, DAY_NS + 1]);
    }
}
