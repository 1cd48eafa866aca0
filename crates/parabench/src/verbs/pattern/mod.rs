//! `parabench pattern`: shows which bytes each member accesses, before anything runs.

mod coverage;
mod map;

use crate::args::{ProgramArgs, TextFormat};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::program;
use clap::Args;
use coverage::Coverage;
use model::escape;
use model::pattern::{Extent, MAX_STEPS};
use model::plan::{Pattern as Defined, Plan};
use page::svg::document;
use ppl::diag::Code;
use ppl::kinds::KINDS;
use report::flow;
use serde_json::{Value, json};
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

/// Most extents of all members that are shown.
const MAX_EXTENTS: usize = 20_000_000;

/// Show which bytes each member accesses, and whether each byte once
///
/// Lists the pieces, says which bytes are accessed not at all or several times, and draws a map of
/// offset against member.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Pattern {
    #[command(flatten)]
    program: Option<ProgramArgs>,

    /// The pattern to show; without it: all of the program
    #[arg(long, value_name = "PATTERN")]
    name: Option<String>,

    /// Number of members
    #[arg(short = 'n', long, default_value_t = 4,
          value_parser = crate::args::ranks)]
    ranks: u32,

    /// List this many pieces of each member
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

impl Pattern {
    /// Shows the patterns of a program, or the table of kinds.
    pub fn execute(self) -> Result<Exit> {
        let Some(args) = self.program.as_ref().filter(|_| !self.kinds) else {
            console::print(&describe_kinds(console::columns()))?;
            return Ok(Exit::Success);
        };
        let plan = self.plan(args)?;
        let (layouts, mut missing) = self.layouts(&plan)?;
        if layouts.is_empty() && missing.len() == 1 {
            return Err(missing.remove(0));
        }
        let limit = if self.all { usize::MAX } else { self.first };
        let shown = match self.format {
            TextFormat::Text => {
                let one = |layout: &Layout<'_>| layout.to_text(limit, console::columns());
                layouts.iter().map(one).collect::<Vec<_>>().join("\n")
            }
            TextFormat::Json => {
                let objects: Vec<Value> = layouts.iter().map(|one| one.to_json(limit)).collect();
                escape::json(&format!("{:#}\n", json!(objects))).into_owned()
            }
        };
        console::print(&shown)?;
        missing.iter().for_each(console::error);
        if let Some(file) = &self.svg {
            let [layout] = &layouts[..] else {
                return Err(Error::input("a picture shows one pattern, and there are several")
                    .help("choose one with --name"));
            };
            let written = std::fs::write(file, layout.to_svg());
            written.map_err(|error| Error::failed(format!("{}: {error}", file.display())))?;
        }
        Ok(missing.iter().fold(Exit::Success, |exit, error| exit.and(error.exit)))
    }

    fn plan(&self, args: &ProgramArgs) -> Result<Plan> {
        let text = program::read(&args.program)?;
        let name = text.name.clone();
        let ranks = Ranks { count: self.ranks, assumed: false, machines: Vec::new() };
        let mut compiled = compile::compile(text, args, ranks, Places::default(), true);
        // A file of definitions alone is what this is for.
        compiled.diagnostics.retain(|found| found.code != Code::Unused);
        compile::show(&compiled, &name);
        compile::plan(compiled, &name)
    }

    /// The patterns that exist for this number of members, and why others do not.
    fn layouts<'p>(&self, plan: &'p Plan) -> Result<(Vec<Layout<'p>>, Vec<Error>)> {
        let is_chosen =
            |pattern: &&Defined| self.name.as_ref().is_none_or(|name| *name == pattern.name);
        let (mut layouts, mut missing) = (Vec::new(), Vec::new());
        for pattern in plan.patterns.iter().filter(is_chosen) {
            match Layout::new(plan, pattern) {
                Ok(layout) => layouts.push(layout),
                Err(error) => missing.push(error),
            }
        }
        if layouts.is_empty() && missing.is_empty() {
            return Err(self.no_such_pattern(plan));
        }
        Ok((layouts, missing))
    }

    fn no_such_pattern(&self, plan: &Plan) -> Error {
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
    Layout::new(plan, pattern).is_ok_and(|layout| layout.coverage.holes > 0)
}

