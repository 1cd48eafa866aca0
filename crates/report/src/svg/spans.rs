//! Intervals on rows.

use super::Width;
use super::bars::rows as row_ticks;
use super::frame::Frame;
use super::legend;
use super::number::plain;
use super::palette::Ink;
use super::paper::Paper;
use super::scale::Scale;
use super::ticks::{Ticks, ticks};
use crate::chart::{Axis, Bar, Unit};

/// Bars of a picture at most.
const BARS: usize = 4000;
/// Rows of a picture at most.
const ROWS: usize = 256;
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
    if spans.len() > BARS {
        spans.sort_by(|a, b| (b.end - b.start).total_cmp(&(a.end - a.start)));
        let all = plain(spans.len() as f64, 0);
        paper.note(format!("The {BARS} longest of {all} intervals are drawn; the data hold all."));
        spans.truncate(BARS);
    }
    let wanted = if paper.width == Width::Wide { 7 } else { 4 };
    let frame = Frame {
        x: ticks(x, &scale, wanted),
        y: Ticks { title: String::new(), ticks: names(rows) },
        legend: legend::classes(classes),
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
fn names(rows: &[String]) -> Vec<super::ticks::Tick> {
    let step = rows.len().div_ceil(NAMES).max(1);
    row_ticks(rows).into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
