//! A [`View`] as SVG: axes with units, a legend beside the data, a text alternative.
//!
//! ```text
//! View ── scale (values → 0..1), ticks ── marks ── frame (axes, legend) ── paper
//!      (elements, classes for colours, <title>, <desc>, notes)
//! ```
//!
//! Colours are classes with the light theme as fallback: a page, or the style that
//! [`document`] adds, changes them for dark screens and print. Whatever the data are, the
//! picture is well-formed and its numbers are finite; rows and series that are left out are said
//! below the picture.

mod axis;
mod frame;
mod marks;
mod palette;

#[cfg(test)]
mod tests;

pub(crate) use axis::value_text;
use frame::Paper;
pub(crate) use palette::SERIES;
pub use palette::style;
use report::chart::{Chart, View};
use report::markup::{Markup, element};

/// The picture as an `<svg>` element for a page that carries [`style`].
pub fn draw(view: &View) -> Markup {
    drawn(&view.chart).finish(view, "picture", Markup::default())
}

/// The picture as a file of its own, with its colours for light and dark screens.
pub fn document(view: &View) -> String {
    let page = "svg{background:var(--page)}";
    let style = element("style").style_sheet(&style()).style_sheet(page);
    drawn(&view.chart).finish(view, "picture", style.into()).into_string()
}

fn drawn(chart: &Chart) -> Paper {
    let mut paper = Paper::default();
    let sheet = &mut paper;
    match chart {
        Chart::Lines { x, y, join, series } => marks::lines(sheet, x, y, *join, series),
        Chart::Heat { x, y, value, x_edges, y_edges, values } => {
            marks::heat(sheet, [x, y, value], x_edges, y_edges, values);
        }
        Chart::Spans { x, rows, classes, bars } => marks::spans(sheet, x, rows, classes, bars),
        Chart::Forest { x, line, ranges } => marks::forest(sheet, x, *line, ranges),
        Chart::Bars { x, groups, series } => marks::bars(sheet, x, groups, series),
    }
    paper
}
