//! Series over a common axis, and the band.

use super::DrawingError;
use super::Width;
use super::chain::{Mark, marks, steps};
use super::frame::{Frame, Plot};
use super::legend::Legend;
use super::number::plain;
use super::palette::{Ink, SERIES};
use super::paper::{Paper, UNIT};
use super::scale::Scale;
use super::ticks::{rounded_up, ticks};
use crate::chart::{Axis, Join, Point, Series, Unit};
use plotters::prelude::*;

/// Points of a picture at most.
const POINTS: usize = 4000;
/// Series of a picture at most; those past the colours are grey.
const LINES: usize = 40;
/// Height of a plot, pixels.
pub const HEIGHT: u32 = 260;
/// Points of a line that are marked one by one.
const FEW: usize = 24;

/// Series over a common axis.
pub fn lines(
    paper: &mut Paper,
    x: &Axis,
    y: &Axis,
    join: Join,
    series: &[Series],
) -> Result<(), DrawingError> {
    if series.len() > LINES {
        let (all, drawn) = (plain(series.len() as f64, 0), LINES);
        paper.note(format!("The first {drawn} of {all} series are drawn."));
    }
    let series = &series[..series.len().min(LINES)];
    let all = || series.iter().flat_map(|series| &series.points);
    let (frame, x_scale, y_scale) = frame(paper.width, x, y, all(), legend(series));
    let most = (POINTS / series.len().max(1)).max(8);
    let chains: Vec<Vec<Mark>> =
        series.iter().map(|series| marks(&series.points, &x_scale, &y_scale, most)).collect();
    frame.draw(paper, |plot| {
        if let [only] = &chains[..] {
            shade_below(plot, only, join)?;
        }
        // The first series lies on top.
        for (at, chain) in chains.iter().enumerate().rev() {
            chain_of(plot, chain, join, Ink::Series(at))?;
        }
        Ok(())
    })
}

/// A line in the band between `low` and `high`.
pub fn band(
    paper: &mut Paper,
    x: &Axis,
    y: &Axis,
    line: &Series,
    low: &[f64],
    high: &[f64],
) -> Result<(), DrawingError> {
    let bounds: Vec<Point> = line
        .points
        .iter()
        .zip(low.iter().zip(high))
        .map(|(point, (low, high))| Point { interval: Some((*low, *high)), ..*point })
        .collect();
    let legend = Legend::Names(vec![(Ink::Series(0), line.name.clone())]);
    let (frame, x_scale, y_scale) = frame(paper.width, x, y, bounds.iter(), legend);
    let chain = marks(&bounds, &x_scale, &y_scale, POINTS / 2);
    frame.draw(paper, |plot| {
        let ends = |end: fn((f64, f64)) -> f64| {
            chain.iter().filter_map(move |mark| Some((mark.x, end(mark.interval?))))
        };
        let upper = ends(|(_, high)| high);
        let outline: Vec<(f64, f64)> = ends(|(low, _)| low).collect();
        let outline: Vec<(f64, f64)> = upper.chain(outline.into_iter().rev()).collect();
        fill(plot, outline, Ink::Series(0), 0.22)?;
        let line: Vec<Mark> = chain.iter().map(|mark| Mark { interval: None, ..*mark }).collect();
        chain_of(plot, &line, Join::Line, Ink::Series(0))
    })
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

/// Names of the series with colours; one alone is named by the title.
fn legend(series: &[Series]) -> Legend {
    let mut names: Vec<(Ink, String)> = series
        .iter()
        .take(SERIES)
        .enumerate()
        .map(|(at, series)| (Ink::Series(at), series.name.clone()))
        .collect();
    if series.len() > SERIES {
        names.push((Ink::Series(SERIES), format!("{} others", series.len() - SERIES)));
    }
    if names.len() == 1 { Legend::None } else { Legend::Names(names) }
}

/// One series: its line or dots, and error bars.
fn chain_of(
    plot: &mut Plot<'_, '_>,
    chain: &[Mark],
    join: Join,
    ink: Ink,
) -> Result<(), DrawingError> {
    let color = ink.color();
    let line = match join {
        Join::Line => chain.iter().map(|mark| (mark.x, mark.y)).collect(),
        Join::Step => steps(chain),
        Join::Dots => Vec::new(),
    };
    if line.len() > 1 {
        plot.draw_series([PathElement::new(line, color.stroke_width(UNIT * 8 / 5))])?;
    }
    let bars = chain.iter().filter_map(|mark| Some((mark.x, mark.interval?)));
    plot.draw_series(bars.flat_map(|(x, (low, high))| error_bar(x, low, high, ink)))?;
    let radius = if chain.len() <= FEW { UNIT * 3 } else { UNIT * 3 / 2 };
    if join == Join::Dots || chain.len() <= FEW && join == Join::Line || chain.len() == 1 {
        let dot = |mark: &Mark| Circle::new((mark.x, mark.y), radius, color.filled());
        plot.draw_series(chain.iter().map(dot))?;
    }
    Ok(())
}

/// A vertical line with a short cap at both ends.
fn error_bar(x: f64, low: f64, high: f64, ink: Ink) -> [PathElement<(f64, f64)>; 3] {
    let style = ink.color().stroke_width(UNIT);
    let cap = |y: f64| PathElement::new(vec![(x - 0.006, y), (x + 0.006, y)], style);
    [PathElement::new(vec![(x, low), (x, high)], style), cap(low), cap(high)]
}

/// A light shade between a line and the axis: one series reads as an amount.
fn shade_below(plot: &mut Plot<'_, '_>, chain: &[Mark], join: Join) -> Result<(), DrawingError> {
    let line: Vec<(f64, f64)> = match join {
        Join::Line => chain.iter().map(|mark| (mark.x, mark.y)).collect(),
        Join::Step => steps(chain),
        Join::Dots => return Ok(()),
    };
    let (Some(first), Some(last)) = (line.first().copied(), line.last().copied()) else {
        return Ok(());
    };
    let outline = std::iter::once((first.0, 0.0)).chain(line).chain([(last.0, 0.0)]);
    fill(plot, outline.collect(), Ink::Series(0), 0.12)
}

fn fill(
    plot: &mut Plot<'_, '_>,
    outline: Vec<(f64, f64)>,
    ink: Ink,
    opacity: f64,
) -> Result<(), DrawingError> {
    if outline.len() > 2 {
        plot.draw_series([Polygon::new(outline, ink.color().mix(opacity).filled())])?;
    }
    Ok(())
}
