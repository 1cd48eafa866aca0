//! `parabench programs`: what comes with Parabench.

use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::library::{self, PROGRAMS};
use clap::Args;

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
    let width = PROGRAMS.iter().map(|program| program.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for program in PROGRAMS {
        text.push_str(&format!("@{:<width$}  {}\n", program.name, program.title()));
    }
    let libraries = library::LIBRARIES.iter();
    for library in libraries {
        text.push_str(&format!("\ninclude \"@{}\";  {}\n", library.name, library.title()));
    }
    text.push_str("\nparabench programs NAME shows a text, parabench run @NAME runs it.\n");
    text
}
