//! The short table of a sweep over directories: operations beside one another on each file system, and the throughput
//! of each phase.
//!
//! ```text
//! phase / operation   count   a: avg    min      max   b: avg    min      max
//! write   a 48.2 MiB/s in 1.33 s   b 12.9 MiB/s in 4.96 s
//!   fwrite               64   20.1 ms  9.2 ms  41.0 ms  77.0 ms  30 ms  120 ms
//! ```

use crate::document::Sheet;
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::rows::{grouped, label_name};
use model::run::{LabelRow, Row, Run};
use model::sweep::{DimensionKind, Sweep};
use model::units::{Measure, format_ns};

const MIB: f64 = 1_048_576.0;

const LEGEND: &str = "avg, min, max: times of one operation, all repetitions; beside a phase: bytes of all ranks (or \
                      operations) / its duration, and the duration, means of the repetitions.";

/// One table for each point of the other dimensions; none unless the last dimension is the directory.
pub fn sheets(run: &Run, sweep: &Sweep) -> Vec<Sheet> {
    let is_swept = |kind: DimensionKind| kind == DimensionKind::Directory && !sweep.versus;
    let Some(last) = sweep.dimensions.last().filter(|last| is_swept(last.kind)) else {
        return Vec::new();
    };
    let width = last.values.len().max(1) as u32;
    let points = 0..(sweep.cells.len() as u32).div_ceil(width);
    let mut sheets: Vec<Sheet> = points
        .map(|point| {
            let cells: Vec<u32> = (point * width..(point + 1) * width).collect();
            Sheet {
                name: "directories",
                title: title(sweep, cells[0]),
                grid: Grid {
                    columns: columns(&last.values),
                    lines: lines(run, &cells, &last.values),
                },
                notes: Vec::new(),
            }
        })
        .filter(|sheet| !sheet.grid.lines.is_empty())
        .collect();
    sheets.iter_mut().last().into_iter().for_each(|last| last.notes.push(LEGEND.into()));
    sheets
}

/// The values of the other dimensions.
fn title(sweep: &Sweep, cell: u32) -> String {
    let others = sweep.dimensions.len() - 1;
    let values = sweep.dimensions.iter().zip(sweep.values_at(cell)).take(others);
    let pairs: Vec<String> = values.map(|(one, value)| format!("{}={value}", one.name)).collect();
    pairs.join(", ")
}

fn columns(names: &[String]) -> Vec<Column> {
    const TIME: Kind = Kind::Quantity(Measure::Time);
    let time = |name: String| Column { kind: TIME, ..Column::named(name) };
    let of = |name: &String| [format!("{name}: avg"), "min".into(), "max".into()].map(time);
    let first = [
        Column::new("phase / operation", "", Kind::Label, 0),
        Column::new("count", "", Kind::Count, 1),
    ];
    first.into_iter().chain(names.iter().flat_map(of)).collect()
}

/// Phases in order, with their operations; operations outside of phases only if there are no phases.
fn lines(run: &Run, cells: &[u32], names: &[String]) -> Vec<Line> {
    let own = run.rows.iter().filter(|row| row.part_of.is_none() && cells.contains(&row.cell));
    let mut phases = grouped(own.map(|row| (&*row.label, row)));
    if phases.iter().any(|(label, _)| !label.is_empty()) {
        phases.retain(|(label, _)| !label.is_empty());
    }
    let lines = phases.into_iter().flat_map(|(label, rows)| {
        let figures = cells.iter().zip(names).map(|(cell, name)| phase(run, label, *cell, name));
        let heading = Line::Heading {
            name: label_name(label).into(),
            figures: figures.map(|figure| format!("   {figure}")).collect(),
        };
        let ops = grouped(rows.into_iter().map(|row| (&*row.op, row)));
        let ops = ops.into_iter().map(|(op, rows)| operation(op, &rows, cells));
        std::iter::once(heading).chain(ops).collect::<Vec<_>>()
    });
    lines.collect()
}

