//! The directories of a run, what keeps the program inside, and
//! whether there is room for what it does.

use super::args::Run;
use super::further::{Further, Furthers};
use super::place::Place;
use crate::compile::Places;
use crate::error::{Error, Result};
use crate::prepare::Directories;
use ::report::store::RUN_FILE;
use engine::config::{BackendKind, Mounts};
use engine::confine;
use engine::directory::{Identity, Survey};
use engine::preflight::{self, Findings, Room};
use model::Plan;
use model::directory::leads_down;
use model::rehearsal::{Expected, Peak, Rehearsal, Thing};
use std::path::{Path, PathBuf};

/// The directories of a run; back-ends that touch no disk need none.
pub struct Directory {
    run: Option<Place>,
    further: Furthers,
}

/// What keeps a program inside its directories.
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
    /// None: what can be told without them.
    pub fn unopened() -> Directory {
        Directory { run: None, further: Furthers::default() }
    }

    /// Makes or accepts the directories.
    pub fn open(run: &Run) -> Result<Directory> {
        if run.execution.backend != BackendKind::Posix {
            return Ok(Directory::unopened());
        }
        let place = Place::open(run.directory.dir.as_deref(), &run.directory)?;
        let further = Furthers::open(run, &place).inspect_err(|_| place.discard())?;
        Ok(Directory { run: Some(place), further })
    }

    /// The run directory of `--against`, with the same further ones.
    pub fn beside(&self, run: &Run, path: &Path) -> Result<Directory> {
        let place = Place::open(Some(path), &run.directory).map_err(|error| not_b(error, path))?;
        Ok(Directory { run: Some(place), further: self.further.clone() })
    }

    /// Absolute path of the run directory.
    pub fn path(&self) -> Option<&Path> {
        self.run.as_ref().map(Place::path)
    }

    /// Names and paths of all directories, the run directory first; none where no disk is touched.
    pub fn all(&self) -> Directories {
        let run = self.path().map(|path| (String::new(), path.to_path_buf()));
        let further = self.further.each(|one| (one.name.clone(), one.place.path().to_path_buf()));
        run.into_iter().chain(further).collect()
    }

    /// What tells it from others that may get its path.
    pub fn identity(&self) -> Option<Identity> {
        self.run.as_ref().map(Place::identity)
    }

    /// The further directories.
    pub fn further(&self) -> &Furthers {
        &self.further
    }

    /// Where a program works: the path for `$$env(PWD)`, if it is UTF-8 (otherwise "." stands for
    /// it), and those of further directories.
    pub fn places(&self, run: &Run) -> Result<Places> {
        let Some(place) = &self.run else { return Places::named(&run.program) };
        let directory = place.path().to_str().map(str::to_string);
        Ok(Places { directory, further: self.further.names() })
    }

    /// The directories of which something goes at the end, and whether all of it does.
    pub fn removed(&self, run: &Run) -> Vec<(PathBuf, Identity, bool)> {
        let removed = |place: &Place| {
            let (path, whole) = place.removed(&run.directory)?;
            Some((path.to_path_buf(), place.identity(), whole))
        };
        let further = self.further.each(|one| removed(&one.place));
        self.run.iter().map(removed).chain(further).flatten().collect()
    }

    /// Proof first; where it fails, every path is resolved beneath the directory, and the kernel
    /// forbids the rest.
    /// `expected`: what is made before the program starts.
    /// `mpi`: MPI's ranks share memory, which the kernel forbids to confined processes.
    pub fn confinement(
        &self,
        run: &Run,
        plan: &Plan,
        expected: &[Expected],
        mpi: bool,
    ) -> Result<Confinement> {
        let Some(place) = &self.run else {
            let name = if plan.unproved.is_empty() { "proved" } else { "none" };
            return Ok(Confinement { name, ..Confinement::default() });
        };
        let (mut doubts, mut notes) = (Vec::new(), Vec::new());
        let mut look = |survey: &Survey, name: &str| -> Result<()> {
            notes.extend(way_out(survey, run)?);
            doubts.extend(survey.doubt.iter().map(|doubt| format!("{doubt}{name}")));
            Ok(())
        };
        look(place.survey(), "")?;
        let further = self
            .further
            .each(|one| look(one.place.survey(), &format!(" (directory {})", one.name)));
        further.into_iter().collect::<Result<()>>()?;
        doubts.extend(linked(expected));
        doubts.extend(unproved(plan));
        if doubts.is_empty() && !run.directory.confine {
            return Ok(Confinement { name: "proved", confined: None, notes });
        }
        if run.directory.no_confine {
            let although = doubts.iter().map(|doubt| format!("not confined, although {doubt}"));
            notes.extend(although);
            return Ok(Confinement { name: "none", confined: None, notes });
        }
        let because = doubts.first().map_or(ASKED_FOR, String::as_str);
        if mpi {
            return Err(not_under_mpi(because));
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
        let holds = |one: &Further| one.place.holds_mounts();
        let holds_mounts = place.holds_mounts() || self.further.each(holds).contains(&true);
        let mounts = if holds_mounts { Mounts::Accepted } else { Mounts::Refused };
        Ok(Confinement { name: "landlock", confined: Some(mounts), notes })
    }

    /// Files from before may lie in them.
    pub fn finds_files(&self) -> bool {
        let is_old = |place: &Place| !place.is_scratch();
        self.run.iter().any(is_old) || self.further.each(|one| is_old(&one.place)).contains(&true)
    }

    /// Compares what the program needs with what is there; gives remarks.
    pub fn preflight(&self, run: &Run, plan: &Plan, rehearsal: &Rehearsal) -> Result<Vec<String>> {
        let Some(path) = self.path() else { return Ok(Vec::new()) };
        if run.directory.no_preflight {
            preflight::raise_open_files();
            return Ok(Vec::new());
        }
        let mut findings = preflight::preflight(path, rehearsal);
        let names = plan.directories.iter().map(|directory| &*directory.name);
        let peaks: Vec<(&str, Peak)> = names.zip(rehearsal.peaks.iter().skip(1).copied()).collect();
        for found in self.further.each(|one| {
            let number = plan.directories.iter().position(|known| known.name == one.name);
            let number = number.map_or(usize::MAX, |at| at + 1);
            preflight::further(&one.name, one.place.path(), number, rehearsal)
        }) {
            findings.errors.extend(found.errors);
            findings.notes.extend(found.notes);
        }
        let found = self.shared_room(path, rehearsal, &peaks);
        findings.errors.extend(found.errors);
        findings.notes.extend(found.notes);
        match findings.errors.is_empty() {
            true => Ok(findings.notes),
            false => Err(Error::input(findings.errors.join("\nerror: "))),
        }
    }

    fn shared_room(&self, path: &Path, rehearsal: &Rehearsal, peaks: &[(&str, Peak)]) -> Findings {
        let own = rehearsal.peaks.first().copied().unwrap_or_default();
        let further = self.further.each(|one| {
            let peak = peaks.iter().find(|(name, _)| *name == one.name);
            (
                one.name.clone(),
                one.place.path().to_path_buf(),
                peak.map_or_else(Peak::default, |it| it.1),
            )
        });
        let mut rooms = vec![Room { name: "", directory: path, peak: own }];
        for (name, directory, peak) in &further {
            rooms.push(Room { name, directory, peak: *peak });
        }
        preflight::shared(&rooms, rehearsal)
    }

    /// Between two executions: the run directory is as empty as at first if it is a scratch one or
    /// is to be cleaned. False if something is left.
    pub fn clear(&self, clean: bool) -> bool {
        self.run.as_ref().is_none_or(|place| place.clear(clean))
    }

    /// The run never started.
    pub fn discard(self) {
        self.leftover()();
    }

    /// What has to be done if the process ends before [`Directory::finish`]; waits while a directory
    /// is being removed.
    pub fn leftover(&self) -> impl FnOnce() + Send + use<> {
        let (run, further) = (self.run.as_ref().map(Place::leftover), self.further.leftover());
        move || {
            run.into_iter().for_each(|discard| discard());
            further();
        }
    }

    /// The run is over. False if something is left that should have been removed.
    pub fn finish(self, quiet: bool) -> bool {
        let finished = self.run.is_none_or(|place| place.finish(quiet));
        self.further.finish(quiet) && finished
    }
}

