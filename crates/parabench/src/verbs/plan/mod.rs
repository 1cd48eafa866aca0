//! `parabench plan`: what a run will do, without touching the disk.

mod figures;
mod json;
mod text;

use crate::args::{MAX_RANKS, ProgramArgs, TextFormat};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::program;
use crate::rehearse::rehearse;
use clap::Args;
use engine::config::Config;
use engine::supervise::{Calls, list_calls};

/// Show what a program will do, without touching the disk
///
/// The flat code, then the budget: operations by kind, bytes, files and directories, per rank
/// and in all, found by rehearsing the program on files in memory. With --ops also the first system calls of a rank.
#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    program: ProgramArgs,

    /// Number of ranks
    #[arg(short = 'n', long, default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=MAX_RANKS))]
    ranks: u32,

    /// Number of machines, on which the ranks are one after the other
    #[arg(long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=MAX_RANKS))]
    nodes: u32,

    /// Show the first N system calls of a rank
    #[arg(long, value_name = "N")]
    ops: Option<usize>,

    /// The rank whose calls are shown
    #[arg(long, value_name = "R", requires = "ops", default_value_t = 0)]
    rank: u32,

    /// How it is printed
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

impl Plan {
    /// Compiles the program and shows what became of it.
    pub fn execute(self) -> Result<Exit> {
        if self.rank >= self.ranks {
            return Err(Error::input(format!(
                "there is no rank {}: ranks are 0 to {}",
                self.rank,
                self.ranks - 1
            ))
            .help("choose another --rank, or more ranks with -n"));
        }
        if self.nodes > self.ranks {
            let message = format!("--nodes {}: there are {} ranks", self.nodes, self.ranks);
            return Err(
                Error::input(message).help("a machine has a rank or more: more ranks with -n")
            );
        }
        let text = program::read(&self.program.program)?;
        let name = text.name.clone();
        let machines = self.machines();
        let config = Config { machines: machines.clone(), ..Config::default() };
        let ranks = Ranks { count: self.ranks, assumed: false, machines };
        let places = Places::named(&self.program)?;
        let mut compiled = compile::compile(text, &self.program, ranks, places, true);
        let (plan, found) = (compiled.plan.as_ref(), &mut compiled.diagnostics);
        let rehearsal = rehearse(plan, found, &config, true)?;
        compile::show(&compiled, &name);
        let plan = compile::plan(compiled, &name)?;
        let calls = match self.ops {
            Some(count) => Some(self.calls(&plan, count)?),
            None => None,
        };
        let shown = match self.format {
            TextFormat::Text => text::render(&plan, &rehearsal, calls.as_ref()),
            TextFormat::Json => json::render(&name, &plan, &rehearsal, calls.as_ref()),
        };
        console::print(&shown)?;
        Ok(Exit::Success)
    }

    /// The machine of each rank, as launchers fill them.
    fn machines(&self) -> Vec<u32> {
        match self.nodes {
            1 => Vec::new(),
            nodes => (0..u64::from(self.ranks))
                .map(|rank| (rank * u64::from(nodes) / u64::from(self.ranks)) as u32)
                .collect(),
        }
    }

    /// The first calls, found by executing the plan on files in memory.
    fn calls(&self, plan: &model::Plan, count: usize) -> Result<Calls> {
        let ranks = self.rank..self.rank + 1;
        list_calls(plan, &Config::default(), ranks, count)
            .map_err(|error| Error::failed(error.to_string()))
    }
}
