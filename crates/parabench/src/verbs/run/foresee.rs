//! Checks of a run that is to start elsewhere, with a given number of ranks and machines: `parabench job`
//! asks before a job waits in a queue. Nothing is opened or made, so what depends on directories and on
//! the machine comes out later.

use super::args::Run;
use super::directory::{self, Directory};
use super::points;
use super::sweep::versus::{self, Versus};
use super::sweep::{enough, grid};
use super::{further, only};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::error::Result;
use crate::program::{self, Text};
use crate::rehearse::rehearse;
use engine::config::BackendKind;
use model::Plan;
use model::rehearsal::Rehearsal;
use model::sweep::Sweep;

impl Run {
    /// Binds and checks every point as an MPI job with these ranks would; `machines`: of each rank.
    pub fn foresee(self, machines: Vec<u32>) -> Result<()> {
        let run = self.resolved(Some(machines.len() as u32));
        run.check_ranks()?;
        let nodes = machines.last().map_or(1, |last| last + 1);
        run.sweep.fits(run.ranks, nodes)?;
        let directory = Directory::unopened();
        let text = program::read(&run.program.program)?;
        let versus = Versus::foresee(&run, &text, &directory)?;
        let grid = points::described(&run, &versus)?;
        points::check_names(&run, &text, &directory, &grid)?;
        let foreseen = Foreseen { run: &run, grid: &grid, machines: &machines };
        let (mut first, mut rehearsal): (Vec<Plan>, _) = (Vec::new(), None);
        for cell in 0..grid.cells.len() as u32 {
            let bound = foreseen.bind(cell, versus.text(cell, &text).clone());
            let (plan, rehearsed) = bound.map_err(|error| points::at(&run, &grid, cell, error))?;
            rehearsal = rehearsal.or(rehearsed);
            // What A and B are, if there are such.
            if first.len() < 2 {
                first.push(plan);
            }
        }
        versus::refuse_equal(&run.sweep, first.iter())?;
        // All points are taken for what the first of them was found to be.
        let pairs = rehearsal.iter().map(|rehearsal| (rehearsal, rehearsal));
        let pairs = pairs.cycle().take(grid.cells.len() / 2);
        if let Some(remark) = enough::remark(&grid, pairs).filter(|_| run.says_of_blocks()) {
            console::note(&remark);
        }
        Ok(())
    }
}

/// A run that is to start elsewhere.
struct Foreseen<'a> {
    run: &'a Run,
    grid: &'a Sweep,
    machines: &'a [u32],
}

impl Foreseen<'_> {
    /// The plan of a point that the run would execute; of the first point with its rehearsal.
    fn bind(&self, cell: u32, text: Text) -> Result<(Plan, Option<Rehearsal>)> {
        let run = self.run;
        let binding = grid::binding(run, &self.grid.dimensions, &self.grid.values_at(cell));
        let part = binding.members.ranks(self.machines);
        let machines: Vec<u32> = part.iter().map(|rank| self.machines[*rank as usize]).collect();
        let config = run.for_rehearsal(&Directory::unopened(), machines.clone());
        let ranks = Ranks { count: machines.len() as u32, assumed: false, machines };
        let inside = run.directory.dir.as_ref().and_then(|dir| dir.to_str()).map(str::to_string);
        let places = Places { directory: inside, ..Places::named(&binding.program)? };
        let name = text.name.clone();
        let mut compiled = compile::compile(text, &binding.program, ranks, places, true);
        let mut rehearse = || {
            let finds_files = run.directory.dir.is_some();
            rehearse(compiled.plan.as_ref(), &mut compiled.diagnostics, &config, finds_files)
        };
        let rehearsal = if cell == 0 { Some(rehearse()?) } else { None };
        if compiled.plan.is_none() || cell == 0 {
            compile::show(&compiled, &name);
        }
        if let Some(failure) = rehearsal.as_ref().and_then(|rehearsal| rehearsal.failure.as_ref()) {
            console::warning(&format!(
                "rehearsed with the ranks of the job, the program fails: {failure}"
            ));
        }
        let plan = compile::plan(compiled, &name)?;
        only::check(&run.execution.only, &plan)?;
        if run.execution.backend == BackendKind::Posix {
            further::check_granted(run, &plan)?;
            directory::foresee_confinement(run, &plan, rehearsal.as_ref())?;
        }
        Ok((plan, rehearsal))
    }
}
