//! The events of one execution: their ranges, found in a first pass, and their rows.

use super::axis::{Bands, Busiest, Execution, MAX_LABELS, TimeBins};
use super::extents::{Extents, Row};
use model::event::{FLAG_DUE, FLAG_EXPECTED, FLAG_FAILED, FLAG_UNPLACED};
use model::{Op, Run};
use parquet::errors::Result;
use report::events::{Table, find_op, invalid, meanings};
use report::rows::{OwnTimes, grouped, is_service};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Columns of time: what a wide picture can show.
const TIME_COLUMNS: u64 = 240;
/// Columns of time for each event at most.
const COLUMNS_PER_EVENT: u64 = 4;
/// Bands of ranks: one each up to here.
const MAX_BANDS: usize = 1024;
/// Files whose parts are counted: those with most bytes.
const FILES: usize = 24;
/// Bits of the column `flags` of an operation that failed.
const FAILED: i64 = (FLAG_FAILED | FLAG_EXPECTED) as i64;

/// A file whose parts are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    /// Number of its path.
    pub id: i32,
    /// Bytes moved to or from it.
    pub bytes: u64,
    /// First row group that names it.
    pub group: usize,
}

/// The choice of events and the layout of their counters.
#[derive(Debug)]
pub(crate) struct Scope {
    pub execution: Execution,
    /// Rows of the execution in each row group, from the first one on.
    pub groups: Vec<usize>,
    pub time: TimeBins,
    pub bands: Bands,
    /// No operation reaches beyond this position in a file.
    pub end_bytes: u64,
    /// The files with most bytes, largest first.
    pub files: Vec<Chosen>,
    /// Other files with bytes.
    pub more_files: usize,
    /// Labels with most time in operations, most first.
    pub labels: Vec<String>,
    /// The busiest operation of one of the labels, and that label's number.
    pub busiest: Option<(usize, Busiest)>,
    /// Extents that operations refer to.
    pub extents: Extents,
}

impl Scope {
    /// The scope of the first execution, whose rows are the first in the table; `None`: there is nothing.
    pub fn of(table: &Table, run: &Run) -> Result<Option<Scope>> {
        let entries = run.run.events.as_ref().map_or(&[][..], |events| &events.extents);
        let extents = Extents::of(entries);
        let (mut ranges, mut groups) = (Ranges::default(), Vec::new());
        let mut first = None;
        for group in 0..table.groups() {
            let [cells, repetitions] = numbers(table, group, ["cell", "repetition"])?;
            let executions = cells.iter().copied().zip(repetitions);
            let own = |at: &(i64, i64)| *first.get_or_insert(*at) == *at;
            groups.push(executions.take_while(own).count());
            ranges.add(table, group, groups[group], &extents)?;
            if groups[group] < cells.len() {
                break;
            }
        }
        let Some((cell, repetition)) = first else { return Ok(None) };
        let execution = (cell as u32, repetition as u32);
        let ranks =
            u32::try_from(ranges.last_rank.saturating_add(1)).map_err(|_| invalid("rank"))?;
        let labels = busiest_labels(run, execution);
        // With fewer operations than columns a rate would be that of a single one.
        let rows: u64 = groups.iter().map(|rows| *rows as u64).sum();
        let columns = rows.saturating_mul(COLUMNS_PER_EVENT).clamp(1, TIME_COLUMNS) as usize;
        let (files, more_files) = largest_files(ranges.files);
        Ok(Some(Scope {
            execution,
            groups,
            time: TimeBins::over(ranges.start_ns, ranges.end_ns, columns),
            bands: Bands::over(ranks, MAX_BANDS),
            end_bytes: ranges.end_bytes,
            files,
            more_files,
            busiest: busiest(run, execution, &labels),
            labels,
            extents,
        }))
    }
}

/// Columns of numbers in a row group.
fn numbers<const N: usize>(table: &Table, group: usize, names: [&str; N]) -> Result<[Vec<i64>; N]> {
    let mut columns = [const { Vec::new() }; N];
    for (column, name) in columns.iter_mut().zip(names) {
        *column = table.numbers(group, name)?;
    }
    Ok(columns)
}

/// Ranges of the columns.
struct Ranges {
    last_rank: u64,
    start_ns: u64,
    end_ns: u64,
    end_bytes: u64,
    files: HashMap<i32, Chosen>,
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { last_rank: 0, start_ns: u64::MAX, end_ns: 0, end_bytes: 0, files: HashMap::new() }
    }
}

impl Ranges {
    /// Adds the first rows of a row group.
    fn add(&mut self, table: &Table, group: usize, rows: usize, extents: &Extents) -> Result<()> {
        let [rank, path, offset, done, start, end, flags, extents_id] = numbers(
            table,
            group,
            [
                "rank",
                "path_id",
                "offset_bytes",
                "done_bytes",
                "start_ns",
                "end_ns",
                "flags",
                "extents_id",
            ],
        )?;
        for at in 0..rows {
            let done_bytes = done[at] as u64;
            let reach_bytes = done_bytes.max(extents.reach_bytes(extents_id[at]));
            self.last_rank = self.last_rank.max(rank[at] as u64);
            self.start_ns = self.start_ns.min(start[at] as u64);
            self.end_ns = self.end_ns.max(start[at] as u64).max(end[at] as u64);
            self.end_bytes = self.end_bytes.max((offset[at] as u64).saturating_add(reach_bytes));
            if path[at] >= 0 && done_bytes > 0 && flags[at] & FAILED == 0 {
                let id = path[at] as i32;
                let file = self.files.entry(id).or_insert(Chosen { id, bytes: 0, group });
                file.bytes = file.bytes.saturating_add(done_bytes);
            }
        }
        Ok(())
    }
}

