//! Named bars from 0, lying, so that names of any length can be read.

use super::Width;
use super::frame::{Frame, Plot};
use super::legend::Legend;
use super::number::{plain, value_text};
use super::palette::{Ink, SERIES};
use super::paper::Paper;
use super::pen::{Across, Down};
use super::scale::Scale;
use super::ticks::{Tick, Ticks, ticks};
use crate::chart::Axis;

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
