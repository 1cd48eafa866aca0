//! Text to plan: binds a program to its parameters, ranks and directory.

pub use crate::args::{ProgramArgs, Seed};

use crate::args::PAPER;
use crate::console;
use crate::diagnostics;
use crate::error::{Error, Result};
use crate::library;
use crate::loader::{Includes, data_of};
use crate::program::Text;
use model::Plan;
use ppl::diag::{Code, Diagnostic};
use ppl::{Binding, Compiled};
use std::path::PathBuf;

/// Ranks according to the options of a subcommand.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// Their number.
    pub count: u32,
    /// Nobody has given that number.
    pub assumed: bool,
    /// The machine of each; empty: all share one.
    pub machines: Vec<u32>,
}

/// Where a program works.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Absolute path of the run directory, if there is one.
    pub directory: Option<String>,
    /// Names and absolute paths of the directories that are granted besides.
    pub further: Vec<(String, String)>,
}

impl Places {
    /// Nothing is touched: further directories are known by name and path alone.
    pub fn named(args: &ProgramArgs) -> Result<Places> {
        let absolute = |(name, path): &(String, PathBuf)| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            (name.clone(), path.to_string_lossy().into_owned())
        };
        Ok(Places { directory: None, further: args.granted()?.iter().map(absolute).collect() })
    }
}

/// Compiles a program.
/// `mpi`: MPI statements are no reason for a warning, because nothing is executed.
pub fn compile(
    text: Text,
    args: &ProgramArgs,
    ranks: Ranks,
    places: Places,
    mpi: bool,
) -> Compiled {
    let binding = Binding {
        ranks_assumed: ranks.assumed,
        machines: ranks.machines,
        params: args.assignments(),
        groups: args.groups.clone(),
        seed: args.seed.number(),
        directory: places.directory,
        directories: places.further,
        env: Box::new(|name| std::env::var(name).ok()),
        files: data_of(&text.name, &args.include_dirs),
        mpi,
        ..Binding::new(ranks.count)
    };
    let mut loader = Includes::new(&text.name, &args.include_dirs);
    let mut compiled = ppl::compile(&text.name, text.bytes, &mut loader, &binding);
    if args.paper {
        explain_paper(&mut compiled);
    }
    compiled
}

/// `--paper` with a program that has no such parameter.
fn explain_paper(compiled: &mut Compiled) {
    let is_unknown = |found: &&mut Diagnostic| {
        found.code == Code::UnknownParameter && found.message.starts_with("paper=true:")
    };
    let Some(found) = compiled.diagnostics.iter_mut().find(is_unknown) else { return };
    let has_it = |text: &str| text.contains(&format!("param ${PAPER} ="));
    let names = library::programs().filter(|program| has_it(program.text));
    let names: Vec<String> = names.map(|program| format!("@{}", program.name)).collect();
    found.message = format!("--paper: the program has no parameter {PAPER}");
    found.help = Some(format!(
        "these have one: {}; in your own program: param ${PAPER} = false;",
        names.join(" ")
    ));
}

/// Draws what is wrong with a program on standard error. `what`: its name, for the summary.
pub fn show(compiled: &Compiled, what: &str) {
    if compiled.diagnostics.is_empty() {
        return;
    }
    let (found, sources) = (&compiled.diagnostics, &compiled.sources);
    console::say_made(&diagnostics::draw(found, sources, console::columns()));
    console::say(&format!("{what}: {}\n", diagnostics::summary(found)));
}

/// The plan; a program with errors has none, and its diagnostics have been shown.
pub fn plan(compiled: Compiled, what: &str) -> Result<Plan> {
    compiled.plan.ok_or_else(|| Error::input(format!("{what} cannot run")))
}