/// The files with most bytes, of equal ones the first, and the number of others.
fn largest_files(files: HashMap<i32, Chosen>) -> (Vec<Chosen>, usize) {
    let mut files: Vec<Chosen> = files.into_values().collect();
    files.sort_unstable_by_key(|file| (Reverse(file.bytes), file.id));
    let more = files.len().saturating_sub(FILES);
    files.truncate(FILES);
    (files, more)
}

/// Gives the first rows of a row group.
pub(crate) fn rows(
    table: &Table,
    group: usize,
    scope: &Scope,
    mut each: impl FnMut(&Row),
) -> Result<()> {
    let [rank, path_id, offset, done] =
        numbers(table, group, ["rank", "path_id", "offset_bytes", "done_bytes"])?;
    let [start, end, busy, due] =
        numbers(table, group, ["start_ns", "end_ns", "busy_ns", "intended_start_ns"])?;
    let [flags, pieces, extents_id] = numbers(table, group, ["flags", "pieces", "extents_id"])?;
    let [labels, ops] = [table.texts(group, "label")?, table.texts(group, "op")?];
    let others = scope.labels.len();
    let number = |text: &str| scope.labels.iter().position(|label| label == text);
    let texts = labels.iter().map(Option::as_ref);
    let labels = meanings(texts, others, |text| Ok(number(text).unwrap_or(others)))?;
    let ops = meanings(ops.iter().map(Option::as_ref), None, |name| find_op(name).map(Some))?;
    for at in 0..scope.groups[group] {
        let (start_ns, flags) = (start[at] as u64, flags[at]);
        each(&Row {
            rank: rank[at] as u32,
            op: ops[at].ok_or_else(|| invalid("op"))?,
            label: labels[at],
            path_id: path_id[at] as i32,
            offset_bytes: offset[at] as u64,
            done_bytes: done[at] as u64,
            start_ns,
            // A damaged table must not give operations that end before they begin.
            end_ns: (end[at] as u64).max(start_ns),
            busy_ns: busy[at] as u64,
            failed: flags & FAILED != 0,
            pieces: pieces[at] as u32,
            extents_id: extents_id[at],
            unplaced: flags & i64::from(FLAG_UNPLACED) != 0,
            due_ns: (flags & i64::from(FLAG_DUE) != 0).then_some(due[at] as u64),
        });
    }
    Ok(())
}

/// Label, operation and time of each row of an execution, in nanoseconds of operations that did not
/// fail.
fn times(run: &Run, execution: Execution) -> impl Iterator<Item = (&str, &str, f64)> {
    let is_one = move |row: &&model::run::Row| {
        row.part_of.is_none() && (row.cell, row.repetition) == execution
    };
    let own = OwnTimes::new(run);
    run.rows.iter().filter(is_one).map(move |row| (&*row.label, &*row.op, own.sum_ns(row)))
}

/// Operations of the execution were due at times.
fn is_due(run: &Run, execution: Execution, label: &str, op: &str) -> bool {
    run.rows.iter().filter(|row| is_service(row)).any(|row| {
        (row.cell, row.repetition) == execution
            && (&*row.label, row.part_of.as_deref()) == (label, Some(op))
    })
}

/// The operation in `labels` with most time.
fn busiest(run: &Run, execution: Execution, labels: &[String]) -> Option<(usize, Busiest)> {
    let all_ns: f64 = times(run, execution).map(|row| row.2).sum();
    let found = times(run, execution).filter_map(|(label, op, busy_ns)| {
        let number = labels.iter().position(|other| other == label)?;
        Some((number, label, Op::find(op)?, busy_ns))
    });
    let (number, label, op, busy_ns) = found.reduce(|a, b| if b.3 > a.3 { b } else { a })?;
    let is_due = is_due(run, execution, label, op.name());
    // Of a row without times nobody knows its part.
    let unknown = run.rows.iter().any(|row| {
        let is_one = row.part_of.is_none() && (row.cell, row.repetition) == execution;
        is_one && row.mean_ns.is_none() && row.count > row.failed + row.expected
    });
    let share = (!unknown).then_some(busy_ns / all_ns);
    let busiest = || Busiest { label: label.into(), op, share, is_due };
    (busy_ns > 0.0).then(|| (number, busiest()))
}

/// Labels by time in operations, as the rows tell it.
fn busiest_labels(run: &Run, execution: Execution) -> Vec<String> {
    let by_label = grouped(times(run, execution).map(|(label, _, busy_ns)| (label, busy_ns)));
    let sum = |(label, times): (_, Vec<f64>)| (label, times.iter().sum::<f64>());
    let mut all: Vec<(&str, f64)> = by_label.into_iter().map(sum).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(MAX_LABELS);
    all.into_iter().map(|entry| entry.0.to_string()).collect()
}
