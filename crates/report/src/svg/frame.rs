//! Axes, mesh and what stands around the plot. Inside, x and y go from 0 to 1.

use super::axis::{Tick, Ticks};
use super::palette::{Ink, SERIES, SHADES};
use crate::chart::View;
use crate::markup::{Markup, element};
use crate::text::{escape, fit, flow, width};

/// How wide a picture is drawn. Letters have the same size in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 720 pixels: pages and paper.
    Wide,
    /// 360 pixels: telephones and narrow windows.
    Narrow,
}

impl Width {
    /// Width in pixels.
    pub fn pixels(self) -> u32 {
        match self {
            Width::Wide => 720,
            Width::Narrow => 360,
        }
    }
}

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

/// Height of a line of text, pixels.
pub const LINE: u32 = 18;
/// Width of a letter on average, pixels: fonts are chosen by who looks at the picture.
pub const LETTER: f64 = 7.3;
/// Side of a colour's sample.
const SAMPLE: u32 = 10;

/// Meaning of the colours.
#[derive(Clone, Debug)]
pub enum Legend {
    /// One colour, or the title explains it.
    None,
    /// Names of series.
    Names(Vec<(Ink, String)>),
    /// Values along the scale of quantities, and what they are.
    Shades { title: String, ticks: Vec<Tick> },
}

/// Number of series that are drawn: each with a colour, and one more in grey.
pub fn drawn(all: usize) -> usize {
    if all <= SERIES + 1 { all } else { SERIES }
}

/// Names of classes in the order of their colours. What has no colour of its own is grey: its name
/// if it is one, else how many they are.
pub fn classes(names: &[String]) -> Legend {
    let shown = drawn(names.len());
    let named = names.iter().take(shown).enumerate();
    let mut entries: Vec<(Ink, String)> =
        named.map(|(at, name)| (Ink::Series(at), name.clone())).collect();
    if names.len() > shown {
        entries.push((Ink::Series(SERIES), format!("{} others", names.len() - shown)));
    }
    Legend::Names(entries)
}

/// Pixels that a text takes.
pub fn text_width(text: &str) -> u32 {
    (width(text) as f64 * LETTER).ceil() as u32
}

/// A name with its place, pixels.
struct Entry {
    x: u32,
    line: usize,
    ink: Ink,
    name: String,
}

/// The line or lines above a picture, laid out.
pub struct Header {
    title: String,
    entries: Vec<Entry>,
    shades: Option<(String, Vec<Tick>)>,
    lines: usize,
}

impl Header {
    /// Puts the title to the left and the legend beside it, or below if it does not fit.
    pub fn new(title: &str, legend: Legend, width: u32) -> Header {
        let title = fit(&escape(title), (f64::from(width) / LETTER) as usize);
        let taken = text_width(&title) + 24;
        let mut header = Header { title, entries: Vec::new(), shades: None, lines: 1 };
        match legend {
            Legend::None => {}
            Legend::Names(names) => header.names(names, taken, width),
            Legend::Shades { title, ticks } => {
                header.lines = 2 + usize::from(!header.title.is_empty());
                header.shades = Some((escape(&title), ticks));
            }
        }
        if header.title.is_empty() && header.entries.is_empty() && header.shades.is_none() {
            header.lines = 0;
        }
        header
    }

    /// Height, pixels.
    pub fn height(&self) -> u32 {
        self.lines as u32 * LINE + 4
    }

    fn names(&mut self, names: Vec<(Ink, String)>, taken: u32, width: u32) {
        let columns = (f64::from(width) / LETTER) as usize / 2;
        let names: Vec<_> =
            names.into_iter().map(|(ink, name)| (ink, fit(&escape(&name), columns))).collect();
        let room = |name: &str| SAMPLE + 6 + text_width(name) + 14;
        let all: u32 = names.iter().map(|(_, name)| room(name)).sum();
        let beside = self.title.is_empty() || taken + all <= width;
        let mut x = if self.title.is_empty() || !beside { 0 } else { (width + 14) - all };
        let mut line = usize::from(!beside);
        for (ink, name) in names {
            if x > 0 && x + room(&name) - 14 > width {
                (x, line) = (0, line + 1);
            }
            let next = x + room(&name);
            self.entries.push(Entry { x, line, ink, name });
            x = next;
        }
        self.lines = self.entries.last().map_or(1, |entry| entry.line + 1);
    }

