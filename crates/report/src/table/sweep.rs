//! The tables of a sweep: every figure over its grid, the median of the repetitions with its
//! 95 % confidence interval.
//!
//! ```text
//! write: write, MiB/s
//! block             size=16k              size=64k
//!    4k    812 [801.2, 820]    1204 [1190, 1211]
//!   64k   1811 [1790, 1822]    1999 [1950, 2010]
//! ```
//!
//! Over numbers of ranks all labels and rates are side by side first, as in papers.

use crate::document::{Block, Sheet};
use crate::grid::{Cell, Column, Grid, Line, Narrow};
use crate::rows::label_name;
use crate::statistics::{self, Metric, Statistic};
use crate::stats::LEAST_FOR_INTERVAL;
use model::run::Run;
use model::sweep::{Dimension, DimensionKind, Sweep};

const LEGEND: &str = "Median of the repetitions [95 % confidence interval of the median]. Total rate = bytes / \
                      duration of the phase.";
const LEGEND_ONCE: &str = "Each point ran once; --reps 5 gives confidence intervals. Total rate = bytes / duration of the phase.";

/// The tables and their legend; the comparison of a run that is one.
pub fn blocks(run: &Run, sweep: &Sweep) -> Vec<Block> {
    if sweep.versus {
        return crate::compare::show::within(run);
    }
    let statistics = statistics::shown(run);
    let shown: Vec<&Statistic> = statistics.iter().collect();
    if shown.is_empty() {
        return vec![Block::Text("No execution finished with a figure.".into())];
    }
    let mut blocks: Vec<Block> = over_ranks(sweep, &shown).into_iter().map(Block::Sheet).collect();
    for group in shown.chunk_by(same_figure) {
        blocks.push(Block::Sheet(figure(sweep, group)));
    }
    let legend = legend(run, sweep, &shown);
    let grid = Grid::default();
    blocks.push(Block::Sheet(Sheet {
        name: "legend",
        title: String::new(),
        grid,
        notes: vec![legend],
    }));
    blocks
}

fn same_figure(a: &&Statistic, b: &&Statistic) -> bool {
    (&a.label, &a.op, a.metric) == (&b.label, &b.op, b.metric)
}

/// There are figures of several repetitions: else the median is the figure itself.
fn is_repeated(shown: &[&Statistic]) -> bool {
    shown.iter().any(|statistic| statistic.n > 1)
}

fn legend(run: &Run, sweep: &Sweep, shown: &[&Statistic]) -> String {
    let mut text = if is_repeated(shown) { LEGEND } else { LEGEND_ONCE }.to_string();
    if is_repeated(shown) && shown.iter().any(|statistic| statistic.n < LEAST_FOR_INTERVAL) {
        text.push_str(&format!(" Fewer than {LEAST_FOR_INTERVAL} repetitions have no interval."));
    }
    if run.labels.iter().any(|label| label.busy_is_bound) {
        text.push_str(
            " Some durations are upper bounds, and rates over them lower ones (busy_is_bound).",
        );
    }
    let left_out = sweep.order.iter().filter(|at| at.outcome != "finished").count();
    if left_out > 0 {
        text.push_str(&format!(" {left_out} executions that did not finish are left out."));
    }
    text
}

/// `label: operation, unit`. Statistics of one table have one unit.
fn title(group: &[&Statistic]) -> String {
    let Statistic { label, op, metric, .. } = group[0];
    let (label, unit) = (label_name(label), unit(group).0);
    match metric {
        Metric::TimeNs => format!("{label}: time, {unit}"),
        Metric::MibS | Metric::OpsS => format!("{label}: {op}, {unit}"),
        Metric::RankMibS => format!("{label}: {op}, {unit} per rank"),
        Metric::MeanNs => format!("{label}: {op}, mean time, {unit}"),
    }
}

/// The largest unit in which the largest median of a table is at least 1.
fn unit(group: &[&Statistic]) -> (&'static str, f64) {
    let largest = group.iter().map(|statistic| statistic.median).fold(0.0, f64::max);
    group[0].metric.measure().unit(largest)
}

