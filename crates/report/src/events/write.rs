//! Events -> events.parquet, one row group in memory at a time.

use super::columns::{
    COLUMNS, EVENTS_FILE, EventRow, GROUP_ROWS, Names, Origin, PathName, Record, VERSION_KEY,
    Value, encode,
};
use super::read::EventReader;
use crate::file::{AtomicFile, StoreError};
use model::event::{Details, Event};
use model::run::{EventExtents, EventsInfo, Site, VERSION};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Values of one column that wait for their row group.
#[derive(Debug)]
enum Buffer {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    /// `levels`: 1 where there is a value; empty where there always is one.
    Text {
        values: Vec<ByteArray>,
        levels: Vec<i16>,
    },
}

/// Writes the event table of a run. It appears under its name when [`EventWriter::finish`]
/// returns; dropped before, nothing is left.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: AtomicFile,
    parquet: SerializedFileWriter<File>,
    places: HashMap<u32, (ByteArray, u32)>,
    path_ids: HashMap<Vec<u8>, i32>,
    extents: ExtentTable,
    /// Numbers in it of what the events of the rank refer to.
    extent_ids: Vec<i32>,
    buffers: Vec<Buffer>,
    waiting: usize,
    count: u64,
}

/// Meaning of the ids in events of imported logs.
#[derive(Clone, Copy, Debug)]
pub struct Imported<'a> {
    /// Labels.
    pub labels: &'a [Vec<u8>],
    /// Paths.
    pub paths: &'a [Vec<u8>],
    /// Names of calls.
    pub calls: &'a [Vec<u8>],
    /// Machines of ranks.
    pub hosts: &'a BTreeMap<u32, String>,
}

impl Names {
    /// Adds names that follow those it has.
    fn extend<L: AsRef<[u8]>, P: AsRef<[u8]>, C: AsRef<[u8]>>(
        &mut self,
        writer: &mut EventWriter,
        labels: &[L],
        paths: &[P],
        calls: &[C],
    ) {
        let lossy = |name: &[u8]| text(&String::from_utf8_lossy(name));
        self.labels.extend(labels.iter().map(|label| lossy(label.as_ref())));
        self.calls.extend(calls.iter().map(|call| lossy(call.as_ref())));
        self.paths.extend(paths.iter().map(|path| writer.path_name(text(&encode(path.as_ref())))));
    }

    /// The machine of a rank.
    fn host(&mut self, rank: u32, hosts: &BTreeMap<u32, String>) -> ByteArray {
        let host = || text(hosts.get(&rank).map_or("", String::as_str));
        self.hosts.entry(rank).or_insert_with(host).clone()
    }
}

impl EventWriter {
    /// Starts `dir`/events.parquet; `sites`, from the run, give the columns `file`
    /// and `line`.
    ///
    /// # Errors
    /// [`StoreError::Io`], here and in the other functions: the disk is full, for example.
    pub fn create(dir: &Path, sites: &[Site]) -> std::result::Result<EventWriter, StoreError> {
        let path = dir.join(EVENTS_FILE);
        let start = || -> Result<(AtomicFile, SerializedFileWriter<File>)> {
            let file = AtomicFile::create(&path)?;
            let schema = Arc::new(parse_message_type(&message_type())?);
            let parquet =
                SerializedFileWriter::new(file.handle()?, schema, Arc::new(properties()))?;
            Ok((file, parquet))
        };
        let (file, parquet) = start().map_err(|error| failed(&path, error))?;
        let place = |site: &Site| (site.site, (text(&site.file), site.line));
        let places = sites.iter().map(place).collect();
        Ok(EventWriter {
            path,
            file,
            parquet,
            places,
            path_ids: HashMap::new(),
            extents: ExtentTable::default(),
            extent_ids: Vec::new(),
            buffers: buffers(),
            waiting: 0,
            count: 0,
        })
    }

    /// The pieces that the events of the next ranks refer to by number, from 1.
    pub fn extents(&mut self, extents: &[EventExtents]) {
        self.extent_ids = extents.iter().map(|extents| self.extents.id(extents)).collect();
    }

    /// Adds the events of one rank, which must come in order of `seq`. `labels` and `paths` are
    /// the tables that the events' ids point into; labels that are not UTF-8 are made so, as in
    /// the rows of the run.
    ///
    /// # Errors
    /// As for [`EventWriter::create`].
    pub fn rank<L: AsRef<[u8]>, P: AsRef<[u8]>>(
        &mut self,
        origin: &Origin<'_>,
        labels: &[L],
        paths: &[P],
        events: impl Iterator<Item = impl Borrow<Event>>,
    ) -> std::result::Result<(), StoreError> {
        let mut names = Names::default();
        names.extend(self, labels, paths, &[] as &[&[u8]]);
        let (host, details) = (text(origin.host), Details::default());
        for event in events {
            let row = EventRow { event: *event.borrow(), details, ..origin.row() };
            self.push(&names, &host, &row)?;
        }
        Ok(())
    }

