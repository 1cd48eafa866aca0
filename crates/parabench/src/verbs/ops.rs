//! `parabench ops`: the tables of the language as a manual.

use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use clap::Args;

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
