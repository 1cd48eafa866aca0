//! A comparison as text for people, Markdown, pictures and a page.

use super::comparison::{Comparison, Unmatched, histogram};
use super::design::{Design, Options, Row, SIGNIFICANCE, Side, Tier};
use super::quantities::{Quantity, Samples};
use super::sentences::{row_subject, subject};
use super::short;
use crate::chart::{Axis, Chart, Join, Point, Range, Series, Unit, View};
use crate::curves::latencies_of_sides;
use crate::document::{Block, Item, Sheet};
use crate::gate;
use crate::grid::{Cell, Grid, Kind, field};
use crate::rows::label_name;
use crate::statistics::Metric;
use crate::text::{Detail, Terminal};
use model::Run;
use model::units::{Measure, with_digits};

const RATIO: Kind = Kind::Number(3);
const PROBABILITY: Kind = Kind::Number(4);

/// Rows that get pictures of their own; the table has them all.
const ROWS: usize = 12;
/// Rows of the forest plot.
const FOREST: usize = 48;

/// The comparison for a terminal.
pub fn table(comparison: &Comparison, terminal: Terminal, detail: Detail) -> String {
    crate::document::text(&blocks(comparison, detail), terminal)
}

/// The comparison for an issue or a merge request.
pub fn markdown(comparison: &Comparison, detail: Detail) -> String {
    crate::document::markdown(&blocks(comparison, detail))
}

/// The gates of all comparisons as a JUnit test suite, for pipelines.
pub fn junit(comparisons: &[Comparison], undecided_fails: bool) -> String {
    let gates: Vec<_> =
        comparisons.iter().flat_map(|one| one.gates.iter().map(|gate| (&*one.new, gate))).collect();
    gate::junit("parabench compare", &gates, undecided_fails)
}

/// The comparison as parts of a report.
pub fn blocks(comparison: &Comparison, detail: Detail) -> Vec<Block> {
    let mut blocks = match detail {
        Detail::Short => short::blocks(comparison, true),
        Detail::Full => {
            let remarks = comparison.facts().into_iter().map(Item::new);
            let lines = short::names(comparison).into_iter().chain(remarks).collect();
            std::iter::once(Block::List(lines)).chain(figures(comparison)).collect()
        }
    };
    blocks.push(Block::List(gate::items(&comparison.gates)));
    blocks
}

/// The comparison inside a run's own report, which has its marks and remarks; nothing for a run that is
/// none.
pub(crate) fn within(run: &Run, detail: Detail) -> Vec<Block> {
    let Some(found) = super::comparison::within(run, &Options::default()) else {
        return Vec::new();
    };
    if detail == Detail::Short {
        return short::blocks(&found, false);
    }
    let differs = found.differences.iter().map(|one| format!("differs: {}", one.sentence()));
    let lines = short::names(&found).into_iter().chain(differs.map(Item::new)).collect();
    std::iter::once(Block::List(lines)).chain(figures(&found)).collect()
}

/// The rows, the legend of their columns, and a sentence for each.
fn figures(comparison: &Comparison) -> Vec<Block> {
    let rows = &comparison.rows;
    let table = match rows.is_empty() {
        true => Block::Text("The two sides have nothing in common to compare.".into()),
        false => {
            let (grid, notes) = (grid(rows), legend(comparison));
            Block::Sheet(Sheet { name: "comparison", title: String::new(), grid, notes })
        }
    };
    let lacking =
        comparison.unmatched.iter().map(|Unmatched { side, label, op, point, .. }| {
            format!("only {side}: {}", subject(label, op, point))
        });
    let amounts = comparison.amounts.iter().map(|amount| amount.sentence.clone());
    let sentences = comparison.rows.iter().map(|row| row.sentence.clone());
    let lines = amounts.chain(lacking).chain(sentences);
    vec![Block::List(lines.map(Item::new).collect()), table]
}

