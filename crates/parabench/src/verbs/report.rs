//! `parabench report`: the tables and pictures of a stored run.

use crate::args::ResultFormat;
use crate::error::Result;
use crate::exit::Exit;
use crate::pictures;
use crate::present;
use crate::results;
use clap::Args;
use std::path::PathBuf;

/// Print the tables of a stored run; write its page and its pictures
///
/// If the run was cut off (killed, a crash, a power failure), what its ranks had measured
/// by then is merged first.
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

    /// Store every picture in this folder, one SVG file each
    #[arg(long, value_name = "DIR2")]
    svg: Option<PathBuf>,
}

impl Report {
    /// Prints the run, writes the files.
    pub fn execute(self) -> Result<Exit> {
        let run = results::read(&self.folder)?;
        if self.data.is_some() || self.html.is_some() || self.svg.is_some() {
            let views = results::views(&self.folder, &run)?;
            self.data.iter().try_for_each(|folder| results::store_data(folder, &views))?;
            self.html.iter().try_for_each(|file| pictures::html(&run, &views, file))?;
            self.svg.iter().try_for_each(|folder| pictures::svg(&views, folder))?;
        }
        present::print(&run, self.format)?;
        Ok(Exit::Success)
    }
}