    /// Draws it at the top of a sheet of this width in pixels.
    pub fn draw(&self, pen: &mut Pen, width: u32) {
        let start = (Across::Start, Down::Top);
        if !self.title.is_empty() {
            pen.text(spot(0, 2), start, Ink::Muted, &self.title);
        }
        for entry in &self.entries {
            let y = entry.line as u32 * LINE;
            sample(pen, [entry.x, y + 3, SAMPLE, SAMPLE], entry.ink);
            pen.text(spot(entry.x + SAMPLE + 6, y + 2), start, Ink::Text, &entry.name);
        }
        if let Some((name, ticks)) = &self.shades {
            self.draw_shades(pen, width, name, ticks);
        }
    }

    /// `name [colours]` with numbers below the colours.
    fn draw_shades(&self, pen: &mut Pen, width: u32, name: &str, ticks: &[Tick]) {
        let y = if self.title.is_empty() { 0 } else { LINE };
        let length = (width / 3).max(160);
        let left = width - length - 20;
        let at = spot(left.saturating_sub(8), y + 2);
        pen.text(at, (Across::End, Down::Top), Ink::Muted, name);
        for shade in 0..SHADES {
            let (from, to) = (part(length, shade), part(length, shade + 1));
            sample(pen, [left + from, y + 4, to - from, 9], Ink::Shade(shade));
        }
        for tick in ticks {
            let x = left + (tick.at * f64::from(length)) as u32;
            pen.text(spot(x, y + LINE), (Across::Middle, Down::Top), Ink::Text, &tick.text);
        }
    }
}

fn part(length: u32, shade: usize) -> u32 {
    length * shade as u32 / SHADES as u32
}

/// A place in pixels.
fn spot(x: u32, y: u32) -> Spot {
    ((x * UNIT) as i32, (y * UNIT) as i32)
}

/// A rectangle in pixels.
fn sample(pen: &mut Pen, [x, y, width, height]: [u32; 4], ink: Ink) {
    pen.rect([spot(x, y), spot(x + width, y + height)], ink);
}

/// A picture in the making.
pub struct Paper {
    /// How wide it is.
    pub width: Width,
    /// Height without the notes, pixels.
    pub height: u32,
    /// Writes its elements.
    pub pen: Pen,
    notes: Vec<String>,
}

impl Paper {
    /// An empty sheet.
    pub fn new(width: Width) -> Paper {
        Paper { width, height: 0, pen: Pen::default(), notes: Vec::new() }
    }

    /// Says below the picture what it does not show.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The picture with its title, its text alternative and its notes. `class`: of the whole
    /// element; `style`: a style sheet inside of it, or nothing.
    pub fn finish(mut self, view: &View, class: &str, style: Markup) -> Markup {
        let notes = self.wrapped_notes();
        for (at, note) in notes.iter().enumerate() {
            let y = (self.height + at as u32 * LINE + 3) * UNIT;
            self.pen.text((0, y as i32), (Across::Start, Down::Top), Ink::Muted, note);
        }
        let height = self.height + notes.len() as u32 * LINE;
        let width = self.width.pixels();
        let summary = [std::slice::from_ref(&view.summary), &self.notes[..]].concat().join(" ");
        element("svg")
            .attr("xmlns", "http://www.w3.org/2000/svg")
            .class(class)
            .attr("role", "img")
            .attr("width", width)
            .attr("height", height)
            .attr("viewBox", format!("0 0 {} {}", width * UNIT, height * UNIT))
            .attr("font-family", "system-ui, sans-serif")
            .attr("font-size", FONT)
            .with(style)
            .with(element("title").text(&view.title))
            .with(element("desc").text(summary.trim()))
            .with(self.pen.finish())
            .into()
    }

