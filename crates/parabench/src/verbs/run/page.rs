//! `--html FILE`: the page of a run, made from what the run stored.
//!
//! The same as `--out DIR --events` followed by `parabench report DIR --html FILE`; without
//! `--out` the folder lies beside the file until the page is written.

use super::Stopped;
use super::args::{KeptEvents, Run};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{pictures, results};
use std::fs;
use std::path::{Path, PathBuf};

/// A page that is wanted after the run.
pub struct Page {
    file: PathBuf,
    folder: PathBuf,
    temporary: bool,
}

impl Page {
    /// Sees to it that the run stores what the page needs; `None` if no page is wanted.
    pub fn prepare(run: &mut Run) -> Result<Option<Page>> {
        let Some(file) = run.results.html.clone() else { return Ok(None) };
        check(&file)?;
        // Under MPI the rank that writes the page has gone to the run directory by then.
        let file = absolute(&file);
        let temporary = run.results.out.is_none();
        let folder = absolute(run.results.out.get_or_insert_with(|| beside(&file)));
        run.results.events.get_or_insert_with(KeptEvents::default);
        Ok(Some(Page { file, folder, temporary }))
    }

    /// The page of a job that was cut off: its rank 0 prepared it, and has left its run in `folder`.
    pub fn left(run: &Run, folder: &Path) -> Option<Page> {
        let (file, temporary) = (run.results.html.clone()?, run.results.out.is_none());
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
        if self.temporary {
            // There is nothing to be done about a folder that cannot be removed.
            let _ = fs::remove_dir_all(&self.folder);
        }
        end.and_then(|exit| written.map(|()| exit).map_err(Stopped::After))
    }

    fn write(&self) -> Result<()> {
        let run = results::read(&self.folder)?;
        let views = results::views(&self.folder, &run)?;
        pictures::html(&run, &views, &self.file)
    }
}

/// The file can be written as far as one can see before the run.
fn check(file: &Path) -> Result<()> {
    let shown = file.display();
    let refused = |why: String| Err(Error::input(why).help("choose another file with --html"));
    if file.is_dir() {
        return refused(format!("--html {shown}: expected a file, found a folder"));
    }
    match folder_of(file) {
        folder if folder.is_dir() => Ok(()),
        folder => refused(format!("--html {shown}: there is no folder {}", folder.display())),
    }
}

/// Only an empty path has none; it is refused where it is used.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A folder that nobody else uses: events may be large, so it lies where the page will be.
fn beside(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    folder_of(file).join(format!(".{name}.parabench-{}", std::process::id()))
}
