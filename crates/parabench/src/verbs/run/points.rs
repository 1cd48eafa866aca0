//! The points (cells) of a run, each with its plan and its checks. A run that sweeps over
//! nothing is a sweep of one cell.
//!
//! All cells are compiled and checked before the first execution, and the plans are kept: what
//! happens to the program's file meanwhile changes nothing.

use super::args::Run;
use super::directory::{Directory, refuse_mpi_files};
use super::interrupt::Interrupt;
use super::point::Point;
use super::sweep::versus::{self, Versus};
use super::sweep::{enough, grid, resume};
use super::team::Team;
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::program::Text;
use crate::results::{Begun, Earlier, Folder};
use engine::config::Confinement;
use model::sweep::{Cell, Dimension, DimensionKind, Sweep};
use report::merge;
use report::schedule::LEAST_UNTIL_CI;

/// Repetitions of each cell at most if only `--until-ci` is given.
const REPS_UNTIL_CI: u32 = 100;

/// A run that can be executed.
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
    text: &Text,
    directory: &Directory,
    versus: &Versus,
    interrupt: &Interrupt,
) -> Result<Planned> {
    let grid = described(args, versus)?;
    check_names(args, text, directory, &grid)?;
    let bind = |cell| bind(args, team, &grid, cell, (text, directory), versus);
    let mut cells: Vec<Point> = Vec::new();
    for cell in 0..grid.cells.len() as u32 {
        cells.push(bind(cell)?);
        refuse_interrupted(interrupt)?;
    }
    versus::refuse_equal(&args.sweep, cells.iter().map(|bound| &bound.plan))?;
    confine_alike(&mut cells, team.is_some())?;
    if let Some(out) = &args.results.out {
        versus.directory.iter().try_for_each(|b| Folder::outside(out, b.path()))?;
        let further = directory.further().each(|one| Folder::outside(out, Some(one.place.path())));
        further.into_iter().collect::<Result<()>>()?;
    }
    refuse_interrupted(interrupt)?;
    if !args.sweep.is_asked_for() {
        let folder = args.folder(directory, team.is_some())?;
        let (run, earlier) = (model::Run::default(), Earlier::default());
        return Ok(Planned { cells, grid, folder, run, earlier, whole: None });
    }
    let mut run = merge::whole(&cells.iter().map(|bound| &bound.run).collect::<Vec<_>>(), &grid);
    run.run.job = team.and_then(Team::job).cloned();
    let (mut folder, earlier) = match open_folder(args, team, &mut run, &cells, directory)? {
        Opened::Folder(opened) => *opened,
        Opened::Whole(whole) => {
            let (folder, earlier, whole) = (None, Earlier::default(), Some(whole));
            return Ok(Planned { cells, grid, folder, run, earlier, whole });
        }
    };
    begin_sweep(args, team, &mut folder, &mut run, &cells, directory)?;
    let pairs = cells.chunks_exact(2).map(|pair| (&pair[0].rehearsal, &pair[1].rehearsal));
    if let Some(remark) = enough::remark(&grid, pairs).filter(|_| args.says_of_blocks()) {
        console::note(&remark);
    }
    Ok(Planned { cells, grid, folder, run, earlier, whole: None })
}

/// Where a sweep is stored.
enum Opened {
    /// There, with what there is of it.
    Folder(Box<(Option<Folder>, Earlier)>),
    /// Nothing is missing of it.
    Whole(Box<model::Run>),
}

/// The folder of a sweep: a new one, or that of one which goes on, with what there is of it.
fn open_folder(
    args: &Run,
    team: Option<&Team>,
    run: &mut model::Run,
    cells: &[Point],
    directory: &Directory,
) -> Result<Opened> {
    let is_kept = args.results.out.is_some();
    if let Some(sweep) = run.run.sweep.as_mut().filter(|_| is_kept) {
        resume::name_plans(sweep, cells, directory);
    }
    let rest = || resume::rest(args);
    let Some(path) = &args.sweep.resume else {
        let folder = args.folder(directory, team.is_some())?;
        if let (Some(true), Some(sweep)) = (folder.as_ref().map(Folder::stays), &mut run.run.sweep)
        {
            sweep.rest = Some(rest());
        }
        return Ok(Opened::Folder(Box::new((folder, Earlier::default()))));
    };
    Folder::outside(path, directory.path())?;
    let unfinished = match Begun::open(path)? {
        Begun::Rest(unfinished) => unfinished,
        Begun::Whole(whole) => {
            resume::check(&whole.run, &run.run)?;
            return Ok(Opened::Whole(whole));
        }
    };
    run.run.sweep.iter_mut().for_each(|sweep| sweep.rest = Some(rest()));
    resume::check(&unfinished.run.run, &run.run)?;
    let began = unfinished.run.run.clone();
    let (folder, earlier) = unfinished.take()?;
    resume::note(&mut run.run, &began, earlier.executions.len());
    Ok(Opened::Folder(Box::new((Some(folder), earlier))))
}

