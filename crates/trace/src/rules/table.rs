//! Rows of a table with named columns (CSV) -> fields.

use super::field::{Field, Fields};
use super::{Rows, Rules, Taken};
use crate::input::Input;
use model::escape;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// Longest row that is read, bytes.
const ROW_MAX: u64 = 1 << 20;
/// What may stand between columns; the one that the first line has most.
const SIGNS: &[u8] = b",;\t|";

/// A table and the fields that its columns are.
pub struct Table<'r> {
    rules: &'r Rules,
    reader: csv::Reader<Limited>,
    columns: Vec<(usize, Field)>,
    record: csv::ByteRecord,
    shown: Vec<u8>,
    number: u64,
    left: Rc<Cell<u64>>,
}

impl<'r> Table<'r> {
    /// Reads a table whose columns `rules` name.
    ///
    /// # Errors
    /// It cannot be read, or lacks a column.
    pub fn new(rules: &'r Rules, input: Input, names: &[(Field, String)]) -> io::Result<Table<'r>> {
        let left = Rc::new(Cell::new(ROW_MAX));
        let sign = sign(&input.beginning);
        let limited = Limited { bytes: input.bytes, left: left.clone() };
        let mut reader =
            csv::ReaderBuilder::new().delimiter(sign).flexible(true).from_reader(limited);
        let head = reader.byte_headers().map_err(io::Error::from)?.clone();
        let column = |(field, name): &(Field, String)| {
            let same = |found: &[u8]| found.trim_ascii() == name.as_bytes();
            match head.iter().position(same) {
                Some(at) => Ok((at, *field)),
                None => {
                    let columns =
                        head.iter().map(|name| String::from_utf8_lossy(name).into_owned());
                    Err(missing(name, &columns.collect::<Vec<_>>()))
                }
            }
        };
        let columns = names.iter().map(column).collect::<io::Result<_>>()?;
        let (record, shown) = (csv::ByteRecord::new(), Vec::new());
        Ok(Table { rules, reader, columns, record, shown, number: 1, left })
    }
}

impl Rows for Table<'_> {
    fn next(&mut self, fields: &mut Fields) -> io::Result<Option<Taken>> {
        fields.clear();
        self.left.set(ROW_MAX);
        if !self.reader.read_byte_record(&mut self.record).map_err(io::Error::from)? {
            return Ok(None);
        }
        self.number = self.record.position().map_or(0, csv::Position::line);
        self.shown.clear();
        for (at, value) in self.record.iter().enumerate() {
            self.shown.extend_from_slice(if at > 0 { b"," } else { b"" });
            self.shown.extend_from_slice(value);
        }
        for (at, field) in &self.columns {
            fields.set(*field, self.record.get(*at).unwrap_or_default().trim_ascii());
        }
        self.rules.translate(fields);
        Ok(Some(Taken::Row))
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn shown(&self) -> &[u8] {
        &self.shown
    }

    fn is_cut(&self) -> bool {
        false
    }
}

/// The rules name a column that the table lacks.
pub fn missing(name: &str, columns: &[String]) -> io::Error {
    let message = format!("it has no column {name:?}, but {}", columns.join(", "));
    io::Error::other(escape::line(&message))
}

/// Bytes until a row is too long: a quote that nothing closes would take all memory.
struct Limited {
    bytes: Box<dyn BufRead>,
    left: Rc<Cell<u64>>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::other("a row is longer than 1 MiB: a quote may be missing"));
        }
        let read = self.bytes.read(buffer)?;
        self.left.set(self.left.get().saturating_sub(read as u64));
        Ok(read)
    }
}

fn sign(beginning: &[u8]) -> u8 {
    let head = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |sign: u8| head.iter().filter(|byte| **byte == sign).count();
    SIGNS.iter().copied().rev().max_by_key(|sign| count(*sign)).unwrap_or(b',')
}
