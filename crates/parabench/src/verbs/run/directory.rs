//! The directories of a run: made or accepted, marked and locked, in the end removed or kept.
//!
//! ```text
//! run x.ppl --dir /data --mount fast=/burst     with (dir="fast") { ... }
//! run x.ppl                                     a first try: fast is a scratch directory, too
//! ```

use super::args::{DirectoryArgs, Run};
use super::progress;
use crate::compile::Places;
use crate::console;
use crate::error::{Error, Result};
use crate::prepare::Directories;
use crate::results;
use ::report::store::RUN_FILE;
use engine::config::BackendKind;
use engine::directory::{Identity, Removal, Request, RunDirectory, Survey};
use model::sweep::SharedDevice;
use model::{Plan, escape};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Help for directories that overlap.
const APART: &str = "choose directories that stand apart";

/// An open directory. If it is dropped before [`Place::finish`], the run never started: a scratch one is removed.
pub struct Place {
    /// Its name in programs; "" is the run directory.
    pub name: String,
    /// Absolute, without symbolic links.
    pub path: PathBuf,
    /// Another directory may get its path.
    pub identity: Identity,
    pub is_scratch: bool,
    stays: bool,
    survey: OnceLock<Survey>,
    /// Locked while it is being removed, which may happen from another thread.
    directory: Mutex<Option<RunDirectory>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.discard();
    }
}

