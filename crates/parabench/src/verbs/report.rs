//! `parabench report`: the tables and pictures of a stored run.

use crate::args::{ResultFormat, Verbose};
use crate::console;
use crate::error::{Exit, Result};
use crate::present;
use crate::results::{self, Fate, Left};
use clap::Args;
use engine::host;
use model::units::format_bytes;
use model::words;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// Print the tables of a stored run; write its page and its pictures
///
/// A run that goes on or was cut off (killed, a crash) is put together from what its ranks have
/// measured so far. Nothing in DIR changes without --settle.
#[derive(Args)]
pub struct Report {
    /// Folder of `parabench run --out`, or its run.json
    #[arg(value_name = "DIR", required_unless_present = "recover", add = crate::completion::runs())]
    folder: Option<PathBuf>,

    /// List what killed runs have left in the memory of this machine, and how to store or remove it
    #[arg(long, conflicts_with_all = ["folder", "format", "data", "html", "settle", "svg"])]
    recover: bool,

    /// How results are printed [default: table; nothing where files are written]
    #[arg(long, value_enum, hide_default_value = true)]
    format: Option<ResultFormat>,

    #[command(flatten)]
    verbose: Verbose,

    /// Store the data of every picture in this folder, one CSV file each
    #[arg(long, value_name = "DIR2")]
    data: Option<PathBuf>,

    /// Write everything as one HTML page with pictures, without scripts, for mail and print
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Store a run that was cut off like one that has ended: what its ranks had measured lies in
    /// memory until then. As long as records are on other machines or cannot be read, it gathers in DIR
    /// what there is, with exit code 1
    #[arg(long)]
    settle: bool,

    /// Store every picture in this folder, one SVG file each
    #[arg(long, value_name = "DIR2")]
    svg: Option<PathBuf>,
}

impl Report {
    /// Prints the run, writes the files.
    pub fn execute(self) -> Result<Exit> {
        let Some(folder) = &self.folder else { return recover() };
        let mut stored = match self.settle {
            true => results::read_ended(folder)?,
            false => results::read(folder)?,
        };
        let is_whole = !self.settle || stored.settle()?;
        if !is_whole {
            // Where the records lie has changed.
            stored = results::read(folder)?;
        }
        let writes = self.data.is_some() || self.html.is_some() || self.svg.is_some();
        if writes {
            let pictures = stored.pictures()?;
            let views = &pictures.0;
            self.data.iter().try_for_each(|folder| present::write_data(folder, views))?;
            self.html.iter().try_for_each(|file| present::html(&stored.run, &pictures, file))?;
            self.svg.iter().try_for_each(|folder| present::svg(views, folder))?;
            self.say_written(views.views.len());
        }
        let shown = self.format.or((!writes).then_some(ResultFormat::Table));
        shown
            .map_or(Ok(()), |format| present::print(&stored.run, format, self.verbose.detail()))?;
        Ok(if is_whole { Exit::Success } else { Exit::Failed })
    }
}

impl Report {
    /// Names what was written: standard output is for the run.
    fn say_written(&self, pictures: usize) {
        let in_folder = |folder: &PathBuf, noun: &str| {
            console::say(&format!("{} in {}\n", words::count(pictures, noun), folder.display()));
        };
        self.data.iter().for_each(|folder| in_folder(folder, "table"));
        self.html.iter().for_each(|file| console::say(&format!("{}\n", file.display())));
        self.svg.iter().for_each(|folder| in_folder(folder, "picture"));
    }
}

/// Lists what runs have left in memory.
fn recover() -> Result<Exit> {
    let left = results::left();
    let mut text: String = left.iter().map(describe).collect();
    if left.is_empty() {
        text = "no run has left records in memory\n".into();
    }
    console::print(&text)?;
    Ok(Exit::Success)
}

/// Where records lie, and what can be done with them.
fn describe(left: &Left) -> String {
    let memory = left.folder.path().display();
    let size = format_bytes(left.size_bytes());
    let age = left.last_change().and_then(|change| change.duration_since(UNIX_EPOCH).ok());
    let change = age.map_or("unknown".into(), |since| host::utc(since.as_secs() as i64));
    let results = left.owner.results.to_string_lossy();
    let results = shlex::try_quote(&results).unwrap_or_default();
    let remove = format!("`rm -r -- {memory}` removes them");
    let advice = match left.fate {
        Fate::UnderWay => "the run is not finished".to_string(),
        Fate::CutOff => format!("`parabench report {results} --settle` stores them"),
        Fate::Stored => {
            format!("the run is stored; the next run with --out removes them, or {remove}")
        }
        Fate::Unknown => format!(
            "its folder is not there any more, or cannot be read: `parabench report WHERE-IT-IS --settle` stores \
             them, {remove}, and a run removes them 7 days after the last change"
        ),
    };
    format!(
        "{memory}\n  run: {results} on {}\n  records: {size}, last change {change}\n  {advice}\n",
        left.owner.host
    )
}
