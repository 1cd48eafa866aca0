//! `parabench pattern`: which bytes each member accesses, before anything runs.

mod coverage;
mod kinds;
mod map;
mod shown;
mod svg;

use crate::args::{MAX_RANKS, ProgramArgs, Seed, TextFormat, assignment, group, seed};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::program;
use clap::Args;
use coverage::Coverage;
use model::Plan;
use model::pattern::{Extent, MAX_STEPS};
use model::plan::Pattern as Defined;
use ppl::diag::Code;
use std::path::PathBuf;

/// Shown below the options.
const EXAMPLES: &str = "\
Examples:
  parabench pattern @piobench -n 4                    all patterns of a program, for 4 members
  parabench pattern x.ppl --name tiles -n 12 --all    every piece of one
  parabench pattern x.ppl buffer=1m --svg map.svg     a picture, with a parameter
  parabench pattern --kinds                           the kinds there are, with their arguments

A file x.ppl needs no more than a definition:
  define pattern \"tiles\" level 3 = tiled(nx=2, ny=2, sx=8, sy=6, elem=4, ox=1, oy=1);
  define pattern \"mine\"  level 0 { repeat $i 10 extent(($i*$$gsize+$$grank)*64k, 64k); }";

/// Extents of all members that are looked at.
const MAX_EXTENTS: usize = 20_000_000;

/// Show which bytes each member accesses, and whether each byte once
///
/// Lists the pieces, says which bytes are accessed not at all or several times, and draws a map of
/// offset against member.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Pattern {
    /// Program: a file, `-` for standard input, or `@name` of `parabench programs`
    #[arg(value_name = "PROGRAM", required_unless_present = "kinds")]
    program: Option<PathBuf>,

    /// Values of the program's parameters; the environment's PARABENCH_NAME comes second
    #[arg(value_name = "NAME=VALUE", value_parser = assignment)]
    params: Vec<(String, String)>,

    /// Size of a group the program defines, a number or a share such as 50%
    #[arg(short = 'g', long = "group", value_name = "NAME[:SIZE]", value_parser = group)]
    groups: Vec<(String, Option<String>)>,

    /// Folder in which the program may include files, besides its own and those below
    #[arg(long = "include-dir", value_name = "DIR")]
    include_dirs: Vec<PathBuf>,

    /// Seed of random lengths and orders
    #[arg(long, default_value = "42", value_parser = seed)]
    seed: Seed,

    /// The pattern to show; without it: all of the program
    #[arg(long, value_name = "PATTERN")]
    name: Option<String>,

    /// Number of members
    #[arg(short = 'n', long, default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=MAX_RANKS))]
    ranks: u32,

    /// List so many pieces of each member
    #[arg(long, value_name = "N", default_value_t = 4)]
    first: usize,

    /// List all pieces
    #[arg(long, conflicts_with = "first")]
    all: bool,

    /// Write the map as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// How it is printed
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,

    /// Describe the kinds of patterns and their arguments
    #[arg(long, exclusive = true)]
    kinds: bool,
}

/// A pattern laid out for some members.
struct Layout<'p> {
    pattern: &'p Defined,
    /// Extents of each member, in the order of access.
    members: Vec<Vec<Extent>>,
    coverage: Coverage,
}

impl Layout<'_> {
    /// The definition, with what follows from the number of members.
    fn written(&self) -> String {
        self.pattern.geometry.written(self.members.len() as u32)
    }
}

/// What can be shown, and why the rest cannot.
type Layouts<'p> = (Vec<Layout<'p>>, Vec<Error>);

