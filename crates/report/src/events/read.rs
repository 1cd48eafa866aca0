//! events.parquet -> events, one row group in memory at a time.

use super::columns::{COLUMNS, Column, EVENTS_FILE, EventRow, VERSION_KEY, Value, decode};
use crate::file::{StoreError, named, open_regular};
use model::Op;
use model::event::NO_ID;
use model::run::VERSION;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescPtr;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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
        let (table, tables) = (Table::open(path)?, Tables::default());
        Ok(EventReader { table, group: 0, events: Vec::new().into_iter(), tables })
    }

    /// Number of events in the file.
    pub fn event_count(&self) -> u64 {
        self.table.rows()
    }

    /// Labels that [`model::Event::label`] of the events given so far points to.
    pub fn labels(&self) -> &[String] {
        &self.tables.labels.texts
    }

    /// Paths that [`model::Event::path`] and [`model::Event::path2`] of the events given so far point to.
    pub fn paths(&self) -> &[Vec<u8>] {
        &self.tables.paths.texts
    }

    /// Names of calls that [`model::event::Details::call`] of the events given so far point to.
    pub fn calls(&self) -> &[String] {
        &self.tables.calls.texts
    }

    /// Machines of the ranks whose events were given so far.
    pub fn hosts(&self) -> &BTreeMap<u32, String> {
        &self.tables.hosts
    }

    /// Reads the next row group; false at the end.
    fn next_group(&mut self) -> Result<bool> {
        if self.group == self.table.groups() {
            return Ok(false);
        }
        let mut events = Vec::new();
        for column in COLUMNS {
            if column.is_text() {
                let texts = self.table.texts(self.group, column.name)?;
                self.tables.put(column.name, &texts, &mut events)?;
            } else {
                let numbers = self.table.numbers(self.group, column.name)?;
                // The first column has the number of rows.
                events.resize(numbers.len(), EventRow::default());
                put_numbers(column, &numbers, &mut events)?;
            }
        }
        // No operation ends before it starts, whatever a stranger's table says: readers compute with that.
        for EventRow { event, .. } in &mut events {
            event.end_ns = event.end_ns.max(event.start_ns);
        }
        self.group += 1;
        self.events = events.into_iter();
        Ok(true)
    }
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
                    return Some(Err(self.table.damaged(error)));
                }
            }
        }
    }
}

/// The meaning of each text of a column, `none` where there is no text. Each different one is looked up once.
pub fn meanings<'t, M: Copy>(
    texts: impl Iterator<Item = Option<&'t ByteArray>>,
    none: M,
    mut look_up: impl FnMut(&str) -> Result<M>,
) -> Result<Vec<M>> {
    let mut known: HashMap<&[u8], M> = HashMap::new();
    let meaning = |text: Option<&'t ByteArray>| {
        let Some(text) = text else { return Ok(none) };
        if let Some(meaning) = known.get(text.data()) {
            return Ok(*meaning);
        }
        let meaning = look_up(text.as_utf8()?)?;
        known.insert(text.data(), meaning);
        Ok(meaning)
    };
    texts.map(meaning).collect()
}

/// The operation of this name.
pub fn find_op(name: &str) -> Result<Op> {
    Op::find(name).ok_or_else(|| invalid("op"))
}

/// Names and places that the events so far refer to.
#[derive(Debug, Default)]
struct Tables {
    labels: Names<String>,
    paths: Names<Vec<u8>>,
    calls: Names<String>,
    hosts: BTreeMap<u32, String>,
}

/// Texts by id, each once.
#[derive(Debug)]
struct Names<T> {
    ids: HashMap<String, u32>,
    texts: Vec<T>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { ids: HashMap::new(), texts: Vec::new() }
    }
}

impl<T> Names<T> {
    /// The id of a name, whose text is `make` of it.
    fn id(&mut self, name: &str, make: impl Fn(&str) -> Option<T>) -> Result<u32> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        let id = self.texts.len() as u32;
        if id == NO_ID {
            return Err(invalid("number of names"));
        }
        self.texts.push(make(name).ok_or_else(|| invalid("name"))?);
        self.ids.insert(name.into(), id);
        Ok(id)
    }
}

