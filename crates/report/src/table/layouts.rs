//! Tables that the program lays out itself ([`model::table_layout`]), with published figures beside the run's.
//!
//! ```text
//! Index create, delete, indexing
//! Op      Qty    avg    min    max  MiB/s    Ceph    Ceph ...
//!       /rank     ms     ms     ms  /rank  avg ms  min ms
//! index create
//! delete  8000  0.012  0.009  1.204      -  0.033   0.028
//! ```

use crate::document::Sheet;
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::rows::once;
use model::Run;
use model::run::{LabelRow, Row};
use model::summary::{belongs_to, per_second};
use model::table_layout::{self as layout, Figure, Layout};
use model::units::with_digits;

const DIGITS: u32 = 3;
const MIB: f64 = (1u64 << 20) as f64;
/// A run without executions has no ranks to divide by.
const LEAST_RANKS: u32 = 1;

/// Points of a sweep that have a table each, in short and in full.
pub const FEW_POINTS: usize = 4;
pub const POINTS: usize = 64;

/// The tables of a run; of a sweep its first points' tables.
pub fn sheets(run: &Run, points: usize) -> Vec<Sheet> {
    let layouts = run.run.program.files.iter().flat_map(|file| layout::parse(&file.text).0);
    let cells = run.run.sweep.as_ref().map_or(1, |sweep| sweep.cells.len() as u32);
    let each = |layout: Layout| {
        let wanted = (0..cells).filter(|cell| is_wanted(run, &layout, *cell)).take(points);
        let sheets = wanted.map(|cell| sheet(run, &layout, cell));
        sheets.filter(|sheet| !sheet.grid.lines.is_empty()).collect::<Vec<_>>()
    };
    layouts.flat_map(each).collect()
}

/// The layout's parameter is true at this point, or there is none.
fn is_wanted(run: &Run, layout: &Layout, cell: u32) -> bool {
    let own = run.run.sweep.as_ref().and_then(|sweep| sweep.cells.get(cell as usize));
    let own = own.into_iter().flat_map(|cell| &cell.params);
    let mut params = own.chain(&run.run.params);
    let is_true = |value: &str| value == "true" || value == "1";
    let value = params.find(|param| param.name == layout.condition).map(|param| &*param.value);
    layout.condition.is_empty() || value.is_some_and(is_true)
}

fn sheet(run: &Run, layout: &Layout, cell: u32) -> Sheet {
    let point = run.run.sweep.as_ref().map(|sweep| sweep.describe(cell));
    let title = match point {
        Some(point) => format!("{} ({point})", layout.title),
        None => layout.title.clone(),
    };
    let grid = Grid { columns: columns(layout), lines: lines(run, layout, cell) };
    Sheet { name: "table", title, grid, notes: layout.notes.clone() }
}

/// A line for each row that has a figure, below the heading before it.
fn lines(run: &Run, layout: &Layout, cell: u32) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut heading = None;
    for line in &layout.lines {
        match line {
            layout::Line::Heading(name) => heading = Some(name.clone()),
            layout::Line::Row(row) => {
                let cells = cells(run, layout, row, cell);
                let figures = cells.iter().skip(layout.names.len());
                if figures.filter(|cell| **cell != Cell::None).count() > 0 {
                    let heading = heading.take();
                    let above = |name| Line::Heading { name, figures: String::new() };
                    lines.extend(heading.map(above).into_iter().chain([Line::plain(cells)]));
                }
            }
        }
    }
    lines
}

/// Names, own figures, published ones. On narrow terminals published shortest and longest times go first.
fn columns(layout: &Layout) -> Vec<Column> {
    let names =
        layout.names.iter().map(|name| Column { kind: Kind::Word, ..Column::named(name.clone()) });
    let own = layout.columns.iter().map(|column| {
        let (heading, unit) = column.figure.heading();
        let name = if column.name.is_empty() { heading } else { &column.name };
        Column { unit, ..Column::named(name.to_string()) }
    });
    let beside = layout.beside.iter().flat_map(|system| {
        let of = |figure: &Figure| {
            let (unit, drop_order) = (figure.short(), drop_order(*figure));
            Column { unit, drop_order, ..Column::named(system.name.clone()) }
        };
        system.figures.iter().map(of)
    });
    names.chain(own).chain(beside).collect()
}

fn drop_order(published: Figure) -> u8 {
    match published {
        Figure::Min => 1,
        Figure::Max => 2,
        _ => 0,
    }
}

