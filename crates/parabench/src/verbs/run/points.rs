//! The points (cells) of a run, each with its plan and its checks. A run that sweeps over
//! nothing is a sweep of one cell.
//!
//! All cells are compiled and checked before the first execution, and the plans are kept: what
//! happens to the program's file meanwhile changes nothing.

use super::args::Run;
use super::confinement::refuse_mpi_files;
use super::directory::Directory;
use super::interrupt::Interrupt;
use super::point::Point;
use super::sweep::grid::{self, Sides};
use super::sweep::{remarks, resume};
use super::team::Team;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::program;
use crate::results::{Begun, Earlier, Folder};
use engine::config::Confinement;
use model::sweep::{Cell, SharedDevice, Sweep};
use report::merge;
use report::schedule::LEAST_UNTIL_CI;

/// Repetitions of each cell at most if only `--until-ci` is given.
const REPS_UNTIL_CI: u32 = 100;

/// A run that can be executed.
#[derive(Default)]
pub struct Planned {
    /// By number of cell.
    pub cells: Vec<Point>,
    /// The requested grid; otherwise one cell, once.
    pub grid: Sweep,
    /// Where the run is stored.
    pub folder: Option<Folder>,
    /// The run of the whole sweep.
    pub run: model::Run,
    /// Executions that a resumed sweep has already.
    pub earlier: Earlier,
    /// A resumed sweep of which nothing is missing.
    pub whole: Option<Box<model::Run>>,
}

/// Everything that can refuse a run, before anything of it happens: all cells are bound and checked.
pub fn plan_all(
    args: &Run,
    team: Option<&Team>,
    sides: &Sides,
    interrupt: &Interrupt,
) -> Result<Planned> {
    let is_interrupted = || interrupt.requested();
    let (grid, mut cells) = bind_all(args, sides, team.map(Team::machines), &is_interrupted)?;
    let directory = sides.directory(0);
    if let (Some(team), Some(job)) = (team, team.and_then(Team::job)) {
        for point in &mut cells {
            point.run.run.job = Some(job.part(&point.members.ranks(team.machines())));
        }
    }
    if let Some(out) = &args.results.out {
        let mut places = sides.directories.iter().flat_map(Directory::all);
        places.try_for_each(|place| Folder::outside(out, Some(&place.path)))?;
    }
    let mut planned = Planned { cells, grid, ..Planned::default() };
    if !args.sweep.is_asked_for() {
        planned.folder = args.folder(directory, team.is_some())?;
        return Ok(planned);
    }
    let runs: Vec<&model::Run> = planned.cells.iter().map(|bound| &bound.run).collect();
    planned.run = merge::whole(&runs, &planned.grid);
    planned.run.run.job = team.and_then(Team::job).cloned();
    open_folder(args, team, &mut planned, directory)?;
    if planned.whole.is_some() {
        return Ok(planned);
    }
    // Stores the grid before the first execution.
    let nodes = team.map_or(1, Team::nodes);
    let needs = planned.cells.iter().map(|bound| args.needs(&bound.rehearsal, directory, nodes));
    let needs = needs.max_by_key(|needs| needs.bytes);
    if let (Some(folder), Some(needs)) = (&mut planned.folder, needs) {
        folder.begin_sweep(&mut planned.run, &needs)?;
    }
    Ok(planned)
}

impl Run {
    /// Binds and checks every point as an MPI job with these ranks would, which is to start elsewhere; `machines`: of
    /// each rank. `parabench job` asks before a job waits in a queue. Nothing is opened or made, so what depends on
    /// directories and on the machine comes out later.
    pub fn foresee(self, machines: &[u32]) -> Result<()> {
        let run = self.resolved(Some(machines.len() as u32));
        run.check_ranks()?;
        let nodes = machines.last().map_or(1, |last| last + 1);
        run.sweep.fits(run.ranks, nodes)?;
        let sides = Sides::open(&run, program::read(&run.program.program)?, None)?;
        let (_, cells) = bind_all(&run, &sides, Some(machines), &|| false)?;
        if let Some(failure) = cells.iter().find_map(|point| point.rehearsal.failure.as_ref()) {
            console::warning(&format!(
                "rehearsed with the ranks of the job, the program fails: {failure}"
            ));
        }
        Ok(())
    }
}

