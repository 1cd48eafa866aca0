//! The marks of each kind of chart.

use super::axis::{Scale, Tick, Ticks, short, ticks};
use super::frame::{Frame, Legend, Paper, Plot, UNIT, classes, drawn};
use super::palette::{Ink, SHADES};
use report::chart::{Axis, Bar, BarSeries, Join, Point, Range, Series, Unit};

/// Ticks of an x axis.
const TICKS: usize = 7;
/// Height of a plot without rows, pixels.
const HEIGHT: u32 = 260;
/// Points of a line that are marked one by one.
const FEW: usize = 24;

/// A point in the plot with the ends of its error bar.
struct Mark {
    x: f64,
    y: f64,
    interval: Option<(f64, f64)>,
}

/// Series over a common axis.
pub fn lines(paper: &mut Paper, x: &Axis, y: &Axis, join: Join, series: &[Series]) {
    let drawn = drawn(series.len());
    paper.note_first(drawn, series.len(), "series");
    let series = &series[..drawn];
    let points = || series.iter().flat_map(|series| &series.points);
    let x_scale = Scale::over(points().map(|point| point.x), x.log, x.unit == Unit::Nanoseconds);
    let ends = |point: &Point| {
        let (low, high) = point.interval.unwrap_or((point.y, point.y));
        [low, point.y, high]
    };
    let y_scale = Scale::over(points().flat_map(ends), y.log, true);
    let mark = |point: &Point| {
        let place = |y: f64| y_scale.place(y);
        let interval = point.interval.and_then(|(low, high)| place(low).zip(place(high)));
        Some(Mark { x: x_scale.place(point.x)?, y: place(point.y)?, interval })
    };
    let chain = |series: &Series| -> Vec<Mark> { series.points.iter().filter_map(mark).collect() };
    let chains: Vec<(Vec<Mark>, Ink)> =
        series.iter().map(|series| (chain(series), Ink::Series(series.color))).collect();
    let known = points().filter(|point| point.x.is_finite() && point.y.is_finite()).count();
    let lost = known.saturating_sub(chains.iter().map(|chain| chain.0.len()).sum());
    if lost > 0 {
        paper.note(format!(
            "Not drawn, as 0 and less have no place on a logarithmic axis: {lost} of {known_points}.", known_points = model::words::count(known, "point")));
    }
    let name = |series: &Series| (Ink::Series(series.color), series.name.clone());
    let frame = Frame {
        x: ticks(x, &x_scale, TICKS),
        y: ticks(y, &y_scale, 5),
        // One alone is named by the title.
        legend: match series {
            [_] => Legend::None,
            series => Legend::Names(series.iter().map(name).collect()),
        },
        height: HEIGHT,
        rows: false,
    };
    frame.draw(paper, |plot| {
        // The first series lies on top.
        chains.iter().rev().for_each(|(chain, ink)| draw_chain(plot, chain, join, *ink));
    });
}

/// One series: its line or dots, and error bars.
fn draw_chain(plot: &mut Plot<'_>, chain: &[Mark], join: Join, ink: Ink) {
    let mut line: Vec<(f64, f64)> = Vec::new();
    for mark in chain.iter().filter(|_| join != Join::Dots) {
        // A step keeps its value until the next point.
        let corner = line.last().filter(|_| join == Join::Step).map(|last| (mark.x, last.1));
        line.extend(corner.into_iter().chain([(mark.x, mark.y)]));
    }
    if line.len() > 1 {
        plot.line(&line, ink, UNIT * 8 / 5);
    }
    for Mark { x, interval, .. } in chain {
        let Some((low, high)) = *interval else { continue };
        plot.line(&[(*x, low), (*x, high)], ink, UNIT);
        [low, high]
            .into_iter()
            .for_each(|y| plot.line(&[(x - 0.006, y), (x + 0.006, y)], ink, UNIT));
    }
    let radius = if chain.len() <= FEW { UNIT * 3 } else { UNIT * 3 / 2 };
    if join == Join::Dots || chain.len() <= FEW && join == Join::Line || chain.len() == 1 {
        chain.iter().for_each(|mark| plot.dot((mark.x, mark.y), radius, ink));
    }
}

