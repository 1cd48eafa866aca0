//! Bytes -> lines, in memory that does not depend on the length of a line.

use crate::gaps::{Gap, Gaps};
use std::io::{self, BufRead};

/// A source of lines or rows.
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

/// Longest line that is kept, bytes: strace's longest buffers fit. Of a longer one the rest is skipped.
pub const LINE_MAX: usize = 1 << 20;

/// Gives the lines of a log one after the other.
pub struct Lines {
    input: Box<dyn BufRead>,
    name: String,
    line: Vec<u8>,
    number: u64,
    cut: bool,
}

impl Lines {
    /// Lines of `input`, which is called `name` where they are shown.
    pub fn new(input: Box<dyn BufRead>, name: &str) -> Lines {
        Lines { input, name: name.into(), line: Vec::new(), number: 0, cut: false }
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

    /// Its end was left out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

impl Source for Lines {
    fn advance(&mut self) -> io::Result<bool> {
        Lines::advance(self)
    }

    fn number(&self) -> u64 {
        Lines::number(self)
    }

    fn is_cut(&self) -> bool {
        Lines::is_cut(self)
    }

    fn is_blank(&self) -> bool {
        self.line.trim_ascii().is_empty()
    }

    fn count(&self, gap: Gap, gaps: &mut Gaps) {
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
}
