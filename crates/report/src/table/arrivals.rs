//! Operations that were due at times of a schedule: the rate that was asked for beside the one that was
//! reached, and how far operations fell behind.

use super::grid::{Cell, Column, Grid, Kind, Line};
use super::{Paint, Sheet, Terminal, paint_lines};
use crate::text::{escape, flow};
use model::run::{ArrivalRow, Run};
use model::units::{Measure, format_ns};

const TIME: Kind = Kind::Quantity(Measure::Time);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

const COLUMNS: [Column; 11] = [
    Column::new("arrivals", "", Kind::Label, 0),
    Column::new("process", "", Kind::Label, 3),
    Column::new("times", "", Kind::Count, 1),
    Column::new("ranks", "", Kind::Count, 2),
    Column::new("operations", "", Kind::Count, 0),
    Column::new("asked", "", OP_RATE, 0),
    Column::new("reached", "", OP_RATE, 0),
    Column::new("late", "mean", TIME, 0),
    Column::new("late", "max", TIME, 0),
    Column::new("backlog", "max", Kind::Count, 0),
    Column::new("backlog", "end", Kind::Count, 0),
];
const TIMES: usize = 2;

const LEGEND: &str = "Times of these operations count from when they were due; rows \"service\" have the time of \
                      their calls alone. Late: from when an operation was due to its start. Backlog: times \
                      of the schedule that had passed without an operation, at most on one rank, and at the end on all.";

/// The table; "" without schedules.
pub fn render(run: &Run, terminal: Terminal) -> String {
    let Some(sheet) = sheet(run) else { return String::new() };
    let notes: Vec<String> = sheet.notes.iter().map(|note| flow(note, terminal.columns)).collect();
    let notes = paint_lines(&notes.join("\n"), Paint::Faint, terminal);
    format!("{}\n{notes}", sheet.grid.draw(terminal))
}

/// The table; none without schedules.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let arrivals = &run.run.arrivals;
    if arrivals.is_empty() {
        return None;
    }
    let lines = arrivals.iter().map(|row| Line::Cells { cells: cells(row), bad: row.is_behind() });
    let mut grid = Grid { columns: COLUMNS.to_vec(), lines: lines.collect() };
    let repeats = arrivals.iter().any(|row| row.executions > 1);
    grid.retain(|at| at != TIMES || repeats);
    let mut notes = vec![LEGEND.to_string()];
    let behind = arrivals.iter().filter(|row| row.is_behind());
    notes.extend(behind.map(|row| format!("{}.", self::behind(row))));
    Some(Sheet { name: "arrivals", grid, notes })
}

fn cells(row: &ArrivalRow) -> Vec<Cell> {
    let mean_late_ns = row.late_ns as f64 / row.operations.max(1) as f64;
    vec![
        Cell::Text(name(row)),
        Cell::Text(row.process.clone()),
        Cell::Count(row.executions),
        Cell::Count(row.ranks.into()),
        Cell::Count(row.operations),
        Cell::Number(row.asked_ops_s),
        Cell::number(row.achieved_ops_s),
        Cell::Number(mean_late_ns),
        Cell::Number(row.latest_ns as f64),
        Cell::Count(row.backlog_max),
        Cell::Count(row.backlog_end),
    ]
}

/// `write (x.ppl:3:1)`
fn name(row: &ArrivalRow) -> String {
    let place = escape(&row.place);
    let name =
        if row.label.is_empty() { place } else { format!("{} ({place})", escape(&row.label)) };
    match (row.cell, row.repetition) {
        (0, 0) => name,
        (cell, repetition) => format!("{name}, cell {cell}, repetition {repetition}"),
    }
}

/// What was reached of what was asked for.
pub(crate) fn behind(row: &ArrivalRow) -> String {
    let rate = |ops_s: Option<f64>| Measure::OpRate.format(ops_s.unwrap_or(0.0), 4);
    format!(
        "{}: the rate was not reached: {} of {}; at the end {} times of the schedule had passed without an \
         operation, the latest one started {} late",
        name(row),
        rate(row.achieved_ops_s),
        rate(row.due_ops_s),
        row.backlog_end,
        format_ns(row.latest_ns as f64)
    )
}
