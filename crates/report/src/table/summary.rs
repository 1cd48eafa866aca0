//! The summary: per label and operation, parts below their operation, and the
//! totals of each class.

use super::grid::{Cell, Column, Grid, Kind, Line};
use super::{Paint, Sheet, Terminal, paint_lines};
use crate::text::{escape, flow};
use model::op::{Class, Op, Part};
use model::run::{Row, Run};
use model::units::Measure;
use std::collections::HashSet;

const TIME: Kind = Kind::Quantity(Measure::Time);
const BYTE_RATE: Kind = Kind::Quantity(Measure::ByteRate);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

/// Index of the first column that is left out when no row has anything in it.
const FIRST_OPTIONAL: usize = 2;

/// Rare percentiles go first, then what one rank reaches, bytes (they follow from count and
/// program), then the least telling times; counts of failures never.
const COLUMNS: [Column; 17] = [
    Column::new("operation", "", Kind::Word, 0),
    Column::new("count", "", Kind::Count, 0),
    Column::new("failed", "", Kind::Count, 0),
    Column::new("short", "", Kind::Count, 0),
    Column::new("expected", "", Kind::Count, 0),
    Column::new("bytes", "", Kind::Quantity(Measure::Bytes), 5),
    Column::new("min", "", TIME, 6),
    Column::new("avg", "", TIME, 9),
    Column::new("p50", "", TIME, 7),
    Column::new("p90", "", TIME, 2),
    Column::new("p99", "", TIME, 8),
    Column::new("p99.9", "", TIME, 1),
    Column::new("max", "", TIME, 0),
    Column::new("bytes/s", "1 rank", BYTE_RATE, 4),
    Column::new("bytes/s", "all", BYTE_RATE, 0),
    Column::new("ops/s", "1 rank", OP_RATE, 3),
    Column::new("ops/s", "all", OP_RATE, 0),
];

const LEGEND: &str = "Times: one operation that did not fail. Rates of 1 rank: by the time it spent in \
                      the operation, mean over ranks; of all: by the busy time of the label; in no label: \
                      by the time from the operation's first start to its last end.";
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
    let mut grid = Grid { columns: COLUMNS.to_vec(), lines: lines(run) };
    grid.lines.extend(totals(&run.rows));
    let any = [
        run.rows.iter().any(|row| row.failed > 0),
        run.rows.iter().any(|row| row.short > 0),
        run.rows.iter().any(|row| row.expected > 0),
    ];
    grid.retain(|at| {
        at.checked_sub(FIRST_OPTIONAL).and_then(|at| any.get(at)).is_none_or(|any| *any)
    });
    let mut notes = vec![LEGEND.to_string()];
    if has_bounds(&grid) {
        notes.push(LEGEND_BOUND.to_string());
    }
    Some(Sheet { name: "summary", grid, notes })
}

fn has_bounds(grid: &Grid) -> bool {
    let is_bound = |line: &Line| matches!(line, Line::Cells { cells, .. } if cells.iter().any(|cell| matches!(cell, Cell::AtLeast(_))));
    grid.lines.iter().any(is_bound)
}

/// Label path and point of a sweep.
type Group<'a> = (&'a str, u32, u32);

/// Rows in their order, a heading wherever the label or the point of a sweep changes.
fn lines(run: &Run) -> Vec<Line> {
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
        let cells = cells(row, bounds.contains(&group));
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
fn cells(row: &Row, at_least: bool) -> Vec<Cell> {
    let time = |ns: Option<u64>| Cell::number(ns.map(|ns| ns as f64));
    let of_all = |rate: Option<f64>| match Cell::number(rate) {
        Cell::Number(rate) if at_least => Cell::AtLeast(rate),
        cell => cell,
    };
    vec![
        Cell::Text(name(row)),
        Cell::Count(row.count),
        Cell::Count(row.failed),
        Cell::Count(row.short),
        Cell::Count(row.expected),
        bytes(row.bytes, moves_bytes(row)),
        time(row.min_ns),
        Cell::number(row.mean_ns),
        time(row.p50_ns),
        time(row.p90_ns),
        time(row.p99_ns),
        time(row.p999_ns),
        time(row.max_ns),
        Cell::number(row.rank_mib_s),
        of_all(row.mib_s),
        Cell::number(row.rank_ops_s),
        of_all(row.ops_s),
    ]
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
fn totals(rows: &[Row]) -> Vec<Line> {
    let whole: Vec<&Row> = rows.iter().filter(|row| row.part_of.is_none()).collect();
    if whole.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![Line::Heading("all labels, by class".to_string())];
    for (class_, name) in CLASSES {
        let members: Vec<&Row> =
            whole.iter().copied().filter(|row| class(&row.op) == class_).collect();
        if !members.is_empty() {
            lines.push(total(name, class_, &members));
        }
    }
    lines
}

fn total(name: &str, class: Class, rows: &[&Row]) -> Line {
    let sum = |figure: fn(&Row) -> u64| {
        rows.iter().fold(0u64, |sum, row| sum.saturating_add(figure(row)))
    };
    let failed = sum(|row| row.failed);
    let mut cells = vec![
        Cell::Text(format!("  {name}")),
        Cell::Count(sum(|row| row.count)),
        Cell::Count(failed),
        Cell::Count(sum(|row| row.short)),
        Cell::Count(sum(|row| row.expected)),
        bytes(sum(|row| row.bytes), matches!(class, Class::Read | Class::Write)),
    ];
    cells.resize(COLUMNS.len(), Cell::Text(String::new()));
    Line::Cells { cells, bad: failed > 0 }
}
