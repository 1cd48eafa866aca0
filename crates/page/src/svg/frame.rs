//! The sheet, the axes and what stands around the plot. Inside of the plot, x and y go from 0 to 1.

use super::axis::{Tick, Ticks};
use super::palette::{Ink, SERIES, SHADES};
use report::chart::View;
use report::markup::{Markup, element};
use report::text::{escape, fit, flow, width};

/// Width of a picture, pixels.
pub const WIDTH: u32 = 720;
/// Units of the drawing in a pixel: whole numbers keep pictures short.
pub const UNIT: u32 = 10;
/// Size of letters, units.
const FONT: u32 = 12 * UNIT;
/// Height of a line of text, pixels.
const LINE: u32 = 18;
/// Width of a letter on average, pixels: fonts are chosen by who looks at the picture.
const LETTER: f64 = 7.3;
/// Side of a colour's sample, pixels.
const SAMPLE: u32 = 10;
/// Space between plot and edge, for half of the last number of the x axis.
const RIGHT: u32 = 26;
/// Space above the plot, for half of the highest number of the y axis.
const ABOVE: u32 = 6;
/// Space for the numbers of the x axis.
const BELOW: u32 = 22;
/// Length of a tick, units; numbers stand twice as far away.
const TICK: i32 = 4 * UNIT as i32;

/// A place on the sheet, units from the upper left corner.
type Spot = (i32, i32);

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

/// The elements of a picture and the notes below it.
#[derive(Debug, Default)]
pub struct Paper {
    svg: Markup,
    /// Height without the notes, pixels.
    height: u32,
    notes: Vec<String>,
}

impl Paper {
    /// Says below the picture what it does not show.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Says that only some of something are drawn.
    pub fn note_first(&mut self, drawn: usize, all: usize, what: &str) {
        if all > drawn {
            self.note(format!("The first {drawn} of {all} {what} are drawn; the data hold all."));
        }
    }

    fn rect(&mut self, [a, b]: [Spot; 2], ink: Ink) {
        let rect = element("rect").attr("x", a.0.min(b.0)).attr("y", a.1.min(b.1));
        let (width, height) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
        self.svg.push(ink.fill(rect.attr("width", width).attr("height", height)));
    }

    fn line(&mut self, points: &[Spot], ink: Ink, width: u32) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let line = ink.stroke(element("polyline").attr("fill", "none"));
        self.svg.push(line.attr("stroke-width", width).attr("points", points.join(" ")));
    }

    fn text(&mut self, (x, y): Spot, (across, down): (Across, Down), ink: Ink, text: &str) {
        let dy = if down == Down::Top { "0.76em" } else { "0.5ex" };
        let element = element("text").attr("x", x).attr("y", y).attr("dy", dy);
        let element = match across {
            Across::Start => element,
            Across::Middle => element.attr("text-anchor", "middle"),
            Across::End => element.attr("text-anchor", "end"),
        };
        self.svg.push(ink.fill(element).text(text));
    }

    /// The picture with its title, its text alternative and its notes. `class`: of the whole
    /// element; `style`: a style sheet inside of it, or nothing.
    pub fn finish(mut self, view: &View, class: &str, style: Markup) -> Markup {
        let columns = (f64::from(WIDTH) / LETTER) as usize;
        let notes: Vec<String> =
            self.notes.iter().map(|note| flow(&escape(note), columns)).collect();
        for line in notes.iter().flat_map(|note| note.lines()) {
            let start = (Across::Start, Down::Top);
            self.text(spot(0, self.height + 3), start, Ink::Muted, line);
            self.height += LINE;
        }
        let summary = [std::slice::from_ref(&view.summary), &self.notes[..]].concat().join(" ");
        element("svg")
            .attr("xmlns", "http://www.w3.org/2000/svg")
            .class(class)
            .attr("role", "img")
            .attr("width", WIDTH)
            .attr("height", self.height)
            .attr("viewBox", format!("0 0 {} {}", WIDTH * UNIT, self.height * UNIT))
            .attr("font-family", "system-ui, sans-serif")
            .attr("font-size", FONT)
            .with(style)
            .with(element("title").text(&view.title))
            .with(element("desc").text(summary.trim()))
            .with(self.svg)
            .into()
    }
}

