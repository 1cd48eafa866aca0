//! The lines of one log -> records, each thread introduced before its first one.

use super::field::Fields;
use super::file::Rules;
use super::meaning::{Complaint, Head, Meaning};
use crate::gaps::{Gap, Gaps};
use crate::input::Input;
use crate::lines::Lines;
use crate::record::Record;
use crate::scanner::Scanner;
use regex::bytes::CaptureLocations;
use std::io;

/// The next result of [`Scanner::record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing: the next line is read first.
    Read,
    /// The record that introduces the thread; then the call.
    Introduce,
    /// The call.
    Call,
}

/// Reads one log by rules.
pub struct Ruled<'r> {
    rules: &'r Rules,
    locations: Vec<CaptureLocations>,
    lines: Lines,
    name: String,
    fields: Fields,
    meaning: Meaning,
    head: Head,
    step: Step,
    last_ns: u64,
}

impl<'r> Ruled<'r> {
    /// Reads the log `input`; messages call it `name`.
    pub fn new(rules: &'r Rules, input: Input, name: &str) -> Ruled<'r> {
        Ruled {
            rules,
            locations: rules.locations(),
            lines: Lines::new(input.bytes, name),
            name: name.into(),
            fields: Fields::default(),
            meaning: Meaning::default(),
            head: Head::default(),
            step: Step::Read,
            last_ns: 0,
        }
    }

    /// Reads the fields of the current line. False if the line makes no record.
    fn understand(&mut self, gaps: &mut Gaps) -> bool {
        let (number, line) = (self.lines.number(), self.lines.line());
        if self.lines.is_cut() {
            gaps.add_line(Gap::LongLines, &self.name, number, line);
        }
        match self.rules.take(line, &mut self.locations, &mut self.fields) {
            None => gaps.add_line(Gap::Unparsed, &self.name, number, line),
            Some(rule) if self.rules.rules[rule].skips() => gaps.add(Gap::SkippedLines),
            Some(_) => match self.meaning.head(self.rules, &self.fields) {
                Err(complaint) => complain(&self.name, &self.lines, &complaint, gaps),
                Ok(head) => {
                    self.begin(head, gaps);
                    return true;
                }
            },
        }
        false
    }

    fn begin(&mut self, head: Head, gaps: &mut Gaps) {
        self.head = head;
        if !head.has_time {
            gaps.add(Gap::NoTimes);
        }
        if head.start_ns < self.last_ns {
            gaps.add(Gap::Backwards);
        }
        self.last_ns = head.start_ns;
    }
}

fn complain(name: &str, lines: &Lines, why: &Complaint, gaps: &mut Gaps) {
    let text = [why.0.as_bytes(), b": ", lines.line()].concat();
    gaps.add_line(Gap::UnfitLines, name, lines.number(), &text);
}

impl Scanner for Ruled<'_> {
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>> {
        if self.step == Step::Introduce {
            self.step = Step::Call;
            return Ok(Some(self.head.start_ns));
        }
        self.step = Step::Read;
        while self.lines.advance()? {
            if self.understand(gaps) {
                self.step = if self.head.is_new { Step::Introduce } else { Step::Call };
                return Ok(Some(self.head.start_ns));
            }
        }
        Ok(None)
    }

    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>> {
        let line = self.lines.number();
        if self.step == Step::Introduce {
            return Some(self.meaning.introduction(self.rules, &self.fields, line, &self.head));
        }
        match self.meaning.record(&self.fields, line, &self.head) {
            Ok(record) => Some(record),
            Err(complaint) => {
                complain(&self.name, &self.lines, &complaint, gaps);
                None
            }
        }
    }

    fn count(&self) -> u64 {
        self.lines.number()
    }
}