/// Four significant digits, without an exponent.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

/// One figure over the grid: a matrix if there are two dimensions and room, else a list.
fn figure(sweep: &Sweep, group: &[&Statistic]) -> Sheet {
    let list = list(sweep, group);
    let grid = match across(sweep) {
        Some(across) => {
            let narrow = Narrow::Instead(Box::new(list));
            Grid { narrow, ..matrix(sweep, group, across) }
        }
        None => list,
    };
    let outliers = group.iter().filter(|statistic| !statistic.outliers.is_empty());
    let notes = outliers.map(|statistic| {
        let numbers: Vec<String> = statistic.outliers.iter().map(u32::to_string).collect();
        let word = if numbers.len() == 1 { "outlier: repetition" } else { "outliers: repetitions" };
        let at = match sweep.dimensions.is_empty() {
            true => String::new(),
            false => format!(" ({})", sweep.describe(statistic.cell)),
        };
        format!("possible {word} {}{at}", numbers.join(", "))
    });
    Sheet { name: "sweep", title: title(group), notes: notes.collect(), grid }
}

/// The dimension whose values are side by side: the last parameter, if something else varies too.
fn across(sweep: &Sweep) -> Option<usize> {
    let params = |dimension: &Dimension| dimension.kind == DimensionKind::Param;
    sweep.dimensions.iter().rposition(params).filter(|_| sweep.dimensions.len() > 1)
}

/// Rows that are filled cell by cell; a row is found by the texts at its beginning.
struct Filled {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Filled {
    fn new(header: impl Iterator<Item = String>) -> Filled {
        Filled { columns: header.map(Column::named).collect(), rows: Vec::new() }
    }

    fn put(&mut self, key: &[String], column: usize, text: String) {
        let at = self.rows.iter().position(|row| row[..key.len()] == *key).unwrap_or_else(|| {
            let mut row = key.to_vec();
            row.resize(self.columns.len(), "-".into());
            self.rows.push(row);
            self.rows.len() - 1
        });
        self.rows[at][key.len() + column] = text;
    }

