//! The event table condensed to what pictures and tables need, in two passes over the columns that these need.
//!
//! ```text
//! events.parquet ──scope──▶ executions, their ranges, the files with most bytes
//!                ──rows───▶ TimeLine (cells, latencies, offsets), Access: of a bounded size
//!                           ──encode──▶ text for the script of a page
//! ```
//!
//! A row group is in memory at a time, and a few bytes per path; events that are in memory already (`watched`) take
//! the same way behind the rows. Not here: pictures ([`crate::views`]). Files from the leaf on: `quick`, `axis`,
//! `extents`, `sparse`, `scope`, `rows`, `cells`, `offsets`, `due`, `encode`, `timeline`, `access`, `watched`.

mod access;
mod axis;
mod cells;
mod due;
mod encode;
mod extents;
mod offsets;
mod quick;
mod rows;
mod scope;
mod sparse;
#[cfg(test)]
mod tests;
mod timeline;
pub(crate) mod watched;

pub use access::{Access, BINS, FileAccess, Moves, RankAccess, Sizes};
pub use axis::{Bands, Execution, TimeBins};
pub use cells::{Cell, Stream};
pub use due::DueGrid;
pub use offsets::{OffsetCell, Offsets, ROWS as OFFSET_ROWS};
pub use timeline::{Data, Kind, Latency, Phase, TimeLine};

use access::Accesses;
use extents::{Extents, Row};
use model::{Op, Run};
use parquet::errors::Result;
use quick::QuickMap;
use report::StoreError;
use report::events::Table;
use rows::Labels;
use scope::{Scope, Span};
use serde::{Serialize, Serializer};
use std::path::Path;
use timeline::Collector;

/// Events of the executions that are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregates {
    /// The first execution; of A and B that of each side, of a sweep that of each of the first 8 points.
    pub executions: Vec<TimeLine>,
    /// How each of them accessed its files.
    pub access: Vec<Access>,
}

impl Aggregates {
    /// The first execution of each of two runs, as A and B.
    pub fn beside(a: Aggregates, b: Aggregates) -> Aggregates {
        let firsts = a.executions.into_iter().take(1).chain(b.executions.into_iter().take(1));
        let mut executions: Vec<TimeLine> = firsts.collect();
        for (line, name) in executions.iter_mut().zip(["A", "B"]) {
            line.name = name.into();
        }
        let access = a.access.into_iter().take(1).chain(b.access.into_iter().take(1)).collect();
        Aggregates { executions, access }
    }

    /// The time lines as JSON for the script of a page.
    pub fn time_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The time lines, as the script of a page reads them.
impl Serialize for Aggregates {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct All<'a> {
            executions: Vec<Data<'a>>,
        }
        let executions = self.executions.iter().map(TimeLine::data).collect();
        All { executions }.serialize(serializer)
    }
}

/// Condenses the events of `run`; `path` is the folder of the run, or the table itself. `None`: the table is empty.
///
/// # Errors
/// A missing, truncated, damaged, newer or foreign table, each told apart.
pub fn aggregate(path: &Path, run: &Run) -> std::result::Result<Option<Aggregates>, StoreError> {
    let table = Table::open(path)?;
    table.guarded(|| {
        let scope = Scope::of(&table, run)?;
        (!scope.spans.is_empty()).then(|| condense(&table, &scope, run)).transpose()
    })
}

fn condense(table: &Table, scope: &Scope, run: &Run) -> Result<Aggregates> {
    let (places, lines) = lines(run);
    let mut labels = Labels::default();
    let executions = scope.spans.len();
    let mut found: Vec<One> =
        scope.spans.iter().map(|span| One::new(run, span, executions)).collect();
    let mut site = (u32::MAX, -1);
    for (group, parts) in &scope.groups {
        rows::rows(table, *group, parts, &mut labels, |execution, row| {
            if row.site != site.0 {
                site = (row.site, places.get(&row.site).copied().unwrap_or(-1));
            }
            found[execution].add(&scope.extents, row, site.1);
        })?;
    }
    let all_paths = scope::paths(table, scope)?;
    let path = |file: &scope::Chosen| all_paths.get(&file.id).cloned().unwrap_or_default();
    let (mut executions, mut access) = (Vec::new(), Vec::new());
    for (one, span) in found.into_iter().zip(&scope.spans) {
        let paths: Vec<String> = span.files.iter().map(path).collect();
        let mut line = one.line.finish(run, &labels.texts, &lines, &paths);
        line.name = name(run, span.execution);
        executions.push(line);
        access.push(one.access.finish(&paths));
    }
    Ok(Aggregates { executions, access })
}

/// What is collected of one execution.
struct One {
    line: Collector,
    access: Accesses,
    /// Numbers of the chosen files by those of their paths.
    files: QuickMap<i32, u32>,
    last: (i32, Option<usize>),
}

impl One {
    /// One of `executions`.
    fn new(run: &Run, span: &Span, executions: usize) -> One {
        let line = Collector::new(run, span, executions);
        let access = Accesses::new(span, line.has_times);
        let files = span.files.iter().zip(0..).map(|(file, at)| (file.id, at)).collect();
        One { line, access, files, last: (-1, None) }
    }

    fn add(&mut self, extents: &Extents, row: &Row, line: i32) {
        let file = self.file(row);
        self.line.add(extents, row, file, line);
        self.access.add(extents, row, file);
    }

    /// The number of the file among the chosen ones. What a symbolic link holds is no file.
    fn file(&mut self, row: &Row) -> Option<usize> {
        if row.op == Op::Symlink {
            return None;
        }
        if row.path_id != self.last.0 {
            self.last = (row.path_id, self.files.get(&row.path_id).map(|at| *at as usize));
        }
        self.last.1
    }
}

/// Numbers of the program lines by site, and the lines: number of the file and line.
fn lines(run: &Run) -> (QuickMap<u32, i32>, Vec<(u32, u32)>) {
    let files = &run.run.program.files;
    let line = |site: &model::run::Site| {
        let file = files.iter().position(|file| file.name == site.file)?;
        Some((site.site, (file as u32, site.line)))
    };
    let sites: Vec<(u32, (u32, u32))> = run.run.sites.iter().filter_map(line).collect();
    let mut lines: Vec<(u32, u32)> = sites.iter().map(|site| site.1).collect();
    lines.sort_unstable();
    lines.dedup();
    let number = |line| lines.binary_search(&line).map_or(-1, |at| at as i32);
    (sites.iter().map(|(site, line)| (*site, number(*line))).collect(), lines)
}

/// An execution in words, if there are several.
fn name(run: &Run, execution: Execution) -> String {
    match run.run.sweep.as_ref().and_then(|sweep| sweep.pair()) {
        Some(_) => ["A", "B"][execution.0 as usize % 2].into(),
        None => crate::views::scope_name(run, execution),
    }
}
