//! The directory of a run, what keeps the program inside, and
//! whether there is room for what it does.

use super::args::Run;
use super::progress;
use crate::console;
use crate::error::{Error, Result};
use engine::config::{BackendKind, Mounts};
use engine::confine;
use engine::directory::{Identity, Removal, Request, RunDirectory, Survey};
use engine::preflight;
use model::rehearsal::Rehearsal;
use model::{Plan, escape};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The directory of a run; back-ends that touch no disk need none.
pub struct Directory {
    /// Shared with whoever ends the process from outside, see [`Directory::leftover`].
    directory: Arc<Mutex<Option<RunDirectory>>>,
    facts: Option<Facts>,
    /// What was found in it.
    survey: OnceCell<Survey>,
}

/// What is known of the directory while it is locked.
struct Facts {
    path: PathBuf,
    identity: Identity,
    scratch: bool,
    stays: bool,
}

/// What keeps a program inside its directory.
#[derive(Clone, Debug, Default)]
pub struct Confinement {
    /// As the evidence calls it: "proved", "landlock" or "none".
    pub name: &'static str,
    /// For the ranks.
    pub confined: Option<Mounts>,
    /// Why, in sentences.
    pub notes: Vec<String>,
}

impl Directory {
    /// Makes or accepts the directory.
    pub fn open(run: &Run) -> Result<Directory> {
        if run.execution.backend != BackendKind::Posix {
            let survey = OnceCell::new();
            return Ok(Directory { directory: Arc::default(), facts: None, survey });
        }
        let request = Request {
            directory: run.directory.dir.clone(),
            keep: run.directory.keep,
            clean: run.directory.clean,
            force: run.directory.force,
        };
        let directory = RunDirectory::open(&request, env!("CARGO_PKG_VERSION"));
        let directory = directory.map_err(|error| Error::input(error.to_string()))?;
        let identity = directory
            .identity()
            .map_err(|error| Error::input(format!("cannot look at the run directory: {error}")))?;
        let facts = Facts {
            path: directory.path().to_path_buf(),
            identity,
            scratch: directory.is_scratch(),
            stays: directory.stays(),
        };
        let directory = Arc::new(Mutex::new(Some(directory)));
        Ok(Directory { directory, facts: Some(facts), survey: OnceCell::new() })
    }

    /// Its absolute path.
    pub fn path(&self) -> Option<&Path> {
        self.facts.as_ref().map(|facts| &*facts.path)
    }

    /// What tells it from others that may get its path.
    pub fn identity(&self) -> Option<Identity> {
        self.facts.as_ref().map(|facts| facts.identity.clone())
    }

    /// Its path for `$$env(PWD)`. One that is not UTF-8 cannot stand in a program; "." does then.
    pub fn name(&self) -> Option<String> {
        self.path()?.to_str().map(str::to_string)
    }

    /// The directory if something in it goes at the end, and whether all of it does.
    pub fn removed(&self, run: &Run) -> Option<(&Path, bool)> {
        let Facts { path, scratch, stays, .. } = self.facts.as_ref()?;
        let goes = if *scratch { !stays } else { run.directory.clean };
        goes.then_some((path, *scratch))
    }

