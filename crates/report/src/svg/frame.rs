//! Axes, mesh and what stands around the plot. Inside, x and y go from 0 to 1.

use super::DrawingError;
use super::legend::{Header, LINE, Legend, text_width, words};
use super::palette::Ink;
use super::paper::{Paper, UNIT, safe};
use super::ticks::{Tick, Ticks};
use crate::text::fit;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// An axis from 0 to 1 with our ticks and what stands at them.
pub struct Range(Vec<Tick>);

impl Ranged for Range {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (from, to) = (f64::from(limit.0), f64::from(limit.1));
        (from + (to - from) * value).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, _hint: H) -> Vec<f64> {
        self.0.iter().map(|tick| tick.at).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        0.0..1.0
    }
}

impl ValueFormatter<f64> for Range {
    fn format(value: &f64) -> String {
        value.to_string()
    }

    fn format_ext(&self, value: &f64) -> String {
        let tick = self.0.iter().find(|tick| tick.at == *value);
        tick.map(|tick| tick.text.clone()).unwrap_or_default()
    }
}

/// Where the marks of a chart are drawn.
pub type Plot<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<Range, Range>>;

/// Everything but the marks.
pub struct Frame {
    /// The axis below.
    pub x: Ticks,
    /// The axis to the left; its title stands above the plot.
    pub y: Ticks,
    /// What the colours mean.
    pub legend: Legend,
    /// Height of the plot, pixels.
    pub height: u32,
    /// The y axis names rows: no lines across.
    pub rows: bool,
    /// There is nothing to draw: the plot says so.
    pub empty: bool,
}

/// Space between plot and edge, for half of the last number of the x axis.
const RIGHT: u32 = 26;

impl Frame {
    /// Draws the frame, then lets `marks` draw into the plot.
    pub fn draw(
        mut self,
        paper: &mut Paper,
        marks: impl FnOnce(&mut Plot<'_, '_>) -> Result<(), DrawingError>,
    ) -> Result<(), DrawingError> {
        let width = paper.width.pixels();
        self.cut_names(width);
        let header = Header::new(&self.y.title, self.legend.clone(), width);
        let title_below = if self.x.title.is_empty() { 0 } else { LINE };
        let (top, below) = (header.height(), 22);
        let height = top + self.height + below + title_below;
        paper.draw(height, |area| {
            header.draw(area)?;
            let plot_size = ((width * UNIT) as i32, ((self.height + below) * UNIT) as i32);
            let place = (0, (top * UNIT) as i32);
            let inner = area.clone().shrink(place, plot_size);
            let left = self.y.ticks.iter().map(|tick| text_width(&tick.text)).max().unwrap_or(0);
            let left = left + 10;
            self.plot(&inner, left, below, marks)?;
            let center = (left + width - RIGHT) / 2;
            let style = words(Ink::Muted, HPos::Center, VPos::Top);
            let y = (top + self.height + below) * UNIT;
            let title = fit(&safe(&self.x.title), (width / 7) as usize);
            area.draw_text(&title, &style, ((center * UNIT) as i32, y as i32))
        })
    }

    /// Names of rows take at most a third of the width, and are safe to write.
    fn cut_names(&mut self, width: u32) {
        let columns = (width / 3 / 7) as usize;
        for tick in self.y.ticks.iter_mut() {
            tick.text = fit(&safe(&tick.text), columns);
        }
    }

    fn plot(
        &self,
        area: &super::paper::Area<'_>,
        left: u32,
        below: u32,
        marks: impl FnOnce(&mut Plot<'_, '_>) -> Result<(), DrawingError>,
    ) -> Result<(), DrawingError> {
        let mut plot = ChartBuilder::on(area)
            .margin_top(6 * UNIT)
            .margin_right(RIGHT * UNIT)
            .set_label_area_size(LabelAreaPosition::Left, left * UNIT)
            .set_label_area_size(LabelAreaPosition::Bottom, below * UNIT)
            .build_cartesian_2d(Range(self.x.ticks.clone()), Range(self.y.ticks.clone()))?;
        let line = |ink: Ink, width: u32| ink.color().stroke_width(width);
        let mut mesh = plot.configure_mesh();
        if self.rows {
            mesh.disable_y_mesh();
        }
        mesh.bold_line_style(line(Ink::Grid, UNIT))
            .light_line_style(TRANSPARENT)
            .axis_style(line(Ink::Axis, UNIT))
            .label_style(words(Ink::Text, HPos::Center, VPos::Center))
            .set_all_tick_mark_size(4 * UNIT)
            .draw()?;
        if self.empty {
            let style = words(Ink::Muted, HPos::Center, VPos::Center);
            plot.draw_series([Text::new("no data", (0.5, 0.5), style)])?;
        }
        marks(&mut plot)
    }
}
