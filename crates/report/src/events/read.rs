//! events.parquet -> events, one row group in memory at a time.

use super::columns::{
    COLUMNS, Column, EVENTS_FILE, EventRow, LATER, VERSION_KEY, Value, decode, nothing,
};
use crate::file::{StoreError, named, open_regular};
use model::Op;
use model::event::NO_ID;
use model::run::{LabelRow, Row, VERSION};
use model::summary::Summary;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};
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

/// Names and places that the events so far refer to.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub labels: Names<String>,
    pub paths: Names<Vec<u8>>,
    pub calls: Names<String>,
    pub hosts: BTreeMap<u32, String>,
}

/// Texts by id, each once.
#[derive(Debug)]
pub(super) struct Names<T> {
    ids: HashMap<Vec<u8>, u32>,
    pub texts: Vec<T>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { ids: HashMap::new(), texts: Vec::new() }
    }
}

/// An event with its rank, and its value in a column of texts.
type Named<'a> = (&'a mut EventRow, Option<&'a ByteArray>);

impl<T> Names<T> {
    /// Puts the ids of a column's names into the events: [`NO_ID`] where there is none.
    fn put<'a>(
        &mut self,
        rows: impl Iterator<Item = Named<'a>>,
        field: impl Fn(&mut EventRow) -> &mut u32,
        make: impl Fn(&str) -> Option<T>,
    ) -> Result<()> {
        let mut previous: Option<(&ByteArray, u32)> = None;
        for (row, name) in rows {
            let id = match (name, previous) {
                (None, _) => NO_ID,
                (Some(name), Some((same, id))) if same.data() == name.data() => id,
                (Some(name), _) => self.id(name, &make)?,
            };
            previous = name.map(|name| (name, id));
            *field(row) = id;
        }
        Ok(())
    }

    /// The id of `name`; `make` gives the text of a new one.
    fn id(&mut self, name: &ByteArray, make: impl Fn(&str) -> Option<T>) -> Result<u32> {
        if let Some(id) = self.ids.get(name.data()) {
            return Ok(*id);
        }
        let text = make(name.as_utf8()?).ok_or_else(|| invalid("name"))?;
        let id = self.texts.len() as u32;
        if id == NO_ID {
            return Err(invalid("number of names"));
        }
        self.texts.push(text);
        self.ids.insert(name.data().to_vec(), id);
        Ok(id)
    }
}

impl Tables {
    /// Gives the events what a column of texts says about them.
    pub fn put(
        &mut self,
        column: &str,
        values: &[Option<ByteArray>],
        events: &mut [EventRow],
    ) -> Result<()> {
        let rows = events.iter_mut().zip(values.iter().map(Option::as_ref));
        match column {
            "host" => put_hosts(&mut self.hosts, rows),
            "op" => put_ops(rows),
            "label" => {
                // Rows of a run call "in no label" "", events call it NO_ID.
                let rows = rows.map(|(row, label)| (row, label.filter(|label| !label.is_empty())));
                self.labels.put(rows, |row| &mut row.event.label, |text| Some(text.into()))
            }
            "path" => self.paths.put(rows, |row| &mut row.event.path, decode),
            "path2" => self.paths.put(rows, |row| &mut row.event.path2, decode),
            "call" => {
                let rows = rows.map(|(row, call)| (row, call.filter(|call| !call.is_empty())));
                self.calls.put(rows, |row| &mut row.details.call, |text| Some(text.into()))
            }
            // `file` follows from the site.
            _ => Ok(()),
        }
    }
}

fn put_hosts<'a>(
    hosts: &mut BTreeMap<u32, String>,
    rows: impl Iterator<Item = Named<'a>>,
) -> Result<()> {
    for (row, host) in rows {
        if let Entry::Vacant(entry) = hosts.entry(row.rank) {
            let host = host.ok_or_else(|| invalid("host"))?;
            entry.insert(host.as_utf8()?.to_string());
        }
    }
    Ok(())
}

fn put_ops<'a>(rows: impl Iterator<Item = Named<'a>>) -> Result<()> {
    let mut previous: Option<(&ByteArray, Op)> = None;
    for (row, name) in rows {
        let name = name.ok_or_else(|| invalid("op"))?;
        let op = match previous {
            Some((same, op)) if same.data() == name.data() => op,
            _ => Op::find(name.as_utf8()?).ok_or_else(|| invalid("op"))?,
        };
        previous = Some((name, op));
        row.event.op = op as u8;
    }
    Ok(())
}

