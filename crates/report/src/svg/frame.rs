//! Axes, mesh and what stands around the plot. Inside, x and y go from 0 to 1.

use super::legend::{Header, LINE, Legend, text_width};
use super::palette::Ink;
use super::paper::Paper;
use super::pen::{Across, Down, Pen, Spot, UNIT};
use super::ticks::Ticks;
use crate::text::{escape, fit};

/// Everything but the marks.
pub struct Frame {
    /// The axis below.
    pub x: Ticks,
    /// The axis to the left; its title stands above the plot.
    pub y: Ticks,
    /// Meaning of the colours.
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
/// Space above the plot, for half of the highest number of the y axis.
const ABOVE: u32 = 6;
/// Space for the numbers of the x axis.
const BELOW: u32 = 22;
/// Length of a tick, units; numbers stand twice as far away.
const TICK: i32 = 4 * UNIT as i32;

/// Where the marks of a chart are drawn.
pub struct Plot<'p> {
    pen: &'p mut Pen,
    /// Left, top, right, bottom; units.
    edges: [i32; 4],
}

impl Frame {
    /// Draws the frame, then lets `marks` draw into the plot.
    pub fn draw(mut self, paper: &mut Paper, marks: impl FnOnce(&mut Plot<'_>)) {
        let width = paper.width.pixels();
        self.cut_names(width);
        let header = Header::new(&self.y.title, self.legend.clone(), width);
        header.draw(&mut paper.pen, width);
        let left = self.y.ticks.iter().map(|tick| text_width(&tick.text)).max().unwrap_or(0) + 10;
        let top = header.height() + ABOVE;
        let bottom = header.height() + self.height;
        let edges = [left, top, width - RIGHT, bottom].map(|pixels| (pixels * UNIT) as i32);
        let mut plot = Plot { pen: &mut paper.pen, edges };
        self.axes(&mut plot);
        if self.empty {
            let place = (Across::Middle, Down::Middle);
            plot.text((0.5, 0.5), place, Ink::Muted, "no data");
        }
        marks(&mut plot);
        paper.height = bottom + BELOW;
        if !self.x.title.is_empty() {
            let title = fit(&escape(&self.x.title), (width / 7) as usize);
            let center = ((left + width - RIGHT) / 2 * UNIT, paper.height * UNIT);
            let center = (center.0 as i32, center.1 as i32);
            paper.pen.text(center, (Across::Middle, Down::Top), Ink::Muted, &title);
            paper.height += LINE;
        }
    }

    /// Names of rows take at most a third of the width.
    fn cut_names(&mut self, width: u32) {
        let columns = (width / 3 / 7) as usize;
        for tick in self.y.ticks.iter_mut() {
            tick.text = fit(&escape(&tick.text), columns);
        }
    }

    /// The mesh, both axes, their ticks and their texts.
    fn axes(&self, plot: &mut Plot<'_>) {
        for tick in &self.x.ticks {
            plot.line(&[(tick.at, 0.0), (tick.at, 1.0)], Ink::Grid, UNIT);
        }
        for tick in self.y.ticks.iter().filter(|_| !self.rows) {
            plot.line(&[(0.0, tick.at), (1.0, tick.at)], Ink::Grid, UNIT);
        }
        plot.line(&[(0.0, 1.0), (0.0, 0.0), (1.0, 0.0)], Ink::Axis, UNIT);
        for tick in &self.y.ticks {
            let (x, y) = plot.spot((0.0, tick.at));
            plot.pen.line(&[(x - TICK, y), (x, y)], Ink::Axis, UNIT);
            plot.pen.text((x - 2 * TICK, y), (Across::End, Down::Middle), Ink::Text, &tick.text);
        }
        for tick in &self.x.ticks {
            let (x, y) = plot.spot((tick.at, 0.0));
            plot.pen.line(&[(x, y), (x, y + TICK)], Ink::Axis, UNIT);
            plot.pen.text((x, y + 2 * TICK), (Across::Middle, Down::Top), Ink::Text, &tick.text);
        }
    }
}

impl Plot<'_> {
    /// A place in the plot on the sheet.
    fn spot(&self, (x, y): (f64, f64)) -> Spot {
        let [left, top, right, bottom] = self.edges.map(f64::from);
        let (x, y) = (left + (right - left) * x, bottom + (top - bottom) * y);
        (x.round() as i32, y.round() as i32)
    }

    fn spots(&self, points: &[(f64, f64)]) -> Vec<Spot> {
        points.iter().map(|point| self.spot(*point)).collect()
    }

    /// See [`Pen::rect`].
    pub fn rect(&mut self, corners: [(f64, f64); 2], ink: Ink) {
        let corners = corners.map(|corner| self.spot(corner));
        self.pen.rect(corners, ink);
    }

    /// See [`Pen::line`].
    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: u32) {
        let points = self.spots(points);
        self.pen.line(&points, ink, width);
    }

    /// See [`Pen::area`].
    pub fn area(&mut self, outline: &[(f64, f64)], ink: Ink, opacity: f64) {
        let outline = self.spots(outline);
        self.pen.area(&outline, ink, opacity);
    }

    /// See [`Pen::dot`].
    pub fn dot(&mut self, center: (f64, f64), radius: u32, ink: Ink) {
        let center = self.spot(center);
        self.pen.dot(center, radius, ink);
    }

    /// See [`Pen::text`].
    pub fn text(&mut self, at: (f64, f64), part: (Across, Down), ink: Ink, text: &str) {
        let at = self.spot(at);
        self.pen.text(at, part, ink, text);
    }
}