    /// Adds the events of imported logs, which must come rank by rank, in order of `seq`, each with
    /// its rank.
    ///
    /// # Errors
    /// As for [`EventWriter::create`]; or that of `events`.
    pub fn imported(
        &mut self,
        imported: &Imported<'_>,
        events: impl Iterator<Item = io::Result<(u32, Event, Details)>>,
    ) -> std::result::Result<(), StoreError> {
        let mut names = Names::default();
        names.extend(self, imported.labels, imported.paths, imported.calls);
        for event in events {
            let (rank, event, details) =
                event.map_err(|error| StoreError::io(&self.path, "write", error))?;
            let host = names.host(rank, imported.hosts);
            self.push(&names, &host, &EventRow { rank, event, details, ..EventRow::default() })?;
        }
        Ok(())
    }

    /// Adds all rows of the table in `dir`, which holds one execution of a sweep. `at`: its cell and
    /// repetition; `sites`: the numbers of its sites in the whole run; `extents`: its
    /// `run.events.extents`. A row group is in memory at a time.
    ///
    /// # Errors
    /// As for [`EventWriter::create`]; or the table in `dir` cannot be read.
    pub fn append(
        &mut self,
        dir: &Path,
        (cell, repetition): (u32, u32),
        sites: &HashMap<u32, u32>,
        extents: &[EventExtents],
    ) -> std::result::Result<(), StoreError> {
        self.extents(extents);
        let mut reader = EventReader::open(dir)?;
        let mut names = Names::default();
        while let Some(row) = reader.next() {
            let row = row?;
            let site = sites.get(&row.event.site).copied().unwrap_or(row.event.site);
            let labels = &reader.labels()[names.labels.len()..];
            let paths = &reader.paths()[names.paths.len()..];
            let calls = &reader.calls()[names.calls.len()..];
            names.extend(self, labels, paths, calls);
            let host = names.host(row.rank, reader.hosts());
            let event = Event { site, ..row.event };
            self.push(&names, &host, &EventRow { cell, repetition, event, ..row })?;
        }
        Ok(())
    }

    /// Adds a row; when there are enough, they become a row group.
    fn push(
        &mut self,
        names: &Names,
        host: &ByteArray,
        row: &EventRow,
    ) -> std::result::Result<(), StoreError> {
        let place = self.places.get(&row.event.site);
        let record = Record { row, host, names, extents: &self.extent_ids, place };
        for (column, buffer) in COLUMNS.iter().zip(&mut self.buffers) {
            match (column.value, buffer) {
                (Value::Int32(value), Buffer::Int32(values)) => values.push(value(&record)),
                (Value::Int64(value), Buffer::Int64(values)) => values.push(value(&record)),
                (Value::Text(value), Buffer::Text { values, .. }) => values.push(value(&record)),
                (Value::OptionalText(value), Buffer::Text { values, levels }) => {
                    let value = value(&record);
                    levels.push(i16::from(value.is_some()));
                    values.extend(value);
                }
                _ => unreachable!("buffers are made from the columns"),
            }
        }
        self.waiting += 1;
        if self.waiting == GROUP_ROWS {
            self.flush().map_err(|error| failed(&self.path, error))?;
        }
        Ok(())
    }

    /// The same path has the same number on all ranks.
    fn path_name(&mut self, text: ByteArray) -> PathName {
        let next = self.path_ids.len() as i32;
        let id = *self.path_ids.entry(text.data().to_vec()).or_insert(next);
        PathName { id, text }
    }

    /// Completes the file and gives it its name. The result has its name and its number of rows;
    /// the caller adds the events that were not kept.
    ///
    /// # Errors
    /// As for [`EventWriter::create`].
    pub fn finish(mut self) -> std::result::Result<EventsInfo, StoreError> {
        let path = self.path.clone();
        self.complete().map_err(|error| failed(&path, error))?;
        self.file.commit().map_err(|error| StoreError::io(&path, "write", error))?;
        let (file, count, extents) = (EVENTS_FILE.to_string(), self.count, self.extents.list);
        Ok(EventsInfo { file, count, dropped: 0, sample_every: 1, left_out: 0, extents })
    }

    fn complete(&mut self) -> Result<()> {
        self.flush()?;
        self.parquet.finish().map(|_footer| ())
    }

