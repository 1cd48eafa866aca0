//! Intervals with their estimates, one below the other, and a line at what means "no effect"
//! (a forest plot: Lewis & Clarke 2001).

use super::Width;
use super::bars::rows;
use super::frame::Frame;
use super::legend::Legend;
use super::number::{plain, short};
use super::palette::Ink;
use super::paper::Paper;
use super::pen::UNIT;
use super::scale::Scale;
use super::ticks::{Tick, Ticks, ticks};
use crate::chart::{Axis, Range};

/// Intervals of a picture at most.
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
}
