//! The data of a view as CSV: a header with units in the names, one line per mark.

use crate::chart::{Axis, Chart, Series, Unit, View};
use std::io::{self, Write};

/// Writes the data of a view (RFC 4180). What is not a number is empty.
///
/// # Errors
/// Those of `out`.
pub fn csv(view: &View, out: &mut impl Write) -> io::Result<()> {
    crate::csv::lines(out, lines(&view.chart))
}

/// Header and lines.
pub fn lines(chart: &Chart) -> Vec<Vec<String>> {
    match chart {
        Chart::Lines { x, y, series, .. } => of_series(x, y, series),
        Chart::Band { x, y, line, low, high } => {
            let y = column(y);
            let header = vec![column(x), y.clone(), format!("low_{y}"), format!("high_{y}")];
            let points = line.points.iter().zip(low).zip(high);
            let line = points.map(|((point, low), high)| numbers(&[point.x, point.y, *low, *high]));
            std::iter::once(header).chain(line).collect()
        }
        Chart::Heat { x, y, value, x_edges, y_edges, values } => {
            let (x, y) = (column(x), column(y));
            let header =
                [format!("from_{x}"), format!("to_{x}"), format!("from_{y}"), format!("to_{y}")];
            let mut all = vec![header.into_iter().chain([column(value)]).collect()];
            for (row, edges) in values.iter().zip(y_edges.windows(2)) {
                for (value, x_edges) in row.iter().zip(x_edges.windows(2)) {
                    all.push(numbers(&[x_edges[0], x_edges[1], edges[0], edges[1], *value]));
                }
            }
            all
        }
        Chart::Bars { value, names, series } => {
            let mut all = vec![vec!["name".into(), "series".into(), column(value)]];
            for (series, values) in series {
                for (name, value) in names.iter().zip(values) {
                    all.push(vec![text(name), text(series), number(*value)]);
                }
            }
            all
        }
        Chart::Spans { x, rows, classes, bars } => {
            let x = column(x);
            let header = ["row", "class"].map(String::from).into_iter();
            let mut all: Vec<Vec<String>> =
                vec![header.chain([format!("from_{x}"), format!("to_{x}")]).collect()];
            let name = |texts: &[String], at: u32| {
                texts.get(at as usize).map(|it| text(it)).unwrap_or_default()
            };
            for bar in bars {
                let names = [name(rows, bar.row), name(classes, bar.class)];
                all.push(names.into_iter().chain(numbers(&[bar.start, bar.end])).collect());
            }
            all
        }
        Chart::Forest { x, ranges, .. } => {
            let x = column(x);
            let header = vec!["row".into(), x.clone(), format!("low_{x}"), format!("high_{x}")];
            let lines = ranges.iter().map(|range| {
                let numbers = numbers(&[range.at, range.low, range.high]);
                std::iter::once(range.name.clone()).chain(numbers).collect()
            });
            std::iter::once(header).chain(lines).collect()
        }
    }
}

fn of_series(x: &Axis, y: &Axis, series: &[Series]) -> Vec<Vec<String>> {
    let (x, y) = (column(x), column(y));
    let intervals = series.iter().flat_map(|series| &series.points).any(|p| p.interval.is_some());
    let mut header = vec!["series".to_string(), x, y.clone()];
    if intervals {
        header.extend([format!("low_{y}"), format!("high_{y}")]);
    }
    let mut all = vec![header];
    for series in series {
        for point in &series.points {
            let mut line = vec![text(&series.name), number(point.x), number(point.y)];
            if intervals {
                let (low, high) = point.interval.unwrap_or((f64::NAN, f64::NAN));
                line.extend([number(low), number(high)]);
            }
            all.push(line);
        }
    }
    all
}

/// An axis as the name of a column, its unit last: `time_since_start_ns`.
fn column(axis: &Axis) -> String {
    let word = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let text: String = axis.title.chars().map(word).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let unit = match axis.unit {
        Unit::Bytes => "bytes",
        Unit::MibPerSecond => "mib_s",
        Unit::Nanoseconds => "ns",
        Unit::PerSecond => "per_s",
        Unit::Count | Unit::Share | Unit::Rank | Unit::None => "",
    };
    let name = words.join("_");
    match unit {
        "" => name,
        unit if name.ends_with(unit) => name,
        unit => format!("{name}_{unit}"),
    }
}

fn text(text: &str) -> String {
    model::escape::cell(text).into_owned()
}

fn numbers(values: &[f64]) -> Vec<String> {
    values.iter().map(|value| number(*value)).collect()
}

/// The shortest digits that give the same number back.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}