/// A directory of `--against` was refused: in the words of that option. A stored run is compared in another
/// way.
fn not_b(error: Error, path: &Path) -> Error {
    let option = |text: String| text.replace("--dir ", "--against ");
    let error = Error { message: option(error.message), help: error.help.map(option), ..error };
    let is_run = path.join(RUN_FILE).is_file() || path.ends_with(RUN_FILE);
    match is_run {
        false => error,
        true => error.help(format!(
            "this is a stored run, and --against takes a directory to work in: run with --out NEW, then \
             `parabench compare {} NEW`",
            path.display()
        )),
    }
}

/// Why a program is confined that need not be.
const ASKED_FOR: &str = "--confine asks for it";

/// Refuses what MPI's ranks would have to be confined for, as far as the program and the options tell.
pub fn foresee_confinement(run: &Run, plan: &Plan) -> Result<()> {
    let doubt = unproved(plan).filter(|_| !run.directory.no_confine);
    match doubt.or_else(|| run.directory.confine.then(|| ASKED_FOR.to_string())) {
        Some(because) => Err(not_under_mpi(&because)),
        None => Ok(()),
    }
}

fn not_under_mpi(because: &str) -> Error {
    let message = format!("the program has to be confined ({because}), which MPI does not survive");
    Error::input(message)
        .help("run it without MPI, or, if you trust the program, with --no-confine")
}

/// What leads out of a directory whatever a program is confined by, or who else uses it.
fn way_out(survey: &Survey, run: &Run) -> Result<Option<String>> {
    if let Some(below) = &survey.busy {
        let message = format!("another run uses {below} at this moment");
        return Err(Error::input(message).help("wait for its end, or choose another directory"));
    }
    let Some(way) = &survey.way_out else { return Ok(None) };
    if run.directory.force {
        return Ok(Some(format!("--force: {way}, and the program may change it")));
    }
    let message = format!("the program could change what lies outside of the directory: {way}");
    Err(Error::input(message)
        .help("remove it, name another directory, or use --force if the program may change it"))
}

/// Links that are made before the program starts and do not lead down.
fn linked(expected: &[Expected]) -> Option<String> {
    let leads_up = |one: &&Expected| matches!(&one.what, Thing::Link(to) if !leads_down(to));
    let name = model::escape::bytes(&expected.iter().find(leads_up)?.path);
    Some(format!("--prepare makes symbolic links that lead upwards or are absolute, first {name}"))
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
