//! Series over a common axis, and the band.

use super::axis::{Scale, plain, rounded_up, ticks};
use super::frame::Width;
use super::frame::{Frame, Legend, Paper, Plot, UNIT, drawn};
use super::palette::Ink;
use crate::chart::{Axis, Join, Point, Series, Unit};

/// Points of a picture at most.
const POINTS: usize = 4000;
/// Height of a plot, pixels.
pub const HEIGHT: u32 = 260;
/// Points of a line that are marked one by one.
const FEW: usize = 24;

/// Series over a common axis.
pub fn lines(paper: &mut Paper, x: &Axis, y: &Axis, join: Join, series: &[Series]) {
    let drawn = drawn(series.len());
    if series.len() > drawn {
        let all = plain(series.len() as f64, 0);
        paper.note(format!("The first {drawn} of {all} series are drawn; the data hold all."));
    }
    let series = &series[..drawn];
    let all = || series.iter().flat_map(|series| &series.points);
    let (frame, x_scale, y_scale) = frame(paper.width, x, y, all(), legend(series));
    let mut chains: Vec<Vec<Mark>> =
        series.iter().map(|series| placed(&series.points, &x_scale, &y_scale)).collect();
    note_unplaced(paper, all(), &chains);
    thin(paper, join, &mut chains);
    let chains = chains.into_iter().zip(series.iter().map(|series| Ink::Series(series.color)));
    let chains: Vec<(Vec<Mark>, Ink)> = chains.collect();
    frame.draw(paper, |plot| {
        if let [(only, ink)] = &chains[..] {
            shade_below(plot, only, join, *ink);
        }
        // The first series lies on top.
        for (chain, ink) in chains.iter().rev() {
            chain_of(plot, chain, join, *ink);
        }
    });
}

/// Says how many figures an axis has no place for.
fn note_unplaced<'p>(
    paper: &mut Paper,
    points: impl Iterator<Item = &'p Point>,
    chains: &[Vec<Mark>],
) {
    let known = points.filter(|point| point.x.is_finite() && point.y.is_finite()).count();
    let lost = known.saturating_sub(chains.iter().map(Vec::len).sum());
    if lost > 0 {
        let (lost, known) = (plain(lost as f64, 0), plain(known as f64, 0));
        paper.note(format!(
            "Not drawn, as 0 and less have no place on a logarithmic axis: {lost} of {known} points."
        ));
    }
}

/// Leaves as many points as a picture may have, and says so. A line keeps its shape; of dots every
/// one counts, so that they are thinned evenly.
fn thin(paper: &mut Paper, join: Join, chains: &mut [Vec<Mark>]) {
    let count = |chains: &[Vec<Mark>]| chains.iter().map(Vec::len).sum::<usize>();
    let all = count(chains);
    if all <= POINTS {
        return;
    }
    let (step, most) = (all.div_ceil(POINTS), (POINTS / chains.len().max(1)).max(8));
    for chain in chains.iter_mut() {
        match join {
            Join::Dots => *chain = chain.iter().copied().step_by(step).collect(),
            Join::Line | Join::Step => *chain = thinned(std::mem::take(chain), most),
        }
    }
    let (drawn, all) = (plain(count(chains) as f64, 0), plain(all as f64, 0));
    paper.note(match join {
        Join::Dots => format!("{drawn} of {all} points are drawn, one in {step}."),
        _ => format!(
            "{drawn} of {all} points are drawn: first, lowest, highest and last of each column."
        ),
    });
}

/// A line in the band between `low` and `high`.
pub fn band(paper: &mut Paper, x: &Axis, y: &Axis, line: &Series, low: &[f64], high: &[f64]) {
    let bounds: Vec<Point> = line
        .points
        .iter()
        .zip(low.iter().zip(high))
        .map(|(point, (low, high))| Point { interval: Some((*low, *high)), ..*point })
        .collect();
    let ink = Ink::Series(line.color);
    let legend = Legend::Names(vec![(ink, line.name.clone())]);
    let (frame, x_scale, y_scale) = frame(paper.width, x, y, bounds.iter(), legend);
    let chain = thinned(placed(&bounds, &x_scale, &y_scale), POINTS / 2);
    frame.draw(paper, |plot| {
        let ends = |end: fn((f64, f64)) -> f64| {
            chain.iter().filter_map(move |mark| Some((mark.x, end(mark.interval?))))
        };
        let upper = ends(|(_, high)| high);
        let outline: Vec<(f64, f64)> = ends(|(low, _)| low).collect();
        let outline: Vec<(f64, f64)> = upper.chain(outline.into_iter().rev()).collect();
        fill(plot, &outline, ink, 0.22);
        let line: Vec<Mark> = chain.iter().map(|mark| Mark { interval: None, ..*mark }).collect();
        chain_of(plot, &line, Join::Line, ink);
    });
}

/// Axes that hold all points; from 0 where that leaves the data most of the room.
fn frame<'p>(
    width: Width,
    x: &Axis,
    y: &Axis,
    points: impl Iterator<Item = &'p Point> + Clone,
    legend: Legend,
) -> (Frame, Scale, Scale) {
    let wanted = if width == Width::Wide { 7 } else { 4 };
    let empty = points.clone().next().is_none();
    let x_scale =
        Scale::over(points.clone().map(|point| point.x), x.log, x.unit == Unit::Nanoseconds);
    let ends = |point: &Point| {
        let (low, high) = point.interval.unwrap_or((point.y, point.y));
        [low, point.y, high]
    };
    let y_scale = Scale::over(points.flat_map(ends), y.log, true);
    let y_scale = rounded_up(y, &y_scale, 5);
    let (x, y) = (ticks(x, &x_scale, wanted), ticks(y, &y_scale, 5));
    (Frame { x, y, legend, height: HEIGHT, rows: false, empty }, x_scale, y_scale)
}

