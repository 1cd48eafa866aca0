//! Named bars from 0, lying, so that names of any length can be read.

use super::axis::{Scale, Tick, Ticks, plain, short, ticks, value_text};
use super::frame::Width;
use super::frame::{Across, Down, Frame, Legend, Paper, Plot, UNIT};
use super::palette::{Ink, SERIES};
use crate::chart::{Axis, Bar, Range, Unit};

/// Groups of a picture at most, and its bars.
const GROUPS: usize = 40;
const BARS: usize = 100;
/// Height of a bar and of the space between groups, pixels.
const BAR: u32 = 16;
const GAP: u32 = 8;

/// One group per name with one bar per series.
pub fn bars(paper: &mut Paper, value: &Axis, names: &[String], series: &[(String, Vec<f64>)]) {
    let drawn = series.len().min(SERIES);
    let groups = names.len().min(GROUPS).min(BARS / drawn.max(1));
    for (all, drawn, what) in [(names.len(), groups, "groups"), (series.len(), drawn, "series")] {
        if all > drawn {
            let all = plain(all as f64, 0);
            paper.note(format!("The first {drawn} of {all} {what} are drawn; the data hold all."));
        }
    }
    let series = &series[..drawn];
    let scale = scale(value, groups, series, paper.width);
    let wanted = if paper.width == Width::Wide { 7 } else { 4 };
    let group_height = drawn.max(1) as u32 * BAR + GAP;
    let frame = Frame {
        x: ticks(value, &scale, wanted),
        y: Ticks { title: String::new(), ticks: rows(&names[..groups]) },
        legend: legend(series),
        height: (groups as u32 * group_height).max(60),
        rows: true,
        empty: groups == 0 || drawn == 0,
    };
    let bars = (0..groups).flat_map(|group| {
        let series = series.iter().enumerate();
        series.filter_map(move |(at, (_, values))| Some((group, at, *values.get(group)?)))
    });
    let bars: Vec<(usize, usize, f64)> = bars.collect();
    let height = frame.height;
    frame.draw(paper, |plot| {
        for (group, at, figure) in bars {
            // Nothing has no place on a logarithmic axis, and no length on any.
            let nothing = (figure == 0.0).then_some(0.0);
            let Some(end) = scale.place(figure).or(nothing) else { continue };
            let base = scale.place(0.0).unwrap_or(0.0);
            let inner = f64::from(GAP / 2 + at as u32 * BAR);
            let top = 1.0 - (group as f64 * f64::from(group_height) + inner) / f64::from(height);
            let bottom = top - f64::from(BAR - 2) / f64::from(height);
            plot.rect([(base, top), (end, bottom)], Ink::Series(at));
            label(plot, figure, value, (end, (top + bottom) / 2.0));
        }
    });
}

/// The figure at the end of its bar.
fn label(plot: &mut Plot<'_>, figure: f64, axis: &Axis, (x, y): (f64, f64)) {
    let text = value_text(figure, axis.unit);
    plot.text((x + 0.008, y), (Across::Start, Down::Middle), Ink::Text, &text);
}

/// From 0, or from a power of ten below all values; with room for figures at the ends.
fn scale(value: &Axis, groups: usize, series: &[(String, Vec<f64>)], width: Width) -> Scale {
    let room = if width == Width::Wide { 0.16 } else { 0.42 };
    let values = series.iter().flat_map(|(_, values)| values.iter().take(groups).copied());
    if !value.log {
        let scale = Scale::over(values.chain([0.0]), false, true);
        return Scale { hi: (scale.hi + room * (scale.hi - scale.lo)).min(f64::MAX), ..scale };
    }
    let scale = Scale::over(values, true, false);
    let lo = 10f64.powf((scale.lo.log10() - 0.01).floor()).max(1e-300);
    Scale { lo, hi: (scale.hi * (scale.hi / lo).powf(room)).min(1e305), log: true }
}

/// Names from top to bottom, in the middle of their rows.
pub fn rows(names: &[String]) -> Vec<Tick> {
    let tick = |(at, name): (usize, &String)| Tick {
        at: 1.0 - (at as f64 + 0.5) / names.len() as f64,
        text: name.clone(),
    };
    names.iter().enumerate().map(tick).collect()
}

