//! The data of a picture: views fill it, `svg` draws it, and it is written as CSV: a header with units in the
//! names, one line per mark. Bounded: a view aggregates until its marks fit a screen.

use model::units::Measure;
use serde::Serialize;
use std::io;
use std::io::Write;

/// A picture with everything a reader needs to understand it.
///
/// Serialized it is what the script of a page draws; numbers that are not finite are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// Stable short name, also of its files: `bandwidth-over-time`.
    pub name: String,
    /// Short noun as a headline.
    pub title: String,
    /// The text alternative: one or two sentences with the numbers that matter.
    pub summary: String,
    /// The picture.
    pub chart: Chart,
}

/// The pictures of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Views {
    /// Those that have something to show, in the order in which a reader wants them.
    pub views: Vec<View>,
    /// The others.
    pub absent: Vec<Absent>,
}

/// A picture that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its name.
    pub name: &'static str,
    /// Why not: "no operation moved bytes".
    pub reason: String,
}

impl Views {
    /// Adds pictures, or the reason why there are none.
    pub fn add_all(&mut self, name: &'static str, made: Result<Vec<View>, String>) {
        match made {
            Ok(made) => self.views.extend(made),
            Err(reason) => self.absent.push(Absent { name, reason }),
        }
    }

    /// Adds a picture, or the reason why there is none.
    pub fn add(&mut self, name: &'static str, made: Result<View, String>) {
        self.add_all(name, made.map(|view| vec![view]));
    }
}

/// Unit of an axis: decides how its ticks are written. Data are in the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Bytes, shown in KiB, MiB, ...
    Bytes,
    /// MiB per second.
    #[serde(rename = "mib_s")]
    MibPerSecond,
    /// Nanoseconds, shown in us, ms, s.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Operations per second.
    #[serde(rename = "per_s")]
    PerSecond,
    /// A plain count.
    Count,
    /// A part of one, shown in per cent.
    Share,
    /// A number of a rank.
    Rank,
    /// No unit.
    None,
}

impl Unit {
    /// Quantities with several units.
    pub fn measure(self) -> Option<Measure> {
        match self {
            Unit::Bytes => Some(Measure::Bytes),
            Unit::MibPerSecond => Some(Measure::ByteRate),
            Unit::Nanoseconds => Some(Measure::Time),
            Unit::PerSecond => Some(Measure::OpRate),
            Unit::Count | Unit::Share | Unit::Rank | Unit::None => None,
        }
    }
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Its title without the unit: "time since start".
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// Logarithmic: values of 0 have no place there.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn new(title: &str, unit: Unit) -> Axis {
        Axis { title: title.into(), unit, log: false }
    }
}

/// A point with an optional interval of its y value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "Vec<f64>")]
pub struct Point {
    /// In the x axis' unit.
    pub x: f64,
    /// In the y axis' unit.
    pub y: f64,
    /// Lower and upper end of its error bar.
    pub interval: Option<(f64, f64)>,
}

impl From<Point> for Vec<f64> {
    fn from(Point { x, y, interval }: Point) -> Vec<f64> {
        match interval {
            Some((low, high)) => vec![x, y, low, high],
            None => vec![x, y],
        }
    }
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Number of its colour. An operation has the same one in all pictures of a run; those past the
    /// palette share a grey.
    pub color: usize,
    /// In ascending order of x.
    pub points: Vec<Point>,
}

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// By straight lines.
    Line,
    /// As steps that keep their value until the next point.
    Step,
    /// Not at all.
    Dots,
}

/// From `start` to `end` on the row `row`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "(u32, u32, f64, f64)")]
pub struct Bar {
    /// Number of the row.
    pub row: u32,
    /// Number of the colour's class.
    pub class: u32,
    /// Begin, in the x axis' unit.
    pub start: f64,
    /// End.
    pub end: f64,
}

impl From<Bar> for (u32, u32, f64, f64) {
    fn from(bar: Bar) -> (u32, u32, f64, f64) {
        (bar.row, bar.class, bar.start, bar.end)
    }
}

/// One kind of bars of a picture with groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BarSeries {
    /// Its name in the legend.
    pub name: String,
    /// Number of its colour, as of [`Series`].
    pub color: usize,
    /// A value per group; NaN where it is unknown.
    pub values: Vec<f64>,
}

/// An estimate with its interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Name of the axis.
    pub name: String,
    /// Lower end.
    pub low: f64,
    /// The estimate.
    pub at: f64,
    /// Upper end.
    pub high: f64,
}

/// The kinds of pictures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs)] // the variants tell what their fields are
pub enum Chart {
    /// Series over a common axis: rates over time, CDFs, figures over a swept parameter.
    Lines { x: Axis, y: Axis, join: Join, series: Vec<Series> },
    /// Cells of a grid: `values[row][column]`, row 0 at the bottom. `x_edges` has one more entry
    /// than a row has columns, `y_edges` one more than there are rows. NaN is an empty cell.
    Heat {
        x: Axis,
        y: Axis,
        value: Axis,
        x_edges: Vec<f64>,
        y_edges: Vec<f64>,
        values: Vec<Vec<f64>>,
    },
    /// Intervals on rows: labels over time and rank, parts of files by rank. The place of a class is its colour; one
    /// without a name is not used.
    Spans { x: Axis, rows: Vec<String>, classes: Vec<String>, bars: Vec<Bar> },
    /// Estimates with their intervals, one below the other, and a line at `line`.
    Forest { x: Axis, line: Option<f64>, ranges: Vec<Range> },
    /// Groups of bars that start at 0: access sizes, times by rank.
    Bars { x: Axis, groups: Vec<String>, series: Vec<BarSeries> },
}

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
                std::iter::once(text(&range.name)).chain(numbers).collect()
            });
            std::iter::once(header).chain(lines).collect()
        }
        Chart::Bars { x, groups, series } => {
            let header = ["group", "series"].map(String::from).into_iter().chain([column(x)]);
            let line = |group: &String, at: usize, one: &BarSeries| {
                let value = one.values.get(at).copied().unwrap_or(f64::NAN);
                vec![text(group), text(&one.name), number(value)]
            };
            let lines = groups.iter().enumerate();
            let lines =
                lines.flat_map(|(at, group)| series.iter().map(move |one| line(group, at, one)));
            std::iter::once(header.collect()).chain(lines).collect()
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
