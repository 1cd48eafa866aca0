//! The summary: per label and operation, parts below their operation, and the totals of each class.

use crate::document::Sheet;
use crate::grid::{Cell, Grid, Kind, Line, field, optional};
use crate::limited;
use crate::rows::{class, is_bound, is_service, label_name, moves_bytes, once, repeated, sum};
use model::op::{Class, Part};
use model::run::{Row, Run};
use model::units::Measure;
use std::borrow::Cow;

const COUNT: Kind = Kind::Count;
const TIME: Kind = Kind::Quantity(Measure::Time);
const PERCENTILE: Kind = Kind::Percentile(Measure::Time);
const BYTES: Kind = Kind::Quantity(Measure::Bytes);
const BYTE_RATE: Kind = Kind::Quantity(Measure::ByteRate);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

const LEGEND: &str = "Times are per successful operation. Rate per rank = bytes / time spent in this operation (mean \
                      of ranks). Total rate = bytes / duration of the phase, other operations included.";
const LEGEND_IMPORTED: &str = "Times are per successful operation. Rate per rank = bytes / time spent in this operation \
                      (mean of ranks). Total rate = bytes / time of its label, and where the log has only sums / \
                      time from the operation's first start to its last end.";
const LEGEND_NO_LABEL: &str = "In no label: total rate = bytes / time from the operation's first start to its \
                               last end.";
const LEGEND_DUE: &str = "Where there is a row .service, times of the operation count from when it was due; its rates \
                          per rank go by the row .service, the time of its calls alone.";
const LEGEND_ABOVE: &str = "Rows of MPI-IO (pfopen, pfwrite, ...) are calls of the program that became calls of POSIX \
                            in the rows above: bytes and times are the same, and totals and shares leave them out.";
const LEGEND_BOUND: &str = "≥: the label was executed more often than is kept one by one; gaps between its occurrences \
                            count as time inside.";

/// A line: a row, or the sum of a class.
struct Entry<'r> {
    heading: String,
    name: String,
    row: Cow<'r, Row>,
    /// Rates of the label are lower bounds.
    at_least: bool,
    /// Bytes could have been moved: a zero is worth showing.
    can_move: bool,
    /// No times and no rates: different operations and labels have none in common.
    is_total: bool,
}

