//! Work that went to whichever rank asked first: the rate while all were at work beside the whole
//! one, and how the work was spread.

use super::grid::{Cell, Column, Grid, Kind, Line};
use super::{Paint, Sheet, Terminal, paint_lines};
use crate::text::{escape, flow};
use model::run::{Run, ShareRow, Sharer};
use model::units::{Measure, format_ns};

const TIME: Kind = Kind::Quantity(Measure::Time);

const COLUMNS: [Column; 14] = [
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
    Column::new("idle", "1 rank", TIME, 0),
    Column::new("claims", "", Kind::Count, 4),
];
const TIMES: usize = 1;
const BYTE_RATES: [usize; 2] = [4, 5];
const OP_RATES: [usize; 2] = [6, 7];

const LEGEND: &str = "Steady: until the first rank had nothing left; whole: to the end of all. Tail: the time \
                      between the two; idle: what a rank waited at the end, mean over ranks. Fewest, most: \
                      indices of one rank.";

/// The table; "" if nothing was shared.
pub fn render(run: &Run, terminal: Terminal) -> String {
    let Some(sheet) = sheet(run) else { return String::new() };
    let notes: Vec<String> = sheet.notes.iter().map(|note| flow(note, terminal.columns)).collect();
    let notes = paint_lines(&notes.join("\n"), Paint::Faint, terminal);
    format!("{}\n{notes}", sheet.grid.draw(terminal))
}

/// The table; none if nothing was shared.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let shares = &run.run.shares;
    if shares.is_empty() {
        return None;
    }
    let lines = shares.iter().map(|share| Line::Cells { cells: cells(share), bad: false });
    let mut grid = Grid { columns: COLUMNS.to_vec(), lines: lines.collect() };
    let moves_bytes = shares.iter().any(|share| share.bytes > 0);
    let repeats = shares.iter().any(|share| share.executions > 1);
    grid.retain(|at| match at {
        TIMES => repeats,
        _ if BYTE_RATES.contains(&at) => moves_bytes,
        _ if OP_RATES.contains(&at) => !moves_bytes || shares.iter().any(|share| share.bytes == 0),
        _ => true,
    });
    let mut notes = vec![LEGEND.to_string()];
    notes.extend(shares.iter().map(parts));
    Some(Sheet { name: "shares", grid, notes })
}

/// Per second, if there is a time.
fn rate(amount: f64, ns: u64) -> Cell {
    Cell::number((ns > 0 && amount > 0.0).then(|| amount * 1e9 / ns as f64))
}

fn cells(share: &ShareRow) -> Vec<Cell> {
    const MIB: f64 = (1 << 20) as f64;
    let tail_ns = share.whole_ns.saturating_sub(share.steady_ns);
    let time = |ns: u64| if share.executions > 0 { Cell::Number(ns as f64) } else { Cell::None };
    let idle_ns = share.idle_ns / u64::from(share.ranks.max(1));
    vec![
        Cell::Text(name(share)),
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

/// `write (x.ppl:3:1)`
fn name(share: &ShareRow) -> String {
    let place = escape(&share.place);
    let name =
        if share.label.is_empty() { place } else { format!("{} ({place})", escape(&share.label)) };
    match (share.cell, share.repetition) {
        (0, 0) => name,
        (cell, repetition) => format!("{name}, cell {cell}, repetition {repetition}"),
    }
}

/// What each rank had.
fn parts(share: &ShareRow) -> String {
    let one = |sharer: &Sharer| {
        let (rank, idle) = (sharer.rank, format_ns(sharer.idle_ns as f64));
        format!("rank {rank} {} (idle {idle})", sharer.indices)
    };
    let shown: Vec<String> = match share.sharers.len() == share.ranks as usize && share.ranks <= 8 {
        true => share.sharers.iter().map(one).collect(),
        false => [&share.fewest, &share.most].map(one).to_vec(),
    };
    let which = if shown.len() == share.ranks as usize { "" } else { "fewest and most, " };
    format!("{}: {which}{}.", name(share), shown.join(", "))
}
