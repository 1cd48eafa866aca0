//! A run for its reader: on standard output, in the form that was asked for, and as files: a page, or pictures with
//! their data.

use crate::args::ResultFormat;
use crate::console;
use crate::error::{Error, Result};
use crate::output::{self, ANYTHING, PAGE, PICTURE};
use ::page::aggregate::Aggregates;
use ::page::html;
use ::page::svg::document;
use ::page::views::{self, Views};
use ::report::table::{Detail, Terminal};
use model::Run;
use std::path::Path;

/// The pictures of a run, and its events condensed.
pub type Pictures = (Views, Option<Aggregates>);

/// Says what has failed, and nothing else.
pub fn failures(run: &Run) {
    let terminal = Terminal { color: false, ..console::output() };
    console::say_made(&::report::table::failures(run, terminal));
}

/// Prints a run.
pub fn print(run: &Run, format: ResultFormat, detail: Detail) -> Result<()> {
    match format {
        ResultFormat::Table => {
            let terminal = console::output();
            console::print_made(&::report::table::render(run, terminal, detail))
        }
        ResultFormat::Json => console::write_with(|mut out| ::report::json::write(run, &mut out)),
        ResultFormat::Csv => console::write_with(|mut out| ::report::csv::rows(run, &mut out)),
        ResultFormat::Markdown => console::print_made(&::report::table::markdown(run, detail)),
        ResultFormat::CsvStatistics => {
            console::write_with(|mut out| ::report::csv::statistics(run, &mut out))
        }
    }
}

/// Writes the page with everything.
pub fn html(run: &Run, (views, events): &Pictures, file: &Path) -> Result<()> {
    let page = html::render(run, views, events.as_ref());
    output::write(file, "--html", PAGE, page.as_bytes())
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
