//! Ranges of the columns, from Parquet's directory: known before a row is read. A column
//! without statistics (another program wrote the file) is read for it.

use super::axis::{Bands, Busiest, Execution, MAX_LABELS, Nodes, TimeBins};
use super::extents::Extents;
use super::scan;
use crate::events::{Table, invalid};
use crate::rows::{OwnTimes, is_service};
use model::run::Row;
use model::{Op, Run};
use parquet::errors::Result;
use std::collections::HashMap;

/// Columns of time: what a wide picture can show.
const TIME_COLUMNS: u64 = 240;
/// Columns of time for each event at most.
const COLUMNS_PER_EVENT: u64 = 4;
/// Bands of ranks, and of machines: one each up to here.
const MAX_BANDS: usize = 1024;

/// The choice of events and the layout of their counters.
#[derive(Debug)]
pub(super) struct Scope {
    pub execution: Execution,
    pub one_of_many: bool,
    pub time: TimeBins,
    pub bands: Bands,
    /// Machines, if there are several.
    pub nodes: Option<Nodes>,
    /// No operation reaches beyond this position in a file.
    pub offset_end_bytes: u64,
    /// There are no more paths than this.
    pub paths: usize,
    /// Paths whose parts are kept; `None`: all.
    pub files: Option<Vec<i32>>,
    /// Labels with most time in operations, most first.
    pub labels: Vec<String>,
    /// Numbers of the labels; others are the number of labels.
    pub label_numbers: HashMap<Vec<u8>, usize>,
    /// The busiest operation of one of the labels, and that label's number.
    pub busiest: Option<(usize, Busiest)>,
    /// Extents that operations refer to.
    pub extents: Extents,
    /// Operations were due at times.
    pub has_due: bool,
}

impl Scope {
    /// The ranges of the first execution; `None`: there is nothing.
    pub fn of(table: &Table, run: &Run) -> Result<Option<Scope>> {
        if table.rows() == 0 {
            return Ok(None);
        }
        let execution = first_execution(table)?;
        let one_of_many = ["cell", "repetition"]
            .iter()
            .map(|name| range(table, 0..table.groups(), name, None))
            .collect::<Result<Vec<_>>>()?
            .iter()
            .any(|(low, high)| low != high);
        let groups: Vec<usize> =
            (0..table.groups()).filter(|group| table.may_hold(*group, execution)).collect();
        let range = |name| range(table, groups.iter().copied(), name, Some(execution));
        let unsigned =
            |name| range(name).map(|(low, high)| (low.max(0) as u64, high.max(0) as u64));
        let (start_ns, end_ns) = (unsigned("start_ns")?.0, unsigned("end_ns")?.1);
        let ranks = unsigned("rank")?.1.saturating_add(1);
        let ranks = u32::try_from(ranks).map_err(|_| invalid("rank"))?;
        let last_bytes = unsigned("offset_bytes")?.1;
        // Every event has two paths at most. Their numbers may be larger: some are of no event.
        let paths = unsigned("path_id")?.1.saturating_add(1).min(2 * table.rows() + 2) as usize;
        let entries = run.run.events.as_ref().map_or(&[][..], |events| &events.extents);
        let extents = Extents::of(entries);
        let reach_bytes = reach(table, &groups, execution, &extents)?;
        let longest_bytes = unsigned("done_bytes")?.1.max(reach_bytes);
        let labels = busiest_labels(run, execution);
        let busiest = busiest(run, execution, &labels);
        let numbers = labels.iter().enumerate().map(|(at, label)| (label.clone().into_bytes(), at));
        Ok(Some(Scope {
            execution,
            one_of_many,
            time: TimeBins::over(start_ns, end_ns, columns(table, &groups)),
            bands: Bands::over(ranks, MAX_BANDS),
            nodes: Nodes::of(&run.run.nodes_of(execution.cell, execution.repetition), MAX_BANDS),
            offset_end_bytes: last_bytes.saturating_add(longest_bytes),
            paths,
            files: None,
            label_numbers: numbers.collect(),
            busiest,
            labels,
            extents,
            has_due: !run.run.arrivals.is_empty(),
        }))
    }

    pub fn with_files(self, files: Option<Vec<i32>>) -> Scope {
        Scope { files, ..self }
    }

    /// Parts of this file are kept.
    #[inline]
    pub fn wants_file(&self, path_id: i32) -> bool {
        let chosen = |files: &Vec<i32>| files.binary_search(&path_id).is_ok();
        path_id >= 0 && self.files.as_ref().is_none_or(chosen)
    }
}

