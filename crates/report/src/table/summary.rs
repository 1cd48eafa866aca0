//! The summary: per label and operation, parts below their operation, and the totals of each class.

use crate::columns::{self, BYTES, ROWS, Value, shown};
use crate::document::Sheet;
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::limited;
use crate::rows::{
    class, execution, is_bound, is_service, label_name, moves_bytes, once, repeated,
};
use model::op::{Class, Part};
use model::run::{Row, Run};

/// Columns with their headings.
type Columns = [(&'static columns::Column<Row>, &'static Column)];

/// Precedes the columns of rows.
const OPERATION: Column = Column::new("operation", "", Kind::Word, 0);

const LEGEND: &str = "Times are per successful operation. Rate per rank = bytes / time spent in this operation (mean \
                      of ranks). Total rate = bytes / duration of the phase, other operations included.";
const LEGEND_NO_LABEL: &str = "In no label: total rate = bytes / time from the operation's first start to its \
                               last end.";
const LEGEND_DUE: &str = "Where there is a row .service, times of the operation count from when it was due; its rates \
                          per rank go by the row .service, the time of its calls alone.";
const LEGEND_ABOVE: &str = "Rows of MPI-IO (pfopen, pfwrite, ...) are calls of the program that became calls of POSIX \
                            in the rows above: bytes and times are the same, and totals and shares leave them out.";
const LEGEND_BOUND: &str = "≥: the label was executed more often than is kept one by one; gaps between its occurrences \
                            count as time inside.";

/// The table; none if nothing was executed.
pub fn sheet(run: &Run) -> Option<Sheet> {
    if run.rows.is_empty() {
        return None;
    }
    let columns = shown(ROWS, &run.rows);
    let headings = columns.iter().map(|(_, heading)| (*heading).clone());
    let headings: Vec<Column> = std::iter::once(OPERATION).chain(headings).collect();
    let grid = Grid::new(&headings, [lines(run, &columns), totals(run, &columns)].concat());
    let has_rate = |row: &Row| row.label.is_empty() && (row.mib_s.is_some() || row.ops_s.is_some());
    let is_bound = |line: &Line| matches!(line, Line::Cells { cells, .. } if cells.iter().any(|cell| matches!(cell, Cell::AtLeast(_))));
    let legends = [
        (true, LEGEND),
        (run.rows.iter().any(has_rate), LEGEND_NO_LABEL),
        (run.rows.iter().any(is_service), LEGEND_DUE),
        (repeated(run).next().is_some(), LEGEND_ABOVE),
        (grid.lines.iter().any(is_bound), LEGEND_BOUND),
    ];
    let legends = legends.into_iter().filter(|(holds, _)| *holds);
    let notes = legends.map(|(_, text)| text.to_string()).chain(limited::sentences(run));
    Some(Sheet { name: "summary", title: String::new(), notes: notes.collect(), grid })
}

/// Rows in their order, a heading wherever the label or the execution changes.
fn lines(run: &Run, columns: &Columns) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut previous = None;
    for row in &run.rows {
        let group = (row.label.as_str(), row.cell, row.repetition);
        if previous.replace(group) != Some(group) {
            let label = label_name(&row.label);
            lines.push(Line::Heading(match execution(run, row.cell, row.repetition) {
                one if one.is_empty() => label.to_string(),
                one => format!("{label} ({one})"),
            }));
        }
        let cells = cells(row, is_bound(run, row), columns);
        lines.push(Line::Cells { cells, bad: row.failed > 0 });
    }
    lines
}

/// `at_least`: rates of the label are lower bounds.
fn cells(row: &Row, at_least: bool, columns: &Columns) -> Vec<Cell> {
    let cell = |(column, heading): &(&columns::Column<Row>, &Column)| match (column.get)(row) {
        Value::Whole(count) if heading.kind == Kind::Count => Cell::Count(count),
        Value::Whole(sum) if heading.kind == BYTES => bytes(sum, can_move(row)),
        value => match Cell::number(value.number()) {
            Cell::Number(rate) if at_least && heading.unit == "total" => Cell::AtLeast(rate),
            cell => cell,
        },
    };
    let name = match part(row) {
        Some(part) => format!("    .{part}"),
        None => format!("  {}", row.op),
    };
    std::iter::once(Cell::Text(name)).chain(columns.iter().map(cell)).collect()
}

/// The word after the point of a part's row.
fn part(row: &Row) -> Option<&str> {
    let whole = row.part_of.as_deref()?;
    let part = row.op.strip_prefix(whole).and_then(|rest| rest.strip_prefix('.'));
    Some(part.unwrap_or(&row.op))
}

/// A zero is worth showing only where bytes could have been moved.
fn can_move(row: &Row) -> bool {
    let data = part(row).is_none_or(|part| part == Part::Data.name());
    data && moves_bytes(row.part_of.as_deref().unwrap_or(&row.op))
}

fn bytes(bytes: u64, could_be: bool) -> Cell {
    if bytes == 0 && !could_be { Cell::None } else { Cell::Number(bytes as f64) }
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

/// Counts and bytes of each class, if there is more than one row to add up. No times and no rates:
/// different operations and labels have none in common.
fn totals(run: &Run, columns: &Columns) -> Vec<Line> {
    let whole: Vec<&Row> = once(run).collect();
    if whole.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![Line::Heading("all labels, by class".to_string())];
    for (of, name) in CLASSES {
        let members: Vec<&Row> = whole.iter().copied().filter(|row| class(&row.op) == of).collect();
        if !members.is_empty() {
            lines.push(total(name, of, &members, columns));
        }
    }
    lines
}

fn total(name: &str, class: Class, rows: &[&Row], columns: &Columns) -> Line {
    let cell = |(column, heading): &(&columns::Column<Row>, &Column)| {
        let sum = rows.iter().fold(0u64, |sum, row| match (column.get)(row) {
            Value::Whole(figure) => sum.saturating_add(figure),
            _ => sum,
        });
        match heading.kind {
            Kind::Count => Cell::Count(sum),
            BYTES => bytes(sum, matches!(class, Class::Read | Class::Write)),
            _ => Cell::Text(String::new()),
        }
    };
    let cells = std::iter::once(Cell::Text(format!("  {name}"))).chain(columns.iter().map(cell));
    Line::Cells { cells: cells.collect(), bad: rows.iter().any(|row| row.failed > 0) }
}
