//! Directories that a program uses besides the run directory: from `--mount NAME=DIR`, and, where
//! the run directory is a scratch one too, scratch directories for names that nobody has granted.
//!
//! ```text
//! run x.ppl --dir /data --mount fast=/burst     with (dir="fast") { ... }
//! run x.ppl                                     a first try: fast is a scratch directory
//! ```

use super::args::Run;
use super::place::Place;
use crate::console;
use crate::error::{Error, Result};
use crate::results;
use engine::config::BackendKind;
use engine::directory::Identity;
use model::Plan;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One of them.
pub struct Further {
    /// Its name in programs.
    pub name: String,
    /// The directory.
    pub place: Place,
}

/// All of them. A and B of a comparison share them.
#[derive(Clone, Default)]
pub struct Furthers(Arc<Mutex<Vec<Further>>>);

impl Furthers {
    /// Opens what the command line grants. `beside`: the run directory.
    pub fn open(run: &Run, beside: &Place) -> Result<Furthers> {
        let all = Furthers::default();
        for (name, path) in run.program.granted()? {
            let opened = all.open_one(run, name, path, beside);
            opened.inspect_err(|_| all.discard())?;
        }
        Ok(all)
    }

    fn open_one(&self, run: &Run, name: &str, path: &Path, beside: &Place) -> Result<()> {
        let option = format!("--mount {name}={}", path.display());
        let real = results::real_path(path).map_err(|error| {
            Error::input(format!("{option}: cannot find the directory: {error}"))
        })?;
        if real.to_str().is_none() {
            let message = format!("{option}: the path is not UTF-8, which programs are");
            return Err(Error::input(message).help("give the directory another name"));
        }
        let apart = |other: &Path| !real.starts_with(other) && !other.starts_with(&real);
        if !apart(beside.path()) {
            let message = format!("{option}: it and the run directory lie in one another");
            return Err(Error::input(message).help("choose directories that stand apart"));
        }
        if let Some(other) = self.all().iter().find(|other| !apart(other.place.path())) {
            let message = format!("{option}: it and that of {} lie in one another", other.name);
            return Err(Error::input(message).help("choose directories that stand apart"));
        }
        let place = Place::open(Some(&real), &run.directory);
        let place = place.map_err(|error| for_mount(error, name))?;
        let numbers = |identity: Identity| (identity.device, identity.inode);
        let own = numbers(place.identity());
        let same = |other: &Further| numbers(other.place.identity()) == own;
        let known = own == numbers(beside.identity()) || self.all().iter().any(same);
        self.all().push(Further { name: name.into(), place });
        match known {
            true => Err(Error::input(format!("{option}: the directory is granted twice"))
                .help("choose directories that stand apart")),
            false => Ok(()),
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Further>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with each.
    pub fn each<T>(&self, look: impl FnMut(&Further) -> T) -> Vec<T> {
        self.all().iter().map(look).collect()
    }

    /// Names and paths.
    pub fn names(&self) -> Vec<(String, String)> {
        self.each(|one| (one.name.clone(), one.place.path().to_string_lossy().into_owned()))
    }

    /// Paths, and which directories they have to be.
    pub fn identities(&self) -> Vec<(PathBuf, Identity)> {
        self.each(|one| (one.place.path().to_path_buf(), one.place.identity()))
    }

    /// Gives scratch directories to the names of a plan that nobody has granted, if the run has one
    /// too.
    ///
    /// # Errors
    /// It has not: which names have to be granted.
    pub fn grant(&self, run: &Run, plan: &mut Plan) -> Result<()> {
        if run.execution.backend != BackendKind::Posix {
            return Ok(());
        }
        for name in check_granted(run, plan)? {
            if !self.all().iter().any(|known| known.name == name) {
                self.scratch(run, &name)?;
            }
        }
        for directory in plan.directories.iter_mut().filter(|directory| !directory.granted) {
            let all = self.all();
            let Some(found) = all.iter().find(|known| known.name == directory.name) else {
                continue;
            };
            directory.path = found.place.path().to_string_lossy().into_owned();
        }
        Ok(())
    }

    fn scratch(&self, run: &Run, name: &str) -> Result<()> {
        let place = Place::open(None, &run.directory)?;
        if place.path().to_str().is_none() {
            place.discard();
            let message = "the path of the current directory is not UTF-8, which programs are";
            return Err(Error::input(message).help(format!("grant it: --mount {name}=DIR")));
        }
        if !run.results.quiet {
            console::note(&format!(
                "the directory {name} is a scratch one beside the run directory; grant another one with \
                 --mount {name}=DIR"
            ));
        }
        self.all().push(Further { name: name.into(), place });
        Ok(())
    }

    /// Between two executions, as [`Place::clear`].
    pub fn clear(&self, clean: bool) -> bool {
        self.each(|one| one.place.clear(clean)).into_iter().all(|cleared| cleared)
    }

    /// The run never started.
    pub fn discard(&self) {
        self.each(|one| one.place.discard());
    }

    /// As [`Place::leftover`], also of those that come later.
    pub fn leftover(&self) -> impl FnOnce() + Send + use<> {
        let all = self.clone();
        move || all.discard()
    }

    /// As [`Place::finish`].
    pub fn finish(&self, quiet: bool) -> bool {
        self.each(|one| one.place.finish(quiet)).into_iter().all(|finished| finished)
    }
}

/// The directories of a plan that nobody has granted, where they are scratch ones then.
///
/// # Errors
/// The run has a directory of the user's, so that these have to be granted.
pub fn check_granted(run: &Run, plan: &Plan) -> Result<Vec<String>> {
    let asked = plan.directories.iter().filter(|directory| !directory.granted);
    let asked: Vec<String> = asked.map(|directory| directory.name.clone()).collect();
    match asked.is_empty() || run.directory.dir.is_none() {
        true => Ok(asked),
        false => Err(not_granted(&asked)),
    }
}

/// The program uses directories that nobody has granted.
pub fn not_granted(names: &[String]) -> Error {
    let (all, verb) = match names {
        [one] => (format!("the directory {one}"), "is"),
        _ => (format!("the directories {}", names.join(", ")), "are"),
    };
    let options: Vec<String> = names.iter().map(|name| format!("--mount {name}=DIR")).collect();
    Error::input(format!("the program uses {all}, which {verb} not granted"))
        .help(format!("say where: {}", options.join(" ")))
}

/// The same error in the words of the option that named the directory; "" is the run directory.
pub fn for_mount(error: Error, name: &str) -> Error {
    if name.is_empty() {
        return error;
    }
    let reworded = |text: String| {
        let text = text.replace("--dir ", &format!("--mount {name}="));
        text.replace("with --dir", "with --mount")
    };
    Error { message: reworded(error.message), help: error.help.map(reworded), ..error }
}
