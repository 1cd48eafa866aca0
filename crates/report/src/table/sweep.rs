//! The tables of a sweep: every figure over its grid, the median of the repetitions with its
//! 95 % confidence interval.
//!
//! ```text
//! write: write, MiB/s of all ranks
//!   block             size=16k              size=64k
//!      4k    812 [801.2, 820]    1204 [1190, 1211]
//!     64k   1811 [1790, 1822]    1999 [1950, 2010]
//! ```
//!
//! Over numbers of ranks all labels and rates stand side by side first, as in papers.

use super::{Paint, Terminal, paint, paint_lines};
use crate::statistics::{self, Metric, Statistic};
use crate::stats::LEAST_FOR_INTERVAL;
use crate::text::{escape, flow, width};
use model::run::Run;
use model::sweep::{Dimension, DimensionKind, Sweep};

const LEGEND: &str = "Median of the repetitions [95 % confidence interval of the median]; rates of all \
                      ranks: by the busy time of the label.";
const LEGEND_ONCE: &str =
    "Every point was executed once; rates of all ranks: by the busy time of the label.";

/// The tables; the comparison of a run that is one; "" for a run without a sweep.
pub fn render(run: &Run, terminal: Terminal) -> String {
    let Some(sweep) = &run.run.sweep else { return String::new() };
    if sweep.versus {
        return crate::compare::show::within(run, terminal);
    }
    let statistics = statistics::shown(run);
    let shown: Vec<&Statistic> = statistics.iter().collect();
    if shown.is_empty() {
        return "No execution came to its end with a figure.".into();
    }
    let mut sections = over_ranks(sweep, &shown, terminal);
    for group in shown.chunk_by(|a, b| same_figure(a, b)) {
        sections.push(figure(sweep, group, terminal));
    }
    sections.push(legend(run, sweep, &shown, terminal));
    sections.join("\n\n")
}

fn same_figure(a: &Statistic, b: &Statistic) -> bool {
    (&a.label, &a.op, a.metric) == (&b.label, &b.op, b.metric)
}

/// There are figures of several repetitions: else the median is the figure itself.
fn is_repeated(shown: &[&Statistic]) -> bool {
    shown.iter().any(|statistic| statistic.n > 1)
}

fn legend(run: &Run, sweep: &Sweep, shown: &[&Statistic], terminal: Terminal) -> String {
    let mut text = if is_repeated(shown) { LEGEND } else { LEGEND_ONCE }.to_string();
    if shown.iter().any(|statistic| statistic.n < LEAST_FOR_INTERVAL) {
        text.push_str(&format!(" Fewer than {LEAST_FOR_INTERVAL} repetitions have no interval."));
    }
    if run.labels.iter().any(|label| label.busy_is_bound) {
        text.push_str(
            " Some busy times are upper bounds, and rates over them lower ones (busy_is_bound).",
        );
    }
    let left_out = sweep.order.iter().filter(|at| at.outcome != "finished").count();
    if left_out > 0 {
        text.push_str(&format!(" {left_out} executions that did not finish are left out."));
    }
    paint_lines(&flow(&text, terminal.columns), Paint::Faint, terminal)
}

/// `label: operation, unit`. Statistics that stand in one table have one unit.
fn title(group: &[&Statistic]) -> String {
    let statistic = group[0];
    let label = match statistic.label.as_str() {
        "" => "(in no label)".to_string(),
        label => escape(label),
    };
    let (op, unit) = (escape(&statistic.op), unit(group).0);
    match statistic.metric {
        Metric::TimeNs => format!("{label}: time, {unit}"),
        Metric::MibS | Metric::OpsS => format!("{label}: {op}, {unit}"),
        Metric::RankMibS => format!("{label}: {op}, {unit} of 1 rank"),
        Metric::MeanNs => format!("{label}: {op}, mean time, {unit}"),
    }
}

/// The unit that the largest median of a table has one of.
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

/// `size`: that of the unit.
fn with_interval(statistic: &Statistic, size: f64) -> String {
    let figure = |value: f64| number(value / size);
    match (statistic.ci95_low, statistic.ci95_high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", figure(statistic.median), figure(low), figure(high))
        }
        _ => figure(statistic.median),
    }
}

/// One figure over the grid: a matrix if there are two dimensions and room, else a list.
fn figure(sweep: &Sweep, group: &[&Statistic], terminal: Terminal) -> String {
    let matrix = across(sweep).map(|across| matrix(sweep, group, across));
    let matrix = matrix.filter(|table| table.width() <= terminal.columns);
    let table = matrix.unwrap_or_else(|| list(sweep, group));
    let mut lines = vec![paint(&title(group), Paint::Heading, terminal), table.draw(terminal)];
    for statistic in group.iter().filter(|statistic| !statistic.outliers.is_empty()) {
        let numbers: Vec<String> = statistic.outliers.iter().map(u32::to_string).collect();
        let at = match sweep.dimensions.is_empty() {
            true => String::new(),
            false => format!(" at {}", escape(&sweep.describe(statistic.cell))),
        };
        lines.push(format!("  stands apart: repetition {}{at}", numbers.join(", ")));
    }
    lines.join("\n")
}

