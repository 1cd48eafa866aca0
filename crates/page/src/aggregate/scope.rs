//! Which executions are shown, and their ranges: found in a pass over the columns that these need.

use super::axis::Execution;
use super::extents::Extents;
use super::quick::QuickMap;
use model::Run;
use model::event::{FLAG_EXPECTED, FLAG_FAILED};
use parquet::errors::Result;
use report::events::{Table, invalid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Points of a sweep that are shown.
const POINTS: usize = 8;
/// Files that are counted apart.
pub(crate) const FILES: usize = 1000;
/// Bits of the column `flags` of an operation that failed.
pub(crate) const FAILED: i64 = (FLAG_FAILED | FLAG_EXPECTED) as i64;

/// A file that is counted apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    /// Number of its path.
    pub id: i32,
    /// Bytes moved to or from it.
    pub bytes: u64,
    /// Time of operations on it.
    pub busy_ns: u64,
    /// First row group that names it.
    pub group: usize,
}

/// An execution that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub execution: Execution,
    /// Numbers of ranks are below.
    pub ranks: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    /// No operation reaches beyond this position in a file.
    pub end_bytes: u64,
    /// The files with most bytes, then most time.
    pub files: Vec<Chosen>,
    /// Other files with operations.
    pub more_files: usize,
}

/// Rows of an execution in a row group.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Number of the execution.
    pub execution: usize,
    pub rows: Range<usize>,
}

/// Row groups by number, each with its parts.
type Groups = Vec<(usize, Vec<Part>)>;

/// What is shown, and where in the table it is.
#[derive(Debug)]
pub(crate) struct Scope {
    pub spans: Vec<Span>,
    /// Row groups with rows of these executions.
    pub groups: Groups,
    /// Extents that operations refer to.
    pub extents: Extents,
}

impl Scope {
    /// Nothing of an empty table.
    pub fn of(table: &Table, run: &Run) -> Result<Scope> {
        let entries = run.run.events.as_ref().map_or(&[][..], |events| &events.extents);
        let extents = Extents::of(entries);
        let (executions, groups) = locate(table, run)?;
        let mut ranges = vec![Ranges::default(); executions.len()];
        for (group, parts) in &groups {
            add_ranges(table, *group, parts, &extents, &mut ranges)?;
        }
        let span = |(execution, ranges): (Execution, Ranges)| ranges.span(execution);
        let spans = executions.into_iter().zip(ranges).map(span).collect::<Result<_>>()?;
        Ok(Scope { spans, groups, extents })
    }
}

/// Executions that are shown, and their rows in each row group that has some.
fn locate(table: &Table, run: &Run) -> Result<(Vec<Execution>, Groups)> {
    let mut runs: Vec<(usize, Execution, Range<usize>)> = Vec::new();
    for group in 0..table.groups() {
        let [cells, repetitions] = numbers(table, group, ["cell", "repetition"])?;
        let own = cells.iter().zip(&repetitions).map(|(cell, rep)| (*cell as u32, *rep as u32));
        let own: Vec<Execution> = own.collect();
        let mut start = 0;
        for same in own.chunk_by(|a, b| a == b) {
            runs.push((group, same[0], start..start + same.len()));
            start += same.len();
        }
    }
    let executions = chosen(run, &runs.iter().map(|run| run.1).collect());
    let mut groups: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
    for (group, execution, rows) in runs {
        if let Some(execution) = executions.iter().position(|one| *one == execution) {
            groups.entry(group).or_default().push(Part { execution, rows });
        }
    }
    Ok((executions, groups.into_iter().collect()))
}

/// The first execution; of A and B that of each side, of a sweep that of each of the first points.
fn chosen(run: &Run, all: &BTreeSet<Execution>) -> Vec<Execution> {
    let Some(sweep) = &run.run.sweep else { return all.iter().take(1).copied().collect() };
    let mut firsts: Vec<Execution> = all.iter().copied().collect();
    firsts.dedup_by_key(|execution| execution.0);
    if sweep.pair().is_none() {
        firsts.truncate(POINTS);
        return firsts;
    }
    // Sides take turns in the numbers of points.
    let side = |side: u32| firsts.iter().copied().find(|execution| execution.0 % 2 == side);
    [side(0), side(1)].into_iter().flatten().collect()
}

/// Columns of numbers in a row group.
pub(crate) fn numbers<const N: usize>(
    table: &Table,
    group: usize,
    names: [&str; N],
) -> Result<[Vec<i64>; N]> {
    let mut columns = [const { Vec::new() }; N];
    for (column, name) in columns.iter_mut().zip(names) {
        *column = table.numbers(group, name)?;
    }
    Ok(columns)
}

