//! Work that ranks took from a common counter (`share`), and operations that were due at times
//! (`with (rate=...)`).

use crate::document::Sheet;
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::rows::execution;
use model::run::{ArrivalRow, Run, ShareRow, Sharer};
use model::units::{Measure, format_ns};
use model::words;

const TIME: Kind = Kind::Quantity(Measure::Time);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

const SHARE_COLUMNS: [Column; 14] = [
    Column::new("share", "", Kind::Label, 0),
    Column::new("times", "", Kind::Count, 1),
    Column::new("ranks", "", Kind::Count, 2),
    Column::new("indices", "", Kind::Count, 0),
    Column::new("steady", "", Kind::Quantity(Measure::ByteRate), 0),
    Column::new("whole", "", Kind::Quantity(Measure::ByteRate), 0),
    Column::new("steady", "op/s", Kind::Quantity(Measure::OpRate), 3),
    Column::new("whole", "op/s", Kind::Quantity(Measure::OpRate), 3),
    Column::new("fewest", "indices", Kind::Count, 0),
    Column::new("most", "indices", Kind::Count, 0),
    Column::new("time", "", TIME, 0),
    Column::new("tail", "", TIME, 0),
    Column::new("idle", "per rank", TIME, 0),
    Column::new("claims", "", Kind::Count, 4),
];
const SHARE_TIMES: usize = 1;
const BYTE_RATES: [usize; 2] = [4, 5];
const OP_RATES: [usize; 2] = [6, 7];

const SHARE_LEGEND: &str = "Steady: until the first rank had nothing left; whole: to the end of all. Tail: the time \
                      between the two; idle: what a rank waited at the end, mean over ranks. Fewest, most: \
                      indices of one rank.";

/// The table; none if nothing was shared.
pub fn shares(run: &Run) -> Option<Sheet> {
    let shares = &run.run.shares;
    if shares.is_empty() {
        return None;
    }
    let lines = shares.iter().map(|share| Line::plain(share_cells(run, share)));
    let mut grid = Grid::new(&SHARE_COLUMNS, lines.collect());
    let moves_bytes = shares.iter().any(|share| share.bytes > 0);
    let repeats = shares.iter().any(|share| share.executions > 1);
    grid.retain(|at| match at {
        SHARE_TIMES => repeats,
        _ if BYTE_RATES.contains(&at) => moves_bytes,
        _ if OP_RATES.contains(&at) => !moves_bytes || shares.iter().any(|share| share.bytes == 0),
        _ => true,
    });
    let mut notes = vec![SHARE_LEGEND.to_string()];
    notes.extend(shares.iter().map(|share| parts(run, share)));
    Some(Sheet { name: "shares", title: String::new(), grid, notes })
}

/// Per second, if there is a time.
fn rate(amount: f64, ns: u64) -> Cell {
    Cell::number((ns > 0 && amount > 0.0).then(|| amount * 1e9 / ns as f64))
}

fn share_cells(run: &Run, share: &ShareRow) -> Vec<Cell> {
    const MIB: f64 = (1 << 20) as f64;
    let tail_ns = share.whole_ns.saturating_sub(share.steady_ns);
    let time = |ns: u64| if share.executions > 0 { Cell::Number(ns as f64) } else { Cell::None };
    let idle_ns = share.idle_ns / u64::from(share.ranks.max(1));
    vec![
        Cell::Text(share_name(run, share)),
        Cell::Count(share.executions),
        Cell::Count(share.ranks.into()),
        Cell::Count(share.indices),
        rate(share.steady_bytes as f64 / MIB, share.steady_ns),
        rate(share.bytes as f64 / MIB, share.whole_ns),
        rate(share.steady_operations, share.steady_ns),
        rate(share.operations as f64, share.whole_ns),
        Cell::Count(share.fewest.indices),
        Cell::Count(share.most.indices),
        time(share.whole_ns),
        time(tail_ns),
        time(idle_ns),
        Cell::Count(share.claims),
    ]
}

fn share_name(run: &Run, share: &ShareRow) -> String {
    place_name(run, &share.label, &share.place, (share.cell, share.repetition))
}

/// Indices of each rank; of many ranks the fewest and the most.
fn parts(run: &Run, share: &ShareRow) -> String {
    let one = |sharer: &Sharer| {
        let (rank, idle) = (sharer.rank, format_ns(sharer.idle_ns as f64));
        format!("rank {rank} {} (idle {idle})", sharer.indices)
    };
    let shown: Vec<String> = match share.sharers.len() == share.ranks as usize && share.ranks <= 8 {
        true => share.sharers.iter().map(one).collect(),
        false => [&share.fewest, &share.most].map(one).to_vec(),
    };
    let which = if shown.len() == share.ranks as usize { "" } else { "fewest and most, " };
    format!("{}: {which}{}.", share_name(run, share), shown.join(", "))
}

const ARRIVAL_COLUMNS: [Column; 11] = [
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
const ARRIVAL_TIMES: usize = 2;

const ARRIVAL_LEGEND: &str = "Times of these operations count from when they were due; rows \"service\" have the time \
                              of their calls alone. Late: from when an operation was due to its start. Backlog: \
                              operations that were due and had not started, at most on one rank, and at the end on \
                              all.";

/// The table; none without schedules.
pub fn arrivals(run: &Run) -> Option<Sheet> {
    let arrivals = &run.run.arrivals;
    if arrivals.is_empty() {
        return None;
    }
    let line = |row| Line::Cells { cells: arrival_cells(run, row), bad: row.is_behind() };
    let lines = arrivals.iter().map(line);
    let mut grid = Grid::new(&ARRIVAL_COLUMNS, lines.collect());
    let repeats = arrivals.iter().any(|row| row.executions > 1);
    grid.retain(|at| at != ARRIVAL_TIMES || repeats);
    let mut notes = vec![ARRIVAL_LEGEND.to_string()];
    let behind = arrivals.iter().filter(|row| row.is_behind());
    notes.extend(behind.map(|row| format!("{}.", describe_backlog(run, row))));
    Some(Sheet { name: "arrivals", title: String::new(), grid, notes })
}

fn arrival_cells(run: &Run, row: &ArrivalRow) -> Vec<Cell> {
    let mean_late_ns = row.late_ns as f64 / row.operations.max(1) as f64;
    vec![
        Cell::Text(arrival_name(run, row)),
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

fn arrival_name(run: &Run, row: &ArrivalRow) -> String {
    place_name(run, &row.label, &row.place, (row.cell, row.repetition))
}

/// The rate that was reached, and how far operations fell behind.
pub fn describe_backlog(run: &Run, row: &ArrivalRow) -> String {
    let rate = |ops_s: Option<f64>| Measure::OpRate.format(ops_s.unwrap_or(0.0), 4);
    format!(
        "{}: the rate was not reached: {} of {}; at the end {} were due and had not started, the latest one \
         started {} late",
        arrival_name(run, row),
        rate(row.achieved_ops_s),
        rate(row.due_ops_s),
        words::count(row.backlog_end, "operation"),
        format_ns(row.latest_ns as f64)
    )
}

/// `write (x.ppl:3:1)`, with the execution if there are several.
fn place_name(run: &Run, label: &str, place: &str, (cell, repetition): (u32, u32)) -> String {
    let name = if label.is_empty() { place.to_string() } else { format!("{label} ({place})") };
    match execution(run, cell, repetition) {
        one if one.is_empty() => name,
        one => format!("{name}, {one}"),
    }
}