impl<'p> Layout<'p> {
    fn new(plan: &'p Plan, pattern: &'p Defined) -> Result<Layout<'p>> {
        let group = pattern.group.as_ref();
        let group = group.and_then(|name| plan.groups.iter().find(|group| group.name == *name));
        let count = group.map_or(plan.ranks, |group| group.members.len() as u32);
        let refuse = |said: String| {
            let name = &pattern.name;
            Error::input(format!(
                "there is no pattern \"{name}\" for {count_members}: {said}",
                count_members = model::words::count(count, "member")
            ))
            .help("choose another number of members with -n")
        };
        let mut left = MAX_EXTENTS;
        let mut members = Vec::with_capacity(count as usize);
        for member in 0..count {
            let share = pattern.share(plan, member, count, MAX_STEPS).map_err(refuse)?;
            let extents: Vec<Extent> = share.extents().take(left + 1).collect();
            left = left.checked_sub(extents.len()).ok_or_else(|| {
                Error::input(format!("\"{}\" has more than {MAX_EXTENTS} pieces", pattern.name))
                    .help("fewer members (-n), or smaller counts: the shape shows all the same")
            })?;
            members.push(extents);
        }
        Ok(Layout { pattern, coverage: Coverage::new(&members), members })
    }

    /// Definition, extents, coverage, map.
    fn to_text(&self, limit: usize, columns: usize) -> String {
        let Defined { name, level, definition, .. } = self.pattern;
        let mut text = match self.pattern.is_of_program() {
            true => format!("pattern \"{name}\" level {level}, extents of the program\n\n"),
            false => format!("pattern \"{name}\" level {level} = {definition}\n\n"),
        };
        text.push_str("member      pieces         bytes  offset+length\n");
        for (member, extents) in self.members.iter().enumerate() {
            let one = |extent: &Extent| format!("{}+{}", extent.offset_bytes, extent.length_bytes);
            let mut listed: Vec<String> = extents.iter().take(limit).map(one).collect();
            listed.extend((extents.len() > limit).then(|| "...".to_string()));
            let (pieces, bytes, listed) = (extents.len(), bytes(extents), listed.join(" "));
            let line = format!("{member:>6}  {pieces:>10}  {bytes:>12}  {listed}");
            text.push_str(&format!("{}\n", line.trim_end()));
        }
        let sentences = self.coverage.sentences().join("\n");
        let map = map::draw_text(&self.members, self.coverage.end_bytes, columns);
        format!("{text}\n{sentences}\n\n{map}")
    }

    fn to_json(&self, limit: usize) -> Value {
        let members = self.members.iter().enumerate().map(|(member, extents)| {
            let listed = extents.iter().take(limit);
            let listed: Vec<_> =
                listed.map(|extent| [extent.offset_bytes, extent.length_bytes]).collect();
            let bytes = bytes(extents);
            json!({"member": member, "pieces": extents.len(), "bytes": bytes, "extents": listed})
        });
        let coverage = &self.coverage;
        json!({
            "pattern": self.pattern.name,
            "level": self.pattern.level,
            "kind": self.pattern.kind(),
            "definition": self.pattern.definition,
            "members": members.collect::<Vec<_>>(),
            "coverage": {
                "exact": coverage.is_exact(),
                "start_bytes": coverage.start_bytes,
                "end_bytes": coverage.end_bytes,
                "holes": coverage.holes,
                "hole_bytes": coverage.hole_bytes,
                "overlap_bytes": coverage.overlap_bytes,
                "sentences": coverage.sentences(),
            },
        })
    }

    fn to_svg(&self) -> String {
        let Defined { name, definition, .. } = self.pattern;
        let title = format!("{name}: {definition}, {} members", self.members.len());
        let summary = self.coverage.sentences().join(" ");
        let view = map::picture(title, summary, &self.members, self.coverage.end_bytes);
        document(&view)
    }
}

fn bytes(extents: &[Extent]) -> u64 {
    extents.iter().fold(0, |sum, extent| sum.saturating_add(extent.length_bytes))
}

/// All kinds with arguments, formula and an example.
fn describe_kinds(columns: usize) -> String {
    let mut text = String::new();
    for row in KINDS {
        text.push_str(&format!("{}\n", row.signature()));
        for words in [row.doc.to_string(), format!("where: {}", row.formula)] {
            let lines = flow(&words, columns.max(40) - 4);
            lines.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
        for param in row.params {
            let expected = param.accepts.expected();
            text.push_str(&format!("    {:<10} {expected}: {}\n", param.name, param.doc));
        }
        text.push_str(&format!("  example: {}\n\n", row.example));
    }
    text + "Any other geometry: define pattern \"p\" level 0 { ... extent(offset, length); ... }\n\
            g: place of the member in its group, from 0; G: size of the group. All offsets are bytes.\n"
}
