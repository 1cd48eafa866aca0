//! `parabench man`: the manual page.

use crate::args::Cli;
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use clap::{Args, CommandFactory};

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
