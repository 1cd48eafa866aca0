//! `parabench record`: a command is executed, what it and its children do with files becomes a run.
//!
//! ```text
//! command ──recorder──▶ logs in memory ──import──▶ DIR/run.json, DIR/events.parquet
//! ```
//!
//! Input, output, signals and exit code are the command's own. What Parabench says goes to
//! standard error.

mod child;
mod command;
mod logs;
mod preload;
mod strace;

use crate::console;
use crate::error::{Error, Exit, Result};
use crate::results::{self, Folder, Origin};
use ::report::rows::is_above;
use child::Start;
use clap::{Args, ValueEnum};
use command::Program;
use logs::Logs;
use model::run::{Recorded, Row, Run, Trace};
use preload::Preload;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use strace::Strace;
use trace::gaps::{Gap, Gaps};
use trace::recording;
use trace::{Format, Imported, Options, Selection};

/// Record what a command does with files, as a run
///
/// The command, its children and their threads are followed. Input and output, signals (Ctrl-C) and
/// the exit code are the command's own; what was recorded until it ended is kept.
#[derive(Args)]
#[command(after_help = "\
Examples:
  parabench record -- tar xf linux.tar
  parabench record -o app.run --under /data -- ./app --steps 100
  parabench report app.run --html app.html
  mpiexec -n 4 parabench record -o job.run -- ./app")]
pub struct Record {
    /// Store the run in this folder [default: the command's name with .run]
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    out: Option<PathBuf>,

    /// Keep operations on files below this directory only [default: all but /usr, /proc, /dev, /etc
    /// and other directories of the system]
    #[arg(long, value_name = "PATH", conflicts_with = "all")]
    under: Option<PathBuf>,

    /// Keep operations on all files, also on files of the system
    #[arg(long)]
    all: bool,

    /// The recorder
    #[arg(long, value_enum, default_value_t = Via::Preload)]
    via: Via,

    /// Replace another run in the folder, or put this one beside other things
    #[arg(long)]
    force: bool,

    /// Command and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}

/// The recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// Our library inside the program, at about 0.1 microseconds per call
    Preload,
    /// strace(1): every program, at 20 to 80 microseconds per call
    Strace,
}

impl Record {
    /// Executes the command, imports what was recorded, and ends like the command.
    pub fn execute(self) -> Result<Exit> {
        let program = Program::find(&self.command)?;
        let out = self.out.clone().unwrap_or_else(|| program.default_out());
        let folder = Folder::open(&out, None, self.force)?;
        let which = self.which()?;
        let recorder = match self.via {
            Via::Preload => Recorder::Preload(Preload::new(&program, &out)?),
            Via::Strace => Recorder::Strace(Strace::find()?),
        };
        let _claim = Logs::are_stored_here().then(|| folder.claim()).transpose()?;
        let logs = Logs::new(&out)?;
        let ended = recorder.start(&program, &logs).and_then(child::run);
        let ended = ended.inspect_err(|_| drop(logs.remove()))?;
        logs.recorded(&program)?;
        if let Some(folders) = logs.gathered()? {
            let mut imported = import(self.via, &folders, which).map_err(|e| logs.kept(e))?;
            let mut gaps = Gaps::default();
            gaps.add_many(Gap::Running, ended.running);
            imported.facts.gaps.extend(gaps.list());
            if folder.is_taken() {
                let message = format!("{} has become that of another run", out.display());
                return Err(logs.kept(Error::failed(message)));
            }
            if imported.is_empty() {
                warn_of_losses(&Trace { gaps: imported.facts.gaps, ..Trace::default() });
                console::warning(NOTHING_KEPT);
                logs.remove()?;
                return Ok(Exit::Command(ended.code()));
            }
            let recorded = Recorded {
                command: program.words(),
                options: self.options(),
                by: recorder.describe(),
                exit_code: ended.code().into(),
                cpus: engine::host::cpus(),
                call_ns: imported.facts.call_ns,
            };
            let origin =
                Origin { title: program.line(), recorded: Some(recorded), ..Origin::default() };
            let run = results::store_import(&folder, origin, imported);
            let run = run.map_err(|error| logs.kept(error))?;
            summarize(&run, &out);
            if self.via == Via::Preload {
                offer_strace(&run);
            }
        }
        logs.remove()?;
        Ok(Exit::Command(ended.code()))
    }

    /// The options that decide which operations are recorded.
    fn options(&self) -> Vec<String> {
        let under = self.under.as_ref().map(|under| under.to_string_lossy().into_owned());
        let mut words: Vec<String> =
            under.into_iter().flat_map(|under| ["--under".into(), under]).collect();
        words.extend(self.all.then(|| "--all".into()));
        words.extend((self.via == Via::Strace).then(|| "--via=strace".into()));
        words
    }

