//! `parabench import`: logs of other tools go in, a run comes out.

use crate::args::{ResultFormat, Verbose};
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::{present, results};
use ::report::events::EVENTS_FILE;
use ::report::store::RUN_FILE;
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use trace::{Format, Imported, Options, Rules, Selection};

/// Make a run of an application's logs: strace, Darshan, DFTracer, Recorder, fio, others by a file of rules
///
/// All logs belong to one job, a file per process, rank or machine. They may be compressed (gzip,
/// bzip2, xz, zstd). Gaps of the logs are counted; the run lists them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  strace -f -ttt -T -y -s 0 -o app.strace ./app
  parabench import app.strace -o app.run
  parabench report app.run --html app.html
  parabench import --rules server.toml server.log -o server.run")]
pub struct Import {
    /// Logs; `-` for standard input
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,

    /// Store the run in this folder
    #[arg(short = 'o', long = "out", value_name = "DIR", required_unless_present = "explain")]
    out: Option<PathBuf>,

    /// Format of the logs, instead of the one they show
    #[arg(long = "as", value_name = "FORMAT",
          value_parser = PossibleValuesParser::new(Format::all().map(Format::name)))]
    format: Option<String>,

    /// Read the logs by this file of rules: regular expressions for their lines (docs/rules.md)
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    rules: Option<PathBuf>,

    /// Explain what line N of the log becomes, and import nothing
    #[arg(long = "explain-line", id = "explain", value_name = "N", conflicts_with = "out",
          value_parser = clap::value_parser!(u64).range(1..))]
    explain: Option<u64>,

    /// Keep operations on files below this directory only [default: all but /usr, /proc, /dev, /etc
    /// and other directories of the system]
    #[arg(long, value_name = "PATH", conflicts_with = "all")]
    under: Option<PathBuf>,

    /// Keep operations on all files, also on files of the system
    #[arg(long)]
    all: bool,

    /// Replace another run in the folder, or put this one beside other things
    #[arg(long)]
    force: bool,

    /// How the run is printed
    #[arg(long = "format", value_enum, default_value_t = ResultFormat::Table)]
    print: ResultFormat,

    #[command(flatten)]
    verbose: Verbose,
}

impl Import {
    /// Imports, stores and prints; or explains a line.
    pub fn execute(self) -> Result<Exit> {
        let rules = self.rules.as_deref().map(read_rules).transpose()?;
        let format = self.format.as_deref().and_then(Format::find);
        let options = Options { format, which: self.which() };
        if let Some(line) = self.explain {
            let [log] = &self.logs[..] else {
                return Err(
                    Error::input("--explain-line explains a line of one log").help("name one log")
                );
            };
            let told = trace::explain(log, line, &options, rules.as_ref()).map_err(shown)?;
            return console::print(&told).map(|()| Exit::Success);
        }
        self.import(&options, rules.as_ref())
    }

    fn import(&self, options: &Options, rules: Option<&Rules>) -> Result<Exit> {
        let out = self.out.as_deref().ok_or_else(|| Error::input("-o DIR is missing"))?;
        let folder = results::Folder::open(out, None, self.force)?;
        folder.remove_unfinished()?;
        // Without rules and --as, logs show what they are.
        let is_shown = rules.is_none() && options.format.is_none();
        let left = if is_shown { super::record::left(&self.logs, &options.which) } else { None };
        let is_left = left.is_some();
        if let Some(empty) = self.logs.iter().find(|log| !is_left && holds_nothing(log)) {
            let message = format!("{} is a folder without a run or a recording", empty.display());
            return Err(Error::input(message).help("name the logs in it"));
        }
        let of_logs = |imported| (results::Origin::logs(&self.logs), imported);
        let (origin, imported) = if let Some(imported) = left {
            of_logs(imported?)
        } else if let Some(rules) = rules {
            let inputs = trace::import::open(&self.logs).map_err(shown)?;
            of_logs(rules.import(inputs, options.which.clone()).map_err(shown)?)
        } else if is_shown && self.logs.iter().any(|log| results::is_own(log)) {
            results::import_own(&self.logs, &options.which)?
        } else {
            of_logs(trace::import(&self.logs, options).map_err(shown)?)
        };
        if imported.is_empty() {
            return Err(self.nothing(&imported));
        }
        let run = results::store_import(&folder, origin, imported)?;
        present::print(&run, self.print, self.verbose.detail())?;
        if is_left {
            let folders: Vec<_> = self.logs.iter().map(|log| log.display().to_string()).collect();
            console::note(&format!(
                "the recording is kept; rm -r {} removes it",
                folders.join(" ")
            ));
        }
        Ok(Exit::Success)
    }

    fn which(&self) -> Selection {
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        match &self.under {
            _ if self.all => Selection::All,
            Some(under) => {
                let here = std::env::current_dir().unwrap_or_default();
                Selection::Below { name: bytes(under), here: bytes(&here) }
            }
            None => Selection::Data,
        }
    }

    /// No operation of the logs is there to be stored.
    fn nothing(&self, imported: &Imported) -> Error {
        let place = match &self.under {
            Some(under) => format!("below {}", under.display()),
            None => "on a file that is kept".into(),
        };
        let why = imported.facts.gaps.iter().map(|gap| {
            let first = gap.examples.first().map(|first| format!(", first {first}"));
            format!("; {}{}", gap.says.trim_end_matches('.'), first.unwrap_or_default())
        });
        let (name, why) = (results::title(&self.logs), why.collect::<String>());
        Error::input(format!("{name} has no operation {place}{why}"))
            .help("--all keeps operations on all files; without --as a log shows what it is")
    }
}

/// A folder with neither a run nor a table of events.
fn holds_nothing(log: &Path) -> bool {
    log.is_dir() && [RUN_FILE, EVENTS_FILE].iter().all(|file| !log.join(file).exists())
}

/// A file of rules is small.
const RULES_MAX: u64 = 1 << 20;

fn read_rules(path: &Path) -> Result<Rules> {
    let read = || {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        file.take(RULES_MAX + 1).read_to_string(&mut text).map(|_| text)
    };
    let failed = |why: &dyn std::fmt::Display| {
        Error::input(format!("cannot read the rules {}: {why}", path.display()))
    };
    let text = read().map_err(|error| failed(&error))?;
    if text.len() as u64 > RULES_MAX {
        return Err(failed(&"they are longer than 1 MiB"));
    }
    Rules::read(&text, &path.to_string_lossy()).map_err(shown)
}

/// An error of the import, for the terminal.
fn shown(error: trace::Error) -> Error {
    Error { help: Some(error.help).filter(|help| !help.is_empty()), ..Error::input(error.message) }
}