/// The dimension whose values stand side by side: the last parameter, if something else varies too.
fn across(sweep: &Sweep) -> Option<usize> {
    let params = |dimension: &Dimension| dimension.kind == DimensionKind::Param;
    sweep.dimensions.iter().rposition(params).filter(|_| sweep.dimensions.len() > 1)
}

fn matrix(sweep: &Sweep, group: &[&Statistic], across: usize) -> Table {
    let others = |cell: u32| -> Vec<String> {
        let values = sweep.values_at(cell).into_iter().enumerate();
        values.filter(|(at, _)| *at != across).map(|(_, value)| escape(value)).collect()
    };
    let name = escape(&sweep.dimensions[across].name);
    let columns = &sweep.dimensions[across].values;
    let dimensions = sweep.dimensions.iter().enumerate().filter(|(at, _)| *at != across);
    let mut header: Vec<String> = dimensions.map(|(_, d)| escape(&d.name)).collect();
    let left = header.len();
    header.extend(columns.iter().map(|value| format!("{name}={}", escape(value))));
    let size = unit(group).1;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for statistic in group {
        let values = sweep.values_at(statistic.cell);
        let Some(column) = values.get(across) else { continue };
        let Some(column) = columns.iter().position(|value| value == column) else { continue };
        let key = others(statistic.cell);
        let row = rows.iter().position(|row| row[..left] == key).unwrap_or_else(|| {
            let mut row = key.clone();
            row.resize(left + columns.len(), "-".into());
            rows.push(row);
            rows.len() - 1
        });
        rows[row][left + column] = with_interval(statistic, size);
    }
    Table { header, rows }
}

fn list(sweep: &Sweep, group: &[&Statistic]) -> Table {
    let names = sweep.dimensions.iter().map(|dimension| escape(&dimension.name));
    let mut header: Vec<String> = names.collect();
    let figures = ["n", "median", "95 % low", "95 % high", "mean", "sd"];
    header.extend(figures.map(str::to_string));
    let size = unit(group).1;
    let row = |statistic: &&Statistic| {
        let figure = |value: Option<f64>| value.map_or("-".into(), |value| number(value / size));
        let mut row: Vec<String> =
            sweep.values_at(statistic.cell).into_iter().map(escape).collect();
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
    Table { header, rows: group.iter().map(row).collect() }
}

/// Times of labels and rates side by side, a line per number of ranks or nodes: one table for every
/// combination of the other dimensions.
fn over_ranks(sweep: &Sweep, shown: &[&Statistic], terminal: Terminal) -> Vec<String> {
    let of_ranks = |dimension: &Dimension| {
        matches!(dimension.kind, DimensionKind::Ranks | DimensionKind::Nodes)
    };
    let Some(ranks) = sweep.dimensions.iter().position(of_ranks) else { return Vec::new() };
    // Ranks or nodes.
    let counted = &sweep.dimensions[ranks].name;
    let side = |s: &&Statistic| matches!(s.metric, Metric::TimeNs | Metric::MibS | Metric::OpsS);
    let groups: Vec<&[&Statistic]> =
        shown.chunk_by(|a, b| same_figure(a, b)).filter(|group| side(&group[0])).collect();
    let titles: Vec<String> = groups.iter().map(|group| title(group)).collect();
    let others = |cell: u32| -> Vec<String> {
        let pairs = sweep.dimensions.iter().zip(sweep.values_at(cell)).enumerate();
        let others = pairs.filter(|(at, _)| *at != ranks);
        others.map(|(_, (d, value))| escape(&format!("{}={value}", d.name))).collect()
    };
    let mut tables: Vec<(Vec<String>, Table)> = Vec::new();
    let columns = groups.iter().enumerate().flat_map(|(column, group)| {
        group.iter().map(move |statistic| (column, unit(group).1, *statistic))
    });
    for (column, size, statistic) in columns {
        let key = others(statistic.cell);
        let at = tables.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            let header = std::iter::once(counted.clone()).chain(titles.iter().cloned());
            tables.push((key, Table { header: header.collect(), rows: Vec::new() }));
            tables.len() - 1
        });
        let Some(count) = sweep.values_at(statistic.cell).get(ranks).map(|v| escape(v)) else {
            continue;
        };
        let rows = &mut tables[at].1.rows;
        let row = rows.iter().position(|row| row[0] == count).unwrap_or_else(|| {
            let mut row = vec![count];
            row.resize(titles.len() + 1, "-".into());
            rows.push(row);
            rows.len() - 1
        });
        rows[row][column + 1] = number(statistic.median / size);
    }
    let draw = |(key, table): (Vec<String>, Table)| {
        let at = if key.is_empty() { String::new() } else { format!(" at {}", key.join(", ")) };
        let medians = if is_repeated(shown) { ", medians" } else { "" };
        let heading = paint(&format!("over {counted}{at}{medians}"), Paint::Heading, terminal);
        let parts = table.split(terminal.columns).into_iter().map(|part| part.draw(terminal));
        format!("{heading}\n{}", parts.collect::<Vec<_>>().join("\n"))
    };
    tables.into_iter().map(draw).collect()
}

