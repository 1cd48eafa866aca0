//! `--against-trace DIR`: after the run, whether it did what the run in DIR did.
//!
//! The same as `--out D --events` followed by `parabench fidelity DIR D`; without `--out` the run is
//! stored in a temporary folder until it was compared.

use super::args::{KeptEvents, Run};
use super::page::absolute;
use crate::args::ResultFormat;
use crate::console;
use crate::error::{Error, Result, Stopped};
use crate::exit::Exit;
use crate::verbs::fidelity::{Stored, exit, measure, stored, stored_as, terminal};
use crate::verbs::temporary;
use engine::own_folder::OwnFolder;
use report::fidelity::{Gate, show};
use std::path::PathBuf;

/// A comparison that is wanted after the run.
pub struct Faithful {
    original: Stored,
    gates: Vec<Gate>,
    name: String,
    folder: PathBuf,
    /// The folder, if it goes at the end.
    temporary: Option<OwnFolder>,
    format: ResultFormat,
}

impl Faithful {
    /// Sees to it that the run stores its events; `None` if no comparison is wanted.
    pub fn prepare(run: &mut Run) -> Result<Option<Faithful>> {
        let Some(original) = &run.results.against_trace else { return Ok(None) };
        let mut original = stored(original)?;
        original.1 = absolute(&original.1);
        if run.results.events.is_some_and(|kept| kept.sample_every > 1) {
            return Err(Error::input("--against-trace: a sample of events cannot be compared")
                .help("leave sample=1/N out of --events"));
        }
        let sweep = &run.sweep;
        let repeats = sweep.reps.is_some_and(|reps| reps > 1)
            || sweep.warm_up > 0
            || sweep.until_ci.is_some();
        if repeats && run.directory.dir.is_some() && !run.directory.clean {
            let why =
                "a repetition would find what the one before it left, which the original did not";
            return Err(Error::input(format!("--against-trace with --dir: {why}")).help(
                "--clean removes what is in the directory between repetitions and at the end",
            ));
        }
        run.results.events.get_or_insert_with(KeptEvents::default);
        let temporary = match &run.results.out {
            Some(_) => None,
            None => {
                let help = "name a folder for the run with --out";
                Some(temporary::folder("parabench-run-", help)?)
            }
        };
        run.results.out_goes |= temporary.is_some();
        let folder = temporary.as_ref().map(|own| own.path().to_path_buf());
        let folder = absolute(run.results.out.get_or_insert_with(|| folder.unwrap_or_default()));
        let name = match temporary {
            Some(_) => {
                let program = &run.program.program;
                program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
            }
            None => folder.to_string_lossy().into_owned(),
        };
        let (gates, format) = (run.results.fidelity_gates.clone(), run.results.format);
        Ok(Some(Faithful { original, gates, name, folder, temporary, format }))
    }

    /// Compares, whatever the run came to; tidies up.
    pub fn finish(
        self,
        end: std::result::Result<Exit, Stopped>,
    ) -> std::result::Result<Exit, Stopped> {
        let compared = match &end {
            Err(Stopped::Before(_)) => Ok(Exit::Success),
            // What was done before is compared; that there is nothing is no further error.
            Ok(Exit::Interrupted) => self.compare().or_else(|nothing| {
                console::note(&nothing.message);
                Ok(Exit::Success)
            }),
            _ => self.compare(),
        };
        if let Some(own) = &self.temporary {
            temporary::remove_run(own);
        }
        end.and_then(|exit| compared.map(|other| exit.and(other)).map_err(Stopped::After))
    }

    fn compare(&self) -> Result<Exit> {
        let replay = stored_as(&self.folder, self.name.clone())?;
        let found = measure(std::slice::from_ref(&self.original), &[replay], &self.gates)?;
        let table = show::table(&found, terminal());
        match self.format {
            ResultFormat::Table => console::print_made(&format!("\n{table}"))?,
            // Standard output is the object of the run alone.
            _ => console::say_made(&table),
        }
        Ok(exit(&found))
    }
}
