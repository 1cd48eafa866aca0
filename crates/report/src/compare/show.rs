//! A comparison as text for people, Markdown, pictures and a page.

use super::comparison::{Comparison, Unmatched, histogram};
use super::design::{
    Claim, Design, Options, Row, SIGNIFICANCE, Side, row_subject, subject, too_few,
};
use super::quantities::{Quantity, Samples};
use crate::chart::{Axis, Chart, Join, Point, Range, Series, Unit, View};
use crate::document::{Block, Item, Sheet};
use crate::grid::{Cell, Grid, Kind, field};
use crate::rows::{grouped, label_name};
use crate::statistics::Metric;
use crate::text::Terminal;
use crate::views::{Views, latencies_of_sides};
use crate::{gate, html};
use model::units::with_digits;
use model::{Run, words};

const RATIO: Kind = Kind::Number(3);
const PROBABILITY: Kind = Kind::Number(4);

/// Rows that get pictures of their own; the table has them all.
const ROWS: usize = 12;
/// Rows of the forest plot.
const FOREST: usize = 48;

/// The comparison for a terminal.
pub fn table(comparison: &Comparison, terminal: Terminal) -> String {
    crate::document::text(&blocks(comparison), terminal)
}

/// The comparison for an issue or a merge request.
pub fn markdown(comparison: &Comparison) -> String {
    crate::document::markdown(&blocks(comparison))
}

/// The gates of all comparisons as a JUnit test suite, for pipelines.
pub fn junit(comparisons: &[Comparison], undecided_fails: bool) -> String {
    let gates: Vec<_> =
        comparisons.iter().flat_map(|one| one.gates.iter().map(|gate| (&*one.new, gate))).collect();
    gate::junit("parabench compare", &gates, undecided_fails)
}

/// All comparisons as one self-contained page.
pub fn page(compared: &[(&Side, &Side, &Comparison)]) -> String {
    let part = |(base, new, comparison): &(&Side, &Side, &Comparison)| {
        let title = format!("{} against {}", comparison.new, comparison.base);
        let blocks = std::iter::once(Block::Heading(title)).chain(blocks(comparison));
        let views = Views { views: views(base, new, comparison), absent: Vec::new() };
        (blocks.collect(), views)
    };
    html::report("Comparison", compared.iter().map(part))
}

fn blocks(comparison: &Comparison) -> Vec<Block> {
    let notes = comparison.notes.iter().map(|note| format!("note: {note}"));
    let marks = comparison.marks.iter().map(|mark| {
        let word = if mark.counts { "verdict" } else { "remark" };
        format!("{word} of {}: {}: {}", mark.side, mark.code, mark.seen)
    });
    let lines = sides(comparison).into_iter().chain(notes).chain(marks);
    let mut blocks = vec![Block::List(lines.map(Item::new).collect())];
    blocks.extend(figures(comparison));
    blocks.push(Block::List(gate::items(&comparison.gates)));
    blocks
}

/// The comparison inside a run's own report, which has its marks and remarks; nothing for a run that is
/// none.
pub(crate) fn within(run: &Run) -> Vec<Block> {
    let Some(found) = super::comparison::within(run, &Options::default()) else {
        return Vec::new();
    };
    let lines = sides(&found).into_iter().map(Item::new).collect();
    std::iter::once(Block::List(lines)).chain(figures(&found)).collect()
}

/// The names of both sides and how they differ.
fn sides(comparison: &Comparison) -> Vec<String> {
    let names = [format!("A: {}", comparison.base), format!("B: {}", comparison.new)];
    let differs = comparison.differences.iter();
    let differs = differs.map(|difference| format!("differs: {}", difference.sentence()));
    names.into_iter().chain(differs).collect()
}

/// The rows, the legend of their columns, and a sentence for each.
fn figures(comparison: &Comparison) -> Vec<Block> {
    let rows = &comparison.rows;
    let table = match rows.is_empty() {
        true => Block::Text("The two sides have no row in common.".into()),
        false => {
            let (grid, notes) = (grid(rows), legend(comparison));
            Block::Sheet(Sheet { name: "comparison", title: String::new(), grid, notes })
        }
    };
    let lacking =
        comparison.unmatched.iter().map(|Unmatched { side, label, op, point, .. }| {
            format!("only {side}: {}", subject(label, op, point))
        });
    let lines = sentences(comparison).into_iter().chain(lacking);
    vec![table, Block::List(lines.map(Item::new).collect())]
}

