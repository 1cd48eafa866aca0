//! Columns that are needed, in pieces that stay in the processor's cache.

use super::extent::{Extent, told};
use super::{Execution, take};
use crate::StoreError;
use crate::events::{COLUMNS, check_format, invalid, open_table};
use model::Op;
use model::event::{FLAG_EXPECTED, FLAG_FAILED, FLAG_UNPLACED};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

/// Rows that are decoded at a time.
const PIECE_ROWS: usize = 4096;

/// An open event table, for one thread.
pub(super) struct Table {
    pub path: PathBuf,
    parquet: SerializedFileReader<File>,
    /// Where each of [`COLUMNS`] stands in the file.
    positions: Vec<usize>,
}

impl Table {
    pub fn open(path: &Path) -> std::result::Result<Table, StoreError> {
        let parquet = open_table(path)?;
        let positions = check_format(&parquet, path)?;
        Ok(Table { path: path.to_path_buf(), parquet, positions })
    }

    pub fn groups(&self) -> usize {
        self.parquet.num_row_groups()
    }

    pub fn rows(&self) -> u64 {
        self.parquet.metadata().file_metadata().num_rows().max(0) as u64
    }

    /// Rows of a row group.
    pub fn rows_of(&self, group: usize) -> u64 {
        self.parquet.metadata().row_group(group).num_rows().max(0) as u64
    }

    /// Where a column stands in the file.
    fn position(&self, name: &str) -> usize {
        let at = COLUMNS.iter().position(|column| column.name == name);
        self.positions[at.expect("a column of the table")]
    }

    /// Smallest and largest value of a column in a row group, if they are told.
    pub fn statistics(&self, group: usize, name: &str) -> Option<(i64, i64)> {
        let group = self.parquet.metadata().row_group(group);
        told(group.columns().get(self.position(name))?.statistics()?)
    }

    /// The row group may hold rows of the execution.
    pub fn may_hold(&self, group: usize, execution: Execution) -> bool {
        let holds = |name: &str, value: u32| {
            let range = self.statistics(group, name);
            range.is_none_or(|(low, high)| (low..=high).contains(&i64::from(value)))
        };
        holds("cell", execution.cell) && holds("repetition", execution.repetition)
    }

    /// The row group holds no other rows.
    pub fn holds_only(&self, group: usize, execution: Execution) -> bool {
        let same = |name: &str, value: u32| {
            self.statistics(group, name) == Some((i64::from(value), i64::from(value)))
        };
        same("cell", execution.cell) && same("repetition", execution.repetition)
    }
}

/// What the counters need of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub rank: u32,
    pub op: Op,
    /// Number in [`Extent::labels`], or their number for other labels.
    pub label: usize,
    /// Number of the path; negative without one.
    pub path_id: i32,
    pub offset_bytes: u64,
    pub done_bytes: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub busy_ns: u64,
    /// It failed, expectedly or not.
    pub failed: bool,
    /// Pieces that were asked for; 0: one.
    pub pieces: u32,
    /// Which ones; negative without.
    pub extents_id: i32,
    /// Nobody knows which bytes it moved.
    pub unplaced: bool,
}

#[cfg(test)]
impl Row {
    pub const EMPTY: Row = Row {
        rank: 0,
        op: Op::Fwrite,
        label: 0,
        path_id: 0,
        offset_bytes: 0,
        done_bytes: 0,
        start_ns: 0,
        end_ns: 0,
        busy_ns: 0,
        failed: false,
        pieces: 0,
        extents_id: -1,
        unplaced: false,
    };
}

/// Columns of integers of [`Row`] in the order in which they are read.
const NUMBERS: [&str; 10] = [
    "rank",
    "path_id",
    "offset_bytes",
    "done_bytes",
    "start_ns",
    "end_ns",
    "busy_ns",
    "flags",
    "pieces",
    "extents_id",
];

/// Bits of the column `flags` of an operation that failed.
const FAILED: i64 = (FLAG_FAILED | FLAG_EXPECTED) as i64;

/// Reads row groups on one thread.
pub(super) struct Scan<'t> {
    table: &'t Table,
    execution: Option<Execution>,
    /// Numbers of labels by their text.
    label_numbers: Option<&'t std::collections::HashMap<Vec<u8>, usize>>,
    names: Vec<&'t str>,
}

