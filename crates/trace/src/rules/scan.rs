//! Fields of lines -> records, with those that say who a thread is before its first.

use super::field::Fields;
use super::meaning::{Complaint, Head, Meaning};
use super::{Rows, Rules, Taken};
use crate::gaps::{Gap, Gaps};
use crate::import::Scanner;
use crate::record::Record;
use std::io;

/// What [`Scanner::record`] gives next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The line is done.
    Read,
    /// Who the thread is; then the call.
    Introduce,
    /// The call.
    Call,
}

/// Reads one log by rules.
pub struct Ruled<'r> {
    rules: &'r Rules,
    rows: Box<dyn Rows + 'r>,
    name: String,
    fields: Fields,
    meaning: Meaning,
    head: Head,
    step: Step,
    last_ns: u64,
    /// Lines that each rule took.
    pub taken: Vec<u64>,
}

impl<'r> Ruled<'r> {
    /// Reads `rows` of the log called `name`.
    pub fn new(rules: &'r Rules, rows: Box<dyn Rows + 'r>, name: &str) -> Ruled<'r> {
        Ruled {
            rules,
            rows,
            name: name.into(),
            fields: Fields::default(),
            meaning: Meaning::default(),
            head: Head::default(),
            step: Step::Read,
            last_ns: 0,
            taken: vec![0; rules.lines.len()],
        }
    }

    /// True if the line holds something for the resolver.
    fn understand(&mut self, taken: Taken, gaps: &mut Gaps) -> bool {
        let (line, text) = (self.rows.number(), self.rows.shown());
        if self.rows.is_cut() {
            gaps.add_line(Gap::LongLines, &self.name, line, text);
        }
        match taken {
            Taken::ByNone => {
                gaps.add_line(Gap::Unparsed, &self.name, line, text);
                return false;
            }
            Taken::Row => {}
            Taken::Skipped(rule) => {
                self.taken[rule] += 1;
                gaps.add(Gap::SkippedLines);
                return false;
            }
            Taken::By(rule) => self.taken.get_mut(rule).into_iter().for_each(|count| *count += 1),
        }
        match self.meaning.head(self.rules, &self.fields) {
            Ok(head) => self.head = head,
            Err(complaint) => {
                complain(&self.name, &*self.rows, &complaint, gaps);
                return false;
            }
        }
        if !self.head.has_time {
            gaps.add(Gap::NoTimes);
        }
        if self.head.start_ns < self.last_ns {
            gaps.add(Gap::Backwards);
        }
        self.last_ns = self.head.start_ns;
        true
    }
}

fn complain(name: &str, rows: &dyn Rows, why: &Complaint, gaps: &mut Gaps) {
    let text = [why.0.as_bytes(), b": ", rows.shown()].concat();
    gaps.add_line(Gap::UnfitLines, name, rows.number(), &text);
}

impl Scanner for Ruled<'_> {
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>> {
        if self.step == Step::Introduce {
            self.step = Step::Call;
            return Ok(Some(self.head.start_ns));
        }
        self.step = Step::Read;
        while let Some(taken) = self.rows.next(&mut self.fields)? {
            if self.understand(taken, gaps) {
                self.step = if self.head.is_new { Step::Introduce } else { Step::Call };
                return Ok(Some(self.head.start_ns));
            }
        }
        Ok(None)
    }

    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>> {
        let line = self.rows.number();
        if self.step == Step::Introduce {
            return Some(self.meaning.introduction(self.rules, &self.fields, line, &self.head));
        }
        match self.meaning.record(self.rules, &self.fields, line, &self.head) {
            Ok(record) => Some(record),
            Err(complaint) => {
                complain(&self.name, &*self.rows, &complaint, gaps);
                None
            }
        }
    }

    fn count(&self) -> u64 {
        self.rows.number()
    }
}
