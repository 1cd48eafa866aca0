//! The summary: per label and operation, parts below their operation, and the
//! totals of each class.

use super::grid::{Cell, Column, Grid, Kind, Line};
use super::{Paint, Sheet, Terminal, paint_lines};
use crate::columns::{self, Media, ROWS, Shown, Value, shown};
use crate::once;
use crate::own_time::is_service;
use crate::text::{escape, flow};
use model::op::{Class, Op, Part};
use model::run::{Row, Run};
use model::units::Measure;
use std::collections::HashSet;

/// Columns with how they are shown.
type Columns = [(&'static columns::Column<Row>, &'static Shown<Row>)];

const BYTES: Kind = Kind::Quantity(Measure::Bytes);
/// Stands before the columns of rows.
const OPERATION: Column = Column::new("operation", "", Kind::Word, 0);

const LEGEND: &str = "Times: one operation that did not fail. Rates of 1 rank: by the time it spent in \
                      the operation, mean over ranks; of all: by the busy time of the label; in no label: \
                      by the time from the operation's first start to its last end.";
const LEGEND_DUE: &str = "Where there is a row .service, times of the operation count from when it was due; \
                          its rates of 1 rank go by the row .service, the time of its calls alone.";
const LEGEND_ABOVE: &str = "Rows of MPI-IO (pfopen, pfwrite, ...) are calls of the program that became calls \
                            of POSIX in the rows above: their bytes and times are the same ones again, and \
                            totals and shares leave them out.";
const LEGEND_BOUND: &str = "≥: the label was executed more often than is kept apart; gaps between \
                            its occurrences count as time inside.";

/// The table, or a sentence if nothing was executed.
pub fn render(run: &Run, terminal: Terminal) -> String {
    let Some(sheet) = sheet(run) else {
        return "No I/O operation was executed.".to_string();
    };
    let notes: Vec<String> = sheet.notes.iter().map(|note| flow(note, terminal.columns)).collect();
    let notes = paint_lines(&notes.join("\n"), Paint::Faint, terminal);
    format!("{}\n{notes}", sheet.grid.draw(terminal))
}

/// The table; none if nothing was executed.
pub fn sheet(run: &Run) -> Option<Sheet> {
    if run.rows.is_empty() {
        return None;
    }
    let columns = shown(ROWS, &run.rows, Media::Markdown);
    let headings = columns.iter().map(|(_, shown)| shown.heading);
    let grid = Grid {
        columns: std::iter::once(OPERATION).chain(headings).collect(),
        lines: [lines(run, &columns), totals(run, &columns)].concat(),
    };
    let mut notes = vec![LEGEND.to_string()];
    if run.rows.iter().any(is_service) {
        notes.push(LEGEND_DUE.to_string());
    }
    if once::above(run).next().is_some() {
        notes.push(LEGEND_ABOVE.to_string());
    }
    if has_bounds(&grid) {
        notes.push(LEGEND_BOUND.to_string());
    }
    notes.extend(super::limits::sentences(run));
    Some(Sheet { name: "summary", grid, notes })
}

fn has_bounds(grid: &Grid) -> bool {
    let is_bound = |line: &Line| matches!(line, Line::Cells { cells, .. } if cells.iter().any(|cell| matches!(cell, Cell::AtLeast(_))));
    grid.lines.iter().any(is_bound)
}

/// Label path and point of a sweep.
type Group<'a> = (&'a str, u32, u32);

/// Rows in their order, a heading wherever the label or the point of a sweep changes.
fn lines(run: &Run, columns: &Columns) -> Vec<Line> {
    let bounds = run.labels.iter().filter(|label| label.busy_is_bound);
    let bounds: HashSet<Group<'_>> =
        bounds.map(|label| (label.label.as_str(), label.cell, label.repetition)).collect();
    let mut lines = Vec::new();
    let mut previous = None;
    for row in &run.rows {
        let group = (row.label.as_str(), row.cell, row.repetition);
        if previous.replace(group) != Some(group) {
            lines.push(Line::Heading(heading(group)));
        }
        let cells = cells(row, bounds.contains(&group), columns);
        lines.push(Line::Cells { cells, bad: row.failed > 0 });
    }
    lines
}