    fn grid(self) -> Grid {
        let line = |row: Vec<String>| Line::plain(row.into_iter().map(Cell::Text).collect());
        let lines = self.rows.into_iter().map(line).collect();
        Grid { columns: self.columns, lines, narrow: Narrow::Overflow }
    }
}

fn matrix(sweep: &Sweep, group: &[&Statistic], across: usize) -> Grid {
    let Dimension { name, values: columns, .. } = &sweep.dimensions[across];
    let others = sweep.dimensions.iter().enumerate().filter(|(at, _)| *at != across);
    let header = others.map(|(_, dimension)| dimension.name.clone());
    let mut filled =
        Filled::new(header.chain(columns.iter().map(|value| format!("{name}={value}"))));
    let size = unit(group).1;
    let figure = |value: f64| number(value / size);
    for statistic in group {
        let values = sweep.values_at(statistic.cell);
        let Some(column) = values.get(across) else { continue };
        let Some(column) = columns.iter().position(|value| value == column) else { continue };
        let key = values.iter().enumerate().filter(|(at, _)| *at != across);
        let key: Vec<String> = key.map(|(_, value)| value.to_string()).collect();
        let text = match (statistic.ci95_low, statistic.ci95_high) {
            (Some(low), Some(high)) => {
                format!("{} [{}, {}]", figure(statistic.median), figure(low), figure(high))
            }
            _ => figure(statistic.median),
        };
        filled.put(&key, column, text);
    }
    filled.grid()
}

fn list(sweep: &Sweep, group: &[&Statistic]) -> Grid {
    let names = sweep.dimensions.iter().map(|dimension| dimension.name.clone());
    let figures = ["n", "median", "95 % low", "95 % high", "mean", "sd"].map(String::from);
    let columns = names.chain(figures).map(Column::named).collect();
    let size = unit(group).1;
    let row = |statistic: &&Statistic| {
        let figure = |value: Option<f64>| value.map_or("-".into(), |value| number(value / size));
        let values = sweep.values_at(statistic.cell);
        let mut row: Vec<String> = values.into_iter().map(String::from).collect();
        row.resize(sweep.dimensions.len(), "?".into());
        row.push(statistic.n.to_string());
        row.extend([
            figure(Some(statistic.median)),
            figure(statistic.ci95_low),
            figure(statistic.ci95_high),
            figure(Some(statistic.mean)),
            figure(statistic.sd),
        ]);
        row
    };
    Filled { columns, rows: group.iter().map(row).collect() }.grid()
}

/// Times of labels and rates side by side, a line per number of ranks or nodes: one table for every
/// combination of the other dimensions.
fn over_ranks(sweep: &Sweep, shown: &[&Statistic]) -> Vec<Sheet> {
    let of_ranks = |dimension: &Dimension| {
        matches!(dimension.kind, DimensionKind::Ranks | DimensionKind::Nodes)
    };
    let Some(ranks) = sweep.dimensions.iter().position(of_ranks) else { return Vec::new() };
    // Ranks or nodes.
    let counted = &sweep.dimensions[ranks].name;
    let is_side = |metric| matches!(metric, Metric::TimeNs | Metric::MibS | Metric::OpsS);
    let groups: Vec<&[&Statistic]> =
        shown.chunk_by(same_figure).filter(|group| is_side(group[0].metric)).collect();
    let titles: Vec<String> = groups.iter().map(|group| title(group)).collect();
    let mut tables: Vec<(Vec<String>, Filled)> = Vec::new();
    for (column, group) in groups.iter().enumerate() {
        for statistic in group.iter() {
            let values = sweep.values_at(statistic.cell);
            let Some(count) = values.get(ranks).map(|count| count.to_string()) else { continue };
            let pairs = sweep.dimensions.iter().zip(&values).enumerate();
            let others = pairs.filter(|(at, _)| *at != ranks);
            let key: Vec<String> = others
                .map(|(_, (dimension, value))| format!("{}={value}", dimension.name))
                .collect();
            let at = tables.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                let header = std::iter::once(counted.clone()).chain(titles.iter().cloned());
                tables.push((key, Filled::new(header)));
                tables.len() - 1
            });
            tables[at].1.put(&[count], column, number(statistic.median / unit(group).1));
        }
    }
    let medians = if is_repeated(shown) { ", medians" } else { "" };
    let sheet = |(key, table): (Vec<String>, Filled)| {
        let at = if key.is_empty() { String::new() } else { format!(" at {}", key.join(", ")) };
        let grid = Grid { narrow: Narrow::Split, ..table.grid() };
        Sheet {
            name: "ranks",
            title: format!("over {counted}{at}{medians}"),
            grid,
            notes: Vec::new(),
        }
    };
    tables.into_iter().map(sheet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use crate::text::Terminal;
    use expect_test::expect;

    fn show(run: &Run, columns: usize) -> String {
        let sweep = run.run.sweep.as_ref().expect("a sweep");
        crate::document::text(&blocks(run, sweep), Terminal { columns, color: false })
    }

    #[test]
    fn one_dimension_is_a_list() {
        let text = show(&sample::sweep(3, 6), 100);
        expect![[r#"
            io: time, s
            block  n  median  95 % low  95 % high    mean        sd
               4k  6   1.002     1.000      1.004   1.002  0.001871
              64k  6  0.5025    0.5005     0.5045  0.5025  0.001871
               1m  6  0.3358    0.3338     0.3378  0.3358  0.001871

            io: write, MiB/s
            block  n  median  95 % low  95 % high   mean     sd
               4k  6   102.5     100.5      104.5  102.5  1.871
              64k  6   202.5     200.5      204.5  202.5  1.871
               1m  6   302.5     300.5      304.5  302.5  1.871

            io: write, op/s
            block  n  median  95 % low  95 % high   mean      sd
               4k  6   99.75     99.55      99.95  99.75  0.1862
              64k  6   199.0     198.2      199.8  199.0  0.7409
               1m  6   297.8     296.0      299.6  297.8   1.659

            io: stat, mean time, µs
            block  n  median  95 % low  95 % high   mean  sd
               4k  6   1.000     1.000      1.000  1.000   0
              64k  6   1.000     1.000      1.000  1.000   0
               1m  6   1.000     1.000      1.000  1.000   0

            Median of the repetitions [95 % confidence interval of the median]. Total rate = bytes / duration of
              the phase.
        "#]].assert_eq(&text);
    }

    #[test]
    fn two_dimensions_are_a_matrix_and_ranks_stand_side_by_side() {
        let mut run = sample::sweep(4, 5);
        let dimension = |kind, name: &str, values: [&str; 2]| Dimension {
            kind,
            name: name.into(),
            values: values.map(str::to_string).to_vec(),
        };
        run.run.sweep.as_mut().unwrap().dimensions = vec![
            dimension(DimensionKind::Param, "block", ["4k", "64k"]),
            dimension(DimensionKind::Ranks, "ranks", ["1", "2"]),
        ];
        expect![[r#"
            over ranks at block=4k, medians
            ranks  io: time, s  io: write, MiB/s  io: write, op/s
                1        1.002             102.0            99.80
                2       0.5020             202.0            199.2

            over ranks at block=64k, medians
            ranks  io: time, s  io: write, MiB/s  io: write, op/s
                1       0.3353             302.0            298.2
                2       0.2520             402.0            396.8

            io: time, s
            ranks                 block=4k                block=64k
                1     1.002 [1.000, 1.004]  0.3353 [0.3333, 0.3373]
                2  0.5020 [0.5000, 0.5040]  0.2520 [0.2500, 0.2540]

            io: write, MiB/s
            ranks              block=4k             block=64k
                1  102.0 [100.0, 104.0]  302.0 [300.0, 304.0]
                2  202.0 [200.0, 204.0]  402.0 [400.0, 404.0]

            io: write, op/s
            ranks              block=4k             block=64k
                1  99.80 [99.60, 100.0]  298.2 [296.4, 300.0]
                2  199.2 [198.4, 200.0]  396.8 [393.7, 400.0]

            io: stat, mean time, µs
            ranks              block=4k             block=64k
                1  1.000 [1.000, 1.000]  1.000 [1.000, 1.000]
                2  1.000 [1.000, 1.000]  1.000 [1.000, 1.000]

            Median of the repetitions [95 % confidence interval of the median]. Total rate = bytes / duration of
              the phase.
        "#]].assert_eq(&show(&run, 100));
        let narrow = show(&run, 40);
        assert!(narrow.contains("95 % low"), "a list where the matrix does not fit:\n{narrow}");
    }

    #[test]
    fn one_repetition_has_no_median() {
        let mut run = sample::sweep(2, 1);
        let dimension = &mut run.run.sweep.as_mut().unwrap().dimensions[0];
        (dimension.kind, dimension.name) = (DimensionKind::Ranks, "ranks".into());
        let text = show(&run, 100);
        assert!(text.starts_with("over ranks\n"), "{text}");
        assert!(text.contains("Each point ran once") && !text.contains("Median"), "{text}");
    }

    #[test]
    fn few_repetitions_have_no_interval_and_outliers_are_named() {
        let text = show(&sample::sweep(1, 4), 100);
        assert!(text.contains("Fewer than 5 repetitions have no interval"), "{text}");
        let mut run = sample::sweep(1, 8);
        run.labels[6].busy_ns *= 3;
        let text = show(&run, 100);
        assert!(text.contains("possible outlier: repetition 6 (block=4k)"), "{text}");
    }

    #[test]
    fn a_damaged_grid_is_drawn_somehow() {
        let mut run = sample::sweep(2, 5);
        run.run.sweep.as_mut().unwrap().dimensions[0].values.clear();
        assert!(show(&run, 100).contains("MiB/s"));
        run.run.sweep.as_mut().unwrap().dimensions.clear();
        assert!(show(&run, 100).contains("MiB/s"));
    }
}
