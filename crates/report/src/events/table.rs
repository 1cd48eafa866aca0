//! An open event table: found, checked, its columns by name.

use super::columns::{COLUMNS, LATER, Value};
use super::contain::contained;
use super::read::{Values, invalid};
use super::{EVENTS_FILE, VERSION_KEY};
use crate::file::{StoreError, named, open_regular};
use model::run::VERSION;
use parquet::basic::Type;
use parquet::column::reader::ColumnReader;
use parquet::errors::Result;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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
    let place = |column: &super::Column| {
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