/// Names of the series; one alone is named by the title.
fn legend(series: &[Series]) -> Legend {
    let name = |series: &Series| (Ink::Series(series.color), series.name.clone());
    match series {
        [_] => Legend::None,
        series => Legend::Names(series.iter().map(name).collect()),
    }
}

/// One series: its line or dots, and error bars.
fn chain_of(plot: &mut Plot<'_>, chain: &[Mark], join: Join, ink: Ink) {
    let line = outline(chain, join);
    if line.len() > 1 {
        plot.line(&line, ink, UNIT * 8 / 5);
    }
    for mark in chain {
        mark.interval.into_iter().for_each(|ends| error_bar(plot, mark.x, ends, ink));
    }
    let radius = if chain.len() <= FEW { UNIT * 3 } else { UNIT * 3 / 2 };
    if join == Join::Dots || chain.len() <= FEW && join == Join::Line || chain.len() == 1 {
        chain.iter().for_each(|mark| plot.dot((mark.x, mark.y), radius, ink));
    }
}

/// The points that a line goes through; none if there is no line.
fn outline(chain: &[Mark], join: Join) -> Vec<(f64, f64)> {
    match join {
        Join::Line => chain.iter().map(|mark| (mark.x, mark.y)).collect(),
        Join::Step => steps(chain),
        Join::Dots => Vec::new(),
    }
}

/// A vertical line with a short cap at both ends.
fn error_bar(plot: &mut Plot<'_>, x: f64, (low, high): (f64, f64), ink: Ink) {
    plot.line(&[(x, low), (x, high)], ink, UNIT);
    for y in [low, high] {
        plot.line(&[(x - 0.006, y), (x + 0.006, y)], ink, UNIT);
    }
}

/// A light shade between a line and the axis: one series reads as an amount.
fn shade_below(plot: &mut Plot<'_>, chain: &[Mark], join: Join, ink: Ink) {
    let line = outline(chain, join);
    let (Some(first), Some(last)) = (line.first().copied(), line.last().copied()) else { return };
    let ends = ([(first.0, 0.0)], [(last.0, 0.0)]);
    fill(plot, &[&ends.0, &line[..], &ends.1].concat(), ink, 0.12);
}

fn fill(plot: &mut Plot<'_>, outline: &[(f64, f64)], ink: Ink, opacity: f64) {
    if outline.len() > 2 {
        plot.area(outline, ink, opacity);
    }
}

/// A point in the plot, 0 to 1 both ways, with the ends of its error bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// From the left.
    pub x: f64,
    /// From below.
    pub y: f64,
    /// Lower and upper end of the error bar.
    pub interval: Option<(f64, f64)>,
}

/// The points that have a place, in their order.
pub fn placed(points: &[Point], x: &Scale, y: &Scale) -> Vec<Mark> {
    points.iter().filter_map(|point| mark(point, x, y)).collect()
}

/// A line of about `most` points that looks the same: of the points of one narrow column the
/// lowest and the highest are kept, so that no peak is lost.
pub fn thinned(all: Vec<Mark>, most: usize) -> Vec<Mark> {
    if all.len() <= most.max(2) {
        return all;
    }
    let columns = (most / 4).max(1);
    let column = |mark: &Mark| ((mark.x * columns as f64) as usize).min(columns - 1);
    all.chunk_by(|a, b| column(a) == column(b)).flat_map(corners).collect()
}

fn mark(point: &Point, x: &Scale, y: &Scale) -> Option<Mark> {
    let interval = point.interval.and_then(|(low, high)| Some((y.place(low)?, y.place(high)?)));
    Some(Mark { x: x.place(point.x)?, y: y.place(point.y)?, interval })
}

/// First, lowest, highest and last of some points, in their order, each once (Jugel and others,
/// "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014).
fn corners(points: &[Mark]) -> Vec<Mark> {
    let by_y = |a: &usize, b: &usize| points[*a].y.total_cmp(&points[*b].y);
    let lowest = (0..points.len()).min_by(by_y).unwrap_or(0);
    let highest = (0..points.len()).max_by(by_y).unwrap_or(0);
    let mut kept = vec![0, lowest, highest, points.len() - 1];
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|at| points[at]).collect()
}

/// The line of steps that keep their value until the next point.
pub fn steps(marks: &[Mark]) -> Vec<(f64, f64)> {
    let mut line = Vec::with_capacity(marks.len() * 2);
    for (at, mark) in marks.iter().enumerate() {
        if at > 0 {
            line.push((mark.x, marks[at - 1].y));
        }
        line.push((mark.x, mark.y));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale = Scale { lo: 0.0, hi: 1000.0, log: false };

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, interval: None }
    }

    #[test]
    fn thinning_keeps_ends_and_peaks() {
        let mut points: Vec<Point> = (0..1000).map(|x| point(f64::from(x), 10.0)).collect();
        points[501].y = 900.0;
        points[502].y = 1.0;
        points[503].y = f64::NAN;
        let marks = thinned(placed(&points, &SCALE, &SCALE), 40);
        assert!(marks.len() <= 40, "{}", marks.len());
        let highest = marks.iter().map(|mark| mark.y).fold(0.0, f64::max);
        let lowest = marks.iter().map(|mark| mark.y).fold(1.0, f64::min);
        assert_eq!((highest, lowest), (0.9, 0.001));
        assert_eq!((marks[0].x, marks[marks.len() - 1].x), (0.0, 0.999));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let points = [point(0.0, 1.0), point(500.0, 2.0)];
        let marks = thinned(placed(&points, &SCALE, &SCALE), 2);
        assert_eq!(steps(&marks), [(0.0, 0.001), (0.5, 0.001), (0.5, 0.002)]);
    }
}