fn refuse_interrupted(interrupt: &Interrupt) -> Result<()> {
    match interrupt.requested() {
        true => Err(Error { exit: Exit::Interrupted, ..Error::input("interrupted") }),
        false => Ok(()),
    }
}

fn bind(
    args: &Run,
    team: Option<&Team>,
    grid: &Sweep,
    cell: u32,
    a: (&Text, &Directory),
    versus: &Versus,
) -> Result<Point> {
    let binding = grid::binding(args, &grid.dimensions, &grid.values_at(cell));
    // Most warnings are the same for all cells.
    let warnings = cell == 0 || (cell == 1 && versus.text.is_some());
    let (text, directory) = (versus.text(cell, a.0).clone(), versus.directory(cell, a.1));
    let bound = args.bind(text, &binding, directory, team, warnings);
    bound.map_err(|error| at(args, grid, cell, error))
}

/// The same error, with the point at which it came up.
pub fn at(args: &Run, grid: &Sweep, cell: u32, error: Error) -> Error {
    match args.sweep.is_asked_for() {
        true => {
            Error { message: format!("at {}: {}", grid.describe(cell), error.message), ..error }
        }
        false => error,
    }
}

/// Stores the grid before the first execution.
fn begin_sweep(
    args: &Run,
    team: Option<&Team>,
    folder: &mut Option<Folder>,
    run: &mut model::Run,
    cells: &[Point],
    directory: &Directory,
) -> Result<()> {
    let nodes = team.map_or(1, Team::nodes);
    let needs = cells.iter().map(|bound| args.needs(&bound.rehearsal, directory, nodes));
    match (folder, needs.max_by_key(|needs| needs.bytes)) {
        (Some(folder), Some(needs)) => folder.begin_sweep(run, &needs),
        _ => Ok(()),
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
pub fn described(args: &Run, versus: &Versus) -> Result<Sweep> {
    let given = &args.sweep;
    if given.until_ci.is_some() && given.reps.is_some_and(|reps| reps < LEAST_UNTIL_CI) {
        let message = format!("--until-ci needs at least {LEAST_UNTIL_CI} repetitions");
        return Err(Error::input(message).help("--reps is the largest number with --until-ci"));
    }
    let dimensions = grid::dimensions(args, versus.pair.as_ref())?;
    let count = dimensions.iter().map(|dimension| dimension.values.len()).product::<usize>();
    let default_reps = match (given.until_ci, &versus.pair) {
        (Some(_), _) => REPS_UNTIL_CI,
        (None, Some(_)) => versus::BLOCKS,
        (None, None) => 1,
    };
    Ok(Sweep {
        dimensions,
        cells: (0..count as u32).map(|cell| Cell { cell, ..Cell::default() }).collect(),
        order: Vec::new(),
        reps: given.reps.unwrap_or(default_reps),
        warm_up: given.warm_up,
        settle_ns: given.settle.unwrap_or(0),
        until_ci: given.until_ci,
        versus: versus.pair.is_some(),
        ..Sweep::default()
    })
}

/// Refuses parameters that the program does not have, in the words of the option.
pub fn check_names(args: &Run, text: &Text, directory: &Directory, grid: &Sweep) -> Result<()> {
    let params = grid.dimensions.iter().filter(|dimension| dimension.kind == DimensionKind::Param);
    let params: Vec<&Dimension> = params.collect();
    if params.is_empty() {
        return Ok(());
    }
    let Some(known) = args.parameter_names(text.clone(), directory) else { return Ok(()) };
    let unknown = params.into_iter().find(|dimension| !known.contains(&dimension.name));
    let Some(Dimension { name: unknown, values, .. }) = unknown else { return Ok(()) };
    let option = match (&args.sweep.versus, values.first()) {
        (Some((name, value)), _) if name == unknown => format!("--versus {name}={value}"),
        (_, first) => format!("--sweep {unknown}={},..", first.map_or("", String::as_str)),
    };
    let message = format!("{option}: the program has no parameter {unknown}");
    Err(Error::input(message).help(
        match ppl::word::nearest(unknown.as_str(), known.iter().map(String::as_str)) {
            Some(name) => format!("the nearest is {name}"),
            None if known.is_empty() => "it has none: param $name = default;".into(),
            None => format!("it has {}", known.join(" ")),
        },
    ))
}
