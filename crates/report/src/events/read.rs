//! events.parquet -> events, one row group in memory at a time.

use super::columns::{COLUMNS, Value};
use super::contain::contained;
use super::fill::{Tables, put_numbers};
use super::{EVENTS_FILE, VERSION_KEY};
use crate::file::{StoreError, named, open_regular};
use model::event::Event;
use model::run::VERSION;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescPtr;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// An event and where it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// Rank that executed it.
    pub rank: u32,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// What it was.
    pub event: Event,
}

/// Gives back the events of a run in the order of the file. Memory: one row group and the names.
pub struct EventReader {
    path: PathBuf,
    parquet: SerializedFileReader<File>,
    group: usize,
    /// Where each of [`COLUMNS`] stands in the file.
    positions: Vec<usize>,
    events: std::vec::IntoIter<EventRow>,
    tables: Tables,
}

impl EventReader {
    /// Opens the table; `path` is the folder of a run, or the file itself.
    ///
    /// # Errors
    /// A missing, truncated, damaged, newer or foreign file, each told apart.
    pub fn open(path: &Path) -> std::result::Result<EventReader, StoreError> {
        let path = table_path(path);
        let parquet = open_table(&path)?;
        let positions = check_format(&parquet, &path)?;
        Ok(EventReader {
            path,
            parquet,
            group: 0,
            positions,
            events: Vec::new().into_iter(),
            tables: Tables::default(),
        })
    }

    /// Number of events in the file.
    pub fn event_count(&self) -> u64 {
        self.parquet.metadata().file_metadata().num_rows().max(0) as u64
    }

    /// Labels that [`Event::label`] of the events given so far points to.
    pub fn labels(&self) -> &[String] {
        &self.tables.labels.texts
    }

    /// Paths that [`Event::path`] and [`Event::path2`] of the events given so far point to.
    pub fn paths(&self) -> &[Vec<u8>] {
        &self.tables.paths.texts
    }

    /// Machines of the ranks whose events were given so far.
    pub fn hosts(&self) -> &BTreeMap<u32, String> {
        &self.tables.hosts
    }

    /// Row groups in the file.
    pub(super) fn group_count(&self) -> usize {
        self.parquet.num_row_groups()
    }

    /// One of [`COLUMNS`] in one row group.
    pub(super) fn column(&self, group: usize, column: usize) -> Result<Values> {
        contained(|| {
            let group = self.parquet.get_row_group(group)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            Values::read(group.get_column_reader(self.positions[column])?, rows)
        })
    }

    /// Reads the next row group; false at the end.
    fn next_group(&mut self) -> Result<bool> {
        if self.group == self.parquet.num_row_groups() {
            return Ok(false);
        }
        let group = self.parquet.get_row_group(self.group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut events = Vec::new();
        for (at, column) in self.positions.iter().zip(COLUMNS) {
            let values = Values::read(group.get_column_reader(*at)?, rows)?;
            // Only now is it certain that there are so many rows.
            events.resize(rows, EventRow::default());
            match values {
                Values::Numbers(values) => put_numbers(column.name, &values, &mut events)?,
                Values::Texts(values) => self.tables.put(column.name, &values, &mut events)?,
            }
        }
        self.group += 1;
        self.events = events.into_iter();
        Ok(true)
    }
}

/// One column of one row group.
pub(super) enum Values {
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

    fn read(reader: ColumnReader, rows: usize) -> Result<Values> {
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
                    self.group = self.parquet.num_row_groups();
                    let (path, detail) = (self.path.clone(), error.to_string());
                    return Some(Err(StoreError::Corrupt { path, detail }));
                }
            }
        }
    }
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader").field("path", &self.path).field("group", &self.group).finish()
    }
}

const EXPECTED: &str = "an event table of Parabench";
/// Largest directory of a table that is read, bytes: 2^32 rows have a tenth of it.
const DIRECTORY_MAX: u32 = 1 << 30;

fn foreign(path: &Path) -> StoreError {
    StoreError::Foreign { path: path.into(), expected: EXPECTED }
}

fn starts_like_parquet(file: &File) -> bool {
    let mut magic = [0; 4];
    file.read_exact_at(&mut magic, 0).is_ok() && magic == *b"PAR1"
}

/// The file's last words tell how much of it is Parquet's directory, all of which is read.
fn directory_is_sensible(file: &File, size_bytes: u64) -> bool {
    let mut last = [0; 8];
    let read = size_bytes.checked_sub(8).map(|at| file.read_exact_at(&mut last, at));
    let [a, b, c, d, magic @ ..] = last;
    let is_whole = matches!(read, Some(Ok(()))) && magic == *b"PAR1";
    !is_whole || u32::from_le_bytes([a, b, c, d]) <= DIRECTORY_MAX
}

/// The file of the table: `path` is the folder of a run, or the file itself.
pub(crate) fn table_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(EVENTS_FILE) } else { named(path) }
}

/// Opens a file and reads Parquet's directory at its end.
pub(crate) fn open_table(
    path: &Path,
) -> std::result::Result<SerializedFileReader<File>, StoreError> {
    let (file, size_bytes) = open_regular(path, EXPECTED, u64::MAX)?;
    let ours = size_bytes == 0 || starts_like_parquet(&file);
    if !directory_is_sensible(&file, size_bytes) {
        let detail = "a directory of impossible size".into();
        return Err(StoreError::Corrupt { path: path.into(), detail });
    }
    contained(|| SerializedFileReader::new(file)).map_err(|_| match ours {
        // Parquet's directory stands at the end: without it the file was cut.
        true => StoreError::Truncated { path: path.into(), size_bytes },
        false => foreign(path),
    })
}

/// Checks the version that the file says, and gives the positions of [`COLUMNS`] in it. Columns
/// that others added are no fault.
pub(crate) fn check_format(
    parquet: &SerializedFileReader<File>,
    path: &Path,
) -> std::result::Result<Vec<usize>, StoreError> {
    let metadata = parquet.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let version = pairs.iter().find(|pair| pair.key == VERSION_KEY);
    let version = version.and_then(|pair| pair.value.as_deref()?.parse::<u64>().ok());
    let found = version.ok_or_else(|| foreign(path))?;
    if found != u64::from(VERSION) {
        return Err(StoreError::Version { path: path.into(), found, read: VERSION });
    }
    let found = metadata.schema_descr().columns();
    let place = |column: &super::Column| {
        let same = |found: &ColumnDescPtr| {
            found.name() == column.name
                && found.physical_type() == physical_type(column.value)
                && found.max_rep_level() == 0
                && found.max_def_level()
                    == i16::from(matches!(column.value, Value::OptionalText(_)))
        };
        found.iter().position(same).ok_or_else(|| StoreError::Corrupt {
            path: path.into(),
            detail: format!("it has no column {} as an event table has it", column.name),
        })
    };
    COLUMNS.iter().map(place).collect()
}

fn physical_type(value: Value) -> Type {
    match value {
        Value::Int32(_) => Type::INT32,
        Value::Int64(_) => Type::INT64,
        Value::Text(_) | Value::OptionalText(_) => Type::BYTE_ARRAY,
    }
}