    /// Proof first; where it fails, every path is resolved beneath the directory, and the kernel
    /// forbids the rest.
    /// `mpi`: MPI's ranks share memory, which the kernel forbids to confined processes.
    pub fn confinement(&self, run: &Run, plan: &Plan, mpi: bool) -> Result<Confinement> {
        let locked = lock(&self.directory);
        let Some(directory) = &*locked else {
            let name = if plan.unproved.is_empty() { "proved" } else { "none" };
            return Ok(Confinement { name, ..Confinement::default() });
        };
        let survey = self.survey.get_or_init(|| directory.survey());
        if let Some(below) = &survey.busy {
            let message = format!("another run uses {below} at this moment");
            return Err(Error::input(message)
                .help("wait for its end, or choose another directory with --dir"));
        }
        let mut notes: Vec<String> = way_out(survey, run)?.into_iter().collect();
        let doubts: Vec<String> = survey.doubt.clone().into_iter().chain(unproved(plan)).collect();
        if doubts.is_empty() && !run.directory.confine {
            return Ok(Confinement { name: "proved", confined: None, notes });
        }
        if run.directory.no_confine {
            let although = doubts.iter().map(|doubt| format!("not confined, although {doubt}"));
            notes.extend(although);
            return Ok(Confinement { name: "none", confined: None, notes });
        }
        let because = doubts.first().map_or("--confine asks for it", String::as_str);
        if mpi {
            let message =
                format!("the program has to be confined ({because}), which MPI does not survive");
            return Err(Error::input(message)
                .help("run it without MPI, or, if you trust the program, with --no-confine"));
        }
        confine::check_support().map_err(|error| {
            Error::input(format!("the program has to be confined ({because}), but {error}"))
        })?;
        notes.extend(doubts.iter().map(|doubt| format!("confined by Landlock because {doubt}")));
        notes.push(
            "confined calls on names are two system calls, of which the first finds the directory \
             of the name: their times hold both, and are longer than an application's"
                .into(),
        );
        let mounts = if directory.holds_mounts() { Mounts::Accepted } else { Mounts::Refused };
        Ok(Confinement { name: "landlock", confined: Some(mounts), notes })
    }

    /// Files from before may lie in it.
    pub fn finds_files(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| !facts.scratch)
    }

    /// Compares what the program needs with what is there; gives remarks.
    pub fn preflight(&self, run: &Run, rehearsal: &Rehearsal) -> Result<Vec<String>> {
        let Some(path) = self.path() else { return Ok(Vec::new()) };
        if run.directory.no_preflight {
            preflight::raise_open_files();
            return Ok(Vec::new());
        }
        let findings = preflight::preflight(path, rehearsal);
        match findings.errors.is_empty() {
            true => Ok(findings.notes),
            false => Err(Error::input(findings.errors.join("\nerror: "))),
        }
    }

    /// Between two executions: a scratch directory is as empty as at first, and so is one that
    /// is to be cleaned. False if something is left.
    pub fn clear(&self, clean: bool) -> bool {
        let locked = lock(&self.directory);
        locked.as_ref().is_none_or(|directory| report(&directory.clear(clean)))
    }

    /// The run never started.
    pub fn discard(self) {
        discard(&self.directory);
    }

    /// What has to be done if the process ends before [`Directory::finish`]; waits while the directory
    /// is being removed.
    pub fn leftover(&self) -> impl FnOnce() + Send + use<> {
        let directory = Arc::clone(&self.directory);
        move || discard(&directory)
    }

    /// The run is over. False if something is left that should have been removed.
    pub fn finish(self, quiet: bool) -> bool {
        let mut locked = lock(&self.directory);
        let Some(directory) = locked.take() else { return true };
        if directory.is_scratch() && directory.stays() && !quiet {
            console::note(&format!("kept {}", directory.path().display()));
        }
        report(&progress::during(quiet, "removing the run directory", || directory.finish()))
    }
}

/// What leads out of the directory whatever a program is confined by.
fn way_out(survey: &Survey, run: &Run) -> Result<Option<String>> {
    let Some(way) = &survey.way_out else { return Ok(None) };
    if run.directory.force {
        return Ok(Some(format!("--force: {way}, and the program may change it")));
    }
    let message = format!("the program could change what lies outside of the directory: {way}");
    Err(Error::input(message)
        .help("remove it, name another directory, or use --force if the program may change it"))
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
        say(&format!("rm -r -- {}", quoted(&path.display().to_string())));
    }
    for (path, why) in &removal.examples {
        say(&format!("{}: {why}", path.display()));
    }
    false
}

fn say(line: &str) {
    console::say(&format!("  {}\n", escape::line(line)));
}

/// As one word of a shell.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_are_one_word_of_a_shell() {
        assert_eq!(super::quoted("/a b/c"), "'/a b/c'");
        assert_eq!(super::quoted("it's"), r"'it'\''s'");
    }
}
