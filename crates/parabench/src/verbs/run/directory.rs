//! The directories of a run, what keeps the program inside, and
//! whether there is room for what it does.

use super::args::Run;
use super::further::{Further, Furthers};
use super::place::Place;
use crate::compile::Places;
use crate::error::{Error, Result};
use crate::prepare::Directories;
use ::report::store::RUN_FILE;
use engine::backend::resolve;
use engine::config::{BackendKind, Confinement};
use engine::directory::{Identity, Survey};
use engine::preflight::{self, Findings, Room};
use model::directory::leads_down;
use model::plan::Instr;
use model::rehearsal::{Expected, Peak, Rehearsal, Thing};
use model::{Op, Plan};
use std::path::{Path, PathBuf};

/// The directories of a run; back-ends that touch no disk need none.
pub struct Directory {
    run: Option<Place>,
    further: Furthers,
}

/// The confinement of a program, and its reasons.
#[derive(Clone, Debug)]
pub struct Confined {
    /// For the ranks.
    pub by: Confinement,
    /// Why, in sentences.
    pub notes: Vec<String>,
}

impl Confined {
    /// As the evidence calls it.
    pub fn name(&self) -> &'static str {
        match self.by {
            Confinement::Checked => "checked",
            Confinement::Beneath { .. } => "confined",
            Confinement::Trusted => "none",
        }
    }
}

impl Directory {
    /// No directory is opened: for checks that need none.
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

    /// Its identity, which another directory at its path would not have.
    pub fn identity(&self) -> Option<Identity> {
        self.run.as_ref().map(Place::identity)
    }

    /// The further directories.
    pub fn further(&self) -> &Furthers {
        &self.further
    }

    /// The directories of a program: the path for `$$env(PWD)` ("." if it is not UTF-8), and the paths
    /// of further directories.
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

    /// The lexical rule, where it is enough; else every path is also resolved beneath its directory.
    /// `expected`: files and links that are made before the program starts. `mpi`: MPI started the ranks.
    pub fn confined(
        &self,
        run: &Run,
        plan: &Plan,
        rehearsal: &Rehearsal,
        expected: &[Expected],
        mpi: bool,
    ) -> Result<Confined> {
        let Some(place) = &self.run else {
            return Ok(Confined { by: Confinement::Checked, notes: Vec::new() });
        };
        let (mut doubts, mut notes) = (Vec::new(), Vec::new());
        // It may open a directory that only this user can enter, or move things to one that others enter.
        let is_chmod = |instr: &Instr| matches!(instr, Instr::Op { op: Op::Chmod, .. });
        let opens = plan.code.iter().any(is_chmod) || !self.further.names().is_empty();
        let mut look = |survey: &Survey, name: &str| -> Result<()> {
            notes.extend(way_out(survey, run)?);
            let opened = survey.doubt_if_opened.iter().filter(|_| opens);
            let found = survey.doubt.iter().chain(opened);
            doubts.extend(found.map(|doubt| format!("{doubt}{name}")));
            Ok(())
        };
        look(place.survey(), "")?;
        let further = self
            .further
            .each(|one| look(one.place.survey(), &format!(" (directory {})", one.name)));
        further.into_iter().collect::<Result<()>>()?;
        doubts.extend(links_that_lead_up(expected));
        doubts.extend(exception(plan, rehearsal));
        if run.directory.no_confine {
            let although = doubts.iter().map(|doubt| format!("not confined, although {doubt}"));
            notes.extend(although);
            return Ok(Confined { by: Confinement::Trusted, notes });
        }
        doubts.extend(run.directory.confine.then(|| REQUESTED.to_string()));
        let Some(because) = doubts.first() else {
            return Ok(Confined { by: Confinement::Checked, notes });
        };
        if mpi {
            refuse_mpi_files(plan, because)?;
        }
        resolve::check_support(place.path()).map_err(|_| not_supported(because))?;
        notes.extend(doubts.iter().map(|doubt| format!("confined because {doubt}")));
        notes.push(
            "calls on names are two system calls when confined: the first one finds the directory of \
             the name. Their times include both and are longer than those of an application"
                .into(),
        );
        let holds = |one: &Further| one.place.holds_mounts();
        let across_mounts = place.holds_mounts() || self.further.each(holds).contains(&true);
        Ok(Confined { by: Confinement::Beneath { across_mounts }, notes })
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

    /// The cleanup if the process ends before [`Directory::finish`]; waits while a directory
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
const REQUESTED: &str = "--confine was given";

/// Refuses MPI-IO in a run that has to be confined, as far as the program and the options show.
pub fn foresee_confinement(run: &Run, plan: &Plan, rehearsal: Option<&Rehearsal>) -> Result<()> {
    let doubt = rehearsal.and_then(|rehearsal| exception(plan, rehearsal));
    let doubt = doubt.filter(|_| !run.directory.no_confine);
    match doubt.or_else(|| run.directory.confine.then(|| REQUESTED.to_string())) {
        Some(because) => refuse_mpi_files(plan, &because),
        None => Ok(()),
    }
}

/// MPI libraries open files by their names, which nobody can resolve beneath a directory for them.
pub fn refuse_mpi_files(plan: &Plan, because: &str) -> Result<()> {
    let is_mpi_io = |instr: &Instr| matches!(instr, Instr::Op { op, .. } if op.is_mpi_io());
    if !plan.code.iter().any(is_mpi_io) {
        return Ok(());
    }
    let message = format!(
        "the program has to be confined ({because}), but MPI libraries open the files of MPI-IO themselves"
    );
    Err(Error::input(message)
        .help("use a directory without such links, or, if you trust the program, --no-confine"))
}

fn not_supported(because: &str) -> Error {
    let message = format!(
        "the program has to be confined ({because}), but this kernel, or a filter of its calls \
         (seccomp), cannot resolve paths beneath a directory: expected openat2 (Linux 5.6)"
    );
    Error::input(message).help(
        "use a directory without links that lead up, which only you can write to, or, if you trust \
         the program, --no-confine",
    )
}

/// Refuses hard links out of a directory, devices, and directories that another run uses.
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
fn links_that_lead_up(expected: &[Expected]) -> Option<String> {
    let leads_up = |one: &&Expected| matches!(&one.what, Thing::Link(to) if !leads_down(to));
    let name = model::escape::bytes(&expected.iter().find(leads_up)?.path);
    Some(format!("--prepare makes symbolic links that lead up or are absolute, first {name}"))
}

/// The first statement that the lexical rule does not cover.
fn exception(plan: &Plan, rehearsal: &Rehearsal) -> Option<String> {
    let exception = rehearsal.exception?;
    let place = match plan.locate_site(exception.site) {
        Some((file, line, column)) => format!(" ({file}:{line}:{column})"),
        None => String::new(),
    };
    Some(format!("the program {}{place}", exception.reason))
}