/// Cells of a grid coloured by a quantity; `axes` are x, y and value.
pub fn heat(
    paper: &mut Paper,
    [x, y, value]: [&Axis; 3],
    x_edges: &[f64],
    y_edges: &[f64],
    values: &[Vec<f64>],
) {
    let x_scale = Scale::over(x_edges.iter().copied(), x.log, false);
    let y_scale = Scale::over(y_edges.iter().copied(), y.log, false);
    let finite = values.iter().flatten().copied().filter(|value| value.is_finite());
    let colors = Scale::over(finite, value.log, true);
    let shade = |value: f64| {
        let place = colors.place(value).filter(|_| value.is_finite())?;
        Some(((place * SHADES as f64) as usize).min(SHADES - 1))
    };
    let mut rects: Vec<([(f64, f64); 2], usize)> = Vec::new();
    for (row, edges) in values.iter().zip(y_edges.windows(2)) {
        let cells: Vec<([f64; 2], Option<usize>)> = row
            .iter()
            .zip(x_edges.windows(2))
            .map(|(value, edges)| ([edges[0], edges[1]], shade(*value)))
            .collect();
        // Neighbours with the same colour are one mark.
        for run in cells.chunk_by(|a, b| a.1 == b.1) {
            let ([left, _], [_, right]) = (run[0].0, run[run.len() - 1].0);
            let corner = |x: f64, y: f64| x_scale.place(x).zip(y_scale.place(y));
            if let (Some(from), Some(to), Some(shade)) =
                (corner(left, edges[1]), corner(right, edges[0]), run[0].1)
            {
                rects.push(([from, to], shade));
            }
        }
    }
    let legend = ticks(value, &colors, 3);
    let frame = Frame {
        x: ticks(x, &x_scale, TICKS),
        y: row_ticks(y, &y_scale),
        legend: Legend::Shades { title: legend.title, ticks: legend.ticks },
        height: HEIGHT,
        rows: true,
    };
    frame.draw(paper, |plot| {
        rects.into_iter().for_each(|(corners, shade)| plot.rect(corners, Ink::Shade(shade)));
    });
}

/// Ticks of the axis of rows; a rank's number is in the middle of its row.
fn row_ticks(axis: &Axis, scale: &Scale) -> Ticks {
    let mut found = ticks(axis, scale, 6);
    if axis.unit == Unit::Rank && !axis.log {
        let half = 0.5 / (scale.hi - scale.lo);
        found.ticks.iter_mut().for_each(|tick| tick.at += half);
        found.ticks.retain(|tick| tick.at <= 1.0);
    }
    found
}

/// Rows of a picture at most.
const ROWS: usize = 256;
/// Names that fit one below the other.
const NAMES: usize = 32;
/// Height of rows, pixels.
fn height_of(rows: usize) -> u32 {
    (rows as u32 * 22).clamp(70, 420)
}

/// Names from top to bottom, in the middle of their rows; of every few rows where they are many.
fn names_of_rows(names: &[String]) -> Ticks {
    let at = |row: usize| 1.0 - (row as f64 + 0.5) / names.len() as f64;
    let tick = |(row, name): (usize, &String)| Tick { at: at(row), text: name.clone() };
    let step = names.len().div_ceil(NAMES).max(1);
    let ticks = names.iter().enumerate().map(tick).step_by(step).collect();
    Ticks { title: String::new(), ticks }
}

/// A bar narrower than this part of the plot cannot be seen.
const NARROW: f64 = 0.0008;

/// Intervals on rows, the first row at the top.
pub fn spans(paper: &mut Paper, x: &Axis, rows: &[String], names: &[String], bars: &[Bar]) {
    let count = rows.len().min(ROWS);
    paper.note_first(count, rows.len(), "rows");
    let ends = bars.iter().flat_map(|bar| [bar.start, bar.end]);
    let scale = Scale::over(ends, x.log, x.unit == Unit::Nanoseconds);
    let frame = Frame {
        x: ticks(x, &scale, TICKS),
        y: names_of_rows(&rows[..count]),
        legend: classes(names),
        height: height_of(count),
        rows: true,
    };
    frame.draw(paper, |plot| {
        for bar in bars.iter().filter(|bar| (bar.row as usize) < count) {
            let ends = scale.place(bar.start).zip(scale.place(bar.end));
            let Some((start, end)) = ends else { continue };
            let end = end.max((start + NARROW).min(1.0));
            let edge = |part: f64| 1.0 - (f64::from(bar.row) + part) / count as f64;
            let corners = [(start.min(end - NARROW), edge(0.12)), (end, edge(0.88))];
            plot.rect(corners, Ink::Series(bar.class as usize));
        }
    });
}

