//! The pictures of a stored run, and their data as files.

use crate::console;
use crate::error::{Error, Result};
use ::report::views::{self, Views};
use model::Run;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

/// The pictures of the run in `folder` (or whose run.json it is). A damaged event table is the
/// input's fault.
pub fn views(folder: &Path, run: &Run) -> Result<Views> {
    let folder = if folder.is_dir() { folder } else { folder.parent().unwrap_or(folder) };
    // Of `run.json` alone the parent is "".
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    views::stored(folder, run).map_err(|error| Error::input(error.to_string()))
}

/// Writes `folder`/NAME.csv for every picture and says which there are not.
pub fn store_data(folder: &Path, views: &Views) -> Result<()> {
    let failed = |error: io::Error| {
        Error::failed(format!("--data {}: cannot write: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(failed)?;
    for view in &views.views {
        let file = File::create(folder.join(format!("{}.csv", view.name))).map_err(failed)?;
        views::csv(view, &mut BufWriter::new(file)).map_err(failed)?;
    }
    for absent in &views.absent {
        console::note(&format!("no {}.csv: {}", absent.name, absent.reason));
    }
    Ok(())
}