/// Ranges of an execution.
#[derive(Clone)]
pub(crate) struct Ranges {
    last_rank: u64,
    start_ns: u64,
    end_ns: u64,
    end_bytes: u64,
    files: QuickMap<i32, Chosen>,
}

impl Default for Ranges {
    fn default() -> Ranges {
        let files = QuickMap::default();
        Ranges { last_rank: 0, start_ns: u64::MAX, end_ns: 0, end_bytes: 0, files }
    }
}

/// The part of an operation that ranges need.
pub(crate) struct Reach {
    pub rank: u64,
    /// Number of its path; negative without one.
    pub path_id: i32,
    pub start_ns: u64,
    pub end_ns: u64,
    pub busy_ns: u64,
    pub offset_bytes: u64,
    pub done_bytes: u64,
    /// From its first byte to behind its last one.
    pub reach_bytes: u64,
    pub failed: bool,
}

impl Ranges {
    /// Adds an operation of a row group.
    pub fn add(&mut self, one: &Reach, group: usize) {
        self.last_rank = self.last_rank.max(one.rank);
        self.start_ns = self.start_ns.min(one.start_ns);
        self.end_ns = self.end_ns.max(one.start_ns).max(one.end_ns);
        if one.failed {
            return;
        }
        if one.done_bytes > 0 {
            let end = one.offset_bytes.saturating_add(one.reach_bytes);
            self.end_bytes = self.end_bytes.max(end);
        }
        if one.path_id >= 0 {
            let file = Chosen { id: one.path_id, bytes: 0, busy_ns: 0, group };
            let file = self.files.entry(one.path_id).or_insert(file);
            file.bytes = file.bytes.saturating_add(one.done_bytes);
            file.busy_ns = file.busy_ns.saturating_add(one.busy_ns);
        }
    }

    pub fn span(self, execution: Execution) -> Result<Span> {
        let ranks = u32::try_from(self.last_rank.saturating_add(1)).map_err(|_| invalid("rank"))?;
        let mut files: Vec<Chosen> = self.files.into_values().collect();
        files.sort_unstable_by_key(|file| (Reverse((file.bytes, file.busy_ns)), file.id));
        let more_files = files.len().saturating_sub(FILES);
        files.truncate(FILES);
        let (start_ns, end_ns, end_bytes) = (self.start_ns, self.end_ns, self.end_bytes);
        Ok(Span { execution, ranks, start_ns, end_ns, end_bytes, files, more_files })
    }
}

fn add_ranges(
    table: &Table,
    group: usize,
    parts: &[Part],
    extents: &Extents,
    ranges: &mut [Ranges],
) -> Result<()> {
    let [rank, path, offset, done] =
        numbers(table, group, ["rank", "path_id", "offset_bytes", "done_bytes"])?;
    let [start, end, busy, flags, extents_id] =
        numbers(table, group, ["start_ns", "end_ns", "busy_ns", "flags", "extents_id"])?;
    for part in parts {
        let found = &mut ranges[part.execution];
        for at in part.rows.clone() {
            let done_bytes = done[at] as u64;
            let one = Reach {
                rank: rank[at] as u64,
                path_id: path[at] as i32,
                start_ns: start[at] as u64,
                end_ns: end[at] as u64,
                busy_ns: busy[at] as u64,
                offset_bytes: offset[at] as u64,
                done_bytes,
                reach_bytes: done_bytes.max(extents.reach_bytes(extents_id[at])),
                failed: flags[at] & FAILED != 0,
            };
            found.add(&one, group);
        }
    }
    Ok(())
}

/// The paths of files by their numbers, read from the row groups that name them first.
pub(crate) fn paths(table: &Table, scope: &Scope) -> Result<QuickMap<i32, String>> {
    let mut paths: QuickMap<i32, String> = QuickMap::default();
    for (group, parts) in &scope.groups {
        let files = || parts.iter().flat_map(|part| &scope.spans[part.execution].files);
        if !files().any(|file| file.group == *group) {
            continue;
        }
        let wanted: BTreeSet<i32> =
            files().filter(|file| file.group == *group).map(|file| file.id).collect();
        let (ids, texts) = (table.numbers(*group, "path_id")?, table.texts(*group, "path")?);
        let mut last = -1;
        for (id, text) in ids.iter().map(|id| *id as i32).zip(&texts) {
            if id == last || !wanted.contains(&id) || paths.contains_key(&id) {
                continue;
            }
            last = id;
            if let Some(text) = text {
                paths.insert(id, text.as_utf8()?.to_string());
            }
        }
    }
    Ok(paths)
}
