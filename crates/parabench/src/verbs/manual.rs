//! Parabench's own documentation: `ops`, the tables of the language as a manual; `programs`, the
//! library; `man`, the manual page; `completions`, for the shell.

use crate::args::Cli;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::library::{self, PROGRAMS};
use ::report::flow;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Describe the operations, functions, internal variables and options of the language
///
/// Without a name: all of them, one line each.
#[derive(Args)]
pub struct Ops {
    /// Operation to describe in full
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

/// List the programs that come with Parabench, or show the text of one
///
/// `parabench run @NAME` runs one; its text is a start for your own.
#[derive(Args)]
pub struct Programs {
    /// The program whose text is shown, with or without `@`
    name: Option<String>,
}

impl Programs {
    /// Prints the list or the text.
    pub fn execute(self) -> Result<Exit> {
        match &self.name {
            None => console::print(&list())?,
            Some(name) => {
                let program = library::find_included(name).ok_or_else(|| {
                    Error::input(format!("there is no program called {name:?}"))
                        .help("`parabench programs` lists them")
                })?;
                console::print_made(program.text)?;
            }
        }
        Ok(Exit::Success)
    }
}

fn list() -> String {
    let columns = console::columns();
    let width = PROGRAMS.iter().map(|program| program.name.len()).max().unwrap_or(0) + 3;
    let mut text = String::new();
    for program in PROGRAMS {
        let title = flow(&program.title(), columns.saturating_sub(width).max(TITLE_COLUMNS));
        let name = format!("@{}", program.name);
        for (at, line) in title.lines().enumerate() {
            let name = if at == 0 { &*name } else { "" };
            text.push_str(&format!("{name:<width$}{}\n", line.trim_start()));
        }
    }
    for library in library::LIBRARIES {
        let name = format!("include \"@{}\";", library.name);
        text.push_str(&format!("\n{}\n", flow(&format!("{name}  {}", library.title()), columns)));
    }
    text.push_str("\nparabench programs NAME shows a text, parabench run @NAME runs it.\n");
    text
}

/// Least width of a description.
const TITLE_COLUMNS: usize = 40;

/// Print the manual page, or that of a subcommand
///
/// To read it: parabench man | man -l -
#[derive(Args)]
pub struct Man {
    /// The subcommand
    subcommand: Option<String>,
}

impl Man {
    /// Prints the page as roff.
    pub fn execute(self) -> Result<Exit> {
        let mut root = Cli::command();
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

/// Print completions for a shell
///
/// For bash: parabench completions bash > ~/.local/share/bash-completion/completions/parabench
#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub fn execute(self) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "parabench", &mut script);
        console::write_with(|out| out.write_all(&script))?;
        Ok(Exit::Success)
    }
}
