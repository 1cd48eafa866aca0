//! Tables of Parquet -> rows of texts, of the columns that are asked for.
//!
//! ```text
//! op: STRING, pos: INT64, begin: TIMESTAMP(us)   ──▶   "read", "4096", "1795253061000100us"
//! ```
//!
//! A value is the text that the same table has as CSV; what is null is empty. Times of Parquet's own types
//! have their unit behind them. One page of each column is in memory.

use crate::by_line::Source;
use crate::gaps::{Gap, Gaps};
use crate::input::Input;
use model::contain::contained;
use parquet::basic::{LogicalType, TimeUnit};
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
    /// Of each column that is read: its unit, and the text of the row.
    columns: Vec<(&'static str, Vec<u8>)>,
    /// For each name that was asked for, its place in `columns`; `None`: the table has no such column.
    places: Vec<Option<usize>>,
    number: u64,
    rows_left: u64,
}

/// The log is a table of Parquet.
pub fn is_one(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PAR1")
}

/// A copy without a name of what can be read only once: the directory of a table stands at its end.
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
        let asked: Vec<Option<usize>> = names.iter().map(found).collect();
        let mut read: Vec<usize> = asked.iter().flatten().copied().collect();
        read.sort_unstable();
        read.dedup();
        let place = |at: Option<usize>| read.iter().position(|read| Some(*read) == at);
        let places = asked.into_iter().map(place).collect();
        let fields: Vec<_> = read.iter().map(|at| root.get_fields()[*at].clone()).collect();
        let columns = fields.iter().map(|field| (unit(field), Vec::new())).collect();
        let rows_left = reader.metadata().file_metadata().num_rows().max(0) as u64;
        let chosen = guarded(|| Type::group_type_builder(root.name()).with_fields(fields).build())?;
        let rows = guarded(|| RowIter::from_file_into(Box::new(reader)).project(Some(chosen)))?;
        Ok(Table { name: name.into(), rows, columns, places, number: 0, rows_left })
    }

    /// Whether there is the column with this place in the names that were asked for.
    pub fn has(&self, column: usize) -> bool {
        self.places[column].is_some()
    }

    /// What the row has in the column with this place in the names that were asked for.
    pub fn text(&self, column: usize) -> &[u8] {
        self.places[column].map_or(&b""[..], |at| &self.columns[at].1)
    }

    /// The row, with commas.
    pub fn shown(&self) -> Vec<u8> {
        self.columns.iter().map(|column| &column.1[..]).collect::<Vec<_>>().join(&b',')
    }
}

impl Source for Table {
    fn advance(&mut self) -> io::Result<bool> {
        // Without columns there are no rows, however many the table says it has.
        if self.rows_left == 0 || self.columns.is_empty() {
            return Ok(false);
        }
        let Some(row) = guarded(|| self.rows.next().transpose())? else { return Ok(false) };
        for ((unit, text), (_, field)) in self.columns.iter_mut().zip(row.get_column_iter()) {
            text.clear();
            put(field, unit, text)?;
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

/// The unit that the type of a column names.
fn unit(field: &Type) -> &'static str {
    let of = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => "ms",
        TimeUnit::MICROS => "us",
        TimeUnit::NANOS => "ns",
    };
    match field.get_basic_info().logical_type_ref() {
        Some(LogicalType::Timestamp(time) | LogicalType::Time(time)) => of(&time.unit),
        _ => "",
    }
}

/// Appends a value as text.
fn put(field: &Field, unit: &str, text: &mut Vec<u8>) -> io::Result<()> {
    match field {
        Field::Null => Ok(()),
        Field::Str(value) => text.write_all(value.as_bytes()),
        Field::Bytes(value) => text.write_all(value.data()),
        Field::Float(value) => write!(text, "{value}"),
        Field::Double(value) => write!(text, "{value}"),
        Field::TimestampMillis(value) => write!(text, "{value}ms"),
        Field::TimestampMicros(value) => write!(text, "{value}us"),
        Field::TimeMillis(value) => write!(text, "{value}ms"),
        Field::TimeMicros(value) => write!(text, "{value}us"),
        // A column of Recorder's is a list of one value in each row.
        Field::ListInternal(list) => match list.elements() {
            [value] => put(value, unit, text),
            _ => Ok(()),
        },
        Field::Group(_) | Field::MapInternal(_) => Ok(()),
        other => write!(text, "{other}{unit}"),
    }
}

/// What the library says, or that it gave up, as an error of the log.
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
    fn values_are_the_texts_of_csv() {
        let text = |field: Field, unit: &str| {
            let mut text = Vec::new();
            put(&field, unit, &mut text).expect("memory");
            String::from_utf8(text).expect("text")
        };
        for (field, unit, expected) in [
            (Field::Null, "us", ""),
            (Field::Str("a b".into()), "", "a b"),
            (Field::Long(-7), "", "-7"),
            (Field::Long(12), "ns", "12ns"),
            (Field::TimestampMicros(5), "us", "5us"),
            (Field::Float(0.1), "", "0.1"),
            (Field::Double(1e-7), "", "0.0000001"),
            (Field::Bool(true), "", "true"),
        ] {
            assert_eq!(text(field, unit), expected);
        }
    }
}