/// The grid and its points, each bound and checked. `job`: the machine of each rank of an MPI job.
fn bind_all(
    args: &Run,
    sides: &Sides,
    job: Option<&[u32]>,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<(Sweep, Vec<Point>)> {
    let mut grid = describe(args, sides)?;
    let mut cells: Vec<Point> = Vec::new();
    for cell in 0..grid.cells.len() as u32 {
        let binding = grid::binding(args, &grid.dimensions, &grid.values_at(cell));
        // Most warnings are the same for all cells.
        let warnings = sides.is_new_text(cell);
        let (text, directory) = (sides.text(cell).clone(), sides.directory(cell));
        let bound = args.bind(text, &binding, directory, job, warnings);
        cells.push(bound.map_err(|error| at(args, &grid, cell, error))?);
        if is_interrupted() {
            return Err(Error { exit: Exit::Interrupted, ..Error::input("interrupted") });
        }
    }
    grid::refuse_equal(&args.sweep, cells.iter().map(|bound| &bound.plan))?;
    confine_alike(&mut cells, job.is_some())?;
    let shared = sides.shared_device().filter(|_| grid.versus);
    grid.shared_device = shared.map(|how| match is_same_in_both(&cells) {
        true => how,
        false => SharedDevice::Kept,
    });
    let pairs = cells.chunks_exact(2).map(|pair| (&pair[0].rehearsal, &pair[1].rehearsal));
    let remark = remarks::too_few_blocks(&grid, pairs);
    if let Some(remark) = remark.filter(|_| args.says_of_blocks()) {
        console::note(&remark);
    }
    Ok((grid, cells))
}

/// No program knows in which directory it is.
fn is_same_in_both(cells: &[Point]) -> bool {
    let code = |point: &Point| (point.plan.code.clone(), point.plan.consts.clone());
    cells.chunks_exact(2).all(|pair| code(&pair[0]) == code(&pair[1]))
}

/// The folder of a sweep: a new one, or that of one which goes on, with what there is of it.
fn open_folder(
    args: &Run,
    team: Option<&Team>,
    planned: &mut Planned,
    directory: &Directory,
) -> Result<()> {
    let Planned { cells, folder, run, earlier, whole, .. } = planned;
    if let Some(sweep) = run.run.sweep.as_mut().filter(|_| args.results.out.is_some()) {
        resume::name_plans(sweep, cells, directory);
    }
    let Some(path) = &args.sweep.resume else {
        *folder = args.folder(directory, team.is_some())?;
        let stays = folder.as_ref().is_some_and(Folder::stays);
        run.run
            .sweep
            .iter_mut()
            .filter(|_| stays)
            .for_each(|one| one.rest = Some(resume::rest(args)));
        return Ok(());
    };
    Folder::outside(path, directory.path())?;
    let unfinished = match Begun::open(path, args.directory.force)? {
        Begun::Rest(unfinished) => unfinished,
        Begun::Whole(stored) => {
            resume::check(&stored.run, &run.run)?;
            *whole = Some(stored);
            return Ok(());
        }
    };
    run.run.sweep.iter_mut().for_each(|sweep| sweep.rest = Some(resume::rest(args)));
    resume::check(&unfinished.run.run, &run.run)?;
    let began = unfinished.run.run.clone();
    let (resumed, executions) = unfinished.take()?;
    resume::note(&mut run.run, &began, executions.executions.len());
    (*folder, *earlier) = (Some(resumed), executions);
    Ok(())
}

/// The same error, with the point at which it came up.
fn at(args: &Run, grid: &Sweep, cell: u32, error: Error) -> Error {
    match args.sweep.is_asked_for() {
        true => {
            Error { message: format!("at {}: {}", grid.describe(cell), error.message), ..error }
        }
        false => error,
    }
}

/// Points share the directory: if one may leave links there, all are confined. Under MPI, points with
/// MPI-IO are refused then, because MPI libraries would follow the links.
fn confine_alike(cells: &mut [Point], mpi: bool) -> Result<()> {
    let is_confined = |one: &Point| matches!(one.confined.by, Confinement::Beneath { .. });
    let Some(first) = cells.iter().find(|one| is_confined(one)) else { return Ok(()) };
    let confined = first.confined.clone();
    for one in cells.iter_mut().filter(|one| !is_confined(one)) {
        if mpi {
            refuse_mpi_files(&one.plan, "another program of this run is, in the same directory")?;
        }
        one.confined.by = confined.by;
        one.run.run.evidence.confinement = confined.name().into();
        one.run.run.evidence.notes.extend(confined.notes.iter().cloned());
    }
    Ok(())
}

/// The grid as it was asked for.
fn describe(args: &Run, sides: &Sides) -> Result<Sweep> {
    let given = &args.sweep;
    if given.until_ci.is_some() && given.reps.is_some_and(|reps| reps < LEAST_UNTIL_CI) {
        let message = format!("--until-ci needs at least {LEAST_UNTIL_CI} repetitions");
        return Err(Error::input(message).help("--reps is the largest number with --until-ci"));
    }
    let dimensions = grid::dimensions(args, sides.last.as_ref())?;
    let count = dimensions.iter().map(|dimension| dimension.values.len()).product::<usize>();
    let default_reps = match (given.until_ci, given.compares()) {
        (Some(_), _) => REPS_UNTIL_CI,
        (None, true) => grid::BLOCKS,
        (None, false) => 1,
    };
    Ok(Sweep {
        dimensions,
        cells: (0..count as u32).map(|cell| Cell { cell, ..Cell::default() }).collect(),
        order: Vec::new(),
        reps: given.reps.unwrap_or(default_reps),
        warm_up: given.warm_up,
        settle_ns: given.settle.unwrap_or(0),
        until_ci: given.until_ci,
        versus: given.compares(),
        ..Sweep::default()
    })
}