/// `a 48.2 MiB/s in 1.33 s`
fn phase(run: &Run, label: &str, cell: u32, name: &str) -> String {
    let own = |row: &&Row| row.label == label && row.cell == cell && row.part_of.is_none();
    let repetitions = run.labels.iter().filter(|one| one.label == label && one.cell == cell);
    let times: Vec<&LabelRow> = repetitions.filter(|one| one.busy_ns > 0).collect();
    if times.is_empty() {
        return format!("{name} -");
    }
    let sum_of = |figure: fn(&Row) -> u64| run.rows.iter().filter(own).map(figure).sum::<u64>();
    let busy_ns = times.iter().map(|one| one.busy_ns).sum::<u64>() as f64;
    let per_second = |amount: u64| amount as f64 / (busy_ns / 1e9);
    let rate = match sum_of(|row| row.bytes) {
        0 => Measure::OpRate.format(per_second(sum_of(|row| row.count - row.failed)), 3),
        bytes => Measure::ByteRate.format(per_second(bytes) / MIB, 3),
    };
    format!("{name} {rate} in {}", format_ns(busy_ns / times.len() as f64))
}

/// The count of one execution, then mean, shortest and longest time for each directory.
fn operation(op: &str, rows: &[&Row], cells: &[u32]) -> Line {
    let count = rows.iter().map(|row| row.count).max().unwrap_or(0);
    let times = cells.iter().flat_map(|cell| {
        let own: Vec<&Row> = rows.iter().copied().filter(|row| row.cell == *cell).collect();
        let timed = own.iter().filter_map(|row| Some((row.mean_ns?, succeeded(row))));
        let (sum, all) = timed.fold((0.0, 0.0), |(sum, all), (mean, n)| (sum + mean * n, all + n));
        let mean = (all > 0.0).then(|| sum / all);
        let shortest = own.iter().filter_map(|row| row.min_ns).min();
        let longest = own.iter().filter_map(|row| row.max_ns).max();
        [mean, shortest.map(|ns| ns as f64), longest.map(|ns| ns as f64)].map(Cell::number)
    });
    let first = [Cell::Text(format!("  {op}")), Cell::Count(count)];
    Line::Cells {
        cells: first.into_iter().chain(times).collect(),
        bad: rows.iter().any(|row| row.failed > 0),
    }
}

fn succeeded(row: &Row) -> f64 {
    row.count.saturating_sub(row.failed).saturating_sub(row.expected) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use model::sweep::Dimension;

    fn two_directories() -> Run {
        let mut run = sample::sweep(2, 2);
        let sweep = run.run.sweep.as_mut().expect("a sweep");
        sweep.versus = false;
        sweep.dimensions = vec![Dimension {
            kind: DimensionKind::Directory,
            name: "directory".into(),
            values: vec!["a".into(), "b".into()],
        }];
        run
    }

    #[test]
    fn each_operation_has_three_times_for_each_directory() {
        let mut run = two_directories();
        let [mut one, mut two] = [run.rows[0].clone(), run.rows[0].clone()];
        (one.op, one.cell, one.count, one.failed) = ("stat".into(), 0, 3, 0);
        (one.mean_ns, one.min_ns, one.max_ns) = (Some(10.0), Some(5), Some(20));
        (two.op, two.cell, two.repetition, two.count) = ("stat".into(), 0, 1, 1);
        (two.mean_ns, two.min_ns, two.max_ns) = (Some(30.0), Some(4), Some(50));
        let label = one.label.clone();
        run.rows = vec![one, two];
        let sweep = run.run.sweep.clone().expect("a sweep");
        let sheets = sheets(&run, &sweep);
        let texts = sheets[0].grid.texts(3);
        assert_eq!(texts, [["  stat", "3", "15 ns", "4 ns", "50 ns", "-", "-", "-"]]);
        assert!(phase(&run, &label, 0, "a").starts_with("a "));
        assert_eq!(phase(&run, "missing", 1, "b"), "b -");
    }

    #[test]
    fn other_sweeps_have_no_such_table() {
        let mut run = two_directories();
        let sweep = run.run.sweep.as_mut().expect("a sweep");
        sweep.dimensions[0].kind = DimensionKind::Param;
        let sweep = sweep.clone();
        assert!(sheets(&run, &sweep).is_empty());
    }
}
