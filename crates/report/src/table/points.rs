//! The short tables of a sweep: for each operation of a label a line per point, in the grid's order.
//!
//! ```text
//! write: fwrite
//! block  size  reps     time        rate   bandwidth      ±      p50      p99
//!    4k   16k     5  1.93 ms  8.20 kop/s  32.1 MiB/s  1.2 %   9.8 µs  22.0 µs
//!    4k   64k     5  1.70 ms  9.41 kop/s  35.1 MiB/s  0.9 %   9.1 µs  20.4 µs  best
//! ```

use crate::document::{Block, Sheet};
use crate::grid::{Cell, Column, Grid, Kind, Line, field, optional};
use crate::rows::{grouped, label_name};
use crate::statistics::{self, Metric, Statistic};
use crate::stats::LEAST_FOR_INTERVAL;
use crate::text::{Detail, percent};
use model::run::{Row, Run};
use model::sweep::Sweep;
use model::units::Measure;
use model::words;
use std::collections::BTreeMap;

const LEGEND: &str = "Rate and bandwidth: over the time of the phase.";
const LEGEND_REPEATED: &str = "Rate and bandwidth: over the time of the phase. Medians of the repetitions; ±: 95 % \
                               confidence interval.";

/// An operation at a point.
#[derive(Clone, Default)]
struct Point<'a> {
    /// Values of the parameters; without any, label and operation.
    names: Vec<String>,
    time: Option<&'a Statistic>,
    rate: Option<&'a Statistic>,
    bandwidth: Option<&'a Statistic>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    is_best: bool,
}

/// Columns of figures: a parameter of the name is written as in the program, `$time`.
const FIGURES: [&str; 7] = ["reps", "time", "rate", "bandwidth", "±", "p50", "p99"];

/// Label and operation; "" for the label itself.
type Name<'a> = (&'a str, &'a str);

/// The tables; the comparison of a run that is one.
pub fn blocks(run: &Run, sweep: &Sweep) -> Vec<Block> {
    if sweep.versus {
        return crate::compare::show::within(run, Detail::Short);
    }
    let beside = super::directories::sheets(run, sweep);
    let sheets = if beside.is_empty() { sheets(run, sweep) } else { beside };
    match sheets.is_empty() {
        true => vec![Block::Text("No execution finished with a figure.".into())],
        false => sheets.into_iter().map(Block::Sheet).collect(),
    }
}

/// The tables, the legend with the last one.
fn sheets(run: &Run, sweep: &Sweep) -> Vec<Sheet> {
    let statistics = statistics::shown(run);
    let tables = tables(run, sweep, &statistics);
    let mut sheets = match sweep.dimensions.is_empty() {
        true => one_table(tables),
        false => tables.into_iter().map(|(name, points)| sheet(run, sweep, name, points)).collect(),
    };
    let is_repeated = statistics.iter().any(|one| one.n > 1);
    let is_few = statistics.iter().any(|one| one.n < LEAST_FOR_INTERVAL);
    let legend = if is_repeated { LEGEND_REPEATED } else { LEGEND };
    let advice = format!(" --reps {LEAST_FOR_INTERVAL} gives confidence intervals.");
    let advice = if is_few { advice.as_str() } else { "" };
    if let Some(last) = sheets.last_mut() {
        last.notes.push(format!("{legend}{advice}"));
    }
    sheets
}

