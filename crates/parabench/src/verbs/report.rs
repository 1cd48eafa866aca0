//! `parabench report`: the tables of a stored run.

use crate::args::ResultFormat;
use crate::error::Result;
use crate::exit::Exit;
use crate::present;
use crate::results;
use clap::Args;
use std::path::PathBuf;

/// Print the tables of a stored run
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
}

impl Report {
    /// Prints the run.
    pub fn execute(self) -> Result<Exit> {
        let run = results::read(&self.folder)?;
        if let Some(data) = &self.data {
            let views = results::views(&self.folder, &run)?;
            results::store_data(data, &views)?;
        }
        present::print(&run, self.format)?;
        Ok(Exit::Success)
    }
}
