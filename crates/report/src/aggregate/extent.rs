//! Ranges of the columns, from Parquet's directory: known before a row is read. A column
//! without statistics (another program wrote the file) is read for it.

use super::Execution;
use super::axis::{Bands, TimeBins};
use super::grid::MAX_LABELS;
use super::scan::{Scan, Table};
use crate::events::invalid;
use model::Run;
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use std::collections::HashMap;

/// Columns of time: what a wide picture can show.
const TIME_COLUMNS: usize = 240;
/// Bands of ranks: one each up to here.
const MAX_BANDS: usize = 1024;

/// What is counted, and where its counters lie.
#[derive(Debug)]
pub(super) struct Extent {
    pub execution: Execution,
    pub one_of_many: bool,
    pub time: TimeBins,
    pub bands: Bands,
    /// No operation reaches beyond this position in a file.
    pub offset_end_bytes: u64,
    /// Largest number of a path, and one.
    pub paths: usize,
    /// Paths whose parts are kept; `None`: all.
    pub files: Option<Vec<i32>>,
    /// Labels with most time in operations, most first.
    pub labels: Vec<String>,
    /// Numbers of the labels; others are the number of labels.
    pub label_numbers: HashMap<Vec<u8>, usize>,
}

impl Extent {
    /// The ranges of the first execution; `None`: there is nothing.
    pub fn of(table: &Table, run: &Run) -> Result<Option<Extent>> {
        if table.rows() == 0 {
            return Ok(None);
        }
        let execution = first_execution(table)?;
        let one_of_many = ["cell", "repetition"]
            .iter()
            .map(|name| range(table, 0..table.groups(), name))
            .collect::<Result<Vec<_>>>()?
            .iter()
            .any(|(low, high)| low != high);
        let groups: Vec<usize> =
            (0..table.groups()).filter(|group| table.may_hold(*group, execution)).collect();
        let range = |name: &str| range(table, groups.iter().copied(), name);
        let unsigned =
            |name: &str| range(name).map(|(low, high)| (low.max(0) as u64, high.max(0) as u64));
        let (start_ns, end_ns) = (unsigned("start_ns")?.0, unsigned("end_ns")?.1);
        let ranks = unsigned("rank")?.1.saturating_add(1);
        let ranks = u32::try_from(ranks).map_err(|_| invalid("rank"))?;
        let last_bytes = unsigned("offset_bytes")?.1;
        let paths = usize::try_from(unsigned("path_id")?.1.saturating_add(1)).unwrap_or(usize::MAX);
        // Every event has two paths at most.
        if paths as u64 > 2 * table.rows() + 2 {
            return Err(invalid("number of a path"));
        }
        let labels = busiest_labels(run, execution);
        let numbers = labels.iter().enumerate().map(|(at, label)| (label.clone().into_bytes(), at));
        Ok(Some(Extent {
            execution,
            one_of_many,
            time: TimeBins::over(start_ns, end_ns, TIME_COLUMNS),
            bands: Bands::over(ranks, MAX_BANDS),
            offset_end_bytes: last_bytes.saturating_add(unsigned("done_bytes")?.1),
            paths,
            files: None,
            label_numbers: numbers.collect(),
            labels,
        }))
    }

    pub fn with_files(self, files: Option<Vec<i32>>) -> Extent {
        Extent { files, ..self }
    }

    /// Parts of this file are kept.
    #[inline]
    pub fn wants_file(&self, path_id: i32) -> bool {
        let chosen = |files: &Vec<i32>| files.binary_search(&path_id).is_ok();
        path_id >= 0 && self.files.as_ref().is_none_or(chosen)
    }
}

fn first_execution(table: &Table) -> Result<Execution> {
    let mut scan = Scan::columns(table, &["cell", "repetition"])?;
    let mut first = None;
    for group in 0..table.groups() {
        scan.integers(group, |values| {
            let found = Execution { cell: values[0] as u32, repetition: values[1] as u32 };
            first.get_or_insert(found);
            false
        })?;
        if let Some(found) = first {
            return Ok(found);
        }
    }
    Err(invalid("number of rows"))
}

/// Smallest and largest value of a column over row groups; (0, 0) without any.
fn range(table: &Table, groups: impl IntoIterator<Item = usize>, name: &str) -> Result<(i64, i64)> {
    let mut all: Option<(i64, i64)> = None;
    for group in groups {
        let (low, high) = match table.statistics(group, name) {
            Some(range) => range,
            None => read_range(table, group, name)?,
        };
        all = Some(all.map_or((low, high), |all| (all.0.min(low), all.1.max(high))));
    }
    Ok(all.unwrap_or((0, 0)))
}

fn read_range(table: &Table, group: usize, name: &str) -> Result<(i64, i64)> {
    let mut all = (i64::MAX, i64::MIN);
    Scan::columns(table, &[name])?.integers(group, |values| {
        all = (all.0.min(values[0]), all.1.max(values[0]));
        true
    })?;
    Ok(if all.0 > all.1 { (0, 0) } else { all })
}

/// Smallest and largest value that the directory tells.
pub(super) fn told(statistics: &Statistics) -> Option<(i64, i64)> {
    match statistics {
        Statistics::Int32(s) => Some((i64::from(*s.min_opt()?), i64::from(*s.max_opt()?))),
        Statistics::Int64(s) => Some((*s.min_opt()?, *s.max_opt()?)),
        _ => None,
    }
}

/// Labels by time in operations, as the rows tell it.
fn busiest_labels(run: &Run, execution: Execution) -> Vec<String> {
    let mut all: Vec<(&str, f64)> = Vec::new();
    let rows = run.rows.iter().filter(|row| {
        row.part_of.is_none()
            && (row.cell, row.repetition) == (execution.cell, execution.repetition)
    });
    for row in rows {
        let busy_ns = row.mean_ns.unwrap_or(0.0) * row.count as f64;
        match all.iter_mut().find(|entry| entry.0 == row.label) {
            Some(entry) => entry.1 += busy_ns,
            None => all.push((&row.label, busy_ns)),
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(MAX_LABELS);
    all.into_iter().map(|entry| entry.0.to_string()).collect()
}