    /// Writes what waits as a row group.
    fn flush(&mut self) -> Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        let mut group = self.parquet.next_row_group()?;
        for buffer in &mut self.buffers {
            let column = group.next_column()?.ok_or_else(too_few_columns)?;
            write_column(column, buffer)?;
        }
        group.close()?;
        self.count += self.waiting as u64;
        self.waiting = 0;
        Ok(())
    }
}

fn too_few_columns() -> ParquetError {
    ParquetError::General("the file has fewer columns than the table".into())
}

fn write_column(mut column: SerializedColumnWriter<'_>, buffer: &mut Buffer) -> Result<()> {
    match buffer {
        Buffer::Int32(values) => {
            column.typed::<Int32Type>().write_batch(values, None, None)?;
            values.clear();
        }
        Buffer::Int64(values) => {
            column.typed::<Int64Type>().write_batch(values, None, None)?;
            values.clear();
        }
        Buffer::Text { values, levels } => {
            let optional = (!levels.is_empty()).then_some(levels.as_slice());
            column.typed::<ByteArrayType>().write_batch(values, optional, None)?;
            values.clear();
            levels.clear();
        }
    }
    column.close()
}

fn buffers() -> Vec<Buffer> {
    let buffer = |value: &Value| match value {
        Value::Int32(_) => Buffer::Int32(Vec::new()),
        Value::Int64(_) => Buffer::Int64(Vec::new()),
        Value::Text(_) | Value::OptionalText(_) => {
            Buffer::Text { values: Vec::new(), levels: Vec::new() }
        }
    };
    COLUMNS.iter().map(|column| buffer(&column.value)).collect()
}

fn message_type() -> String {
    let columns: Vec<String> = COLUMNS.iter().map(|column| column.declaration()).collect();
    format!("message event {{ {} }}", columns.join(" "))
}

/// Snappy, which every reader knows. Numbers as differences: clocks and offsets ascend, parts
/// are mostly 0. Text by dictionary; a group with too many different paths as differences too.
fn properties() -> WriterProperties {
    let version = KeyValue::new(VERSION_KEY.to_string(), VERSION.to_string());
    let builder = WriterProperties::builder()
        .set_created_by(format!("parabench {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![version]))
        .set_compression(Compression::SNAPPY);
    COLUMNS.iter().fold(builder, encoded).build()
}

fn encoded(builder: WriterPropertiesBuilder, column: &super::Column) -> WriterPropertiesBuilder {
    let path = ColumnPath::from(column.name);
    match column.value {
        Value::Int32(_) | Value::Int64(_) => builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        _ => builder.set_column_encoding(path, Encoding::DELTA_BYTE_ARRAY),
    }
}

fn text(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}

/// The operating system's error out of the library's.
fn failed(path: &Path, error: ParquetError) -> StoreError {
    let source = match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error.to_string()),
        },
        error => io::Error::other(error.to_string()),
    };
    StoreError::io(path, "write", source)
}

/// Entries of the table at most; operations beyond that have none.
const MAX_ENTRIES: usize = 1 << 16;
/// Runs of all entries at most; beyond that entries are cut.
const MAX_RUNS: usize = 1 << 18;

/// Different extents of all ranks, each once.
#[derive(Debug, Default)]
struct ExtentTable {
    ids: HashMap<EventExtents, i32>,
    runs: usize,
    pub list: Vec<EventExtents>,
}

impl ExtentTable {
    /// The number of these extents; -1 where the table is full.
    pub fn id(&mut self, extents: &EventExtents) -> i32 {
        if let Some(id) = self.ids.get(extents) {
            return *id;
        }
        if self.list.len() == MAX_ENTRIES || self.runs == MAX_RUNS {
            return -1;
        }
        let id = self.list.len() as i32;
        let mut kept = extents.clone();
        kept.runs.truncate(MAX_RUNS - self.runs);
        self.runs += kept.runs.len();
        self.list.push(kept);
        self.ids.insert(extents.clone(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::pattern::Run;

    #[test]
    fn equal_extents_are_kept_once_and_a_full_table_says_so() {
        let mut table = ExtentTable::default();
        let extents = |first: u64, runs: usize| EventExtents {
            pieces: runs as u64,
            runs: vec![Run::single(first, 8); runs],
        };
        assert_eq!([0, 1, 0].map(|first| table.id(&extents(first, 3))), [0, 1, 0]);
        assert_eq!(table.id(&extents(9, MAX_RUNS)), 2);
        assert!(table.list[1].is_whole() && !table.list[2].is_whole());
        assert_eq!(table.id(&extents(2, 1)), -1);
        assert_eq!(table.list.len(), 3);
    }
}
