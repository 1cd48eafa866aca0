//! `parabench check`: every mistake of a program, without running it.

use crate::args::{MAX_RANKS, ProgramArgs, TextFormat};
use crate::compile;
use crate::console;
use crate::diagnostics;
use crate::error::Result;
use crate::exit::Exit;
use clap::Args;

/// Ranks that are assumed if none are given: enough that ranks can get in each
/// other's way, and that groups have members.
const DEFAULT_RANKS: u32 = 4;

/// Find every mistake in a program without running it
///
/// Each is drawn under its source line with what was expected, what was found
/// and what to do. Exit code 2 if the program cannot run; warnings alone give 0.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    program: ProgramArgs,

    /// Ranks the program is to run on
    #[arg(short = 'n', long, default_value_t = DEFAULT_RANKS,
          value_parser = clap::value_parser!(u32).range(1..=MAX_RANKS))]
    ranks: u32,

    /// `json`: an array of diagnostics on standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

impl Check {
    /// Checks the program.
    pub fn execute(self) -> Result<Exit> {
        let compiled = compile::compile(&self.program, self.ranks, None)?;
        match self.format {
            TextFormat::Json => {
                console::print(&diagnostics::to_json(&compiled.diagnostics, &compiled.sources))?;
            }
            TextFormat::Text => {
                compile::show(&compiled);
                if compiled.diagnostics.is_empty() {
                    let name = self.program.program.display();
                    console::say(&format!("{name}: nothing wrong, bound to {} ranks\n", self.ranks));
                }
            }
        }
        let failed = ppl::diag::has_errors(&compiled.diagnostics);
        Ok(if failed { Exit::Input } else { Exit::Success })
    }
}
