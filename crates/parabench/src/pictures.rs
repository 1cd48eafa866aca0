//! Pictures of a stored run as files: a page, or one SVG each.

use crate::console;
use crate::error::{Error, Result};
use crate::output::{self, ANYTHING, PAGE, PICTURE};
use ::report::html;
use ::report::svg::document;
use ::report::views::{self, Views};
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
        let text = document(view);
        let file = folder.join(format!("{}.svg", view.name));
        output::write(&file, "--svg", PICTURE, text.as_bytes())
    })
}

/// Writes `folder`/NAME.csv for every picture and says which there are not.
pub fn write_data(folder: &Path, views: &Views) -> Result<()> {
    output::make_folder(folder, "--data")?;
    for view in &views.views {
        let mut text = Vec::new();
        views::csv(view, &mut text).map_err(|error| Error::failed(error.to_string()))?;
        output::write(&folder.join(format!("{}.csv", view.name)), "--data", ANYTHING, &text)?;
    }
    for absent in &views.absent {
        console::note(&format!("no {}.csv: {}", absent.name, absent.reason));
    }
    Ok(())
}