    /// A relative directory starts where the command starts.
    fn which(&self) -> Result<Selection> {
        use std::os::unix::ffi::OsStrExt;
        let Some(under) = &self.under else {
            return Ok(if self.all { Selection::All } else { Selection::Data });
        };
        // One that the command makes is not there yet.
        let real = under.canonicalize().or_else(|_| std::path::absolute(under));
        let real =
            real.map_err(|error| Error::input(format!("--under {}: {error}", under.display())))?;
        Ok(Selection::Below { name: real.as_os_str().as_bytes().to_vec(), here: Vec::new() })
    }
}

/// The recorder, ready to start.
enum Recorder {
    Preload(Preload),
    Strace(Strace),
}

impl Recorder {
    fn start(&self, program: &Program, logs: &Logs) -> Result<Start> {
        match self {
            Recorder::Preload(preload) => preload.command(program, logs.folder()),
            Recorder::Strace(strace) => Ok(strace.command(program, logs.folder())),
        }
    }

    /// Name of the recorder, for the run.
    fn describe(&self) -> String {
        match self {
            Recorder::Preload(_) => "preload".into(),
            Recorder::Strace(strace) => strace.describe(),
        }
    }
}

/// The logs in folders as events; each folder with the name that the run gives it.
fn import(via: Via, folders: &[(PathBuf, PathBuf)], which: Selection) -> Result<Imported> {
    let imported = match via {
        Via::Preload => trace::import::from_recordings(folders, &which),
        Via::Strace => {
            let inputs = strace::open(folders)?;
            trace::import::from_inputs(inputs, &Options { format: Some(Format::Strace), which })
        }
    };
    imported.map_err(|error| Error::failed(error.message).help(error.help))
}

/// A recording without an operation is no run: nothing is stored, and the next recording finds an empty folder.
const NOTHING_KEPT: &str = "nothing was kept, and no run is stored: the command used no files but \
                            those of the system (--all keeps them) or those outside of --under";

/// The recording, in a line.
fn summarize(run: &Run, out: &Path) {
    let format = run.run.trace.as_ref().map_or("", |trace| &trace.format);
    let once = |row: &&Row| row.part_of.is_none() && !is_above(format, row);
    let operations: u64 = run.rows.iter().filter(once).map(|row| row.count).sum();
    let (out, ranks) = (out.display(), run.run.ranks);
    let ranks = model::words::count(ranks, "rank");
    console::note(&format!(
        "recorded {counted_operations} of {ranks}: parabench report {out}",
        counted_operations = model::words::count(operations, "operation")
    ));
    let notes = run.run.evidence.notes.iter();
    notes.filter(|note| note.starts_with(results::MOSTLY)).for_each(|note| console::note(note));
    run.run.trace.iter().for_each(warn_of_losses);
}

/// Gaps that strace does not have.
const SEEN_BY_STRACE: [&str; 3] = ["unseen-programs", "dropped", "streams"];

fn offer_strace(run: &Run) {
    let mut losses = run.run.trace.iter().flat_map(Trace::losses);
    if losses.any(|gap| SEEN_BY_STRACE.contains(&gap.code.as_str())) {
        console::note(
            "strace sees what is missing, at 20 to 80 us per call: parabench record --via strace ...",
        );
    }
}

fn warn_of_losses(trace: &Trace) {
    trace.losses().for_each(|gap| console::warning(&format!("incomplete: {}", gap.says)));
}

/// Events that an unfinished recording has left in these folders. `None`: they hold
/// something else.
pub fn left(folders: &[PathBuf], which: &Selection) -> Option<Result<Imported>> {
    let holds = |folder: &PathBuf, is_log: &dyn Fn(&Path) -> bool| {
        let entries = std::fs::read_dir(folder).ok();
        entries.is_some_and(|entries| entries.flatten().any(|entry| is_log(&entry.path())))
    };
    let all = |is_log: &dyn Fn(&Path) -> bool| folders.iter().all(|folder| holds(folder, is_log));
    let via = if all(&|file| file.extension().is_some_and(|ending| ending == recording::ENDING)) {
        Via::Preload
    } else if all(&|file| file.ends_with(strace::LOG)) {
        Via::Strace
    } else {
        return None;
    };
    let named: Vec<_> = folders.iter().map(|folder| (folder.clone(), folder.clone())).collect();
    Some(import(via, &named, which.clone()))
}
