//! Where a run takes place: its directory, what keeps the program inside, and
//! whether there is room for what it does.

use super::args::{Backend, Run};
use crate::console;
use crate::error::{Error, Result};
use engine::confine;
use engine::directory::{Removal, Request, RunDirectory};
use engine::preflight;
use model::{Plan, escape};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The place of a run; back-ends that touch no disk need none.
pub struct Place {
    /// Shared with whoever ends the process from outside, see [`Place::leftover`].
    directory: Arc<Mutex<Option<RunDirectory>>>,
    facts: Option<Facts>,
}

/// What is known of the directory while it is locked.
struct Facts {
    path: PathBuf,
    scratch: bool,
    stays: bool,
}

/// What keeps a program inside its directory.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// As the evidence calls it: "proved", "landlock" or "none".
    pub name: &'static str,
    /// The kernel does.
    pub landlock: bool,
    /// Every path is resolved beneath the directory before the call.
    pub guarded: bool,
    /// Why, in sentences.
    pub notes: Vec<String>,
}

impl Place {
    /// Makes or accepts the directory.
    pub fn open(run: &Run) -> Result<Place> {
        if run.execution.backend != Backend::Posix {
            return Ok(Place { directory: Arc::default(), facts: None });
        }
        let request = Request {
            directory: run.place.dir.clone(),
            keep: run.place.keep,
            clean: run.place.clean,
            force: run.place.force,
        };
        let directory = RunDirectory::open(&request, env!("CARGO_PKG_VERSION"));
        let directory = directory.map_err(|error| Error::input(error.to_string()))?;
        let facts = Facts {
            path: directory.path().to_path_buf(),
            scratch: directory.is_scratch(),
            stays: directory.stays(),
        };
        Ok(Place { directory: Arc::new(Mutex::new(Some(directory))), facts: Some(facts) })
    }

    /// Its absolute path.
    pub fn path(&self) -> Option<&Path> {
        self.facts.as_ref().map(|facts| &*facts.path)
    }

    /// Its path for `$$env(PWD)`. One that is not UTF-8 cannot stand in a program; "." does then.
    pub fn name(&self) -> Option<String> {
        self.path()?.to_str().map(str::to_string)
    }

    /// The directory if something in it goes at the end, and whether all of it does.
    pub fn removed(&self, run: &Run) -> Option<(&Path, bool)> {
        let Facts { path, scratch, stays } = self.facts.as_ref()?;
        let goes = if *scratch { !stays } else { run.place.clean };
        goes.then_some((path, *scratch))
    }

    /// Proof first; where it fails, the kernel. Nothing outside the directory is touched either way.
    /// `mpi`: MPI's ranks share memory, which the kernel forbids to confined processes.
    pub fn confinement(&self, run: &Run, plan: &Plan, mpi: bool) -> Result<Confinement> {
        let locked = lock(&self.directory);
        let Some(directory) = &*locked else {
            let name = if plan.unproved.is_empty() { "proved" } else { "none" };
            return Ok(Confinement { name, ..Confinement::default() });
        };
        let doubts: Vec<String> = directory.distrust().into_iter().chain(unproved(plan)).collect();
        if run.place.no_confine && !doubts.is_empty() {
            let notes = doubts.iter().map(|doubt| format!("not confined, although {doubt}"));
            return Ok(Confinement {
                name: "none",
                notes: notes.collect(),
                ..Confinement::default()
            });
        }
        if doubts.is_empty() && !run.place.confine {
            return Ok(Confinement { name: "proved", ..Confinement::default() });
        }
        if mpi {
            let because = doubts.first().map_or("--confine asks for it", String::as_str);
            let message =
                format!("the program has to be confined ({because}), which MPI does not survive");
            return Err(Error::input(message)
                .help("run it without MPI, or, if you trust the program, with --no-confine"));
        }
        confine::check_support().map_err(|error| {
            let because = doubts.first().map_or("--confine asks for it", String::as_str);
            Error::input(format!("the program has to be confined ({because}), but {error}"))
        })?;
        let notes = doubts.iter().map(|doubt| format!("confined by Landlock because {doubt}"));
        Ok(Confinement {
            name: "landlock",
            landlock: true,
            guarded: !doubts.is_empty(),
            notes: notes.collect(),
        })
    }

    /// Compares what the plan needs with what is there; gives remarks.
    pub fn preflight(&self, run: &Run, plan: &Plan) -> Result<Vec<String>> {
        let Some(path) = self.path() else { return Ok(Vec::new()) };
        if run.place.no_preflight {
            preflight::raise_open_files();
            return Ok(Vec::new());
        }
        let findings = preflight::preflight(path, &plan.budget);
        match findings.errors.is_empty() {
            true => Ok(findings.notes),
            false => Err(Error::input(findings.errors.join("\nerror: "))),
        }
    }

    /// Between two executions: a scratch directory is as empty as at first, and so is one that
    /// is to be cleaned.
    pub fn clear(&self, clean: bool) {
        if let Some(directory) = &*lock(&self.directory) {
            report(&directory.clear(clean));
        }
    }

    /// The run never started.
    pub fn discard(self) {
        discard(&self.directory);
    }

    /// What has to be done if the process ends before [`Place::finish`]; waits while the directory
    /// is being removed.
    pub fn leftover(&self) -> impl FnOnce() + Send + use<> {
        let directory = Arc::clone(&self.directory);
        move || discard(&directory)
    }

    /// The run is over.
    pub fn finish(self, quiet: bool) {
        let mut locked = lock(&self.directory);
        let Some(directory) = locked.take() else { return };
        if directory.is_scratch() && directory.stays() && !quiet {
            console::note(&format!("kept {}", directory.path().display()));
        }
        report(&directory.finish());
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

/// The first path without proof, and how many there are.
fn unproved(plan: &Plan) -> Option<String> {
    let first = plan.unproved.first()?;
    let place = match plan.locate_site(first.site) {
        Some((file, line, column)) => format!(" at {file}:{line}:{column}"),
        None => String::new(),
    };
    let more = match plan.unproved.len() {
        1 => String::new(),
        n => format!(" (and {} more paths)", n - 1),
    };
    Some(format!("the path{place} may leave the directory: {}{more}", first.reason))
}

/// Says what could not be removed.
pub fn report(removal: &Removal) {
    if removal.left == 0 {
        return;
    }
    console::warning(&format!(
        "{} entries of the run directory could not be removed",
        removal.left
    ));
    for (path, why) in &removal.examples {
        console::say(&format!(
            "  {}: {}\n",
            escape::line(&path.display().to_string()),
            escape::line(why)
        ));
    }
}
