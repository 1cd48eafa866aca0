//! The data of a picture: views fill it, `svg` draws it, and its
//! data can be written as CSV. Bounded: a view aggregates until its marks fit a screen.

/// A picture with everything a reader needs to understand it.
#[derive(Clone, Debug, PartialEq)]
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

/// Unit of an axis: decides how its ticks are written. Data are in the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, shown in KiB, MiB, ...
    Bytes,
    /// MiB per second.
    MibPerSecond,
    /// Nanoseconds, shown in us, ms, s.
    Nanoseconds,
    /// Operations per second.
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

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its title without the unit: "time since start".
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// Logarithmic: values of 0 have no place there.
    pub log: bool,
}

/// A point with an optional interval of its y value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// In the x axis' unit.
    pub x: f64,
    /// In the y axis' unit.
    pub y: f64,
    /// Lower and upper end of its error bar.
    pub interval: Option<(f64, f64)>,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// By straight lines.
    Line,
    /// As steps that keep their value until the next point.
    Step,
    /// Not at all.
    Dots,
}

/// From `start` to `end` on the row `row`.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// An estimate with its interval.
#[derive(Clone, Debug, PartialEq)]
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
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the variants tell what their fields are
pub enum Chart {
    /// Series over a common axis: rates over time, CDFs, figures over a swept parameter.
    Lines { x: Axis, y: Axis, join: Join, series: Vec<Series> },
    /// A shaded band (lowest to highest) with a line in it: ranks over time. `low` and `high`
    /// bound the band at the points of `line`.
    Band { x: Axis, y: Axis, line: Series, low: Vec<f64>, high: Vec<f64> },
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
    /// Named bars from 0, one group per name with one bar per series.
    Bars { value: Axis, names: Vec<String>, series: Vec<(String, Vec<f64>)> },
    /// Intervals on rows: labels over time and rank, parts of files by rank.
    Spans { x: Axis, rows: Vec<String>, classes: Vec<String>, bars: Vec<Bar> },
    /// Estimates with their intervals, one below the other, and a line at `line`.
    Forest { x: Axis, line: f64, ranges: Vec<Range> },
}
