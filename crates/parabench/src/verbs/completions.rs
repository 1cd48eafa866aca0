//! `parabench completions`: completions for the shell.

use crate::args::Cli;
use crate::console;
use crate::error::Result;
use crate::exit::Exit;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

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