fn cells(run: &Run, layout: &Layout, row: &layout::Row, cell: u32) -> Vec<Cell> {
    let executions = executions(run, row, cell);
    let own = layout.columns.iter().map(|column| match value(&executions, column.figure) {
        Some(value) => Cell::Text(shown(column.figure, value)),
        None => Cell::None,
    });
    let published = row.beside.iter().map(|text| match text.as_str() {
        "-" => Cell::None,
        text => Cell::Text(text.to_string()),
    });
    let names = row.names.iter().map(|name| Cell::Text(name.clone()));
    names.chain(own).chain(published).collect()
}

fn shown(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Count | Figure::RankCount if value.fract() == 0.0 => format!("{value:.0}"),
        _ => with_digits(value, DIGITS),
    }
}

/// Over the repetitions the lowest, the highest or the mean.
fn value(executions: &[Execution<'_>], figure: Figure) -> Option<f64> {
    let all: Vec<f64> = executions.iter().filter_map(|one| one.value(figure)).collect();
    let sum = all.iter().sum::<f64>();
    match figure {
        Figure::Min => all.iter().copied().reduce(f64::min),
        Figure::Max => all.iter().copied().reduce(f64::max),
        _ => (!all.is_empty()).then(|| sum / all.len() as f64),
    }
}

/// The subject of a line in one execution.
enum Execution<'r> {
    Operation { row: &'r Row, ranks: f64 },
    Label { label: &'r LabelRow, count: u64, bytes: u64, ranks: f64 },
}

fn executions<'r>(run: &'r Run, wanted: &layout::Row, cell: u32) -> Vec<Execution<'r>> {
    let sweep = run.run.sweep.as_ref().and_then(|sweep| sweep.cells.get(cell as usize));
    let ranks = f64::from(sweep.map_or(run.run.ranks, |cell| cell.ranks).max(LEAST_RANKS));
    if !wanted.op.is_empty() {
        let is_it =
            |row: &&Row| row.cell == cell && row.label == wanted.label && row.op == wanted.op;
        let rows = run.rows.iter().filter(is_it);
        return rows.map(|row| Execution::Operation { row, ranks }).collect();
    }
    let labels = run.labels.iter().filter(|one| one.cell == cell && one.label == wanted.label);
    labels.map(|label| whole(run, label, ranks)).collect()
}

/// A label with all operations inside of it.
fn whole<'r>(run: &Run, label: &'r LabelRow, ranks: f64) -> Execution<'r> {
    let is_inside = |row: &&Row| {
        (row.cell, row.repetition) == (label.cell, label.repetition)
            && belongs_to(&row.label, &label.label)
    };
    let (count, bytes) = once(run).filter(is_inside).fold((0u64, 0u64), |(count, bytes), row| {
        (count.saturating_add(row.count), bytes.saturating_add(row.bytes))
    });
    Execution::Label { label, count, bytes, ranks }
}

impl Execution<'_> {
    fn value(&self, figure: Figure) -> Option<f64> {
        let value = match self {
            Execution::Operation { row, ranks } => of_operation(row, *ranks, figure),
            Execution::Label { label, count, bytes, ranks } => {
                of_label(label, (*count as f64, *bytes as f64), *ranks, figure)
            }
        };
        value.filter(|value| value.is_finite())
    }
}

fn of_operation(row: &Row, ranks: f64, figure: Figure) -> Option<f64> {
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    match figure {
        Figure::Count => Some(row.count as f64),
        Figure::RankCount => Some(row.count as f64 / ranks),
        Figure::Mean => row.mean_ns.map(|ns| ns / 1e6),
        Figure::Min => ms(row.min_ns),
        Figure::P50 => ms(row.p50_ns),
        Figure::P99 => ms(row.p99_ns),
        Figure::Max => ms(row.max_ns),
        Figure::Seconds | Figure::EachSeconds => {
            row.balance.as_ref().map(|own| own.busy_ns as f64 / 1e9 / ranks)
        }
        Figure::Rate => row.mib_s,
        Figure::RankRate | Figure::Bandwidth => row.rank_mib_s,
        Figure::OpRate => row.ops_s,
        Figure::RankOpRate => row.rank_ops_s,
    }
}

