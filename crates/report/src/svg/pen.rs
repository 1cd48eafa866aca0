//! Writes the elements of a picture. Numbers are whole tenths of a pixel, a colour is its class with
//! the light theme as fallback.
//!
//! ```text
//! <rect x="0" y="30" width="100" height="100" class="f-s0" fill="#0067a5"/>
//! ```

use super::palette::Ink;
use crate::markup::{Markup, element};

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
