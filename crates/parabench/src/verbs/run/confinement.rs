//! Confines a program to its directories, and checks that there is room for its files.

use super::args::Run;
use super::directory::Directory;
use crate::error::{Error, Result};
use engine::backend::resolve;
use engine::config::{BackendKind, Confinement};
use engine::directory::Survey;
use engine::preflight::{self, Room};
use model::directory::leads_down;
use model::plan::Instr;
use model::rehearsal::{Expected, Rehearsal, Thing};
use model::{Op, Plan};

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
    /// The lexical rule, where it is enough; else every path is also resolved beneath its directory.
    /// `expected`: files and links that are made before the program starts. `mpi`: MPI starts the ranks.
    pub fn confine(
        &self,
        run: &Run,
        plan: &Plan,
        rehearsal: &Rehearsal,
        expected: &[Expected],
        mpi: bool,
    ) -> Result<Confined> {
        let mut confined = Confined { by: Confinement::Checked, notes: Vec::new() };
        if run.execution.backend != BackendKind::Posix {
            return Ok(confined);
        }
        let places = self.all();
        // It may open a directory that only this user can enter, or move things to one that others enter.
        let is_chmod = |instr: &Instr| matches!(instr, Instr::Op { op: Op::Chmod, .. });
        let opens = plan.code.iter().any(is_chmod) || places.len() > 1;
        let mut doubts = Vec::new();
        for place in &places {
            let survey = place.survey();
            confined.notes.extend(way_out(survey, run)?);
            let opened = survey.doubt_if_opened.iter().filter(|_| opens);
            doubts.extend(survey.doubt.iter().chain(opened).map(|doubt| match &*place.name {
                "" => doubt.clone(),
                name => format!("{doubt} (directory {name})"),
            }));
        }
        doubts.extend(links_that_lead_up(expected));
        doubts.extend(exception(plan, rehearsal));
        if run.directory.no_confine {
            let although = doubts.iter().map(|doubt| format!("not confined, although {doubt}"));
            confined.notes.extend(although);
            return Ok(Confined { by: Confinement::Trusted, ..confined });
        }
        doubts.extend(run.directory.confine.then(|| "--confine was given".to_string()));
        let Some(because) = doubts.first() else { return Ok(confined) };
        if mpi {
            refuse_mpi_files(plan, because)?;
        }
        if let Some(path) = self.path() {
            resolve::check_support(path).map_err(|_| not_supported(because))?;
        }
        confined.notes.extend(doubts.iter().map(|doubt| format!("confined because {doubt}")));
        confined.notes.push(
            "calls on names are two system calls when confined: the first one finds the directory of \
             the name. Their times include both and are longer than those of an application"
                .into(),
        );
        let across_mounts = places.iter().any(|place| place.holds_mounts());
        Ok(Confined { by: Confinement::Beneath { across_mounts }, ..confined })
    }

    /// Compares what the program needs with what is there; gives remarks.
    pub fn preflight(&self, run: &Run, plan: &Plan, rehearsal: &Rehearsal) -> Result<Vec<String>> {
        let Some(path) = self.path() else { return Ok(Vec::new()) };
        if run.directory.no_preflight {
            preflight::raise_open_files();
            return Ok(Vec::new());
        }
        let places = self.all();
        let mut found = vec![preflight::preflight(path, rehearsal)];
        let mut rooms = Vec::new();
        for place in &places {
            let (name, directory) = (&*place.name, &*place.path);
            // The number of the directory in the plan; the run directory is the first.
            let mut names =
                std::iter::once("").chain(plan.directories.iter().map(|one| &*one.name));
            let number = names.position(|known| known == name).unwrap_or(usize::MAX);
            if !name.is_empty() {
                found.push(preflight::further(name, directory, number, rehearsal));
            }
            let peak = rehearsal.peaks.get(number).copied().unwrap_or_default();
            rooms.push(Room { name, directory, peak });
        }
        found.push(preflight::shared(&rooms, rehearsal));
        let errors: Vec<String> = found.iter().flat_map(|one| one.errors.clone()).collect();
        match errors.is_empty() {
            true => Ok(found.into_iter().flat_map(|one| one.notes).collect()),
            false => Err(Error::input(errors.join("\nerror: "))),
        }
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
