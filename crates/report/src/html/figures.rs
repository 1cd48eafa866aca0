//! Pictures, each with what one learns from it and its text alternative.

use super::escape;
use crate::chart::View;
use crate::svg::{Width, draw};

/// All pictures.
pub fn figures(views: &[View]) -> String {
    views.iter().map(figure).collect()
}

/// One picture as an element of a page: headline, sentence, drawings for wide and narrow
/// screens.
pub fn figure(view: &View) -> String {
    let drawing = |width: Width, class: &str| {
        draw(view, width).replacen("class=\"picture\"", &format!("class=\"picture {class}\""), 1)
    };
    format!(
        "<figure id=\"{}\">\n<h3>{}</h3>\n<figcaption>{}</figcaption>\n{}{}</figure>\n",
        escape(&view.name),
        escape(&view.title),
        escape(&view.summary),
        drawing(Width::Wide, "wide"),
        drawing(Width::Narrow, "narrow"),
    )
}