fn legend(series: &[(String, Vec<f64>)]) -> Legend {
    if series.len() < 2 {
        return Legend::None;
    }
    let name = |(at, (name, _)): (usize, &(String, Vec<f64>))| (Ink::Series(at), name.clone());
    Legend::Names(series.iter().enumerate().map(name).collect())
}

/// Rows (intervals) of a picture at most.
const ROWS: usize = 256;
/// Height of a row, pixels.
const ROW: u32 = 22;
/// Ticks nearer to the line's own than this part of the plot make room for it.
const NEAR: f64 = 0.08;

/// Intervals from top to bottom, and the line.
pub fn forest(paper: &mut Paper, x: &Axis, line: f64, ranges: &[Range]) {
    if ranges.len() > ROWS {
        let all = plain(ranges.len() as f64, 0);
        paper.note(format!("The first {ROWS} of {all} intervals are drawn."));
    }
    let ranges = &ranges[..ranges.len().min(ROWS)];
    let ends = ranges.iter().flat_map(|range| [range.low, range.at, range.high]);
    let scale = Scale::over(ends.chain([line]), x.log, false);
    let names: Vec<String> = ranges.iter().map(|range| range.name.clone()).collect();
    let frame = Frame {
        x: with_line(
            ticks(x, &scale, if paper.width == Width::Wide { 7 } else { 4 }),
            line,
            &scale,
        ),
        y: Ticks { title: String::new(), ticks: rows(&names) },
        legend: Legend::None,
        height: (ranges.len() as u32 * ROW).clamp(70, 420),
        rows: true,
        empty: ranges.is_empty(),
    };
    let half = 0.3 / ranges.len().max(1) as f64;
    frame.draw(paper, |plot| {
        if let Some(at) = scale.place(line) {
            plot.line(&[(at, 0.0), (at, 1.0)], Ink::Text, UNIT);
        }
        for (range, row) in ranges.iter().zip(rows(&names)) {
            let places = [range.low, range.at, range.high].map(|value| scale.place(value));
            let [Some(low), Some(at), Some(high)] = places else { continue };
            let (y, top, bottom) = (row.at, row.at + half, row.at - half);
            let lines =
                [[(low, y), (high, y)], [(low, top), (low, bottom)], [(high, top), (high, bottom)]];
            lines.iter().for_each(|ends| plot.line(ends, Ink::Series(0), UNIT * 3 / 2));
            plot.dot((at, y), UNIT * 4, Ink::Series(0));
        }
    });
}

/// The ticks with one at the line.
fn with_line(mut axis: Ticks, line: f64, scale: &Scale) -> Ticks {
    let Some(at) = scale.place(line) else { return axis };
    axis.ticks.retain(|tick| (tick.at - at).abs() > NEAR);
    axis.ticks.push(Tick { at, text: short(line) });
    axis.ticks.sort_by(|a, b| a.at.total_cmp(&b.at));
    axis
}

/// Spans of a picture at most.
const SPANS: usize = 4000;
/// Names that fit one below the other.
const NAMES: usize = 32;
/// A gap or a bar narrower than this part of the plot cannot be seen.
const NARROW: f64 = 0.0008;

/// A bar in the plot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    row: u32,
    class: u32,
    start: f64,
    end: f64,
}