/// Columns of time. With fewer operations than columns a rate would be that of a single one.
fn columns(table: &Table, groups: &[usize]) -> usize {
    let rows: u64 =
        groups.iter().map(|group| table.described(*group).num_rows().max(0) as u64).sum();
    rows.saturating_mul(COLUMNS_PER_EVENT).clamp(1, TIME_COLUMNS) as usize
}

/// The farthest that the extents of an operation of the execution reach from its offset.
fn reach(table: &Table, groups: &[usize], execution: Execution, extents: &Extents) -> Result<u64> {
    let mut farthest_bytes = 0;
    let is_used = |group: &&usize| {
        let range = table.statistics(**group, "extents_id");
        !extents.is_empty() && range.is_none_or(|(_, high)| high >= 0)
    };
    for group in groups.iter().filter(is_used) {
        let mut latest = -1;
        scan::integers(table, *group, ["extents_id"], Some(execution), |[id]| {
            if id != latest {
                latest = id;
                farthest_bytes = extents.reach_bytes(latest).max(farthest_bytes);
            }
        })?;
    }
    Ok(farthest_bytes)
}

fn first_execution(table: &Table) -> Result<Execution> {
    let mut first = None;
    for group in 0..table.groups() {
        scan::until(table, group, ["cell", "repetition"], None, |[cell, repetition]| {
            let found = Execution { cell: cell as u32, repetition: repetition as u32 };
            first.get_or_insert(found);
            false
        })?;
        if let Some(found) = first {
            return Ok(found);
        }
    }
    Err(invalid("number of rows"))
}

/// Smallest and largest value of a column over row groups, of one execution or of all; (0, 0)
/// without any.
fn range(
    table: &Table,
    groups: impl IntoIterator<Item = usize>,
    name: &'static str,
    execution: Option<Execution>,
) -> Result<(i64, i64)> {
    let mut all: Option<(i64, i64)> = None;
    for group in groups {
        // The directory speaks of all executions in a row group: each has a clock of its own.
        let whole = execution.is_none_or(|wanted| table.holds_only(group, wanted));
        let found = match table.statistics(group, name).filter(|_| whole) {
            Some(range) => Some(range),
            None => read_range(table, group, name, execution)?,
        };
        let join = |all: (i64, i64), found: (i64, i64)| (all.0.min(found.0), all.1.max(found.1));
        all = all.into_iter().chain(found).reduce(join);
    }
    Ok(all.unwrap_or((0, 0)))
}

fn read_range(
    table: &Table,
    group: usize,
    name: &'static str,
    execution: Option<Execution>,
) -> Result<Option<(i64, i64)>> {
    let mut all: Option<(i64, i64)> = None;
    scan::integers(table, group, [name], execution, |[value]| {
        let (low, high) = all.unwrap_or((value, value));
        all = Some((low.min(value), high.max(value)));
    })?;
    Ok(all)
}

/// Label, operation and time of each row of an execution, in nanoseconds of operations that did not
/// fail.
fn times(run: &Run, execution: Execution) -> impl Iterator<Item = (&str, &str, f64)> {
    let is_one =
        move |row: &&Row| row.part_of.is_none() && (row.cell, row.repetition) == execution.pair();
    let own = OwnTimes::new(run);
    run.rows.iter().filter(is_one).map(move |row| (&*row.label, &*row.op, own.sum_ns(row)))
}

/// Operations of the execution were due at times.
fn is_due(run: &Run, execution: Execution, label: &str, op: &str) -> bool {
    run.rows.iter().filter(|row| is_service(row)).any(|row| {
        (row.cell, row.repetition) == execution.pair()
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
    let busiest = || Busiest { label: label.into(), op, share: busy_ns / all_ns, is_due };
    (busy_ns > 0.0).then(|| (number, busiest()))
}

/// Labels by time in operations, as the rows tell it.
fn busiest_labels(run: &Run, execution: Execution) -> Vec<String> {
    let mut all: Vec<(&str, f64)> = Vec::new();
    for (label, _, busy_ns) in times(run, execution) {
        match all.iter_mut().find(|entry| entry.0 == label) {
            Some(entry) => entry.1 += busy_ns,
            None => all.push((label, busy_ns)),
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(MAX_LABELS);
    all.into_iter().map(|entry| entry.0.to_string()).collect()
}
