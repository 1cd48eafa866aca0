//! Columns that are needed, in batches that stay in the processor's cache.

use super::axis::Execution;
use super::scope::Scope;
use crate::events::{Table, Values, invalid};
use model::Op;
use model::event::{FLAG_DUE, FLAG_EXPECTED, FLAG_FAILED, FLAG_UNPLACED};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 4096;

/// Columns that tell executions apart.
const EXECUTION: [&str; 2] = ["cell", "repetition"];

impl Execution {
    fn numbers(self) -> [i64; 2] {
        [self.cell.into(), self.repetition.into()]
    }
}

impl Table {
    /// Smallest and largest value of a column of integers in a row group, if the directory tells.
    pub fn statistics(&self, group: usize, name: &str) -> Option<(i64, i64)> {
        match self.described(group).columns().get(self.position(name))?.statistics()? {
            Statistics::Int32(s) => Some((i64::from(*s.min_opt()?), i64::from(*s.max_opt()?))),
            Statistics::Int64(s) => Some((*s.min_opt()?, *s.max_opt()?)),
            _ => None,
        }
    }

    /// The row group may hold rows of the execution.
    pub fn may_hold(&self, group: usize, execution: Execution) -> bool {
        EXECUTION.iter().zip(execution.numbers()).all(|(name, number)| {
            let range = self.statistics(group, name);
            range.is_none_or(|(low, high)| (low..=high).contains(&number))
        })
    }

    /// The row group holds no other rows.
    pub fn holds_only(&self, group: usize, execution: Execution) -> bool {
        let mut columns = EXECUTION.iter().zip(execution.numbers());
        columns.all(|(name, number)| self.statistics(group, name) == Some((number, number)))
    }
}

/// The part of an event that the counters need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub rank: u32,
    pub op: Op,
    /// Number in [`Scope::labels`], or their number for other labels.
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
    /// Extents that were asked for; 0: one.
    pub pieces: u32,
    /// Their number in the table; negative without.
    pub extents_id: i32,
    /// Nobody knows which bytes it moved.
    pub unplaced: bool,
    /// When it was due, if the program sets a time for it.
    pub due_ns: Option<u64>,
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
        due_ns: None,
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

/// The column behind them, where the run sets times.
const DUE: &str = "intended_start_ns";

/// Bits of the column `flags` of an operation that failed.
const FAILED: i64 = (FLAG_FAILED | FLAG_EXPECTED) as i64;

/// The next row group with rows of the execution, of a counter that threads share.
pub(super) fn take_group(table: &Table, execution: Execution, next: &AtomicUsize) -> Option<usize> {
    loop {
        let group = next.fetch_add(1, Ordering::Relaxed);
        if group >= table.groups() {
            return None;
        }
        if table.may_hold(group, execution) {
            return Some(group);
        }
    }
}

/// Columns of integers of a row group, a batch at a time.
struct Batches {
    columns: Vec<Numbers>,
    left: usize,
    /// The execution whose rows are wanted, if there are others: its columns are the last two.
    wanted: Option<[i64; 2]>,
}

impl Batches {
    fn open(
        table: &Table,
        group: usize,
        names: &[&str],
        execution: Option<Execution>,
    ) -> Result<Batches> {
        let wanted = execution.filter(|wanted| !table.holds_only(group, *wanted));
        let more = wanted.iter().flat_map(|_| &EXECUTION);
        let (group, left) = table.group(group)?;
        let column = |name: &&str| Numbers::new(group.column(name)?);
        let columns = names.iter().chain(more).map(column).collect::<Result<_>>()?;
        Ok(Batches { columns, left, wanted: wanted.map(Execution::numbers) })
    }

    /// Reads the next batch; its number of rows, 0 at the end.
    fn read(&mut self) -> Result<usize> {
        let rows = self.left.min(BATCH_ROWS);
        self.left -= rows;
        self.columns.iter_mut().try_for_each(|column| column.read(rows))?;
        Ok(rows)
    }

    /// The row of the batch is one of the execution.
    fn is_wanted(&self, at: usize) -> bool {
        let [.., cell, repetition] = &self.columns[..] else { return true };
        self.wanted.is_none_or(|wanted| wanted == [cell.values[at], repetition.values[at]])
    }
}

/// Gives the values of columns of integers in a row group, of one execution or of all, until `each`
/// says no.
pub(super) fn until<const N: usize>(
    table: &Table,
    group: usize,
    names: [&str; N],
    execution: Option<Execution>,
    mut each: impl FnMut([i64; N]) -> bool,
) -> Result<()> {
    let mut batches = Batches::open(table, group, &names, execution)?;
    loop {
        let rows = batches.read()?;
        for at in (0..rows).filter(|at| batches.is_wanted(*at)) {
            if !each(std::array::from_fn(|column| batches.columns[column].values[at])) {
                return Ok(());
            }
        }
        if rows == 0 {
            return Ok(());
        }
    }
}

/// Gives all of them.
pub(super) fn integers<const N: usize>(
    table: &Table,
    group: usize,
    names: [&str; N],
    execution: Option<Execution>,
    mut each: impl FnMut([i64; N]),
) -> Result<()> {
    until(table, group, names, execution, |values| {
        each(values);
        true
    })
}

/// Gives the events of the execution in a row group.
pub(super) fn events(
    table: &Table,
    group: usize,
    scope: &Scope,
    mut each: impl FnMut(&Row),
) -> Result<()> {
    let due = scope.has_due.then_some(DUE);
    let names: Vec<&str> = NUMBERS.into_iter().chain(due).collect();
    let mut batches = Batches::open(table, group, &names, Some(scope.execution))?;
    let (group, _) = table.group(group)?;
    let others = scope.label_numbers.len();
    let mut labels = Texts::new(group.column("label")?, |text| {
        Ok(scope.label_numbers.get(text).copied().unwrap_or(others))
    })?;
    let mut ops = Texts::new(group.column("op")?, |text| {
        let name = std::str::from_utf8(text).ok();
        name.and_then(Op::find).ok_or_else(|| invalid("op"))
    })?;
    loop {
        let rows = batches.read()?;
        if rows == 0 {
            return Ok(());
        }
        labels.read(rows)?;
        ops.read(rows)?;
        let [rank, path_id, offset, done, start, end, busy, flags, pieces, extents] =
            std::array::from_fn(|at| &batches.columns[at].values[..rows]);
        for at in (0..rows).filter(|at| batches.is_wanted(*at)) {
            let start_ns = start[at] as u64;
            let is_due = scope.has_due && flags[at] & i64::from(FLAG_DUE) != 0;
            let due_ns = is_due.then(|| batches.columns[NUMBERS.len()].values[at] as u64);
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
                due_ns,
            });
        }
    }
}

/// Texts of paths in a row group, as far as `wanted` says yes to their numbers.
pub(super) fn path_texts(
    table: &Table,
    group: usize,
    mut wanted: impl FnMut(i32) -> bool,
) -> Result<Vec<(i32, String)>> {
    let (group, rows) = table.group(group)?;
    let Values::Numbers(ids) = group.values("path_id", rows)? else { return Ok(Vec::new()) };
    let Values::Texts(texts) = group.values("path", rows)? else { return Ok(Vec::new()) };
    let named = ids.into_iter().zip(texts).filter_map(|(id, text)| Some((id as i32, text?)));
    let wanted = named.filter(|(id, _)| wanted(*id));
    wanted.map(|(id, text)| Ok((id, text.as_utf8()?.to_string()))).collect()
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

    /// Reads the values of the next rows.
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

    /// Reads the meanings of the next rows.
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