/// Operations with their points.
fn tables<'a>(
    run: &'a Run,
    sweep: &Sweep,
    statistics: &'a [Statistic],
) -> Vec<(Name<'a>, Vec<Point<'a>>)> {
    let named = statistics.iter().map(|one| ((&*one.label, &*one.op), one));
    let mut groups = grouped(named);
    let has_rate = |all: &[&Statistic]| all.iter().any(|one| one.metric != Metric::MeanNs);
    // A time alone is for labels without a rate, a mean for rows without any other figure.
    let rated: Vec<&str> = groups
        .iter()
        .filter(|((_, op), all)| !op.is_empty() && has_rate(all))
        .map(|((label, _), _)| *label)
        .collect();
    let times: BTreeMap<(&str, u32), &Statistic> = statistics
        .iter()
        .filter(|one| one.metric == Metric::TimeNs)
        .map(|one| ((&*one.label, one.cell), one))
        .collect();
    let is_labelled = rated.iter().any(|label| !label.is_empty());
    groups.retain(|((label, op), all)| match rated.contains(label) {
        // Set-up outside of labels.
        true if label.is_empty() && is_labelled => false,
        true => !op.is_empty() && has_rate(all),
        false => !label.is_empty() || !is_labelled,
    });
    let points = |((label, op), all): (Name<'a>, Vec<&'a Statistic>)| {
        let by_cell = all.into_iter().fold(BTreeMap::<u32, Vec<_>>::new(), |mut cells, one| {
            cells.entry(one.cell).or_default().push(one);
            cells
        });
        let point = |(cell, all): (u32, Vec<&'a Statistic>)| {
            let of = |metric| all.iter().copied().find(|one| one.metric == metric);
            let values = sweep.values_at(cell).into_iter().map(String::from).collect();
            Point {
                names: if sweep.dimensions.is_empty() { Vec::new() } else { values },
                time: times.get(&(label, cell)).copied(),
                rate: of(Metric::OpsS),
                bandwidth: of(Metric::MibS),
                p50_ns: typical(run, (label, op), cell, |row| row.p50_ns),
                p99_ns: typical(run, (label, op), cell, |row| row.p99_ns),
                is_best: false,
            }
        };
        let mut points: Vec<Point<'a>> = by_cell.into_iter().map(point).collect();
        mark_best(&mut points);
        ((label, op), points)
    };
    groups.into_iter().map(points).collect()
}

/// Median over the finished repetitions of a point.
fn typical(run: &Run, name: Name<'_>, cell: u32, of: fn(&Row) -> Option<u64>) -> Option<u64> {
    let rows =
        run.rows.iter().filter(|row| (&*row.label, &*row.op, row.cell) == (name.0, name.1, cell));
    let unfinished = statistics::unfinished(run);
    let is_finished = |row: &&Row| !unfinished.contains(&(row.cell, row.repetition));
    let mut all: Vec<u64> = rows.filter(is_finished).filter_map(of).collect();
    all.sort_unstable();
    all.get(all.len().checked_sub(1)? / 2).copied()
}

impl Point<'_> {
    /// The figure that says how fast it is, and whether more is better.
    fn figure(&self) -> Option<(&Statistic, bool)> {
        let rate = self.bandwidth.or(self.rate).map(|one| (one, true));
        rate.or(self.time.map(|one| (one, false)))
    }

    /// Half the width of the confidence interval, the wider side, as a share of the figure.
    fn margin(&self) -> Option<f64> {
        self.figure()?.0.margin()
    }

    /// Its interval lies on the better side of the other's.
    fn beats(&self, other: &Point<'_>) -> bool {
        let (Some((a, more)), Some((b, _))) = (self.figure(), other.figure()) else { return false };
        match more {
            true => matches!((a.ci95_low, b.ci95_high), (Some(a), Some(b)) if a > b),
            false => matches!((a.ci95_high, b.ci95_low), (Some(a), Some(b)) if a < b),
        }
    }
}