fn legend(comparison: &Comparison) -> Vec<String> {
    let within = if comparison.design == Design::Blocks { ", block by block" } else { "" };
    let tested = comparison.rows.iter().filter(|row| row.p.is_some()).count();
    let ratio = format!(
        "B/A is the ratio of the medians' figure{within}, with its 95 % confidence interval: of a time \
         above 1 is slower, of a rate faster."
    );
    let p = match tested {
        0 => "No row is tested.".to_string(),
        _ => format!(
            "p adjusted is corrected for all tests of labels, and of operations below labels that differ \
             ({} test); below {SIGNIFICANCE} counts as a difference.",
            comparison.test
        ),
    };
    vec![format!("{ratio} {p} Method: docs/statistics.md.")]
}

/// Label and point of a row.
fn place(row: &Row) -> String {
    match row.point.as_str() {
        "" => label_name(&row.label).to_string(),
        point => format!("{} ({point})", label_name(&row.label)),
    }
}

/// A median in the unit of the larger one.
fn median(row: &Row, median: f64) -> Cell {
    let (_, size) = row.metric.measure().unit(row.base_median.max(row.new_median));
    Cell::Text(with_digits(median / size, 4))
}

/// An end of an interval that nothing excludes is unknown.
fn end(end: f64) -> Cell {
    Cell::number(Some(end).filter(|end| *end > 0.0))
}

/// Rows in their order, a heading wherever the label or the point of a sweep changes.
fn grid(rows: &[Row]) -> Grid {
    let grid = Grid::of(
        vec![
            field("operation", "", Kind::Word, 0, |row: &Row| {
                let indent = if row.tier == Tier::Label { "  " } else { "    " };
                Cell::Text(format!(
                    "{indent}{}",
                    if row.op.is_empty() { "(label)" } else { &row.op }
                ))
            }),
            field("figure", "", Kind::Word, 0, |row| {
                let measure = row.metric.measure();
                let (unit, _) = measure.unit(row.base_median.max(row.new_median));
                Cell::Text(format!("{}, {unit}", row.metric.quantity()))
            }),
            field("n", "A", Kind::Count, 2, |row| Cell::Count(row.base_n as u64)),
            field("n", "B", Kind::Count, 2, |row| Cell::Count(row.new_n as u64)),
            field("median", "A", Kind::Count, 0, |row| median(row, row.base_median)),
            field("median", "B", Kind::Count, 0, |row| median(row, row.new_median)),
            field("B/A", "", RATIO, 0, |row| Cell::number(Some(row.quotient()[0]))),
            field("from", "95 %", RATIO, 0, |row| end(row.quotient()[1])),
            field("to", "95 %", RATIO, 0, |row| end(row.quotient()[2])),
            field("p", "alone", PROBABILITY, 1, |row| Cell::number(row.p)),
            field("p", "adjusted", PROBABILITY, 0, |row| Cell::number(row.p_adjusted)),
            field("p50", "A", Kind::Quantity(Measure::Time), 4, |row| {
                Cell::number(row.base_calls.as_ref().and_then(|calls| calls.p50_ns))
            }),
            field("p50", "B", Kind::Quantity(Measure::Time), 4, |row| {
                Cell::number(row.new_calls.as_ref().and_then(|calls| calls.p50_ns))
            }),
            field("p99", "A", Kind::Quantity(Measure::Time), 3, |row| {
                Cell::number(row.base_calls.as_ref().and_then(|calls| calls.p99_ns))
            }),
            field("p99", "B", Kind::Quantity(Measure::Time), 3, |row| {
                Cell::number(row.new_calls.as_ref().and_then(|calls| calls.p99_ns))
            }),
        ],
        rows,
        |row| row.claim == super::Claim::Slower,
    );
    grid.with_headings(rows, place)
}

/// The intervals of all rows, then each row's repetitions and latencies.
pub fn views(base: &Side, new: &Side, comparison: &Comparison) -> Vec<View> {
    let (a, b) = Samples::of_sides(&base.runs, &new.runs);
    let mut views: Vec<View> = intervals(comparison).into_iter().collect();
    let tested = comparison.rows.iter().filter(|row| row.p.is_some());
    for (number, row) in tested.take(ROWS).enumerate() {
        views.extend(repetitions(number, row, &a, &b));
        views.extend(latencies(number, row, base, new));
    }
    views
}

