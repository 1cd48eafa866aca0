//! Writes the elements of a picture. Numbers are whole tenths of a pixel, a colour is its class with
//! the light theme as fallback, and every text is escaped here.
//!
//! ```text
//! <rect x="0" y="30" width="100" height="100" class="f-s0" fill="#0067a5"/>
//! ```

use super::palette::Ink;
use crate::text::escape;
use std::fmt::Write;

/// Units of the drawing in a pixel: whole numbers keep pictures short.
pub const UNIT: u32 = 10;
/// Size of letters, units.
pub const FONT: u32 = 12 * UNIT;

/// A place on the sheet, units from the upper left corner.
pub type Spot = (i32, i32);

/// Which part of a text stands at its place, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// Which part of a text stands at its place, from top to bottom.
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
    svg: String,
}

impl Pen {
    /// All elements.
    pub fn finish(self) -> String {
        self.svg
    }

    /// A filled rectangle between two corners.
    pub fn rect(&mut self, [a, b]: [Spot; 2], ink: Ink) {
        let (x, y) = (a.0.min(b.0), a.1.min(b.1));
        let (width, height) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
        let fill = ink.fill();
        self.line_of(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{fill}/>"
        ));
    }

    /// A line through all points; `width` in units.
    pub fn line(&mut self, points: &[Spot], ink: Ink, width: u32) {
        let (points, stroke) = (listed(points), ink.stroke());
        self.line_of(format_args!(
            "<polyline fill=\"none\"{stroke} stroke-width=\"{width}\" points=\"{points}\"/>"
        ));
    }

    /// A filled area; `opacity` from 0 to 1.
    pub fn area(&mut self, outline: &[Spot], ink: Ink, opacity: f64) {
        let (points, fill) = (listed(outline), ink.fill());
        self.line_of(format_args!("<polygon{fill} opacity=\"{opacity}\" points=\"{points}\"/>"));
    }

    /// A filled circle; the radius in units.
    pub fn dot(&mut self, (x, y): Spot, radius: u32, ink: Ink) {
        let fill = ink.fill();
        self.line_of(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{fill}/>"));
    }

    /// A text on one line.
    pub fn text(&mut self, (x, y): Spot, (across, down): (Across, Down), ink: Ink, text: &str) {
        let anchor = match across {
            Across::Start => "",
            Across::Middle => " text-anchor=\"middle\"",
            Across::End => " text-anchor=\"end\"",
        };
        let dy = if down == Down::Top { "0.76em" } else { "0.5ex" };
        let (fill, text) = (ink.fill(), xml(text));
        self.line_of(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"{dy}\"{anchor}{fill}>{text}</text>"
        ));
    }

    fn line_of(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing into memory cannot fail.
        let _ = writeln!(self.svg, "{element}");
    }
}

/// Points as SVG lists them.
fn listed(points: &[Spot]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
    points.join(" ")
}

/// Text as XML 1.0 and HTML take it: no control characters, none that XML forbids, no markup.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(permitted(c)),
        }
    }
    out
}

/// XML 1.0 has no U+FFFE and U+FFFF; HTML calls all noncharacters an error.
fn permitted(c: char) -> char {
    let code = c as u32;
    if code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code) { '\u{fffd}' } else { c }
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
        assert_eq!(pen.finish().lines().collect::<Vec<_>>(), expected);
    }
}