impl Tables {
    /// Gives the events what a column of texts says about them.
    fn put(
        &mut self,
        column: &str,
        texts: &[Option<ByteArray>],
        events: &mut [EventRow],
    ) -> Result<()> {
        let all = texts.iter().map(Option::as_ref);
        // Rows of a run call "in no label" "", events call it NO_ID.
        let filled = all.clone().map(|text| text.filter(|text| !text.data().is_empty()));
        let text = |text: &str| Some(text.to_string());
        let (labels, paths, calls) = (&mut self.labels, &mut self.paths, &mut self.calls);
        let (ids, field): (Vec<u32>, fn(&mut EventRow) -> &mut u32) = match column {
            "label" => {
                let ids = meanings(filled, NO_ID, |name| labels.id(name, text))?;
                (ids, |row| &mut row.event.label)
            }
            "call" => {
                let ids = meanings(filled, NO_ID, |name| calls.id(name, text))?;
                (ids, |row| &mut row.details.call)
            }
            "path" => {
                let ids = meanings(all, NO_ID, |name| paths.id(name, decode))?;
                (ids, |row| &mut row.event.path)
            }
            "path2" => {
                let ids = meanings(all, NO_ID, |name| paths.id(name, decode))?;
                (ids, |row| &mut row.event.path2)
            }
            "op" => {
                let ops = meanings(all, None, |name| find_op(name).map(Some))?;
                for (row, op) in events.iter_mut().zip(ops) {
                    row.event.op = op.ok_or_else(|| invalid("op"))? as u8;
                }
                return Ok(());
            }
            "host" => return self.put_hosts(all, events),
            // `file` follows from the site.
            _ => return Ok(()),
        };
        events.iter_mut().zip(ids).for_each(|(row, id)| *field(row) = id);
        Ok(())
    }

    fn put_hosts<'t>(
        &mut self,
        hosts: impl Iterator<Item = Option<&'t ByteArray>>,
        events: &[EventRow],
    ) -> Result<()> {
        for (row, host) in events.iter().zip(hosts) {
            if let Entry::Vacant(entry) = self.hosts.entry(row.rank) {
                let host = host.ok_or_else(|| invalid("host"))?;
                entry.insert(host.as_utf8()?.to_string());
            }
        }
        Ok(())
    }
}

/// Gives the events what a column of numbers says about them.
fn put_numbers(column: &Column, values: &[i64], events: &mut [EventRow]) -> Result<()> {
    let largest = match column.name {
        "errno" => i64::from(u16::MAX),
        "flags" => i64::from(u8::MAX),
        _ => i64::MAX,
    };
    if largest < i64::MAX && values.iter().any(|value| !(0..=largest).contains(value)) {
        return Err(invalid(column.name));
    }
    for (row, value) in events.iter_mut().zip(values) {
        (column.put)(row, *value as u64);
    }
    Ok(())
}

/// Runs `read` such that a panic in it is a silent error. After an error nothing more may be asked
/// of what it used.
fn contained<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let given_up = || Err(invalid("content: the Parquet library gave up on it"));
    model::contain::contained(read).unwrap_or_else(given_up)
}

/// An open event table, for one thread.
pub struct Table {
    path: PathBuf,
    parquet: SerializedFileReader<File>,
    /// Index of each of [`COLUMNS`] in the file.
    positions: Vec<usize>,
}

impl Table {
    /// Opens the table; `path` is the folder of a run, or the file itself.
    ///
    /// # Errors
    /// A missing, truncated, damaged, newer or foreign file, each told apart.
    pub fn open(path: &Path) -> std::result::Result<Table, StoreError> {
        let path = if path.is_dir() { path.join(EVENTS_FILE) } else { named(path) };
        let parquet = open_table(&path)?;
        let positions = check_format(&parquet, &path)?;
        Ok(Table { path, parquet, positions })
    }

    /// Row groups in the file.
    pub fn groups(&self) -> usize {
        self.parquet.num_row_groups()
    }

    /// Rows in the file.
    pub fn rows(&self) -> u64 {
        self.parquet.metadata().file_metadata().num_rows().max(0) as u64
    }