/// The table; none if nothing was executed.
pub fn sheet(run: &Run) -> Option<Sheet> {
    if run.rows.is_empty() {
        return None;
    }
    let mut entries: Vec<Entry<'_>> = run.rows.iter().map(|row| entry(run, row)).collect();
    entries.extend(totals(run));
    // Where the table is too wide, rare percentiles go first, then what one rank reaches, bytes (they follow
    // from count and program), then the least telling times; counts of failures never.
    let grid = Grid::of(
        vec![
            field("operation", "", Kind::Word, 0, |one: &Entry<'_>| Cell::Text(one.name.clone())),
            field("count", "", COUNT, 0, |one| Cell::Count(one.row.count)),
            optional("failed", "", COUNT, 0, |one| Cell::Count(one.row.failed)),
            optional("short", "", COUNT, 0, |one| Cell::Count(one.row.short)),
            optional("expected", "", COUNT, 0, |one| Cell::Count(one.row.expected)),
            field("bytes", "", BYTES, 5, |one| match (one.row.bytes, one.can_move) {
                (0, false) => Cell::None,
                (bytes, _) => Cell::whole(bytes),
            }),
            field("min", "", TIME, 6, |one| one.time(one.row.min_ns)),
            field("avg", "", TIME, 9, |one| one.figure(one.row.mean_ns)),
            field("p50", "", PERCENTILE, 7, |one| one.time(one.row.p50_ns)),
            field("p90", "", PERCENTILE, 2, |one| one.time(one.row.p90_ns)),
            field("p99", "", PERCENTILE, 8, |one| one.time(one.row.p99_ns)),
            field("p99.9", "", PERCENTILE, 1, |one| one.time(one.row.p999_ns)),
            field("max", "", TIME, 0, |one| one.time(one.row.max_ns)),
            field("bytes/s", "per rank", BYTE_RATE, 4, |one| one.figure(one.row.rank_mib_s)),
            field("bytes/s", "total", BYTE_RATE, 0, |one| one.total_rate(one.row.mib_s)),
            field("ops/s", "per rank", OP_RATE, 3, |one| one.figure(one.row.rank_ops_s)),
            field("ops/s", "total", OP_RATE, 0, |one| one.total_rate(one.row.ops_s)),
        ],
        &entries,
        |one| one.row.failed > 0,
    );
    let grid = grid.with_headings(&entries, |one| one.heading.clone());
    let has_rate = |row: &Row| row.label.is_empty() && (row.mib_s.is_some() || row.ops_s.is_some());
    let is_bound = |line: &Line| matches!(line, Line::Cells { cells, .. } if cells.iter().any(|cell| matches!(cell, Cell::AtLeast(_))));
    let legends = [
        (run.run.trace.is_none(), LEGEND),
        (run.run.trace.is_some(), LEGEND_IMPORTED),
        (run.rows.iter().any(has_rate), LEGEND_NO_LABEL),
        (run.rows.iter().any(is_service), LEGEND_DUE),
        (repeated(run).next().is_some(), LEGEND_ABOVE),
        (grid.lines.iter().any(is_bound), LEGEND_BOUND),
    ];
    let legends = legends.into_iter().filter(|(holds, _)| *holds);
    let notes = legends.map(|(_, text)| text.to_string()).chain(limited::sentences(run));
    Some(Sheet { name: "summary", title: String::new(), notes: notes.collect(), grid })
}

impl Entry<'_> {
    fn figure(&self, figure: Option<f64>) -> Cell {
        if self.is_total { Cell::Text(String::new()) } else { Cell::number(figure) }
    }

    fn time(&self, ns: Option<u64>) -> Cell {
        self.figure(ns.map(|ns| ns as f64))
    }

    fn total_rate(&self, rate: Option<f64>) -> Cell {
        match self.figure(rate) {
            Cell::Number(rate) if self.at_least => Cell::AtLeast(rate),
            cell => cell,
        }
    }
}

fn entry<'r>(run: &Run, row: &'r Row) -> Entry<'r> {
    let part = row.part_of.as_deref().map(|whole| {
        let part = row.op.strip_prefix(whole).and_then(|rest| rest.strip_prefix('.'));
        part.unwrap_or(&row.op)
    });
    Entry {
        heading: label_name(&row.label).to_string(),
        name: part.map_or_else(|| format!("  {}", row.op), |part| format!("    .{part}")),
        row: Cow::Borrowed(row),
        at_least: is_bound(run, row),
        can_move: part.is_none_or(|part| part == Part::Data.name())
            && moves_bytes(row.part_of.as_deref().unwrap_or(&row.op)),
        is_total: false,
    }
}

/// Classes in the order of the totals, and their names.
const CLASSES: [(Class, &str); 7] = [
    (Class::Open, "opening"),
    (Class::Read, "reading"),
    (Class::Write, "writing"),
    (Class::Sync, "syncing"),
    (Class::Close, "closing"),
    (Class::Metadata, "metadata"),
    (Class::Control, "other"),
];

/// Counts and bytes of each class, if there is more than one row to add up.
fn totals(run: &Run) -> Vec<Entry<'static>> {
    let whole: Vec<&Row> = once(run).collect();
    if whole.len() < 2 {
        return Vec::new();
    }
    let total = |(of, name): (Class, &str)| {
        let mut members = whole.iter().filter(|row| class(&row.op) == of).peekable();
        members.peek()?;
        Some(Entry {
            heading: "all labels, by class".into(),
            name: format!("  {name}"),
            row: Cow::Owned(sum(members.copied())),
            at_least: false,
            can_move: matches!(of, Class::Read | Class::Write),
            is_total: true,
        })
    };
    CLASSES.into_iter().filter_map(total).collect()
}
