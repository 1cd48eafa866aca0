//! The data of pictures as files.

use crate::console;
use crate::error::{Error, Result};
use crate::output::{self, ANYTHING};
use ::report::views::{self, Views};
use std::path::Path;

/// Writes `folder`/NAME.csv for every picture and says which there are not.
pub fn store_data(folder: &Path, views: &Views) -> Result<()> {
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
