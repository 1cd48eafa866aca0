//! Tables of Parquet -> text: a line with the names of the columns, then a line for each row.
//!
//! ```text
//! func_id: STRING, rank: INT32, tstart: FLOAT   ──▶   "func_id\trank\ttstart\nread\t4\t0.25\n"
//! ```
//!
//! Between values is a tabulator; one within a value, or the end of a line, is a blank there. A null is an
//! empty text. One page of each column is in memory.

use model::contain::contained;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use parquet::record::reader::RowIter;
use std::io::{self, Read, Write};

/// A table as text.
pub struct Text {
    rows: RowIter<'static>,
    rows_left: u64,
    line: Vec<u8>,
    /// Place of the next byte in the line.
    at: usize,
}

/// The log is a table of Parquet.
pub fn is_one(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PAR1")
}

impl Text {
    /// Opens a table. The directory of a table is at its end, so an unnamed copy of it is made.
    ///
    /// # Errors
    /// It is damaged, or there is no room for the copy.
    pub fn open(mut bytes: impl Read) -> io::Result<Text> {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut bytes, &mut file)?;
        let reader = guarded(|| SerializedFileReader::new(file))?;
        let metadata = reader.metadata().file_metadata();
        let names = metadata.schema().get_fields().iter().map(|field| field.name().as_bytes());
        let line = [&names.collect::<Vec<_>>().join(&b'\t')[..], b"\n"].concat();
        // Without columns there are no rows, however many the table says it has.
        let rows_left = if line.len() > 1 { metadata.num_rows().max(0) as u64 } else { 0 };
        let rows = guarded(|| Ok(RowIter::from_file_into(Box::new(reader))))?;
        Ok(Text { rows, rows_left, line, at: 0 })
    }

    /// Goes on to the next row; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.rows_left == 0 {
            return Ok(false);
        }
        let Some(row) = guarded(|| self.rows.next().transpose())? else { return Ok(false) };
        (self.at, self.rows_left) = (0, self.rows_left - 1);
        self.line.clear();
        for (_, field) in row.get_column_iter() {
            let start = self.line.len();
            put(field, &mut self.line)?;
            let ends = self.line[start..].iter_mut().filter(|byte| b"\t\n\r".contains(byte));
            ends.for_each(|byte| *byte = b' ');
            self.line.push(b'\t');
        }
        self.line.pop();
        self.line.push(b'\n');
        Ok(true)
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() && !self.advance()? {
            return Ok(0);
        }
        let read = (&self.line[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

/// Appends a value as text.
fn put(field: &Field, text: &mut Vec<u8>) -> io::Result<()> {
    match field {
        Field::Null => Ok(()),
        Field::Str(value) => text.write_all(value.as_bytes()),
        Field::Bytes(value) => text.write_all(value.data()),
        Field::Float(value) => write!(text, "{value}"),
        Field::Double(value) => write!(text, "{value}"),
        // A column of Recorder's is a list of one value in each row.
        Field::ListInternal(list) => match list.elements() {
            [value] => put(value, text),
            _ => Ok(()),
        },
        Field::Group(_) | Field::MapInternal(_) => Ok(()),
        other => write!(text, "{other}"),
    }
}

/// Errors and panics of the library as errors of the log.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
    match contained(read) {
        Some(Ok(read)) => Ok(read),
        Some(Err(error)) => Err(io::Error::other(format!("this table of Parquet: {error}"))),
        None => Err(io::Error::other("this table of Parquet is damaged")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_texts() {
        let text = |field: Field| {
            let mut text = Vec::new();
            put(&field, &mut text).expect("memory");
            String::from_utf8(text).expect("text")
        };
        for (field, expected) in [
            (Field::Null, ""),
            (Field::Str("a b".into()), "a b"),
            (Field::Long(-7), "-7"),
            (Field::Float(0.1), "0.1"),
            (Field::Double(1e-7), "0.0000001"),
            (Field::Bool(true), "true"),
        ] {
            assert_eq!(text(field), expected);
        }
    }
}