impl<'t> Scan<'t> {
    /// For the rows of an execution.
    pub fn open(table: &'t Table, extent: &'t Extent) -> Result<Scan<'t>> {
        let label_numbers = Some(&extent.label_numbers);
        let execution = Some(extent.execution);
        Ok(Scan { table, execution, label_numbers, names: NUMBERS.to_vec() })
    }

    /// For all rows of some columns of integers.
    pub fn columns(table: &'t Table, names: &[&'t str]) -> Result<Scan<'t>> {
        Ok(Scan { table, execution: None, label_numbers: None, names: names.to_vec() })
    }

    /// The next row group with rows of the execution.
    pub fn take_group(&self, next: &AtomicUsize) -> Option<usize> {
        loop {
            let group = take(next, self.table.groups())?;
            if self.execution.is_none_or(|execution| self.table.may_hold(group, execution)) {
                return Some(group);
            }
        }
    }

    /// Gives the values of the columns of [`Scan::columns`], row by row, until `each` says no.
    pub fn integers(&mut self, group: usize, mut each: impl FnMut(&[i64]) -> bool) -> Result<()> {
        let group = self.table.parquet.get_row_group(group)?;
        let rows = rows(group.metadata().num_rows())?;
        let mut columns = self
            .names
            .iter()
            .map(|name| Numbers::new(group.get_column_reader(self.table.position(name))?))
            .collect::<Result<Vec<_>>>()?;
        let mut left = rows;
        let mut values = vec![0; columns.len()];
        while left > 0 {
            let piece = left.min(PIECE_ROWS);
            columns.iter_mut().try_for_each(|column| column.read(piece))?;
            for at in 0..piece {
                for (value, column) in values.iter_mut().zip(&columns) {
                    *value = column.values[at];
                }
                if !each(&values) {
                    return Ok(());
                }
            }
            left -= piece;
        }
        Ok(())
    }

    /// Gives path and bytes of the rows of the execution.
    pub fn paths_and_bytes(&self, group: usize, mut each: impl FnMut(i32, u64)) -> Result<()> {
        Scan::columns_of(self.table, group, &["path_id", "done_bytes"], self.execution, |values| {
            each(values[0] as i32, values[1] as u64);
        })
    }

    /// Gives the values of columns of integers in a row group, of one execution or of all.
    pub fn columns_of(
        table: &'t Table,
        group: usize,
        names: &[&'t str],
        execution: Option<Execution>,
        mut each: impl FnMut(&[i64]),
    ) -> Result<()> {
        let mixed = execution.filter(|wanted| !table.holds_only(group, *wanted));
        let count = names.len();
        let more: &[&str] = if mixed.is_some() { &["cell", "repetition"] } else { &[] };
        let names = [names, more].concat();
        Scan::columns(table, &names)?.integers(group, |values| {
            let found = [values.get(count), values.get(count + 1)];
            let own = |wanted: Execution| {
                found == [Some(&i64::from(wanted.cell)), Some(&i64::from(wanted.repetition))]
            };
            if mixed.is_none_or(own) {
                each(&values[..count]);
            }
            true
        })
    }

    /// Gives the rows of the execution in a row group.
    pub fn group(&mut self, group: usize, mut each: impl FnMut(&Row)) -> Result<()> {
        let wanted = self.execution.filter(|wanted| !self.table.holds_only(group, *wanted));
        let reader = self.table.parquet.get_row_group(group)?;
        let mut left = rows(reader.metadata().num_rows())?;
        let column = |name: &str| reader.get_column_reader(self.table.position(name));
        let mut numbers = NUMBERS
            .iter()
            .chain(wanted.iter().flat_map(|_| &["cell", "repetition"]))
            .map(|name| Numbers::new(column(name)?))
            .collect::<Result<Vec<_>>>()?;
        let label_numbers = self.label_numbers;
        let others = label_numbers.map_or(0, |numbers| numbers.len());
        let mut labels = Texts::new(column("label")?, |text| {
            Ok(label_numbers.and_then(|numbers| numbers.get(text)).copied().unwrap_or(others))
        })?;
        let mut ops = Texts::new(column("op")?, |text| {
            let name = std::str::from_utf8(text).ok();
            name.and_then(Op::find).ok_or_else(|| invalid("op"))
        })?;
        while left > 0 {
            let piece = left.min(PIECE_ROWS);
            numbers.iter_mut().try_for_each(|column| column.read(piece))?;
            labels.read(piece)?;
            ops.read(piece)?;
            let own = |at: usize| {
                wanted.is_none_or(|wanted| {
                    let [cell, repetition] =
                        [0, 1].map(|after| numbers[NUMBERS.len() + after].values[at]);
                    [cell, repetition] == [i64::from(wanted.cell), i64::from(wanted.repetition)]
                })
            };
            let [rank, path_id, offset, done, start, end, busy, flags, pieces, extents] =
                std::array::from_fn(|at| &numbers[at].values[..piece]);
            for at in (0..piece).filter(|at| own(*at)) {
                let start_ns = start[at] as u64;
                each(&Row {
                    rank: rank[at] as u32,
                    op: ops.meanings[at],
                    label: labels.meanings[at],
                    path_id: path_id[at] as i32,
                    offset_bytes: offset[at] as u64,
                    done_bytes: done[at] as u64,
                    start_ns,
                    // A damaged table must not give operations that end before they begin.
                    end_ns: (end[at] as u64).max(start_ns),
                    busy_ns: busy[at] as u64,
                    failed: flags[at] & FAILED != 0,
                    pieces: pieces[at] as u32,
                    extents_id: extents[at] as i32,
                    unplaced: flags[at] & i64::from(FLAG_UNPLACED) != 0,
                });
            }
            left -= piece;
        }
        Ok(())
    }
}