/// Times of single operations are none of a label, and rates are over its duration.
fn of_label(
    label: &LabelRow,
    (count, bytes): (f64, f64),
    ranks: f64,
    figure: Figure,
) -> Option<f64> {
    let rate = |amount: f64| (amount > 0.0).then(|| per_second(amount, label.busy_ns));
    match figure {
        Figure::Count => Some(count),
        Figure::RankCount => Some(count / ranks),
        Figure::Seconds => Some(label.busy_ns as f64 / 1e9),
        Figure::EachSeconds => Some(label.busy_ns as f64 / 1e9 / label.occurrences.max(1) as f64),
        Figure::Rate | Figure::Bandwidth => rate(bytes / MIB),
        Figure::RankRate => rate(bytes / MIB / ranks),
        Figure::OpRate => rate(count),
        Figure::RankOpRate => rate(count / ranks),
        Figure::Mean | Figure::Min | Figure::P50 | Figure::P99 | Figure::Max => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Detail, Terminal, markdown, render};
    use crate::tests::sample;
    use model::run::{Param, ProgramFile};

    const LAYOUT: &str = "#| table Stress test
#| if paper
#| columns Op | Qty = count/rank, avg, min, max, bandwidth
#| beside Ceph | avg, min, max, MiB/s
#| note (1) c = complete
#| stress
#| write | stress | write | 0.105 0.016 7.435 21.79
#| stat | stress | stat | 0.033 0.028 1.188 -
#| c.throughput | stress | | - - - 22.11
#| delete | stress | delete | 1.249 0.025 80.840 -
";

    fn with_layout(mut run: Run, paper: &str) -> Run {
        let text = LAYOUT.into();
        run.run.program.files = vec![ProgramFile { text, ..ProgramFile::default() }];
        run.run.params.push(Param { name: "paper".into(), value: paper.into() });
        run
    }

    #[test]
    fn a_table_has_figures_of_the_run_beside_published_ones() {
        let run = with_layout(sample::listing1(), "true");
        let table = |detail| {
            let text = render(&run, Terminal { columns: 100, ..Terminal::default() }, detail);
            let table = &text[text.find("Stress test").expect("the table")..];
            table[..table.find("(1)").expect("the note")].to_string()
        };
        assert_eq!(table(Detail::Short), table(Detail::Full));
        expect_test::expect![[r#"
            Stress test
            Op              Qty       avg       min     max  MiB/s    Ceph    Ceph    Ceph   Ceph
                          /rank        ms        ms      ms         avg ms  min ms  max ms  MiB/s
            stress
            write         10000    0.0275    0.0160    7.43   35.5   0.105   0.016   7.435  21.79
            stat          10000  0.000812  0.000612  0.0450      -   0.033   0.028   1.188      -
            c.throughput  30000         -         -       -   31.2       -       -       -  22.11
            delete            -         -         -       -      -   1.249   0.025  80.840      -
        "#]]
        .assert_eq(&table(Detail::Short));
        let text = markdown(&run, Detail::Short);
        assert!(text.contains("| Op | Qty /rank | avg ms |"), "{text}");
        assert!(
            text.contains("| write | 10000 | 0.0275 | 0.0160 | 7.43 | 35.5 | 0.105 |"),
            "{text}"
        );
    }

    #[test]
    fn narrow_terminals_drop_published_extremes_first() {
        let run = with_layout(sample::listing1(), "true");
        let text = render(&run, Terminal { columns: 66, ..Terminal::default() }, Detail::Short);
        let table = &text[text.find("Stress test").expect("the table")..];
        assert!(table.contains("Ceph min ms") && table.contains("21.79"), "{table}");
    }

    #[test]
    fn a_condition_that_is_not_true_leaves_the_table_out() {
        for run in [with_layout(sample::listing1(), "false"), sample::listing1()] {
            assert_eq!(sheets(&run, 1).len(), 0);
        }
    }

    #[test]
    fn each_point_of_a_sweep_has_a_table_with_means_and_extremes_of_its_repetitions() {
        let mut run = with_layout(sample::sweep(2, 2), "true");
        run.run.program.files[0].text =
            "#| table T\n#| columns Op | count, avg, max, MiB/s\n#| none\n#| w | none | write\n#| one\n#| w | io | write\n".into();
        let (first, second) = (1_000_000.0, 3_000_000.0);
        for row in run.rows.iter_mut().filter(|row| row.op == "write") {
            row.mean_ns = Some(if row.repetition == 0 { first } else { second });
            row.max_ns = Some(5_000_000 + u64::from(row.repetition) * 1_000_000);
        }
        assert_eq!(sheets(&run, 1).len(), 1);
        let sheets = sheets(&run, 2);
        let titles: Vec<&str> = sheets.iter().map(|sheet| &*sheet.title).collect();
        assert_eq!(titles, ["T (block=4k)", "T (block=64k)"]);
        assert_eq!(sheets[0].grid.texts(4), [["w", "100", "2.00", "6.00", "100"]]);
    }
}