/// Groups of horizontal bars from 0 on, the first group at the top.
pub fn bars(paper: &mut Paper, x: &Axis, groups: &[String], series: &[BarSeries]) {
    let count = groups.len().min(ROWS);
    paper.note_first(count, groups.len(), "groups");
    let all = series.iter().flat_map(|one| one.values.iter().take(count).copied());
    let axis = Axis { log: false, ..x.clone() };
    let scale = Scale::over(all.chain([0.0]), false, true);
    let name = |one: &BarSeries| (Ink::Series(one.color), one.name.clone());
    let frame = Frame {
        x: ticks(&axis, &scale, TICKS),
        y: names_of_rows(&groups[..count]),
        legend: Legend::Names(series.iter().map(name).collect()),
        height: (count * (8 * series.len() + 8)).clamp(60, 420) as u32,
        rows: true,
    };
    let (zero, thickness) = (scale.place(0.0).unwrap_or(0.0), 0.8 / series.len().max(1) as f64);
    frame.draw(paper, |plot| {
        for (at, one) in series.iter().enumerate() {
            for (row, value) in one.values.iter().take(count).enumerate() {
                let Some(end) = scale.place(*value).filter(|end| *end > zero) else { continue };
                let edge = |part: f64| 1.0 - (row as f64 + 0.1 + part) / count as f64;
                let top = edge(at as f64 * thickness);
                let bottom = edge((at + 1) as f64 * thickness);
                plot.rect([(zero, top), (end, bottom)], Ink::Series(one.color));
            }
        }
    });
}

/// Ticks nearer to the line's own than this part of the plot make room for it.
const NEAR: f64 = 0.08;

/// Estimates with their intervals from top to bottom, and a line at `line`.
pub fn forest(paper: &mut Paper, x: &Axis, line: Option<f64>, ranges: &[Range]) {
    let count = ranges.len().min(ROWS);
    paper.note_first(count, ranges.len(), "intervals");
    let ranges = &ranges[..count];
    let ends = ranges.iter().flat_map(|range| [range.low, range.at, range.high]);
    let scale = Scale::over(ends.chain(line), x.log, true);
    let line = line.and_then(|line| Some((line, scale.place(line)?)));
    let names: Vec<String> = ranges.iter().map(|range| range.name.clone()).collect();
    let frame = Frame {
        x: with_line(ticks(x, &scale, TICKS), line),
        y: names_of_rows(&names),
        legend: Legend::None,
        height: height_of(count),
        rows: true,
    };
    let half = 0.3 / count.max(1) as f64;
    frame.draw(paper, |plot| {
        if let Some((_, at)) = line {
            plot.line(&[(at, 0.0), (at, 1.0)], Ink::Text, UNIT);
        }
        for (row, range) in ranges.iter().enumerate() {
            let places = [range.low, range.at, range.high].map(|value| scale.place(value));
            let [Some(low), Some(at), Some(high)] = places else { continue };
            let y = 1.0 - (row as f64 + 0.5) / count as f64;
            let (top, bottom) = (y + half, y - half);
            let lines =
                [[(low, y), (high, y)], [(low, top), (low, bottom)], [(high, top), (high, bottom)]];
            lines.iter().for_each(|ends| plot.line(ends, Ink::Series(0), UNIT * 3 / 2));
            plot.dot((at, y), UNIT * 4, Ink::Series(0));
        }
    });
}

/// The ticks with one at the line.
fn with_line(mut axis: Ticks, line: Option<(f64, f64)>) -> Ticks {
    let Some((line, at)) = line else { return axis };
    axis.ticks.retain(|tick| (tick.at - at).abs() > NEAR);
    axis.ticks.push(Tick { at, text: short(line) });
    axis.ticks.sort_by(|a, b| a.at.total_cmp(&b.at));
    axis
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::chart::{Chart, View};

    #[test]
    fn estimate_line_and_logarithm_are_drawn() {
        let range = |name: &str, low, at, high| Range { name: name.into(), low, at, high };
        let ranges = vec![range("a", 0.5, 0.6, 0.7), range("b", 1.9, 2.0, 2.1)];
        let x = Axis { title: "B is faster, times".into(), unit: Unit::None, log: true };
        let scale = Scale::over([0.5, 2.1].into_iter(), true, false);
        let axis = with_line(ticks(&x, &scale, 7), scale.place(1.0).map(|at| (1.0, at)));
        let one = axis.ticks.iter().find(|tick| tick.text == "1").expect("a tick at 1");
        assert_eq!(Some(one.at), scale.place(1.0));
        // As far from 1 to 2 as from a half to 1.
        let place = |value: f64| scale.place(value).unwrap();
        assert!((place(2.0) + place(0.5) - 2.0 * place(1.0)).abs() < 1e-12);
        let chart = Chart::Forest { x, line: Some(1.0), ranges };
        let view = View { name: "n".into(), title: "t".into(), summary: "s.".into(), chart };
        let svg = super::super::document(&view);
        assert_eq!(svg.matches("<circle").count(), 2, "a point for each estimate");
    }
}