/// Intervals on rows, the first row at the top.
pub fn spans(paper: &mut Paper, x: &Axis, rows: &[String], classes: &[String], bars: &[Bar]) {
    if rows.len() > ROWS {
        let all = plain(rows.len() as f64, 0);
        paper.note(format!("The first {ROWS} of {all} rows are drawn; the data hold all."));
    }
    let rows = &rows[..rows.len().min(ROWS)];
    let ends = bars.iter().flat_map(|bar| [bar.start, bar.end]);
    let scale = Scale::over(ends, x.log, x.unit == Unit::Nanoseconds);
    let mut spans = merged(bars, rows.len(), &scale);
    if spans.len() > SPANS {
        spans.sort_by(|a, b| (b.end - b.start).total_cmp(&(a.end - a.start)));
        let all = plain(spans.len() as f64, 0);
        paper.note(format!("The {SPANS} longest of {all} intervals are drawn; the data hold all."));
        spans.truncate(SPANS);
    }
    let wanted = if paper.width == Width::Wide { 7 } else { 4 };
    let frame = Frame {
        x: ticks(x, &scale, wanted),
        y: Ticks { title: String::new(), ticks: names(rows) },
        legend: super::frame::classes(classes),
        height: (rows.len() as u32 * 22).clamp(70, 420),
        rows: true,
        empty: spans.is_empty(),
    };
    let count = rows.len().max(1) as f64;
    frame.draw(paper, |plot| {
        for span in spans {
            let top = 1.0 - (f64::from(span.row) + 0.12) / count;
            let bottom = 1.0 - (f64::from(span.row) + 0.88) / count;
            let corners = [(span.start, top), (span.end, bottom)];
            plot.rect(corners, Ink::Series(span.class as usize));
        }
    });
}

/// The bars as they are drawn: wide enough, and neighbours of one row and class joined.
fn merged(bars: &[Bar], rows: usize, scale: &Scale) -> Vec<Span> {
    let span = |bar: &Bar| {
        let (start, end) = (scale.place(bar.start)?, scale.place(bar.end)?);
        let end = end.max((start + NARROW).min(1.0));
        let start = start.min(end - NARROW);
        Some(Span { row: bar.row, class: bar.class, start, end })
    };
    let mut spans: Vec<Span> = bars.iter().filter_map(span).collect();
    spans.retain(|span| (span.row as usize) < rows);
    spans.sort_by(|a, b| (a.row, a.class).cmp(&(b.row, b.class)).then(a.start.total_cmp(&b.start)));
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last)
                if (last.row, last.class) == (span.row, span.class)
                    && span.start <= last.end + NARROW =>
            {
                last.end = last.end.max(span.end);
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// Names of all rows, or of every few where they are many.
fn names(rows: &[String]) -> Vec<Tick> {
    let step = rows.len().div_ceil(NAMES).max(1);
    self::rows(rows).into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Chart, Unit, View};

    #[test]
    fn estimate_line_and_logarithm_are_drawn() {
        let range = |name: &str, low, at, high| Range { name: name.into(), low, at, high };
        let ranges = vec![range("a", 0.5, 0.6, 0.7), range("b", 1.9, 2.0, 2.1)];
        let x = Axis { title: "B is faster, times".into(), unit: Unit::None, log: true };
        let scale = Scale::over([0.5, 2.1].into_iter(), true, false);
        let axis = with_line(ticks(&x, &scale, 7), 1.0, &scale);
        let one = axis.ticks.iter().find(|tick| tick.text == "1").expect("a tick at 1");
        assert_eq!(Some(one.at), scale.place(1.0));
        // As far from 1 to 2 as from a half to 1.
        let place = |value: f64| scale.place(value).unwrap();
        assert!((place(2.0) + place(0.5) - 2.0 * place(1.0)).abs() < 1e-12);
        let chart = Chart::Forest { x, line: 1.0, ranges };
        let view = View { name: "n".into(), title: "t".into(), summary: "s.".into(), chart };
        let svg = super::super::document(&view, Width::Wide);
        assert_eq!(svg.matches("<circle").count(), 2, "a point for each estimate");
    }

    #[test]
    fn bars_that_cannot_be_told_apart_are_one() {
        let bar = |row, class, start, end| Bar { row, class, start, end };
        let bars = [
            bar(0, 0, 0.0, 10.0),
            bar(0, 0, 10.01, 20.0),
            bar(0, 1, 15.0, 25.0),
            bar(1, 0, 0.0, 0.0),
            bar(1, 0, f64::NAN, 3.0),
            bar(9, 0, 0.0, 100.0),
        ];
        let scale = Scale { lo: 0.0, hi: 100.0, log: false };
        let span = |row, class, start, end| Span { row, class, start, end };
        let expected = [span(0, 0, 0.0, 0.2), span(0, 1, 0.15, 0.25), span(1, 0, 0.0, NARROW)];
        assert_eq!(merged(&bars, 2, &scale), expected);
    }
}
