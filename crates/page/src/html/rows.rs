//! The table of phases and operations; below it, folded, what more is known of each operation.

use super::blocks;
use super::frame::details;
use super::pictures;
use model::histogram::Histogram;
use model::op::Class;
use model::run::{Row, Run};
use model::units::Measure;
use report::chart::View;
use report::curves::{LEAST_CALLS, chart, curve};
use report::document::{Block, Sheet};
use report::grid::{Cell, Grid, Kind, Line, field, optional};
use report::markup::{Element, Markup, element};
use report::rows::{class, label_name};
use report::table::answer;

/// Operations with details of their own: those with most time.
const MOST: usize = 60;
/// Operations with a picture of their times.
const PICTURES: usize = 12;

/// The terminal's table with a line for each operation, and the details of each.
pub fn figures(run: &Run) -> Markup {
    let mut rows = detailed(run);
    let mut out = Markup::default();
    for block in answer::page(run) {
        match &block {
            // The answer has said it.
            Block::List(_) => {}
            Block::Sheet(sheet) if sheet.name == "answer" => out.push(table(sheet, &rows)),
            _ => out.push(blocks::blocks(std::slice::from_ref(&block))),
        }
    }
    rows.truncate(MOST);
    let sections: Markup = rows.iter().enumerate().map(|at| section(run, at)).collect();
    if !sections.is_empty() {
        let title = "Percentiles, parts and distributions of each operation";
        out.push(details(title).attr("id", "row-details").with(sections));
    }
    out
}

/// The operations of a run that is no sweep, most time first.
fn detailed(run: &Run) -> Vec<&Row> {
    if run.run.sweep.is_some() {
        return Vec::new();
    }
    let mut rows: Vec<&Row> = run.rows.iter().filter(|row| row.part_of.is_none()).collect();
    rows.sort_by(|a, b| time_ns(b).total_cmp(&time_ns(a)));
    rows.truncate(MOST);
    rows
}

fn time_ns(row: &Row) -> f64 {
    row.mean_ns.map_or(0.0, |mean| mean * row.count as f64)
}

/// The table, whose lines name their details.
fn table(sheet: &Sheet, rows: &[&Row]) -> Element {
    let mut label = String::new();
    let lines = sheet.grid.lines.iter().map(|line| match line {
        Line::Heading { name, .. } => {
            label = name.clone();
            None
        }
        Line::Cells { cells, .. } => {
            let Some(Cell::Text(name)) = cells.first() else { return None };
            place(rows, &label, name.trim())
        }
    });
    let numbers: Vec<Option<usize>> = lines.collect();
    blocks::sheet_with(sheet, "operations", &numbers)
}

/// The number of the operation below a heading, which is a label or [`answer::NO_LABEL`].
fn place(rows: &[&Row], heading: &str, op: &str) -> Option<usize> {
    let at = |label: &str| rows.iter().position(|row| row.label == label && row.op == op);
    at(heading).or_else(|| answer::NO_LABEL.contains(&heading).then(|| at("")).flatten())
}

/// All that is known of an operation.
fn section(run: &Run, (at, row): (usize, &&Row)) -> Element {
    let parts = run
        .rows
        .iter()
        .filter(|part| part.label == row.label && part.part_of.as_deref() == Some(row.op.as_str()));
    let rows: Vec<&Row> = std::iter::once(*row).chain(parts).collect();
    let sheet = Sheet {
        name: "operation",
        title: format!("{}: {}", label_name(&row.label), row.op),
        grid: times(&rows),
        notes: balance(row).into_iter().collect(),
    };
    let pictures = (at < PICTURES).then(|| distribution(at, row)).flatten();
    element("section")
        .attr("id", format!("row-{at}"))
        .class("row")
        .with(blocks::blocks(&[Block::Sheet(sheet)]))
        .all(pictures.as_ref().map(pictures::figure))
}

