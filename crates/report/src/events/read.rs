//! events.parquet -> events, one row group in memory at a time.

use super::columns::{COLUMNS, Column, Value, nothing};
use super::contain::contained;
use super::fill::{Tables, put_numbers};
use super::names::decode;
use super::table::Table;
use crate::file::StoreError;
use model::event::{Details, Event};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// An event and where it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// Rank that executed it.
    pub rank: u32,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// The operation.
    pub event: Event,
    /// Figures of the log itself; none in other runs.
    pub details: Details,
}

/// Gives back the events of a run in the order of the file. Memory: one row group and the names.
pub struct EventReader {
    table: Table,
    group: usize,
    events: std::vec::IntoIter<EventRow>,
    tables: Tables,
}

impl EventReader {
    /// Opens the table; `path` is the folder of a run, or the file itself.
    ///
    /// # Errors
    /// A missing, truncated, damaged, newer or foreign file, each told apart.
    pub fn open(path: &Path) -> std::result::Result<EventReader, StoreError> {
        Ok(EventReader {
            table: Table::open(path)?,
            group: 0,
            events: Vec::new().into_iter(),
            tables: Tables::default(),
        })
    }

    /// Number of events in the file.
    pub fn event_count(&self) -> u64 {
        self.table.rows()
    }

    /// Labels that [`Event::label`] of the events given so far points to.
    pub fn labels(&self) -> &[String] {
        &self.tables.labels.texts
    }

    /// Paths that [`Event::path`] and [`Event::path2`] of the events given so far point to.
    pub fn paths(&self) -> &[Vec<u8>] {
        &self.tables.paths.texts
    }

    /// Names of calls that [`Details::call`] of the events given so far point to.
    pub fn calls(&self) -> &[String] {
        &self.tables.calls.texts
    }

    /// Machines of the ranks whose events were given so far.
    pub fn hosts(&self) -> &BTreeMap<u32, String> {
        &self.tables.hosts
    }

    /// Row groups in the file.
    pub(super) fn group_count(&self) -> usize {
        self.table.groups()
    }

    /// One of [`COLUMNS`] in one row group.
    pub(super) fn column(&self, group: usize, name: &str) -> Result<Values> {
        contained(|| {
            let (group, rows) = self.table.group(group)?;
            group.values(name, rows)
        })
    }

    /// Reads the next row group; false at the end.
    fn next_group(&mut self) -> Result<bool> {
        if self.group == self.table.groups() {
            return Ok(false);
        }
        let (group, rows) = self.table.group(self.group)?;
        let mut events = Vec::new();
        for column in COLUMNS {
            let values = group.values(column.name, rows)?;
            // Only now is the number of rows certain.
            events.resize(rows, EventRow::default());
            match values {
                Values::Numbers(values) => put_numbers(column, &values, &mut events)?,
                Values::Texts(values) => self.tables.put(column.name, &values, &mut events)?,
            }
        }
        self.group += 1;
        self.events = events.into_iter();
        Ok(true)
    }
}

/// Gives every name in a column of names, each as often as it is not the same as that before it.
/// Memory: one row group of the column.
pub(crate) fn name_column(
    reader: &EventReader,
    column: &str,
    mut each: impl FnMut(&[u8]),
) -> std::result::Result<(), StoreError> {
    let broken = |error: ParquetError| {
        let (path, detail) = (reader.table.path.clone(), error.to_string());
        StoreError::Corrupt { path, detail }
    };
    for group in 0..reader.group_count() {
        let Values::Texts(names) = reader.column(group, column).map_err(broken)? else { continue };
        for same in names.chunk_by(|a, b| a == b) {
            let Some(name) = &same[0] else { continue };
            let text = name.as_utf8().map_err(broken)?;
            let name = decode(text).ok_or_else(|| broken(invalid("name")))?;
            each(&name);
        }
    }
    Ok(())
}

/// One column of one row group.
pub(crate) enum Values {
    Numbers(Vec<i64>),
    Texts(Vec<Option<ByteArray>>),
}

impl Values {
    /// Rows that the column is of.
    pub(super) fn rows(&self) -> usize {
        match self {
            Values::Numbers(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }

    /// Default values of a column that the file does not have.
    pub(super) fn absent(column: &Column, rows: usize) -> Values {
        match column.value {
            Value::Int32(_) | Value::Int64(_) => Values::Numbers(vec![nothing(column.name); rows]),
            _ => Values::Texts(vec![Some(ByteArray::from("")); rows]),
        }
    }

    /// Reads the next `count` rows.
    pub(super) fn read(reader: ColumnReader, rows: usize) -> Result<Values> {
        Ok(match reader {
            ColumnReader::Int32ColumnReader(reader) => {
                let (values, _) = read_column::<Int32Type>(reader, rows)?;
                Values::Numbers(values.into_iter().map(i64::from).collect())
            }
            ColumnReader::Int64ColumnReader(reader) => {
                Values::Numbers(read_column::<Int64Type>(reader, rows)?.0)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let (values, levels) = read_column::<ByteArrayType>(reader, rows)?;
                Values::Texts(spread(values, &levels))
            }
            _ => return Err(invalid("type of a column")),
        })
    }
}

/// Values that are there, and for every row 1 if it has one; no levels if all have.
fn read_column<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>)> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (mut read, mut more) = (0, 1);
    while read < rows && more > 0 {
        more = reader.read_records(rows - read, Some(&mut levels), None, &mut values)?.0;
        read += more;
    }
    let complete = read == rows && (values.len() == rows || levels.len() == rows);
    if complete { Ok((values, levels)) } else { Err(invalid("number of rows")) }
}

fn spread(values: Vec<ByteArray>, levels: &[i16]) -> Vec<Option<ByteArray>> {
    if levels.is_empty() {
        return values.into_iter().map(Some).collect();
    }
    let mut values = values.into_iter();
    levels.iter().map(|level| if *level == 0 { None } else { values.next() }).collect()
}

pub(crate) fn invalid(what: &str) -> ParquetError {
    ParquetError::General(format!("an impossible {what}"))
}

impl Iterator for EventReader {
    type Item = std::result::Result<EventRow, StoreError>;

    /// The next event. After an error comes the end.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.events.next() {
                return Some(Ok(event));
            }
            match contained(|| self.next_group()) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.group = self.table.groups();
                    let (path, detail) = (self.table.path.clone(), error.to_string());
                    return Some(Err(StoreError::Corrupt { path, detail }));
                }
            }
        }
    }
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader")
            .field("path", &self.table.path)
            .field("group", &self.group)
            .finish()
    }
}
