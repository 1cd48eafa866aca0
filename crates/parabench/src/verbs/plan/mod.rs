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
        let text = program::read(&self.program.program)?;
        let name = text.name.clone();
        let ranks = Ranks { count: self.ranks, assumed: false, machines: Vec::new() };
        let places = Places::named(&self.program)?;
        let mut compiled = compile::compile(text, &self.program, ranks, places, true);
        let (plan, found) = (compiled.plan.as_ref(), &mut compiled.diagnostics);
        let rehearsal = rehearse(plan, found, &Config::default(), true)?;
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

    /// The first calls, found by executing the plan on files in memory.
    fn calls(&self, plan: &model::Plan, count: usize) -> Result<Calls> {
        let ranks = self.rank..self.rank + 1;
        list_calls(plan, &Config::default(), ranks, count)
            .map_err(|error| Error::failed(error.to_string()))
    }
}
