//! Work after the end of a run: its page (`--html FILE`) and the comparison with another run
//! (`--against-trace DIR`). Both read the stored run, as `parabench report` and `parabench
//! fidelity` do.
//!
//! Without `--out` it is stored in a folder that goes at the end: beside the page, because events may be large
//! (`FILE.run-x7Qz2w`), or else in the directory for temporary files. If the run is killed, the folder stays, for
//! `parabench report`.

use super::args::{KeptEvents, Run};
use crate::args::ResultFormat;
use crate::error::{Error, Exit, Result, Stopped};
use crate::output::{self, PAGE};
use crate::verbs::fidelity::{Stored, exit, measure, stored, stored_as, terminal};
use crate::verbs::temporary;
use crate::{console, present, results};
use engine::own_folder::OwnFolder;
use report::fidelity::{Gate, show};
use report::table::Detail;
use std::path::{Path, PathBuf};

/// Requested work after a run.
pub struct After {
    page: Option<PathBuf>,
    original: Option<Stored>,
    gates: Vec<Gate>,
    /// The name of the run in the comparison.
    name: String,
    folder: PathBuf,
    /// The folder, if it goes at the end.
    temporary: Option<OwnFolder>,
    format: ResultFormat,
    detail: Detail,
}

impl After {
    /// Sees to it that the run stores what is needed.
    pub fn prepare(run: &mut Run) -> Result<After> {
        let page = page(run)?;
        let original = run.results.against_trace.as_deref().map(stored).transpose()?;
        let original = original.map(|(name, folder, run)| (name, absolute(&folder), run));
        if original.is_some() {
            check_comparable(run)?;
        }
        if original.is_some() || (page.is_some() && !run.results.events_are_settled) {
            run.results.events.get_or_insert_with(KeptEvents::default);
        }
        let temporary = match (&run.results.out, &page) {
            (None, Some(file)) => Some(beside(file)?),
            (None, None) if original.is_some() => {
                let help = "name a folder for the run with --out";
                Some(temporary::folder("parabench-run-", help)?)
            }
            _ => None,
        };
        if let Some(own) = &temporary {
            run.results.out = Some(own.path().into());
            run.results.out_goes = true;
        }
        let folder = run.results.out.as_deref().map(absolute).unwrap_or_default();
        let name = match temporary {
            None => folder.to_string_lossy().into_owned(),
            Some(_) => {
                let program = &run.program.program;
                program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
            }
        };
        let (gates, format) = (run.results.fidelity_gates.clone(), run.results.format);
        let detail = run.results.verbose.detail();
        Ok(After { page, original, gates, name, folder, temporary, format, detail })
    }

    /// The same for a job that was cut off, whose rank 0 has left its run in `folder`: no comparison, because not all
    /// events are there.
    pub fn cut_off(run: &Run, folder: &Path) -> After {
        let page = run.results.html.clone();
        let temporary = run.results.out.is_none().then(|| OwnFolder::open(folder).ok()).flatten();
        let (folder, temporary) = (folder.into(), temporary.filter(|_| page.is_some()));
        let (name, format) = (String::new(), run.results.format);
        let (gates, detail) = (Vec::new(), run.results.verbose.detail());
        After { page, original: None, gates, name, folder, temporary, format, detail }
    }

    /// Writes the page and compares, whatever the run came to; tidies up.
    pub fn finish(
        self,
        end: std::result::Result<Exit, Stopped>,
    ) -> std::result::Result<Exit, Stopped> {
        let (mut written, mut compared) = (Ok(()), Ok(Exit::Success));
        if !matches!(end, Err(Stopped::Before(_))) {
            written = self.page.iter().try_for_each(|file| write_page(&self.folder, file));
            compared = self.original.as_ref().map_or(Ok(Exit::Success), |one| self.compare(one));
        }
        // What was done before an interrupt is compared; that there is nothing is no further error.
        if let (Ok(Exit::Interrupted), Err(nothing)) = (&end, &compared) {
            console::note(&nothing.message);
            compared = Ok(Exit::Success);
        }
        match &self.temporary {
            Some(own) if written.is_ok() => temporary::remove_run(own),
            Some(_) => console::note(&format!("the run is kept in {}", self.folder.display())),
            None => {}
        }
        let both = written.and(compared);
        end.and_then(|exit| both.map(|other| exit.and(other)).map_err(Stopped::After))
    }

    fn compare(&self, original: &Stored) -> Result<Exit> {
        let replay = stored_as(&self.folder, self.name.clone())?;
        let found = measure(std::slice::from_ref(original), &[replay], &self.gates)?;
        let table = show::table(&found, terminal(), self.detail);
        match self.format {
            ResultFormat::Table => console::print_made(&format!("\n{table}"))?,
            // Standard output is the object of the run alone.
            _ => console::say_made(&table),
        }
        Ok(exit(&found))
    }
}

/// Writes the page of a run that is stored already, if one is wanted.
pub fn write_page_of(run: &Run, folder: &Path) -> Result<()> {
    page(run)?.iter().try_for_each(|file| write_page(folder, file))
}

/// The file of `--html`. Under MPI the rank that writes it has gone to the run directory by then.
fn page(run: &Run) -> Result<Option<PathBuf>> {
    let Some(file) = &run.results.html else { return Ok(None) };
    output::check(file, "--html", PAGE)?;
    Ok(Some(absolute(file)))
}

fn write_page(folder: &Path, file: &Path) -> Result<()> {
    let mut stored = results::read(folder)?;
    let pictures = stored.pictures()?;
    present::html(&stored.run, &pictures, file)
}

/// Only an empty path has none; it is refused where it is used.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// A folder that nobody else uses.
fn beside(file: &Path) -> Result<OwnFolder> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let folder = file.parent().unwrap_or(Path::new("."));
    OwnFolder::fresh(folder, &format!("{name}.run-")).map_err(|error| {
        Error::input(format!("--html {}: cannot make a folder beside it: {error}", file.display()))
            .help("choose another file with --html")
    })
}

/// Refuses a run that cannot be like the original.
fn check_comparable(run: &Run) -> Result<()> {
    if run.results.events.is_some_and(|kept| kept.sample_every > 1) {
        return Err(Error::input("--against-trace: a sample of events cannot be compared")
            .help("leave sample=1/N out of --events"));
    }
    let sweep = &run.sweep;
    let repeats =
        sweep.reps.is_some_and(|reps| reps > 1) || sweep.warm_up > 0 || sweep.until_ci.is_some();
    if repeats && run.directory.dir.is_some() && !run.directory.clean {
        let why = "a repetition would find what the one before it left, which the original did not";
        return Err(Error::input(format!("--against-trace with --dir: {why}"))
            .help("--clean removes what is in the directory between repetitions and at the end"));
    }
    Ok(())
}
