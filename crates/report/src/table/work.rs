//! Work that ranks took from a common counter (`share`), and operations that were due at times
//! (`with (rate=...)`).

use crate::document::Sheet;
use crate::grid::{Cell, Grid, Kind, field, optional};
use crate::rows::execution;
use model::run::{ArrivalRow, Run, ShareRow, Sharer};
use model::units::{Measure, format_ns};
use model::words;

const COUNT: Kind = Kind::Count;
const TIME: Kind = Kind::Quantity(Measure::Time);
const BYTE_RATE: Kind = Kind::Quantity(Measure::ByteRate);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

const SHARE_LEGEND: &str = "Steady: until the first rank had nothing left; whole: to the end of all. Tail: the time \
                      between the two; idle: what a rank waited at the end, mean over ranks. Fewest, most: \
                      indices of one rank.";

/// A row with its name.
type Named<'r, R> = (String, &'r R);

/// The table; none if nothing was shared.
pub fn shares(run: &Run) -> Option<Sheet> {
    let shares: Vec<Named<'_, ShareRow>> =
        run.run.shares.iter().map(|share| (share_name(run, share), share)).collect();
    let grid = Grid::of(
        vec![
            field("share", "", Kind::Label, 0, |one: &Named<'_, ShareRow>| {
                Cell::Text(one.0.clone())
            }),
            optional("times", "", COUNT, 1, |one| Cell::times(one.1.executions)),
            field("ranks", "", COUNT, 2, |one| Cell::Count(one.1.ranks.into())),
            field("indices", "", COUNT, 0, |one| Cell::Count(one.1.indices)),
            optional("steady", "", BYTE_RATE, 0, |one| {
                rate(mib(one.1.steady_bytes), one.1.steady_ns)
            }),
            optional("whole", "", BYTE_RATE, 0, |one| rate(mib(one.1.bytes), one.1.whole_ns)),
            optional("steady", "op/s", OP_RATE, 3, |one| {
                of_no_bytes(one.1, rate(one.1.steady_operations, one.1.steady_ns))
            }),
            optional("whole", "op/s", OP_RATE, 3, |one| {
                of_no_bytes(one.1, rate(one.1.operations as f64, one.1.whole_ns))
            }),
            field("fewest", "indices", COUNT, 0, |one| Cell::Count(one.1.fewest.indices)),
            field("most", "indices", COUNT, 0, |one| Cell::Count(one.1.most.indices)),
            field("time", "", TIME, 0, |one| time(one.1, one.1.whole_ns)),
            field("tail", "", TIME, 0, |one| {
                time(one.1, one.1.whole_ns.saturating_sub(one.1.steady_ns))
            }),
            field("idle", "per rank", TIME, 0, |one| {
                time(one.1, one.1.idle_ns / u64::from(one.1.ranks.max(1)))
            }),
            field("claims", "", COUNT, 4, |one| Cell::Count(one.1.claims)),
        ],
        &shares,
        |_| false,
    );
    let parts = shares.iter().map(|(name, share)| parts(name, share));
    Sheet::of("shares", "", grid, std::iter::once(SHARE_LEGEND.to_string()).chain(parts))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Per second, if there is a time.
fn rate(amount: f64, ns: u64) -> Cell {
    Cell::number((ns > 0 && amount > 0.0).then(|| amount * 1e9 / ns as f64))
}

/// Operations that move bytes have the rates of these.
fn of_no_bytes(share: &ShareRow, rate: Cell) -> Cell {
    if share.bytes == 0 { rate } else { Cell::None }
}

fn time(share: &ShareRow, ns: u64) -> Cell {
    if share.executions > 0 { Cell::whole(ns) } else { Cell::None }
}

fn share_name(run: &Run, share: &ShareRow) -> String {
    place_name(run, &share.label, &share.place, (share.cell, share.repetition))
}

/// Indices of each rank; of many ranks the fewest and the most.
fn parts(name: &str, share: &ShareRow) -> String {
    let one = |sharer: &Sharer| {
        let (rank, idle) = (sharer.rank, format_ns(sharer.idle_ns as f64));
        format!("rank {rank} {} (idle {idle})", sharer.indices)
    };
    let shown: Vec<String> = match share.sharers.len() == share.ranks as usize && share.ranks <= 8 {
        true => share.sharers.iter().map(one).collect(),
        false => [&share.fewest, &share.most].map(one).to_vec(),
    };
    let which = if shown.len() == share.ranks as usize { "" } else { "fewest and most, " };
    format!("{name}: {which}{}.", shown.join(", "))
}

const ARRIVAL_LEGEND: &str = "Times of these operations count from when they were due; rows \"service\" have the time \
                              of their calls alone. Late: from when an operation was due to its start. Backlog: \
                              operations that were due and had not started, at most on one rank, and at the end on \
                              all.";

/// The table; none without schedules.
pub fn arrivals(run: &Run) -> Option<Sheet> {
    let arrivals: Vec<Named<'_, ArrivalRow>> =
        run.run.arrivals.iter().map(|row| (arrival_name(run, row), row)).collect();
    let grid = Grid::of(
        vec![
            field("arrivals", "", Kind::Label, 0, |one: &Named<'_, ArrivalRow>| {
                Cell::Text(one.0.clone())
            }),
            field("process", "", Kind::Label, 3, |one| Cell::Text(one.1.process.clone())),
            optional("times", "", COUNT, 1, |one| Cell::times(one.1.executions)),
            field("ranks", "", COUNT, 2, |one| Cell::Count(one.1.ranks.into())),
            field("operations", "", COUNT, 0, |one| Cell::Count(one.1.operations)),
            field("asked", "", OP_RATE, 0, |one| Cell::Number(one.1.asked_ops_s)),
            field("reached", "", OP_RATE, 0, |one| Cell::number(one.1.achieved_ops_s)),
            field("late", "mean", TIME, 0, |one| {
                Cell::Number(one.1.late_ns as f64 / one.1.operations.max(1) as f64)
            }),
            field("late", "max", TIME, 0, |one| Cell::whole(one.1.latest_ns)),
            field("backlog", "max", COUNT, 0, |one| Cell::Count(one.1.backlog_max)),
            field("backlog", "end", COUNT, 0, |one| Cell::Count(one.1.backlog_end)),
        ],
        &arrivals,
        |one| one.1.is_behind(),
    );
    let behind = arrivals.iter().filter(|one| one.1.is_behind());
    let behind = behind.map(|one| format!("{}.", describe_backlog(run, one.1)));
    Sheet::of("arrivals", "", grid, std::iter::once(ARRIVAL_LEGEND.to_string()).chain(behind))
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