impl Table {
    /// Texts of paths in a row group, as far as `wanted` says yes to their numbers.
    pub fn path_texts(
        &self,
        group: usize,
        mut wanted: impl FnMut(i32) -> bool,
    ) -> Result<Vec<(i32, String)>> {
        let reader = self.parquet.get_row_group(group)?;
        let rows = rows(reader.metadata().num_rows())?;
        let mut ids = Numbers::new(reader.get_column_reader(self.position("path_id"))?)?;
        ids.read(rows)?;
        let ColumnReader::ByteArrayColumnReader(mut texts) =
            reader.get_column_reader(self.position("path"))?
        else {
            return Err(invalid("type of a column"));
        };
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let mut read = 0;
        while read < rows {
            let (more, _, _) =
                texts.read_records(rows - read, Some(&mut levels), None, &mut values)?;
            if more == 0 {
                return Err(invalid("number of rows"));
            }
            read += more;
        }
        let mut values = values.iter();
        let mut found = Vec::new();
        for (id, level) in ids.values.iter().zip(levels) {
            let text: Option<&ByteArray> = if level == 0 { None } else { values.next() };
            if let Some(text) = text.filter(|_| wanted(*id as i32)) {
                found.push((*id as i32, text.as_utf8()?.to_string()));
            }
        }
        Ok(found)
    }
}

fn rows(rows: i64) -> Result<usize> {
    usize::try_from(rows).map_err(|_| invalid("number of rows"))
}

/// A column of integers.
struct Numbers {
    reader: IntegerReader,
    narrow: Vec<i32>,
    values: Vec<i64>,
}

enum IntegerReader {
    Int32(ColumnReaderImpl<Int32Type>),
    Int64(ColumnReaderImpl<Int64Type>),
}

impl Numbers {
    fn new(reader: ColumnReader) -> Result<Numbers> {
        let reader = match reader {
            ColumnReader::Int32ColumnReader(reader) => IntegerReader::Int32(reader),
            ColumnReader::Int64ColumnReader(reader) => IntegerReader::Int64(reader),
            _ => return Err(invalid("type of a column")),
        };
        Ok(Numbers { reader, narrow: Vec::new(), values: Vec::new() })
    }

    /// Replaces the values by those of the next rows.
    fn read(&mut self, rows: usize) -> Result<()> {
        self.values.clear();
        match &mut self.reader {
            IntegerReader::Int64(reader) => read_exactly(reader, rows, &mut self.values),
            IntegerReader::Int32(reader) => {
                self.narrow.clear();
                read_exactly(reader, rows, &mut self.narrow)?;
                self.values.extend(self.narrow.iter().map(|value| i64::from(*value)));
                Ok(())
            }
        }
    }
}

fn read_exactly<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
) -> Result<()> {
    while values.len() < rows {
        let (more, _, _) = reader.read_records(rows - values.len(), None, None, values)?;
        if more == 0 {
            return Err(invalid("number of rows"));
        }
    }
    Ok(())
}

/// A column of texts of which there are few: what each means is looked up once, as long as the
/// texts come out of Parquet's dictionary.
struct Texts<M, F> {
    reader: ColumnReaderImpl<ByteArrayType>,
    meaning: F,
    texts: Vec<ByteArray>,
    meanings: Vec<M>,
}

impl<M: Copy, F: Fn(&[u8]) -> Result<M>> Texts<M, F> {
    fn new(reader: ColumnReader, meaning: F) -> Result<Texts<M, F>> {
        let ColumnReader::ByteArrayColumnReader(reader) = reader else {
            return Err(invalid("type of a column"));
        };
        Ok(Texts { reader, meaning, texts: Vec::new(), meanings: Vec::new() })
    }

    /// Replaces the meanings by those of the next rows.
    fn read(&mut self, rows: usize) -> Result<()> {
        self.texts.clear();
        self.meanings.clear();
        read_exactly(&mut self.reader, rows, &mut self.texts)?;
        // Entries of a dictionary are the same memory. A few that take turns are remembered.
        let mut known: [Option<(&[u8], M)>; 4] = [None; 4];
        let mut turn = 0;
        for text in &self.texts {
            let text = text.data();
            let same = known.iter().flatten().find(|known| std::ptr::eq(known.0, text));
            let meaning = match same {
                Some(known) => known.1,
                None => {
                    let meaning = (self.meaning)(text)?;
                    known[turn % known.len()] = Some((text, meaning));
                    turn += 1;
                    meaning
                }
            };
            self.meanings.push(meaning);
        }
        Ok(())
    }
}
