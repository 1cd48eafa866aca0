//! The sheet a picture is drawn on: size, notes below, and what makes plotters' output ours.

use super::palette::classes;
use super::{DrawingError, Width, legend};
use crate::chart::View;
use crate::text::escape;
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, SVGBackend};

/// Units of the drawing in a pixel: plotters knows whole coordinates only.
pub const UNIT: u32 = 10;

/// Where plotters draws.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A picture in the making.
pub struct Paper {
    /// How wide it is.
    pub width: Width,
    height: u32,
    svg: String,
    notes: Vec<String>,
}

impl Paper {
    /// An empty sheet.
    pub fn new(width: Width) -> Paper {
        Paper { width, height: 0, svg: String::new(), notes: Vec::new() }
    }

    /// Says below the picture what it does not show.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Lets `draw` draw on `height` pixels.
    pub fn draw(
        &mut self,
        height: u32,
        draw: impl FnOnce(&Area<'_>) -> Result<(), DrawingError>,
    ) -> Result<(), DrawingError> {
        self.svg.clear();
        self.height = height;
        let size = (self.width.pixels() * UNIT, height * UNIT);
        let area = SVGBackend::with_string(&mut self.svg, size).into_drawing_area();
        draw(&area)?;
        area.present()
    }

    /// The picture with its title, its text alternative and its notes.
    pub fn finish(self, view: &View) -> String {
        let notes = self.wrapped_notes();
        let height = self.height + notes.len() as u32 * legend::LINE;
        let width = self.width.pixels();
        let summary = [std::slice::from_ref(&view.summary), &self.notes[..]];
        let body = self.body();
        let notes: String = notes.iter().enumerate().map(|(at, note)| {
            let y = (self.height + at as u32 * legend::LINE + 12) * UNIT;
            format!("<text x=\"0\" y=\"{y}\" font-size=\"{}\" class=\"f-muted\" fill=\"#5c6470\">{note}</text>\n", 12 * UNIT)
        }).collect();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {} {}\" font-family=\"system-ui, sans-serif\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{body}{notes}</svg>\n",
            width * UNIT,
            height * UNIT,
            xml(&view.title),
            xml(summary.concat().join(" ").trim()),
        )
    }

    /// What plotters drew, without its outer element and without what says the default.
    fn body(&self) -> String {
        let start = self.svg.find(">\n").map_or(0, |at| at + 2);
        let inner = self.svg[start.min(self.svg.len())..].trim_end();
        let inner = inner.strip_suffix("</svg>").unwrap_or(inner);
        let mut body = classes(inner);
        for default in [" opacity=\"1\"", " stroke=\"none\"", " font-family=\"sans-serif\""] {
            body = body.replace(default, "");
        }
        body
    }

    fn wrapped_notes(&self) -> Vec<String> {
        let columns = (self.width.pixels() as f64 / legend::LETTER) as usize;
        let notes = self.notes.iter().map(|note| crate::text::flow(&escape(note), columns));
        notes.flat_map(|note| note.lines().map(xml).collect::<Vec<_>>()).collect()
    }
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

/// Text as plotters may write it: it escapes markup itself.
pub(crate) fn safe(text: &str) -> String {
    escape(text).chars().map(permitted).collect()
}

/// XML 1.0 has no U+FFFE and U+FFFF; HTML calls all noncharacters an error.
fn permitted(c: char) -> char {
    let code = c as u32;
    if code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code) { '\u{fffd}' } else { c }
}
