//! Pictures of a stored run as files: a page, or one SVG each.

use crate::error::{Error, Result};
use ::report::html;
use ::report::svg::{Width, document};
use ::report::views::Views;
use model::Run;
use std::fs;
use std::path::Path;

/// Writes the page with everything.
pub fn html(run: &Run, views: &Views, file: &Path) -> Result<()> {
    write(file, &html::render(run, views))
        .map_err(|error| error.help("choose another file with --html"))
}

/// Writes every picture as `NAME.svg` into the folder, which is made if it is not there.
pub fn svg(views: &Views, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        Error::input(format!("cannot make the folder {}: {error}", folder.display()))
            .help("choose another folder with --svg")
    })?;
    views.views.iter().try_for_each(|view| {
        write(&folder.join(format!("{}.svg", view.name)), &document(view, Width::Wide))
    })
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text)
        .map_err(|error| Error::failed(format!("cannot write {}: {error}", file.display())))
}
