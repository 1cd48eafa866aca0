//! The line above a picture: title of the y axis, names of colours, or the scale of a quantity.
//! It stands outside of the plot, so that it never covers data.

use super::palette::{Ink, SERIES, SHADES};
use super::pen::{Across, Down, Pen, Spot, UNIT};
use super::ticks::Tick;
use crate::text::{escape, fit, width};

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
