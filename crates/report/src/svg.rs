//! A [`View`] as SVG: axes with units, a legend beside the data, a text alternative.
//!
//! ```text
//! View ── scale (values → 0..1), ticks ── frame (axes, legend) ── lines | heat | bars | spans
//!      ── pen (elements, classes for colours) ── paper (<title>, <desc>, notes)
//! ```
//!
//! Colours are classes with the light theme as fallback: a page, or the style that
//! [`document`] adds, changes them for dark screens and print. Whatever the data are, the
//! picture is well-formed and its numbers are finite; marks are bounded, and what is left
//! out is said below the picture.

mod axis;
mod bars;
mod frame;
mod heat;
mod lines;
mod palette;

#[cfg(test)]
mod tests;

use crate::chart::{Chart, View};
use crate::markup::{Markup, element};
pub(crate) use axis::value_text;
use frame::Paper;
pub use frame::Width;
pub(crate) use palette::SERIES;

/// The picture as an `<svg>` element of these classes, for a page that carries [`style`].
pub fn draw(view: &View, width: Width, class: &str) -> Markup {
    drawn(&view.chart, width).finish(view, &format!("picture {class}"), Markup::default())
}

/// The picture as a file of its own, with its colours for light and dark screens.
pub fn document(view: &View, width: Width) -> String {
    let page = "svg{background:var(--page)}";
    let style = element("style").style_sheet(&style()).style_sheet(page);
    drawn(&view.chart, width).finish(view, "picture", style.into()).into_string()
}

fn drawn(chart: &Chart, width: Width) -> Paper {
    let mut paper = Paper::new(width);
    let sheet = &mut paper;
    match chart {
        Chart::Lines { x, y, join, series } => lines::lines(sheet, x, y, *join, series),
        Chart::Band { x, y, line, low, high } => lines::band(sheet, x, y, line, low, high),
        Chart::Heat { x, y, value, x_edges, y_edges, values } => {
            heat::heat(sheet, [x, y, value], x_edges, y_edges, values);
        }
        Chart::Bars { value, names, series } => bars::bars(sheet, value, names, series),
        Chart::Spans { x, rows, classes, bars } => bars::spans(sheet, x, rows, classes, bars),
        Chart::Forest { x, line, ranges } => bars::forest(sheet, x, *line, ranges),
    }
    paper
}

/// The style sheet of all pictures: custom properties for light and dark, classes that use them.
pub fn style() -> String {
    palette::style()
}
