//! `parabench replay`: fold, prepare, run and fidelity in one, for a first look.

use crate::args::{self, Verbose};
use crate::console;
use crate::error::{Exit, Result};
use crate::output;
use crate::verbs::fold::{HEAD, think, translated, write_program};
use crate::verbs::run::Run;
use crate::verbs::temporary;
use clap::Args;
use engine::own_folder::OwnFolder;
use fold::Think;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Repeat what a run did, and report how faithful the repetition was
///
/// The run is folded to a program; the files that it expects are made in a scratch directory (or in
/// --dir); the program runs there with as many ranks; what it did is compared with the run. The same
/// as parabench fold DIR -o app.ppl, then parabench run app.ppl --prepare --against-trace DIR.
///
/// Examples:
///   parabench record -o app.run -- ./app
///   parabench replay app.run
///   parabench replay app.run --think none -o app.ppl -- --dir /mnt/new --clean --reps 5
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Replay {
    /// Folder of a run with events: of `import`, `record`, or `run --events --out DIR`
    #[arg(value_name = "DIR", add = crate::completion::runs())]
    folder: PathBuf,

    /// Keep the program in this file
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace a folded program in that file, also one that was changed since
    #[arg(long, requires = "out")]
    force: bool,

    /// Pauses between operations, as for `parabench fold`
    #[arg(long, value_name = "HOW", default_value = "typical", value_parser = think)]
    think: Think,

    #[command(flatten)]
    verbose: Verbose,

    /// Options of `parabench run`, such as --dir, --reps, --out, --fidelity-gate
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<OsString>,
}

impl Replay {
    /// Folds, and runs what came of it.
    pub fn execute(self) -> Result<Exit> {
        if let Some(out) = &self.out {
            output::check_program(out, "-o", HEAD, self.force)?;
        }
        let name = self.out.clone().unwrap_or_else(|| self.name().into());
        self.run(&name, 1, true)?;
        let folded = translated(&self.folder, self.think, &name, self.out.as_deref())?;
        let own = match self.out {
            Some(_) => None,
            None => {
                let help = "name a file for the program with -o";
                Some(temporary::folder("parabench-replay-", help)?)
            }
        };
        let file = match (&self.out, &own) {
            (Some(out), _) => out.clone(),
            (None, own) => {
                let place = own.as_ref().map(OwnFolder::path).unwrap_or(Path::new("."));
                place.join(self.name())
            }
        };
        let mut files = vec![self.name()];
        write_program(&file, &folded.text, folded.data.as_ref(), Vec::new(), self.force)?;
        files.extend(folded.data.map(|data| data.name));
        if !folded.is_comparable {
            console::note("the run has no operations, so the repetition is not compared with it");
        }
        let run = self.run(&file, folded.ranks, folded.is_comparable);
        let end = run.and_then(Run::execute_here);
        if let Some(own) = &own {
            temporary::remove(own, &files.iter().map(String::as_str).collect::<Vec<_>>());
        }
        end
    }

    /// `app.ppl` of `app.run`.
    fn name(&self) -> String {
        let stem = self.folder.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        format!("{}.ppl", stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "replay".into()))
    }

    /// `-v` on both sides of `--` is one.
    fn is_given(&self, word: &OsStr) -> bool {
        self.verbose.verbose && (word == "-v" || word == "--verbose")
    }

    /// The run of a program, and whether it is compared with the original.
    fn run(&self, program: &Path, ranks: u32, compares: bool) -> Result<Run> {
        let mut words: Vec<OsString> = vec![program.into(), "--prepare".into()];
        if compares {
            words.extend(["--against-trace".into(), (&self.folder).into()]);
        }
        words.extend(["-n".into(), ranks.to_string().into()]);
        words.extend(self.verbose.verbose.then(|| "-v".into()));
        words.extend(self.options.iter().filter(|word| !self.is_given(word)).cloned());
        args::parse_run(words, "options of the run")
    }
}
