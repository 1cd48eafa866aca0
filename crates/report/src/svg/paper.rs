//! The sheet a picture is drawn on: size, elements, notes below.

use super::palette::Ink;
use super::pen::{Across, Down, FONT, Pen, UNIT};
use super::{Width, legend};
use crate::chart::View;
use crate::markup::{Markup, element};
use crate::text::{escape, flow};

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
            let y = (self.height + at as u32 * legend::LINE + 3) * UNIT;
            self.pen.text((0, y as i32), (Across::Start, Down::Top), Ink::Muted, note);
        }
        let height = self.height + notes.len() as u32 * legend::LINE;
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
        let columns = (f64::from(self.width.pixels()) / legend::LETTER) as usize;
        let notes = self.notes.iter().map(|note| flow(&escape(note), columns));
        notes.flat_map(|note| note.lines().map(str::to_string).collect::<Vec<_>>()).collect()
    }
}
