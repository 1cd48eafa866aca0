//! Pictures of a stored run as files: a page, or one SVG each.

use crate::error::Result;
use crate::output::{self, PAGE, PICTURE};
use ::report::html;
use ::report::svg::{Width, document};
use ::report::views::Views;
use model::Run;
use std::path::Path;

/// Writes the page with everything.
pub fn html(run: &Run, views: &Views, file: &Path) -> Result<()> {
    output::write(file, "--html", PAGE, html::render(run, views).as_bytes())
}

/// Writes every picture as `NAME.svg` into the folder, which is made if it is not there.
pub fn svg(views: &Views, folder: &Path) -> Result<()> {
    output::make_folder(folder, "--svg")?;
    views.views.iter().try_for_each(|view| {
        let text = document(view, Width::Wide);
        let file = folder.join(format!("{}.svg", view.name));
        output::write(&file, "--svg", PICTURE, text.as_bytes())
    })
}
