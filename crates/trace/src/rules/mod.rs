//! Logs of any form, by a file of rules: regular expressions for lines of text, names of columns for
//! tables (CSV, Parquet).
//!
//! ```text
//! 02:00:01.5 [io-3] READ vol1/7 +4096 @8192 120us
//!    │ [[rule]] match = '^(?<start>\S+) \[(?<thread>[^]]+)\] (?<operation>\w+) (?<path>\S+) \+(?<size>\d+) ...'
//!    ▼
//! start 02:00:01.5, thread io-3, operation READ, path vol1/7, size 4096 ──▶ Record ──▶ resolver
//! ```
//!
//! [`file`] reads rules, `text`, `table` and `parquet` find the fields of a line or row, `meaning` makes
//! records of fields. What descriptors and positions mean is left to [`crate::resolve`].

pub mod check;
pub mod field;
mod file;
mod meaning;
mod parquet;
mod scan;
mod table;
mod text;
mod units;
mod verb;
mod who;

use crate::format::Format;
use crate::import::{self, Error, Imported, Scanner};
use crate::input::Input;
use crate::lines::Lines;
use crate::resolve::Which;
use field::Field;
use hashbrown::HashMap;
use model::escape;
use regex::bytes::Regex;
use rustc_hash::FxBuildHasher;
use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use units::Times;

/// Who uses the same descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shared {
    /// Threads of a process; without processes in the log, all of it.
    #[default]
    Process,
    /// Nobody: each thread has its own.
    Thread,
    /// All of the log.
    Job,
}

/// How a kind of log is read.
#[derive(Clone, Debug)]
pub struct Rules {
    start: Times,
    end: Times,
    /// Nanoseconds.
    elapsed: u64,
    /// Bytes.
    offset: u64,
    size: u64,
    done: u64,
    shared: Shared,
    /// Lines name ranks: those that do not are in error.
    has_ranks: bool,
    /// What words of the log mean, by field.
    words: Vec<HashMap<Vec<u8>, Vec<u8>, FxBuildHasher>>,
    /// In all lines, if they do not say otherwise.
    set: Vec<(Field, Vec<u8>)>,
    lines: Vec<Rule>,
    /// Of tables: the names of their columns.
    columns: Option<Vec<(Field, String)>>,
}

/// How lines of one form are read.
#[derive(Clone, Debug)]
struct Rule {
    name: String,
    /// Its line in the file of rules.
    place: usize,
    regex: Regex,
    /// Groups that are fields.
    groups: Vec<(usize, Field)>,
    /// Fields made of texts and groups.
    made: Vec<(Field, Vec<Part>)>,
    skips: bool,
}

/// Part of a text that a rule makes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Group(usize),
}

impl Rules {
    /// Reads rules; `name` is that of their file.
    ///
    /// # Errors
    /// Anything that is wrong with them, with its place.
    pub fn read(text: &str, name: &str) -> Result<Rules, Error> {
        file::read(text, name)
    }

    /// Imports logs that are open.
    ///
    /// # Errors
    /// As for [`import::import`].
    pub fn import(&self, inputs: Vec<(PathBuf, Input)>, which: Which) -> Result<Imported, Error> {
        let logs = import::logs_with(inputs, |input, name| -> io::Result<Box<dyn Scanner + '_>> {
            Ok(Box::new(self.scanner(input, name)?))
        })?;
        import::from_logs(logs, Format::Rules, which)
    }

    /// Reads a log: a table if the rules name columns, else lines.
    fn scanner(&self, input: Input, name: &str) -> io::Result<scan::Ruled<'_>> {
        let rows: Box<dyn Rows + '_> = match &self.columns {
            Some(columns) if crate::table::is_one(&input.beginning) => {
                Box::new(parquet::Rows::new(self, input, name, columns)?)
            }
            Some(columns) => Box::new(table::Table::new(self, input, columns)?),
            None => Box::new(text::Text::new(self, Lines::new(input.bytes, name))),
        };
        Ok(scan::Ruled::new(self, rows, name))
    }

    /// Which rule takes a line, and what it tells.
    pub fn describe(&self, line: &[u8]) -> String {
        if self.columns.is_some() {
            return "a row of the table\n".into();
        }
        let mut groups: Vec<_> =
            self.lines.iter().map(|rule| rule.regex.capture_locations()).collect();
        let mut fields = field::Fields::default();
        let (by, skips) = match text::take(self, line, &mut groups, &mut fields) {
            Taken::By(number) => (&self.lines[number], ""),
            Taken::Skipped(number) => (&self.lines[number], ", which skips it"),
            Taken::Row | Taken::ByNone => return "no rule takes it\n".into(),
        };
        let mut text = format!("taken by {} (line {}){skips}\n", by.name, by.place);
        for (field, value) in fields.all() {
            let value = String::from_utf8_lossy(value);
            let _ = writeln!(text, "  {:<10} {}", field.name(), escape::line(&value));
        }
        text
    }

    /// Replaces what the log says by what it means.
    fn translate(&self, fields: &mut field::Fields) {
        for (field, text) in &self.set {
            if fields.get(*field).is_none() {
                fields.set(*field, text);
            }
        }
        for (words, (field, ..)) in self.words.iter().zip(field::FIELDS) {
            if words.is_empty() {
                continue;
            }
            if let Some(word) = fields.get(*field).and_then(|text| words.get(text)) {
                fields.set(*field, word);
            }
        }
    }
}

/// Gives the fields of one line or row after the other.
trait Rows {
    /// Reads the next one into `fields`; `None` at the end.
    fn next(&mut self, fields: &mut field::Fields) -> io::Result<Option<Taken>>;

    /// Its number, from 1.
    fn number(&self) -> u64;

    /// Its text, for examples.
    fn shown(&self) -> &[u8];

    /// Its end was left out.
    fn is_cut(&self) -> bool;
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// The fields are those of this rule.
    By(usize),
    /// This rule skips it.
    Skipped(usize),
    /// It is a row of a table.
    Row,
    /// No rule takes it.
    ByNone,
}