/// Gives the events what a column of numbers says about them.
pub(super) fn put_numbers(column: &Column, values: &[i64], events: &mut [EventRow]) -> Result<()> {
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

/// The rows of all events that `events` still gives. `labels`: how long labels were executed; rates in
/// one that is not among them go from an operation's first start to its last end.
///
/// # Errors
/// Those of the reader.
pub fn rows(mut events: EventReader, labels: &[LabelRow]) -> Result<Vec<Row>, StoreError> {
    let mut executions: BTreeMap<(u32, u32), Summary> = BTreeMap::new();
    for event in events.by_ref() {
        let event = event?;
        let execution = executions.entry((event.cell, event.repetition)).or_default();
        execution.add(event.rank, &event.event);
    }
    let path = |label: u32| events.labels().get(label as usize).map_or("", String::as_str);
    let mut all = Vec::new();
    for ((cell, repetition), summary) in executions {
        let busy_ns = |label: &str| {
            let key = (label, cell, repetition);
            let same = |row: &&LabelRow| (row.label.as_str(), row.cell, row.repetition) == key;
            labels.iter().find(same).map(|row| row.busy_ns)
        };
        let rows = summary.rows(path, busy_ns).into_iter();
        all.extend(rows.map(|row| Row { cell, repetition, ..row }));
    }
    Ok(all)
}

/// Runs `read` such that a panic in it is a silent error. After an error nothing more may be asked
/// of what it used.
pub(crate) fn contained<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let given_up = || Err(invalid("content: the Parquet library gave up on it"));
    model::contain::contained(read).unwrap_or_else(given_up)
}

/// An open event table, for one thread.
pub(crate) struct Table {
    pub path: PathBuf,
    parquet: SerializedFileReader<File>,
    /// Index of each of [`COLUMNS`] in the file; `None`: not there.
    positions: Vec<Option<usize>>,
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

    /// Entry of the directory for a row group.
    pub fn described(&self, group: usize) -> &RowGroupMetaData {
        self.parquet.metadata().row_group(group)
    }

    /// A row group, and its number of rows.
    pub fn group(&self, group: usize) -> Result<(Group<'_>, usize)> {
        let rows = usize::try_from(self.described(group).num_rows());
        let reader = self.parquet.get_row_group(group)?;
        Ok((Group { table: self, reader }, rows.map_err(|_| invalid("number of rows"))?))
    }

    /// Index of a column in the file.
    pub fn position(&self, name: &str) -> usize {
        let at = COLUMNS.iter().position(|column| column.name == name);
        at.and_then(|at| self.positions[at]).expect("a column of every table")
    }

    /// Errors of `read`, with the name of the file.
    pub fn guarded<T>(
        &self,
        read: impl FnOnce() -> Result<T>,
    ) -> std::result::Result<T, StoreError> {
        contained(read).map_err(|error| StoreError::Corrupt {
            path: self.path.clone(),
            detail: error.to_string(),
        })
    }
}

/// A row group of an open table.
pub(crate) struct Group<'t> {
    table: &'t Table,
    reader: Box<dyn RowGroupReader + 't>,
}

impl Group<'_> {
    /// Reads a column bit by bit.
    pub fn column(&self, name: &str) -> Result<ColumnReader> {
        self.reader.get_column_reader(self.table.position(name))
    }

    /// All values of a column.
    pub fn values(&self, name: &str, rows: usize) -> Result<Values> {
        let all = COLUMNS.iter().zip(&self.table.positions);
        let absent = all.filter(|(_, at)| at.is_none()).find(|(column, _)| column.name == name);
        match absent {
            Some((column, _)) => Ok(Values::absent(column, rows)),
            None => Values::read(self.column(name)?, rows),
        }
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

/// The last bytes of the file have the size of Parquet's directory, which is read as a whole.
fn directory_is_sensible(file: &File, size_bytes: u64) -> bool {
    let mut last = [0; 8];
    let read = size_bytes.checked_sub(8).map(|at| file.read_exact_at(&mut last, at));
    let [a, b, c, d, magic @ ..] = last;
    let is_whole = matches!(read, Some(Ok(()))) && magic == *b"PAR1";
    !is_whole || u32::from_le_bytes([a, b, c, d]) <= DIRECTORY_MAX
}

/// Opens a file and reads Parquet's directory at its end.
fn open_table(path: &Path) -> std::result::Result<SerializedFileReader<File>, StoreError> {
    let (file, size_bytes) = open_regular(path, EXPECTED, u64::MAX)?;
    let ours = size_bytes == 0 || starts_like_parquet(&file);
    if !directory_is_sensible(&file, size_bytes) {
        let detail = "a directory of impossible size".into();
        return Err(StoreError::Corrupt { path: path.into(), detail });
    }
    contained(|| SerializedFileReader::new(file)).map_err(|_| match ours {
        // Parquet's directory is at the end: without it the file was cut.
        true => StoreError::Truncated { path: path.into(), size_bytes },
        false => foreign(path),
    })
}

/// Checks the version that the file says, and gives the positions of [`COLUMNS`] in it. Columns
/// that others added are no fault, nor are tables of before some of ours.
fn check_format(
    parquet: &SerializedFileReader<File>,
    path: &Path,
) -> std::result::Result<Vec<Option<usize>>, StoreError> {
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
        match found.iter().position(same) {
            None if !LATER.contains(&column.name) => Err(StoreError::Corrupt {
                path: path.into(),
                detail: format!("it has no column {} as an event table has it", column.name),
            }),
            at => Ok(at),
        }
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