/// Times of the calls of the row's operation, or of the only one of its label.
fn latencies(number: usize, row: &Row, base: &Side, new: &Side) -> Option<View> {
    let distance = row.latency.filter(|_| row.metric != Metric::TypicalNs)?;
    let ops = |side: &Side| -> Vec<String> {
        let rows = side.runs.iter().flat_map(|run| &run.rows);
        let here = rows.filter(|one| one.part_of.is_none() && one.label == row.label);
        here.map(|one| one.op.clone()).collect()
    };
    let op = if row.op.is_empty() { ops(base).first()?.clone() } else { row.op.clone() };
    let key = (row.label.clone(), op, row.cell);
    let sides = [("A", &histogram(base, &key)), ("B", &histogram(new, &key))];
    let (name, title) = (format!("latencies-{number}"), row_subject(row));
    Some(latencies_of_sides(name, &title, sides, distance))
}

/// How many times faster B is, row by row: a forest plot.
fn intervals(comparison: &Comparison) -> Option<View> {
    let known = comparison.rows.iter().filter(|row| row.p.is_some() && row.ci95_low.is_some());
    let rows: Vec<&Row> = known.take(FOREST).collect();
    let range = |row: &&Row| {
        Some(Range {
            name: row_subject(row),
            low: row.ci95_low?,
            at: row.speedup,
            high: row.ci95_high?,
        })
    };
    let chart = Chart::Forest {
        x: Axis { log: true, ..Axis::new("B is faster, times", Unit::None) },
        line: Some(1.0),
        ranges: rows.iter().filter_map(range).collect(),
    };
    let mut sentences: Vec<&str> = rows.iter().take(4).map(|row| row.sentence.as_str()).collect();
    let tested = comparison.rows.iter().filter(|row| row.p.is_some()).count();
    let left_out = tested - rows.len();
    let more = format!("{left_out} more rows are in the table");
    sentences.extend((left_out > 0).then_some(more.as_str()));
    (!rows.is_empty()).then(|| View {
        name: "ratios".into(),
        title: "Speed of B relative to A".into(),
        summary: sentences.join("; "),
        chart,
    })
}

/// Every repetition of both sides.
fn repetitions(number: usize, row: &Row, a: &Samples, b: &Samples) -> Option<View> {
    let key = (row.label.clone(), row.op.clone(), row.cell);
    let quantity = Quantity { key, metric: row.metric };
    let series = |color: usize, name: &str, samples: &Samples| -> Option<Series> {
        let figures = samples.figures(&quantity).into_iter().zip(0u32..);
        let points = figures.map(|(y, x)| Point { x: f64::from(x), y, interval: None });
        Some(Series { name: name.into(), color, points: points.collect() })
    };
    let (title, unit) = match row.metric {
        Metric::MibS => ("total rate", Unit::MibPerSecond),
        Metric::RankMibS => ("rate per rank", Unit::MibPerSecond),
        Metric::OpsS => ("total operations", Unit::PerSecond),
        Metric::MeanNs => ("mean time", Unit::Nanoseconds),
        Metric::TimeNs => ("time of the label", Unit::Nanoseconds),
        Metric::P50Ns => ("median time", Unit::Nanoseconds),
        Metric::P99Ns => ("99th percentile", Unit::Nanoseconds),
        Metric::TypicalNs => ("calls x median time", Unit::Nanoseconds),
    };
    let chart = Chart::Lines {
        x: Axis::new("repetition", Unit::Count),
        y: Axis::new(title, unit),
        join: Join::Dots,
        series: vec![series(0, "A", a)?, series(1, "B", b)?],
    };
    let title = format!("Repetitions of {}", row_subject(row));
    let (name, summary) = (format!("repetitions-{number}"), row.sentence.clone());
    Some(View { name, title, summary, chart })
}
