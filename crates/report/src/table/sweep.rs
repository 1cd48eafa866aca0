//! The tables of a sweep: every figure over its points, the median of the repetitions with its
//! 95 % confidence interval.
//!
//! ```text
//! write: write, MiB/s
//! block  size  n  median  95 % low  95 % high  mean   sd
//!    4k   16k  5   812.0     801.2      820.0  811.0  5.1
//!    4k   64k  5  1204.0    1190.0     1211.0  1203.0 7.7
//! ```

use crate::document::{Block, Sheet};
use crate::grid::{Cell, Column, Grid, Line};
use crate::rows::label_name;
use crate::statistics::{self, Metric, Statistic};
use crate::stats::LEAST_FOR_INTERVAL;
use crate::text::Detail;
use model::run::Run;
use model::sweep::Sweep;
use model::units::with_digits;
use model::words;

const LEGEND: &str = "Median of the repetitions with its 95 % confidence interval. Total rate = bytes / \
                      duration of the phase.";
const LEGEND_ONCE: &str = "Each point ran once; --reps 5 gives confidence intervals. Total rate = bytes / duration of the phase.";

/// The tables and their legend; the comparison of a run that is one.
pub fn blocks(run: &Run, sweep: &Sweep) -> Vec<Block> {
    if sweep.versus {
        return crate::compare::show::within(run, Detail::Full);
    }
    let statistics = statistics::shown(run);
    let shown: Vec<&Statistic> = statistics.iter().collect();
    if shown.is_empty() {
        return vec![Block::Text("No execution finished with a figure.".into())];
    }
    let (title, grid, notes) = (String::new(), Grid::default(), vec![legend(run, sweep, &shown)]);
    let legend = Sheet { name: "legend", title, grid, notes };
    let figures = shown.chunk_by(same_figure).map(|group| figure(sweep, group));
    figures.chain([legend]).map(Block::Sheet).collect()
}

fn same_figure(a: &&Statistic, b: &&Statistic) -> bool {
    (&a.label, &a.op, a.metric) == (&b.label, &b.op, b.metric)
}

fn legend(run: &Run, sweep: &Sweep, shown: &[&Statistic]) -> String {
    let is_repeated = shown.iter().any(|statistic| statistic.n > 1);
    let mut text = if is_repeated { LEGEND } else { LEGEND_ONCE }.to_string();
    if is_repeated && shown.iter().any(|statistic| statistic.n < LEAST_FOR_INTERVAL) {
        text.push_str(&format!(" Fewer than {LEAST_FOR_INTERVAL} repetitions have no interval."));
    }
    if run.labels.iter().any(|label| label.busy_is_bound) {
        text.push_str(
            " Some durations are upper bounds, and rates over them lower ones (busy_is_bound).",
        );
    }
    let left_out = sweep.order.iter().filter(|at| at.outcome != "finished").count();
    if left_out > 0 {
        text.push_str(&format!(
            " {left_out_executions} that did not finish are left out.",
            left_out_executions = words::count(left_out, "execution")
        ));
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
        Metric::MeanNs | Metric::P50Ns | Metric::P99Ns | Metric::TypicalNs => {
            format!("{label}: {op}, {}, {unit}", metric.quantity())
        }
    }
}

/// The largest unit in which the largest median of a table is at least 1.
fn unit(group: &[&Statistic]) -> (&'static str, f64) {
    let largest = group.iter().map(|statistic| statistic.median).fold(0.0, f64::max);
    group[0].metric.measure().unit(largest)
}

/// One figure over the grid: a line per point.
fn figure(sweep: &Sweep, group: &[&Statistic]) -> Sheet {
    let size = unit(group).1;
    let number = |value: Option<f64>| {
        value.map_or(Cell::None, |value| Cell::Text(with_digits(value / size, 4)))
    };
    let line = |one: &&Statistic| {
        let mut values = sweep.values_at(one.cell);
        values.resize(sweep.dimensions.len(), "?");
        let figures =
            [Some(one.median), one.ci95_low, one.ci95_high, Some(one.mean), one.sd].map(number);
        let names = values.into_iter().map(|value| Cell::Text(value.into()));
        Line::plain(names.chain([Cell::Count(one.n as u64)]).chain(figures).collect())
    };
    let names = sweep.dimensions.iter().map(|dimension| dimension.name.clone());
    let figures = ["n", "median", "95 % low", "95 % high", "mean", "sd"].map(String::from);
    let grid = Grid {
        columns: names.chain(figures).map(Column::named).collect(),
        lines: group.iter().map(line).collect(),
    };
    let outliers = group.iter().filter(|statistic| !statistic.outliers.is_empty());
    let notes = outliers.map(|statistic| {
        let count = statistic.outliers.len() as u64;
        let [outlier, repetition] =
            ["outlier", "repetition"].map(|noun| words::plural(count, noun));
        let at = match sweep.dimensions.is_empty() {
            true => String::new(),
            false => format!(" ({})", sweep.describe(statistic.cell)),
        };
        let numbers = words::list(&statistic.outliers);
        format!("possible {outlier}: {repetition} {numbers}{at}")
    });
    Sheet { name: "sweep", title: title(group), notes: notes.collect(), grid }
}