    fn wrapped_notes(&self) -> Vec<String> {
        let columns = (f64::from(self.width.pixels()) / LETTER) as usize;
        let notes = self.notes.iter().map(|note| flow(&escape(note), columns));
        notes.flat_map(|note| note.lines().map(str::to_string).collect::<Vec<_>>()).collect()
    }
}

/// Units of the drawing in a pixel: whole numbers keep pictures short.
pub const UNIT: u32 = 10;
/// Size of letters, units.
pub const FONT: u32 = 12 * UNIT;

/// A place on the sheet, units from the upper left corner.
pub type Spot = (i32, i32);

/// Horizontal anchor of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// Vertical anchor of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// Its upper edge.
    Top,
    /// Half of its height.
    Middle,
}

/// The elements written so far.
#[derive(Debug, Default)]
pub struct Pen {
    svg: Markup,
}

impl Pen {
    /// All elements.
    pub fn finish(self) -> Markup {
        self.svg
    }

    /// A filled rectangle between two corners.
    pub fn rect(&mut self, [a, b]: [Spot; 2], ink: Ink) {
        let rect = element("rect").attr("x", a.0.min(b.0)).attr("y", a.1.min(b.1));
        let (width, height) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
        self.svg.push(ink.fill(rect.attr("width", width).attr("height", height)));
    }

    /// A line through all points; `width` in units.
    pub fn line(&mut self, points: &[Spot], ink: Ink, width: u32) {
        let line = ink.stroke(element("polyline").attr("fill", "none"));
        self.svg.push(line.attr("stroke-width", width).attr("points", listed(points)));
    }

    /// A filled area; `opacity` from 0 to 1.
    pub fn area(&mut self, outline: &[Spot], ink: Ink, opacity: f64) {
        let area = element("polygon").attr("opacity", opacity).attr("points", listed(outline));
        self.svg.push(ink.fill(area));
    }

    /// A filled circle; the radius in units.
    pub fn dot(&mut self, (x, y): Spot, radius: u32, ink: Ink) {
        let dot = element("circle").attr("cx", x).attr("cy", y).attr("r", radius);
        self.svg.push(ink.fill(dot));
    }

    /// A text on one line.
    pub fn text(&mut self, (x, y): Spot, (across, down): (Across, Down), ink: Ink, text: &str) {
        let dy = if down == Down::Top { "0.76em" } else { "0.5ex" };
        let element = element("text").attr("x", x).attr("y", y).attr("dy", dy);
        let element = match across {
            Across::Start => element,
            Across::Middle => element.attr("text-anchor", "middle"),
            Across::End => element.attr("text-anchor", "end"),
        };
        self.svg.push(ink.fill(element).text(text));
    }
}

/// Points as SVG lists them.
fn listed(points: &[Spot]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
    points.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_carry_classes_and_escaped_text() {
        let mut pen = Pen::default();
        pen.rect([(30, 40), (10, 20)], Ink::Shade(0));
        pen.line(&[(0, 0), (5, -5)], Ink::Series(0), 16);
        pen.text((1, 2), (Across::End, Down::Middle), Ink::Text, "<a & b>");
        let expected = [
            r##"<rect x="10" y="20" width="20" height="20" fill="#440154"/>"##,
            r##"<polyline fill="none" class="s-s0" stroke="#0067a5" stroke-width="16" points="0,0 5,-5"/>"##,
            r##"<text x="1" y="2" dy="0.5ex" text-anchor="end" class="f-text" fill="#1b1f24">&lt;a &amp; b&gt;</text>"##,
        ];
        assert_eq!(pen.finish().into_string().lines().collect::<Vec<_>>(), expected);
    }
}
