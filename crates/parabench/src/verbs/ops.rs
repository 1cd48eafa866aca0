//! `parabench ops`: the operation table as a manual.

use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use clap::Args;

/// Describe the operations of the language
///
/// Without a name: all of them, one line each.
#[derive(Args)]
pub struct Ops {
    /// The operation to describe in full
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
    let names = model::op::OPS.iter().map(|row| row.name);
    let error = Error::input(format!("there is no operation called {name:?}"));
    match ppl::suggest::nearest(name, names) {
        Some(near) => error.help(format!("the nearest name is {near}; `parabench ops` lists all")),
        None => error.help("`parabench ops` lists all"),
    }
}
