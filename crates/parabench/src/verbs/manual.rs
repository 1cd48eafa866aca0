//! Parabench's own documentation: `ops`, the tables of the language as a manual; `programs`, the
//! library; `man`, the manual page; `completions`, for the shell.

use super::params;
use crate::args::Cli;
use crate::completion;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::library::{self, Embedded, FAMILIES};
use ::report::flow;
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// Describe the operations, functions, internal variables and options of the language
///
/// Without a name: all of them, one line each.
#[derive(Args)]
pub struct Ops {
    /// Operation to describe in full
    #[arg(add = completion::operations())]
    name: Option<String>,
}

impl Ops {
    /// Prints the manual.
    pub fn execute(self) -> Result<Exit> {
        let text = match &self.name {
            None => ::report::ops::list(console::columns()),
            Some(name) => {
                ::report::ops::entry(name, console::columns()).ok_or_else(|| unknown(name))?
            }
        };
        console::print(&text)?;
        Ok(Exit::Success)
    }
}

fn unknown(name: &str) -> Error {
    let error = Error::input(format!("nothing is called {name:?}"));
    match ppl::word::nearest(name, ::report::ops::names()) {
        Some(near) => error.help(format!("the nearest name is {near}; `parabench ops` lists all")),
        None => error.help("`parabench ops` lists all"),
    }
}

/// List the programs that come with Parabench, or show the text or the parameters of one
///
/// `parabench run @NAME` runs one; its text is a start for your own.
#[derive(Args)]
pub struct Programs {
    /// The program whose text is shown, with or without `@`
    #[arg(add = completion::programs())]
    name: Option<String>,

    /// Show its parameters instead: defaults and meanings
    #[arg(long, requires = "name")]
    params: bool,
}

impl Programs {
    /// Prints the list, the text or the parameters.
    pub fn execute(self) -> Result<Exit> {
        match &self.name {
            None => console::print(&list())?,
            Some(name) if self.params => {
                console::print_made(&params::list(find(name)?, console::columns()))?;
            }
            Some(name) => console::print_made(find(name)?.text)?,
        }
        Ok(Exit::Success)
    }
}

fn find(name: &str) -> Result<&'static Embedded> {
    library::find_included(name).ok_or_else(|| {
        Error::input(format!("there is no program called {name:?}")).help(library::similar(name))
    })
}

fn list() -> String {
    let width = library::programs().map(|program| program.name.len()).max().unwrap_or(0) + 3;
    let mut text = String::new();
    for family in FAMILIES {
        text.push_str(&format!("{}\n", family.title));
        for (program, line) in family.programs {
            text.push_str(&format!("  {:<width$}{line}\n", format!("@{}", program.name)));
        }
        text.push('\n');
    }
    text.push_str("Procs to include\n");
    for library in library::LIBRARIES {
        let name = format!("include \"@{}\";", library.name);
        let entry = format!("{name}  {}", library.title());
        text.push_str(&format!("{}\n", flow(&entry, console::columns().saturating_sub(2))));
    }
    text.push_str(HOW_TO_USE);
    text
}

const HOW_TO_USE: &str = "
parabench run @NAME runs one, parabench programs NAME shows its text,
parabench programs NAME --params its parameters.
";

/// Print the manual page, or that of a subcommand
///
/// To read it: parabench man | man -l -
#[derive(Args)]
pub struct Man {
    /// The subcommand
    subcommand: Option<String>,

    /// Write all pages into this folder, which exists: parabench.1, parabench-run.1, ...
    #[arg(long, value_name = "DIR", conflicts_with = "subcommand")]
    into: Option<PathBuf>,
}

impl Man {
    /// Prints the page as roff.
    pub fn execute(self) -> Result<Exit> {
        let mut root = Cli::command();
        if let Some(folder) = &self.into {
            clap_mangen::generate_to(root, folder).map_err(|error| {
                Error::failed(format!("cannot write pages into {}: {error}", folder.display()))
            })?;
            return Ok(Exit::Success);
        }
        root.build();
        let command = match &self.subcommand {
            None => root,
            Some(name) => root.find_subcommand(name).cloned().ok_or_else(|| {
                Error::input(format!("there is no subcommand called {name:?}"))
                    .help("`parabench --help` lists them")
            })?,
        };
        console::write_with(|out| clap_mangen::Man::new(command).render(out))?;
        Ok(Exit::Success)
    }
}

/// Print the completion script for a shell
///
/// It asks parabench for every word, and so knows programs, their parameters, operations and folders of runs.
/// For bash: parabench completions bash > ~/.local/share/bash-completion/completions/parabench
#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(completion::shells()))]
    shell: String,
}

impl Completions {
    /// Prints it.
    pub fn execute(self) -> Result<Exit> {
        console::write_with(|out| completion::write_script(&self.shell, out))?;
        Ok(Exit::Success)
    }
}