fn times(rows: &[&Row]) -> Grid {
    const TIME: Kind = Kind::Quantity(Measure::Time);
    const PERCENTILE: Kind = Kind::Percentile(Measure::Time);
    Grid::of(
        vec![
            field("part", "", Kind::Word, 0, |row: &&Row| {
                Cell::Text(row.op.rsplit_once('.').map_or("whole".into(), |(_, part)| part.into()))
            }),
            field("count", "", Kind::Count, 0, |row| Cell::Count(row.count)),
            optional("failed", "", Kind::Count, 0, |row| Cell::Count(row.failed)),
            optional("expected", "", Kind::Count, 0, |row| Cell::Count(row.expected)),
            optional("bytes", "", Kind::Quantity(Measure::Bytes), 0, |row| match row.bytes {
                0 => Cell::None,
                bytes => Cell::whole(bytes),
            }),
            field("min", "", TIME, 0, |row| whole(row.min_ns)),
            field("mean", "", TIME, 0, |row| Cell::number(row.mean_ns)),
            field("p50", "", PERCENTILE, 0, |row| whole(row.p50_ns)),
            optional("p90", "", PERCENTILE, 0, |row| whole(row.p90_ns)),
            optional("p99", "", PERCENTILE, 0, |row| whole(row.p99_ns)),
            optional("p99.9", "", PERCENTILE, 0, |row| whole(row.p999_ns)),
            field("max", "", TIME, 0, |row| whole(row.max_ns)),
        ],
        rows,
        |row| row.failed > 0,
    )
}

fn whole(ns: Option<u64>) -> Cell {
    Cell::number(ns.map(|ns| ns as f64))
}

/// How the time was spread over ranks.
fn balance(row: &Row) -> Option<String> {
    // Failed calls have no time here.
    let balance =
        row.balance.as_ref().filter(|balance| balance.ranks > 1 && balance.busy_ns > 0)?;
    let mean_ns = balance.busy_ns as f64 / f64::from(balance.ranks);
    let time = |ns: f64| model::units::format_ns(ns);
    Some(format!(
        "{} ranks, {} each on average; rank {} took longest: {}.",
        balance.ranks,
        time(mean_ns),
        balance.slowest_rank,
        time(balance.slowest_busy_ns as f64)
    ))
}

/// The share of calls that took no longer, with the median and the 99th percentile as numbers.
fn distribution(at: usize, row: &Row) -> Option<View> {
    let histogram: &Histogram =
        row.histogram.as_ref().filter(|times| times.count >= LEAST_CALLS)?;
    let color = match class(&row.op) {
        Class::Read => 0,
        Class::Write => 1,
        _ => 2,
    };
    let time = |share: f64| {
        let ns = histogram.quantile(share).unwrap_or(0);
        Measure::Time.format(ns as f64, 3)
    };
    let series = vec![curve(row.op.clone(), color, histogram)];
    Some(View {
        name: format!("distribution-{at}"),
        title: format!("Times of {}", row.op),
        summary: format!(
            "Half of the calls took at most {}, 99 % at most {}.",
            time(0.5),
            time(0.99)
        ),
        chart: chart("share of the calls that took no longer", series),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_only_failed_took_no_rank_longest() {
        let balance = |busy_ns| model::run::Balance { ranks: 2, busy_ns, ..Default::default() };
        let row = |busy_ns| Row { balance: Some(balance(busy_ns)), ..Row::default() };
        assert_eq!(super::balance(&row(0)), None);
        assert!(super::balance(&row(8)).unwrap().starts_with("2 ranks, 4 ns each on average"));
    }

    #[test]
    fn an_operation_has_the_details_of_its_own_label() {
        let row = |label: &str| Row { label: label.into(), op: "write".into(), ..Row::default() };
        let rows = ["a", "(b)", ""].map(row);
        let rows: Vec<&Row> = rows.iter().collect();
        for (heading, at) in [
            ("a", Some(0)),
            ("(b)", Some(1)),
            ("(outside of phases)", Some(2)),
            ("(whole run)", Some(2)),
            ("(c)", None),
        ] {
            assert_eq!(place(&rows, heading, "write"), at, "{heading}");
            assert_eq!(place(&rows, heading, "read"), None, "{heading}");
        }
    }
}