/// A place in pixels.
fn spot(x: u32, y: u32) -> Spot {
    ((x * UNIT) as i32, (y * UNIT) as i32)
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
}

/// Where the marks of a chart are drawn.
pub struct Plot<'p> {
    paper: &'p mut Paper,
    /// Left, top, right, bottom; units.
    edges: [i32; 4],
}

impl Frame {
    /// Draws the frame, then lets `marks` draw into the plot.
    pub fn draw(mut self, paper: &mut Paper, marks: impl FnOnce(&mut Plot<'_>)) {
        // Names of rows take at most a third of the width.
        for tick in self.y.ticks.iter_mut() {
            tick.text = fit(&escape(&tick.text), (WIDTH / 3 / 7) as usize);
        }
        let header = draw_header(paper, &self.y.title, &self.legend);
        let left = self.y.ticks.iter().map(|tick| text_width(&tick.text)).max().unwrap_or(0) + 10;
        let bottom = header + self.height;
        let (first, last) = (spot(left, header + ABOVE), spot(WIDTH - RIGHT, bottom));
        let mut plot = Plot { paper, edges: [first.0, first.1, last.0, last.1] };
        self.draw_axes(&mut plot);
        marks(&mut plot);
        paper.height = bottom + BELOW;
        if !self.x.title.is_empty() {
            let title = fit(&escape(&self.x.title), (WIDTH / 7) as usize);
            let center = spot((left + WIDTH - RIGHT) / 2, paper.height);
            paper.text(center, (Across::Middle, Down::Top), Ink::Muted, &title);
            paper.height += LINE;
        }
    }

    /// The mesh, both axes, their ticks and their texts.
    fn draw_axes(&self, plot: &mut Plot<'_>) {
        for tick in &self.x.ticks {
            plot.line(&[(tick.at, 0.0), (tick.at, 1.0)], Ink::Grid, UNIT);
        }
        for tick in self.y.ticks.iter().filter(|_| !self.rows) {
            plot.line(&[(0.0, tick.at), (1.0, tick.at)], Ink::Grid, UNIT);
        }
        plot.line(&[(0.0, 1.0), (0.0, 0.0), (1.0, 0.0)], Ink::Axis, UNIT);
        for tick in &self.y.ticks {
            let (x, y) = plot.spot((0.0, tick.at));
            let place = (Across::End, Down::Middle);
            plot.paper.line(&[(x - TICK, y), (x, y)], Ink::Axis, UNIT);
            plot.paper.text((x - 2 * TICK, y), place, Ink::Text, &tick.text);
        }
        for tick in &self.x.ticks {
            let (x, y) = plot.spot((tick.at, 0.0));
            let place = (Across::Middle, Down::Top);
            plot.paper.line(&[(x, y), (x, y + TICK)], Ink::Axis, UNIT);
            plot.paper.text((x, y + 2 * TICK), place, Ink::Text, &tick.text);
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

    /// A filled rectangle between two corners.
    pub fn rect(&mut self, corners: [(f64, f64); 2], ink: Ink) {
        let corners = corners.map(|corner| self.spot(corner));
        self.paper.rect(corners, ink);
    }

    /// A line through all points; `width` in units.
    pub fn line(&mut self, points: &[(f64, f64)], ink: Ink, width: u32) {
        let points: Vec<Spot> = points.iter().map(|point| self.spot(*point)).collect();
        self.paper.line(&points, ink, width);
    }

    /// A filled circle; the radius in units.
    pub fn dot(&mut self, center: (f64, f64), radius: u32, ink: Ink) {
        let (x, y) = self.spot(center);
        let dot = element("circle").attr("cx", x).attr("cy", y).attr("r", radius);
        self.paper.svg.push(ink.fill(dot));
    }
}

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
    let named = names.iter().take(shown).enumerate().filter(|(_, name)| !name.is_empty());
    let mut entries: Vec<(Ink, String)> =
        named.map(|(at, name)| (Ink::Series(at), name.clone())).collect();
    if names.len() > shown {
        entries.push((Ink::Series(SERIES), format!("{} others", names.len() - shown)));
    }
    Legend::Names(entries)
}

/// Pixels that a text takes; capitals and broad letters take more than others.
fn text_width(text: &str) -> u32 {
    let more = |letter: char| match letter {
        'M' | 'W' | 'm' | 'w' | '%' | '@' => 4.0,
        'A'..='Z' => 1.0,
        _ => 0.0,
    };
    let more: f64 = text.chars().map(more).sum();
    (width(text) as f64 * LETTER + more).ceil() as u32
}

/// Draws the title and, below it, the legend. Gives the height in pixels.
fn draw_header(paper: &mut Paper, title: &str, legend: &Legend) -> u32 {
    let title = fit(&escape(title), (f64::from(WIDTH) / LETTER) as usize);
    let mut lines = u32::from(!title.is_empty());
    paper.text(spot(0, 2), (Across::Start, Down::Top), Ink::Muted, &title);
    match legend {
        Legend::None => {}
        Legend::Names(names) => lines = draw_names(paper, lines, names),
        Legend::Shades { title, ticks } => {
            draw_shades(paper, lines * LINE, title, ticks);
            lines += 2;
        }
    };
    lines * LINE + 4
}

/// Draws names of series from a line on; gives the line after them.
fn draw_names(paper: &mut Paper, mut line: u32, names: &[(Ink, String)]) -> u32 {
    let columns = (f64::from(WIDTH) / LETTER) as usize / 2;
    let mut x = 0;
    for (ink, name) in names {
        let name = fit(&escape(name), columns);
        let room = SAMPLE + 6 + text_width(&name);
        if x > 0 && x + room > WIDTH {
            (x, line) = (0, line + 1);
        }
        let y = line * LINE;
        paper.rect([spot(x, y + 3), spot(x + SAMPLE, y + 3 + SAMPLE)], *ink);
        let start = (Across::Start, Down::Top);
        paper.text(spot(x + SAMPLE + 6, y + 2), start, Ink::Text, &name);
        x += room + 14;
    }
    line + 1
}

/// Draws `name [colours]` with numbers below the colours.
fn draw_shades(paper: &mut Paper, y: u32, name: &str, ticks: &[Tick]) {
    let length = WIDTH / 3;
    let left = WIDTH - length - 20;
    let part = |shade: usize| left + length * shade as u32 / SHADES as u32;
    paper.text(spot(left - 8, y + 2), (Across::End, Down::Top), Ink::Muted, &escape(name));
    for shade in 0..SHADES {
        let corners = [spot(part(shade), y + 4), spot(part(shade + 1), y + 13)];
        paper.rect(corners, Ink::Shade(shade));
    }
    for tick in ticks {
        let x = left + (tick.at * f64::from(length)) as u32;
        paper.text(spot(x, y + LINE), (Across::Middle, Down::Top), Ink::Text, &tick.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 pixels of DejaVu Sans, the broadest common font, take as much.
    #[test]
    fn broad_letters_have_room() {
        for (text, pixels) in [("10M-100M", 64), ("WRITE", 42), ("mmmm", 45), ("rank 10", 45)] {
            assert!(text_width(text) >= pixels, "{text}: {}", text_width(text));
        }
    }

    #[test]
    fn elements_carry_classes_and_escaped_text() {
        let mut paper = Paper::default();
        paper.rect([(30, 40), (10, 20)], Ink::Shade(0));
        paper.line(&[(0, 0), (5, -5)], Ink::Series(0), 16);
        paper.text((1, 2), (Across::End, Down::Middle), Ink::Text, "<a & b>");
        let expected = [
            r##"<rect x="10" y="20" width="20" height="20" fill="#440154"/>"##,
            r##"<polyline fill="none" class="s-s0" stroke="#0067a5" stroke-width="16" points="0,0 5,-5"/>"##,
            r##"<text x="1" y="2" dy="0.5ex" text-anchor="end" class="f-text" fill="#1b1f24">&lt;a &amp; b&gt;</text>"##,
        ];
        assert_eq!(paper.svg.into_string().lines().collect::<Vec<_>>(), expected);
    }
}
