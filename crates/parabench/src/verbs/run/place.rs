//! A directory that a run has opened, marked and locked: the run directory, or a further one.

use super::args::DirectoryArgs;
use super::progress;
use crate::console;
use crate::error::{Error, Result};
use engine::directory::{Identity, Removal, Request, RunDirectory, Survey};
use model::escape;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The directory, until it is given back.
type Shared = Arc<Mutex<Option<RunDirectory>>>;

/// An open directory.
pub struct Place {
    /// Shared with whoever ends the process from outside, see [`Place::leftover`].
    directory: Shared,
    facts: Facts,
    /// The survey of its content.
    survey: OnceCell<Survey>,
}

/// Facts about the directory while it is locked.
struct Facts {
    path: PathBuf,
    identity: Identity,
    scratch: bool,
    stays: bool,
}

impl Place {
    /// Makes or accepts a directory; `None`: a scratch one.
    pub fn open(path: Option<&Path>, options: &DirectoryArgs) -> Result<Place> {
        let request = Request {
            directory: path.map(Path::to_path_buf),
            keep: options.keep,
            clean: options.clean,
            force: options.force,
        };
        let directory = RunDirectory::open(&request, env!("CARGO_PKG_VERSION"));
        let directory = directory.map_err(|error| Error::input(error.to_string()))?;
        let identity = directory
            .identity()
            .map_err(|error| Error::input(format!("cannot look at the directory: {error}")))?;
        let facts = Facts {
            path: directory.path().to_path_buf(),
            identity,
            scratch: directory.is_scratch(),
            stays: directory.stays(),
        };
        let directory = Arc::new(Mutex::new(Some(directory)));
        Ok(Place { directory, facts, survey: OnceCell::new() })
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.facts.path
    }

    /// Its identity: another directory may get its path.
    pub fn identity(&self) -> Identity {
        self.facts.identity.clone()
    }

    /// It is a scratch directory.
    pub fn is_scratch(&self) -> bool {
        self.facts.scratch
    }

    /// Whether something in it goes at the end, and whether all of it does.
    pub fn removed(&self, options: &DirectoryArgs) -> Option<(&Path, bool)> {
        let Facts { path, scratch, stays, .. } = &self.facts;
        let goes = if *scratch { !stays } else { options.clean };
        goes.then_some((path, *scratch))
    }

    /// Links that lead out of it, as far as the survey went; found once.
    pub fn survey(&self) -> &Survey {
        let look = || lock(&self.directory).as_ref().map(RunDirectory::survey).unwrap_or_default();
        self.survey.get_or_init(look)
    }

    /// File systems are mounted below it.
    pub fn holds_mounts(&self) -> bool {
        lock(&self.directory).as_ref().is_some_and(RunDirectory::holds_mounts)
    }

    /// Between two executions: a scratch directory is as empty as at first, and so is one that
    /// is to be cleaned. False if something is left.
    pub fn clear(&self, clean: bool) -> bool {
        let locked = lock(&self.directory);
        locked.as_ref().is_none_or(|directory| report(&directory.clear(clean)))
    }

    /// The run never started; or, from outside, it ends before [`Place::finish`]: then this waits
    /// while the directory is being removed.
    pub fn discard(&self) {
        discard(&self.directory);
    }

    /// The cleanup if the process ends before [`Place::finish`].
    pub fn leftover(&self) -> impl FnOnce() + Send + use<> {
        let directory = Arc::clone(&self.directory);
        move || discard(&directory)
    }

    /// The run is over. False if something is left that should have been removed.
    pub fn finish(&self, quiet: bool) -> bool {
        let mut locked = lock(&self.directory);
        let Some(directory) = locked.take() else { return true };
        if directory.is_scratch() && directory.stays() && !quiet {
            console::note(&format!("kept {}", directory.path().display()));
        }
        report(&progress::during(quiet, "removing the run directory", || directory.finish()))
    }
}

fn lock(directory: &Mutex<Option<RunDirectory>>) -> MutexGuard<'_, Option<RunDirectory>> {
    directory.lock().unwrap_or_else(PoisonError::into_inner)
}

fn discard(directory: &Mutex<Option<RunDirectory>>) {
    let mut locked = lock(directory);
    if let Some(directory) = locked.take() {
        report(&directory.discard());
    }
}

/// Says what could not be removed, and how to do it. False if there is such a thing.
pub fn report(removal: &Removal) -> bool {
    if removal.left == 0 {
        return true;
    }
    console::warning(&format!(
        "{} entries of the run directory could not be removed; try it with",
        removal.left
    ));
    let examples = removal.examples.iter().map(|(path, _)| path);
    for path in removal.whole.as_ref().map_or_else(|| examples.collect(), |whole| vec![whole]) {
        say(&format!("rm -r -- {}", console::quoted(&path.display().to_string())));
    }
    for (path, why) in &removal.examples {
        say(&format!("{}: {why}", path.display()));
    }
    false
}

fn say(line: &str) {
    console::say(&format!("  {}\n", escape::line(line)));
}
