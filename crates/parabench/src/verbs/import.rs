//! `parabench import`: logs of other tools go in, a run comes out.

use crate::args::ResultFormat;
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{present, results};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use trace::{Format, Options, Which};

/// Make a run of an application's logs: strace, Darshan, fio, blktrace
///
/// All logs are those of one job, a file per process, rank or machine. They may be compressed (gzip,
/// bzip2, xz, zstd). What a log does not tell is counted and stands in the run.
#[derive(Args)]
#[command(after_help = "\
Examples:
  strace -f -ttt -T -y -s 0 -o app.strace ./app
  parabench import app.strace -o app.run
  parabench report app.run --html app.html")]
pub struct Import {
    /// Logs; `-` for standard input
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,

    /// Store the run in this folder
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    out: PathBuf,

    /// Format of the logs, instead of the one they show
    #[arg(long = "as", value_name = "FORMAT",
          value_parser = PossibleValuesParser::new(Format::ALL.iter().map(|format| format.name())))]
    format: Option<String>,

    /// Keep operations on files below this directory only [default: all but /usr, /proc, /dev, /etc
    /// and other directories of the system]
    #[arg(long, value_name = "PATH", conflicts_with = "all")]
    under: Option<PathBuf>,

    /// Keep operations on all files, also those of the system
    #[arg(long)]
    all: bool,

    /// Replace another run in the folder, or put this one beside other things
    #[arg(long)]
    force: bool,

    /// How the run is printed
    #[arg(long = "format", value_enum, default_value_t = ResultFormat::Table)]
    print: ResultFormat,
}

impl Import {
    /// Imports, stores and prints.
    pub fn execute(self) -> Result<Exit> {
        let folder = results::Folder::open(&self.out, None, self.force)?;
        let options =
            Options { format: self.format.as_deref().and_then(Format::find), which: self.which() };
        let imported = trace::import(&self.logs, &options)
            .map_err(|error| Error { help: some(error.help), ..Error::input(error.message) })?;
        let run = results::store_import(&folder, results::Origin::logs(&self.logs), imported)?;
        present::print(&run, self.print)?;
        if run.rows.is_empty() {
            console::warning(
                "no operation was kept: --all keeps those on files of the system, too",
            );
        }
        Ok(Exit::Success)
    }

    fn which(&self) -> Which {
        use std::os::unix::ffi::OsStrExt;
        match &self.under {
            _ if self.all => Which::All,
            Some(under) => Which::Below(under.as_os_str().as_bytes().to_vec()),
            None => Which::Data,
        }
    }
}

fn some(help: String) -> Option<String> {
    Some(help).filter(|help| !help.is_empty())
}