impl Pattern {
    /// Shows the patterns of a program, or the table of kinds.
    pub fn execute(self) -> Result<Exit> {
        if self.kinds {
            console::print(&kinds::list(console::columns()))?;
            return Ok(Exit::Success);
        }
        let plan = self.plan()?;
        let (layouts, missing) = self.layouts(&plan)?;
        let limit = if self.all { usize::MAX } else { self.first };
        let shown = match self.format {
            TextFormat::Text => shown::text(&layouts, limit, console::columns()),
            TextFormat::Json => shown::json(&layouts, limit),
        };
        console::print(&shown)?;
        missing.iter().for_each(console::error);
        if let Some(file) = &self.svg {
            let [layout] = &layouts[..] else {
                return Err(Error::input("a picture shows one pattern, and there are several")
                    .help("choose one with --name"));
            };
            let written = std::fs::write(file, svg::draw(layout));
            written.map_err(|error| Error::failed(format!("{}: {error}", file.display())))?;
        }
        Ok(missing.iter().fold(Exit::Success, |exit, error| exit.and(error.exit)))
    }

    fn plan(&self) -> Result<Plan> {
        let args = ProgramArgs {
            program: self.program.clone().unwrap_or_default(),
            params: self.params.clone(),
            groups: self.groups.clone(),
            include_dirs: self.include_dirs.clone(),
            mounts: Vec::new(),
            seed: self.seed,
        };
        let text = program::read(&args.program)?;
        let name = text.name.clone();
        let ranks = Ranks { count: self.ranks, assumed: false, machines: Vec::new() };
        let mut compiled = compile::compile(text, &args, ranks, Places::default(), true);
        // A file of definitions alone is what this is for.
        compiled.diagnostics.retain(|found| found.code != Code::Unused);
        compile::show(&compiled, &name);
        compile::plan(compiled, &name)
    }

    /// Fails if there is nothing to show.
    fn layouts<'p>(&self, plan: &'p Plan) -> Result<Layouts<'p>> {
        let chosen =
            |pattern: &&Defined| self.name.as_ref().is_none_or(|name| *name == pattern.name);
        let patterns: Vec<&Defined> = plan.patterns.iter().filter(chosen).collect();
        if patterns.is_empty() {
            return Err(self.no_such(plan));
        }
        let (mut layouts, mut missing) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match layout(plan, pattern) {
                Ok(layout) => layouts.push(layout),
                Err(error) => missing.push(error),
            }
        }
        match layouts.is_empty() && missing.len() == 1 {
            true => Err(missing.remove(0)),
            false => Ok((layouts, missing)),
        }
    }

    fn no_such(&self, plan: &Plan) -> Error {
        let names: Vec<String> =
            plan.patterns.iter().map(|pattern| format!("\"{}\"", pattern.name)).collect();
        match (&self.name, names.is_empty()) {
            (Some(name), false) => Error::input(format!("there is no pattern \"{name}\""))
                .help(format!("the program defines {}", names.join(", "))),
            _ => Error::input("the program defines no pattern")
                .help("for example: define pattern \"p\" level 0 = strided(block=64k, count=16);"),
        }
    }
}

/// Members leave bytes between the first and the last that any of them accesses; false where that is
/// too much to find out.
pub fn has_holes(plan: &Plan, pattern: &Defined) -> bool {
    layout(plan, pattern).is_ok_and(|layout| layout.coverage.holes > 0)
}

fn layout<'p>(plan: &'p Plan, pattern: &'p Defined) -> Result<Layout<'p>> {
    let group = pattern.group.as_ref();
    let group = group.and_then(|name| plan.groups.iter().find(|group| group.name == *name));
    let members = group.map_or(plan.ranks, |group| group.members.len() as u32);
    let refuse = |said: String| {
        let name = &pattern.name;
        Error::input(format!("there is no pattern \"{name}\" for {members} members: {said}"))
            .help("choose another number of members with -n")
    };
    let mut left = MAX_EXTENTS;
    let mut lists = Vec::with_capacity(members as usize);
    for member in 0..members {
        let share = pattern.share(plan, member, members, MAX_STEPS).map_err(refuse)?;
        let extents: Vec<Extent> = share.extents().take(left + 1).collect();
        left = left.checked_sub(extents.len()).ok_or_else(|| {
            Error::input(format!("\"{}\" has more than {MAX_EXTENTS} pieces", pattern.name))
                .help("fewer members (-n), or smaller counts: the shape shows all the same")
        })?;
        lists.push(extents);
    }
    let coverage = Coverage::of(&lists);
    Ok(Layout { pattern, members: lists, coverage })
}
