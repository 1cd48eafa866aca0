//! Where Recorder's calls stand: lines of text, or rows of a table.

use super::{Line, Words, parse};
use crate::lines::Lines;
use crate::lines::Source;
use crate::table::Table;
use std::fs::File;
use std::io;

/// Most arguments that a table has of a call.
const ARGUMENTS_MAX: usize = 10;
/// Columns of recorder2parquet, of which the first five must be there; arguments follow.
const COLUMNS: &[&str] = &[
    "rank",
    "tstart",
    "tend",
    "func_id",
    "args_1",
    "arg_count",
    "args_1",
    "args_2",
    "args_3",
    "args_4",
    "args_5",
    "args_6",
    "args_7",
    "args_8",
    "args_9",
    "args_10",
];
const NEEDED: usize = 5;
const ARG_COUNT: usize = 5;
/// Rows that are examined to know how open files are identified.
const LOOKED_AT: usize = 10_000;

/// Lines or rows with a call in each.
pub trait Calls: Source {
    /// The call of the current one; `None`: it is in no known form.
    fn call(&self) -> Option<Line<'_>>;
}

impl Calls for Lines {
    fn call(&self) -> Option<Line<'_>> {
        parse(self.line())
    }
}

impl Calls for Table {
    fn call(&self) -> Option<Line<'_>> {
        let text = |column| std::str::from_utf8(self.text(column)).ok();
        // A cast saturates.
        let ns = |column| {
            let seconds: f64 = text(column)?.parse().ok()?;
            seconds.is_finite().then_some((seconds * 1e9).round() as u64)
        };
        let count = text(ARG_COUNT)?.parse().unwrap_or(ARGUMENTS_MAX).min(ARGUMENTS_MAX);
        let mut words: Vec<&[u8]> = (ARG_COUNT + 1..).take(count).map(|at| self.text(at)).collect();
        while !self.has(ARG_COUNT) && words.last().is_some_and(|word| word.is_empty()) {
            words.pop();
        }
        Some(Line {
            rank: Some(text(0)?.parse().ok()?),
            span_ns: (ns(1)?, ns(2)?),
            function: self.text(3),
            layer: None,
            arguments: Words::Apart(words),
        })
        .filter(|line| !line.function.is_empty())
    }
}

/// Opens a table of recorder2parquet, and says whether open files have numbers in it.
///
/// # Errors
/// It is damaged, or another table.
pub fn open(file: &File, name: &str) -> io::Result<(Table, bool)> {
    let mut first = Table::open(file, name, COLUMNS)?;
    if let Some(missing) = (0..NEEDED).find(|column| !first.has(*column)) {
        return Err(io::Error::other(format!(
            "this Parquet table has no column {}, so Recorder did not write it: make it CSV and read it \
             with --rules FILE. It has {}",
            COLUMNS[missing],
            crate::table::columns(file)?.join(", ")
        )));
    }
    let mut looked_at = 0;
    let mut has_numbers = None;
    while has_numbers.is_none() && looked_at < LOOKED_AT && first.advance()? {
        has_numbers = first.call().and_then(|line| super::is_number(&line));
        looked_at += 1;
    }
    Ok((Table::open(file, name, COLUMNS)?, has_numbers == Some(true)))
}