impl Place {
    /// Makes or accepts a directory; without a path, a scratch one.
    fn open(name: &str, path: Option<&Path>, options: &DirectoryArgs) -> Result<Place> {
        let request = Request {
            directory: path.map(Path::to_path_buf),
            keep: options.keep,
            clean: options.clean,
            force: options.force,
        };
        let directory = RunDirectory::open(&request, env!("CARGO_PKG_VERSION"))
            .map_err(|error| for_mount(Error::input(error.to_string()), name))?;
        let identity = directory
            .identity()
            .map_err(|error| Error::input(format!("cannot look at the directory: {error}")))?;
        Ok(Place {
            name: name.into(),
            path: directory.path().into(),
            identity,
            is_scratch: directory.is_scratch(),
            stays: directory.stays(),
            survey: OnceLock::new(),
            directory: Mutex::new(Some(directory)),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<RunDirectory>> {
        lock(&self.directory)
    }

    /// Links that lead out of it, as far as the survey went; found once.
    pub fn survey(&self) -> &Survey {
        let look = || self.lock().as_ref().map(RunDirectory::survey).unwrap_or_default();
        self.survey.get_or_init(look)
    }

    /// File systems are mounted below it.
    pub fn holds_mounts(&self) -> bool {
        self.lock().as_ref().is_some_and(RunDirectory::holds_mounts)
    }

    /// Between two executions: a scratch directory is as empty as at first, and so is one that is to be cleaned.
    /// False if something is left.
    fn clear(&self, clean: bool) -> bool {
        self.lock().as_ref().is_none_or(|directory| report(&directory.clear(clean)))
    }

    /// On the same device as another one.
    fn shares_device(&self, other: &Place) -> bool {
        self.identity.device == other.identity.device
    }

    /// Files in both are stored in the same way, as far as their directories decide it.
    fn is_like(&self, other: &Place) -> bool {
        let of = |place: &Place| place.lock().as_ref().and_then(RunDirectory::attributes);
        of(self).is_some_and(|own| of(other) == Some(own))
    }

    fn discard(&self) {
        let mut locked = self.lock();
        if let Some(directory) = locked.take() {
            report(&directory.discard());
        }
    }

    /// Its storage does not answer: whoever touches it hangs.
    fn leave(&self) {
        if let Some(directory) = self.lock().take() {
            let path = console::quoted(&self.path.display().to_string());
            let removal = match self.is_scratch {
                true => format!(": `rm -r -- {path}` removes it when it does"),
                false => String::new(),
            };
            console::note(&format!("{path} stays as it is, its storage does not answer{removal}"));
            std::mem::forget(directory);
        }
    }

    /// The run is over. False if something is left that should have been removed.
    fn finish(&self, quiet: bool) -> bool {
        let mut locked = self.lock();
        let Some(directory) = locked.take() else { return true };
        if self.is_scratch && self.stays && !quiet {
            console::note(&format!("kept {}", self.path.display()));
        }
        report(&progress::during(quiet, "removing the run directory", || directory.finish()))
    }
}

/// The directories of a run; none where the back-end touches no disk.
pub struct Directory {
    run: Option<Arc<Place>>,
    further: Arc<Mutex<Vec<Arc<Place>>>>,
}

impl Directory {
    /// No directory is opened: for checks that need none.
    pub fn unopened() -> Directory {
        Directory { run: None, further: Arc::default() }
    }

    /// Makes or accepts the directories of the command line.
    pub fn open(run: &Run) -> Result<Directory> {
        if run.execution.backend != BackendKind::Posix {
            return Ok(Directory::unopened());
        }
        let place = Place::open("", run.directory.dir.as_deref(), &run.directory)?;
        let opened = Directory { run: Some(Arc::new(place)), further: Arc::default() };
        let mut granted = run.program.granted()?.iter();
        granted.try_for_each(|(name, path)| opened.add_granted(run, name, path))?;
        Ok(opened)
    }

    /// Another run directory, of `option`, with the same further ones.
    pub fn beside(&self, run: &Run, option: &str, path: &Path) -> Result<Directory> {
        let place = Place::open("", Some(path), &run.directory)
            .map_err(|error| not_another(error, option, path))?;
        Ok(Directory { run: Some(Arc::new(place)), further: Arc::clone(&self.further) })
    }

    /// How A's and B's run directory are treated if they are on one device; `None`: they are on two.
    pub fn share(&self, other: &Directory) -> Option<SharedDevice> {
        let (own, other) = (self.run.as_ref()?, other.run.as_ref()?);
        own.shares_device(other).then(|| match own.is_like(other) {
            true => SharedDevice::Swapped,
            false => SharedDevice::Kept,
        })
    }

    fn add_granted(&self, run: &Run, name: &str, path: &Path) -> Result<()> {
        let refused = |why: &str, help: &str| {
            let option = format!("--mount {name}={}", path.display());
            Err(Error::input(format!("{option}: {why}")).help(help))
        };
        let real = match results::real_path(path) {
            Ok(real) if real.to_str().is_some() => real,
            Ok(_) => {
                let why = "the path is not UTF-8, which programs are";
                return refused(why, "give the directory another name");
            }
            Err(error) => {
                return refused(&format!("cannot find the directory: {error}"), "name another one");
            }
        };
        for other in self.all() {
            if real.starts_with(&other.path) || other.path.starts_with(&real) {
                let it = match &*other.name {
                    "" => "the run directory".to_string(),
                    name => format!("that of {name}"),
                };
                return refused(&format!("it and {it} lie in one another"), APART);
            }
        }
        let place = Place::open(name, Some(&real), &run.directory)?;
        let numbers = |place: &Place| (place.identity.device, place.identity.inode);
        if self.all().iter().any(|other| numbers(other) == numbers(&place)) {
            return refused("the directory is granted twice", APART);
        }
        lock(&self.further).push(Arc::new(place));
        Ok(())
    }

    /// Absolute path of the run directory.
    pub fn path(&self) -> Option<&Path> {
        self.run.as_ref().map(|place| &*place.path)
    }

    /// Identity of the run directory.
    pub fn identity(&self) -> Option<Identity> {
        self.run.as_ref().map(|place| place.identity.clone())
    }

    /// The directories besides the run directory.
    pub fn further(&self) -> Vec<Arc<Place>> {
        lock(&self.further).clone()
    }

    /// All directories, the run directory first.
    pub fn all(&self) -> Vec<Arc<Place>> {
        self.run.iter().cloned().chain(self.further()).collect()
    }

    /// Their names and paths.
    pub fn named(&self) -> Directories {
        self.all().iter().map(|place| (place.name.clone(), place.path.clone())).collect()
    }

    /// The directories as a program knows them: the path for `$$env(PWD)` ("." if it is not UTF-8), and the paths
    /// of further ones.
    pub fn places(&self, run: &Run) -> Result<Places> {
        let utf8 = |path: &Path| path.to_str().map(str::to_string);
        let Some(place) = &self.run else {
            let is_posix = run.execution.backend == BackendKind::Posix;
            let directory = run.directory.dir.as_deref().filter(|_| is_posix).and_then(utf8);
            return Ok(Places { directory, ..Places::named(&run.program)? });
        };
        let path = |place: &Arc<Place>| place.path.to_string_lossy().into_owned();
        let further =
            self.further().iter().map(|place| (place.name.clone(), path(place))).collect();
        Ok(Places { directory: utf8(&place.path), further })
    }

    /// The directories of which something goes at the end, and whether all of it does.
    pub fn removed(&self, run: &Run) -> Vec<(PathBuf, Identity, bool)> {
        let goes = |place: &Arc<Place>| match place.is_scratch {
            true => !place.stays,
            false => run.directory.clean,
        };
        let all = self.all().into_iter().filter(goes);
        all.map(|place| (place.path.clone(), place.identity.clone(), place.is_scratch)).collect()
    }

    /// Gives scratch directories to the names of a plan that nobody has granted, if the run directory is one, too.
    ///
    /// # Errors
    /// It is one of the user's: which names have to be granted.
    pub fn grant(&self, run: &Run, plan: &mut Plan) -> Result<()> {
        if run.execution.backend != BackendKind::Posix {
            return Ok(());
        }
        let asked = not_granted(plan);
        if run.directory.dir.is_some() {
            return asked.map_or(Ok(()), Err);
        }
        for directory in
            plan.directories.iter_mut().filter(|one| self.run.is_some() && !one.granted)
        {
            let known = self.further().into_iter().find(|place| place.name == directory.name);
            let place = known.map_or_else(|| self.add_scratch(run, &directory.name), Ok)?;
            directory.path = place.path.to_string_lossy().into_owned();
        }
        Ok(())
    }

    fn add_scratch(&self, run: &Run, name: &str) -> Result<Arc<Place>> {
        let place = Arc::new(Place::open(name, None, &run.directory)?);
        if place.path.to_str().is_none() {
            let message = "the path of the current directory is not UTF-8, which programs are";
            return Err(Error::input(message).help(format!("grant it: --mount {name}=DIR")));
        }
        if !run.results.quiet {
            console::note(&format!(
                "the directory {name} is a scratch one beside the run directory; grant another one with \
                 --mount {name}=DIR"
            ));
        }
        lock(&self.further).push(Arc::clone(&place));
        Ok(place)
    }

    /// Between two executions: empties the run directory and the further ones that are scratch ones or to be
    /// cleaned, each if it was `used`. False if something is left.
    pub fn clear(&self, clean: bool, used: [bool; 2]) -> bool {
        let places =
            self.all().into_iter().filter(|place| used[usize::from(!place.name.is_empty())]);
        // Each of them, whatever becomes of the others.
        places.filter(|place| !place.clear(clean)).count() == 0
    }

    /// The cleanup if the process ends before [`Directory::finish`], also of directories that come later; waits
    /// while one is being removed.
    pub fn leftover(&self) -> impl FnOnce() + Send + use<> {
        let (run, further) = (self.run.as_ref().map(Arc::downgrade), Arc::downgrade(&self.further));
        move || {
            let run = run.and_then(|run| run.upgrade());
            let further = further.upgrade().map_or_else(Vec::new, |further| lock(&further).clone());
            run.into_iter().chain(further).for_each(|place| place.discard());
        }
    }

    /// Leaves all as it is, because storage does not answer.
    pub fn leave(&self) {
        self.all().iter().for_each(|place| place.leave());
    }

    /// The run is over. False if something is left that should have been removed.
    pub fn finish(&self, quiet: bool) -> bool {
        self.all().iter().filter(|place| !place.finish(quiet)).count() == 0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says what could not be removed, and how to do it. False if there is such a thing.
pub fn report(removal: &Removal) -> bool {
    if removal.left == 0 {
        return true;
    }
    let say = |line: &str| console::say(&format!("  {}\n", escape::line(line)));
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

/// The error of directories that a plan uses and nobody has granted, if there are any.
pub fn not_granted(plan: &Plan) -> Option<Error> {
    let asked = plan.directories.iter().filter(|directory| !directory.granted);
    let names: Vec<&str> = asked.map(|directory| &*directory.name).collect();
    let (all, verb) = match &names[..] {
        [] => return None,
        [one] => (format!("the directory {one}"), "is"),
        _ => (format!("the directories {}", names.join(", ")), "are"),
    };
    let options: Vec<String> = names.iter().map(|name| format!("--mount {name}=DIR")).collect();
    let error = Error::input(format!("the program uses {all}, which {verb} not granted"));
    Some(error.help(format!("say where: {}", options.join(" "))))
}

/// The same error in the words of the option that named the directory; "" is the run directory.
pub fn for_mount(error: Error, name: &str) -> Error {
    match name {
        "" => error,
        name => in_words_of(error, "--mount", &format!("--mount {name}=")),
    }
}

fn in_words_of(error: Error, option: &str, with_value: &str) -> Error {
    let reworded = |text: String| {
        text.replace("--dir ", with_value).replace("with --dir", &format!("with {option}"))
    };
    Error { message: reworded(error.message), help: error.help.map(reworded), ..error }
}

/// A further directory was refused. A stored run is compared in another way.
fn not_another(error: Error, option: &str, path: &Path) -> Error {
    let error = in_words_of(error, option, &format!("{option} "));
    if !path.join(RUN_FILE).is_file() && !path.ends_with(RUN_FILE) {
        return error;
    }
    error.help(format!(
        "this is a stored run, and {option} takes a directory to work in: run with --out NEW, then \
         `parabench compare {} NEW`",
        path.display()
    ))
}