/// Texts in right-aligned columns.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn widths(&self) -> Vec<usize> {
        let widest = |at: usize| {
            let cells = self.rows.iter().map(|row| width(&row[at]));
            cells.chain([width(&self.header[at])]).max().unwrap_or(0)
        };
        (0..self.header.len()).map(widest).collect()
    }

    fn width(&self) -> usize {
        self.widths().iter().map(|width| width + 2).sum()
    }

    /// Tables of as many columns as fit, the first column in each.
    fn split(self, columns: usize) -> Vec<Table> {
        let widths = self.widths();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut taken = usize::MAX;
        for at in 1..widths.len() {
            if taken.saturating_add(widths[at] + 2) > columns {
                parts.push(vec![0]);
                taken = widths[0] + 2;
            }
            taken += widths[at] + 2;
            parts.last_mut().expect("pushed above").push(at);
        }
        let pick = |part: &Vec<usize>, row: &Vec<String>| -> Vec<String> {
            part.iter().map(|at| row[*at].clone()).collect()
        };
        let table = |part: &Vec<usize>| Table {
            header: pick(part, &self.header),
            rows: self.rows.iter().map(|row| pick(part, row)).collect(),
        };
        parts.iter().map(table).collect()
    }

    fn draw(&self, terminal: Terminal) -> String {
        let widths = self.widths();
        let line = |row: &Vec<String>| -> String {
            let cell = |(text, wide): (&String, &usize)| {
                format!("  {}{text}", " ".repeat(wide.saturating_sub(width(text))))
            };
            row.iter().zip(&widths).map(cell).collect()
        };
        let header = paint(&line(&self.header), Paint::Faint, terminal);
        let rows = self.rows.iter().map(line);
        std::iter::once(header).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use expect_test::expect;

    fn wide() -> Terminal {
        Terminal { columns: 100, color: false }
    }

    #[test]
    fn one_dimension_is_a_list() {
        let text = render(&sample::sweep(3, 6), wide());
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

            Median of the repetitions [95 % confidence interval of the median]; rates of all ranks: by the busy
              time of the label."#]].assert_eq(&text);
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

            Median of the repetitions [95 % confidence interval of the median]; rates of all ranks: by the busy
              time of the label."#]].assert_eq(&render(&run, wide()));
        let narrow = render(&run, Terminal { columns: 40, color: false });
        assert!(narrow.contains("95 % low"), "a list where the matrix does not fit:\n{narrow}");
    }

    #[test]
    fn one_repetition_has_no_median() {
        let mut run = sample::sweep(2, 1);
        let dimension = &mut run.run.sweep.as_mut().unwrap().dimensions[0];
        (dimension.kind, dimension.name) = (DimensionKind::Ranks, "ranks".into());
        let text = render(&run, wide());
        assert!(text.starts_with("over ranks\n"), "{text}");
        assert!(
            text.contains("Every point was executed once; rates") && !text.contains("Median"),
            "{text}"
        );
    }

    #[test]
    fn few_repetitions_have_no_interval_and_outliers_are_named() {
        let text = render(&sample::sweep(1, 4), wide());
        assert!(text.contains("Fewer than 5 repetitions have no interval"), "{text}");
        let mut run = sample::sweep(1, 8);
        run.labels[6].busy_ns *= 3;
        let text = render(&run, wide());
        assert!(text.contains("stands apart: repetition 6 at block=4k"), "{text}");
    }

    #[test]
    fn a_damaged_grid_is_drawn_somehow() {
        let mut run = sample::sweep(2, 5);
        run.run.sweep.as_mut().unwrap().dimensions[0].values.clear();
        assert!(render(&run, wide()).contains("MiB/s"));
        run.run.sweep.as_mut().unwrap().dimensions.clear();
        assert!(render(&run, wide()).contains("MiB/s"));
    }
}