/// The point whose interval is better than all others.
fn mark_best(points: &mut [Point<'_>]) {
    let is_best = |at: &usize| {
        let others = points.iter().enumerate().filter(|(other, _)| other != at);
        others.map(|(_, other)| other).all(|other| points[*at].beats(other))
    };
    let best = (0..points.len()).find(is_best).filter(|_| points.len() > 1);
    best.into_iter().for_each(|at| points[at].is_best = true);
}

fn sheet(run: &Run, sweep: &Sweep, (label, op): Name<'_>, points: Vec<Point<'_>>) -> Sheet {
    let name = |name: &str| match FIGURES.contains(&name) {
        true => format!("${name}"),
        false => name.to_string(),
    };
    let names = sweep.dimensions.iter().map(|dimension| Column::named(name(&dimension.name)));
    let missing = missing(sweep, &points);
    let notes = missing.into_iter().chain(most_time(run, (label, op))).collect();
    let title = if op.is_empty() {
        label_name(label).into()
    } else {
        format!("{}: {op}", label_name(label))
    };
    Sheet { name: "points", title, grid: grid(names.collect(), &points), notes }
}

/// Points that have no figure.
fn missing(sweep: &Sweep, points: &[Point<'_>]) -> Option<String> {
    let has = |cell: &u32| {
        let values = sweep.values_at(*cell);
        points.iter().any(|point| point.names.iter().eq(values.iter()))
    };
    let cells = 0..sweep.cells.len() as u32;
    let missing: Vec<String> =
        cells.filter(|cell| !has(cell)).map(|cell| sweep.describe(cell)).collect();
    (!missing.is_empty()).then(|| format!("no figure at {}", words::list_some(missing, 3)))
}

/// The operation of the label that took most of its time, if it has no table.
fn most_time(run: &Run, (label, op): Name<'_>) -> Option<String> {
    const MOST: f64 = 0.5;
    let own = run.rows.iter().filter(|row| row.label == label && row.part_of.is_none());
    let spent = own.map(|row| (&*row.op, row.mean_ns.unwrap_or(0.0) * row.count as f64));
    let mut by_op: BTreeMap<&str, f64> = BTreeMap::new();
    spent.for_each(|(op, ns)| *by_op.entry(op).or_default() += ns);
    let all: f64 = by_op.values().sum();
    let (longest, ns) = by_op.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_other = longest != op && !op.is_empty() && ns >= MOST * all;
    is_other.then(|| format!("{longest} took {} of the time in operations", percent(ns / all)))
}

/// A program that was only repeated: all operations in one table.
fn one_table<'a>(tables: Vec<(Name<'a>, Vec<Point<'a>>)>) -> Vec<Sheet> {
    let named = |((label, op), points): (Name<'a>, Vec<Point<'a>>)| {
        let names = vec![label_name(label).to_string(), op.to_string()];
        points.into_iter().map(move |point| Point { names: names.clone(), ..point })
    };
    let points: Vec<Point<'a>> = tables.into_iter().flat_map(named).collect();
    let names = ["phase", "operation"].map(|name| Column::new(name, "", Kind::Word, 0));
    let grid = grid(names.to_vec(), &points);
    let sheet = Sheet { name: "points", title: String::new(), grid, notes: Vec::new() };
    if points.is_empty() { Vec::new() } else { vec![sheet] }
}

fn median(one: Option<&Statistic>) -> Cell {
    Cell::number(one.map(|one| one.median))
}

/// Columns of the names, then of the figures.
fn grid(names: Vec<Column>, points: &[Point<'_>]) -> Grid {
    const TIME: Kind = Kind::Quantity(Measure::Time);
    let figures = Grid::of(
        vec![
            optional("reps", "", Kind::Count, 2, |one: &Point<'_>| {
                Cell::times(one.figure().map_or(0, |(figure, _)| figure.n as u64))
            }),
            field("time", "", TIME, 4, |one| median(one.time)),
            optional("rate", "", Kind::Quantity(Measure::OpRate), 0, |one| median(one.rate)),
            optional("bandwidth", "", Kind::Quantity(Measure::ByteRate), 0, |one| {
                median(one.bandwidth)
            }),
            optional("±", "", Kind::Count, 1, |one| {
                one.margin().map_or(Cell::None, |share| Cell::Text(percent(share)))
            }),
            optional("p50", "", TIME, 3, |one| Cell::number(one.p50_ns.map(|ns| ns as f64))),
            optional("p99", "", TIME, 5, |one| Cell::number(one.p99_ns.map(|ns| ns as f64))),
            optional("", "", Kind::Word, 0, |one| {
                Cell::Text(if one.is_best { "best".into() } else { String::new() })
            }),
        ],
        points,
        |_| false,
    );
    let line = |(point, line): (&Point<'_>, Line)| match line {
        Line::Cells { cells, bad } => {
            let names = point.names.iter().map(|name| Cell::Text(name.clone()));
            Line::Cells { cells: names.chain(cells).collect(), bad }
        }
        heading => heading,
    };
    Grid {
        columns: names.into_iter().chain(figures.columns).collect(),
        lines: points.iter().zip(figures.lines).map(line).collect(),
    }
}