/// A sentence for each row; rows with too few repetitions for a claim share one, which comes first.
fn sentences(comparison: &Comparison) -> Vec<String> {
    let rows = &comparison.rows;
    let (few, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.claim == Claim::TooFew);
    let reason = |row: &Row| too_few(row, rows.len(), comparison.design);
    let reasons = grouped(few.into_iter().map(|row| (reason(row), row)));
    let shared = |(reason, of): (String, Vec<&Row>)| match &of[..] {
        [row] => row.sentence.clone(),
        of if of.len() == rows.len() => reason,
        of => {
            let subjects: Vec<String> = of.iter().map(|row| row_subject(row)).collect();
            format!("{}: {reason}", subjects.join(", "))
        }
    };
    let others = others.into_iter().map(|row| row.sentence.clone());
    reasons.into_iter().map(shared).chain(others).collect()
}

fn legend(comparison: &Comparison) -> Vec<String> {
    let within = if comparison.design == Design::Blocks { ", block by block" } else { "" };
    let tested = comparison.rows.iter().filter(|row| row.p.is_some()).count();
    let ratio =
        format!("\"B faster\" is the ratio B/A{within}, with its 95 % confidence interval.");
    let p = match tested {
        0 => "No row is tested.".to_string(),
        _ => format!(
            "p is corrected for testing {} ({} test); below {SIGNIFICANCE} counts as a difference.",
            words::count(tested as u64, "row"),
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

/// Rows in their order, a heading wherever the label or the point of a sweep changes.
fn grid(rows: &[Row]) -> Grid {
    let grid = Grid::of(
        vec![
            field("operation", "", Kind::Word, 0, |row: &Row| {
                Cell::Text(format!("  {}", if row.op.is_empty() { "(label)" } else { &row.op }))
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
            field("B faster", "times", RATIO, 0, |row| Cell::number(row.ratio)),
            field("from", "95 %", RATIO, 0, |row| Cell::number(row.ci95_low)),
            field("to", "95 %", RATIO, 0, |row| Cell::number(row.ci95_high)),
            field("p", "alone", PROBABILITY, 1, |row| Cell::number(row.p)),
            field("p", "Holm", PROBABILITY, 0, |row| Cell::number(row.p_holm)),
        ],
        rows,
        |row| row.claim == Claim::Slower,
    );
    grid.with_headings(rows, place)
}

/// The intervals of all rows, then each row's repetitions and latencies.
pub(crate) fn views(base: &Side, new: &Side, comparison: &Comparison) -> Vec<View> {
    let (a, b) = (Samples::of(&base.runs), Samples::of(&new.runs));
    let mut views: Vec<View> = intervals(comparison).into_iter().collect();
    for (number, row) in comparison.rows.iter().take(ROWS).enumerate() {
        views.extend(repetitions(number, row, &a, &b));
        let key = (row.label.clone(), row.op.clone(), row.cell);
        views.extend(row.latency.map(|distance| {
            let (title, view) = (row_subject(row), format!("latencies-{number}"));
            let sides = [("A", &histogram(base, &key)), ("B", &histogram(new, &key))];
            latencies_of_sides(view, &title, sides, distance)
        }));
    }
    views
}

/// How many times faster B is, row by row: a forest plot.
fn intervals(comparison: &Comparison) -> Option<View> {
    let known = comparison.rows.iter().filter(|row| row.ci95_low.is_some());
    let rows: Vec<&Row> = known.take(FOREST).collect();
    let range = |row: &&Row| {
        Some(Range {
            name: row_subject(row),
            low: row.ci95_low?,
            at: row.ratio?,
            high: row.ci95_high?,
        })
    };
    let chart = Chart::Forest {
        x: Axis { log: true, ..Axis::new("B is faster, times", Unit::None) },
        line: Some(1.0),
        ranges: rows.iter().filter_map(range).collect(),
    };
    let mut sentences: Vec<&str> = rows.iter().take(4).map(|row| row.sentence.as_str()).collect();
    let left_out = comparison.rows.len() - rows.len();
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
