//! `--html FILE`: the page of a run, made from what the run stored.
//!
//! The same as `--out DIR --events` followed by `parabench report DIR --html FILE`; without
//! `--out` the folder lies beside the file until the page is written: `FILE.run-x7Qz2w`. If the run
//! is killed it stays, for `parabench report`.

use super::args::{KeptEvents, Run};
use crate::error::{Error, Result, Stopped};
use crate::exit::Exit;
use crate::output::{self, PAGE};
use crate::verbs::temporary;
use crate::{console, pictures, results};
use engine::own_folder::OwnFolder;
use std::path::{Path, PathBuf};

/// A page that is wanted after the run.
pub struct Page {
    file: PathBuf,
    folder: PathBuf,
    /// The folder, if it goes at the end.
    temporary: Option<OwnFolder>,
}

impl Page {
    /// Sees to it that the run stores what the page needs; `None` if no page is wanted.
    pub fn prepare(run: &mut Run) -> Result<Option<Page>> {
        let Some(file) = run.results.html.clone() else { return Ok(None) };
        output::check(&file, "--html", PAGE)?;
        // Under MPI the rank that writes the page has gone to the run directory by then.
        let file = absolute(&file);
        let temporary = match &run.results.out {
            Some(_) => None,
            None => Some(beside(&file)?),
        };
        run.results.out_goes |= temporary.is_some();
        let folder = temporary.as_ref().map(|own| own.path().to_path_buf());
        let folder = absolute(run.results.out.get_or_insert_with(|| folder.unwrap_or_default()));
        if !run.results.events_are_settled {
            run.results.events.get_or_insert_with(KeptEvents::default);
        }
        Ok(Some(Page { file, folder, temporary }))
    }

    /// Writes the page of a run that is stored already, if one is wanted.
    pub fn of_stored(run: &Run, folder: &Path) -> Result<()> {
        let Some(file) = run.results.html.clone() else { return Ok(()) };
        output::check(&file, "--html", PAGE)?;
        Page { file, folder: folder.into(), temporary: None }.write()
    }

    /// The page of a job that was cut off: its rank 0 prepared it, and has left its run in `folder`.
    pub fn left(run: &Run, folder: &Path) -> Option<Page> {
        let file = run.results.html.clone()?;
        let temporary = run.results.out.is_none().then(|| OwnFolder::open(folder).ok()).flatten();
        Some(Page { file, folder: folder.into(), temporary })
    }

    /// Writes the page, whatever the run came to; tidies up.
    pub fn finish(
        self,
        end: std::result::Result<Exit, Stopped>,
    ) -> std::result::Result<Exit, Stopped> {
        let written = match &end {
            Err(Stopped::Before(_)) => Ok(()),
            _ => self.write(),
        };
        match &self.temporary {
            Some(own) if written.is_ok() => temporary::remove_run(own),
            Some(_) => console::note(&format!("the run is kept in {}", self.folder.display())),
            None => {}
        }
        end.and_then(|exit| written.map(|()| exit).map_err(Stopped::After))
    }

    fn write(&self) -> Result<()> {
        let mut stored = results::read(&self.folder)?;
        let views = stored.views()?;
        pictures::html(&stored.run, &views, &self.file)
    }
}

/// Only an empty path has none; it is refused where it is used.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A folder that nobody else uses: events may be large, so it lies where the page will be.
fn beside(file: &Path) -> Result<OwnFolder> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    OwnFolder::fresh(folder_of(file), &format!("{name}.run-")).map_err(|error| {
        Error::input(format!("--html {}: cannot make a folder beside it: {error}", file.display()))
            .help("choose another file with --html")
    })
}