fn heading((label, cell, repetition): Group<'_>) -> String {
    let label = if label.is_empty() { "(in no label)".to_string() } else { escape(label) };
    match (cell, repetition) {
        (0, 0) => label,
        _ => format!("{label} (cell {cell}, repetition {repetition})"),
    }
}

/// `at_least`: rates of the label are lower bounds.
fn cells(row: &Row, at_least: bool, columns: &Columns) -> Vec<Cell> {
    let cell = |(column, shown): &(&'static columns::Column<Row>, &'static Shown<Row>)| match (
        (column.get)(row),
        shown.heading,
    ) {
        (Value::Whole(count), Column { kind: Kind::Count, .. }) => Cell::Count(count),
        (Value::Whole(sum), Column { kind: BYTES, .. }) => bytes(sum, moves_bytes(row)),
        (value, heading) => match Cell::number(value.number()) {
            Cell::Number(rate) if at_least && heading.unit == "all" => Cell::AtLeast(rate),
            cell => cell,
        },
    };
    std::iter::once(Cell::Text(name(row))).chain(columns.iter().map(cell)).collect()
}

fn name(row: &Row) -> String {
    match part(row) {
        Some(part) => format!("    .{}", escape(part)),
        None => format!("  {}", escape(&row.op)),
    }
}

/// The word after the point of a part's row.
fn part(row: &Row) -> Option<&str> {
    let whole = row.part_of.as_deref()?;
    let part = row.op.strip_prefix(whole).and_then(|rest| rest.strip_prefix('.'));
    Some(part.unwrap_or(&row.op))
}

/// A zero is worth showing only where bytes could have been moved.
fn moves_bytes(row: &Row) -> bool {
    let class = class(row.part_of.as_deref().unwrap_or(&row.op));
    let data = part(row).is_none_or(|part| part == Part::Data.name());
    data && matches!(class, Class::Read | Class::Write)
}

fn bytes(bytes: u64, could_be: bool) -> Cell {
    if bytes == 0 && !could_be { Cell::None } else { Cell::Number(bytes as f64) }
}

/// The class of an operation; of one that this version does not know: not I/O on files.
fn class(op: &str) -> Class {
    Op::find(op).map_or(Class::Control, |op| op.row().class)
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

/// Counts and bytes of each class, if there is more than one row to add up. No times and no
/// rates: those of different operations and labels have no common meaning.
fn totals(run: &Run, columns: &Columns) -> Vec<Line> {
    let whole: Vec<&Row> = once::rows(run).collect();
    if whole.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![Line::Heading("all labels, by class".to_string())];
    for (class_, name) in CLASSES {
        let members: Vec<&Row> =
            whole.iter().copied().filter(|row| class(&row.op) == class_).collect();
        if !members.is_empty() {
            lines.push(total(name, class_, &members, columns));
        }
    }
    lines
}

fn total(name: &str, class: Class, rows: &[&Row], columns: &Columns) -> Line {
    let cell = |(column, shown): &(&'static columns::Column<Row>, &'static Shown<Row>)| {
        let sum = rows.iter().fold(0u64, |sum, row| match (column.get)(row) {
            Value::Whole(figure) => sum.saturating_add(figure),
            _ => sum,
        });
        match shown.heading.kind {
            Kind::Count => Cell::Count(sum),
            BYTES => bytes(sum, matches!(class, Class::Read | Class::Write)),
            _ => Cell::Text(String::new()),
        }
    };
    let cells = std::iter::once(Cell::Text(format!("  {name}"))).chain(columns.iter().map(cell));
    Line::Cells { cells: cells.collect(), bad: rows.iter().any(|row| row.failed > 0) }
}