    /// Reader of a column in a row group, and the number of rows.
    fn column(&self, group: usize, name: &str) -> Result<(ColumnReader, usize)> {
        let rows = self.parquet.metadata().row_group(group).num_rows();
        let rows = usize::try_from(rows).map_err(|_| invalid("number of rows"))?;
        let at = COLUMNS.iter().position(|column| column.name == name);
        let position = self.positions[at.ok_or_else(|| invalid("column"))?];
        Ok((self.parquet.get_row_group(group)?.get_column_reader(position)?, rows))
    }

    /// All values of a column of numbers in a row group.
    pub fn numbers(&self, group: usize, name: &str) -> Result<Vec<i64>> {
        match self.column(group, name)? {
            (ColumnReader::Int32ColumnReader(reader), rows) => {
                let (values, _) = read_column::<Int32Type>(reader, rows)?;
                Ok(values.into_iter().map(i64::from).collect())
            }
            (ColumnReader::Int64ColumnReader(reader), rows) => {
                Ok(read_column::<Int64Type>(reader, rows)?.0)
            }
            _ => Err(invalid("type of a column")),
        }
    }

    /// All values of a column of texts in a row group.
    pub fn texts(&self, group: usize, name: &str) -> Result<Vec<Option<ByteArray>>> {
        match self.column(group, name)? {
            (ColumnReader::ByteArrayColumnReader(reader), rows) => {
                let (values, levels) = read_column::<ByteArrayType>(reader, rows)?;
                let mut values = values.into_iter();
                Ok(match levels.is_empty() {
                    true => values.map(Some).collect(),
                    false => levels
                        .iter()
                        .map(|level| if *level == 0 { None } else { values.next() })
                        .collect(),
                })
            }
            _ => Err(invalid("type of a column")),
        }
    }

    /// Gives every name in a column of names, each as often as it differs from the one before.
    pub fn each_name(
        &self,
        column: &str,
        mut each: impl FnMut(&[u8]),
    ) -> std::result::Result<(), StoreError> {
        self.guarded(|| {
            for group in 0..self.groups() {
                for same in self.texts(group, column)?.chunk_by(|a, b| a == b) {
                    let Some(name) = &same[0] else { continue };
                    each(&decode(name.as_utf8()?).ok_or_else(|| invalid("name"))?);
                }
            }
            Ok(())
        })
    }

    /// Errors of `read`, with the name of the file.
    pub fn guarded<T>(
        &self,
        read: impl FnOnce() -> Result<T>,
    ) -> std::result::Result<T, StoreError> {
        contained(read).map_err(|error| self.damaged(error))
    }

    fn damaged(&self, error: ParquetError) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), detail: error.to_string() }
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

/// A table that no writer made: "an impossible WHAT".
pub fn invalid(what: &str) -> ParquetError {
    ParquetError::General(format!("an impossible {what}"))
}

const EXPECTED: &str = "an event table of Parabench";

fn foreign(path: &Path) -> StoreError {
    StoreError::Foreign { path: path.into(), expected: EXPECTED }
}

fn starts_like_parquet(file: &File) -> bool {
    let mut magic = [0; 4];
    file.read_exact_at(&mut magic, 0).is_ok() && magic == *b"PAR1"
}

/// Opens a file and reads Parquet's directory at its end.
fn open_table(path: &Path) -> std::result::Result<SerializedFileReader<File>, StoreError> {
    let (file, size_bytes) = open_regular(path, EXPECTED, u64::MAX)?;
    let ours = size_bytes == 0 || starts_like_parquet(&file);
    contained(|| SerializedFileReader::new(file)).map_err(|_| match ours {
        // Parquet's directory is at the end: without it the file was cut.
        true => StoreError::Truncated { path: path.into(), size_bytes },
        false => foreign(path),
    })
}

/// Checks the version that the file says, and gives the positions of [`COLUMNS`] in it. Columns
/// that others added are no fault.
fn check_format(
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
    let place = |column: &Column| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(contained(|| Ok(1)).unwrap(), 1);
        let error = contained::<()>(|| panic!("nobody reads this")).unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
    }
}
