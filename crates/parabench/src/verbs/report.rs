//! `parabench report`: the tables and pictures of a stored run.

use crate::args::ResultFormat;
use crate::error::{Exit, Result};
use crate::present;
use crate::results;
use clap::Args;
use std::path::PathBuf;

/// Print the tables of a stored run; write its page and its pictures
///
/// A run that goes on or was cut off (killed, a crash) is put together from what its ranks have
/// measured so far. Nothing in DIR changes without --settle.
#[derive(Args)]
pub struct Report {
    /// Folder of `parabench run --out`, or its run.json
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// How results are printed
    #[arg(long, value_enum, default_value_t = ResultFormat::Table)]
    format: ResultFormat,

    /// Store the data of every picture in this folder, one CSV file each
    #[arg(long, value_name = "DIR2")]
    data: Option<PathBuf>,

    /// Write everything as one HTML page with pictures, without scripts, for mail and print
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Store a run that was cut off like one that has ended: what its ranks had measured lies in
    /// memory until then. Of a job on several machines it gathers in DIR what is on this one, with exit
    /// code 1 as long as records are missing
    #[arg(long)]
    settle: bool,

    /// Store every picture in this folder, one SVG file each
    #[arg(long, value_name = "DIR2")]
    svg: Option<PathBuf>,
}

impl Report {
    /// Prints the run, writes the files.
    pub fn execute(self) -> Result<Exit> {
        let mut stored = results::read(&self.folder)?;
        let is_whole = !self.settle || stored.settle()?;
        if !is_whole {
            // Where the records lie has changed.
            stored = results::read(&self.folder)?;
        }
        if self.data.is_some() || self.html.is_some() || self.svg.is_some() {
            let views = stored.views()?;
            self.data.iter().try_for_each(|folder| present::write_data(folder, &views))?;
            self.html.iter().try_for_each(|file| present::html(&stored.run, &views, file))?;
            self.svg.iter().try_for_each(|folder| present::svg(&views, folder))?;
        }
        present::print(&stored.run, self.format)?;
        Ok(if is_whole { Exit::Success } else { Exit::Failed })
    }
}
