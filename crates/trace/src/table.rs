//! Tables of Parquet -> rows of texts, of the columns with some names.
//!
//! ```text
//! func_id: STRING, rank: INT32, tstart: FLOAT   ──▶   "read", "4", "0.25"
//! ```
//!
//! A null is an empty text. One page of each column is in memory.

use crate::gaps::{Gap, Gaps};
use crate::input::Input;
use crate::lines::Source;
use model::contain::contained;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io::{self, Write};

/// An open table.
pub struct Table {
    name: String,
    rows: RowIter<'static>,
    /// The text of each column that is read, in the current row.
    columns: Vec<Vec<u8>>,
    /// Place in `columns` of each requested name; `None`: the table has no such column.
    places: Vec<Option<usize>>,
    number: u64,
    rows_left: u64,
}

/// The log is a table of Parquet.
pub fn is_one(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PAR1")
}

/// An unnamed copy of the input: the directory of a table is at its end.
///
/// # Errors
/// It cannot be read, or there is no room for the copy.
pub fn copied(mut input: Input) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input.bytes, &mut file)?;
    Ok(file)
}

impl Table {
    /// Opens a table that examples call `name`, to read the columns with these names.
    ///
    /// # Errors
    /// It is damaged.
    pub fn open(file: &File, name: &str, names: &[&str]) -> io::Result<Table> {
        let file = file.try_clone()?;
        let reader = guarded(|| SerializedFileReader::new(file))?;
        let root = reader.metadata().file_metadata().schema().clone();
        let found = |name: &&str| root.get_fields().iter().position(|field| field.name() == *name);
        let wanted: Vec<Option<usize>> = names.iter().map(found).collect();
        let mut read: Vec<usize> = wanted.iter().flatten().copied().collect();
        read.sort_unstable();
        read.dedup();
        let place = |at: Option<usize>| read.iter().position(|read| Some(*read) == at);
        let places = wanted.into_iter().map(place).collect();
        let fields: Vec<_> = read.iter().map(|at| root.get_fields()[*at].clone()).collect();
        let columns = vec![Vec::new(); fields.len()];
        let rows_left = reader.metadata().file_metadata().num_rows().max(0) as u64;
        let chosen = guarded(|| Type::group_type_builder(root.name()).with_fields(fields).build())?;
        let rows = guarded(|| RowIter::from_file_into(Box::new(reader)).project(Some(chosen)))?;
        Ok(Table { name: name.into(), rows, columns, places, number: 0, rows_left })
    }

    /// Whether the table has a column, by its place in the requested names.
    pub fn has(&self, column: usize) -> bool {
        self.places[column].is_some()
    }

    /// The text of the row in a column, by its place in the requested names.
    pub fn text(&self, column: usize) -> &[u8] {
        self.places[column].map_or(&b""[..], |at| &self.columns[at])
    }

    /// The row, with commas.
    pub fn shown(&self) -> Vec<u8> {
        self.columns.join(&b',')
    }
}

impl Source for Table {
    fn advance(&mut self) -> io::Result<bool> {
        // Without columns there are no rows, however many the table says it has.
        if self.rows_left == 0 || self.columns.is_empty() {
            return Ok(false);
        }
        let Some(row) = guarded(|| self.rows.next().transpose())? else { return Ok(false) };
        for (text, (_, field)) in self.columns.iter_mut().zip(row.get_column_iter()) {
            text.clear();
            put(field, text)?;
        }
        self.rows_left -= 1;
        self.number += 1;
        Ok(true)
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn count(&self, gap: Gap, gaps: &mut Gaps) {
        gaps.add_line(gap, &self.name, self.number, &self.shown());
    }
}

/// Names of the columns of a table, for messages.
///
/// # Errors
/// It is damaged.
pub fn columns(file: &File) -> io::Result<Vec<String>> {
    let file = file.try_clone()?;
    let reader = guarded(|| SerializedFileReader::new(file))?;
    let fields = reader.metadata().file_metadata().schema().get_fields();
    Ok(fields.iter().map(|field| field.name().into()).collect())
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
